// One server for all tests; each makes what it needs.
import { start } from "./server";

export default async function setup() {
  const server = await start({
    "mcp.json": JSON.stringify({ mcpServers: { filed: { url: "http://127.0.0.1:9/mcp" } } }),
  });
  process.env.E2E_URL = server.url;
  process.env.E2E_API = server.api;
  return server.stop;
}
