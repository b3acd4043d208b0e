#!/usr/bin/env node
// How cost grows with what there is of a thing: tools, services, sessions, bytes, rows of the audit, tenants. Each curve says
// what it should look like, and whether it does. Prints Markdown. Run by `make bench`.
//   BIN=…/mcp-all-in-one  ONLY="tools services sessions answers audit tenants"  AUDIT_ROWS=10000000
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { Gateway, eventually, residentKib, sleep } from "./campaigns/world.mjs";

const { ONLY = "tools services sessions answers audit tenants", AUDIT_ROWS = "10000000" } = process.env;
const TICKS_PER_SECOND = 100;
/** What is measured takes at least this much of the processor: the clock behind it ticks every 10 ms. */
const ENOUGH_SECONDS = 0.4;
const PATIENCE_MS = 20_000;
let areAllAsLabelled = true;

/** Seconds that a process has worked. */
function worked(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Microseconds of the server's processor for each time that something is done. */
async function costOf(gateway, once, { batch = 50 } = {}) {
  for (let n = 0; n < 3; n++) await once();
  const [before, until] = [worked(gateway.pid), Date.now() + PATIENCE_MS];
  let times = 0;
  while (worked(gateway.pid) - before < ENOUGH_SECONDS && Date.now() < until) {
    for (let left = batch; left > 0 && Date.now() < until; left--, times++) await once();
  }
  return (1e6 * (worked(gateway.pid) - before)) / times;
}

/** Whether costs at growing sizes are as the label says, with room for noise. */
const LABELS = {
  flat: ([first], [last]) => last.cost <= 2 * first.cost + 50,
  logarithmic: ([first], [last]) => last.cost <= first.cost * (1 + Math.log2(last.size / first.size)) + 50,
  linear: ([first, ...others], [last]) => {
    const middle = others.at(-2) ?? first;
    return last.cost / last.size <= 2.5 * (middle.cost / middle.size);
  },
};

function tell(title, label, points) {
  console.log(`\n### ${title}\n\n| how many | µs of CPU | × the first |\n|---|---|---|`);
  for (const { size, cost } of points) {
    console.log(`| ${size.toLocaleString("en")} | ${cost.toFixed(0)} | ${(cost / Math.max(points[0].cost, 1)).toFixed(1)} |`);
  }
  const isSo = LABELS[label](points, [points.at(-1)]);
  areAllAsLabelled &&= isSo;
  console.log(`\nShould be ${label}: ${isSo ? "it is" : "**IT IS NOT**"}.`);
}

async function startUpstream() {
  const bodies = new Map();
  const server = createServer((request, response) => {
    const bytes = Number(new URL(request.url, "http://x").searchParams.get("bytes") ?? 100);
    if (!bodies.has(bytes)) bodies.set(bytes, JSON.stringify({ text: "x".repeat(bytes) }));
    request.resume().on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(bodies.get(bytes)));
  });
  server.keepAliveTimeout = 60_000;
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => (server.close(), server.closeAllConnections()) };
}

const upstream = await startUpstream();
const apiTool = (id) => ({
  id, description: `Looks at ${id}`, method: "GET", endpoint: "/x",
  parameters: [{ name: "bytes", parameter_type: "Integer", position: "query" }],
});
const api = (id, tools) => ({ type: "api", id, config: { base_url: upstream.url, allow_private_network: true }, tools });

/** A gateway for as long as `use` takes. */
async function within(options, use) {
  const gateway = await new Gateway(options).start();
  try {
    return await use(gateway);
  } finally {
    await gateway.end("SIGTERM");
  }
}

const called = (gateway, uri, key) => async () => {
  const reply = await gateway.call(uri, {}, key);
  if (reply.status !== 200 || reply.isError) throw new Error(JSON.stringify(reply).slice(0, 500));
};

/** A size for each power of ten up to the last. */
const upTo = (last, first = 1) => {
  const sizes = [];
  for (let size = first; size <= last; size *= 10) sizes.push(size);
  return sizes.at(-1) === last ? sizes : [...sizes, last];
};

async function tools() {
  const [calls, lists, changes] = [[], [], []];
  for (const size of upTo(10_000, 10)) {
    await within({}, async (gateway) => {
      const perService = Math.min(size, 1000);
      for (let n = 0; n < size / perService; n++) {
        await gateway.must("POST", "services", api(`s${n}`, Array.from({ length: perService }, (_, at) => apiTool(`t${at}`))));
      }
      await gateway.must("POST", "services", api("own", [apiTool("one")]));
      calls.push({ size, cost: await costOf(gateway, called(gateway, "api://own/one")) });
      const list = () => gateway.must("GET", "catalog");
      lists.push({ size, cost: await costOf(gateway, list, { batch: 2 }) });
      let turn = 0;
      const change = () => gateway.must("PATCH", "services/api/own", { name: `name ${turn++}` });
      changes.push({ size, cost: await costOf(gateway, change, { batch: 2 }) });
    });
  }
  tell("Tools: a call", "flat", calls);
  tell("Tools: the whole catalog", "linear", lists);
  tell("Tools: a change of one service with one tool", "linear", changes);
}

async function services() {
  const [calls, changes] = [[], []];
  for (const size of upTo(1000)) {
    await within({}, async (gateway) => {
      for (let n = 0; n < size; n++) await gateway.must("POST", "services", api(`s${n}`, [apiTool("one")]));
      calls.push({ size, cost: await costOf(gateway, called(gateway, `api://s${size - 1}/one`)) });
      let turn = 0;
      const change = () => gateway.must("PATCH", "services/api/s0", { name: `name ${turn++}` });
      changes.push({ size, cost: await costOf(gateway, change, { batch: 2 }) });
    });
  }
  tell("Services: a call", "flat", calls);
  tell("Services: a change of one", "linear", changes);
}

/** A client that listens: a session and its stream of events. */
async function listener(gateway) {
  const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "growth", version: "1" } };
  const headers = { authorization: "Bearer campaign-admin-key-campaign-admin-key", "content-type": "application/json", accept: "application/json, text/event-stream" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: hello });
  const reply = await fetch(`http://127.0.0.1:${gateway.port}/mcp`, { method: "POST", headers, body });
  await reply.text();
  const socket = connect(gateway.port, "127.0.0.1");
  socket.on("error", () => {}).resume();
  socket.write(
    `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${headers.authorization}\r\nAccept: text/event-stream\r\n` +
      `MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: ${reply.headers.get("mcp-session-id")}\r\n\r\n`,
  );
  await new Promise((done) => socket.once("data", done));
  return socket;
}

async function sessions() {
  const calls = [];
  await within({}, async (gateway) => {
    await gateway.must("POST", "services", api("own", [apiTool("one")]));
    const call = called(gateway, "api://own/one");
    await costOf(gateway, call);
    const before = residentKib(gateway.pid);
    const open = [];
    for (const size of upTo(5000)) {
      while (open.length < size) open.push(await listener(gateway));
      calls.push({ size, cost: await costOf(gateway, call) });
    }
    await sleep(2000);
    const each = (residentKib(gateway.pid) - before) / open.length;
    tell("Clients that listen: a call of another one", "flat", calls);
    const isLight = each <= 20;
    areAllAsLabelled &&= isLight;
    console.log(`\nA listening client takes ${each.toFixed(1)} KB; the bar is 20 KB: ${isLight ? "met" : "**MISSED**"}.`);
    for (const socket of open) socket.destroy();
  });
}

async function answers() {
  const points = [];
  await within({}, async (gateway) => {
    await gateway.must("POST", "services", api("own", [apiTool("one")]));
    for (const size of upTo(10_000)) {
      const args = { bytes: size * 1000 };
      const once = async () => {
        const reply = await gateway.call("api://own/one", args);
        if (reply.status !== 200 || reply.isError) throw new Error(JSON.stringify(reply).slice(0, 500));
      };
      points.push({ size, cost: await costOf(gateway, once, { batch: 5 }) });
    }
  });
  tell("Answers of so many KB: a call", "linear", points);
}

/** As many rows as there are to be, made in the database itself: by calls it would take hours. */
function fillAudit(gateway, rows, at) {
  const details = `json_object('caller_kind','key','door','rest','uri','api://own/t'||(n%50),'duration_us',n%9000,'request_id',printf('%032x',n),'trace_id','','result_bytes',n%5000)`;
  const line = `json_object('id',printf('%032x',n),'at',${at}+n,'caller','caller'||(n%7),
      'tool',CASE WHEN n%100000=7 THEN 'rare' ELSE 'own__t'||(n%50) END,'service','own',
      'status',CASE WHEN n%20=0 THEN 'error' ELSE 'ok' END,'arguments','{"id":'||n||'}','details',json(${details}))`;
  const sql = `PRAGMA synchronous=OFF; WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM c WHERE n+1<${rows})
    INSERT INTO audit (tenant, last_at, id, first_at, calls, failed, records)
    SELECT 'default', ${at}+MAX(n), printf('%032x',MIN(n)), ${at}+MIN(n), COUNT(*), SUM(n%20=0),
      GROUP_CONCAT(${line}, CHAR(10))||CHAR(10) FROM c GROUP BY n/250;`;
  execFileSync("sqlite3", [join(gateway.dataDir, "data.db"), sql], { stdio: ["ignore", "ignore", "inherit"] });
}

/** All rows are too old for a gateway that keeps them for a day; it begins seconds after its start. */
async function purgeCost(gateway) {
  process.env.MCP_ALL_IN_ONE_AUDIT_RETENTION_DAYS = "1";
  await gateway.start();
  delete process.env.MCP_ALL_IN_ONE_AUDIT_RETENTION_DAYS;
  const before = worked(gateway.pid);
  await eventually("old rows are gone", async () => (await gateway.must("GET", "audit?limit=1")).items.length === 0, 600_000);
  const cost = 1e6 * (worked(gateway.pid) - before);
  await gateway.end("SIGTERM");
  return cost;
}

async function audit() {
  const [pages, deep, rare, exports, purges] = [[], [], [], [], []];
  const gateway = new Gateway();
  await gateway.start();
  await gateway.end("SIGTERM");
  for (const size of upTo(Number(AUDIT_ROWS), 10_000)) {
    fillAudit(gateway, size, Date.now() - 40 * 86_400_000);
    await gateway.start();
    const get = (query) => () => gateway.must("GET", `audit?limit=50&${query}`);
    pages.push({ size, cost: await costOf(gateway, get(""), { batch: 1 }) });
    deep.push({ size, cost: await costOf(gateway, get("status=error"), { batch: 1 }) });
    rare.push({ size, cost: await costOf(gateway, get("tool=rare"), { batch: 1 }) });
    const before = worked(gateway.pid);
    const stream = await fetch(`http://127.0.0.1:${gateway.port}/api/v1/audit/export?format=jsonl`, {
      headers: { authorization: "Bearer campaign-admin-key-campaign-admin-key" },
    });
    let bytes = 0;
    for await (const piece of stream.body) bytes += piece.length;
    exports.push({ size, cost: 1e6 * (worked(gateway.pid) - before) });
    await gateway.end("SIGTERM");
    purges.push({ size, cost: await purgeCost(gateway) });
  }
  tell("Rows of the audit: the newest page", "flat", pages);
  tell("Rows of the audit: a page of failures, one call in twenty", "flat", deep);
  tell("Rows of the audit: a tool that is called once in 100,000", "linear", rare);
  tell("Rows of the audit: everything exported", "linear", exports);
  tell("Rows of the audit: all purged", "linear", purges);
}

async function tenants() {
  const calls = [];
  await within({}, async (gateway) => {
    await gateway.must("POST", "services", api("own", [apiTool("one")]));
    let made = 1;
    for (const size of upTo(1000)) {
      for (; made < size; made++) await gateway.must("POST", "tenants", { id: `t${made}`, name: `Tenant ${made}` });
      calls.push({ size, cost: await costOf(gateway, called(gateway, "api://own/one")) });
    }
  });
  tell("Tenants: a call", "flat", calls);
}

const all = { tools, services, sessions, answers, audit, tenants };
console.log("## How cost grows");
for (const name of ONLY.split(" ")) await all[name]();
upstream.close();
console.log(areAllAsLabelled ? "\nEvery curve is as its label says." : "\n**Some curves are not as their labels say.**");
process.exit(0);
