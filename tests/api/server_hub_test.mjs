#!/usr/bin/env node
// The hub of the server itself, through the official SignalR client: what is listened to is what
// the server computes. Ends with "N passed, N failed".
import { spawn, execFileSync } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import assert from "node:assert/strict";
import * as signalr from "@microsoft/signalr";
import WebSocket from "ws";

const here = path.dirname(fileURLToPath(import.meta.url));
const build = process.env.SF_BUILD ?? path.join(here, "../../build/debug");

function serverProgram() {
  if (process.env.SF_SERVER) return process.env.SF_SERVER;
  execFileSync("ninja", ["-C", build, "streamsforge"], { stdio: ["ignore", "ignore", "inherit"] });
  return path.join(build, "streamsforge");
}
const program = serverProgram();

// Waits until check() holds; something else makes it true, no time is guessed.
async function until(check) {
  for (;;) {
    const got = await check();
    if (got) return got;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

class Server {
  static async start() {
    const server = new Server();
    server.dir = mkdtempSync(path.join(os.tmpdir(), "sf-hub-"));
    server.process = spawn(
      program,
      ["--DataDir", server.dir, "--Http:Port", "0", "--no-demo"],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    server.ended = new Promise((resolve) => server.process.on("exit", resolve));
    const lines = createInterface({ input: server.process.stdout });
    const first = await new Promise((resolve) => lines.once("line", resolve));
    server.base = first.match(/http:\/\/[0-9.:]+/)[0];
    server.tokens = {};
    for (const user of ["admin", "editor", "viewer"])
      server.tokens[user] = (
        await server.call("POST", "/api/auth/login", { username: user, password: `${user}123!` }, null)
      ).token;
    return server;
  }
  async stop() {
    this.process.kill("SIGTERM");
    assert.equal(await this.ended, 0, "the server must end well");
    rmSync(this.dir, { recursive: true });
  }
  async call(method, route, body, user = "editor") {
    const answer = await fetch(this.base + route, {
      method,
      headers: {
        "Content-Type": "application/json",
        ...(user ? { Authorization: `Bearer ${this.tokens[user]}` } : {}),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${route}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }
  ingest(name, fields, ingest) {
    return this.call("POST", "/api/sources", { name, kind: "ingest", fields, ingest });
  }
  async query(kind, name, sql) {
    const made = await this.call("POST", `/api/${kind}`, { name, sql });
    const now = await this.call("POST", `/api/${kind}/${made.id}/start`);
    assert.equal(now.status, "Running", now.error);
    return now;
  }
  push(source, events) {
    return this.call("POST", `/api/sources/${source}/events`, { events });
  }
  async hub(user = "viewer") {
    const hub = new signalr.HubConnectionBuilder()
      .withUrl(`${this.base}/hubs/stream`, {
        accessTokenFactory: () => this.tokens[user],
        transport: signalr.HttpTransportType.WebSockets,
      })
      .configureLogging(signalr.LogLevel.None)
      .build();
    await hub.start();
    return hub;
  }
}

const K = { name: "k", type: "String" };
const V = { name: "v", type: "Long" };

// Rows by their text, weights summed, as a client folds them.
class Fold {
  constructor() {
    this.rows = new Map();
  }
  add(row, weight) {
    const key = JSON.stringify(Object.entries(row).sort());
    const sum = (this.rows.get(key) ?? 0) + weight;
    if (sum) this.rows.set(key, sum);
    else this.rows.delete(key);
  }
  text() {
    return JSON.stringify([...this.rows].sort());
  }
}

const tests = {
  async signing_in(server) {
    const negotiate = (token) =>
      fetch(`${server.base}/hubs/stream/negotiate?negotiateVersion=1`, {
        method: "POST",
        headers: token ? { Authorization: `Bearer ${token}` } : {},
      });
    assert.equal((await negotiate(null)).status, 401);
    assert.equal((await negotiate("x.y.z")).status, 401);
    const answer = await (await negotiate(server.tokens.viewer)).json();
    assert.equal(answer.negotiateVersion, 1);
    const hub = await server.hub();
    await hub.stop();
  },

  async a_table_from_snapshot_to_every_change(server) {
    await server.ingest("fold", [K, V]);
    const sql = "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM fold GROUP BY k";
    const table = await server.query("tables", "fold_t", sql);
    await server.push("fold", [{ k: "early", v: 1 }]);
    const hub = await server.hub();
    const waiting = [];
    hub.on("tableDelta", (name, rows, seq) => waiting.push({ name, rows, seq }));
    let pushing = true;
    const load = (async () => {
      for (let i = 0; pushing; i++) await server.push("fold", [{ k: `k${i % 7}`, v: i }, { k: `k${i % 3}`, v: 1 }]);
    })();
    await hub.invoke("SubscribeTable", table.id); // an id means the table of that id
    const snapshot = await server.call("GET", "/api/tables/fold_t/rows?limit=1000");
    const fold = new Fold();
    for (const { row, weight } of snapshot.rows) fold.add(row, weight);
    let last = 0;
    const apply = () => {
      for (const { name, rows, seq } of waiting.splice(0)) {
        assert.equal(name, "fold_t");
        assert.ok(seq > last, `seq ${seq} after ${last}`);
        last = seq;
        for (const delta of rows) {
          assert.equal(delta.epoch, seq);
          assert.equal(delta.evicted, false);
          if (seq > snapshot.seq) fold.add(delta.row, delta.weight);
        }
      }
    };
    await until(() => (apply(), last > snapshot.seq + 20));
    pushing = false;
    await load;
    await until(async () => {
      const now = await server.call("GET", "/api/tables/fold_t/rows?limit=1000");
      apply();
      const want = new Fold();
      for (const { row, weight } of now.rows) want.add(row, weight);
      return now.seq === last && fold.text() === want.text();
    });
    await hub.invoke("UnsubscribeTable", "fold_t");
    await server.push("fold", [{ k: "z", v: 0 }]);
    await until(async () =>
      (await server.call("GET", "/api/tables/fold_t/rows?limit=1000")).rows.some((r) => r.row.k === "z"),
    );
    assert.equal(waiting.length, 0, "nothing after unsubscribing");
    await hub.stop();
  },

  async pipelines_and_sources(server) {
    await server.ingest("stream", [K, V]);
    const pipeline = await server.query("pipelines", "stream_p", "SELECT k, v * 2 AS twice FROM stream");
    const hub = await server.hub();
    const results = [];
    const events = [];
    hub.on("pipelineResult", (id, batch) => results.push([id, batch]));
    hub.on("sourceEvent", (name, { k, v, _ts, _source }) => events.push([name, { k, v, _ts, _source }]));
    await hub.invoke("SubscribePipeline", pipeline.id);
    await hub.invoke("SubscribeSource", "stream");
    await hub.invoke("SubscribePipeline", "not-there-yet"); // accepted, silent
    await server.push("stream", [{ k: "a", v: 1, _ts: 5000 }, { k: "b", v: 2, _ts: 6000 }]);
    await until(() => results.flatMap((r) => r[1]).length === 2 && events.length === 2);
    for (const [id, batch] of results) {
      assert.equal(id, pipeline.id);
      for (const one of batch) assert.equal(one.pipelineId, pipeline.id);
    }
    assert.deepEqual(results.flatMap((r) => r[1]).map((e) => [e.seq, e.row]), [
      [1, { k: "a", twice: 2 }],
      [2, { k: "b", twice: 4 }],
    ]);
    assert.deepEqual(events, [
      ["stream", { k: "a", v: 1, _ts: 5000, _source: "stream" }],
      ["stream", { k: "b", v: 2, _ts: 6000, _source: "stream" }],
    ]);
    await hub.stop();
  },

  async states(server) {
    await server.ingest("st", [K, V]);
    const table = await server.query("tables", "st_t", "SELECT k FROM st");
    const pipeline = await server.query("pipelines", "st_p", "SELECT k FROM st");
    const hub = await server.hub();
    const told = [];
    hub.on("tableStatus", (...args) => told.push(args));
    hub.on("pipelineStatus", (...args) => told.push(args));
    await hub.invoke("SubscribeTable", "st_t");
    await hub.invoke("SubscribePipeline", pipeline.id);
    await server.call("POST", `/api/tables/${table.id}/stop`);
    await until(() => told.length === 1);
    await server.call("POST", `/api/tables/${table.id}/start`);
    await until(() => told.length === 2);
    await server.call("POST", `/api/pipelines/${pipeline.id}/stop`);
    await until(() => told.length === 3);
    assert.deepEqual(told, [
      ["st_t", "Stopped"],
      ["st_t", "Running"],
      [pipeline.id, "Stopped"],
    ]);
    await hub.stop();
  },

  async metrics(server) {
    await server.ingest("met", [K, V]);
    const pipeline = await server.query("pipelines", "met_p", "SELECT k FROM met");
    const hub = await server.hub();
    const seen = [];
    hub.on("pipelineMetrics", (metrics) => seen.push(metrics));
    await hub.invoke("SubscribeMetrics");
    await server.push("met", [{ k: "a" }]);
    const got = await until(() => seen.find((m) => m.pipelineId === pipeline.id && m.totalEventsIn === 1));
    assert.equal(got.status, "Running");
    assert.equal(got.totalRowsOut, 1);
    await hub.stop();
  },

  async refusals(server) {
    const hub = await server.hub();
    const why = async (...args) => {
      try {
        await hub.invoke(...args);
      } catch (error) {
        return error.message;
      }
      return "nothing was refused";
    };
    assert.match(await why("SubscribeTableFrom", "fold_t", 3, null), /position of the past/);
    assert.match(await why("SubscribeTableFrom", "fold_t", null, 3), /fromTimestampMs/);
    assert.equal(await why("SubscribeTableFrom", "fold_t", null, null), "nothing was refused");
    assert.match(await why("SubscribeAwareness", "x", "y", null), /not offered/);
    await hub.stop();
  },

  // A client that does not read: bounded for the server, and told what it missed.
  async a_slow_subscriber_is_told(server) {
    await server.ingest("slow", [K, V], { capacityRows: 1000000 });
    await server.query("tables", "slow_t", "SELECT k, v FROM slow");
    const url = `${server.base.replace("http", "ws")}/hubs/stream?access_token=${server.tokens.viewer}`;
    const socket = new WebSocket(url);
    let text = "";
    socket.on("message", (data) => (text += data));
    await new Promise((resolve) => socket.on("open", resolve));
    socket.send('{"protocol":"json","version":1}\x1e');
    socket.send('{"type":1,"invocationId":"1","target":"SubscribeTable","arguments":["slow_t"]}\x1e');
    await until(() => text.includes('"invocationId":"1"'));
    socket.pause();
    const long = "x".repeat(20000);
    let pushed = 0;
    for (let i = 0; i < 60; i++) {
      await server.push("slow", Array.from({ length: 50 }, () => ({ k: long, v: pushed++ })));
      await until(async () => {
        const now = await server.call("GET", "/api/tables/slow_t/rows?limit=0");
        return now.totalRows === pushed;
      });
    }
    text = "";
    socket.resume();
    let rest = "";
    let came = 0;
    let missed = 0;
    let lagged;
    await until(() => {
      const parts = (rest + text).split("\x1e");
      text = "";
      rest = parts.pop();
      for (const part of parts) {
        const message = JSON.parse(part);
        if (message.target === "tableDelta") came += message.arguments[1].length;
        if (message.target !== "subscriptionLagged") continue;
        lagged = message.arguments;
        missed += lagged[2].rows;
      }
      return came + missed === pushed;
    });
    assert.ok(missed > 0 && came > 0, `${came} came, ${missed} were missed`);
    assert.deepEqual(lagged.slice(0, 2), ["table", "slow_t"]);
    assert.ok(lagged[2].fromSeq > 0 && lagged[2].toSeq >= lagged[2].fromSeq);
    await server.push("slow", [{ k: "after", v: 1 }]);
    await until(() => text.includes('"after"'));
    socket.close();
  },
};

let passed = 0;
let failed = 0;
const wanted = process.argv.slice(2);
const shared = await Server.start();
for (const [name, test] of Object.entries(tests)) {
  if (wanted.length && !wanted.includes(name)) continue;
  const late = setTimeout(() => {
    console.log(`${name} failed: it does not end`);
    console.log(`${passed} passed, ${failed + 1} failed`);
    shared.process.kill("SIGKILL");
    process.exit(1);
  }, 120000);
  try {
    await test(shared);
    passed++;
  } catch (error) {
    failed++;
    console.log(`${name} failed\n${error.stack}`);
  }
  clearTimeout(late);
}
try {
  await shared.stop();
} catch (error) {
  failed++;
  console.log(error.message);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
