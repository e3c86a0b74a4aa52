"""Starts the test server and talks to it: raw sockets for what a library would not send, http.client
for the rest. Also the smallest test runner: functions named test_*, "N passed, N failed" last."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
import traceback

BUILD = os.environ.get("SF_BUILD", os.path.join(os.path.dirname(__file__), "../../build/debug"))


def server_program():
    """The test server, built when it is not up to date. SF_API_SERVER names another one."""
    if "SF_API_SERVER" in os.environ:
        return os.environ["SF_API_SERVER"]
    subprocess.run(["ninja", "-C", BUILD, "api_server"], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(BUILD, "tests", "api_server")


SERVER = server_program()


class Server:
    """with Server("--idle-timeout", 200) as server: ..."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [SERVER] + [str(o) for o in options], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        word = self.process.stdout.readline().split()
        if len(word) != 2:
            raise RuntimeError("the test server did not start")
        self.port = int(word[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        code = self.stop()
        if code != 0:
            raise RuntimeError(f"the test server ended with {code}")

    def begin_stop(self):
        self.process.stdin.close()

    def stop(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        return code

    def connect(self):
        sock = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def call(self, method, path, body=None, token=None, **headers):
        """status, headers, body"""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            fields["Authorization"] = "Bearer " + token
        client.request(method, path, body=body, headers=fields)
        answer = client.getresponse()
        data = answer.read()
        client.close()
        return answer.status, answer.headers, data

    def counters(self):
        return json.loads(self.call("GET", "/counters")[2])


def read_answer(sock, head_only=False):
    """One whole answer from a raw socket: status, headers (lower case), body. None at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = recv(sock)
        if not more:
            return None if not data else ("cut", {}, data)
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    status = int(lines[0].split(" ")[1])
    headers = dict((n.lower(), v) for n, v in (line.split(": ", 1) for line in lines[1:]))
    if status == 100:
        return status, headers, rest
    length = 0 if head_only or status == 204 else int(headers.get("content-length", "0"))
    while len(rest) < length:
        more = recv(sock)
        if not more:
            return "cut", headers, rest
        rest += more
    assert len(rest) == length, f"{len(rest) - length} bytes too many: {rest[length:][:80]!r}"
    return status, headers, rest


def recv(sock):
    try:
        return sock.recv(65536)
    except ConnectionResetError:
        return b""


def at_end(sock):
    """True when the peer closed; blocks until something happens."""
    return recv(sock) == b""


def equal(got, want, what=""):
    assert got == want, f"{what + ': ' if what else ''}{got!r} is not {want!r}"


def run(module):
    passed = failed = 0
    wanted = sys.argv[1:]
    for name, test in sorted(vars(module).items()):
        if not name.startswith("test_") or (wanted and name not in wanted):
            continue
        began = time.monotonic()
        try:
            test()
            passed += 1
            if "SF_TEST_TIMES" in os.environ:
                print(f"{name} {time.monotonic() - began:.2f} s")
        except Exception:  # a test that breaks is a test that failed
            failed += 1
            print(f"{name} failed")
            traceback.print_exc(file=sys.stdout)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)
