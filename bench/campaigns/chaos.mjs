#!/usr/bin/env node
// Real processes killed, stopped, cut off and starved under load, on SQLite and on PostgreSQL with two replicas. Afterwards
// the audit, the journal of runs, tables, queues and the servers' own counts are compared with what was acknowledged.
// Prints one table, exits with 1 on a violation. `make chaos`.
//   BIN=…/mcp-all-in-one  SECS=120 (of each database)  SEED=1  MCP_TEST_POSTGRES_URL (scripts/postgres run)
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Load, check, tenants } from "./load.mjs";
import * as world from "./world.mjs";

const { SECS = "120", SEED = "1", MCP_TEST_POSTGRES_URL } = process.env;
const SERVER = fileURLToPath(new URL("mcp-server.mjs", import.meta.url));
const PAUSE_MS = 2_000;

/** Numbers that look random and are the same for the same seed. */
function random(seed) {
  let state = seed >>> 0;
  return (end) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state % end;
  };
}

/** A database of its own, behind a proxy that can be cut. */
async function postgres() {
  const url = new URL(MCP_TEST_POSTGRES_URL);
  const proxy = await world.startProxy(url.hostname, Number(url.port || 5432));
  url.port = String(proxy.port);
  const masterKey = "0123456789abcdef".repeat(4);
  return { proxy, options: { database: url.href, masterKey } };
}

/** The connections behind a gateway end, or hang: to its database, or to the API. */
const interrupt = (state) => async ({ cluster, pick }) => {
  const proxy = cluster.proxies[pick(cluster.proxies.length)];
  proxy.set(state);
  await world.sleep(PAUSE_MS);
  proxy.set("up");
};

/** What can be done to a running gateway; each gives back what it took. */
const faults = {
  async kill({ gateway, cluster }) {
    const children = world.childrenOf(gateway.pid);
    await gateway.end("SIGKILL");
    cluster.killed.push(Date.now());
    const hasEnded = () => world.alive(children).length === 0;
    const orphaned = () => cluster.orphans.push(...world.alive(children));
    await world.eventually("services of a killed gateway end", hasEnded, 20_000).catch(orphaned);
    await gateway.start();
  },
  async stop({ gateway }) {
    gateway.signal("SIGSTOP");
    await world.sleep(PAUSE_MS);
    gateway.signal("SIGCONT");
  },
  "cut off": interrupt("down"),
  stall: interrupt("stalled"),
  async "few files"({ gateway }) {
    const limit = (soft) => execFileSync("prlimit", ["--pid", String(gateway.pid), `--nofile=${soft}:`]);
    limit(world.openFiles(gateway.pid) + 2);
    await world.sleep(PAUSE_MS);
    limit(1024);
  },
};

/** The same program once or twice on one database, with the API behind a proxy. */
async function startCluster(backend) {
  const upstream = await world.startUpstream();
  const api = await world.startProxy("127.0.0.1", Number(new URL(upstream.url).port));
  const behind = backend === "PostgreSQL" ? await postgres() : { options: {} };
  const cluster = { upstream, proxies: [api, behind.proxy].filter(Boolean), killed: [], orphans: [], gateways: [] };
  for (let replica = 0; replica < (backend === "PostgreSQL" ? 2 : 1); replica++) {
    const gateway = await new world.Gateway(behind.options).start();
    gateway.mark = `--of-${process.pid}-${backend}`;
    cluster.gateways.push(gateway);
  }
  cluster.apiUrl = `http://127.0.0.1:${api.port}`;
  return cluster;
}

async function campaign(backend, seconds, seed) {
  const cluster = await startCluster(backend);
  const service = { command: process.execPath, args: [SERVER, cluster.gateways[0].mark] };
  const load = await new Load(cluster, tenants(service)).start();
  const pick = random(seed);
  const counts = {};
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await world.sleep(PAUSE_MS)) {
    const names = Object.keys(faults);
    const name = names[pick(names.length)];
    counts[name] = (counts[name] ?? 0) + 1;
    await faults[name]({ cluster, pick, gateway: cluster.gateways[pick(cluster.gateways.length)] });
  }
  await load.stop();
  const violations = await check(cluster, load);
  await endAll(cluster, violations);
  return { backend, counts, load, violations };
}

/** SQLite on a disk that fills up and gets room again, in a mount namespace that needs no rights. */
async function fullDisk(seconds) {
  const dataDir = world.newFolder();
  const mount = 'mount -t tmpfs -o size=24m,mode=700 none "$0" && exec "$@"';
  const before = ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, dataDir];
  const upstream = await world.startUpstream();
  const gateway = await new world.Gateway({ dataDir, before }).start();
  gateway.mark = `--of-${process.pid}-disk`;
  const cluster = { upstream, proxies: [], killed: [], orphans: [], gateways: [gateway], apiUrl: upstream.url };
  const load = await new Load(cluster, tenants({ command: process.execPath, args: [SERVER, gateway.mark] })).start();
  const ballast = `/proc/${gateway.pid}/root${dataDir}/ballast`;
  const counts = { "full disk": 0 };
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await world.sleep(PAUSE_MS)) {
    counts["full disk"] += 1;
    fill(ballast);
    await world.sleep(PAUSE_MS);
    rmSync(ballast);
    await world.eventually("it is ready again", () => gateway.isReady());
  }
  await load.stop();
  const violations = await check(cluster, load);
  await endAll(cluster, violations);
  return { backend: "SQLite, small disk", counts, load, violations };
}

/** Leaves not one byte. */
function fill(path) {
  for (const size of [64 * 1024, 4096, 1]) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size), { flag: "a" });
    } catch (error) {
      if (error.code !== "ENOSPC") throw error;
    }
  }
}

/** Each gateway ends when it is asked to, and nothing of it stays. */
async function endAll(cluster, violations) {
  for (const gateway of cluster.gateways) {
    const code = await gateway.end("SIGTERM");
    if (code !== 0) violations.push(`a gateway ended with ${code}: ${gateway.log.slice(-500)}`);
  }
  await world.sleep(5_000);
  const left = [...cluster.orphans, ...world.processesWith(cluster.gateways[0].mark)];
  if (left.length > 0) violations.push(`processes were left behind: ${left}`);
  cluster.proxies.forEach((proxy) => proxy.close());
  cluster.upstream.close();
}

const results = [await campaign("SQLite", Number(SECS), Number(SEED)), await fullDisk(Number(SECS) / 3)];
if (MCP_TEST_POSTGRES_URL) results.push(await campaign("PostgreSQL", Number(SECS), Number(SEED) + 1));
else console.log("NOT TRIED: PostgreSQL, as MCP_TEST_POSTGRES_URL is not set; use scripts/postgres run\n");

console.log(`Chaos: seed ${SEED}, ${SECS} s of each database.\n`);
const rows = results.map(({ backend, counts, load, violations }) => {
  const done = Object.entries(counts).map(([name, count]) => `${count} × ${name}`).join(", ");
  const { tables, calls, messages, runs, once } = load.acknowledged;
  return [backend, done, tables.length, calls.length, messages.length, `${runs.length} + ${once.length}`, load.refused, violations.length];
});
const headings = ["on", "what was done", "tables", "calls", "messages", "runs + at_most_once", "refused or unanswered", "violations"];
console.log(world.table(headings, rows));
for (const { backend, violations } of results) violations.slice(0, 20).forEach((what) => console.log(`\n${backend}: ${what}`));
process.exit(results.every(({ violations }) => violations.length === 0) && MCP_TEST_POSTGRES_URL ? 0 : 1);
