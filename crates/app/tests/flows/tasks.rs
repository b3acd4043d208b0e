//! Tasks of MCP: a run that goes on after its call was answered, in the words of two versions.

use crate::world::{publish, shop, until};
use reqwest::Method;
use serde_json::{Value, json};
use std::path::Path;
use testkit::client::send_json;
use testkit::process::{self, sheltered};
use testkit::{Backend, Client, TestApp, http, on_both_databases};

on_both_databases! {
    a_client_that_speaks_of_tasks_follows_and_answers_a_run
    a_real_client_calls_a_flow_as_a_task_and_is_asked
    a_task_is_asked_for_polled_and_cancelled
    asking_about_tasks_has_the_limits_of_calls
}

const SHIP: &str = "
inputs: {id: string}
nodes:
  ok: {approval: {title: 'Ship ${id}?', fields: {reason: string, note: string?, at: time?}}, next: send}
  send: {with: \"id + ': ' + ok.data.reason\"}
";

/// A request of a client without a handshake, which declares what it can do.
async fn ask_modern(client: &Client, method: &str, capabilities: &Value, mut params: Value) -> Value {
    let name =
        ["name", "taskId"].iter().find_map(|field| params[field].as_str()).unwrap_or_default().to_owned();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let request = client
        .request(Method::POST, "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method)
        .header("mcp-name", name);
    let reply = send_json(request, &message).await;
    let text =
        reply.text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap_or(&reply.text);
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{}", reply.text))
}

/// FL-14: with the extension for tasks, a run that goes on is a task: it is asked for by its id, an approval is input that
/// it requires of those who may decide, and it can be cancelled.
async fn a_client_that_speaks_of_tasks_follows_and_answers_a_run(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "ship", SHIP).await;
    let tasks = json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let found = ask_modern(&app, "server/discover", &tasks, json!({})).await;
    assert_eq!(
        found["result"]["capabilities"]["extensions"],
        json!({ "io.modelcontextprotocol/tasks": {} }),
        "{found}"
    );
    let call = json!({ "name": "ship", "arguments": { "id": "7" } });
    let plain = ask_modern(&app, "tools/call", &json!({}), call.clone()).await;
    assert_eq!(plain["result"]["resultType"], "complete", "{plain}");
    let created = ask_modern(&app, "tools/call", &tasks, call.clone()).await["result"].clone();
    assert_eq!(
        (&created["resultType"], &created["status"]),
        (&json!("task"), &json!("working")),
        "{created}"
    );
    let id = created["taskId"].as_str().unwrap().to_owned();
    let asked = ask_modern(&app, "tasks/get", &tasks, json!({ "taskId": id })).await["result"].clone();
    assert_eq!(asked["status"], "input_required", "{asked}");
    let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(
        (&question["method"], &question["params"]["message"]),
        (&json!("elicitation/create"), &json!("Ship 7?"))
    );
    let string = json!({ "type": "string" });
    let form = json!({ "type": "object", "properties": { "reason": string, "note": string, "at": string }, "required": ["reason"] });
    assert_eq!(question["params"]["requestedSchema"], form, "plain fields, as forms have them");
    // Whoever may not decide is not asked, and whoever may not see the run learns nothing.
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    let own = ask_modern(&caller, "tools/call", &tasks, call.clone()).await["result"]["taskId"].clone();
    let seen = ask_modern(&caller, "tasks/get", &tasks, json!({ "taskId": own })).await["result"].clone();
    assert_eq!((&seen["status"], seen.get("inputRequests")), (&json!("working"), None), "{seen}");
    let stranger = ask_modern(&caller, "tasks/get", &tasks, json!({ "taskId": id })).await;
    assert_eq!(stranger["error"]["code"], -32602, "{stranger}");
    let silent = ask_modern(&app, "tasks/get", &json!({}), json!({ "taskId": id })).await;
    assert_eq!(silent["error"]["code"], -32021, "{silent}");
    let answer = |content: Value| json!({ "taskId": id, "inputResponses": { key: { "action": "accept", "content": content }, "other": { "action": "accept" } } });
    let wrong = ask_modern(&app, "tasks/update", &tasks, answer(json!({ "reason": 5 }))).await;
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    let right = ask_modern(&app, "tasks/update", &tasks, answer(json!({ "reason": "paid" }))).await;
    assert_eq!(right["result"]["resultType"], "complete", "{right}");
    until(&app, &id, &["succeeded", "failed"]).await;
    let ended = ask_modern(&app, "tasks/get", &tasks, json!({ "taskId": id })).await["result"].clone();
    assert_eq!(ended["status"], "completed", "{ended}");
    assert!(ended["result"]["content"].to_string().contains("7: paid"), "{ended}");
    let cancelled = ask_modern(&caller, "tasks/cancel", &tasks, json!({ "taskId": own })).await;
    assert_eq!(cancelled["result"]["resultType"], "complete", "{cancelled}");
    until(&app, own.as_str().unwrap(), &["cancelled"]).await;
    let ended = ask_modern(&caller, "tasks/get", &tasks, json!({ "taskId": own })).await["result"].clone();
    assert_eq!(ended["status"], "cancelled", "{ended}");
}

/// Calls a tool as a task with the SDK for TypeScript, agrees to whatever is asked, and prints what was told.
const CLIENT: &str = r#"
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [url, key, tool, input] = process.argv.slice(1);
const asked = [], told = [];
const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async request => {
  asked.push(request.params.message);
  return { action: 'accept', content: { reason: 'paid' } };
});
const headers = { Authorization: `Bearer ${key}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
await client.listTools();
let result;
const stream = client.experimental.tasks.callToolStream({ name: tool, arguments: JSON.parse(input) }, CallToolResultSchema);
for await (const message of stream) {
  if (message.type === 'error') throw message.error;
  if (message.type === 'result') result = message.result;
  else told.push(message.task.status);
}
console.log(JSON.stringify({ asked, told, result }));
await client.close();
"#;

/// FL-14: a client of npm `@modelcontextprotocol/sdk` that speaks 2025-11-25 finds that the flow may be a task, calls it as
/// one, is asked for the approval, and gets the result of the call.
async fn a_real_client_calls_a_flow_as_a_task_and_is_asked(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "ship", SHIP).await;
    let folder = std::env::var_os("MCP_TEST_SERVERS");
    let folder = folder.expect("MCP_TEST_SERVERS is not set; run the tests with scripts/mcp-servers run CMD");
    let mut client = sheltered(Path::new(&folder).join("node_modules/.bin/node"));
    let url = format!("http://{}/mcp", app.address());
    let arguments = ["--input-type=module", "-e", CLIENT, &url, app.key().unwrap(), "ship", r#"{"id":"7"}"#];
    client.current_dir(&folder).args(arguments);
    let output = tokio::task::spawn_blocking(move || process::run(&mut client)).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(seen["asked"], json!(["Ship 7?"]), "{seen}");
    assert!(seen["told"].as_array().unwrap().contains(&json!("input_required")), "{seen}");
    assert!(seen["result"]["content"].to_string().contains("7: paid"), "{seen}");
    let related = &seen["result"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"];
    until(&app, related.as_str().unwrap(), &["succeeded"]).await;
}

/// A client with a handshake.
struct Session<'a> {
    client: &'a Client,
    version: &'static str,
    token: String,
    /// What the server said it can do.
    capabilities: Value,
}

impl<'a> Session<'a> {
    async fn begin(client: &'a Client, version: &'static str) -> Self {
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": { "elicitation": {} }, "clientInfo": { "name": "t", "version": "1" } } });
        let request =
            client.request(Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
        let reply = send_json(request, &hello).await.is(200);
        let token = reply.header("mcp-session-id").unwrap().to_owned();
        let capabilities = last_message(&reply.text)["result"]["capabilities"].clone();
        Self { client, version, token, capabilities }
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": params });
        let request = self
            .client
            .request(Method::POST, "/mcp")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-session-id", &self.token)
            .header("mcp-protocol-version", self.version);
        last_message(&send_json(request, &message).await.text)
    }
}

fn last_message(text: &str) -> Value {
    let last = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap_or(text);
    serde_json::from_str(last).unwrap_or_else(|_| panic!("{text}"))
}

/// FL-14, FL-22, FL-32: the messages of 2025-11-25, and who may not send them.
async fn a_task_is_asked_for_polled_and_cancelled(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    publish(&app, app.database(), "ship", SHIP).await;
    publish(&app, app.database(), "quick", "nodes: {a: {with: 5}}").await;
    publish(&app, app.database(), "fails", "nodes: {a: {throw: {code: LOST, message: gone}}}").await;
    let admin = Session::begin(&app, "2025-11-25").await;
    assert_eq!(
        admin.capabilities["tasks"],
        json!({ "cancel": {}, "requests": { "tools": { "call": {} } } }),
        "{}",
        admin.capabilities
    );
    let listed = admin.ask("tools/list", json!({})).await;
    let ship = listed["result"]["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "ship");
    assert_eq!(ship.unwrap()["execution"], json!({ "taskSupport": "optional" }));
    let call = |name: &str| json!({ "name": name, "arguments": { "id": "7" }, "task": { "ttl": 60000 } });
    let quick = json!({ "name": "quick", "arguments": {}, "task": {} });
    let created = admin.ask("tools/call", quick).await["result"]["task"].clone();
    assert_eq!((&created["status"], &created["ttl"]), (&json!("working"), &Value::Null), "{created}");
    let id = created["taskId"].as_str().unwrap().to_owned();
    let result = admin.ask("tasks/result", json!({ "taskId": id })).await["result"].clone();
    assert_eq!(result["content"][0]["text"], "5", "{result}");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/related-task"], json!({ "taskId": id }));
    assert_eq!(admin.ask("tasks/get", json!({ "taskId": id })).await["result"]["status"], "completed");
    let over = admin.ask("tasks/cancel", json!({ "taskId": id })).await;
    assert_eq!(over["error"]["code"], -32602, "{over}");
    let fails = json!({ "name": "fails", "arguments": {}, "task": {} });
    let fails = admin.ask("tools/call", fails).await["result"]["task"]["taskId"].clone();
    let failed = admin.ask("tasks/result", json!({ "taskId": fails })).await;
    assert!(failed["result"]["isError"] == true && failed.to_string().contains("LOST"), "{failed}");
    assert_eq!(admin.ask("tasks/get", json!({ "taskId": fails })).await["result"]["status"], "failed");

    // What is no flow is called as ever, and other versions do not know of tasks.
    let tool = json!({ "name": "shop__lost", "arguments": {}, "task": {} });
    let refused = admin.ask("tools/call", tool.clone()).await;
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    let older = Session::begin(&app, "2025-06-18").await;
    assert_eq!(older.capabilities.get("tasks"), None);
    assert!(older.ask("tools/call", tool).await["result"]["isError"] == true);
    assert_eq!(older.ask("tasks/get", json!({ "taskId": id })).await["error"]["code"], -32601);
    assert_eq!(admin.ask("tasks/list", json!({})).await["error"]["code"], -32601, "it is not declared");

    // Whoever may not decide is not asked, and whoever may not see the run learns nothing.
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    let caller = Session::begin(&caller, "2025-11-25").await;
    let stranger = caller.ask("tasks/result", json!({ "taskId": id })).await;
    assert_eq!(stranger["error"]["code"], -32602, "{stranger}");
    let own = caller.ask("tools/call", call("ship")).await["result"]["task"]["taskId"].clone();
    until(&app, own.as_str().unwrap(), &["waiting"]).await;
    assert_eq!(caller.ask("tasks/get", json!({ "taskId": own })).await["result"]["status"], "working");
    let cancelled = caller.ask("tasks/cancel", json!({ "taskId": own })).await;
    assert_eq!(cancelled["result"]["status"], "cancelled", "{cancelled}");
    let asked = admin.ask("tools/call", call("ship")).await["result"]["task"]["taskId"].clone();
    until(&app, asked.as_str().unwrap(), &["waiting"]).await;
    let asked = admin.ask("tasks/get", json!({ "taskId": asked })).await["result"].clone();
    assert_eq!(asked["status"], "input_required", "{asked}");
}

/// Polling is no way around the limits of a key, in neither version.
async fn asking_about_tasks_has_the_limits_of_calls(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "ship", SHIP).await;
    let limited = json!({ "name": "c", "role": "caller", "limits": { "calls_per_minute": 4 } });
    let first = app.with_key(limited.clone()).await;
    let session = Session::begin(&first, "2025-11-25").await;
    let call = json!({ "name": "ship", "arguments": { "id": "7" }, "task": {} });
    let id = session.ask("tools/call", call.clone()).await["result"]["task"]["taskId"].clone();
    for _ in 0..3 {
        let polled = session.ask("tasks/get", json!({ "taskId": id })).await;
        assert!(polled["result"]["status"].is_string(), "{polled}");
    }
    let refused = session.ask("tasks/get", json!({ "taskId": id })).await;
    assert!(
        refused["error"]["code"] == -32603 && refused["error"]["data"]["retry_after_ms"].is_u64(),
        "{refused}"
    );
    let second = app.with_key(limited).await;
    let tasks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let created = ask_modern(&second, "tools/call", &tasks, call).await;
    let id = created["result"]["taskId"].clone();
    for _ in 0..3 {
        let polled = ask_modern(&second, "tasks/get", &tasks, json!({ "taskId": id })).await;
        assert!(polled["result"]["status"].is_string(), "{polled}");
    }
    let refused = ask_modern(&second, "tasks/get", &tasks, json!({ "taskId": id })).await;
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
}
