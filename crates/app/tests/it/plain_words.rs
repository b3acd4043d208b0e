//! Messages speak of what their readers wrote: nothing of our types gets out, and nothing of Rust.

use crate::setup::example;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send_json;
use testkit::{Backend, TestApp};

const FOREIGN: [&str; 16] = [
    "struct",
    "enum",
    "variant",
    "serde",
    "Relayed",
    "does not satisfy",
    "sequence",
    "unit value",
    "usize",
    "u16",
    "u32",
    "u64",
    "i64",
    "f64",
    "Option",
    "::",
];

fn check(asked: &str, said: &str) {
    // Its digits are chance, and may spell anything.
    let said = said.split("\"request_id\":").next().unwrap_or_default();
    for word in FOREIGN {
        assert!(!said.contains(word), "{asked} is answered with '{word}': {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_over_rest_are_in_plain_words() {
    let app = TestApp::start(Backend::Sqlite).await;
    let api = |config: Value| json!({ "type": "api", "id": "x", "config": config });
    let auth = |auth_type: Value, auth_config: Value| {
        api(json!({ "base_url": "https://x", "auth_type": auth_type, "auth_config": auth_config }))
    };
    let tool = |http: Value| json!({ "name": "t", "type": "http", "config": http });
    for (path, body) in [
        ("services", json!(7)),
        ("services", json!([])),
        ("services", json!({ "type": 7 })),
        ("services", api(json!("x"))),
        ("services", api(json!([]))),
        ("services", api(json!({ "base_url": {}, "timeout_ms": "x", "retry": 7 }))),
        ("services", auth(json!("nobody"), json!({}))),
        ("services", auth(json!("apikey"), json!(7))),
        ("services", auth(json!("oauth2"), json!({ "token_url": 7 }))),
        (
            "services",
            json!({ "type": "mcp", "id": "x", "config": { "type": "x", "args": 7, "timeout": -1, "pin": 7, "expose": [] } }),
        ),
        (
            "services",
            json!({ "type": "api", "id": "x", "config": { "base_url": "https://x" }, "tools": [{ "id": "a", "endpoint": "/", "parameters": [{ "name": "p", "position": "x", "parameter_type": 7 }] }] }),
        ),
        ("tools", json!({ "name": 7, "type": "x" })),
        ("tools", tool(json!(7))),
        ("tools", tool(json!({ "HTTP": 7 }))),
        ("tools", tool(json!({ "HTTP": { "endpoint": "https://x", "method": "x", "timeout_seconds": -1 } }))),
        ("tools", json!({ "name": "t", "type": "query_data", "table_id": 7, "json_path": 7 })),
        ("keys", json!({ "name": [], "role": "x", "scopes": 7 })),
        ("keys", json!({ "name": "k", "role": 7, "limits": [] })),
        ("mcp", json!({ "name": 7 })),
        ("tables", json!({ "name": 7 })),
        ("call", json!({ "uri": 7 })),
        ("call", json!({ "uri": "api://x/y", "arguments": 7 })),
        ("mcp/tools/call", json!({ "name": {}, "arguments": [] })),
        ("auth/login", json!({ "tenant": 7 })),
    ] {
        let reply = app.post(path, body.clone()).await;
        assert!((400..500).contains(&reply.status), "{path} {body}: {} {}", reply.status, reply.text);
        check(&format!("{path} {body}"), &reply.text);
    }
    for path in ["audit?page=x", "audit?limit=-1", "tools?page={}", "audit?from=x"] {
        let reply = app.get(path).await;
        assert!((400..500).contains(&reply.status), "{path}: {}", reply.text);
        check(path, &reply.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_at_the_mcp_door_are_in_plain_words() {
    let app = TestApp::start(Backend::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let definitions = folder.path().join("tools.json");
    let one_of = json!({ "type": "object", "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] });
    let rules = json!({ "type": "object", "properties": {
        "n": { "type": "number", "exclusiveMinimum": 0, "multipleOf": 2 },
        "list": { "type": "array", "uniqueItems": true, "contains": { "const": 1 } },
        "not": { "not": { "type": "string" } }
    } });
    let tools = json!([
        { "name": "odd", "inputSchema": { "type": "object" } }, { "name": "echo", "inputSchema": one_of },
        { "name": "params", "inputSchema": rules }
    ]);
    std::fs::write(&definitions, tools.to_string()).unwrap();
    let config = json!({ "command": example("mcp_test_server"), "args": ["--definitions", definitions] });
    app.service(json!({ "type": "mcp", "id": "s", "config": config })).await;
    let post = || app.request(Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
    let hello =
        |params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let greeted = send_json(post(), &hello(json!({ "protocolVersion": "2025-06-18" }))).await.is(200);
    let session = greeted.header("mcp-session-id").unwrap().to_owned();
    let call = |name: &str, arguments: Value| ("tools/call", json!({ "name": name, "arguments": arguments }));
    for (method, params) in [
        ("initialize", json!({ "protocolVersion": 7 })),
        ("initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": [] })),
        ("initialize", json!({})),
        ("tools/list", json!({ "cursor": {} })),
        ("tools/list", json!([])),
        ("tools/call", json!({ "name": 7 })),
        ("tools/call", json!({})),
        call("s__echo", json!(7)),
        call("s__echo", json!({})),
        call("s__echo", json!({ "a": 1, "b": 1 })),
        call("s__params", json!({ "n": 0 })),
        call("s__params", json!({ "n": 3 })),
        call("s__params", json!({ "list": [2, 2] })),
        call("s__params", json!({ "not": "x" })),
        call("s__odd", json!({})),
        ("resources/read", json!({ "uri": [] })),
        ("resources/subscribe", json!({ "uri": 7 })),
        ("prompts/get", json!({ "name": {} })),
        ("completion/complete", json!({ "ref": 7, "argument": {} })),
        ("completion/complete", json!({ "ref": { "type": "ref/x" }, "argument": {} })),
        ("logging/setLevel", json!({ "level": 7 })),
        ("tools/list", json!({ "_meta": 7 })),
    ] {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let reply = send_json(post().header("mcp-session-id", &session), &message).await;
        check(&message.to_string(), &reply.text);
    }
    for text in ["7", "[", "{\"jsonrpc\":7}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":{}}", "\u{fffd}"] {
        let reply = testkit::client::send(post().header("mcp-session-id", &session).body(text)).await;
        check(text, &reply.text);
    }
}
