#!/usr/bin/env python3
"""Checks of the sources that no compiler makes. `tidy.py sources` runs the fast ones, `tidy.py
clang COMPILE_COMMANDS` runs clang-tidy. Each check is first proved able to fail, on a small tree
in fixtures/ that breaks its rules. The last line is "N passed, N failed"."""

import os
import subprocess
import sys
import tempfile
import json

import calls
import clang
import documents
import layers
import layout
import lengths

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# Name of the check and of its fixture: what it does, given the top of a tree.
CHECKS = {
    "layers": layers.check,
    "unused": layers.check_unused,
    "packages": layers.check_packages,
    "calls": calls.check,
    "unfinished": calls.check_unfinished,
    "length": lengths.check,
    "format": layout.check,
    "links": documents.check_links,
    "routes": documents.check_routes,
}


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def add(self, name, complaints):
        if complaints:
            self.failed += 1
            print(f"tidy: {name} failed")
            for complaint in complaints:
                print(f"  {complaint}")
        else:
            self.passed += 1

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


def place(finding):
    return f"{finding.path}:{finding.line}: {finding.rule}"


# The fixture of lengths is short, so its proof is too.
PROOFS = {"length": lambda root: lengths.check(root, function_lines_max=6, file_lines_max=20)}


def prove(name, check):
    """Differences between what the fixture breaks, as its file `expected` lists it, and what the
    check finds there."""
    fixture = os.path.join(HERE, "fixtures", name)
    with open(os.path.join(fixture, "expected"), encoding="utf-8") as file:
        expected = sorted(line.strip() for line in file if line.strip())
    found = sorted(place(finding) for finding in check(fixture))
    if not expected:
        return [f"fixture {name} breaks no rule: it proves nothing"]
    missed = [f"not found in fixture {name}: {line}" for line in expected if line not in found]
    extra = [f"found in fixture {name} against its intent: {line}" for line in found
             if line not in expected]
    return missed + extra


def run_sources():
    tally = Tally()
    for name, check in CHECKS.items():
        tally.add(f"proof of {name}", prove(name, PROOFS.get(name, check)))
        tally.add(name, sorted(check(ROOT)))
    return tally.end()


def prove_clang():
    """clang-tidy finds the fault of its fixture, through the same settings and the same cache."""
    fixture = os.path.join(HERE, "fixtures", "clang")
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "src"))
        for leaf in ("bad.c", "good.c"):
            with open(os.path.join(fixture, leaf), encoding="utf-8") as file:
                text = file.read()
            with open(os.path.join(root, "src", leaf), "w", encoding="utf-8") as file:
                file.write(text)
        with open(os.path.join(ROOT, ".clang-tidy"), encoding="utf-8") as file:
            settings = file.read()
        with open(os.path.join(root, ".clang-tidy"), "w", encoding="utf-8") as file:
            file.write(settings)
        database = os.path.join(root, "compile_commands.json")
        with open(database, "w", encoding="utf-8") as file:
            json.dump([{"directory": root, "file": f"src/{leaf}", "command": f"cc -c src/{leaf}"}
                       for leaf in ("bad.c", "good.c")], file)
        complaints = []
        for attempt in ("first", "second"):  # the second reads the cache, which keeps no failure
            results = dict(clang.check(root, database))
            if "clang-diagnostic-sizeof-pointer-memaccess" not in results.get("src/bad.c", ""):
                complaints.append(f"{attempt} run does not find the fault of fixtures/clang/bad.c")
            if results.get("src/good.c") != "":
                complaints.append(f"{attempt} run does not pass fixtures/clang/good.c")
        return complaints


def run_clang(database):
    tally = Tally()
    tally.add("proof of clang-tidy", prove_clang())
    for path, complaint in clang.check(ROOT, os.path.abspath(database)):
        tally.add(path, complaint.splitlines())
    return tally.end()


def main(arguments):
    try:
        if arguments == ["sources"]:
            return run_sources()
        if len(arguments) == 2 and arguments[0] == "clang":
            return run_clang(arguments[1])
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print(f"tidy: {error}")
        return 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
