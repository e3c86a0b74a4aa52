"""clang-tidy-14 over every C file of the compile commands, with the tree's .clang-tidy.

It is slow, so a file that passed is remembered in build/tidy by a hash over all that its result
hangs on: the tool, the settings, its compile command, its text and the text of every file of this
tree that it includes, directly or not."""

import concurrent.futures
import hashlib
import json
import os
import re
import subprocess

from source import Source

COMMAND = "clang-tidy-14"
TOPS = ("src", "include", "cli", "tests", "bench")
LINE = re.compile(r"^(.*?):(\d+):(\d+): (warning|error): ")


class Tree:
    def __init__(self, root):
        self.root = root
        self.includes = {}
        self.texts = {}
        version = subprocess.run([COMMAND, "--version"], capture_output=True, check=True).stdout
        with open(os.path.join(root, ".clang-tidy"), "rb") as file:
            self.settings = version + file.read()

    def closure(self, path):
        """The path and every file of the tree it includes."""
        seen, waiting = set(), [path]
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            waiting += self.direct(path)
        return sorted(seen)

    def direct(self, path):
        if path not in self.includes:
            source = Source(self.root, path)
            self.texts[path] = source.text.encode()
            found = []
            for _, _, header in source.includes():
                for base in ("src", "include", "tests", ".", os.path.dirname(path)):
                    candidate = os.path.normpath(os.path.join(base, header))
                    if os.path.isfile(os.path.join(self.root, candidate)):
                        found.append(candidate)
            self.includes[path] = found
        return self.includes[path]

    def key(self, path, command):
        digest = hashlib.sha256(self.settings)
        digest.update(command.encode())
        for part in self.closure(path):
            digest.update(part.encode() + b"\0" + self.texts[part])
        return digest.hexdigest()


def commands(root, database):
    """{path: compile command}, for the files of the tree."""
    with open(database, encoding="utf-8") as file:
        entries = json.load(file)
    found = {}
    for entry in entries:
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), root)
        if path.split(os.sep)[0] in TOPS and path.endswith(".c") and os.path.exists(
            os.path.join(root, path)
        ):
            found[path] = entry["command"]
    return found


def lint(root, database, path):
    """What clang-tidy says of one file: its text, empty when it is clean."""
    run = subprocess.run(
        [COMMAND, "--quiet", "-p", os.path.dirname(database), path],
        cwd=root, capture_output=True, text=True,
    )
    if run.returncode == 0 and not LINE.search(run.stdout):
        return ""
    return run.stdout.strip() or run.stderr.strip() or f"{COMMAND} failed on {path}"


def check(root, database):
    """Yields (path, complaint); an empty complaint is a pass. The slowest part of the tests."""
    tree = Tree(root)
    cache = os.path.join(root, "build", "tidy")
    os.makedirs(cache, exist_ok=True)
    work = []
    for path, command in sorted(commands(root, database).items()):
        stamp = os.path.join(cache, tree.key(path, command))
        if os.path.exists(stamp):
            os.utime(stamp)
            yield path, ""
        else:
            work.append((path, stamp))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(lint, root, database, path): (path, stamp) for path, stamp in work}
        for done in concurrent.futures.as_completed(running):
            path, stamp = running[done]
            complaint = done.result()
            if not complaint:
                open(stamp, "w").close()
            yield path, complaint
