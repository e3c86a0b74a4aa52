"""Cases as query tests, and `sf test` as the one that answers."""

import json
import subprocess
import tempfile
from pathlib import Path

import dialect
from tree import KINDS


def as_test(case, answers):
    """The query test of a case, with the answers of its 'expect' events."""
    answers = iter(answers)
    return {
        "id": case.id,
        "kind": "oracle",
        "mode": "table",
        "sources": [{"name": s.name, "fields": [{"name": c.name, "type": KINDS[c.kind]} for c in s.columns]}
                    for s in case.sources],
        **({"tables": [{"name": t.name, "sql": dialect.query(t.query)} for t in case.tables]}
           if case.tables else {}),
        "sql": dialect.query(case.query),
        "events": [as_event(case, event, answers) for event in case.events[:-1]],
        "expect": {"rows": next(answers)},
    }


def as_event(case, event, answers):
    if event["op"] == "row":
        row = {"_ts": event["ts"], **event["row"]}
        if event.get("frees"):
            row["_retract"] = True
        return {"source": event["source"], "row": row}
    if event["op"] == "retract":
        given = next(e for e in case.events if e["op"] == "row" and e["id"] == event["of"])
        return {"source": event["source"], "retract": {"_ts": given["ts"], **given["row"]}}
    if event["op"] == "restart":
        return {"restart": True}
    return {"expect": {"rows": next(answers)}}


class Subject:
    """`sf test` over many cases at once."""

    def __init__(self, sf, timeout_seconds):
        self.sf = sf
        self.timeout_seconds = timeout_seconds

    def run(self, tests):
        """id -> None when it passed, else (what kind of failure, message)."""
        results, trouble = self._run_once(tests)
        rest = [test for test in tests if test["id"] not in results]
        if len(rest) == 1:
            results[rest[0]["id"]] = trouble or ("lost", "sf test did not report the case")
        elif rest:  # one of them ends the run: halve until it stands alone
            half = len(rest) // 2
            results.update(self.run(rest[:half]))
            results.update(self.run(rest[half:]))
        return results

    def _run_once(self, tests):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "cases.jsonl"
            path.write_text("".join(json.dumps(test) + "\n" for test in tests))
            trouble = None
            try:
                done = subprocess.run([self.sf, "test", "--json", path], capture_output=True,
                                      timeout=self.timeout_seconds + len(tests) / 2)
                out, code = done.stdout, done.returncode
                if code not in (0, 1):
                    trouble = ("crash", f"status {code}: {done.stderr.decode(errors='replace')[-3000:]}")
            except subprocess.TimeoutExpired as error:
                out, trouble = error.stdout or b"", ("hang", "no answer in time")
        results = {}
        for line in out.decode(errors="replace").splitlines():
            try:
                result = json.loads(line)
            except ValueError:
                continue
            results[result["id"]] = verdict(result)
        return results, trouble


def verdict(result):
    if result["status"] == "passed":
        return None
    message = result.get("message", result["status"])
    kind = "refused" if "refused" in message else "wrong"
    parts = [f"({result.get('variant', '')})", message]
    for part in ("expected", "actual"):
        if result.get(part):
            parts.append(f"{part} {result[part]}")
    return kind, " | ".join(parts)
