// Tabs that show the same share one connection, and none is lost with the tab that had it.
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { share } from "./share";

/** Locks as browsers grant them: one after another. */
function locks() {
  const waiting: (() => Promise<void>)[] = [];
  let isTaken = false;
  const next = async (): Promise<void> => {
    const first = isTaken ? undefined : waiting.shift();
    if (!first) return;
    isTaken = true;
    await first();
    isTaken = false;
    void next();
  };
  return {
    request: async (_: string, { signal }: { signal: AbortSignal }, held: () => Promise<void>) => {
      waiting.push(async () => (signal.aborted ? undefined : held()));
      void next();
    },
  };
}

class Channel {
  static all: Channel[] = [];
  onmessage: (event: { data: unknown }) => void = () => {};
  constructor(readonly name: string) {
    Channel.all.push(this);
  }
  postMessage(data: unknown) {
    for (const other of Channel.all) if (other !== this && other.name === this.name) other.onmessage({ data });
  }
  close() {
    Channel.all = Channel.all.filter((one) => one !== this);
  }
}

beforeEach(() => {
  vi.stubGlobal("navigator", { locks: locks() });
  vi.stubGlobal("BroadcastChannel", Channel);
});
afterEach(() => vi.unstubAllGlobals());

function tab(name: string) {
  const of = { isHolding: false, isHeir: false, heard: [] as string[], tell: (_: string) => {}, leave: () => {} };
  of.leave = share<string>(name, {
    hear: (message) => void of.heard.push(message),
    hold: (tell, isHeir) => {
      Object.assign(of, { isHolding: true, tell, isHeir });
      return () => {
        of.isHolding = false;
      };
    },
  });
  return of;
}

const settled = () => new Promise((done) => setTimeout(done));

it("leaves one connection to eight tabs, and hands it on (UI-12)", async () => {
  const tabs = Array.from({ length: 8 }, () => tab("a"));
  const other = tab("b");
  await settled();
  const holders = () => tabs.filter(({ isHolding }) => isHolding);
  expect(holders()).toEqual([tabs[0]]);
  expect(other.isHolding).toBe(false);
  tabs[0]?.tell("open");
  expect(tabs.map(({ heard }) => heard)).toEqual(tabs.map(() => ["open"]));
  expect(other.heard).toEqual([]);
  const late = tab("a");
  expect(late.heard).toEqual(["open"]);
  tabs[0]?.leave();
  await settled();
  expect(holders()).toEqual([tabs[1]]);
  expect(tabs[1]?.isHeir).toBe(true);
});

it("leaves each tab its own where they cannot agree (UI-12)", () => {
  vi.stubGlobal("navigator", {});
  const [one, two] = [tab("a"), tab("a")];
  expect([one.isHolding, two.isHolding]).toEqual([true, true]);
  one.leave();
  expect(one.isHolding).toBe(false);
});
