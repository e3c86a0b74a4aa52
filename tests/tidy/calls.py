"""Calls that the house does not make, and where. Struct members and declarations of the same name
are not calls; `tidy-allow(calls): reason` on the line or in the comment above lets one stand."""

import os
import re

from source import Finding, sources

MEMORY = "memory comes from sf_alloc, sf_arena or sf_buf, where a test can make it fail"
BOUNDS = "it knows no bounds: use sf_buf, snprintf, memcpy or the scanners of text"
PROCESS = "library code returns an sf_status; it neither prints nor ends the process"
WAITING = "wait for a condition, not for a time"
WORLD = "clock, disk and randomness are reached through base/seam.h"
STATE = "it keeps hidden state that threads would share"

BANNED = {
    MEMORY: "malloc calloc realloc reallocarray free strdup strndup asprintf vasprintf alloca "
    "posix_memalign aligned_alloc memalign valloc getline getdelim",
    BOUNDS: "gets sprintf vsprintf strcpy strcat stpcpy strncpy strncat sscanf scanf fscanf "
    "atoi atol atoll atof",
    PROCESS: "abort exit _exit _Exit quick_exit atexit printf vprintf puts putchar perror "
    "fprintf vfprintf fputs fputc fwrite assert longjmp setjmp err errx warn warnx",
    WAITING: "sleep usleep nanosleep clock_nanosleep thrd_sleep sched_yield thrd_yield",
    WORLD: "fopen freopen fdopen open openat creat unlink remove rename mkdir rmdir opendir stat "
    "lstat fstat fsync fdatasync ftruncate truncate mmap flock time clock clock_gettime "
    "gettimeofday getrandom getenv secure_getenv setenv system popen fork socket",
    STATE: "rand srand random srandom drand48 strtok localtime gmtime ctime asctime setlocale",
}

# What is banned where. The seam, and the modules whose job is the process itself, are let through.
IN_BASE = [BOUNDS, WAITING, STATE]
IN_SYSTEM_MODULES = [MEMORY, BOUNDS, PROCESS, WAITING, STATE]  # task, api, host
IN_SOURCES = [MEMORY, BOUNDS, PROCESS, WAITING, WORLD, STATE]
IN_MAIN = [MEMORY, BOUNDS, WAITING, STATE]  # main.c and the command line print and exit
IN_TESTS = [WAITING, STATE]
SYSTEM_MODULES = {"task", "api", "host"}

OWN = re.compile(r"^static\b[^;={(]*?\b([A-Za-z_]\w*)\s*\(", re.MULTILINE)
CALL = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\s*\(")
TYPE_BEFORE = re.compile(r"(?:\bstruct|\*|\b(?!return|else|do|case)[A-Za-z_]\w*)\s*$")


def reasons_for(path):
    parts = path.split(os.sep)
    if path == os.path.join("src", "host", "main.c") or parts[0] == "cli":
        return IN_MAIN
    if parts[0] != "src":
        return IN_TESTS
    if parts[1] == "base":
        return IN_BASE
    return IN_SYSTEM_MODULES if parts[1] in SYSTEM_MODULES else IN_SOURCES


def is_declared(code, start):
    """`void free(...)`: a type or a star stands before it, so it is declared and not called."""
    line_start = code.rfind("\n", 0, start) + 1
    before = code[line_start:start]
    return bool(before.strip()) and bool(TYPE_BEFORE.search(before)) and "=" not in before


def check(root):
    findings = []
    for source in sources(root, ["src", "include", "cli", "tests", "bench"]):
        reason_of = {}
        for reason in reasons_for(source.path):
            for name in BANNED[reason].split():
                reason_of[name] = reason
        for match in OWN.finditer(source.code):  # a function of the file's own may have the name
            reason_of.pop(match[1], None)
        for match in CALL.finditer(source.code):
            name = match[1]
            line = source.line_of(match.start(1))
            if name not in reason_of or source.allowed("calls", line):
                continue
            if is_declared(source.code, match.start(1)):
                continue
            findings.append(Finding(source.path, line, "calls", f"{name}(): {reason_of[name]}"))
    return findings


UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def check_unfinished(root):
    """The tree holds no promises: what is missing is an issue, not a comment."""
    for source in sources(root, ["src", "include", "cli", "tests", "bench"], (".c", ".h", ".def")):
        for line, text in source.comments:
            for match in UNFINISHED.finditer(text):
                at = line + text.count("\n", 0, match.start())
                yield Finding(source.path, at, "unfinished", f"{match[1]} in a comment")
