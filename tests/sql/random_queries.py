#!/usr/bin/env python3
"""Random queries over random histories, held against DuckDB.

A case is some sources, a history of rows that come and go, tables, and a query over them. `sf test`
runs it in every way it knows: an epoch an event, few epochs, a restart after every event. At each
moment that the case names, DuckDB computes the same query from scratch over the rows that live then.
A case that fails is made small and printed as a query test.

    random_queries.py [--cases N] [--seed S] [--hours H] [--cover]

--hours goes on with new cases until the time is over. --cover prints what the cases were made of.
A case's id says how to make it again: --seed 7 --only 7-123.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter

PYTHON = os.environ.get("SF_PYTHON", sys.executable)
if PYTHON != sys.executable:
    os.execv(PYTHON, [PYTHON, __file__, *sys.argv[1:]])

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))

import duckdb  # noqa: E402

import cases  # noqa: E402
import duck  # noqa: E402
import generate  # noqa: E402
import shrink  # noqa: E402
import tree  # noqa: E402

BATCH = 200
ROWS_MAX = 300  # of one answer: larger ones say no more and cost time
BUILD = os.environ.get("SF_BUILD", os.path.join(os.path.dirname(__file__), "../../build/debug"))


class Run:
    def __init__(self, options):
        self.options = options
        self.judge = duck.Judge()
        self.subject = cases.Subject(os.path.join(BUILD, "sf"), 30)
        self.passed = self.failed = self.large = self.unjudged = 0
        self.cover = Counter()

    def make(self, number):
        """A case and its query test; None when its answers are too large, or DuckDB refuses it."""
        name = f"{self.options.seed}-{number}"
        case = generate.Generator(name).case(name)
        try:
            answers = self.judge.answers(case)
        except duckdb.Error:  # it does not find every key again inside an expression
            self.unjudged += 1
            return None
        if max(map(len, answers)) > ROWS_MAX:
            self.large += 1
            return None
        return case, cases.as_test(case, answers)

    def batch(self, numbers):
        made = [m for m in map(self.make, numbers) if m]
        results = self.subject.run([test for _, test in made])
        for case, test in made:
            self.count(case)
            wrong = results[case.id]
            if wrong is None:
                self.passed += 1
            else:
                self.failed += 1
                self.report(case, test, wrong)

    def count(self, case):
        for query in [case.query] + [table.query for table in case.tables]:
            self.cover.update(name_of(node) for node in tree.walk(query))

    def report(self, case, test, wrong):
        print(f"{case.id} {wrong[0]}: {wrong[1][:600]}")
        small = shrink.Shrinker(lambda c: self.fails(c, wrong[0])).shrink(case)
        print(json.dumps(self.test_of(small) or test), flush=True)

    def test_of(self, case):
        try:
            return cases.as_test(case, self.judge.answers(case))
        except (duckdb.Error, ValueError, KeyError, IndexError):
            return None  # what was cut away is still referred to

    def fails(self, case, kind):
        test = self.test_of(case)
        wrong = test and self.subject.run([test])[case.id]
        return bool(wrong) and wrong[0] == kind


def name_of(node):
    if isinstance(node, tree.Call):
        return node.op
    if isinstance(node, (tree.Agg, tree.Join, tree.SetOp)):
        return f"{type(node).__name__} {getattr(node, 'name', None) or getattr(node, 'kind', None) or node.op}"
    if isinstance(node, tree.Select):
        return "LATEST BY" if node.latest else f"GROUP BY {node.form}" if node.group is not None else "SELECT"
    return type(node).__name__


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--hours", type=float, default=0)
    parser.add_argument("--only", metavar="ID")
    parser.add_argument("--cover", action="store_true")
    options = parser.parse_args()
    run = Run(options)
    if options.only:
        options.seed, number = options.only.rsplit("-", 1)
        run.batch([int(number)])
    else:
        end, number = time.monotonic() + options.hours * 3600, 0
        while number < options.cases or time.monotonic() < end:
            last = number + BATCH if options.hours else min(number + BATCH, options.cases)
            run.batch(range(number, last))
            number = last
    if options.cover:
        for name, count in run.cover.most_common():
            print(f"{count:9} {name}")
    if run.large:
        print(f"{run.large} cases had too large an answer and were left out")
    if run.unjudged:
        print(f"{run.unjudged} cases were refused by DuckDB and left out")
    if run.unjudged * 20 > run.passed:
        run.failed += 1
        print("too many: the generator writes what DuckDB does not take")
    print(f"{run.passed} passed, {run.failed} failed")
    return 0 if run.passed and not run.failed else 1


if __name__ == "__main__":
    sys.exit(main())
