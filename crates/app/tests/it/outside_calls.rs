//! What services ask and tell while none of their client's calls runs.

use crate::mcp_older::Events;
use crate::pipe::Pipe;
use crate::setup::{PATIENCE, example, path_with_node, servers};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::client::send_json;
use testkit::{Backend, Client, TestApp};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"t","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const ROOTS_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;

/// The next message for which this holds; others are passed over.
fn wait_for(client: &Pipe, what: &str, is_meant: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let message: Value = serde_json::from_str(&client.next()).unwrap();
        if is_meant(&message) {
            return message;
        }
    }
    panic!("{what} never comes")
}

fn answer_roots(client: &mut Pipe, uri: &str) {
    let asked = wait_for(client, "roots/list", |message| message["method"] == "roots/list");
    let roots = json!({ "roots": [{ "uri": uri, "name": "a" }] });
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": roots }).to_string());
}

/// Waits until the text of a tool says so.
fn until_says(client: &mut Pipe, tool: &str, words: &str) {
    let begun = Instant::now();
    loop {
        let said = client.text(tool, json!({}));
        if said.contains(words) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{tool} does not say '{words}': {said}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_service_asks_for_roots_when_it_starts_and_hears_when_they_change() {
    let services = json!({
        "curious": { "command": example("mcp_test_server"), "args": ["--roots"] },
        "other": { "command": example("mcp_test_server") }
    });
    let mut client = Pipe::start(&services);
    client.send(HELLO);
    wait_for(&client, "the answer to hello", |message| message["id"] == "hello");
    client.send(INITIALIZED);
    answer_roots(&mut client, "file:///first");
    until_says(&mut client, "curious__seen", "file:///first");
    client.send(ROOTS_CHANGED);
    answer_roots(&mut client, "file:///second");
    until_says(&mut client, "curious__seen", "file:///second");
    // Whoever has not asked is not told.
    let said = client.text("other__seen", json!({}));
    assert!(said.contains("initialized") && !said.contains("roots"), "{said}");
}

#[test]
fn a_client_without_roots_is_not_asked_for_them() {
    let services = json!({ "curious": { "command": example("mcp_test_server"), "args": ["--roots"] } });
    let mut client = Pipe::start(&services);
    client.hello("2025-11-25");
    until_says(&mut client, "curious__seen", "-32601");
}

/// The filesystem server of others, started without a folder.
#[test]
fn a_filesystem_server_without_folders_works_on_the_roots_of_the_client() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = path_with_node().to_string_lossy().into_owned();
    let command = servers().join("node_modules/.bin/mcp-server-filesystem");
    let mut client = Pipe::start(&json!({ "files": { "command": command, "env": { "PATH": path } } }));
    client.send(HELLO);
    wait_for(&client, "the answer to hello", |message| message["id"] == "hello");
    client.send(INITIALIZED);
    for folder in [&first, &second] {
        let folder = folder.path().canonicalize().unwrap().to_string_lossy().into_owned();
        answer_roots(&mut client, &format!("file://{folder}"));
        until_says(&mut client, "files__list_allowed_directories", &folder);
        client.send(ROOTS_CHANGED);
    }
}

fn is_log(message: &Value) -> bool {
    message["method"] == "notifications/message"
}

#[test]
fn log_entries_between_calls_reach_the_client_down_to_its_level() {
    let services = json!({ "chatty": { "command": example("mcp_test_server"), "args": ["--chatty"] } });
    let mut client = Pipe::start(&services);
    client.hello("2025-11-25");
    for level in ["debug", "info", "error"] {
        let entry =
            wait_for(&client, level, |message| is_log(message) && message["params"]["level"] == level);
        assert_eq!(entry["params"]["logger"], "chatty", "{entry}");
    }
    client.ask("logging/setLevel", json!({ "level": "error" }));
    // One may have been on its way.
    wait_for(&client, "a log entry", is_log);
    for _ in 0..5 {
        let entry = wait_for(&client, "an error", is_log);
        assert_eq!(entry["params"]["level"], "error", "{entry}");
    }
}

/// The stream of notifications of a client with a handshake.
async fn listen(client: &Client) -> Events {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let post = client.request(Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
    let session = send_json(post, &hello).await.is(200).header("mcp-session-id").unwrap().to_owned();
    let get = client.request(Method::GET, "/mcp").header("accept", "text/event-stream");
    Events::of(get.header("mcp-session-id", session)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_entries_between_calls_reach_those_of_the_tenant_who_may_use_the_service() {
    let app = TestApp::start(Backend::Sqlite).await;
    let acme = app.with_tenant("acme").await;
    let key = json!({ "name": "other", "tenant": "acme", "role": "caller", "allow": ["other__*"] });
    let elsewhere = app.with_key(key).await;
    let (mut ours, mut theirs, mut others) =
        (listen(&acme).await, listen(&app).await, listen(&elsewhere).await);
    let config = json!({ "command": example("mcp_test_server"), "args": ["--chatty"] });
    let service = json!({ "type": "mcp", "id": "chatty", "config": config });
    app.post("services?tenant_id=acme", service).await.is(201);
    let mut heard = 0;
    while heard < 5 {
        heard += usize::from(is_log(&ours.message().await));
    }
    for silent in [&mut theirs, &mut others] {
        let told = tokio::time::timeout(Duration::from_millis(300), silent.message()).await;
        assert!(told.is_err(), "{told:?}");
    }
}
