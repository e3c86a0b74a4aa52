#!/usr/bin/env python3
"""The examples of docs/reference/sql.md, each compiled by a server with the demo world. One that
begins with "-- pipeline" is a pipeline, all others are tables."""

import os
import re
import sys
import tempfile

from driver import equal, run
from server_test import Server

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/reference/sql.md")


def examples():
    with open(PAGE, encoding="utf-8") as page:
        return re.findall(r"```sql\n(.*?)```", page.read(), re.S)


def test_every_example_compiles():
    found = examples()
    assert len(found) > 10, f"the page has only {len(found)} examples"
    with tempfile.TemporaryDirectory() as data:
        server = Server(data)
        try:
            for sql in found:
                kind = "pipelines" if sql.startswith("-- pipeline\n") else "tables"
                said = server.call("POST", f"/api/{kind}/validate", {"sql": sql})
                equal((said["ok"], said["diagnostics"]), (True, []), sql)
        finally:
            server.kill()


if __name__ == "__main__":
    run(sys.modules["__main__"])
