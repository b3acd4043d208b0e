// A server to call, with which a test says what comes back.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export type Upstream = { url: string; stop: () => void };

export async function upstream(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Upstream> {
  const server = createServer(answer);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const at = server.address();
  const port = typeof at === "object" && at ? at.port : 0;
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}
