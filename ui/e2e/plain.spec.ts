// The console over plain HTTP by the name of its host, where browsers say less of their requests.
import { ADMIN, expect, test } from "./base";
import { start } from "./server";

const NAME = "console.test";
test.use({
  launchOptions: async ({ launchOptions }, use) => {
    const rule = `--host-resolver-rules=MAP ${NAME} 127.0.0.1`;
    await use({ ...launchOptions, args: [...(launchOptions.args ?? []), rule] });
  },
});

/** UI-13: whoever is no page of ours is kept out all the same; the server's own tests say so. */
test("the console signs in under any name, and has all that it has elsewhere", async ({ page }) => {
  const open = await start({}, { host: "0.0.0.0" });
  const address = open.url.replace("127.0.0.1", NAME);
  const signIn = async (key: string) => {
    await page.getByRole("textbox", { name: "Key" }).fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  try {
    await page.goto(address);
    expect(await page.evaluate(() => isSecureContext)).toBe(false);
    await signIn("wrong");
    await expect(page.getByRole("alert")).toContainText("not valid");
    await signIn(ADMIN);
    await expect(page.getByRole("heading", { level: 1, name: "Home" })).toBeVisible();
    await expect(page.getByRole("status", { name: "Live" })).toBeVisible();
    await page.getByRole("button", { name: "Try an example" }).click();
    await page.getByRole("button", { name: "Run" }).click();
    await expect(page.getByRole("region", { name: "Answer", exact: true })).toContainText("Ada");
    await page.goto(`${address}/ui/calls`);
    const file = page.waitForEvent("download");
    await page.getByRole("link", { name: "Export" }).click();
    expect((await file).suggestedFilename()).toBe("calls.csv");
    await page.reload();
    await expect(page.getByRole("heading", { level: 1, name: "Calls" })).toBeVisible();
  } finally {
    await open.stop();
  }
});
