#!/usr/bin/env python3
"""bench latency: one row over HTTP (durable ingest) to the table's delta at a WebSocket subscriber, on
an otherwise idle server. The figures include this client."""

import json
import sys
import threading
import time

from server import Hub, Server, options, write_json


def percentile(values, share):
    return values[min(len(values) - 1, int(len(values) * share))]


def main():
    given = options(sys.argv)
    count = given["events"] or 2000
    server = Server()
    try:
        server.call("POST", "/api/sources", {
            "name": "ticks", "kind": "ingest",
            "fields": [{"name": "k", "type": "String"}, {"name": "v", "type": "Long"}]})
        table = server.call("POST", "/api/tables", {
            "name": "sums", "sql": "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM ticks GROUP BY k"})
        server.call("POST", f"/api/tables/{table['id']}/start")
        hub = Hub(server)
        hub.invoke("SubscribeTable", "sums")
        arrived = {}
        done = threading.Event()

        def listen():
            while len(arrived) < count:
                message = hub.receive()
                now = time.perf_counter()
                if message.get("target") != "tableDelta":
                    continue
                # Rows that one epoch took are one delta: it shows all up to its count.
                newest = max(delta["row"]["n"] for delta in message["arguments"][1])
                for i in range(len(arrived) + 1, newest + 1):
                    arrived[i] = now
            done.set()

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        connection = server.connect()
        sent, answered = {}, []
        for i in range(1, count + 1):
            body = json.dumps({"events": [{"k": "a", "v": i}]})
            sent[i] = time.perf_counter()
            connection.request("POST", "/api/sources/ticks/events", body, {
                "Content-Type": "application/json", "Authorization": "Bearer " + server.token})
            response = connection.getresponse()
            answer = json.loads(response.read())
            answered.append(time.perf_counter() - sent[i])
            if response.status != 202 or answer["accepted"] != 1:
                raise RuntimeError(f"push {i}: {response.status} {answer}")
        if not done.wait(30):
            raise RuntimeError(f"only {len(arrived)} of {count} deltas came")
        delays = sorted((arrived[i] - sent[i]) * 1e6 for i in sent)
        answers = sorted(value * 1e6 for value in answered)
        results = []
        for name, values in (("push to delta", delays), ("push to durable answer", answers)):
            row = {"name": name, "events": count, "p50_us": percentile(values, 0.5),
                   "p99_us": percentile(values, 0.99), "p999_us": percentile(values, 0.999)}
            results.append(row)
            print(f"{name:24} p50 {row['p50_us']:8.0f} us   p99 {row['p99_us']:8.0f} us   "
                  f"p99.9 {row['p999_us']:8.0f} us")
        write_json(given["json"], results)
    finally:
        server.close()


if __name__ == "__main__":
    main()
