"""Functions and files that can be read: 120 lines a function, 1,200 a file. The aim is far lower
(70 and 600); these are the ends. A table or a dispatch switch may say why it is longer:
`tidy-allow(length): reason` in the comment above it, or in the first comment of a file."""

import json
import subprocess

from source import Finding, sources

FUNCTION_LINES_MAX = 120
FILE_LINES_MAX = 1200


def functions(root, paths):
    """(path, name, first line, last line) of every C function, by Universal Ctags."""
    if not paths:
        return
    command = ["ctags", "--languages=C", "--kinds-C=f", "--fields=+ne", "--output-format=json"]
    command += ["--sort=no", "-f", "-", "-L", "-"]
    run = subprocess.run(
        command, cwd=root, input="\n".join(paths), capture_output=True, text=True, check=True
    )
    for line in run.stdout.splitlines():
        tag = json.loads(line)
        if tag.get("_type") == "tag" and "end" in tag:
            yield tag["path"], tag["name"], tag["line"], tag["end"]


def check(root, function_lines_max=FUNCTION_LINES_MAX, file_lines_max=FILE_LINES_MAX):
    findings = []
    by_path = {}
    for source in sources(root, ["src", "include", "cli", "tests", "bench"]):
        by_path[source.path] = source
        lines = source.text.count("\n")
        if lines > file_lines_max and not source.exempt("length"):
            message = f"{lines} lines; the end is {file_lines_max}: one file, one subject"
            findings.append(Finding(source.path, 1, "length", message))
    for path, name, first, last in functions(root, sorted(by_path)):
        length = last - first + 1
        if length > function_lines_max and not by_path[path].allowed("length", first):
            message = f"{name}() has {length} lines; the end is {function_lines_max}: split it"
            findings.append(Finding(path, first, "length", message))
    return findings
