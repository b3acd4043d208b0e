// The stream of events: what was missed is asked for once it is back, and not before.
import type { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { setTenant } from "./client";
import { listen } from "./events";

class Stream {
  static all: Stream[] = [];
  onopen = () => {};
  onerror = () => {};
  heard: Record<string, () => void> = {};
  isOpen = true;
  constructor(readonly address: string) {
    Stream.all.push(this);
  }
  addEventListener(topic: string, hear: () => void) {
    this.heard[topic] = hear;
  }
  close() {
    this.isOpen = false;
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Stream);
  Stream.all = [];
});
afterEach(() => vi.unstubAllGlobals());

it("asks for everything again after a gap, and not at every attempt (UI-12)", () => {
  const invalidateQueries = vi.fn();
  const stop = listen({ invalidateQueries } as unknown as QueryClient);
  Stream.all[0]?.onopen();
  for (let attempt = 0; attempt < 3; attempt++) {
    Stream.all.at(-1)?.onerror();
    vi.advanceTimersByTime(5000);
  }
  expect(Stream.all).toHaveLength(4);
  expect(invalidateQueries).not.toHaveBeenCalled();
  Stream.all.at(-1)?.onopen();
  vi.advanceTimersByTime(5000);
  expect(invalidateQueries).toHaveBeenCalledTimes(1);
  Stream.all.at(-1)?.heard.changed?.();
  Stream.all.at(-1)?.heard.reset?.();
  vi.advanceTimersByTime(5000);
  expect(invalidateQueries).toHaveBeenCalledTimes(2);
  stop();
});

it("follows whoever looks at another tenant (UI-12)", () => {
  const stop = listen({ invalidateQueries: vi.fn() } as unknown as QueryClient);
  setTenant("other");
  expect(Stream.all.map(({ isOpen }) => isOpen)).toEqual([false, true]);
  expect(Stream.all[1]?.address).toContain("tenant_id=other");
  stop();
  setTenant("");
  expect(Stream.all).toHaveLength(2);
});

it("takes a server that has been silent for too long for gone (UI-12)", () => {
  const stop = listen({ invalidateQueries: vi.fn() } as unknown as QueryClient);
  Stream.all[0]?.onopen();
  for (let times = 0; times < 4; times++) {
    vi.advanceTimersByTime(15_000);
    Stream.all[0]?.heard.alive?.();
  }
  expect(Stream.all).toHaveLength(1);
  vi.advanceTimersByTime(29_000);
  expect(Stream.all.map(({ isOpen }) => isOpen)).toEqual([false, true]);
  stop();
  vi.advanceTimersByTime(60_000);
  expect(Stream.all).toHaveLength(2);
});
