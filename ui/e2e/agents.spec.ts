// An agent with a model that says what the file of the tests says, and a tool that really answers.
import { expect, rest, signIn, test, url } from "./base";
import { type Upstream, upstream } from "./upstream";

const model = process.env.MCP_TEST_AIMOCK_URL;
let echo: Upstream;

test.beforeAll(async () => {
  // A worker that failed is followed by another one.
  for (const service of ["agent/helper", "api/crm"]) {
    await rest("DELETE", `/services/${service}?force=true`).catch(() => undefined);
  }
  expect(model, "run with scripts/servers run aimock -- CMD").toBeTruthy();
  echo = await upstream((request, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ path: request.url }));
  });
  const parameters = [{ name: "text", position: "query", required: true }];
  const tools = [{ id: "echo", endpoint: "/echo", parameters }];
  await rest("POST", "/services", { type: "api", id: "crm", config: { base_url: echo.url }, tools });
  const config = { provider: "openai", base_url: `${model}/v1`, api_key: "sk-s3cr3t", model: "gpt-4o" };
  await rest("POST", "/services", { type: "agent", id: "helper", config: { ...config, tools: ["api://crm/*"] } });
});
test.afterAll(() => echo.stop());

/** The chat of the contract: what is said, and every tool call with what it was told and answered. */
test("an agent answers, and shows the tools that it calls", async ({ page }) => {
  await signIn(page);
  await page.goto(`${url()}/ui/agents/helper`);
  const log = page.getByRole("log", { name: "Conversation" });
  await page.getByRole("textbox", { name: "Message" }).fill("say hello");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(log).toContainText("Hello from the scripted model, in several chunks.");
  // The answer is there before its end is told.
  await expect(page.getByRole("button", { name: "Send" })).toBeEnabled();
  await page.getByRole("textbox", { name: "Message" }).fill("echo please");
  await page.keyboard.press("Control+Enter");
  await expect(log).toContainText("The echo came back.");
  const call = log.getByRole("group", { name: "Tool call crm__echo" });
  await expect(call).toContainText("succeeded");
  await call.getByText("crm__echo").click();
  await expect(call).toContainText("from the mock");
  expect(await page.content()).not.toContain("s3cr3t");
  await call.getByRole("link", { name: "Open the inspector" }).click();
  await expect(page.getByRole("region", { name: "Raw answer" })).toContainText("/echo?text=from");
});

test("a model that has nothing to say is an error that one can read", async ({ page }) => {
  await signIn(page);
  await page.goto(`${url()}/ui/agents/helper`);
  await page.getByRole("textbox", { name: "Message" }).fill("nobody has scripted this");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("main")).toContainText(/model/);
  await expect(page.getByRole("button", { name: "Send" })).toBeEnabled();
});

/** The chat of the contract goes on behind an approval: with the call and the answer, and after a reload. */
test("an answer that waited for an approval comes into the chat", async ({ page, context }) => {
  const { key } = await rest<{ key: string }>("POST", "/keys", { name: "asks the agent", role: "manager" });
  const tools = [{ uri: "api://crm/echo", approval: "always" }];
  const config = { provider: "openai", base_url: `${model}/v1`, api_key: "sk-s3cr3t", model: "gpt-4o", tools };
  await rest("POST", "/services", { type: "agent", id: "careful", config });
  await signIn(page, key);
  await page.goto(`${url()}/ui/agents/careful`);
  await expect(page.getByRole("heading", { level: 1, name: "careful" })).toBeVisible();
  const log = page.getByRole("log", { name: "Conversation" });
  await page.getByRole("textbox", { name: "Message" }).fill("echo please");
  await page.getByRole("button", { name: "Send" }).click();
  const call = log.getByRole("group", { name: "Tool call crm__echo" });
  await expect(call).toContainText("waiting");
  const inbox = await context.newPage();
  await inbox.goto(`${url()}/ui/approvals`);
  await inbox.getByRole("row").filter({ hasText: "careful" }).getByRole("button", { name: "Approve" }).click();
  await expect(call).toContainText("succeeded");
  await expect(call).toHaveCount(1);
  await expect(log).toContainText("The echo came back.");
  await expect(log.getByRole("link", { name: "Approvals" })).toHaveCount(0);
  await page.reload();
  await expect(log).toContainText("echo please");
  await expect(log).toContainText("The echo came back.");
  await expect(call).toContainText("succeeded");
  await rest("DELETE", "/services/agent/careful?force=true");
});
