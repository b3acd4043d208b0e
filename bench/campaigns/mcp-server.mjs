// An MCP server on stdio, for the campaigns; its first argument is a mark that its processes are found by.
import { createInterface } from "node:readline";
import { mcpAnswer } from "./world.mjs";

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const reply = mcpAnswer(JSON.parse(line));
    if (reply) process.stdout.write(`${JSON.stringify(reply)}\n`);
  })
  .on("close", () => process.exit(0));
