#!/usr/bin/env node
// What one open console costs the server: its processor time at a steady rate of calls, without and with somebody who
// listens to /events. Prints Markdown. Run by `make bench`.
//   BIN=…/mcp-all-in-one  RATE=1000  SECS=10
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent, get, request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const { BIN = "target/release/mcp-all-in-one", RATE = "1000", SECS = "10" } = process.env;
const KEY = "bench-admin-key-bench-admin-key";
const TICKS_PER_SECOND = 100;
const BURST_MS = 20;

const freePort = () =>
  new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

const port = await freePort();
const home = mkdtempSync(join(tmpdir(), "bench-events-"));
const env = { ...process.env, MCP_ALL_IN_ONE_HOME: home, MCP_ALL_IN_ONE_ADMIN_TOKEN: KEY };
const server = spawn(BIN, ["serve", "--listen", `127.0.0.1:${port}`, "--log-level", "error"], { env, stdio: "ignore" });
const agent = new Agent({ keepAlive: true, maxSockets: 16 });
const headers = { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" };

function post(path, body) {
  return new Promise((done, fail) => {
    const sent = request({ port, path: `/api/v1${path}`, method: "POST", headers, agent }, (answer) => {
      let text = "";
      answer.on("data", (piece) => (text += piece));
      answer.on("end", () => (answer.statusCode < 300 ? done(JSON.parse(text)) : fail(new Error(text))));
    });
    sent.on("error", fail);
    sent.end(JSON.stringify(body));
  });
}

async function isReady() {
  for (let attempt = 0; attempt < 300; attempt++) {
    if (await fetch(`http://127.0.0.1:${port}/readyz`).then((answer) => answer.ok, () => false)) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error("the server does not start");
}

/** Seconds that the server has worked. */
function worked() {
  const fields = readFileSync(`/proc/${server.pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Calls at the rate, and says which share of a core that took. */
async function shareOfCore() {
  const [before, begun] = [worked(), Date.now()];
  const calls = [];
  for (let at = 0; at < Number(SECS) * 1000; at += BURST_MS) {
    await new Promise((done) => setTimeout(done, begun + at - Date.now()));
    for (let n = 0; n < (Number(RATE) * BURST_MS) / 1000; n++) {
      calls.push(post("/call", { uri: "tool://bench/call", arguments: { query: "[0].id" } }));
    }
  }
  await Promise.all(calls);
  return [(100 * (worked() - before)) / ((Date.now() - begun) / 1000), calls.length / ((Date.now() - begun) / 1000)];
}

try {
  await isReady();
  const table = await post("/tables", { name: "bench", data: { orders: [{ id: "o1" }] } });
  await post("/tools", { name: "bench", type: "query_data", table_id: table.id, json_path: "/orders" });
  await shareOfCore();
  const [alone, rate] = await shareOfCore();
  const viewer = get({ port, path: "/api/v1/events", headers }, (answer) => answer.resume());
  const [watched, watchedRate] = await shareOfCore();
  viewer.destroy();
  console.log(`| one viewer of /events | calls/s | % of a core |\n|---|---|---|`);
  console.log(`| nobody | ${rate.toFixed(0)} | ${alone.toFixed(1)} |\n| one | ${watchedRate.toFixed(0)} | ${watched.toFixed(1)} |`);
  console.log(`\nOne viewer costs ${(watched - alone).toFixed(1)} % of a core; the bar is 1 %.`);
} finally {
  server.kill("SIGTERM");
  rmSync(home, { recursive: true, force: true });
}
