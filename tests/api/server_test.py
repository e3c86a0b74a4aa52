#!/usr/bin/env python3
"""The server itself over HTTP: every route, its refusals, restarts, and kills under load."""

import atexit
import csv
import http.client
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from driver import BUILD, equal, run


def program():
    """The server, built when it is not up to date. SF_SERVER names another one."""
    if "SF_SERVER" in os.environ:
        return os.environ["SF_SERVER"]
    subprocess.run(["ninja", "-C", BUILD, "streamsforge"], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(BUILD, "streamsforge")


PROGRAM = program()
PASSWORDS = {"admin": "admin123!", "editor": "editor123!", "viewer": "viewer123!"}
DEADLINE_S = 60


class Server:
    def __init__(self, data_dir, *flags):
        self.dir = data_dir
        self.tokens = {}
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [PROGRAM, "--DataDir", data_dir, "--Http:Port", "0", *flags],
            stdout=subprocess.PIPE, stderr=self.log)
        self.banner = line = self.process.stdout.readline().decode()
        if "http://" not in line:
            self.process.wait()
            raise RuntimeError("the server did not start: " + self.said())
        self.port = int(line.split("http://")[1].split(":")[1].split()[0].rstrip("/"))

    def said(self):
        self.log.seek(0)
        return self.log.read().decode()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=DEADLINE_S)
        self.process.stdout.close()
        assert code == 0, f"the server ended with {code}: {self.said()}"

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def login(self, user):
        if user not in self.tokens:
            status, _, body = self.send("POST", "/api/auth/login",
                                        {"username": user, "password": PASSWORDS[user]})
            equal(status, 200)
            self.tokens[user] = body["token"]
        return self.tokens[user]

    def send(self, method, path, body=None, token=None, raw=None, **fields):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        if token:
            headers["Authorization"] = "Bearer " + token
        data = raw if raw is not None else json.dumps(body) if body is not None else None
        if data is not None:
            headers.setdefault("Content-Type", "application/json")
        client.request(method, path, body=data, headers=headers)
        answer = client.getresponse()
        content = answer.read()
        client.close()
        if (answer.headers.get("Content-Type") or "").startswith("application/json"):
            content = json.loads(content)
        return answer.status, answer.headers, content

    def call(self, method, path, body=None, user="editor", want=200, **fields):
        """The body of an answer that has the wanted status."""
        token = self.login(user) if user else None
        status, _, content = self.send(method, path, body, token, **fields)
        assert status == want, f"{method} {path}: {status} is not {want}: {content}"
        return content

    def error(self, method, path, body=None, user="editor", want=400, **fields):
        content = self.call(method, path, body, user, want, **fields)
        assert set(content) >= {"error"}, content
        return content["error"]

    def rows(self, table):
        return [r["row"] for r in self.call("GET", f"/api/tables/{table}/rows?limit=100000")["rows"]
                for _ in range(r["weight"])]

    def push(self, source, events, want=202, **more):
        return self.call("POST", f"/api/sources/{source}/events", {"events": events, **more},
                         want=want)

    def table(self, name, sql, start=True, **more):
        made = self.call("POST", "/api/tables", {"name": name, "sql": sql, **more}, want=201)
        return self.call("POST", f"/api/tables/{made['id']}/start") if start else made

    def pipeline(self, name, sql, start=True, **more):
        made = self.call("POST", "/api/pipelines", {"name": name, "sql": sql, **more}, want=201)
        return self.call("POST", f"/api/pipelines/{made['id']}/start") if start else made

    def ingest(self, name, fields="k:String,v:Long", **more):
        return self.call("POST", "/api/sources", {
            "name": name, "kind": "ingest",
            "fields": [dict(zip(("name", "type"), f.split(":"))) for f in fields.split(",")],
            **more}, want=201)


def until(check, what):
    """Asks again until check() holds: something else makes it true."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        got = check()
        if got:
            return got
        assert time.monotonic() < deadline, f"never: {what}"


def sorted_rows(rows):
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def becomes(server, table, want):
    got = []

    def same():
        got[:] = sorted_rows(server.rows(table))
        return got == sorted_rows(want)

    try:
        until(same, "rows")
    except AssertionError:
        raise AssertionError(f"{table}: {got} is not {want}") from None


SHARED = []


def shared():
    """One server for all tests that do not need their own; each uses names of its own."""
    if not SHARED:
        SHARED.append(Server(temporary(), "--no-demo"))
    return SHARED[0]


def temporary():
    path = tempfile.mkdtemp(prefix="sf-server-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@atexit.register
def end_shared():
    for server in SHARED:
        if server.process.poll() is None:
            server.kill()


# ---- who ----


def test_login():
    s = shared()
    for user, role, name in (("admin", "Admin", "Administrator"), ("editor", "Editor", "Editor"),
                             ("viewer", "Viewer", "Viewer")):
        status, _, body = s.send("POST", "/api/auth/login",
                                 {"username": user, "password": PASSWORDS[user]})
        equal(status, 200)
        equal((body["username"], body["displayName"], body["role"]), (user, name, role))
        me = s.call("GET", "/api/auth/me", user=user)
        equal((me["username"], me["role"], me["disabled"]), (user, role, False))
        assert me["permissions"] and set(me["permissions"][0]) >= {"action", "scope", "effect"}
    wrong = s.error("POST", "/api/auth/login", {"username": "admin", "password": "x"}, None, 401)
    unknown = s.error("POST", "/api/auth/login", {"username": "nobody", "password": "x"}, None, 401)
    equal(wrong, unknown, "nobody learns which of the two was wrong")
    s.call("POST", "/api/auth/logout", want=204)


def test_login_refusals():
    s = shared()
    for raw, want, word in ((b"", 400, ""), (b"{", 400, ""), (b"[]", 400, ""), (b"{}", 400, "username"),
                            (b'{"username":7,"password":"x"}', 400, "username"),
                            (b'{"username":"a\xff","password":"x"}', 400, ""),
                            (b'{"username":"' + b"a" * (3 << 20) + b'"}', 413, "")):
        status, _, body = s.send("POST", "/api/auth/login", raw=raw)
        equal(status, want, repr(raw[:40]))
        assert word in body["error"], body
    status, headers, _ = s.send("POST", "/api/auth/login", raw="a=b",
                                Content_Type="application/x-www-form-urlencoded")
    equal(status, 415)


def test_tokens():
    s = shared()
    status, headers, body = s.send("GET", "/api/sources")
    equal((status, headers["WWW-Authenticate"]), (401, "Bearer"))
    for token in ("x", "a.b.c", s.login("admin") + "x", s.login("admin")[:-4]):
        equal(s.send("GET", "/api/auth/me", token=token)[0], 401, token[-20:])


def test_roles():
    s = shared()
    s.error("POST", "/api/sources", {"name": "roles_x"}, "viewer", 403)
    s.error("PUT", "/api/sources/not_there", {}, "viewer", 403)
    s.error("DELETE", "/api/tables/not_there", None, "viewer", 403)
    s.error("DELETE", "/api/tables/not_there", None, "editor", 404)
    s.error("POST", "/api/pipelines/validate", {"sql": "SELECT 1"}, "viewer", 403)
    s.call("GET", "/api/tables", user="viewer")


def test_environments():
    s = shared()
    equal([e["name"] for e in s.call("GET", "/api/environments", user="viewer")], ["default"])
    header = {"X_StreamsForge_Environment": "nope"}
    equal(s.error("GET", "/api/tables", None, "viewer", 404, **header),
          "environment 'nope' does not exist")
    equal(s.send("GET", "/api/tables", **header)[0], 401, "sign-in comes first")
    s.call("GET", "/api/tables?env=default", user="viewer", **header)


def test_about():
    s = shared()
    for path in ("/healthz", "/api/healthz"):
        equal(s.call("GET", path, user=None), {"status": "ok"})
    about = s.call("GET", "/api/meta/instance", user=None)
    assert len(about["instanceId"]) == 32 and about["startedAtMs"] > 0, about
    assert set(about) >= {"name", "version", "endpoints", "capabilities", "plugins",
                          "catalogCounts", "catalogWarnings"}, about
    kinds = s.call("GET", "/api/transports", user="viewer")
    equal([k["kind"] for k in kinds["inbound"]], ["generator", "file", "ingest"])
    names = {f["name"] for f in s.call("GET", "/api/sql/functions", user="viewer")}
    assert names >= {"ABS", "COALESCE", "COUNT", "SUM", "UPPER"}, names


# ---- sources ----


def test_source_life():
    s = shared()
    body = {"name": "life", "description": "a", "kind": "ingest", "tags": ["x"],
            "metadata": {"team": "t"}, "revision": 77, "updatedBy": "someone", "environment": "prod",
            "fields": [{"name": "k", "type": "String"}]}
    status, headers, made = s.send("POST", "/api/sources", body, s.login("editor"))
    equal((status, headers["Location"]), (201, "/api/sources/life"))
    equal((made["name"], made["kind"], made["tags"], made["metadata"], made["enabled"]),
          ("life", "ingest", ["x"], {"team": "t"}, True))
    equal((made["revision"], made["schemaRevision"], made["updatedBy"], made["environment"]),
          (1, 1, "editor", ""), "what is the server's is the server's")
    assert "id" not in made, "the name is a source's key"
    equal(s.call("GET", "/api/sources/life", user="viewer"), made)
    assert made in s.call("GET", "/api/sources", user="viewer")
    same = s.call("PUT", "/api/sources/life", made)
    equal((same["revision"], same["schemaRevision"]), (1, 1), "nothing changed")
    wide = dict(made, fields=[{"name": "k", "type": "String"}, {"name": "n", "type": "Long"}])
    status, headers, wide = s.send("PUT", "/api/sources/life", wide, s.login("editor"))
    equal((status, headers["ETag"]), (200, '"2"'))
    equal((wide["revision"], wide["schemaRevision"]), (2, 2))
    s.call("DELETE", "/api/sources/life", want=204)
    s.error("GET", "/api/sources/life", None, "viewer", 404)
    s.error("DELETE", "/api/sources/life", want=404)


def test_source_refusals():
    s = shared()
    s.ingest("taken")
    for body, want, word in (
            ({"name": "taken"}, 400, "taken"), ({}, 400, "name"), ({"name": ""}, 400, "name"),
            ({"name": "a.b"}, 400, "a.b"), ({"name": 7}, 400, "name"), ([], 400, ""),
            ({"name": "x1", "colour": "red"}, 400, "colour"),
            ({"name": "x1", "kind": "ingest", "fields": [{"name": "a", "type": "Nope"}]}, 400, "Timestamp"),
            ({"name": "x1", "kind": "ingest",
              "fields": [{"name": "a", "type": "Long"}, {"name": "a", "type": "Long"}]}, 400, "a"),
            ({"name": "x1", "kind": "ingest", "ingest": {"policy": "Maybe"}}, 400, "policy"),
            ({"name": "x1", "kind": "telepathy"}, 400, "telepathy"),
            ({"name": "x1", "kind": "generator", "generatorProfile": "nope"}, 400, "nope")):
        assert word in s.error("POST", "/api/sources", body, want=want), body
    for raw in (b"{", b'{"name":"x1"', b'{"name":"\xc3"}', b'{"name":"x1"}x'):
        equal(s.send("POST", "/api/sources", raw=raw, token=s.login("editor"))[0], 400, repr(raw))
    equal(s.send("POST", "/api/sources", raw=b" " * (3 << 20), token=s.login("editor"))[0], 413)
    s.error("GET", "/api/sources/x1", None, "viewer", 404)
    s.error("PUT", "/api/sources/taken", {"name": "other", "kind": "ingest"}, want=400)


def test_names_are_unique_over_all_kinds():
    s = shared()
    s.ingest("one_name")
    s.error("POST", "/api/tables", {"name": "one_name", "sql": "SELECT k FROM one_name"}, want=409)
    s.error("POST", "/api/pipelines", {"name": "one_name", "sql": "SELECT k FROM one_name"}, want=409)
    s.pipeline("a_pipeline", "SELECT k FROM one_name", start=False)
    s.error("POST", "/api/pipelines", {"name": "a_pipeline", "sql": "SELECT k FROM one_name"},
            want=409)
    status = s.send("POST", "/api/sources", {"name": "a_pipeline"}, s.login("editor"))[0]
    assert status in (400, 409), status


def test_stale_edits():
    s = shared()
    made = s.ingest("stale")
    s.call("PUT", "/api/sources/stale", dict(made, description="2"), If_Match='"1"')
    s.error("PUT", "/api/sources/stale", dict(made, description="3"), want=412, If_Match='"1"')
    equal(s.call("GET", "/api/sources/stale")["description"], "2")
    s.error("DELETE", "/api/sources/stale", want=412, If_Match='"1"')
    s.call("DELETE", "/api/sources/stale", want=204, If_Match='"2"')


def test_breaking_change_gate():
    s = shared()
    made = s.ingest("gate", "qty:Double,old:String")
    new = dict(made, fields=[{"name": "qty", "type": "String"}, {"name": "more", "type": "Long"}])
    body = s.call("PUT", "/api/sources/gate?allowBreaking=false", new, want=409)
    equal(body["error"], "source 'gate': schema change is breaking")
    equal(sorted(r.split("'")[1] for r in body["breakingReasons"]), ["old", "qty"])
    assert "field 'qty' changed type: Double -> String" in body["breakingReasons"], body
    equal(s.call("GET", "/api/sources/gate")["revision"], 1, "nothing was half applied")
    equal(s.call("PUT", "/api/sources/gate", new)["schemaRevision"], 2)
    s.error("PUT", "/api/sources/gate?allowBreaking=perhaps", new, want=400)


def test_file_source():
    s = shared()
    path = os.path.join(s.dir, "rows.ndjson")
    with open(path, "w") as out:
        out.write('{"k":"a","v":1}\n{"k":"b","v":2}\n{"k":"a","v":5}\n')
    s.call("POST", "/api/sources", {
        "name": "filed", "kind": "file",
        "connector": {"file": {"path": path, "format": "ndjson"}, "schedule": {"intervalMs": 1000}},
        "fields": [{"name": "k", "type": "String"}, {"name": "v", "type": "Long"}]}, want=201)
    s.table("filed_sums", "SELECT k, SUM(v) AS total FROM filed GROUP BY k")
    becomes(s, "filed_sums", [{"k": "a", "total": 6}, {"k": "b", "total": 2}])
    status = until(lambda: (lambda b: b if b["lastStatus"] == "ok" else None)(
        s.call("GET", "/api/sources/filed/status", user="viewer")), "the file was read")
    equal((status["sourceName"], status["eventsEmittedTotal"], status["lastError"]),
          ("filed", 3, None))


def test_source_status():
    s = shared()
    s.call("POST", "/api/sources", {"name": "gen", "generatorProfile": "trades", "eventsPerSecond": 50,
                                    "fields": [{"name": "symbol", "type": "String"},
                                               {"name": "qty", "type": "Long"}]}, want=201)
    s.call("GET", "/api/sources/gen/status", want=204)
    s.call("GET", "/api/sources/gen/ingest", want=204)
    s.error("GET", "/api/sources/none/status", want=404)
    s.table("gen_rows", "SELECT symbol, COUNT(*) AS n FROM gen GROUP BY symbol")
    until(lambda: s.rows("gen_rows"), "the generator's rows arrive")
    gen = s.call("GET", "/api/sources/gen")
    s.call("PUT", "/api/sources/gen", dict(gen, enabled=False))
    equal(s.call("GET", "/api/sources/gen")["enabled"], False)
    table = s.call("GET", "/api/tables/gen_rows")
    assert "gen_rows" in s.error("DELETE", "/api/sources/gen", want=409)
    s.call("POST", f"/api/tables/{table['id']}/stop")
    s.call("DELETE", f"/api/tables/{table['id']}", want=204)
    s.call("DELETE", "/api/sources/gen", want=204)


# ---- pipelines and tables ----


def test_table_life():
    s = shared()
    s.ingest("tl")
    status, headers, made = s.send(
        "POST", "/api/tables", {"name": "tl_sums", "sql": "SELECT k, SUM(v) AS total FROM tl GROUP BY k",
                                "id": "0" * 32, "createdBy": "x", "status": "Running"},
        s.login("editor"))
    equal(status, 201)
    assert len(made["id"]) == 32 and set(made["id"]) <= set("0123456789abcdef") - set(), made["id"]
    assert made["id"] != "0" * 32
    equal(headers["Location"], "/api/tables/" + made["id"])
    equal((made["status"], made["error"], made["createdBy"]), ("Stopped", None, "editor"))
    equal((made["streamInputs"], made["tableInputs"], made["keyFields"]), (["tl"], [], ["k"]))
    equal([(f["name"], f["type"]) for f in made["outputFields"]], [("k", "String"), ("total", "Long")])
    equal((made["parallelism"], made["persistence"], made["searchMode"]), (1, "Batched", "Exact"))
    by_name = s.call("GET", "/api/tables/tl_sums", user="viewer")
    equal(by_name, s.call("GET", "/api/tables/" + made["id"], user="viewer"))
    s.error("PUT", "/api/tables/tl_sums", made, want=404)
    s.error("POST", "/api/tables/tl_sums/start", want=404)
    equal(s.call("POST", f"/api/tables/{made['id']}/start")["status"], "Running")
    equal(s.call("POST", f"/api/tables/{made['id']}/start")["status"], "Running", "again")
    s.push("tl", [{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "a", "v": 3}])
    becomes(s, "tl_sums", [{"k": "a", "total": 4}, {"k": "b", "total": 2}])
    equal(s.call("POST", f"/api/tables/{made['id']}/stop")["status"], "Stopped")
    s.push("tl", [{"k": "c", "v": 9}])
    equal(s.call("POST", f"/api/tables/{made['id']}/start")["status"], "Running")
    becomes(s, "tl_sums", [{"k": "a", "total": 4}, {"k": "b", "total": 2}, {"k": "c", "total": 9}])
    now = s.call("GET", "/api/tables/tl_sums")
    changed = s.call("PUT", f"/api/tables/{made['id']}",
                     dict(now, sql="SELECT k, COUNT(*) AS n FROM tl GROUP BY k"))
    equal((changed["status"], [f["name"] for f in changed["outputFields"]]), ("Running", ["k", "n"]))
    becomes(s, "tl_sums", [{"k": "a", "n": 2}, {"k": "b", "n": 1}, {"k": "c", "n": 1}])
    s.call("DELETE", f"/api/tables/{made['id']}", want=204)
    s.error("GET", "/api/tables/tl_sums/rows", want=404)
    again = s.table("tl_sums", "SELECT COUNT(*) AS n FROM tl")
    assert again["id"] != made["id"]
    equal(again["keyFields"], [])
    becomes(s, "tl_sums", [{"n": 4}])


def test_drafts_and_failures():
    s = shared()
    s.ingest("draft")
    for kind in ("tables", "pipelines"):
        draft = s.call("POST", f"/api/{kind}", {"name": f"draft_{kind}", "sql": "SELECT\n  nope FROM draft"},
                       want=201)
        equal((draft["status"], draft["outputFields"]), ("Stopped", []))
        failed = s.call("POST", f"/api/{kind}/{draft['id']}/start")
        equal(failed["status"], "Failed")
        assert failed["error"].startswith("2:3 ") and "nope" in failed["error"], failed["error"]
        equal(s.call("GET", f"/api/{kind}/{draft['id']}")["error"], failed["error"], "kept")
        mended = s.call("PUT", f"/api/{kind}/{draft['id']}", dict(failed, sql="SELECT k FROM draft"))
        equal((mended["status"], mended["error"]), ("Running", None))
        s.call("POST", f"/api/{kind}/{draft['id']}/stop")
        broken = s.call("PUT", f"/api/{kind}/{draft['id']}", dict(mended, sql="SELECT k FRM draft"))
        equal(broken["status"], "Stopped")
        s.call("DELETE", f"/api/{kind}/{draft['id']}", want=204)
        s.error("POST", f"/api/{kind}", {"name": "no_sql"}, want=400)
        s.error("POST", f"/api/{kind}", {"sql": "SELECT k FROM draft"}, want=400)
    assert "nowhere" in s.error("POST", "/api/tables",
                                {"name": "ins", "sql": "INSERT INTO nowhere SELECT k FROM draft"})


def test_tables_read_tables():
    s = shared()
    s.ingest("base")
    low = s.table("low", "SELECT k, SUM(v) AS total FROM base GROUP BY k", start=False)
    high = s.table("high", "SELECT k FROM low WHERE total > 10", start=False)
    equal((high["streamInputs"], high["tableInputs"], high["keyFields"] or []), ([], ["low"], high["keyFields"] or []))
    early = s.call("POST", f"/api/tables/{high['id']}/start")
    equal(early["status"], "Failed")
    assert "low" in early["error"] and "not running" in early["error"], early["error"]
    s.call("POST", f"/api/tables/{low['id']}/start")
    equal(s.call("POST", f"/api/tables/{high['id']}/start")["status"], "Running")
    s.push("base", [{"k": "a", "v": 8}, {"k": "a", "v": 8}, {"k": "b", "v": 1}])
    becomes(s, "high", [{"k": "a"}])
    s.push("base", [{"k": "a", "v": -8}, {"k": "b", "v": 20}])
    becomes(s, "high", [{"k": "b"}])
    for method, path in (("POST", "/stop"), ("DELETE", "")):
        assert "high" in s.error(method, f"/api/tables/{low['id']}{path}", want=409)
    s.error("PUT", f"/api/tables/{low['id']}", dict(low, sql="SELECT k FROM base"), want=409)
    s.call("POST", f"/api/tables/{high['id']}/stop")
    s.call("POST", f"/api/tables/{low['id']}/stop")
    s.error("PUT", f"/api/tables/{low['id']}", dict(low, name="lower"), want=409)
    equal(s.call("PUT", f"/api/tables/{high['id']}", dict(high, name="higher"))["name"], "higher")
    s.error("GET", "/api/tables/high", want=404)
    s.call("DELETE", f"/api/tables/{low['id']}", want=204)


def test_table_rules():
    s = shared()
    s.ingest("rules")
    sql = "SELECT k, SUM(v) AS total FROM rules GROUP BY k"
    for more in ({"parallelism": 17}, {"parallelism": 0}, {"shardBy": ["k"], "searchEnabled": True},
                 {"shardBy": ["k"], "persistence": "MemoryOnly"}):
        s.error("POST", "/api/tables", {"name": "rules_t", "sql": sql, **more}, want=409)
    for more in ({"persistence": "Sometimes"}, {"flushMs": -1}, {"colour": 1}):
        s.error("POST", "/api/tables", {"name": "rules_t", "sql": sql, **more}, want=400)


def test_validate():
    s = shared()
    s.ingest("val")
    good = s.call("POST", "/api/tables/validate", {"sql": "SELECT k, COUNT(*) AS n FROM val GROUP BY k"})
    equal((good["ok"], good["diagnostics"], good["streamInputs"], good["tableInputs"]),
          (True, [], ["val"], []))
    equal(good["outputSchema"], [{"name": "k", "kind": "String"}, {"name": "n", "kind": "Long"}])
    assert good["planSummary"], good
    bad = s.call("POST", "/api/tables/validate", {"sql": "SELECT k,\n wrong\nFROM val"})
    equal((bad["ok"], bad["planSummary"]), (False, None))
    one = bad["diagnostics"][0]
    equal((one["line"], one["column"], one["severity"]), (2, 2, "Error"))
    assert "wrong" in one["message"], one
    window = "SELECT k, COUNT(*) AS n FROM val GROUP BY k WINDOW TUMBLING(SIZE 5 SECONDS)"
    equal(s.call("POST", "/api/tables/validate", {"sql": window})["ok"], False)
    ok = s.call("POST", "/api/pipelines/validate", {"sql": window})
    equal((ok["ok"], ok["sourceNames"]), (True, ["val"]))
    late = s.call("POST", "/api/tables/validate", {"sql": "INSERT INTO out\nSELECT k, übel1 FROM val"})
    one = late["diagnostics"][0]
    equal((one["line"], one["column"], one["length"]), (2, 11, 5), "INSERT INTO keeps places")
    s.error("POST", "/api/tables/validate", {}, want=400)
    s.error("POST", "/api/tables/validate", {"sql": 7}, want=400)


def test_complete():
    s = shared()
    tier = [{"name": "id", "type": "Long"}, {"name": "tier", "type": "String"}]
    s.call("POST", "/api/sources", {"name": "comp", "kind": "ingest", "fields": [
        {"name": "who", "type": "String"},
        {"name": "doc", "type": "Json", "children": [
            {"name": "user", "type": "Json", "children": tier}]}]}, want=201)
    s.table("comp_t", "SELECT who, COUNT(*) AS n FROM comp GROUP BY who")

    def labels(noun, text):
        at = len(text[:text.index("|")].encode("utf-16-le")) // 2
        said = s.call("POST", f"/api/{noun}/complete", {"sql": text.replace("|", ""), "position": at})
        return said, [i["label"] for i in said["items"]]

    said, found = labels("tables", "SELECT w| FROM comp")
    equal((said["from"], said["to"]), (7, 8))
    equal(said["items"][0], {"label": "who", "insert": "who", "kind": "column", "detail": "String",
                             "doc": ""})
    equal(labels("tables", "SELECT '\U0001f600', who.| FROM comp_t who")[1][:2], ["who", "n"])
    equal(labels("tables", "SELECT '\U0001f600', w| FROM comp")[0]["from"], 13, "UTF-16 units")
    equal([k for k in labels("tables", "SELECT * FROM comp|")[1]], ["comp", "comp_t"])
    equal([k for k in labels("pipelines", "SELECT * FROM comp|")[1]], ["comp"])
    equal(labels("tables", "SELECT doc->'user'->'| FROM comp")[1], ["id", "tier"])
    equal(labels("tables", "SELECT doc->'user'->>'t|' FROM comp")[1], ["tier"])
    end = s.call("POST", "/api/tables/complete", {"sql": "SEL"})
    equal([i["label"] for i in end["items"]], ["SELECT"], "the end is the usual place")
    s.error("POST", "/api/tables/complete", {"sql": "SELECT", "position": -1}, want=400)
    s.error("POST", "/api/tables/complete", {"sql": "SELECT", "position": "3"}, want=400)
    s.error("POST", "/api/tables/complete", {"position": 3}, want=400)
    s.error("POST", "/api/pipelines/complete", {"sql": "SELECT 1"}, "viewer", 403)


def test_rows():
    s = shared()
    s.ingest("many", "id:Long,name:String")
    s.table("many_t", "SELECT id, name FROM many")
    empty = s.call("GET", "/api/tables/many_t/rows", user="viewer")
    equal((empty["rows"], empty["totalRows"]), ([], 0))
    for start in range(0, 3000, 1000):
        s.push("many", [{"id": i, "name": f'n "{i}", ü'} for i in range(start, start + 1000)])
    until(lambda: s.call("GET", "/api/tables/many_t/rows?limit=0")["totalRows"] == 3000, "all rows")
    page = s.call("GET", "/api/tables/many_t/rows")
    equal((len(page["rows"]), page["totalRows"]), (100, 3000))
    assert page["seq"] > empty["seq"] and page["shards"] is None, page["seq"]
    seen = []
    for offset in range(0, 3500, 700):
        seen += s.call("GET", f"/api/tables/many_t/rows?limit=700&offset={offset}")["rows"]
    equal(sorted(r["row"]["id"] for r in seen), list(range(3000)))
    equal({r["weight"] for r in seen}, {1})
    for query in ("limit=x", "offset=1.5", "limit="):
        s.error("GET", "/api/tables/many_t/rows?" + query, want=400)
    status, headers, body = s.send("GET", "/api/tables/many_t/rows.csv", token=s.login("viewer"))
    equal((status, headers["Content-Type"].split(";")[0]), (200, "text/csv"))
    assert "many_t.csv" in headers["Content-Disposition"], headers["Content-Disposition"]
    table = list(csv.reader(io.StringIO(body.decode())))
    equal((table[0], len(table)), (["id", "name"], 3001))
    equal(sorted((int(r[0]), r[1]) for r in table[1:]), [(i, f'n "{i}", ü') for i in range(3000)])
    status, _, body = s.send("GET", "/api/tables/many_t/rows.csv?limit=2", token=s.login("viewer"))
    equal(len(body.decode().splitlines()), 3)
    metrics = s.call("GET", "/api/tables/many_t/metrics", user="viewer")
    equal((metrics["status"], metrics["rowCount"], metrics["deltasIn"]), ("Running", 3000, 3000))
    plan = s.call("GET", "/api/tables/many_t/plan", user="viewer")
    assert plan["planSummary"] and plan["stages"] and plan["unavailableReason"] is None, plan
    for route in ("rows", "rows.csv", "metrics", "plan"):
        s.error("GET", f"/api/tables/none/{route}", want=404)


def test_pipeline_results():
    s = shared()
    s.ingest("win")
    made = s.pipeline("win_p", "SELECT k, SUM(v) AS total FROM win GROUP BY k WINDOW TUMBLING(SIZE 1 SECOND)")
    equal((made["status"], made["sourceNames"]), ("Running", ["win"]))
    base = 1700000000000
    s.push("win", [{"k": "a", "v": 1, "_ts": base}, {"k": "a", "v": 2, "_ts": base + 500},
                   {"k": "b", "v": 7, "_ts": base + 999}, {"k": "a", "v": 5, "_ts": base + 10000}])
    results = until(lambda: s.call("GET", "/api/pipelines/win_p/results", user="viewer"), "results")
    equal([r["seq"] for r in results], [1, 2])
    equal({r["pipelineId"] for r in results}, {made["id"]})
    rows = sorted_rows([r["row"] for r in results])
    equal([(r["k"], r["total"]) for r in rows], [("a", 3), ("b", 7)])
    equal([r["window_start"] for r in rows], [base, base])
    equal(len(s.call("GET", "/api/pipelines/win_p/results?limit=1")), 1)
    equal(s.call("GET", "/api/pipelines/none/results"), [])
    status, headers, body = s.send("GET", "/api/pipelines/win_p/results.csv", token=s.login("viewer"))
    equal((status, headers["Content-Type"].split(";")[0]), (200, "text/csv"))
    table = list(csv.reader(io.StringIO(body.decode())))
    equal(table[0][:2], ["k", "total"])
    equal(sorted(r[:2] for r in table[1:]), [["a", "3"], ["b", "7"]])
    metrics = s.call("GET", "/api/pipelines/win_p/metrics")
    equal((metrics["pipelineId"], metrics["totalEventsIn"], metrics["totalRowsOut"],
           metrics["windowsClosed"] >= 1, metrics["lateEvents"]), (made["id"], 4, 2, True, 0))
    s.push("win", [{"k": "a", "v": 1, "_ts": base}])
    until(lambda: s.call("GET", "/api/pipelines/win_p/metrics")["lateEvents"] == 1, "one is late")
    s.call("GET", "/api/pipelines/win_p/plan")
    s.error("GET", "/api/pipelines/none/metrics", want=404)
    s.error("GET", "/api/pipelines/none/results.csv", want=404)


# ---- ingest ----


def test_push():
    s = shared()
    s.ingest("push", "k:String,v:Long,d:Double,j:Json,t:Timestamp")
    s.table("push_t", "SELECT k, v, d, j, t FROM push")
    got = s.push("push", [{"k": "ü\u0000\"", "v": 2**63 - 1, "d": 0.1, "j": {"a": [1, None]},
                           "t": "2024-02-29T12:00:00Z"}, {}])
    equal((got["accepted"], got["dropped"], got["invalid"], got["duplicate"], got["replayed"],
           got["durable"]), (2, 0, 0, 0, False, True))
    assert got["capacityRows"] == 10000 and got["depthRows"] <= 2, got
    becomes(s, "push_t", [
        {"k": "ü\u0000\"", "v": 2**63 - 1, "d": 0.1, "j": {"a": [1, None]}, "t": 1709208000000},
        {"k": None, "v": None, "d": None, "j": None, "t": None}])
    equal(s.push("push", [])["accepted"], 0)
    status = s.call("GET", "/api/sources/push/ingest", user="viewer")
    equal((status["policy"], status["totalAccepted"], status["totalInvalid"], status["maxBatchRows"]),
          ("Reject", 2, 0, 1000))
    assert status["lastPushMs"] > 0 and len(status["instanceId"]) == 32, status


def test_push_refusals():
    s = shared()
    s.ingest("refuse")
    token = s.login("editor")
    for raw, want, word in (
            (b"", 400, ""), (b"[]", 400, "object"), (b"{}", 400, "events"),
            (b'{"events":7}', 400, "events"), (b'{"events":[],"x":1}', 400, "x"),
            (b'{"events":[],"partial":1}', 400, "partial"),
            (b'{"events":[],"idempotencyKey":1}', 400, "idempotencyKey"),
            (b'{"events":[{"k":"a"}', 400, ""), (b'{"events":[{"k":"\xff"}]}', 400, ""),
            (b'{"events":[{"k":"\\ud800"}]}', 400, ""), (b'{"events":[1]}', 400, ""),
            (b'{"events":[{"k":"a"},7]}', 400, ""),
            (json.dumps({"events": [{}] * 1001}).encode(), 413, "1001")):
        status, _, body = s.send("POST", "/api/sources/refuse/events", raw=raw, token=token)
        equal(status, want, repr(raw[:40]))
        assert word in body["error"], (raw[:40], body)
    equal(s.send("POST", "/api/sources/refuse/events", raw=b"{}")[0], 401)
    s.error("POST", "/api/sources/refuse/events", {"events": []}, "viewer", 403)
    s.error("POST", "/api/sources/none/events", {"events": []}, "viewer", 403)
    s.error("POST", "/api/sources/none/events", {"events": []}, "editor", 404)
    s.call("POST", "/api/sources", {"name": "not_pushed", "enabled": False}, want=201)
    s.error("POST", "/api/sources/not_pushed/events", {"events": []}, want=409)
    equal(s.call("GET", "/api/sources/refuse/ingest")["totalAccepted"], 0, "nothing was half applied")


def test_push_invalid_rows():
    s = shared()
    s.ingest("inv", onCoercionFailure="DropRow", ingest={"rejectUnknownFields": True})
    s.table("inv_t", "SELECT k, v FROM inv")
    events = [{"k": "a", "v": 1}, {"k": "b", "v": "soon"}, {"k": "c", "v": 3, "z": 1}, {"k": "d"}]
    body = s.call("POST", "/api/sources/inv/events", {"events": events}, want=400)
    equal(sorted(e["row"] for e in body["rowErrors"]), [1, 2])
    assert "\"v\"" in body["rowErrors"][0]["error"] or "v" in body["rowErrors"][0]["error"], body
    got = s.push("inv", events, partial=True)
    equal((got["accepted"], got["invalid"]), (2, 2))
    becomes(s, "inv_t", [{"k": "a", "v": 1}, {"k": "d", "v": None}])
    s.ingest("nulls")
    s.table("nulls_t", "SELECT k, v FROM nulls")
    equal(s.push("nulls", [{"k": "b", "v": "soon", "z": 1}])["accepted"], 1)
    becomes(s, "nulls_t", [{"k": "b", "v": None}])
    s.ingest("whole", onCoercionFailure="RejectBatch")
    s.error("POST", "/api/sources/whole/events", {"events": [{"v": 1}, {"v": "x"}], "partial": True})


def test_push_twice():
    s = shared()
    s.ingest("idem")
    s.table("idem_t", "SELECT COUNT(*) AS n FROM idem")
    first = s.push("idem", [{"k": "a"}, {"k": "b"}], idempotencyKey="one")
    again = s.push("idem", [{"k": "c"}], idempotencyKey="one")
    equal((first["replayed"], again["replayed"], again["accepted"]), (False, True, 2))
    header = s.call("POST", "/api/sources/idem/events", {"events": [{"k": "d"}]}, want=202,
                    Idempotency_Key="one")
    equal(header["replayed"], True)
    body_wins = s.call("POST", "/api/sources/idem/events", {"events": [{"k": "d"}],
                                                           "idempotencyKey": "two"},
                       want=202, Idempotency_Key="one")
    equal((body_wins["replayed"], body_wins["accepted"]), (False, 1))
    becomes(s, "idem_t", [{"n": 3}])
    s.error("POST", "/api/sources/idem/events", {"events": [], "idempotencyKey": "x" * 300})


def test_one_idempotency_key_at_one_time():
    s = shared()
    s.ingest("race")
    s.table("race_t", "SELECT COUNT(*) AS n FROM race")
    token, counted = s.login("editor"), []

    def push():
        status, _, body = s.send("POST", "/api/sources/race/events",
                                 {"events": [{"k": "a"}], "idempotencyKey": "same"}, token)
        counted.append((status, body.get("replayed")))

    for _ in range(5):
        threads = [threading.Thread(target=push) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    equal(sum(1 for c in counted if c == (202, False)), 1, str(counted))
    becomes(s, "race_t", [{"n": 1}])


def test_row_dedup():
    s = shared()
    s.ingest("dedup", ingest={"dedupKeyField": "k", "dedupWindow": 3})
    s.table("dedup_t", "SELECT k, v FROM dedup")
    got = s.push("dedup", [{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "a", "v": 3}, {"v": 4}, {"v": 5}])
    equal((got["accepted"], got["duplicate"]), (4, 1))
    equal(s.push("dedup", [{"k": "b", "v": 6}])["duplicate"], 1)
    s.push("dedup", [{"k": "c"}, {"k": "d"}])  # now "a" is the oldest of four and forgotten
    equal(s.push("dedup", [{"k": "a", "v": 7}])["accepted"], 1)
    becomes(s, "dedup_t", [{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": None, "v": 4},
                           {"k": None, "v": 5}, {"k": "c", "v": None}, {"k": "d", "v": None},
                           {"k": "a", "v": 7}])
    equal(s.call("GET", "/api/sources/dedup/ingest")["totalDuplicate"], 2)


def test_retract():
    s = shared()
    s.ingest("ret")
    row = [{"k": "a", "_retract": True}]
    assert "_retract" in s.error("POST", "/api/sources/ret/events", {"events": row})
    s.table("ret_latest", "SELECT k, v FROM ret LATEST BY (k)")
    s.push("ret", [{"k": "a", "v": 1}, {"k": "b", "v": 2}])
    becomes(s, "ret_latest", [{"k": "a", "v": 1}, {"k": "b", "v": 2}])
    s.push("ret", row)
    becomes(s, "ret_latest", [{"k": "b", "v": 2}])
    s.table("ret_count", "SELECT COUNT(*) AS n FROM ret")
    assert "ret_count" in s.error("POST", "/api/sources/ret/events", {"events": row})


def test_not_durable():
    s = shared()
    s.ingest("soft", ingest={"durable": False})
    equal(s.push("soft", [{"k": "a"}])["durable"], False)


def test_ingest_keys():
    s = shared()
    s.ingest("keyed")
    s.ingest("keyed2")
    made = s.call("POST", "/api/sources/keyed/ingest/keys", {"label": "meter"})
    equal((made["label"], made["secret"][:4], len(made["secret"])), ("meter", "sfk_", 68))
    listed = s.call("GET", "/api/sources/keyed/ingest/keys")
    equal(listed, [{"id": made["id"], "label": "meter", "createdAtMs": made["createdAtMs"],
                    "lastUsedMs": 0}])
    key = {"X_SF_Ingest_Key": made["secret"]}
    body = {"events": [{"k": "a"}]}
    equal(s.call("POST", "/api/sources/keyed/events", body, None, 202, **key)["accepted"], 1)
    assert s.call("GET", "/api/sources/keyed/ingest/keys")[0]["lastUsedMs"] > 0
    s.error("POST", "/api/sources/keyed2/events", body, None, 401, **key)
    s.error("POST", "/api/sources/keyed/events", body, None, 401, X_SF_Ingest_Key="sfk_" + "0" * 64)
    s.error("GET", "/api/sources/keyed/ingest/keys", None, "viewer", 403)
    assert "secret" not in json.dumps(s.call("GET", "/api/sources/keyed")), "secrets stay inside"
    assert made["secret"] not in json.dumps(s.call("GET", "/api/sources/keyed"))
    now = s.call("GET", "/api/sources/keyed")
    s.call("PUT", "/api/sources/keyed", dict(now, description="sent back"))
    s.call("POST", "/api/sources/keyed/events", body, None, 202, **key)
    s.call("DELETE", f"/api/sources/keyed/ingest/keys/{made['id']}", want=204)
    s.error("DELETE", f"/api/sources/keyed/ingest/keys/{made['id']}", want=404)
    s.error("POST", "/api/sources/keyed/events", body, None, 401, **key)
    s.error("POST", "/api/sources/not_there/ingest/keys", {"label": "x"}, want=404)
    s.call("POST", "/api/sources", {"name": "unkeyed", "enabled": False}, want=201)
    s.error("POST", "/api/sources/unkeyed/ingest/keys", {"label": "x"}, want=409)


def test_overload():
    s = shared()
    s.ingest("small", ingest={"capacityRows": 10})
    s.table("small_t", "SELECT COUNT(*) AS n FROM small")
    status, headers, body = s.send("POST", "/api/sources/small/events", {"events": [{}] * 11},
                                   s.login("editor"))
    equal((status, body["retryAfterMs"], body["rowErrors"]), (429, 1000, []))
    assert 1 <= int(headers["Retry-After"]) <= 30, headers["Retry-After"]
    equal(s.push("small", [{}] * 10)["accepted"], 10)
    s.ingest("newest", ingest={"capacityRows": 10, "policy": "DropNewest"})
    s.table("newest_t", "SELECT COUNT(*) AS n FROM newest")
    got = s.push("newest", [{}] * 25)
    equal((got["accepted"], got["dropped"]), (10, 15))
    becomes(s, "newest_t", [{"n": 10}])
    status = s.call("GET", "/api/sources/newest/ingest")
    equal((status["totalAccepted"], status["totalDropped"]), (10, 15))


def test_source_changes_are_whole():
    s = shared()
    made = s.ingest("whole_change")
    s.table("whole_t", "SELECT k FROM whole_change")
    for change in ({"kind": "generator"}, {"kind": "file", "connector": {}}):
        status = s.send("PUT", "/api/sources/whole_change", {**made, **change}, s.login("editor"))[0]
        assert status in (400, 409), (change, status)
        equal(s.call("GET", "/api/sources/whole_change"), made, "nothing was half applied")
    s.push("whole_change", [{"k": "a"}])
    becomes(s, "whole_t", [{"k": "a"}])


def test_a_failed_query_fails_alone():
    s = Server(temporary(), "--no-demo", "--Memory:MaxBytes", "3000000")
    s.ingest("big", ingest={"capacityRows": 100000})
    s.ingest("little")
    s.table("big_t", "SELECT k, COUNT(*) AS n FROM big GROUP BY k")
    s.table("big_n", "SELECT COUNT(*) AS n FROM big_t")
    s.table("little_t", "SELECT COUNT(*) AS n FROM little")
    for batch in range(40):
        s.push("big", [{"k": f"{batch}-{i}" * 5} for i in range(1000)])
    until(lambda: s.call("GET", "/api/tables/big_t")["status"] == "Failed", "the limit")
    until(lambda: s.call("GET", "/api/tables/big_n")["status"] == "Failed", "its reader")
    error = s.call("GET", "/api/tables/big_t")["error"]
    assert error.startswith("state of "), error
    assert "big_t" in s.call("GET", "/api/tables/big_n")["error"], s.call("GET", "/api/tables/big_n")
    equal(s.call("GET", "/api/tables/big_t/metrics")["status"], "Failed")
    s.push("little", [{}, {}])
    becomes(s, "little_t", [{"n": 2}])
    for name in ("big_n", "big_t"):
        made = s.call("GET", f"/api/tables/{name}")
        equal(s.call("POST", f"/api/tables/{made['id']}/stop")["status"], "Stopped")
    s.call("DELETE", "/api/tables/" + s.call("GET", "/api/tables/big_n")["id"], want=204)
    s.stop()


def test_many_changes_at_one_time():
    s = shared()
    path = os.path.join(s.dir, "busy.ndjson")
    with open(path, "w") as out:
        out.write('{"k":"a","v":1}\n')
    problems = []

    def work(number):
        try:
            source = f"busy{number}"
            body = {"name": source, "kind": "file", "fields": [{"name": "k", "type": "String"},
                                                               {"name": "v", "type": "Long"}],
                    "connector": {"file": {"path": path}, "schedule": {"intervalMs": 1000}}}
            s.call("POST", "/api/sources", body, want=201)
            for _ in range(3):
                table = s.table(f"{source}_t", f"SELECT k, SUM(v) AS t FROM {source} GROUP BY k")
                equal(table["status"], "Running")
                s.call("PUT", f"/api/sources/{source}", dict(body, description="again"))
                s.rows(f"{source}_t")
                s.call("POST", f"/api/tables/{table['id']}/stop")
                s.call("DELETE", f"/api/tables/{table['id']}", want=204)
            s.call("DELETE", f"/api/sources/{source}", want=204)
        except Exception as e:
            problems.append(repr(e))

    s.login("editor")
    threads = [threading.Thread(target=work, args=(i,)) for i in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal(problems, [])


# ---- restarts ----


def test_restart_changes_nothing():
    data = temporary()
    first = Server(data, "--no-demo")
    first.ingest("r")
    first.table("r_sums", "SELECT k, SUM(v) AS total, MAX(v) AS high FROM r GROUP BY k")
    first.table("r_top", "SELECT k, total FROM r_sums WHERE total > 5")
    stopped = first.table("r_stopped", "SELECT k FROM r", start=False)
    pipeline = first.pipeline("r_win", "SELECT k, COUNT(*) AS n FROM r GROUP BY k WINDOW TUMBLING(SIZE 1 SECOND)")
    broken = first.pipeline("r_broken", "SELECT nope FROM r")
    key = first.call("POST", "/api/sources/r/ingest/keys", {"label": "x"})
    base = 1700000000000
    first.push("r", [{"k": "a", "v": 4, "_ts": base}, {"k": "a", "v": 3, "_ts": base + 1},
                     {"k": "b", "v": 1, "_ts": base + 2}])
    want = [{"k": "a", "total": 7, "high": 4}, {"k": "b", "total": 1, "high": 1}]
    becomes(first, "r_sums", want)
    becomes(first, "r_top", [{"k": "a", "total": 7}])
    before = {k: first.call("GET", f"/api/{k}") for k in ("sources", "tables", "pipelines")}
    instance = first.call("GET", "/api/meta/instance")["instanceId"]
    seq = first.call("GET", "/api/tables/r_sums/rows")["seq"]
    token = first.login("editor")
    first.stop()

    second = Server(data, "--no-demo")
    second.tokens["editor"] = token  # tokens outlive a restart
    equal(second.call("GET", "/api/meta/instance")["instanceId"], instance)
    equal({k: second.call("GET", f"/api/{k}") for k in before}, before)
    equal(sorted_rows(second.rows("r_sums")), sorted_rows(want), "at once")
    assert second.call("GET", "/api/tables/r_sums/rows")["seq"] >= seq
    becomes(second, "r_top", [{"k": "a", "total": 7}])
    equal(second.call("GET", f"/api/tables/{stopped['id']}")["status"], "Stopped")
    equal(second.call("GET", f"/api/pipelines/{broken['id']}")["status"], "Failed")
    second.call("POST", "/api/sources/r/events", {"events": [{"k": "b", "v": 9, "_ts": base + 9000}]},
                None, 202, X_SF_Ingest_Key=key["secret"])
    becomes(second, "r_sums", [{"k": "a", "total": 7, "high": 4}, {"k": "b", "total": 10, "high": 9}])
    results = until(lambda: second.call("GET", f"/api/pipelines/{pipeline['id']}/results"), "results")
    equal(sorted((r["row"]["k"], r["row"]["n"]) for r in results), [("a", 2), ("b", 1)])
    second.stop()


def test_two_servers_on_one_directory():
    s = shared()
    try:
        Server(s.dir, "--no-demo")
    except RuntimeError as e:
        assert s.dir in str(e) or "lock" in str(e) or "use" in str(e), e
    else:
        raise AssertionError("a second server opened the same data")


def test_two_servers_on_one_port():
    s, data = shared(), os.path.join(temporary(), "d")
    for option, value, word in (("--Http:Port", str(s.port), str(s.port)),
                                ("--Http:Address", "no.such.address.invalid", "no.such")):
        end = subprocess.run([PROGRAM, "--DataDir", data, option, value], capture_output=True,
                             text=True, timeout=DEADLINE_S)
        equal((end.returncode, end.stdout), (1, ""), end.stderr)
        assert word in end.stderr and end.stderr.count("\n") == 1, end.stderr
        assert not os.path.exists(data), "the port comes before the data"


def test_settings():
    data = temporary()
    os.mkdir(os.path.join(data, "etc"))
    file = os.path.join(data, "etc", "settings.json")
    with open(file, "w") as out:
        json.dump({"Streams": {"Transport": "pull"}, "NoSuchKey": 1, "Name": "from-file",
                   "NoDemo": True}, out)
    s = Server(os.path.join(data, "d"), "--config", file, "--Grpc:Port", "7777")
    equal(s.call("GET", "/api/meta/instance", user=None)["name"], "from-file")
    said = s.said()
    assert "Streams" in said and "NoSuchKey" in said and "7777" in said, said
    s.stop()
    bad = subprocess.run([PROGRAM, "--Http:Port", "many"], capture_output=True, text=True)
    assert bad.returncode != 0 and "Http:Port" in bad.stderr, bad
    bad = subprocess.run([PROGRAM, "--DataDir", "", "--Http:Port", "0"], capture_output=True, text=True)
    assert bad.returncode == 1 and "empty name" in bad.stderr, bad
    assert "Http:Port" in subprocess.run([PROGRAM, "--help"], capture_output=True, text=True).stdout


# ---- the demo world ----


def test_demo_world():
    data = temporary()
    s = Server(data)
    names = {k: sorted(e["name"] for e in s.call("GET", f"/api/{k}"))
             for k in ("sources", "pipelines", "tables")}
    equal(names["sources"], ["app_events", "order_events", "orders", "quotes", "structures", "trades"])
    equal(len(names["pipelines"]), 7)
    equal(names["tables"], ["gold_tier_orders", "hot_symbols", "leg_exposure", "order_states",
                            "positions"])
    states = {e["name"]: e["status"] for k in ("pipelines", "tables") for e in s.call("GET", f"/api/{k}")}
    for name in ("positions", "leg_exposure", "order_states", "VWAP by symbol (5s)",
                 "Trade vs quote spread", "fill-rate-5s"):
        equal(states[name], "Running", name)
    for name in ("gold_tier_orders", "hot_symbols", "Order bursts (session)",
                 "Unfilled orders (LEFT JOIN)", "JSON payload join"):
        equal(states[name], "Stopped", name)
    failed = [p for p in s.call("GET", "/api/pipelines") if p["status"] == "Failed"]
    for pipeline in failed:
        assert pipeline["error"].split(":")[0].isdigit(), pipeline["error"]
    for table in ("positions", "leg_exposure", "order_states"):
        until(lambda: s.rows(table), table)
    equal({e["createdBy"] for e in s.call("GET", "/api/tables")}, {"system"})
    table = next(t for t in s.call("GET", "/api/tables") if t["name"] == "hot_symbols")
    s.call("DELETE", f"/api/tables/{table['id']}", want=204)
    s.stop()
    s = Server(data)
    names["tables"].remove("hot_symbols")
    equal({k: sorted(e["name"] for e in s.call("GET", f"/api/{k}")) for k in names}, names)
    s.stop()


# ---- killed under load ----


class Load(threading.Thread):
    """Pushes numbered batches one after the other until the server dies; knows what was acknowledged."""

    def __init__(self, port, token, first):
        super().__init__()
        self.port, self.token, self.next = port, token, first
        self.acknowledged, self.unsure = [], []

    def run(self):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        headers = {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"}
        try:
            while True:
                number = self.next
                rows = [{"k": f"k{(number * 7 + i) % 50}", "b": number, "v": number % 11 + i}
                        for i in range(number % 20 + 1)]
                self.unsure = rows
                client.request("POST", "/api/sources/load/events", json.dumps({"events": rows}), headers)
                answer = client.getresponse()
                body = answer.read()
                if answer.status == 202:
                    self.acknowledged += rows
                    self.next += 1
                else:
                    assert answer.status == 429, (answer.status, body)
                self.unsure = []
        except (OSError, http.client.HTTPException):
            pass


def totals(rows):
    sums = {}
    for row in rows:
        entry = sums.setdefault(row["k"], {"k": row["k"], "n": 0, "total": 0, "high": row["v"]})
        entry["n"] += 1
        entry["total"] += row["v"]
        entry["high"] = max(entry["high"], row["v"])
    return list(sums.values())


def test_killed_at_any_moment():
    rounds = int(os.environ.get("SF_KILL_ROUNDS", "10"))
    seed = int(os.environ.get("SF_KILL_SEED", str(random.randrange(1 << 30))))
    rng = random.Random(seed)
    data, token, kept, number, unsure = temporary(), None, [], 0, []
    for round_number in range(rounds + 1):
        s = Server(data, "--no-demo", "--Checkpoint:IntervalMs", "100")
        if token is None:
            s.ingest("load", "k:String,b:Long,v:Long")
            s.table("load_t", "SELECT k, COUNT(*) AS n, SUM(v) AS total, MAX(v) AS high FROM load GROUP BY k")
            s.table("load_n", "SELECT SUM(n) AS n FROM load_t")
            s.table("load_b", "SELECT b, COUNT(*) AS n FROM load GROUP BY b")
            token = s.login("editor")
        s.tokens["editor"] = token
        what = f"SF_KILL_SEED={seed} round {round_number}"
        # What was not acknowledged may be there or not, but not in part.
        if unsure:
            got = s.rows("load_n")[0]["n"] or 0
            assert got in (len(kept), len(kept) + len(unsure)), f"{what}: {got} rows"
            if got != len(kept):
                kept += unsure
            number += 1
        equal(sorted_rows(s.rows("load_t")), sorted_rows(totals(kept)), what)
        equal(s.rows("load_n"), [{"n": len(kept) or None}], what)
        if round_number == rounds:
            s.stop()
            break
        load = Load(s.port, token, number)
        load.start()
        wait_rows = rng.randrange(1, 400)
        until(lambda: len(load.acknowledged) >= wait_rows or not load.is_alive(), what)
        s.kill()
        load.join()
        kept += load.acknowledged
        number, unsure = load.next, load.unsure
    assert len(kept) > rounds, "the load did something"


def test_zz_stop():
    s = shared()
    s.stop()
    assert "ERROR" not in s.said() and "AddressSanitizer" not in s.said(), s.said()


if __name__ == "__main__":
    run(sys.modules["__main__"])
