//! Tool search at the doors: two tools instead of all, in every version, with what the caller's list would have.

use crate::instances::{bind, instance, tool};
use crate::setup::{PATIENCE, audited};
use crate::stdio::{Aggregator, service};
use crate::tables::{shop, table};
use futures::StreamExt as _;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send_json;
use testkit::{Backend, Client, Database, TestApp, http, on_both_databases, process};

on_both_databases! {
    finds_and_calls_in_every_version
    a_tenant_and_an_instance_have_their_own_way
    finds_over_rest_what_the_caller_may_use
    refuses_the_reserved_names_and_wrong_settings
    tells_clients_only_when_what_is_listed_changes
}

const ACCEPT: &str = "application/json, text/event-stream";
const VERSIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// A client of one version at one door.
struct Mcp {
    client: Client,
    path: String,
    version: &'static str,
    session: Option<String>,
}

impl Mcp {
    async fn open(client: &Client, path: &str, version: &'static str) -> Self {
        let mut mcp = Self { client: client.clone(), path: path.to_owned(), version, session: None };
        if version != "2026-07-28" {
            let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
            let hello = client.request(Method::POST, path).header("accept", ACCEPT);
            let hello = send_json(hello, &message).await.is(200);
            mcp.session = hello.header("mcp-session-id").map(str::to_owned);
        }
        mcp
    }

    async fn ask(&self, method: &str, mut params: Value) -> Value {
        let mut request = self.client.request(Method::POST, &self.path).header("accept", ACCEPT);
        match &self.session {
            Some(session) => request = request.header("mcp-session-id", session),
            None => {
                params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": self.version,
                    "io.modelcontextprotocol/clientCapabilities": {} });
                request = request.header("mcp-protocol-version", self.version).header("mcp-method", method);
                if let Some(name) = params["name"].as_str() {
                    request = request.header("mcp-name", name);
                }
            }
        }
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        send_json(request, &message).await.body
    }

    async fn names(&self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    async fn call(&self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments })).await
    }

    /// The names that are found, from the text that every version has.
    async fn found(&self, arguments: Value) -> Vec<String> {
        let answer = self.call("find_tools", arguments).await;
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        let answer: Value = serde_json::from_str(text).unwrap();
        answer["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// Three tools over a table.
async fn shop_tools(client: &Client) -> [String; 3] {
    let orders = table(client, shop()).await;
    [
        tool(client, "query_orders", "query_data", &orders, "/orders").await,
        tool(client, "all_orders", "get_all_data", &orders, "/orders").await,
        tool(client, "remove_orders", "delete", &orders, "/orders").await,
    ]
}

/// TS-1, TS-3, TS-4
async fn finds_and_calls_in_every_version(backend: Backend) {
    let app = TestApp::start(backend).await;
    shop_tools(&app).await;
    for version in VERSIONS {
        let all = Mcp::open(&app, "/mcp", version).await;
        assert_eq!(all.names().await, ["all_orders", "query_orders", "remove_orders"]);
        let mcp = Mcp::open(&app, "/mcp?tools=search", version).await;
        assert_eq!(mcp.names().await, ["call_tool", "find_tools"], "{version}");
        assert_eq!(mcp.found(json!({ "query": "query" })).await[0], "query_orders", "{version}");
        let query = json!({ "query": "[0].id" });
        let own = mcp.call("query_orders", query.clone()).await;
        let through = mcp.call("call_tool", json!({ "name": "query_orders", "arguments": query })).await;
        assert_eq!(through["result"], own["result"], "{version}");
        let wrong = mcp.call("call_tool", json!({ "name": "query_orders", "arguments": { "q": 1 } })).await;
        assert_eq!(wrong["result"]["isError"], true, "{wrong}");
        assert_eq!(wrong["result"]["structuredContent"]["inputSchema"]["required"], json!(["query"]));
        assert!(wrong["result"]["content"][0]["text"].as_str().unwrap().contains("inputSchema"));
        let unknown = mcp.call("call_tool", json!({ "name": "query_order" })).await;
        let code = if version == "2026-07-28" { -32602 } else { -32601 };
        assert_eq!(unknown["error"]["code"], code, "{unknown}");
        assert!(unknown["error"]["message"].as_str().unwrap().contains("'query_orders'"), "{unknown}");
    }
    let found = Mcp::open(&app, "/mcp?tools=search", "2025-06-18").await;
    let answer = found.call("find_tools", json!({ "names": ["query_orders"] })).await;
    let mut told = answer["result"]["structuredContent"]["tools"][0].clone();
    assert_eq!(told.as_object_mut().unwrap().remove("service"), Some(json!("tool")));
    let listed = Mcp::open(&app, "/mcp", "2025-06-18").await.ask("tools/list", json!({})).await;
    assert_eq!(told, listed["result"]["tools"][1]);
    let modern = Mcp::open(&app, "/mcp?tools=search", "2026-07-28").await.ask("tools/list", json!({})).await;
    assert_eq!(modern["result"]["cacheScope"], "private", "{modern}");
    assert!(modern["result"]["ttlMs"].is_number(), "{modern}");

    let calls = audited(&app, "tool=query_orders", 15).await;
    let via = calls.iter().filter(|call| call["via"] == "call_tool").count();
    assert_eq!(via, 10, "one record for each call, with how it came");
    let searches = audited(&app, "tool=find_tools", 6).await;
    assert!(searches.iter().any(|search| search["arguments"]["query"] == "query"), "{searches:?}");
}

/// TS-4: arguments that an MCP server refuses are answered with its words and the schema that they must fit, like those that
/// we refuse; the server's own error stands where the tool is called by its name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_refuses_is_told_with_the_schema() {
    let app = TestApp::start(Backend::Sqlite).await;
    let server = testkit::mcp::http::Server::start(Default::default()).await;
    app.service(json!({ "type": "mcp", "id": "s", "config": { "url": server.url() } })).await;
    for version in ["2025-11-25", "2026-07-28"] {
        let mcp = Mcp::open(&app, "/mcp?tools=search", version).await;
        let wrong = json!({ "name": "s__echo", "arguments": { "count": u64::MAX } });
        let told = mcp.call("call_tool", wrong).await["result"].clone();
        assert_eq!(told["isError"], true, "{told}");
        let content = &told["structuredContent"];
        assert!(content["error"].as_str().unwrap().contains("'count' must be an integer"), "{told}");
        assert_eq!(content["inputSchema"]["properties"]["count"]["type"], "integer", "{told}");
        let own = Mcp::open(&app, "/mcp", version).await.call("s__echo", json!({ "count": u64::MAX })).await;
        assert_eq!(own["error"]["code"], -32602, "{own}");
    }
}

/// TS-1, TS-2
async fn a_tenant_and_an_instance_have_their_own_way(backend: Backend) {
    let app = TestApp::start(backend).await;
    let [query, all, _] = shop_tools(&app).await;
    let on = json!({ "tool_search": { "mode": "on", "pinned": ["query_*"] } });
    let changed = app.patch("tenants/default", on.clone()).await.is(200);
    assert_eq!(changed.body["tool_search"], on["tool_search"]);
    let mcp = Mcp::open(&app, "/mcp", "2025-06-18").await;
    assert_eq!(mcp.names().await, ["call_tool", "find_tools", "query_orders"]);
    assert_eq!(Mcp::open(&app, "/mcp?tools=all", "2025-06-18").await.names().await.len(), 3);

    let door = instance(&app, "door").await;
    bind(&app, &door, &[&query, &all]).await.is(201);
    let path = format!("/mcp/{}", door.key);
    let inside = Mcp::open(&app.as_nobody(), &path, "2025-11-25").await;
    assert_eq!(inside.names().await, ["all_orders", "query_orders"], "an instance has its own way");
    let pinned = json!({ "tool_search": { "mode": "on", "pinned": ["all_orders"] } });
    app.patch(&format!("mcp/id/{}", door.id), pinned.clone()).await.is(200);
    assert_eq!(inside.names().await, ["all_orders", "call_tool", "find_tools"]);
    assert_eq!(inside.found(json!({ "service": "tool" })).await, ["all_orders", "query_orders"]);
    let found = inside.found(json!({ "query": "remove orders" })).await;
    assert!(!found.contains(&"remove_orders".to_owned()), "{found:?}");
    let refused = inside.call("call_tool", json!({ "name": "remove_orders", "arguments": {} })).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("not registered"), "{refused}");
    let made = json!({ "name": "other", "tool_search": { "mode": "auto" } });
    let made = app.post("mcp", made).await.is(201);
    assert_eq!(made.body["tool_search"], json!({ "mode": "auto", "pinned": [] }));

    let back = app.patch("tenants/default", json!({ "tool_search": null })).await.is(200);
    assert_eq!(back.body["tool_search"], Value::Null);
    assert_eq!(mcp.names().await.len(), 3);
}

/// TS-2, TS-3
async fn finds_over_rest_what_the_caller_may_use(backend: Backend) {
    let app = TestApp::start(backend).await;
    shop_tools(&app).await;
    let found = app.post("tools/find", json!({ "query": "query orders", "limit": 1 })).await.is(200);
    assert_eq!((&found.body["tools"][0]["name"], &found.body["total"]), (&json!("query_orders"), &json!(3)));
    let ada = app.with_key(json!({ "name": "ada", "role": "caller", "allow": ["all_orders"] })).await;
    let found = ada.post("tools/find", json!({ "query": "query orders" })).await.is(200);
    assert_eq!((&found.body["tools"][0]["name"], &found.body["total"]), (&json!("all_orders"), &json!(1)));
    let services = ada.post("tools/find", json!({})).await.is(200);
    assert_eq!(services.body["services"], json!([{ "service": "tool", "tools": 1, "description": null }]));
    ada.post("tools/find", json!({ "limit": 21 })).await.is_problem(422, "VALIDATION_FAILED");
    ada.post("tools/find", json!({ "what": 1 })).await.is_problem(422, "VALIDATION_FAILED");
    audited(&app, "tool=find_tools", 5).await;
}

/// TS-1
async fn refuses_the_reserved_names_and_wrong_settings(backend: Backend) {
    let app = TestApp::start(backend).await;
    let orders = table(&app, shop()).await;
    for name in ["find_tools", "call_tool"] {
        let tool = json!({ "name": name, "type": "get_all_data", "table_id": orders, "json_path": "" });
        app.post("tools", tool).await.is_problem(422, "VALIDATION_FAILED");
    }
    for wrong in [
        json!({ "mode": "sometimes" }),
        json!({ "mode": "on", "pinned": [""] }),
        json!({ "mode": "on", "pinned": ["a b"] }),
        json!({ "mode": "on", "pinned": vec!["a"; 101] }),
        json!({ "mode": "on", "pins": [] }),
    ] {
        let refused = app.patch("tenants/default", json!({ "tool_search": wrong })).await;
        assert!([400, 422].contains(&refused.status), "{wrong}: {}", refused.text);
    }
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let request = app.request(Method::POST, "/mcp?tools=some").header("accept", ACCEPT);
    send_json(request, &hello).await.is(400);
}

/// TS-6
async fn tells_clients_only_when_what_is_listed_changes(backend: Backend) {
    let app = TestApp::start(backend).await;
    let orders = table(&app, shop()).await;
    tool(&app, "one", "get_all_data", &orders, "").await;
    app.patch("tenants/default", json!({ "tool_search": { "mode": "on", "pinned": ["shown*"] } }))
        .await
        .is(200);
    let mcp = Mcp::open(&app, "/mcp", "2025-06-18").await;
    let request = app.request(Method::GET, "/mcp").header("accept", "text/event-stream");
    let response = request.header("mcp-session-id", mcp.session.as_deref().unwrap()).send().await.unwrap();
    let mut stream = response.bytes_stream();
    tool(&app, "hidden", "get_all_data", &orders, "").await;
    assert_eq!(mcp.found(json!({ "query": "hidden" })).await, ["hidden"], "found at once");
    tool(&app, "shown", "get_all_data", &orders, "").await;
    let first = tokio::time::timeout(PATIENCE, async {
        let mut text = String::new();
        while !text.contains("list_changed") {
            text.push_str(&String::from_utf8_lossy(&stream.next().await.unwrap().unwrap()));
        }
        text
    });
    let text = first.await.unwrap();
    assert_eq!(text.matches("list_changed").count(), 1, "only for the pinned one: {text}");
}

/// TS-1, TS-4: over stdio, with what comes up while the tool runs.
#[test]
fn finds_and_calls_over_stdio() {
    let services = json!({ "test": { "command": service() } });
    let arguments = ["--tool-search", "on", "--pin", "test__pid"];
    let mut client = Aggregator::start_with(services, |command| {
        command.args(arguments);
    });
    client.hello();
    assert_eq!(client.names(), ["call_tool", "find_tools", "test__pid"]);
    let call = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let found = client.ask("tools/call", call("find_tools", json!({ "names": ["test__progress"] })));
    assert_eq!(found["result"]["structuredContent"]["total"], 1, "{found}");
    let mut through = call("call_tool", json!({ "name": "test__progress", "arguments": { "n": 2 } }));
    through["_meta"] = json!({ "progressToken": "t" });
    client.send(&json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": through }).to_string());
    let mut progress = 0;
    loop {
        let message = client.next();
        if message["method"] == "notifications/progress" {
            assert_eq!(message["params"]["progressToken"], "t");
            progress += 1;
        }
        if message["id"] == 9 {
            assert!(message["result"]["content"].is_array(), "{message}");
            break;
        }
    }
    assert!(progress > 0, "progress of the tool that was called through the other");
    let pid = client.ask("tools/call", call("call_tool", json!({ "name": "test__pid" })));
    assert_eq!(
        pid["result"]["content"],
        client.ask("tools/call", call("test__pid", json!({})))["result"]["content"]
    );
}

/// A service with so many tools, each of which has much to say.
fn wordy(upstream: &http::Server, count: usize, length: usize) -> Value {
    let tool = |at: usize| json!({ "id": format!("t{at}"), "endpoint": "/echo", "description": "word ".repeat(length / 5) });
    let tools: Vec<_> = (0..count).map(tool).collect();
    json!({ "type": "api", "id": "wordy", "config": { "base_url": upstream.url() }, "tools": tools })
}

/// TS-1: a door that decides by itself does so by the characters of its list, too; what it finds is measured.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn few_tools_with_many_words_are_found_where_the_door_decides() {
    let (app, upstream) = (TestApp::start(Backend::Sqlite).await, http::Server::start().await);
    app.patch("tenants/default", json!({ "tool_search": { "mode": "auto" } })).await.is(200);
    app.service(wordy(&upstream, 20, 100)).await;
    assert_eq!(Mcp::open(&app, "/mcp", "2025-11-25").await.names().await.len(), 20);
    app.delete("services/api/wordy").await.is(204);
    app.service(wordy(&upstream, 20, 2_100)).await;
    let mcp = Mcp::open(&app, "/mcp", "2025-11-25").await;
    assert_eq!(mcp.names().await, ["call_tool", "find_tools"]);
    assert_eq!(mcp.found(json!({ "names": ["wordy__t7"] })).await, ["wordy__t7"]);
    let metrics = app.get("/metrics").await.is(200).text;
    let count = metrics.lines().find(|line| line.starts_with("mcp_all_in_one_tool_search_seconds_count"));
    assert!(count.is_some_and(|line| line.ends_with(" 1")), "{count:?}");
}

/// TS-1: `serve --tool-search` says how `/mcp` tells of its tools.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_is_told_how_its_door_tells_of_tools() {
    let (database, upstream) = (Database::create(Backend::Sqlite).await, http::Server::start().await);
    let mut command = process::serve(env!("CARGO_BIN_EXE_mcp-all-in-one"), &database, &database.data_dir());
    command.args(["--allow-private-network", "--tool-search", "on"]);
    let server = process::Server::start(command);
    let admin = server.admin();
    admin.post("services", wordy(&upstream, 2, 50)).await.is(201);
    let mcp = Mcp::open(&admin, "/mcp", "2026-07-28").await;
    assert_eq!(mcp.names().await, ["call_tool", "find_tools"]);
    assert_eq!(
        Mcp::open(&admin, "/mcp?tools=all", "2026-07-28").await.names().await,
        ["wordy__t0", "wordy__t1"]
    );
}
