// Form ⇄ JSON: what a form does not show stays, and what it shows comes back as it was.
import { describe, expect, it } from "vitest";
import { readJson, writeJson } from "../api/json";
import { getAt, parsePath, setAt } from "./path";
import { emptyOf, fieldsOf, groupsOf, humanise, isLong, kindOf, resolve, type Schema, TYPED, typedAs } from "./schema";
import { withoutSecrets } from "./secrets";

describe("places", () => {
  it("are read as the server writes them", () => {
    expect(parsePath("tools[0].parameters[12].name")).toEqual(["tools", 0, "parameters", 12, "name"]);
    expect(parsePath("/a~1b/c~0d/0")).toEqual(["a/b", "c~d", 0]);
    expect(parsePath("")).toEqual([]);
  });

  it("keep everything beside them", () => {
    const value = { known: 1, unknown: { deep: [1, { x: true }] } };
    const next = setAt(value, ["unknown", "deep", 1, "x"], false);
    expect(next).toEqual({ known: 1, unknown: { deep: [1, { x: false }] } });
    expect(value.unknown.deep[1]).toEqual({ x: true });
    expect(setAt(next, ["known"], undefined)).toEqual({ unknown: { deep: [1, { x: false }] } });
  });

  it("come out as they went in", () => {
    const value = { a: [{ b: null }, "text", 3.5], "": { "with.dot": [] } };
    for (const path of [
      ["a", 0, "b"],
      ["a", 2],
      ["", "with.dot"],
    ]) {
      expect(setAt(value, path, getAt(value, path))).toEqual(value);
    }
  });
});

describe("numbers (UI-7)", () => {
  it("stay as they are written beside what is changed", () => {
    const value = readJson('{"extra":{"seed":9007199254740993,"f":1.0},"name":"a","list":[1e400]}');
    expect(writeJson(setAt(value, ["name"], "b"))).toBe(
      '{"extra":{"seed":9007199254740993,"f":1.0},"name":"b","list":[1e400]}',
    );
    const schema = { properties: { extra: { type: "object" } } };
    expect(writeJson(withoutSecrets(value, schema))).toBe(writeJson(value));
  });

  it("are choices as well", () => {
    expect(kindOf(readJson('{"enum":[1.0,9007199254740993]}') as object as Schema, {})).toBe("choice");
  });
});

describe("kinds (UI-7)", () => {
  const root = {
    $defs: {
      Word: { enum: ["a", "b", null] },
      Self: { type: "object", properties: { again: { $ref: "#/$defs/Self" } } },
    },
  };
  const kind = (schema: object) => kindOf(resolve(schema, root), root);

  it("follow from the schema", () => {
    expect(kind({ type: "string" })).toBe("text");
    expect(kind({ type: ["string", "null"], writeOnly: true })).toBe("secret");
    expect(kind({ type: ["integer", "null"] })).toBe("number");
    expect(kind({ type: "boolean" })).toBe("flag");
    expect(kind({ $ref: "#/$defs/Word" })).toBe("choice");
    expect(kind({ anyOf: [{ $ref: "#/$defs/Word" }, { type: "null" }] })).toBe("choice");
    expect(kind({ oneOf: [{ const: "x" }, { const: "y" }] })).toBe("choice");
    expect(kind({ type: "array", items: { type: "string" } })).toBe("list");
    expect(kind({ type: "object", additionalProperties: { type: "string" } })).toBe("map");
    expect(kind({ type: "object", properties: { a: {} } })).toBe("object");
  });

  it("are JSON for what cannot be drawn", () => {
    expect(kind({})).toBe("json");
    expect(kind({ type: "object" })).toBe("json");
    expect(kind({ type: ["string", "integer"] })).toBe("json");
    expect(kind({ oneOf: [{ type: "string" }, { type: "object", properties: { a: {} } }] })).toBe("json");
    expect(kind({ type: "array", items: true })).toBe("json");
  });

  it("end where a schema holds itself", () => {
    expect(kind({ $ref: "#/$defs/Self" })).toBe("object");
    const loop = { $defs: { A: { $ref: "#/$defs/B" }, B: { $ref: "#/$defs/A" } } };
    expect(kindOf(resolve({ $ref: "#/$defs/A" }, loop), loop)).toBe("json");
  });
});

describe("fields", () => {
  const schema = {
    type: "object",
    required: ["base_url"],
    properties: {
      token: { type: "string", "x-ui": { when: { sign_in: ["bearer"] } } },
      sign_in: { type: "string", title: "Sign-in", "x-ui": { order: 2, zh: { title: "登录方式" } } },
      base_url: { type: "string", "x-ui": { order: 1 } },
      auth: { type: "string", "x-ui": { alias: "sign_in" } },
    },
  };
  const keys = (value: object) => fieldsOf(schema, schema, value, value, "en").map((field) => field.key);

  it("stand in their order, and only where they are wanted", () => {
    expect(keys({})).toEqual(["base_url", "sign_in"]);
    expect(keys({ sign_in: "bearer" })).toEqual(["base_url", "sign_in", "token"]);
  });

  it("show what is set, wanted or not", () => {
    expect(keys({ auth: "x", token: "***" })).toContain("token");
    expect(keys({ auth: "x" })).toContain("auth");
  });

  it("have words in both languages", () => {
    const label = (language: "en" | "zh-CN") => fieldsOf(schema, schema, {}, {}, language)[1]?.label;
    expect([label("en"), label("zh-CN")]).toEqual(["Sign-in", "登录方式"]);
    expect(humanise("base_url")).toBe("Base URL");
    expect(humanise("maxAttempts")).toBe("Max attempts");
  });

  it("stand in their groups, those of none first", () => {
    const property = (group?: string) => ({ type: "string", ...(group && { "x-ui": { group } }) });
    const properties = { a: property("limits"), b: property(), c: property("sign_in"), d: property("limits") };
    const grouped = groupsOf(fieldsOf({ properties }, {}, {}, {}, "en"));
    expect(grouped.map(({ group, fields }) => [group, fields.map(({ key }) => key)])).toEqual([
      ["general", ["b"]],
      ["limits", ["a", "d"]],
      ["sign_in", ["c"]],
    ]);
  });

  it("begin with something of their kind", () => {
    expect(emptyOf({ type: "string" }, {})).toBe("");
    expect(emptyOf({ enum: ["b", "c"] }, {})).toBe("b");
    expect(emptyOf({ type: "object", properties: { a: {} } }, {})).toEqual({});
  });
});

/** UI-7: of a sign-in only what its type needs is asked for; the type may stand beside the details. */
it("shows the details of the chosen type", () => {
  const properties = {
    token: { type: "string", "x-ui": { when: { type: ["bearer"] } } },
    username: { type: "string", "x-ui": { when: { type: ["basic"] } } },
  };
  const keys = (value: object, beside: object) =>
    fieldsOf({ properties }, {}, value, {}, "en", { ...beside }).map((field) => field.key);
  expect(keys({}, { type: "bearer" })).toEqual(["token"]);
  expect(keys({ type: "basic" }, {})).toEqual(["username"]);
  // What is there is never hidden.
  expect(keys({ token: "***" }, { type: "basic" })).toEqual(["token", "username"]);
});

/** UI-5 and UI-7: an argument of a step is a value where its schema has such values, and an expression everywhere else. */
it("reads what is typed as its schema means it", () => {
  expect(typedAs({ type: "boolean" }, "true")).toBe(true);
  expect(typedAs({ type: ["boolean", "null"] }, "false")).toBe(false);
  expect(typedAs({ type: "integer" }, "7")).toBe(7);
  expect(typedAs({ type: "string", enum: ["1", "true"] }, "1")).toBe("1");
  expect(typedAs({ type: "string", enum: ["1", "true"] }, "true")).toBe("true");
  expect(typedAs({ enum: [1, 2] }, "2")).toBe(2);
  for (const text of ["a.total > 3", "tru", "7 "]) expect(typedAs({ type: ["boolean", "number"] }, text)).toBe(text);
  expect(kindOf({ type: "boolean", [TYPED]: true }, {})).toBe("typed");
});

it("knows texts that have several lines as a rule", () => {
  expect(isLong({}, ["config", "instructions"])).toBe(true);
  expect(isLong({ "x-ui": { multiline: true } }, ["script"])).toBe(true);
  expect(isLong({}, ["model"])).toBe(false);
});
