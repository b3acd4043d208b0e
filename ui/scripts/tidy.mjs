// Holds the sources to the rules of the folders: short files, short components, pages apart, colours in the kit alone, numbers as they are.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const FILE_LINES = 250;
const COMPONENT_LINES = 80;
const problems = [];
/** Attributes that people read or hear. */
const SAID = new Set(["label", "title", "hint", "placeholder", "alt", "aria-label", "detail", "error", "empty"]);

const names = readdirSync("src", { recursive: true }).map((name) => join("src", String(name)));
for (const path of names.filter((name) => /\.(tsx?|css)$/.test(name) && !name.endsWith("schema.d.ts"))) {
  const text = readFileSync(path, "utf8");
  const lines = text.split("\n");
  // Style sheets are lists; they belong to the kit and have no length.
  if (!path.endsWith(".css") && lines.length > FILE_LINES) problems.push(`${path}: ${lines.length} lines`);
  if (path.endsWith(".tsx")) components(path, lines);
  if (path.endsWith(".tsx")) wording(path, text);
  const page = /^src\/pages\/([^/]+)\//.exec(path)?.[1];
  for (const [, to] of text.matchAll(/from "\.\.\/([a-z]+)(?:\/[^"]*)?"/g)) {
    const isOther = page && names.some((name) => name === `src/pages/${to}`) && path.split("/").length === 4;
    if (isOther) problems.push(`${path}: imports the page ${to}`);
  }
  if (!path.startsWith("src/kit/") && /#[0-9a-f]{6}\b|\d(px|rem)\b/i.test(text))
    problems.push(`${path}: has colours or pixels`);
  // Numbers are somebody's; what we keep in the browser ourselves has none that could be changed.
  const isOwn = path === "src/api/json.ts" || path.includes(".test.") || text.includes("localStorage");
  if (!isOwn && text.includes("JSON.parse("))
    problems.push(`${path}: JSON.parse changes numbers; use readJson of src/api/json.ts`);
}

function components(path, lines) {
  let start = -1;
  for (const [at, line] of lines.entries()) {
    if (/^(export (default )?)?function [A-Z]/.test(line)) start = at;
    if (line === "}" && start >= 0) {
      if (at - start + 1 > COMPONENT_LINES)
        problems.push(`${path}:${start + 1}: a component of ${at - start + 1} lines`);
      start = -1;
    }
  }
}

/** UI-15: what people read stands in src/words, in both languages; the product's name is the same in all. */
function wording(path, text) {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const check = (node, said) => {
    if (!/\p{L}{2}/u.test(said) || said.trim() === "mcp-all-in-one") return;
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
    problems.push(`${path}:${line + 1}: "${said.trim()}" is not in src/words`);
  };
  const visit = (node) => {
    if (ts.isJsxText(node)) check(node, node.text);
    const isSaid = ts.isJsxAttribute(node) && SAID.has(node.name.getText(file));
    if (isSaid && node.initializer && ts.isStringLiteral(node.initializer)) check(node, node.initializer.text);
    ts.forEachChild(node, visit);
  };
  visit(file);
}

for (const problem of problems) console.error(problem);
process.exit(problems.length ? 1 : 0);
