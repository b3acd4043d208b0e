// What stands before servers in real life: it hands everything on, and says 502 itself while nobody is behind it.
import { createServer, request } from "node:http";

export type Gateway = { url: string; stop: () => void };

/** The pages are those of `pages`, everything else is asked of `api`. */
export async function gateway(pages: string, api: string): Promise<Gateway> {
  const server = createServer((incoming, answer) => {
    const to = new URL(incoming.url ?? "/", /^\/(api|mcp)\b/.test(incoming.url ?? "") ? api : pages);
    const outgoing = request(to, { method: incoming.method, headers: incoming.headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
      response.on("error", () => answer.destroy());
    });
    outgoing.on("error", () => {
      if (answer.headersSent) return answer.destroy();
      answer.writeHead(502, { "Content-Type": "text/html" }).end("<html>bad gateway</html>");
    });
    answer.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const at = server.address();
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${typeof at === "object" && at ? at.port : 0}`, stop };
}
