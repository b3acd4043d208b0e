import { defineConfig } from "@playwright/test";

// Debian's Chromium; the server is the real binary, started by `e2e/server.ts`.
export default defineConfig({
  testDir: "e2e",
  testMatch: "*.spec.ts",
  workers: 1,
  timeout: 60_000,
  // What hangs ends; an idle machine needs a few minutes, and four times as long for every look of every page.
  globalTimeout: (process.env.EVERY_LOOK ? 60 : 30) * 60_000,
  expect: { timeout: 10_000 },
  reporter: [["list"]],
  globalSetup: "./e2e/setup.ts",
  use: {
    launchOptions: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
    viewport: { width: 1280, height: 800 },
    locale: "en-US",
  },
});
