#!/usr/bin/env python3
"""The tour of the README, run as it stands: its commands, and what they print where it says so.

A block of commands after "<!-- tour: runs -->" must succeed and print something. After
"<!-- tour: exact -->" it must print the lines of the next text block, in any order. The block with
pkill kills the server, and starts it again on the same data."""

import os
import re
import subprocess
import sys
import tempfile

from driver import BUILD, equal, run
from server_test import PROGRAM, Server

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
BLOCK = re.compile(r"(?:<!-- tour: (\w+) -->\n)?```(sh|text)\n(.*?)```", re.S)


def blocks():
    """(mode, commands, the text that follows), in order; mode "" outside the tour."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as readme:
        found = BLOCK.findall(readme.read())
    for i, (mode, kind, body) in enumerate(found):
        if kind == "sh":
            after = found[i + 1] if i + 1 < len(found) else ("", "sh", "")
            yield mode, body, after[2] if after[1] == "text" else ""


def lines_of(text):
    """Sorted: rows have no order. How many rows wait at the moment is chance."""
    return sorted(re.sub(r'"depthRows":\d+', '"depthRows":0', line.rstrip())
                  for line in text.strip().splitlines())


def run_block(commands, server, home):
    script = commands.replace("http://localhost:5199", f"http://127.0.0.1:{server.port}")
    script = re.sub(r"^export PATH=.*$", ":", script, flags=re.M)
    path = os.path.dirname(PROGRAM) + ":" + os.environ["PATH"]
    return subprocess.run(
        ["bash", "-c", script], cwd=home, timeout=120, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        env={**os.environ, "PATH": path, "SF_URL": f"http://127.0.0.1:{server.port}",
             "XDG_CONFIG_HOME": home})


def test_tour():
    subprocess.run(["ninja", "-C", BUILD, "sf"], check=True, stdout=subprocess.DEVNULL)
    done = 0
    with tempfile.TemporaryDirectory() as home:
        data = os.path.join(home, "data")
        server = Server(data)
        for mode, commands, text in blocks():
            if "pkill" in commands:
                server.kill()
                server = Server(data, "--Http:Port", str(server.port))
            if not mode:
                continue
            result = run_block(commands, server, home)
            what = f"{commands}printed\n{result.stdout}"
            if mode == "exact":
                equal(lines_of(result.stdout), lines_of(text), what)
            else:
                assert result.returncode == 0 and result.stdout, what
            done += 1
        server.stop()
    assert done >= 10, f"the tour has only {done} blocks"


if __name__ == "__main__":
    run(sys.modules["__main__"])
