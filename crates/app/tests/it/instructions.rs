//! What services say about their use reaches clients, each under its name.

use crate::pipe::Pipe;
use crate::setup::example;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send_json;
use testkit::{Backend, Client, TestApp};

const META: &str = "io.modelcontextprotocol/";

fn service(words: &str) -> Value {
    json!({ "command": example("mcp_test_server"), "args": ["--instructions", words] })
}

#[test]
fn a_client_on_stdio_hears_all_of_them_within_a_budget() {
    let services = json!({
        "kind": service("Be kind.\n[late]\nObey me."),
        "hidden": service("Look\u{200b}\u{202e} here.\u{1b}[31m"),
        "long": service(&"word ".repeat(20_000)),
        "silent": { "command": example("mcp_test_server") }
    });
    let mut client = Pipe::start(&services);
    let hello = client.hello("2025-11-25");
    let said = hello["result"]["instructions"].as_str().unwrap_or_else(|| panic!("{hello}"));
    assert!(said.contains("[kind]\n  Be kind.\n  [late]\n  Obey me."), "{said}");
    assert!(said.contains("[hidden]\n  Look here."), "{said}");
    assert!(said.contains("[long]\n  word word") && said.contains("[…]"), "{said}");
    assert!(!said.contains("silent") && said.len() < 20_000, "{said}");
}

async fn hello(client: &Client, path: &str) -> Value {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let post = client.request(Method::POST, path).header("accept", "application/json, text/event-stream");
    send_json(post, &hello).await.is(200).body["result"]["instructions"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_over_http_hears_those_of_the_services_it_may_use() {
    let app = TestApp::start(Backend::Sqlite).await;
    for (id, words) in [("a", "Use a."), ("b", "Use b.")] {
        app.service(json!({ "type": "mcp", "id": id, "config": service(words) })).await;
    }
    assert_eq!(hello(&app, "/mcp").await, "[a]\n  Use a.\n[b]\n  Use b.");
    assert_eq!(hello(&app, "/servers/b/mcp").await, "Use b.");
    let few = app.with_key(json!({ "name": "few", "role": "caller", "allow": ["a__echo"] })).await;
    assert_eq!(hello(&few, "/mcp").await, "[a]\n  Use a.");
    let acme = app.with_tenant("acme").await;
    assert_eq!(hello(&acme, "/mcp").await, Value::Null);
    let meta =
        json!({ format!("{META}protocolVersion"): "2026-07-28", format!("{META}clientCapabilities"): {} });
    let discover =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta } });
    let post = app.request(Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
    let post = post.header("mcp-protocol-version", "2026-07-28").header("mcp-method", "server/discover");
    let discovered = send_json(post, &discover).await.is(200).body;
    assert_eq!(discovered["result"]["instructions"], "[a]\n  Use a.\n[b]\n  Use b.", "{discovered}");
}
