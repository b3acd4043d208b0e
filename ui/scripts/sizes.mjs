// Holds the build to its budget: KB of gzip for what the first page needs, and for each part that comes later.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const FIRST = 250;
const LATER = [
  { name: "editor", source: /src\/editor\/(codemirror|diff)\.tsx/, most: 150 },
  { name: "canvas", source: /src\/canvas\/canvas\.tsx/, most: 110 },
  { name: "charts", source: /src\/chart\/plot\.tsx/, most: 30 },
];
const OTHER = 40;

if (!existsSync("dist/.vite/manifest.json")) {
  console.error("dist is not built; run npm run build first");
  process.exit(1);
}
const manifest = JSON.parse(readFileSync("dist/.vite/manifest.json", "utf8"));

/** A chunk with all that it cannot do without. */
function closure(key, into = new Set()) {
  const chunk = manifest[key];
  if (!chunk || into.has(key)) return into;
  into.add(key);
  for (const next of chunk.imports ?? []) closure(next, into);
  return into;
}

const sizes = new Map();
function size(file) {
  if (!sizes.has(file)) sizes.set(file, gzipSync(readFileSync(`dist/${file}`), { level: 9 }).length / 1000);
  return sizes.get(file);
}
const files = (keys) => new Set([...keys].flatMap((key) => [manifest[key].file, ...(manifest[key].css ?? [])]));
const total = (all) => [...all].reduce((sum, file) => sum + size(file), 0);

const first = files(closure("index.html"));
const rows = [{ name: "first load", kb: total(first), most: FIRST }];
/** The syntax tree of YAML is counted with the canvas, and what pages share with each other. */
const isYaml = (file) => /\/yaml-/.test(file);
const ofPages = new Set();
for (const key of Object.keys(manifest).filter((key) => key.startsWith("src/pages/"))) {
  for (const file of files(closure(key))) if (!isYaml(file)) ofPages.add(file);
}
const isCounted = (file, later) => (later ? !ofPages.has(file) : !isYaml(file));

const parts = new Map();
for (const [key, chunk] of Object.entries(manifest)) {
  if (!chunk.isDynamicEntry) continue;
  const later = LATER.find(({ source }) => source.test(key));
  const own = [...files(closure(key))].filter((file) => !first.has(file) && isCounted(file, later));
  const name = later?.name ?? key;
  const known = parts.get(name) ?? { name, most: later?.most ?? OTHER, files: new Set() };
  for (const file of own) known.files.add(file);
  parts.set(name, known);
}
// Pages bring the syntax tree along, wherever it is loaded first.
for (const { file } of Object.values(manifest)) if (isYaml(file)) parts.get("canvas").files.add(file);
for (const { name, most, files } of parts.values()) rows.push({ name, kb: total(files), most });

let failed = false;
// Whatever is built and counted nowhere would grow unseen.
const counted = new Set([...first, ...[...parts.values()].flatMap(({ files }) => [...files])]);
for (const name of readdirSync("dist/assets").filter((name) => /\.(js|css)$/.test(name))) {
  if (counted.has(`assets/${name}`)) continue;
  failed = true;
  console.error(`OVER ${size(`assets/${name}`).toFixed(1)} KB of assets/${name} are counted nowhere`);
}
for (const { name, kb, most } of rows.sort((a, b) => b.kb - a.kb)) {
  const isOver = kb > most;
  failed ||= isOver;
  console.log(`${isOver ? "OVER" : "ok  "} ${kb.toFixed(1).padStart(6)} of ${most} KB  ${name}`);
}
process.exit(failed ? 1 : 0);
