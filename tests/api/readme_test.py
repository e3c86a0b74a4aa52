#!/usr/bin/env python3
"""The tour of the README, run as it stands: its commands, and what they print where it says so.

A comment before a block of commands says what must hold:
  <!-- tour: exact -->  it prints the lines of the next text block, in any order
  <!-- tour: like -->   it succeeds and prints lines like those of the text block, but for numbers,
                        symbols and widths; a line "..." stands for any
  <!-- tour: start -->  ./run: the server starts, and says what the text block says, if there is one
The block with kill -9 kills the server. A block without a comment is no part of the tour."""

import os
import re
import subprocess
import sys
import tempfile
import time

from driver import BUILD, equal, run
from server_test import DEADLINE_S, PROGRAM, Server

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
BLOCK = re.compile(r"(?:<!-- tour: (\w+) -->\n)?```(sh|text)\n(.*?)```", re.S)
KILL = "kill -9 $(pidof streamsforge)"


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


def likes_of(text):
    """What of each line is not chance: no numbers, symbols, widths or places."""
    def like(line):
        line = re.sub(r"https?://[\w.:]+", "URL", line)
        line = re.sub(r"\(data in .*\)", "(data)", line)
        line = re.sub(r"\b[A-Z]{3,4}\b", "NAME", line)
        return re.sub(r"-?\d+(\.\d+)?|--+", "#", re.sub(r"\s+", " ", line)).strip()
    return {like(line) for line in text.strip().splitlines()} - {"..."}


def check_like(printed, text, what):
    missed = likes_of(text) - likes_of(printed)
    assert not missed, f"{what}\nhas nothing like {sorted(missed)}"


def run_block(commands, server, home):
    script = commands.replace("http://localhost:5199", f"http://127.0.0.1:{server.port}")
    script = re.sub(r"^export PATH=.*$", ":", script, flags=re.M)
    path = os.path.dirname(PROGRAM) + ":" + os.environ["PATH"]
    return subprocess.run(
        ["bash", "-c", script], cwd=home, timeout=120, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        env={**os.environ, "PATH": path, "SF_URL": f"http://127.0.0.1:{server.port}",
             "XDG_CONFIG_HOME": home})


class Tour:
    def __init__(self, home):
        self.home, self.server = home, None
        self.done = []

    def start(self, text):
        port = str(self.server.port if self.server else 0)
        self.server = Server(os.path.join(self.home, "data"), "--Http:Port", port)
        if text:
            said = self.server.banner + self.server.process.stdout.readline().decode()
            check_like(said, text, f"./run printed\n{said}")

    def run(self, mode, commands, text):
        """A reader is slower than this program: what is generated gets the time to come."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            result = run_block(commands, self.server, self.home)
            shown = likes_of(text) <= likes_of(result.stdout)
            if mode != "like" or shown or time.monotonic() > deadline:
                return result

    def step(self, mode, commands, text):
        if commands.strip() == KILL:
            self.server.kill()
            self.done.append("kill")
        elif mode == "start":
            equal(commands.strip(), "./run")
            self.start(text)
        elif mode:
            result = self.run(mode, commands, text)
            what = f"{commands}printed\n{result.stdout}"
            if mode == "exact":
                equal(lines_of(result.stdout), lines_of(text), what)
            else:
                assert mode == "like" and likes_of(text), f"{commands}is not shown with its output"
                check_like(result.stdout, text, what)
                equal(result.returncode, 0, what)
        self.done += [mode] if mode else []


def test_tour():
    subprocess.run(["ninja", "-C", BUILD, "sf"], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as home:
        tour = Tour(home)
        try:
            for mode, commands, text in blocks():
                tour.step(mode, commands, text)
        finally:
            if tour.server:
                tour.server.kill()
    equal({mode: tour.done.count(mode) for mode in set(tour.done) - {"exact"}},
          {"start": 2, "like": 4, "kill": 1}, "the blocks of the tour")
    assert tour.done.count("exact") >= 7, tour.done


def test_likes():
    """The loose comparison can fail."""
    row = "AMZN   | 21     | 5950"
    equal(likes_of(row), likes_of("TSLA | 3 | 1.5"))
    for other in ("AMZN | 21", "AMZN | 21 | x", 'AMZN : 21 | 5950', "amzn | 21 | 5950"):
        assert likes_of(row) != likes_of(other), other


if __name__ == "__main__":
    run(sys.modules["__main__"])
