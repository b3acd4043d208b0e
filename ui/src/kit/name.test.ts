// Names that mean no good are seen as they are.
import { expect, it } from "vitest";
import { names } from "./css";
import { cut, partsOf, visible } from "./name";

it("shows what turns the text round, and leaves all other writing alone", () => {
  expect(visible("safe\u202egnp.exe\u202c")).toBe("safe⟨U+202E⟩gnp.exe⟨U+202C⟩");
  expect(visible("\u2066a\u2069")).toBe("⟨U+2066⟩a⟨U+2069⟩");
  for (const text of ["plain", "中文", "עברית \u200f", "👩‍🔧"]) expect(visible(text)).toBe(text);
});

it("cuts what is long", () => {
  expect(cut("short")).toBe("short");
  expect(cut("x".repeat(3000))).toHaveLength(120);
});

/** A name that needs two lines is broken between its parts. */
it("knows where a long name may be broken", () => {
  expect(partsOf("crm__get_order")).toEqual(["crm__get_order"]);
  expect(partsOf("crm__get_order.by-number")).toEqual(["crm__", "get_", "order.", "by-", "number"]);
  expect(partsOf("Nov 19, 2026, 3:12:39 PM")).toHaveLength(1);
  expect(partsOf("api://crm/get_order_lines").join("")).toBe("api://crm/get_order_lines");
});

it("has no class where none counts", () => {
  expect(names(false, undefined, "")).toBeUndefined();
  expect(names("a", false, "b")).toBe("a b");
});
