// The stream of events: what was missed is asked for once it is back, and not before.
import type { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { setTenant } from "./client";
import { listen } from "./events";

/** What the console asks for, and how the server's side of it goes on. */
class Stream {
  static all: Stream[] = [];
  isOpen = true;
  private answer: (response: Response) => void = () => {};
  private fail: (error: Error) => void = () => {};
  private body: ReadableStreamDefaultController<Uint8Array> | undefined;
  private readonly asked = new Promise<Response>((answer, fail) => {
    this.answer = answer;
    this.fail = fail;
  });

  static fetch(address: string, init: RequestInit): Promise<Response> {
    const stream = new Stream(address, new Headers(init.headers));
    Stream.all.push(stream);
    init.signal?.addEventListener("abort", () => stream.fails(new DOMException("", "AbortError")));
    return stream.asked;
  }
  constructor(
    readonly address: string,
    readonly headers: Headers,
  ) {}
  opens(): void {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.body = controller;
      },
    });
    this.answer(new Response(body, { headers: { "Content-Type": "text/event-stream" } }));
  }
  says(topic: string): void {
    this.body?.enqueue(new TextEncoder().encode(`event: ${topic}\ndata: {}\n\n`));
  }
  fails(error = new Error("gone")): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.fail(error);
    this.body?.error(error);
  }
}

const page = { hidden: false, addEventListener: vi.fn(), removeEventListener: vi.fn() };
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const queries = () => ({ invalidateQueries: vi.fn() });
const of = (all: object) => all as QueryClient;
const states = () => Stream.all.map(({ isOpen }) => isOpen);

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("fetch", Stream.fetch);
  vi.stubGlobal("location", { href: "http://localhost/" });
  vi.stubGlobal("navigator", {});
  vi.stubGlobal("document", page);
  page.hidden = false;
  Stream.all = [];
});
afterEach(() => vi.unstubAllGlobals());

it("asks for everything again after a gap, and not at every attempt (UI-12)", async () => {
  const all = queries();
  const stop = listen(of(all));
  Stream.all[0]?.opens();
  await pass(0);
  for (let attempt = 0; attempt < 3; attempt++) {
    Stream.all.at(-1)?.fails();
    await pass(5000);
  }
  expect(Stream.all).toHaveLength(4);
  expect(all.invalidateQueries).not.toHaveBeenCalled();
  Stream.all.at(-1)?.opens();
  await pass(5000);
  expect(all.invalidateQueries).toHaveBeenCalledTimes(1);
  Stream.all.at(-1)?.says("changed");
  Stream.all.at(-1)?.says("reset");
  await pass(5000);
  expect(all.invalidateQueries).toHaveBeenCalledTimes(2);
  stop();
});

it("follows whoever looks at another tenant (UI-12)", async () => {
  const stop = listen(of(queries()));
  setTenant("other");
  await pass(0);
  expect(states()).toEqual([false, true]);
  expect(Stream.all[1]?.address).toContain("tenant_id=other");
  stop();
  setTenant("");
  await pass(60_000);
  expect(Stream.all).toHaveLength(2);
});

it("takes a server that has been silent for too long for gone (UI-12)", async () => {
  const stop = listen(of(queries()));
  Stream.all[0]?.opens();
  for (let times = 0; times < 4; times++) {
    await pass(15_000);
    Stream.all[0]?.says("alive");
  }
  expect(Stream.all).toHaveLength(1);
  await pass(29_000);
  expect(states()).toEqual([false, true]);
  stop();
  await pass(60_000);
  expect(Stream.all).toHaveLength(2);
});

it("keeps no connection for a page that nobody sees, and asks anew once somebody does (UI-12)", async () => {
  const all = queries();
  const stop = listen(of(all));
  const look = page.addEventListener.mock.calls.at(-1)?.[1] as () => void;
  Stream.all[0]?.opens();
  await pass(0);
  page.hidden = true;
  look();
  await pass(60_000);
  expect(states()).toEqual([false]);
  expect(all.invalidateQueries).not.toHaveBeenCalled();
  page.hidden = false;
  look();
  await pass(1000);
  expect(states()).toEqual([false, true]);
  expect(all.invalidateQueries).toHaveBeenCalledTimes(1);
  stop();
});
