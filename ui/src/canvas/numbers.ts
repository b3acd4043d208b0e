// Numbers of YAML keep their spelling: those that nobody touched are written as their author wrote them.
import type { Scalar, ScalarTag } from "yaml";
import { Numeral, numberOf } from "../api/json";

const DECIMAL = /^([-+]?)0*(\d*)(?:\.(\d*))?(.*)$/;

export const numbers: ScalarTag = {
  tag: "tag:yaml.org,2002:float",
  default: true,
  // Those of YAML's core schema.
  test: /^(?:[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?|0x[0-9a-fA-F]+|0o[0-7]+)$/,
  identify: (value) => value instanceof Numeral || (typeof value === "number" && Number.isFinite(value)),
  resolve: (text) => numberOf(inJson(text)) ?? text,
  stringify: ({ value, source }: Scalar) => source ?? String(value),
};

/** The same number as JSON writes it. */
function inJson(text: string): string {
  if (/^0[xo]/.test(text)) return String(BigInt(text));
  const [, sign, whole, part, power] = DECIMAL.exec(text) ?? [];
  const behind = part === undefined ? "" : `.${part || "0"}`;
  return `${sign === "-" ? "-" : ""}${whole || "0"}${behind}${power}`;
}
