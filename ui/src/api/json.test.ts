// UI-7: numbers keep their spelling, whatever JavaScript makes of them.
import { describe, expect, it } from "vitest";
import { Numeral, numberOf, readJson, writeJson } from "./json";

describe("JSON that is read and written", () => {
  it.each([
    '{"seed":9007199254740993,"f":1.0}',
    "[12345678901234567890,-9007199254740993,1e400,-1E-400,0.10,-0,1e2,0.1234567890123456789]",
    '{"a":"9007199254740993","b":"1.0 \\"2.0\\" \\\\","c\\\\":3.0,"1.0":[{"n":4.0}]}',
    "9007199254740993",
    '{"exact":[1,-2,0.5,1e+21,1e-7,null,true,""]}',
  ])("is the same: %s", (text) => {
    expect(writeJson(readJson(text))).toBe(text);
  });

  it("is indented and ordered like any other", () => {
    expect(writeJson(readJson('{"b":1.0,"a":{"n":2.50}}'), 2)).toBe('{\n  "b": 1.0,\n  "a": {\n    "n": 2.50\n  }\n}');
    expect(writeJson(readJson('{"b":1.0,"a":2.0}'), undefined, ["a", "b"])).toBe('{"a":2.0,"b":1.0}');
    expect(writeJson(undefined)).toBe("");
  });

  it("gives plain numbers where nothing is lost", () => {
    expect(readJson('{"a":1,"b":[0.5,9007199254740992]}')).toEqual({ a: 1, b: [0.5, 9007199254740992] });
  });

  it("is refused where it is none, and says where", () => {
    for (const text of ["{", '{"a":01}', '{"a":1.0,}', '["1.0', "1.", "--1", "[1.0 2.0]", "{1.0:2}"]) {
      expect(() => readJson(text)).toThrow(SyntaxError);
    }
  });

  it("is read in a moment, however long its texts are", () => {
    const long = JSON.stringify({ text: '\\"1.0'.repeat(1_000_000), n: 1 });
    expect(writeJson(readJson(long))).toBe(long);
  });
});

describe("numbers that are typed", () => {
  it("are themselves, and what is none is nothing", () => {
    expect(numberOf("15")).toBe(15);
    expect(numberOf("9007199254740993")).toEqual(new Numeral("9007199254740993"));
    expect(String(numberOf("1.0"))).toBe("1.0");
    for (const text of ["", "1.", "-", "1e", "+1", "0x1f", "007", "NaN", "order.id"]) {
      expect(numberOf(text)).toBeUndefined();
    }
  });
});
