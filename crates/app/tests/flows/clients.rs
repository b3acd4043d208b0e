//! MCP clients: a flow is a tool, its run outlives the process, and a cancel reaches it.

use crate::crashes::serve;
use crate::world::{PATIENCE, publish, shop, until};
use reqwest::Method;
use serde_json::{Value, json};
use std::path::Path;
use testkit::client::send_json;
use testkit::process::{self, sheltered};
use testkit::{Backend, Client, Database, Reply, TestApp, eventually, http, on_both_databases};

on_both_databases! {
    a_real_client_gets_the_result_of_a_run_that_was_approved_after_a_crash
    a_cancel_over_mcp_cancels_the_run
    a_client_that_waits_hears_of_every_node
}

/// Calls a tool of a server and prints its structured result, in the mode that is asked for.
const CLIENT: &str = r#"
import asyncio, json, sys
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def main(url, key, mode, tool, arguments):
    http = httpx2.AsyncClient(headers={"Authorization": "Bearer " + key}, timeout=60)
    async with Client(streamable_http_client(url, http_client=http), mode=mode, read_timeout_seconds=60) as client:
        listed = [known for known in (await client.list_tools()).tools if known.name == tool]
        assert listed, tool
        result = await client.call_tool(tool, json.loads(arguments))
        assert not result.is_error, result
        print(json.dumps(result.structured_content))

asyncio.run(main(*sys.argv[1:]))
"#;

async fn call(server: &process::Server, key: &str, mode: &str, tool: &str, arguments: Value) -> Value {
    let folder = std::env::var_os("MCP_TEST_SERVERS");
    let folder = folder.expect("MCP_TEST_SERVERS is not set; run the tests with scripts/mcp-servers run CMD");
    let mut client = sheltered(Path::new(&folder).join("venv/bin/python"));
    let url = format!("http://{}/mcp", server.address());
    client.args(["-c", CLIENT, &url, key, mode, tool, &arguments.to_string()]);
    let output = tokio::task::spawn_blocking(move || process::run(&mut client)).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// FL-1, FL-13, FL-14: a client of pip `mcp` calls a flow that asks for an approval and gets its run; the process is killed; after a
/// restart somebody approves over REST, and the client polls the result.
async fn a_real_client_gets_the_result_of_a_run_that_was_approved_after_a_crash(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let mut server = serve(&database, None);
    let (admin, key) = (server.admin(), server.admin_key().unwrap().to_owned());
    admin.post("services", shop(&upstream)).await.is(201);
    let text = "
inputs: {id: string}
returns: {shipped: string}
nodes:
  ok: {approval: 'Ship ${id}?', next: send}
  send: {exec: 'api://shop/ship', args: {id: '${id}'}}
output: {shipped: '${send.body.id}'}
";
    publish(&admin, &database, "ship", text).await;
    let mut runs = Vec::new();
    for mode in ["legacy", "auto"] {
        let started = call(&server, &key, mode, "ship", json!({ "id": mode })).await;
        runs.push((mode, started["run_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned()));
    }
    server.kill();
    let again = serve(&database, None);
    let admin = again.client(&key);
    for (mode, run) in runs {
        let view = until(&admin, &run, &["waiting"]).await;
        let approval = view["waiting_for"][0]["approval_id"].as_str().unwrap().to_owned();
        admin.post(&format!("approvals/{approval}"), json!({ "decision": "approve" })).await.is(200);
        let polled = call(&again, &key, mode, "flow_run", json!({ "run_id": run, "wait_seconds": 20 })).await;
        assert_eq!(polled["output"], json!({ "shipped": mode }), "{polled}");
    }
}

async fn ask(client: &Client, session: Option<&str>, message: &Value) -> Reply {
    let mut request =
        client.request(Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
    if let Some(session) = session {
        request = request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-06-18");
    }
    send_json(request, message).await
}

/// FL-22: `notifications/cancelled` for the call of a flow cancels its run.
async fn a_cancel_over_mcp_cancels_the_run(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    publish(&app, app.database(), "slow", "nodes: {s: {exec: 'api://shop/slow', args: {ms: 60000}}}").await;
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let session = ask(&app, None, &hello).await.is(200).header("mcp-session-id").unwrap().to_owned();
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "slow", "arguments": {} } });
    let calling = tokio::spawn({
        let (client, session) = (app.as_key(app.key().unwrap()), session.clone());
        async move { ask(&client, Some(&session), &call).await }
    });
    eventually("the call is under way", PATIENCE, async || upstream.requests().len() == 1).await;
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    ask(&app, Some(&session), &cancel).await.is(202);
    let run = app.get("runs?flow=slow").await.is(200).items()[0]["id"].as_str().unwrap().to_owned();
    until(&app, &run, &["cancelled"]).await;
    // A cancelled request has no answer; the exchange ends all the same.
    calling.await.unwrap();
}

/// FL-1: a client that waits for a flow is told of every node that ends.
async fn a_client_that_waits_hears_of_every_node(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let text = "
nodes:
  first: {exec: 'api://shop/ship', args: {id: a}, next: second}
  second: {exec: 'api://shop/lost', fail: third}
  third: {exec: 'api://shop/ship', args: {id: b}, with: \"'done'\"}
";
    publish(&app, app.database(), "steps", text).await;
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": { "name": "steps", "arguments": {}, "_meta": { "progressToken": "p" } } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let session = ask(&app, None, &hello).await.is(200).header("mcp-session-id").unwrap().to_owned();
    let reply = ask(&app, Some(&session), &call).await.is(200);
    let told: Vec<Value> = reply
        .text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
        .filter(|message| message["method"] == "notifications/progress")
        .map(|message| json!([message["params"]["progress"], message["params"]["message"]]))
        .collect();
    let told: Vec<_> = told.iter().map(Value::to_string).collect();
    let expected = ["[1,\"first succeeded\"]", "[2,\"second failed\"]", "[3,\"third succeeded\"]"];
    assert_eq!(told, expected, "{}", reply.text);
}
