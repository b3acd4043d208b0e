// Writes .br and .gz beside each file of the build that gets smaller by it; the server sends whichever a browser takes.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const KINDS = /\.(js|css|html|svg|json)$/;
const SMALL_BYTES = 512;

for (const name of readdirSync("dist", { recursive: true })) {
  const path = join("dist", String(name));
  // The page itself gets its nonce with every answer, so it cannot be compressed beforehand.
  if (!statSync(path).isFile() || !KINDS.test(path) || path.endsWith("index.html")) continue;
  const content = readFileSync(path);
  if (content.length < SMALL_BYTES) continue;
  writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
  writeFileSync(`${path}.br`, brotliCompressSync(content, { params }));
}
