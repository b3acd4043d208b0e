#!/usr/bin/env node
// Mixed load through every door and every embedded connector; memory, tasks, files and connections must be flat at the
// end. Prints one table, exits with 1 if anything grew or failed. `make soak`.
//   BIN=…/mcp-all-in-one  SECS=3600  WORKERS=2 (of each door)
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as world from "./world.mjs";

const { SECS = "3600", WORKERS = "2" } = process.env;
const SECONDS = Number(SECS);
/** Caches, pools and the allocator take their share first. */
const WARM_UP = Math.max(30, SECONDS * 0.2);
/** What may be more at the end: noise, not growth. */
const SLACK = { tasks: 8, files: 12, sockets: 12, connections: 4 };
const memoryLimit = (kib) => kib * 1.15 + 24 * 1024;

const gateway = await new world.Gateway().start();
const [upstream, model, remote] = await Promise.all([world.startUpstream(), world.startModel(), world.startMcpServer()]);

const parameter = (name, position) => ({ name, parameter_type: "String", position });
const services = [
  { type: "api", id: "shop", config: { base_url: upstream.url, retry: { max_attempts: 1 } }, tools: [
    { id: "order", endpoint: "/orders/{id}", parameters: [{ ...parameter("id", "path"), required: true }],
      response_template: "{{ .path }} {{ len .padding }}" },
    { id: "ship", method: "POST", endpoint: "/ship", parameters: [parameter("text", "body")] },
  ] },
  { type: "mcp", id: "near", config: { command: process.execPath, args: [fileURLToPath(new URL("mcp-server.mjs", import.meta.url))] } },
  { type: "mcp", id: "far", config: { type: "http", url: remote.url } },
  { type: "db", id: "own", config: { db_type: "sqlite", read_only: false, operations: ["list", "create", "delete", "execute"] } },
  { type: "oss", id: "docs", config: {} },
  { type: "mq", id: "orders", config: {}, tools: [{ id: "placed", peek: true, receive: true }] },
  { type: "mail", id: "post", config: {}, tools: [{ id: "welcome" }] },
  { type: "sms", id: "texts", config: {}, tools: [{ id: "code", template: "SMS_001", params: ["code"] }] },
  { type: "agent", id: "helper", config: { provider: "openai", base_url: model.url, model: "m-1", tools: ["api://shop/ship"] } },
];
for (const service of services) await gateway.must("POST", "services", service);
const made = await gateway.must("POST", "tables", { name: "people", data: { rows: [{ name: "Ada" }] } });
const flow = "inputs: {id: string}\nnodes:\n  ask: {exec: 'api://shop/ship', args: {text: '${id}'}, next: end}\n  end: {with: \"'done'\"}\noutput: ${end}\n";
await gateway.must("POST", "flows", { id: "chain", source: flow });
await gateway.must("POST", "flows/chain/publish", {});
await gateway.must("POST", "call", { uri: "db://own/execute", arguments: { sql: "CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT)" } });

/** Of each connector: what is called by URI, and how its answer is known to be right. */
const byUri = {
  api: (n) => ["api://shop/order", { id: `o${n}` }, `/orders/o${n} 500`],
  "mcp stdio": (n) => ["mcp://near/echo", { text: `near ${n}` }, `near ${n}`],
  "mcp http": (n) => ["mcp://far/echo", { text: `far ${n}` }, `far ${n}`],
  table: () => [`table://${made.id}/get_all_data`, {}, "Ada"],
  "db sqlite": (n) => ["db://own/execute", { sql: "REPLACE INTO notes VALUES (:id, :text)", params: { id: n % 500, text: `note ${n}` } }, "affected"],
  "oss fs": (n) => ["oss://docs/save", { key: `k${n % 50}.txt`, content: `object ${n}` }, `k${n % 50}.txt`],
  "mq send": (n) => ["mq://orders/placed", { message: { order: n } }, "messageId"],
  "mq receive": () => ["mq://orders/placed_receive", { max: 10 }, "messages"],
  "mail file": (n) => ["mail://post/welcome", { to: "a@example.com", subject: `s ${n}`, body: "b" }, "sent"],
  "sms file": (n) => ["sms://texts/code", { to: "13800138000", template: "SMS_001", params: { code: String(n) } }, "accepted"],
  flow: (n) => ["flow://chain", { id: `f${n}` }, "done"],
  agent: (n) => ["agent://helper/ask", { prompt: `hello ${n}` }, "done"],
};
/** The same by name, for MCP's doors. */
const byName = [
  (n) => ["shop__order", { id: `o${n}` }, `/orders/o${n} 500`],
  (n) => ["near__echo", { text: `near ${n}` }, `near ${n}`],
  (n) => ["far__echo", { text: `far ${n}` }, `far ${n}`],
  (n) => ["chain", { id: `f${n}` }, "done"],
  () => ["no_such_tool", {}, "no_such_tool"],
];

const calls = {};
const failures = {};
let number = 0;
let isOver = false;

/** Makes one call; a wrong answer is a failure of whatever was called. */
async function attempt(what, call, expected) {
  calls[what] = (calls[what] ?? 0) + 1;
  const said = await call().then((reply) => JSON.stringify(reply), (error) => `no answer: ${error.message}`);
  if (said.includes(expected)) return;
  failures[what] ??= { count: 0, first: said.slice(0, 300) };
  failures[what].count += 1;
}

async function restWorker() {
  const kinds = Object.entries(byUri);
  while (!isOver) {
    const own = number++;
    const [what, make] = kinds[own % kinds.length];
    const [uri, args, expected] = make(own);
    await attempt(what, () => gateway.call(uri, args), expected);
  }
}

async function doorWorker(what, open, prefix = "") {
  while (!isOver) {
    const door = await open();
    // Clients come and go.
    for (let count = 0; count < 50 && !isOver; count++) {
      const own = number++;
      const [name, args, expected] = byName[own % byName.length](own);
      await attempt(what, () => door.call(prefix + name, args), expected);
    }
    door.close();
  }
}

const config = join(world.newFolder(), "mcp.json");
const server = { type: "http", url: `http://127.0.0.1:${gateway.port}/mcp`, headers: { Authorization: `Bearer ${world.KEY}` } };
writeFileSync(config, JSON.stringify({ mcpServers: { gw: server } }));
const stdio = await world.stdioDoor(config);
await world.eventually("the tools are there behind stdio", async () => (await stdio.call("gw__far__echo", { text: "x" })).result);

async function held() {
  return {
    "memory of serve, KiB": world.residentKib(gateway.pid),
    "memory of stdio, KiB": world.residentKib(stdio.pid),
    tasks: await gateway.metric("alive_tasks"),
    files: world.openFiles(gateway.pid),
    sockets: world.openSockets(gateway.pid),
    connections: await gateway.metric("connections"),
    "files of stdio": world.openFiles(stdio.pid),
  };
}

/** The least of a few looks while everybody rests: what is left is what is held. */
async function rested() {
  await world.sleep(5_000);
  const looks = [];
  for (let look = 0; look < 5; look++, await world.sleep(1_000)) looks.push(await held());
  return Object.fromEntries(Object.keys(looks[0]).map((what) => [what, Math.min(...looks.map((look) => look[what]))]));
}

async function load(seconds) {
  isOver = false;
  const doors = { "MCP legacy": world.legacyDoor, "MCP modern": world.modernDoor, WebSocket: world.webSocketDoor };
  const workers = [doorWorker("stdio", async () => ({ call: stdio.call, close: () => {} }), "gw__")];
  for (let worker = 0; worker < Number(WORKERS); worker++) {
    workers.push(restWorker());
    for (const [what, open] of Object.entries(doors)) workers.push(doorWorker(what, () => open(gateway)));
  }
  setTimeout(() => (isOver = true), seconds * 1000);
  await Promise.all(workers);
}

await load(WARM_UP);
const before = await rested();
await load(SECONDS);
const after = await rested();

const rows = Object.keys(before).map((what) => {
  const limit = what.startsWith("memory") ? memoryLimit(before[what]) : before[what] + (SLACK[what.split(" ")[0]] ?? 8);
  return [what, before[what], after[what], Math.round(limit), after[what] <= limit ? "flat" : "GREW"];
});
const callRows = Object.keys(calls).map((what) => [what, calls[what], "", 0, failures[what] ? `${failures[what].count} FAILED` : "right"]);
console.log(`Soak: ${SECONDS} s after ${WARM_UP} s of warm-up, ${Object.values(calls).reduce((a, b) => a + b)} calls.\n`);
console.log(world.table(["what", "after warm-up, or calls", "at the end", "at most", ""], [...rows, ...callRows]));
for (const [what, { first }] of Object.entries(failures)) console.log(`\n${what}: ${first}`);
stdio.close();
const code = await gateway.end("SIGTERM");
if (code !== 0) console.log(`\nserve ended with ${code}: ${gateway.log}`);
const isGood = rows.every((row) => row[4] === "flat") && Object.keys(failures).length === 0 && code === 0;
process.exit(isGood ? 0 : 1);
