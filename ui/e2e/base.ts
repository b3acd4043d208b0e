// What all tests share: signed in by cookie, and no error in the browser's console.
import { test as base, expect, type Page } from "@playwright/test";
import { ADMIN } from "./server";

export { ADMIN, expect };
export const url = () => process.env.E2E_URL ?? "";
export const api = () => process.env.E2E_API ?? "";

/** Asks the REST interface itself, to make what a test needs. */
export async function rest<T>(method: string, path: string, body?: unknown, server = api()): Promise<T> {
  const headers = { Authorization: `Bearer ${ADMIN}`, "Content-Type": "application/json" };
  const response = await fetch(`${server}/api/v1${path}`, {
    method,
    headers,
    body: body ? JSON.stringify(body) : undefined,
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

export async function signIn(page: Page, key = ADMIN, server = url()): Promise<void> {
  const response = await page.request.post(`${server}/api/v1/auth/session`, {
    data: { key },
    headers: { "Sec-Fetch-Site": "same-origin", Origin: server },
  });
  expect(response.ok()).toBe(true);
}

const PLAIN = /^The Cross-Origin-Opener-Policy header has been ignored/;

type Fixtures = {
  /** Where a test asks for what is not there, or from a server that fails, its browser may say so. */
  isMissing: boolean;
  /** What a test looks at although it is not there; everything else is. */
  absent: RegExp | null;
  errors: string[];
};

/** Errors of the page's own. What was typed may be refused, and the browser says that, too; what the console asks for by itself is there. */
export const test = base.extend<Fixtures>({
  isMissing: [false, { option: true }],
  absent: [null, { option: true }],
  errors: [
    async ({ page, isMissing, absent }, use) => {
      const errors: string[] = [];
      page.on("pageerror", (error) => errors.push(error.message));
      page.on("console", (message) => {
        const failed = /Failed to load resource.*?(?:status of (\d+)|$)/.exec(message.text());
        const status = Number(failed?.[1] ?? 0);
        // A server that a test has stopped is no mistake of the page; nor is what browsers say of plain HTTP.
        const isAbsent = status === 404 && absent?.test(message.location().url);
        const isRefused = failed
          ? isMissing || isAbsent || (status < 500 && status !== 404)
          : PLAIN.test(message.text());
        if (message.type() === "error" && !isRefused) errors.push(`${message.text()} ${message.location().url}`);
      });
      await use(errors);
      expect(errors).toEqual([]);
    },
    { auto: true },
  ],
});
