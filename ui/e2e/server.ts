// Starts the real binary on a home of its own, and shows the console before it.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { preview } from "vite";

export const ADMIN = "e2e-admin-key-e2e-admin-key-e2e-admin-key";
const START_MS = 60_000;

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  return typeof address === "object" && address ? address.port : 0;
}

export const binary = () => resolve(process.env.MCP_BIN ?? "../target/debug/mcp-all-in-one");

export type Started = {
  url: string;
  api: string;
  /** What it has printed so far. */
  said: () => string;
  /** Ends the program and leaves its home; `resume` starts it again. */
  halt: () => Promise<void>;
  resume: () => Promise<void>;
  /** Stops answering, and keeps its connections; `thaw` lets it go on. */
  freeze: () => void;
  thaw: () => void;
  stop: () => Promise<void>;
};

export async function start(
  files: Record<string, string> = {},
  { withoutToken = false, host = "127.0.0.1" } = {},
): Promise<Started> {
  const home = mkdtempSync(join(tmpdir(), "console-e2e-"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(home, name), text);
  const port = await freePort();
  const token = withoutToken ? {} : { MCP_ALL_IN_ONE_ADMIN_TOKEN: ADMIN };
  const env = { ...process.env, MCP_ALL_IN_ONE_HOME: home, ...token };
  const args = ["serve", "--listen", `${host}:${port}`, "--allow-private-network", "--log-level", "warn"];
  const api = `http://127.0.0.1:${port}`;
  let said = "";
  let child: ChildProcess;
  const resume = async () => {
    child = spawn(binary(), args, { env, stdio: ["ignore", "pipe", "inherit"] });
    child.stdout?.on("data", (text) => {
      said += text;
    });
    await answers(`${api}/readyz`, child);
  };
  const halt = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    await new Promise((done) => child.once("exit", done));
  };
  const freeze = () => void child.kill("SIGSTOP");
  const thaw = () => void child.kill("SIGCONT");
  await resume();
  const console = await consoleBefore(api);
  const stop = async () => {
    await console.close();
    await halt();
    rmSync(home, { recursive: true, force: true });
  };
  return { url: console.url, api, said: () => said, halt, resume, freeze, thaw, stop };
}

async function answers(url: string, child: ChildProcess): Promise<void> {
  const end = Date.now() + START_MS;
  while (Date.now() < end) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    const response = await fetch(url).catch(() => null);
    if (response?.ok) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`nothing answers at ${url}`);
}

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-__NONCE__'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** The binary's own console; a binary that was built without one gets this folder's build before it, under the same policy. */
async function consoleBefore(api: string): Promise<{ url: string; close: () => Promise<void> }> {
  const page = await (await fetch(api)).text();
  if (page.includes('id="root"')) return { url: api, close: async () => undefined };
  process.env.MCP_SERVER = api;
  const headers = { "Content-Security-Policy": POLICY };
  const proxy = { "/api": { target: api }, "/mcp": { target: api } };
  const server = await preview({ logLevel: "warn", preview: { port: await freePort(), headers, proxy } });
  const url = server.resolvedUrls?.local[0]?.replace(/\/$/, "") ?? "";
  return { url, close: () => server.close() };
}
