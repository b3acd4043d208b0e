// One server for all tests; each makes what it needs.
import { start } from "./server";

export default async function setup() {
  const server = await start();
  process.env.E2E_URL = server.url;
  process.env.E2E_API = server.api;
  return server.stop;
}
