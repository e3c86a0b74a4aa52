"""A server for benchmarks: started on free ports in a new data directory, and plain clients for it."""

import base64
import http.client
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Server:
    """The server of SF_BUILD (the release build) with an empty catalog."""

    def __init__(self, *flags):
        self.port = free_port()
        self.dir = tempfile.mkdtemp(prefix="sf-bench-")
        program = os.path.join(os.environ.get("SF_BUILD", "build/release"), "streamsforge")
        self.process = subprocess.Popen(
            [program, "--DataDir", self.dir, "--Http:Port", str(self.port), "--no-demo", *flags],
            stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.wait_ready()
        self.token = None
        self.token = self.call("POST", "/api/auth/login",
                               {"username": "admin", "password": "admin123!"})["token"]

    def wait_ready(self):
        deadline = time.monotonic() + 30
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/healthz")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("the server did not start")

    def connect(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def call(self, method, path, body=None, connection=None):
        own = connection or self.connect()
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        own.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = own.getresponse()
        text = response.read()
        if response.status >= 400:
            raise RuntimeError(f"{method} {path}: {response.status} {text.decode()}")
        return json.loads(text) if text else None

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_rss_bytes(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        return 0

    def close(self):
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.dir, ignore_errors=True)


class Hub:
    """The SignalR hub over a bare WebSocket: JSON messages that end with byte 0x1e."""

    END = b"\x1e"

    def __init__(self, server):
        self.sock = socket.create_connection(("127.0.0.1", server.port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        self.sock.sendall((f"GET /hubs/stream?access_token={server.token} HTTP/1.1\r\n"
                           "Host: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.pending = b""
        while b"\r\n\r\n" not in self.pending:
            self.pending += self.sock.recv(4096)
        head, self.pending = self.pending.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(head.decode())
        self.messages = []
        self.text = b""
        self.send({"protocol": "json", "version": 1})
        self.receive()

    def send(self, message):
        data = json.dumps(message).encode() + self.END
        mask = os.urandom(4)
        head = struct.pack("!BB", 0x81, 0x80 | len(data)) if len(data) < 126 else struct.pack(
            "!BBH", 0x81, 0x80 | 126, len(data))
        self.sock.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def _bytes(self, count):
        while len(self.pending) < count:
            more = self.sock.recv(65536)
            if not more:
                raise RuntimeError("the hub closed the connection")
            self.pending += more
        data, self.pending = self.pending[:count], self.pending[count:]
        return data

    def _frame(self):
        first, length = self._bytes(2)
        if length == 126:
            length, = struct.unpack("!H", self._bytes(2))
        elif length == 127:
            length, = struct.unpack("!Q", self._bytes(8))
        return first & 0x0f, self._bytes(length)

    def receive(self):
        """The next message that is not a ping."""
        while True:
            while self.messages:
                message = json.loads(self.messages.pop(0))
                if message.get("type") != 6:
                    return message
            opcode, data = self._frame()
            if opcode == 8:
                raise RuntimeError("the hub said goodbye")
            if opcode in (0, 1):
                *whole, self.text = (self.text + data).split(self.END)
                self.messages.extend(whole)

    def invoke(self, target, *arguments):
        self.send({"type": 1, "invocationId": "1", "target": target, "arguments": list(arguments)})
        while True:
            message = self.receive()
            if message.get("type") == 3:
                if message.get("error"):
                    raise RuntimeError(message["error"])
                return message.get("result")


def options(argv):
    """--events N, --json FILE; --cores is accepted and means nothing here."""
    found = {"events": None, "json": None}
    for name, value in zip(argv[1::2], argv[2::2]):
        if name == "--events":
            found["events"] = int(value)
        elif name == "--json":
            found["json"] = value
    return found


def write_json(path, results):
    if path:
        with open(path, "w") as file:
            json.dump({"machine": os.environ.get("SF_BENCH_MACHINE", ""),
                       "commit": os.environ.get("SF_BENCH_COMMIT", ""), "results": results}, file)
