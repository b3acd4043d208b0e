// What the campaigns share: gateways as processes, the servers behind them with counts of their own, and clients of every door.
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { createServer as createHttp } from "node:http";
import { connect, createServer as createTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const BIN = process.env.BIN ?? "target/debug/mcp-all-in-one";
export const KEY = "campaign-admin-key-campaign-admin-key";
const MODERN = "2026-07-28";
const META = { "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {} };
const HELLO = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "campaign", version: "1" } };

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Waits until something is true; says what was not. */
export async function eventually(what, check, patienceMs = 60_000) {
  for (const end = Date.now() + patienceMs; Date.now() < end; await sleep(100)) {
    if (await Promise.resolve(check()).catch(() => false)) return;
  }
  throw new Error(`not in time: ${what}`);
}

const folders = [];
const processes = new Set();
process.on("exit", () => {
  for (const child of processes) child.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), "campaign-"));
  folders.push(folder);
  return folder;
}

const listen = (server) =>
  new Promise((done) => server.listen(0, "127.0.0.1", () => done(server.address().port)));

async function freePort() {
  const server = createTcp();
  const port = await listen(server);
  await new Promise((done) => server.close(done));
  return port;
}

// ---- gateways

/** A `serve`, which can be killed, stopped and started again on the same data. */
export class Gateway {
  constructor({ database, dataDir = newFolder(), masterKey, before = [] } = {}) {
    Object.assign(this, { database, dataDir, masterKey, before, log: "" });
  }

  async start() {
    this.port = await freePort();
    const args = ["serve", "--listen", `127.0.0.1:${this.port}`, "--data-dir", this.dataDir, "--allow-private-network"];
    if (this.database) args.push("--database", this.database);
    const env = { ...process.env, MCP_ALL_IN_ONE_HOME: this.dataDir, MCP_ALL_IN_ONE_ADMIN_TOKEN: KEY };
    if (this.masterKey) env.MCP_ALL_IN_ONE_MASTER_KEY = this.masterKey;
    const [program, ...words] = [...this.before, BIN, ...args];
    this.child = spawn(program, words, { env, stdio: ["ignore", "ignore", "pipe"] });
    processes.add(this.child);
    this.child.stderr.on("data", (piece) => (this.log = (this.log + piece).slice(-20_000)));
    this.ended = new Promise((done) => this.child.on("exit", done));
    await eventually(`a gateway listens: ${this.log}`, () => this.isReady());
    return this;
  }

  isReady() {
    return fetch(`http://127.0.0.1:${this.port}/readyz`).then((answer) => answer.ok, () => false);
  }

  get pid() {
    return this.child.pid;
  }

  signal(name) {
    process.kill(this.pid, name);
  }

  async end(signal) {
    this.child.kill(signal);
    const code = await Promise.race([this.ended, sleep(60_000).then(() => "late")]);
    processes.delete(this.child);
    return code;
  }

  /** The JSON of an answer with its status; an answer that does not come is an exception. */
  async rest(method, path, body, key = KEY, patienceMs = 60_000) {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const signal = AbortSignal.timeout(patienceMs);
    const sent = { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) };
    const answer = await fetch(`http://127.0.0.1:${this.port}/api/v1/${path}`, sent);
    const text = await answer.text();
    const parsed = text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : { text };
    return { status: answer.status, ...parsed };
  }

  /** The same, which must succeed. */
  async must(method, path, body, key) {
    const reply = await this.rest(method, path, body, key);
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(reply).slice(0, 500)}`);
    return reply;
  }

  call(uri, args, key, patienceMs) {
    return this.rest("POST", "call", { uri, arguments: args }, key, patienceMs);
  }

  async metric(name) {
    const text = await fetch(`http://127.0.0.1:${this.port}/metrics`).then((answer) => answer.text());
    return Number(new RegExp(`^mcp_all_in_one_${name} (\\S+)$`, "m").exec(text)?.[1] ?? NaN);
  }
}

// ---- what Linux knows of processes

export function residentKib(pid) {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);
}

export const openFiles = (pid) => readdirSync(`/proc/${pid}/fd`).length;

export function openSockets(pid) {
  const isSocket = (name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`).startsWith("socket:");
    } catch {
      return false; // closed meanwhile
    }
  };
  return readdirSync(`/proc/${pid}/fd`).filter(isSocket).length;
}

/** Living processes of which something is true: of their state, who started them, and their command line. */
function processesThat(isMeant) {
  const isOne = (pid) => {
    try {
      const [state, parent] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").pop().split(" ");
      return state !== "Z" && isMeant({ pid, parent: Number(parent), line: readFileSync(`/proc/${pid}/cmdline`, "utf8") });
    } catch {
      return false; // ended meanwhile
    }
  };
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter(isOne);
}

export const processesWith = (text) => processesThat(({ line }) => line.includes(text));
export const childrenOf = (pid) => processesThat(({ parent }) => parent === pid);
/** Those of these processes that are still there. */
export const alive = (pids) => processesThat(({ pid }) => pids.includes(pid));

// ---- servers behind the gateway

async function read(request) {
  let text = "";
  for await (const piece of request) text += piece;
  return text;
}

const answer = (response, body, status = 200) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

/** An API that counts what it is asked for: `counts` by path and body. */
export async function startUpstream() {
  const counts = new Map();
  const server = createHttp(async (request, response) => {
    const body = await read(request);
    const url = new URL(request.url, "http://x");
    const what = `${url.pathname} ${body}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
    if (url.pathname.startsWith("/slow/")) await sleep(Number(url.pathname.split("/")[2]));
    answer(response, { path: url.pathname, query: url.search, body, padding: "x".repeat(500) });
  });
  server.keepAliveTimeout = 60_000;
  return { url: `http://127.0.0.1:${await listen(server)}`, counts, close: () => server.close() };
}

/** A model in OpenAI's dialect: calls the first tool it is offered, then says that it is done. */
export async function startModel() {
  const server = createHttp(async (request, response) => {
    const asked = JSON.parse(await read(request));
    const hasCalled = asked.messages.some((message) => message.role === "tool");
    const name = asked.tools?.[0]?.function.name;
    const call = { id: "call-1", type: "function", function: { name, arguments: JSON.stringify({ text: "by the model" }) } };
    const message = hasCalled || !name
      ? { role: "assistant", content: "done" }
      : { role: "assistant", content: null, tool_calls: [call] };
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    const finish_reason = message.tool_calls ? "tool_calls" : "stop";
    if (!asked.stream) return answer(response, { id: "m", model: asked.model, choices: [{ index: 0, message, finish_reason }], usage });
    response.writeHead(200, { "content-type": "text/event-stream" });
    const delta = { ...message, tool_calls: message.tool_calls?.map((call, index) => ({ index, ...call })) };
    const chunks = [{ choices: [{ index: 0, delta }] }, { choices: [{ index: 0, delta: {}, finish_reason }] }, { choices: [], usage }];
    for (const chunk of chunks) response.write(`data: ${JSON.stringify({ id: "m", model: asked.model, ...chunk })}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, close: () => server.close() };
}

/** An MCP server: what it answers to a message, whoever carries it. */
export function mcpAnswer({ id, method, params }) {
  const input = { type: "object", properties: { text: { type: "string" } } };
  const results = {
    initialize: () => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } }),
    "tools/list": () => ({ tools: [{ name: "echo", description: "Says it again", inputSchema: input }] }),
    "tools/call": () => ({ content: [{ type: "text", text: String(params.arguments?.text) }] }),
    ping: () => ({}),
  };
  if (id === undefined) return null;
  const result = results[method]?.();
  return result ? { jsonrpc: "2.0", id, result } : { jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } };
}

export async function startMcpServer() {
  const server = createHttp(async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const reply = mcpAnswer(JSON.parse(await read(request)));
    return reply ? answer(response, reply) : response.writeHead(202).end();
  });
  server.keepAliveTimeout = 60_000;
  return { url: `http://127.0.0.1:${await listen(server)}/mcp`, close: () => server.close() };
}

/** A TCP proxy that can be cut and stalled. */
export async function startProxy(host, port) {
  let state = "up";
  const pairs = new Set();
  const server = createTcp((client) => {
    if (state === "down") return client.destroy();
    const upstream = connect(port, host);
    const pair = [client, upstream];
    pairs.add(pair);
    const end = () => (pair.forEach((socket) => socket.destroy()), pairs.delete(pair));
    for (const socket of pair) socket.on("error", end).on("close", end);
    client.pipe(upstream).pipe(client);
    if (state === "stalled") pair.forEach((socket) => socket.pause());
  });
  const set = (next) => {
    state = next;
    for (const pair of pairs) {
      if (next === "down") pair.forEach((socket) => socket.destroy());
      else pair.forEach((socket) => (next === "stalled" ? socket.pause() : socket.resume()));
    }
  };
  return { port: await listen(server), set, close: () => (set("down"), server.close()) };
}

// ---- clients at the other doors: each calls a tool by name, and gives its result

async function post(gateway, body, headers) {
  const all = {
    authorization: `Bearer ${KEY}`, "content-type": "application/json",
    accept: "application/json, text/event-stream", ...headers,
  };
  const reply = await fetch(`http://127.0.0.1:${gateway.port}/mcp`, { method: "POST", headers: all, body: JSON.stringify(body) });
  return { session: reply.headers.get("mcp-session-id"), text: await reply.text() };
}

/** A response may come as JSON, or behind events. */
function responseIn(text) {
  const lines = text.startsWith("{") ? [text] : text.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
  return lines.map((line) => JSON.parse(line)).find((message) => message.result || message.error);
}

export async function legacyDoor(gateway) {
  const { session } = await post(gateway, { jsonrpc: "2.0", id: 0, method: "initialize", params: HELLO });
  let id = 0;
  return {
    call: async (name, args) => {
      const message = { jsonrpc: "2.0", id: ++id, method: "tools/call", params: { name, arguments: args } };
      return responseIn((await post(gateway, message, { "mcp-session-id": session })).text);
    },
    close: () => {},
  };
}

export async function modernDoor(gateway) {
  let id = 0;
  return {
    call: async (name, args) => {
      const message = { jsonrpc: "2.0", id: ++id, method: "tools/call", params: { name, arguments: args, _meta: META } };
      const headers = { "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": name };
      return responseIn((await post(gateway, message, headers)).text);
    },
    close: () => {},
  };
}

/** Requests that wait for their answers, over anything that carries lines. */
function conversation(send, close) {
  let id = 0;
  const waiting = new Map();
  return {
    hear: (line) => {
      const message = JSON.parse(line);
      waiting.get(message.id)?.(message);
      waiting.delete(message.id);
    },
    ask: (method, params) =>
      new Promise((done, fail) => {
        const own = ++id;
        waiting.set(own, done);
        setTimeout(() => waiting.delete(own) && fail(new Error(`no answer to ${method}`)), 60_000).unref();
        send(JSON.stringify({ jsonrpc: "2.0", id: own, method, params }));
      }),
    tell: (method) => send(JSON.stringify({ jsonrpc: "2.0", method })),
    close,
  };
}

async function handshake(talk) {
  await talk.ask("initialize", HELLO);
  talk.tell("notifications/initialized");
  return { call: (name, args) => talk.ask("tools/call", { name, arguments: args }), close: talk.close };
}

/** A WebSocket of few words: texts, which fit into one frame. */
export async function webSocketDoor(gateway) {
  const socket = connect(gateway.port, "127.0.0.1");
  const key = randomBytes(16).toString("base64");
  socket.write(
    `GET /ws HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Protocol: mcp\r\nAuthorization: Bearer ${KEY}\r\n\r\n`,
  );
  const frame = (text) => {
    const [bytes, mask] = [Buffer.from(text), randomBytes(4)];
    const head = bytes.length < 126 ? Buffer.from([0x81, 0x80 | bytes.length]) : Buffer.from([0x81, 0xfe, bytes.length >> 8, bytes.length & 255]);
    return Buffer.concat([head, mask, bytes.map((byte, at) => byte ^ mask[at & 3])]);
  };
  const talk = conversation((text) => socket.write(frame(text)), () => socket.destroy());
  let [buffer, isOpen] = [Buffer.alloc(0), false];
  const opened = new Promise((done, fail) => {
    socket.on("error", fail).on("close", () => fail(new Error("the WebSocket was closed")));
    socket.on("data", (piece) => {
      buffer = Buffer.concat([buffer, piece]);
      if (!isOpen) {
        const end = buffer.indexOf("\r\n\r\n");
        if (end < 0) return;
        const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
        if (!buffer.subarray(0, end).toString().includes(accept)) return fail(new Error(buffer.toString()));
        [buffer, isOpen] = [buffer.subarray(end + 4), true];
        done();
      }
      for (let text; (text = nextText()) !== undefined; ) if (text) talk.hear(text);
    });
  });
  /** The next frame's text, an empty one for what is no text, nothing until it is there as a whole. */
  function nextText() {
    if (buffer.length < 2) return undefined;
    let [length, at] = [buffer[1] & 127, 2];
    if (length === 126) [length, at] = [buffer.length >= 4 ? buffer.readUInt16BE(2) : Infinity, 4];
    else if (length === 127) [length, at] = [buffer.length >= 10 ? Number(buffer.readBigUInt64BE(2)) : Infinity, 10];
    if (buffer.length < at + length) return undefined;
    const [kind, payload] = [buffer[0] & 15, buffer.subarray(at, at + length)];
    buffer = buffer.subarray(at + length);
    return kind === 1 ? payload.toString() : "";
  }
  await opened;
  return handshake(talk);
}

/** `stdio` as a client starts it: the gateway stands behind it as one server of an mcp.json. */
export async function stdioDoor(config) {
  const env = { ...process.env, MCP_ALL_IN_ONE_HOME: newFolder() };
  const child = spawn(BIN, ["--silent", "stdio", "--mcp-config", config], { env, stdio: ["pipe", "pipe", "ignore"] });
  processes.add(child);
  const talk = conversation((text) => child.stdin.write(`${text}\n`), () => child.stdin.end());
  createInterface({ input: child.stdout }).on("line", talk.hear);
  return { ...(await handshake(talk)), pid: child.pid };
}

// ---- tables

export function table(headings, rows) {
  return [headings, headings.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}
