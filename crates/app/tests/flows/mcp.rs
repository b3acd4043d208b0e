//! Nodes that call an MCP server that others wrote: the SDK's own, on stdio.

use crate::crashes::serve;
use crate::world::{PATIENCE, publish, start, until};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use testkit::{Backend, Database, eventually, on_both_databases};

on_both_databases! {
    a_call_of_an_mcp_server_has_one_key_through_kills_and_retries
}

/// Writes down the params of every call. Its arguments are the folder of the SDK and the file.
const SERVER: &str = r#"
import { appendFileSync } from "node:fs";
const [, sdk, file] = process.argv;
const of = (path) => import(`${sdk}/dist/esm/${path}`);
const { Server } = await of("server/index.js");
const { StdioServerTransport } = await of("server/stdio.js");
const { CallToolRequestSchema, ListToolsRequestSchema } = await of("types.js");
const server = new Server({ name: "work", version: "1" }, { capabilities: { tools: {} } });
const inputSchema = { type: "object", properties: { ms: { type: "integer" } } };
const tools = ["slow", "fails"].map((name) => ({ name, inputSchema }));
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    appendFileSync(file, JSON.stringify(params) + "\n");
    if (params.name === "fails") return { isError: true, content: [{ type: "text", text: "out of stock" }] };
    await new Promise((done) => setTimeout(done, params.arguments.ms));
    return { content: [{ type: "text", text: "done" }] };
});
await server.connect(new StdioServerTransport());
"#;

fn servers() -> PathBuf {
    let folder = std::env::var_os("MCP_TEST_SERVERS");
    folder.expect("MCP_TEST_SERVERS is not set; run the tests with scripts/mcp-servers run CMD").into()
}

fn service(file: &Path) -> Value {
    let modules = servers().join("node_modules");
    json!({
        "type": "mcp", "id": "work", "name": "Work",
        "config": {
            "command": modules.join(".bin/node"),
            "args": ["--input-type=module", "-e", SERVER, modules.join("@modelcontextprotocol/sdk"), file]
        }
    })
}

/// The idempotency keys of the calls of a tool.
fn keys(file: &Path, tool: &str) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let calls = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mine = calls.filter(|call| call["name"] == tool);
    mine.map(|call| call["_meta"]["mcp-all-in-one/idempotencyKey"].as_str().unwrap().to_owned()).collect()
}

/// FL-9, FL-19, FL-20: what was under way when the process was killed is called again under the same key, and so is every attempt;
/// a result with `isError` is a failure, with its text.
async fn a_call_of_an_mcp_server_has_one_key_through_kills_and_retries(backend: Backend) {
    let (folder, database) = (tempfile::tempdir().unwrap(), Database::create(backend).await);
    let file = folder.path().join("calls");
    let mut server = serve(&database, None);
    let (admin, key) = (server.admin(), server.admin_key().unwrap().to_owned());
    admin.post("services", service(&file)).await.is(201);
    let text = "
nodes:
  slow: {exec: 'mcp://work/slow', args: {ms: 4000}, next: fails}
  fails: {exec: 'mcp://work/fails', retry: {attempts: 2, delay: 100, on: any}, fail: lost}
  lost: {with: '[slow, fails.error.code, fails.error.attempts, fails.error.message]'}
output: ${lost}
";
    publish(&admin, &database, "work", text).await;
    let run = start(&admin, "work", json!({})).await;
    eventually("the call is under way", PATIENCE, async || keys(&file, "slow").len() == 1).await;
    server.kill();
    let again = serve(&database, None);
    let ended = until(&again.client(&key), &run, &["succeeded", "failed"]).await;
    let output = &ended["output"];
    assert_eq!(
        (&output[0], &output[1], &output[2]),
        (&json!("done"), &json!("UPSTREAM_ERROR"), &json!(2)),
        "{ended}"
    );
    assert!(output[3].as_str().unwrap().contains("out of stock"), "{ended}");
    assert_eq!(keys(&file, "slow"), vec![format!("{run}:slow"); 2]);
    assert_eq!(keys(&file, "fails"), vec![format!("{run}:fails"); 2]);
}
