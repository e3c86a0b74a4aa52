#!/usr/bin/env node
// The hub, through the official SignalR client, and through a bare WebSocket for what that client
// would never send. Ends with "N passed, N failed".
import { spawn, execFileSync } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import path from "node:path";
import net from "node:net";
import assert from "node:assert/strict";
import * as signalr from "@microsoft/signalr";
import WebSocket from "ws";

const here = path.dirname(fileURLToPath(import.meta.url));
const build = process.env.SF_BUILD ?? path.join(here, "../../build/debug");
const END = "\x1e";

function serverProgram() {
  if (process.env.SF_API_SERVER) return process.env.SF_API_SERVER;
  execFileSync("ninja", ["-C", build, "api_server"], { stdio: ["ignore", "ignore", "inherit"] });
  return path.join(build, "tests", "api_server");
}
const program = serverProgram();

class Server {
  static async start(options = {}) {
    const server = new Server();
    const args = Object.entries(options).flatMap(([k, v]) => ["--" + k, String(v)]);
    server.process = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    server.ended = new Promise((resolve) => server.process.on("exit", resolve));
    const lines = createInterface({ input: server.process.stdout });
    const first = await new Promise((resolve) => lines.once("line", resolve));
    server.port = Number(first.split(" ")[1]);
    server.base = `http://127.0.0.1:${server.port}`;
    return server;
  }
  async stop() {
    this.process.stdin.end();
    assert.equal(await this.ended, 0, "the test server must end well");
  }
  async json(method, route) {
    const answer = await fetch(this.base + route, { method });
    return answer.json();
  }
  emit(table, times = 1) {
    return this.json("POST", `/api/emit/${table}?times=${times}`);
  }
  hub(user = "viewer", options = {}) {
    return new signalr.HubConnectionBuilder()
      .withUrl(`${this.base}/hubs/stream${options.query ?? ""}`, {
        accessTokenFactory: () => user,
        transport: signalr.HttpTransportType.WebSockets,
        skipNegotiation: options.skipNegotiation ?? false,
      })
      .configureLogging(signalr.LogLevel.None)
      .build();
  }
  negotiate(user = "viewer", version = 1) {
    return fetch(`${this.base}/hubs/stream/negotiate?negotiateVersion=${version}`, {
      method: "POST",
      headers: user ? { Authorization: `Bearer ${user}` } : {},
    });
  }
}

// Waits until check() holds; something else makes it true, no time is guessed.
async function until(check) {
  for (;;) {
    if (await check()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

// A connection without the client library: messages in the order they came.
class Bare {
  constructor(server, query = "?access_token=viewer") {
    this.socket = new WebSocket(`ws://127.0.0.1:${server.port}/hubs/stream${query}`);
    this.messages = [];
    this.frames = 0;
    this.rest = "";
    this.closed = new Promise((resolve) =>
      this.socket.on("close", (code) => resolve(code)),
    );
    this.refused = new Promise((resolve) =>
      this.socket.on("unexpected-response", (_, response) => resolve(response.statusCode)),
    );
    this.opened = new Promise((resolve) => this.socket.on("open", resolve));
    this.socket.on("error", () => {});
    this.socket.on("message", (data) => {
      this.frames++;
      const parts = (this.rest + data).split(END);
      this.rest = parts.pop();
      for (const part of parts) this.messages.push(JSON.parse(part));
    });
  }
  async greet() {
    await this.opened;
    this.send({ protocol: "json", version: 1 });
    await until(() => this.messages.length > 0);
    assert.deepEqual(this.messages.shift(), {});
    return this;
  }
  send(...messages) {
    this.socket.send(messages.map((m) => JSON.stringify(m) + END).join(""));
  }
  call(id, target, ...args) {
    this.send({ type: 1, invocationId: id, target, arguments: args });
  }
  async answer(id) {
    let found;
    await until(() => (found = this.messages.find((m) => m.type === 3 && m.invocationId === id)));
    return found;
  }
}

const tests = {
  async negotiate(server) {
    const answer = await (await server.negotiate()).json();
    assert.equal(answer.negotiateVersion, 1);
    assert.match(answer.connectionId, /^[0-9a-f]{32}$/);
    assert.match(answer.connectionToken, /^[0-9a-f]{32}$/);
    assert.notEqual(answer.connectionId, answer.connectionToken);
    assert.deepEqual(answer.availableTransports, [
      { transport: "WebSockets", transferFormats: ["Text"] },
    ]);
    const old = await (await server.negotiate("viewer", 0)).json();
    assert.equal(old.connectionToken, undefined);
    assert.equal((await server.negotiate(null)).status, 401);
    assert.equal((await server.negotiate("viewer", 9)).status, 400);
    const query = `${server.base}/hubs/stream/negotiate?negotiateVersion=1&access_token=viewer`;
    assert.equal((await fetch(query, { method: "POST" })).status, 200);
  },

  async official_client(server) {
    const hub = server.hub();
    const deltas = [];
    hub.on("tableDelta", (...args) => deltas.push(args));
    await hub.start();
    assert.equal(await hub.invoke("SubscribeTable", "trades"), null);
    assert.deepEqual(await server.emit("trades"), { told: 1 });
    await until(() => deltas.length === 1);
    const [name, rows, seq] = deltas[0];
    assert.equal(name, "trades");
    assert.deepEqual(rows, [{ row: { sum: 1, pad: "" }, weight: 1, evicted: false, epoch: -1 }]);
    assert.ok(seq > 0);
    await hub.invoke("UnsubscribeTable", "trades");
    assert.deepEqual(await server.emit("trades"), { told: 0 });
    assert.deepEqual(await hub.invoke("heartbeat", "doc"), { heard: "doc" });
    await hub.stop();
    await until(async () => (await server.json("GET", "/counters")).hub === 0);
  },

  async official_client_without_negotiation(server) {
    const hub = server.hub("viewer", { skipNegotiation: true });
    await hub.start();
    await hub.invoke("subscribemetrics");
    await hub.stop();
  },

  async refused_methods_say_why(server) {
    const hub = server.hub();
    await hub.start();
    const why = async (...args) => {
      try {
        await hub.invoke(...args);
      } catch (error) {
        return error.message;
      }
      return "nothing was refused";
    };
    const cases = [
      [["SubscribeTable", "secret"], 'user "viewer" may not read table "secret"'],
      [["SubscribeTable"], 'hub method "SubscribeTable" takes 1 arguments, not 0'],
      [["SubscribeMetrics", 1], 'hub method "SubscribeMetrics" takes 0 arguments, not 1'],
      [["SubscribeTable", 5], 'argument "name" must be text'],
      [["SubscribeTable", ""], 'argument "name" must have 1 to 255 bytes'],
      [["SubscribeTable", "n".repeat(256)], 'argument "name" must have 1 to 255 bytes'],
      [["SubscribeTableFrom", "t", "x", null], 'argument "fromSeq" must be a whole number or null'],
      [["NoSuchThing"], 'hub method "NoSuchThing" does not exist'],
      [["SubscribeAwareness", "a", "b", null], 'hub method "SubscribeAwareness" is not offered here'],
    ];
    for (const [args, want] of cases) assert.equal(await why(...args), want);
    await hub.stop();
  },

  async streams_are_refused(server) {
    const hub = server.hub();
    await hub.start();
    const error = await new Promise((resolve) =>
      hub.stream("SubscribeTable", "x").subscribe({ next() {}, complete: resolve, error: resolve }),
    );
    assert.match(error.message, /cannot be streamed/);
    await hub.stop();
  },

  async replay_starts_over(server) {
    const bare = await new Bare(server).greet();
    bare.call("1", "SubscribeTable", "replayed");
    bare.call("2", "SubscribeTable", "replayed"); // nothing new
    bare.call("3", "SubscribeTableFrom", "replayed", 40, null);
    await bare.answer("3");
    assert.deepEqual(await server.emit("replayed"), { told: 1 });
    const sum = () =>
      bare.messages.filter((m) => m.type === 1).reduce((s, m) => s + m.arguments[1][0].row.sum, 0);
    await until(() => sum() === 41); // 40 is what the double replays
    bare.socket.close();
    await bare.closed;
  },

  async one_table_by_two_names_comes_once(server) {
    const bare = await new Bare(server).greet();
    bare.call("1", "SubscribeTable", "seven");
    bare.call("2", "SubscribeTable", "id-7");
    await bare.answer("2");
    assert.deepEqual(await server.emit("seven"), { told: 1 });
    bare.call("3", "UnsubscribeTable", "id-7"); // it was asked for as "seven"
    bare.call("4", "UnsubscribeTable", "seven");
    await bare.answer("4");
    assert.deepEqual(await server.emit("seven"), { told: 0 });
    bare.call("5", "SubscribeTable", "id-7");
    bare.call("6", "UnsubscribeTable", "seven"); // by the resolved name
    await bare.answer("6");
    assert.deepEqual(await server.emit("seven"), { told: 0 });
    bare.socket.terminate();
  },

  async messages_in_pieces_and_together(server) {
    const bare = new Bare(server);
    await bare.opened;
    const text =
      JSON.stringify({ protocol: "json", version: 1 }) + END +
      JSON.stringify({ type: 6 }) + END +
      JSON.stringify({ type: 1, invocationId: "a", target: "Heartbeat", arguments: ["é\u001f"] }) + END +
      JSON.stringify({ type: 1, target: "Heartbeat", arguments: ["no answer wanted"] }) + END +
      JSON.stringify({ type: 1, invocationId: "b", target: "Heartbeat", arguments: [{}] }) + END;
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 7) bare.socket.send(bytes.subarray(at, at + 7));
    await until(() => bare.messages.length === 3);
    assert.deepEqual(bare.messages, [
      {},
      { type: 3, invocationId: "a", result: { heard: "é\u001f" } },
      { type: 3, invocationId: "b", result: { heard: {} } },
    ]);
    // Fragments of one WebSocket message, with a ping between them.
    bare.socket.send('{"type":1,"invocationId":"c","target":"Heart', { fin: false });
    bare.socket.ping("p");
    bare.socket.send('beat","arguments":[1]}' + END, { fin: true });
    assert.deepEqual((await bare.answer("c")).result, { heard: 1 });
    bare.socket.close(1000);
    assert.equal(await bare.closed, 1000);
  },

  async pings_are_answered(server) {
    const bare = await new Bare(server).greet();
    const pong = new Promise((resolve) => bare.socket.once("pong", (data) => resolve(String(data))));
    bare.socket.ping("are you there");
    assert.equal(await pong, "are you there");
    bare.socket.terminate();
  },

  async wrong_openings_are_refused(server) {
    const cases = [
      ["", 401],
      ["?access_token=nobody", 401],
      ["?access_token=viewer&id=0123", 404],
      ["?access_token=viewer&env=nope", 404],
    ];
    for (const [query, status] of cases) assert.equal(await new Bare(server, query).refused, status);
    const plain = await fetch(`${server.base}/hubs/stream?access_token=viewer`);
    assert.equal(plain.status, 426);
    assert.equal(plain.headers.get("sec-websocket-version"), "13");
    // A negotiated id serves once, and only its own user.
    const { connectionToken } = await (await server.negotiate("viewer")).json();
    assert.equal(await new Bare(server, `?access_token=editor&id=${connectionToken}`).refused, 404);
    const bare = await new Bare(server, `?access_token=viewer&id=${connectionToken}&env=staging`).greet();
    assert.equal(await new Bare(server, `?access_token=viewer&id=${connectionToken}`).refused, 404);
    bare.socket.terminate();
  },

  async protocol_mistakes_close_with_a_reason(server) {
    const first = [
      [{ protocol: "messagepack", version: 1 }, /not spoken here/],
      [{ protocol: "json", version: 7 }, /version 1/],
    ];
    for (const [hello, why] of first) {
      const bare = new Bare(server);
      await bare.opened;
      bare.send(hello);
      assert.equal(await bare.closed, 1002);
      assert.match(bare.messages[0].error, why);
    }
    const later = [
      ["{", /cannot be read/],
      ['{"type":"x"}', /whole number/],
      ['{"type":1,"arguments":[]}', /no target/],
      ["[]", /must be a JSON object/],
    ];
    for (const [text, why] of later) {
      const bare = await new Bare(server).greet();
      bare.socket.send(text + END);
      assert.equal(await bare.closed, 1002);
      assert.equal(bare.messages.at(-1).type, 7);
      assert.match(bare.messages.at(-1).error, why);
    }
    const large = await new Bare(server).greet();
    large.socket.send("x".repeat(70000));
    assert.equal(await large.closed, 1009);
    const endless = await new Bare(server).greet();
    for (let i = 0; i < 3; i++) endless.socket.send("x".repeat(30000)); // a message without end
    assert.equal(await endless.closed, 1009);
    const polite = await new Bare(server).greet();
    polite.send({ type: 7 });
    assert.equal(await polite.closed, 1000);
  },

  async frames_before_the_answer_are_kept(server) {
    // A client that sends its handshake together with the upgrade request.
    const payload = Buffer.from('{"protocol":"json","version":1}' + END);
    const frame = Buffer.concat([
      Buffer.from([0x81, 0x80 | payload.length, 0, 0, 0, 0]),
      payload,
    ]);
    const socket = net.connect(server.port, "127.0.0.1");
    socket.write(
      "GET /hubs/stream?access_token=viewer HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n" +
        "Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n" +
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    socket.write(frame);
    let data = "";
    socket.on("data", (bytes) => (data += bytes.toString("latin1")));
    await until(() => data.endsWith("\x81\x03{}" + END));
    assert.match(data, /^HTTP\/1.1 101 .*Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/s);
    socket.destroy();
  },

  async idle_clients_hear_pings_and_silent_ones_are_closed() {
    const server = await Server.start({ ping: 50, "client-timeout": 1500 });
    const bare = await new Bare(server).greet();
    await until(() => bare.messages.filter((m) => m.type === 6).length >= 2);
    assert.equal(await bare.closed, 1008);
    assert.match(bare.messages.at(-1).error, /nothing was heard/);
    const hub = server.hub(); // its own pings keep it
    hub.keepAliveIntervalInMilliseconds = 40;
    let lost = false;
    hub.onclose(() => (lost = true));
    await hub.start();
    const later = Date.now() + 2500; // longer than a silent client would be kept
    await until(() => Date.now() > later);
    assert.equal(lost, false);
    await hub.stop();
    await server.stop();
  },

  async a_handshake_must_come() {
    const server = await Server.start({ "handshake-timeout": 100 });
    const bare = new Bare(server);
    assert.equal(await bare.closed, 1008);
    assert.match(bare.messages[0].error, /did not arrive in time/);
    await server.stop();
  },

  async subscriptions_are_bounded() {
    const server = await Server.start({ subscriptions: 2 });
    const bare = await new Bare(server).greet();
    for (const id of ["1", "2", "3"]) bare.call(id, "SubscribeTable", "t" + id);
    assert.match((await bare.answer("3")).error, /can have 2 subscriptions/);
    bare.call("4", "UnsubscribeTable", "t1");
    bare.call("5", "SubscribeTable", "t3");
    assert.equal((await bare.answer("5")).error, undefined);
    bare.socket.terminate();
    await server.stop();
  },

  async a_slow_client_holds_back_nobody() {
    const server = await Server.start({ pad: 60000, "write-timeout": 60000 });
    const slow = await new Bare(server).greet();
    const quick = await new Bare(server).greet();
    for (const bare of [slow, quick]) {
      bare.call("1", "SubscribeTable", "t");
      await bare.answer("1");
      bare.messages.length = 0;
    }
    slow.socket.pause();
    const sum = (bare) => bare.messages.reduce((s, m) => s + m.arguments[1][0].row.sum, 0);
    const rounds = 400;
    for (let i = 1; i <= rounds; i++) {
      await server.emit("t");
      await until(() => sum(quick) === i); // each event alone, at once
    }
    assert.ok(quick.messages.length === rounds, `${quick.messages.length} events`);
    slow.socket.resume();
    await until(() => sum(slow) === rounds); // nothing is lost, much of it came netted
    assert.ok(slow.messages.length < rounds, `${slow.messages.length} events`);
    slow.socket.terminate();
    quick.socket.terminate();
    await server.stop();
  },

  async stopping_says_goodbye() {
    const server = await Server.start();
    const bare = await new Bare(server).greet();
    bare.call("1", "SubscribeTable", "t");
    await bare.answer("1");
    const hub = server.hub();
    let reason;
    const closed = new Promise((resolve) => hub.onclose((error) => resolve((reason = error))));
    await hub.start();
    const stopped = server.stop();
    assert.equal(await bare.closed, 1001);
    assert.deepEqual(bare.messages.at(-1), { type: 7, error: "the server stops", allowReconnect: true });
    await closed;
    assert.match(String(reason), /the server stops/);
    await stopped;
  },

  async events_arrive_fast(server) {
    const bare = await new Bare(server).greet();
    bare.call("1", "SubscribeTable", "fast");
    await bare.answer("1");
    const times = [];
    for (let i = 0; i < 300; i++) {
      const count = bare.messages.length;
      const began = performance.now();
      const answer = server.emit("fast");
      await new Promise((resolve) => bare.socket.once("message", resolve));
      times.push(performance.now() - began);
      await answer;
      assert.ok(bare.messages.length > count);
    }
    times.sort((a, b) => a - b);
    console.log(`emit over HTTP to event: median ${times[150].toFixed(3)} ms (not judged)`);
    bare.socket.terminate();
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
    process.exit(1);
  }, 60000);
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
