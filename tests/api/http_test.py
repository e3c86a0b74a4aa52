#!/usr/bin/env python3
"""The HTTP front, seen from outside: framing, limits, refusals, timeouts, streams, stopping."""

import json
import socket
import sys
import threading

from driver import Server, at_end, equal, read_answer, recv, run

HOST = b"Host: test\r\n"


def raw(server, data, head_only=False):
    sock = server.connect()
    sock.sendall(data)
    answer = read_answer(sock, head_only)
    return sock, answer


def error_of(answer):
    return json.loads(answer[2])["error"]


# ---- the ordinary ----


def test_routes_answer():
    with Server() as server:
        status, headers, body = server.call("GET", "/healthz")
        equal((status, body), (200, b'{"status":"ok"}'))
        equal(headers["Content-Type"], "application/json; charset=utf-8")
        assert headers["Date"].endswith(" GMT"), headers["Date"]
        status, headers, body = server.call("GET", "/api/things/a%2Fb%20c+d?q=x%26y+z", token="viewer")
        equal(status, 200)
        equal(json.loads(body), {"key": "a/b c+d", "env": "", "user": "viewer", "q": "x&y z"})
        equal(headers["ETag"], '"1"')
        equal(server.call("GET", "/api/things/special", token="viewer")[2], b'{"status":"ok"}')
        equal(server.call("GET", "/healthz/")[0], 200, "one slash at the end changes nothing")


def test_methods():
    with Server() as server:
        status, headers, body = server.call("BREW", "/healthz")
        equal((status, headers["Allow"]), (405, "GET, HEAD, OPTIONS"))
        status, headers, body = server.call("PATCH", "/api/things/x", token="admin")
        equal((status, headers["Allow"]), (405, "GET, HEAD, PUT, DELETE, OPTIONS"))
        assert b"PATCH" in body
        status, headers, body = server.call("OPTIONS", "/api/things/x")
        equal((status, body), (204, b""))
        equal(headers["Allow"], "GET, HEAD, PUT, DELETE, OPTIONS")
        equal(server.call("OPTIONS", "/nothing")[0], 404)
        status, headers, body = server.call("HEAD", "/healthz")
        equal((status, headers["Content-Length"], body), (200, "15", b""))
        sock, answer = raw(server, b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n")
        equal(answer[0], 204)
        equal(server.call("GET", "/none/here")[0], 404)
        equal(json.loads(server.call("GET", "/none/here")[2]), {"error": "there is nothing at /none/here"})


def test_rights():
    with Server() as server:
        status, headers, body = server.call("GET", "/api/things/x")
        equal((status, headers["WWW-Authenticate"]), (401, "Bearer"))
        assert b"/api/auth/login" in body
        equal(server.call("GET", "/api/things/x", token="nobody")[0], 401)
        equal(server.call("GET", "/api/things/x?access_token=viewer")[0], 401, "not in a query")
        equal(server.call("PUT", "/api/things/x", body="{}", token="viewer")[0], 403)
        equal(server.call("PUT", "/api/things/x", body="{}", token="editor")[0], 200)
        equal(server.call("DELETE", "/api/things/x", token="editor")[0], 403)
        equal(server.call("DELETE", "/api/things/x", token="admin")[0], 200)
        for token, user in [(None, ""), ("nobody", ""), ("editor", "editor")]:
            body = server.call("GET", "/api/open/x", token=token)[2]
            equal(json.loads(body)["user"], user)


def test_environments():
    with Server() as server:
        def env(path, **headers):
            status, _, body = server.call("GET", path, token="viewer", **headers)
            return status, json.loads(body).get("env", json.loads(body).get("error"))

        name = "X_StreamsForge_Environment"
        equal(env("/api/things/x", **{name: "staging"}), (200, "staging"))
        equal(env("/api/things/x", **{name: "default"}), (200, ""))
        equal(env("/api/things/x", **{name: "nope"}), (404, "environment 'nope' does not exist"))
        equal(env("/api/things/x?env=staging", **{name: "nope"}), (200, "staging"))
        equal(server.call("GET", "/healthz", **{name: "nope"})[0], 200)
        status = server.call("GET", "/api/things/x", **{name: "nope"})[0]
        equal(status, 401, "who is not signed in learns nothing about environments")


def test_errors_have_a_status_and_a_sentence():
    wanted = {
        "SYNTAX": 400, "INVALID": 400, "NOT_FOUND": 404, "EXISTS": 409, "CONFLICT": 409,
        "STALE": 412, "LIMIT": 413, "OVERLOADED": 429, "UNAUTHENTICATED": 401, "FORBIDDEN": 403,
        "UNSUPPORTED": 501, "UNAVAILABLE": 503, "TIMEOUT": 504, "CANCELLED": 503, "IO": 500,
        "CORRUPT": 500, "INTERNAL": 500,
    }
    with Server() as server:
        for name, status in wanted.items():
            got, headers, body = server.call("GET", "/api/fail/" + name)
            equal(got, status, name)
            equal(json.loads(body)["error"], 'thing "x" did not work; try thing "y"')
            if status in (429, 503):
                equal(headers["Retry-After"], "1")


# ---- bodies ----


def test_bodies():
    with Server() as server:
        equal(server.call("POST", "/api/echo", body='{"a":1}', token="viewer")[2], b'{"a":1}')
        equal(server.call("POST", "/api/echo", token="viewer")[2], b"")
        big = bytes(range(256)) * 4096 * 8
        status, _, body = server.call("POST", "/api/measure", body=big)
        got = json.loads(body)
        equal((status, got["length"]), (200, len(big)))
        sock, answer = raw(server, b"POST /api/measure HTTP/1.1\r\n" + HOST + b"\r\n")
        equal(json.loads(answer[2])["length"], 0, "no length is no body")


def test_chunked_bodies():
    with Server() as server:
        head = b"POST /api/echo HTTP/1.1\r\n" + HOST
        head += b"Authorization: Bearer viewer\r\nTransfer-Encoding: chunked\r\n\r\n"
        good = b"3\r\nabc\r\nA;ext=1\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
        sock, answer = raw(server, head + good)
        equal((answer[0], answer[2]), (200, b"abc0123456789"))
        sock.sendall(head + good)
        equal(read_answer(sock)[2], b"abc0123456789", "the connection goes on")
        sock = server.connect()
        for i in range(len(head + good)):
            sock.sendall((head + good)[i : i + 1])
        equal(read_answer(sock)[2], b"abc0123456789", "byte by byte")
        for bad, why in [
            (b"x\r\n", "start with its size"),
            (b"3\nabc", "hexadecimal"),
            (b"3\r\nabcd\r\n", "longer than its size"),
            (b"fffffffffffffffff\r\n", "too large"),
            (b"1;" + b"e" * 2000, "extension"),
            (b"0\r\n" + b"t" * 9000, "trailer"),
        ]:
            sock, answer = raw(server, head + bad)
            equal(answer[0], 400, str(bad[:20]))
            assert why in error_of(answer), (why, answer)
            assert at_end(sock)


def test_body_limits():
    with Server() as server:
        head = b"POST /api/echo HTTP/1.1\r\n" + HOST + b"Authorization: Bearer viewer\r\n"
        sock, answer = raw(server, head + b"Content-Length: 1048577\r\n\r\n")
        equal((answer[0], answer[1]["connection"]), (413, "close"))
        assert "larger than this route accepts" in error_of(answer)
        # The whole of a refused body can be sent and the answer still be read.
        sock, answer = raw(server, head + b"Content-Length: 1048577\r\n\r\n" + b"x" * 1048577)
        equal(answer[0], 413)
        sock = server.connect()
        sock.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        sock.sendall((b"10000\r\n" + b"x" * 65536 + b"\r\n") * 17)
        equal(read_answer(sock)[0], 413)
        exact = b"y" * 1048576
        equal(server.call("POST", "/api/echo", body=exact, token="viewer")[0], 200)
        sock, answer = raw(server, b"GET /healthz HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n\r\nabc")
        equal(answer[0], 413, "a route without a body takes none")


def test_refusals_keep_the_connection_where_they_can():
    with Server() as server:
        sock = server.connect()
        for _ in range(3):
            sock.sendall(b"POST /api/echo HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello")
            equal(read_answer(sock)[0], 401)
        sock.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        equal(read_answer(sock)[0], 200)


def test_media_types():
    with Server() as server:
        def post(kind, **more):
            headers = {"Content_Type": kind} if kind else {}
            return server.call("POST", "/api/echo", body="{}", token="viewer", **headers, **more)

        for kind in [None, "application/json", "Application/JSON; charset=utf-8", "application/x+json"]:
            equal(post(kind)[0], 200, str(kind))
        for kind in ["text/plain", "application/xml", "application/jsonx", "multipart/form-data"]:
            equal(post(kind)[0], 415, kind)
        equal(post("application/json", Content_Encoding="gzip")[0], 415)
        equal(server.call("POST", "/api/measure", body=b"a,b", Content_Type="text/csv")[0], 200)


def test_expect_continue():
    with Server() as server:
        head = b"POST /api/echo HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\nExpect: 100-continue\r\n"
        sock = server.connect()
        sock.sendall(head + b"Authorization: Bearer viewer\r\n\r\n")
        equal(read_answer(sock)[0], 100)
        sock.sendall(b"{}")
        equal(read_answer(sock)[2], b"{}")
        sock, answer = raw(server, head + b"\r\n")
        equal(answer[0], 401, "no need to send the body")
        sock, answer = raw(server, head.replace(b"100-continue", b"tea") + b"\r\n")
        equal(answer[0], 417)


# ---- what is not HTTP, or could be read in two ways ----


def test_malformed_heads():
    get = b"GET /healthz HTTP/1.1\r\n"
    cases = [
        (b"GET /healthz HTTP/1.1\n\n", 400, "CR LF"),
        (b"\x00\x01\x02\r\n\r\n", 400, ""),
        (b"GET /healthz\r\n\r\n", 400, "METHOD TARGET"),
        (b"GET  /healthz HTTP/1.1\r\n" + HOST + b"\r\n", 400, ""),
        (b"G@T /healthz HTTP/1.1\r\n" + HOST + b"\r\n", 400, "token"),
        (b"GET healthz HTTP/1.1\r\n" + HOST + b"\r\n", 400, "start with /"),
        (b"GET /a%zz HTTP/1.1\r\n" + HOST + b"\r\n", 400, "hexadecimal"),
        (b"GET /a% HTTP/1.1\r\n" + HOST + b"\r\n", 400, "hexadecimal"),
        (b"GET /healthz?x=%4 HTTP/1.1\r\n" + HOST + b"\r\n", 400, "hexadecimal"),
        (b"GET /\xc3\xa4 HTTP/1.1\r\n" + HOST + b"\r\n", 400, "percent-encoded"),
        (b"GET /x#y HTTP/1.1\r\n" + HOST + b"\r\n", 400, "fragment"),
        (b"GET /healthz HTTP/2.0\r\n" + HOST + b"\r\n", 505, "HTTP/1.1"),
        (b"GET /healthz HTTP/9x\r\n" + HOST + b"\r\n", 400, ""),
        (get + b"\r\n", 400, "Host"),
        (get + HOST + HOST + b"\r\n", 400, "Host"),
        (get + HOST + b" folded: x\r\n\r\n", 400, "folded"),
        (get + HOST + b"X: a\r\n b\r\n\r\n", 400, "folded"),
        (get + HOST + b"no colon\r\n\r\n", 400, "colon"),
        (get + HOST + b"Name : x\r\n\r\n", 400, "token"),
        (get + HOST + b": x\r\n\r\n", 400, "token"),
        (get + HOST + b"X: a\x00b\r\n\r\n", 400, "control"),
        (get + HOST + b"X: a\rb\r\n\r\n", 400, "control"),
        (get + HOST + b"Content-Length: -1\r\n\r\n", 400, "number of bytes"),
        (get + HOST + b"Content-Length: +1\r\n\r\n", 400, "number of bytes"),
        (get + HOST + b"Content-Length: 1 1\r\n\r\n", 400, "number of bytes"),
        (get + HOST + b"Content-Length: 99999999999999999999\r\n\r\n", 400, "number of bytes"),
        (get + HOST + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400, "more than once"),
        (get + HOST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "more than once"),
        (get + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501, "chunked"),
        (b"GET /healthz HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "HTTP/1.0"),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414, "8 KiB"),
        (get + HOST + b"X: " + b"a" * 40000 + b"\r\n\r\n", 431, "32 KiB"),
        (get + HOST + b"X: y\r\n" * 120 + b"\r\n", 431, "100"),
    ]
    with Server() as server:
        for data, status, why in cases:
            sock, answer = raw(server, data)
            equal(answer[0], status, str(data[:60]))
            equal(answer[1]["connection"], "close")
            assert why in error_of(answer), (why, error_of(answer))
            assert at_end(sock)
        equal(server.call("GET", "/healthz")[0], 200, "and it still works")
        for path, why in [(b"/api/open/%00", "%00"), (b"/api/open/%ff%fe", "UTF-8")]:
            sock, answer = raw(server, b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n")
            equal(answer[0], 400)
            assert why in error_of(answer), answer


def test_odd_but_right_heads():
    with Server() as server:
        for data in [
            b"\r\n\r\nGET /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
            b"GET http://elsewhere/healthz HTTP/1.1\r\n" + HOST + b"\r\n",
            b"GET /healthz HTTP/1.1\r\nhOsT:x\r\nX-Empty:\r\nX: \xc3\xa4\r\n\r\n",
            b"GET /healthz? HTTP/1.1\r\n" + HOST + b"\r\n",
        ]:
            sock, answer = raw(server, data)
            equal(answer[0], 200, str(data))


# ---- connections ----


def test_keep_alive_and_pipelining():
    with Server() as server:
        get = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
        sock = server.connect()
        sock.sendall(get * 50)
        data = b""
        while data.count(b'{"status":"ok"}') < 50:
            data += recv(sock)
        equal(data.count(b"HTTP/1.1 200 OK"), 50)
        sock.sendall(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n")
        equal(read_answer(sock)[1]["connection"], "close")
        assert at_end(sock)
        sock, answer = raw(server, b"GET /healthz HTTP/1.0\r\n\r\n")
        equal(answer[0], 200)
        assert at_end(sock)
        sock, answer = raw(server, b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        equal(answer[1]["connection"], "keep-alive")
        sock.sendall(get)
        equal(read_answer(sock)[0], 200)


def test_pipelined_requests_keep_their_order():
    with Server() as server:
        sock = server.connect()
        data = b""
        for i in range(20):  # slow and fast routes in turn
            body = b"%d" % i
            path = b"/api/things/x" if i % 2 else b"/api/echo"
            method = b"PUT" if i % 2 else b"POST"
            data += method + b" " + path + b" HTTP/1.1\r\n" + HOST + b"Authorization: Bearer admin\r\n"
            data += b"Content-Length: %d\r\n\r\n" % len(body) + body
        sock.sendall(data)
        text = b""
        while text.count(b"HTTP/1.1 200") < 20 or not text.endswith(b"19"):
            more = recv(sock)
            assert more, text
            text += more
        got = [int(part.split(b"\r\n\r\n")[1]) for part in text.split(b"HTTP/1.1 200")[1:]]
        equal(got, list(range(20)))


def test_half_closed_clients_get_their_answer():
    with Server() as server:
        for path in [b"/healthz", b"/api/large?n=300000"]:
            sock = server.connect()
            sock.sendall(b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n")
            sock.shutdown(socket.SHUT_WR)
            equal(read_answer(sock)[0], 200)
            assert at_end(sock)


def test_clients_that_leave():
    with Server() as server:
        for data in [
            b"",
            b"GET /heal",
            b"POST /api/measure HTTP/1.1\r\n" + HOST + b"Content-Length: 100\r\n\r\nabc",
            b"GET /api/large?n=9000000 HTTP/1.1\r\n" + HOST + b"\r\n",
            b"GET /api/stream?n=9000000 HTTP/1.1\r\n" + HOST + b"\r\n",
            b"POST /api/hold HTTP/1.1\r\n" + HOST + b"\r\n",
        ]:
            sock = server.connect()
            sock.sendall(data)
            if b"GET /api/" in data:
                recv(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.close()
        server.call("POST", "/api/release")
        while server.counters()["connections"] > 1:
            pass
        while server.counters()["calls"] > 1:
            pass


def test_connection_limit():
    with Server("--connections", 3) as server:
        kept = [server.connect() for _ in range(3)]
        for sock in kept:
            sock.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
            equal(read_answer(sock)[0], 200)
        sock = server.connect()
        answer = read_answer(sock)
        equal(answer[0], 503)
        assert "too many connections" in error_of(answer)
        assert at_end(sock)
        kept.pop().close()
        while True:  # until the server has seen it go
            sock = server.connect()
            sock.sendall(b"GET /counters HTTP/1.1\r\n" + HOST + b"\r\n")
            answer = read_answer(sock)
            if answer[0] == 200:
                break
        assert json.loads(answer[2])["refused"] >= 1


# ---- time ----


def test_slow_heads_are_ended():
    with Server("--head-timeout", 150) as server:
        sock = server.connect()
        sock.sendall(b"GET /healthz HTTP/1.1\r\n")
        answer = read_answer(sock)
        equal(answer[0], 408)
        assert at_end(sock)
        assert at_end(server.connect()), "a client that says nothing"


def test_slow_bodies_are_ended():
    with Server("--body-grace", 150) as server:
        sock = server.connect()
        sock.sendall(b"POST /api/measure HTTP/1.1\r\n" + HOST + b"Content-Length: 10\r\n\r\nabc")
        equal(read_answer(sock)[0], 408)


def test_idle_connections_are_closed():
    with Server("--idle-timeout", 150) as server:
        sock, answer = raw(server, b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        equal(answer[0], 200)
        assert at_end(sock)


def test_readers_that_stop_are_closed():
    with Server("--write-timeout", 200) as server:
        sock = server.connect()
        sock.sendall(b"GET /api/large?n=30000000 HTTP/1.1\r\n" + HOST + b"\r\n")
        while server.counters()["connections"] > 1:
            pass  # closed although nothing was read
        total = 0
        while True:
            data = recv(sock)
            if not data:
                break
            total += len(data)
        assert total < 30000000, total


# ---- long answers ----


def test_large_answers():
    with Server() as server:
        n = 20_000_000
        body = server.call("GET", f"/api/large?n={n}")[2]
        equal(len(body), n)
        alphabet = b"abcdefghijklmnopqrstuvwxyz"
        assert body == (alphabet * (n // 26 + 1))[:n]


def test_streams():
    with Server() as server:
        for n in [0, 1, 200_000]:
            status, headers, body = server.call("GET", f"/api/stream?n={n}")
            equal((status, headers["Transfer-Encoding"]), (200, "chunked"))
            assert body == b"".join(b"line %d\n" % i for i in range(n)), n
        sock = server.connect()
        sock.sendall(b"GET /api/stream?n=1000 HTTP/1.0\r\n\r\n")
        data = b""
        while more := recv(sock):
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        assert b"chunked" not in head
        equal(body, b"".join(b"line %d\n" % i for i in range(1000)))
        sock, answer = raw(server, b"HEAD /api/stream?n=9 HTTP/1.1\r\n" + HOST + b"\r\n", True)
        equal((answer[0], answer[2]), (200, b""))


def test_failed_streams_are_cut():
    with Server() as server:
        sock = server.connect()
        sock.sendall(b"GET /api/stream?n=200000&fail=100000 HTTP/1.1\r\n" + HOST + b"\r\n")
        data = b""
        while more := recv(sock):
            data += more
        assert not data.endswith(b"0\r\n\r\n"), "a body that was cut must not look whole"


# ---- many at once, and the end ----


def test_many_clients():
    for threads in [1, 2]:
        with Server("--threads", threads) as server:
            failures = []

            def work(index):
                for i in range(40):
                    body = (b"%d-%d" % (index, i)) * 500
                    got = json.loads(server.call("POST", "/api/measure", body=body)[2])
                    if got["length"] != len(body):
                        failures.append((index, i, got))

            workers = [threading.Thread(target=work, args=(i,)) for i in range(12)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            equal(failures, [])


def test_stop_finishes_what_is_in_flight():
    with Server() as server:
        idle = server.connect()
        held = server.connect()
        held.sendall(b"POST /api/hold HTTP/1.1\r\n" + HOST + b"\r\n")
        while server.counters()["waiting"] == 0:
            pass
        other = server.connect()
        other.sendall(b"POST /api/release HTTP/1.1\r\n" + HOST)  # not complete yet
        server.begin_stop()
        assert at_end(idle)
        try:  # the port is closed
            while True:
                socket.create_connection(("127.0.0.1", server.port), timeout=5).close()
        except ConnectionRefusedError:
            pass
        other.sendall(b"\r\n")
        answer = read_answer(other)
        equal((answer[0], answer[1]["connection"]), (200, "close"))
        answer = read_answer(held)
        equal((answer[0], answer[1]["connection"]), (200, "close"))
        equal(server.process.stdout.readline(), b"stopped\n")


def test_stop_cuts_what_does_not_end():
    with Server("--grace", 100) as server:
        held = server.connect()
        held.sendall(b"POST /api/hold HTTP/1.1\r\n" + HOST + b"\r\n")
        while server.counters()["waiting"] == 0:
            pass
        server.begin_stop()
        equal(server.process.stdout.readline(), b"stopped\n")
        assert at_end(held)


if __name__ == "__main__":
    run(sys.modules["__main__"])
