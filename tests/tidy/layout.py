"""Layout is what clang-format-14 makes of it with the tree's .clang-format."""

import re
import subprocess

from source import Finding, files

COMMAND = "clang-format-14"
WARNING = re.compile(r"^(.*?):(\d+):\d+: error: code should be clang-formatted")


def check(root):
    paths = files(root, ["src", "include", "cli", "tests", "bench"])
    seen = set()
    for start in range(0, len(paths), 100):
        run = subprocess.run(
            [COMMAND, "--dry-run", "-Werror", *paths[start : start + 100]],
            cwd=root, capture_output=True, text=True,
        )
        found = [m for m in map(WARNING.match, run.stderr.splitlines()) if m]
        if run.returncode and not found:
            raise RuntimeError(f"{COMMAND} failed: {run.stderr.strip()}")
        for match in found:
            if match[1] not in seen:  # the first place of a file is enough: the remedy is one call
                seen.add(match[1])
                yield Finding(match[1], int(match[2]), "format", f"run {COMMAND} -i {match[1]}")
