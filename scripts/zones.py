#!/usr/bin/env python3
"""Makes src/expr/zones.def, the time zones of the SQL dialect, from the tz database of this machine:
scripts/zones.py > src/expr/zones.def. Changes before 1970 are left out; those that a zone's rule
for the future gives are, too."""

import calendar
import os
import re
import struct
import sys
import zoneinfo

ROOT = "/usr/share/zoneinfo"
YEAR_MAX = 2037


def load(path):
    """(times, offsets, offset before, rule) of the second, 64-bit part of a TZif file."""
    data = open(path, "rb").read()

    def header(at):
        return struct.unpack(">6l", data[at + 20:at + 44])

    utc, std, leap, times, types, chars = header(0)
    at = 44 + times * 5 + types * 6 + chars + leap * 8 + std + utc
    utc, std, leap, times, types, chars = header(at)
    at += 44
    moments = struct.unpack(f">{times}q", data[at:at + 8 * times])
    at += 8 * times
    index = data[at:at + times]
    at += times
    kinds = [struct.unpack(">lbb", data[at + 6 * i:at + 6 * i + 6])[0] for i in range(types)]
    at += 6 * types + chars + leap * 12 + std + utc
    return moments, [kinds[i] for i in index], kinds[0], data[at:].strip(b"\n").decode()


def seconds(text, default=0):
    if not text:
        return default
    sign = -1 if text[0] == "-" else 1
    parts = [int(p) for p in text.lstrip("+-").split(":")] + [0, 0]
    return sign * (parts[0] * 3600 + parts[1] * 60 + parts[2])


def rule_of(text):
    """(standard offset, summer offset, start, end); a bound is (month, week, weekday, second)."""
    name, time = r"(?:<[^>]+>|[A-Za-z]+)", r"[+-]?[0-9:]+"
    match = re.fullmatch(rf"{name}({time})(?:{name}({time})?,([^,]+),([^,]+))?", text)
    standard = -seconds(match[1])
    if not match[3]:
        return standard, standard, None, None
    bounds = []
    for part in (match[3], match[4]):
        date = re.fullmatch(rf"M(\d+)\.(\d+)\.(\d+)(?:/({time}))?", part)
        bounds.append((int(date[1]), int(date[2]), int(date[3]), seconds(date[4], 7200)))
    return standard, -seconds(match[2]) if match[2] else standard + 3600, *bounds


def moment(year, bound, offset):
    month, week, weekday, second = bound
    first = (calendar.weekday(year, month, 1) + 1) % 7
    day = 1 + (weekday - first) % 7 + 7 * (week - 1)
    while day > calendar.monthrange(year, month)[1]:
        day -= 7
    return calendar.timegm((year, month, day, 0, 0, 0)) + second - offset


def body(name):
    moments, offsets, before, text = load(os.path.join(ROOT, name))
    rule = rule_of(text)
    end = calendar.timegm((YEAR_MAX + 1, 1, 1, 0, 0, 0))
    changes, current = [], before
    for at, offset in zip(moments, offsets):
        if at <= 0:
            current = offset
        elif at < end and offset != (changes[-1][1] if changes else current):
            changes.append((at, offset))
    future = set()
    for year in range(1970, YEAR_MAX + 1):
        if rule[2]:
            future.add((moment(year, rule[2], rule[0]), rule[1]))
            future.add((moment(year, rule[3], rule[1]), rule[0]))
    while rule[2] and len(changes) > 1 and changes[-1] in future and changes[-2] in future:
        changes.pop()
    return current, tuple(changes), rule


def main():
    names = sorted((n for n in zoneinfo.available_timezones()
                    if os.path.exists(os.path.join(ROOT, n))), key=str.lower)
    bodies, of = {}, {}
    for name in names:
        of[name] = bodies.setdefault(body(name), len(bodies))
    print("/* The time zones. Made by scripts/zones.py from the tz database, which is in the public domain.\n"
          " * tidy-allow(length): data\n *\n"
          " * C(seconds since 1970, offset from then on)\n"
          " * B(changes before its own, how many are its own, offset in 1970, RULE)\n"
          " * RULE: standard offset, summer offset, start and end of summer time as month (0: there is\n"
          " * none), week, weekday, second\n"
          " * N(name, body), in order without regard to case */")
    for macro in ("C(at, offset)", "B(first, count, before, ...)", "N(name, body)"):
        print(f"#ifndef {macro.split('(')[0]}\n#define {macro}\n#endif")
    line, count = "", 0

    def put(item):
        nonlocal line
        if len(line) + len(item) + 1 > 100:
            print(line)
            line = item
        else:
            line = f"{line} {item}" if line else item

    for _, changes, _ in bodies:
        for at, offset in changes:
            put(f"C({at}, {offset})")
    print(line)
    for before, changes, (standard, summer, start, end) in bodies:
        rule = ", ".join(str(n) for n in (standard, summer, *(start or (0,) * 4),
                                          *(end or (0,) * 4)))
        print(f"B({count}, {len(changes)}, {before}, {rule})")
        count += len(changes)
    line = ""
    for name in names:
        put(f'N("{name}", {of[name]})')
    print(line)
    print("#undef C\n#undef B\n#undef N")


sys.exit(main())
