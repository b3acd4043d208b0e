// What is kept of a draft, and what never is.
import { expect, it } from "vitest";
import { MASK, withoutSecrets } from "./secrets";

const SCHEMA = {
  type: "object",
  properties: {
    url: { type: "string" },
    key: { type: "string", writeOnly: true },
    pass: { type: "string", format: "password" },
    auth: { $ref: "#/$defs/auth" },
    headers: { type: "object", additionalProperties: { type: "string", writeOnly: true } },
    peers: { type: "array", items: { $ref: "#/$defs/auth" } },
    either: {
      oneOf: [{ $ref: "#/$defs/auth" }, { type: "object", properties: { pin: { type: "string", writeOnly: true } } }],
    },
  },
  $defs: {
    auth: {
      type: ["object", "null"],
      properties: { user: { type: "string" }, token: { type: ["string", "null"], writeOnly: true } },
    },
  },
};

/** UI-8: a secret that was typed is in no draft that is kept, wherever in the settings it stands. */
it("keeps no secrets", () => {
  const typed = {
    url: "http://x",
    key: "secret",
    pass: "secret",
    auth: { user: "me", token: "secret" },
    headers: { "X-Key": "secret" },
    peers: [{ user: "you", token: "secret" }],
    either: { user: "she", token: "secret", pin: "secret" },
    unknown: "stays",
  };
  const bare = withoutSecrets(typed, SCHEMA);
  expect(JSON.stringify(bare)).not.toContain("secret");
  expect(bare).toMatchObject({ url: "http://x", auth: { user: "me" }, peers: [{ user: "you" }], unknown: "stays" });
});

/** UI-8: a secret that was about to be replaced is the saved one again, so that saving does not take it away. */
it("goes back to the secrets that are saved", () => {
  const saved = { key: MASK, auth: { user: "me", token: MASK } };
  const typed = { key: "another", auth: { user: "you", token: "another" } };
  expect(withoutSecrets(typed, SCHEMA, saved)).toEqual({ key: MASK, auth: { user: "you", token: MASK } });
});
