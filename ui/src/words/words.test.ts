// UI-15: no Chinese text is missing, none is English by mistake.
import { describe, expect, it } from "vitest";
import { languages } from ".";

type Tree = { [key: string]: Tree | string | ((...args: never[]) => string) };

function flat(tree: Tree, prefix = ""): [string, string][] {
  return Object.entries(tree).flatMap(([key, value]): [string, string][] => {
    const path = `${prefix}${key}`;
    if (typeof value === "string") return [[path, value]];
    if (typeof value === "function") return [[path, (value as (...args: unknown[]) => string)("X", "Y", "Z")]];
    return flat(value, `${path}.`);
  });
}

/** Words that are the same in every language. */
const SAME =
  /^(language|form\.json|tables\.jmespath|services\.openapi|flows\.yaml|services\.source|shell\.keys\.\d\.0)$/;

describe("words", () => {
  const en = flat(languages.en as unknown as Tree);
  const zh = new Map(flat(languages["zh-CN"] as unknown as Tree));

  it("are all there", () => {
    expect([...zh.keys()].sort()).toEqual(en.map(([path]) => path).sort());
    expect(en.filter(([, text]) => text.trim() === "")).toEqual([]);
  });

  it("are Chinese in Chinese", () => {
    const same = en.filter(
      // Names of the server's own are shown as they are in English, and in words elsewhere.
      ([path, text]) => !SAME.test(path) && (zh.get(path) === text || !/\p{Script=Han}/u.test(zh.get(path) ?? "")),
    );
    expect(same).toEqual([]);
  });
});

it("counts one call as one", () => {
  const { home } = languages.en;
  expect([home.figures("1"), home.figures("2")]).toEqual(["1 call", "2 calls"]);
  expect(home.figuresFailed("1", "1")).toBe("1 call, 1 failed");
  expect(home.node("a", "1", "0")).toBe("a: 1 call, 0 errors");
});
