//! A connection with as many requests under way as it may have: what is one too many is refused, the rest is read.

use crate::setup::{PATIENCE, example};
use serde_json::{Value, json};
use testkit::mcp::ws;
use testkit::{Backend, TestApp, eventually};
use tokio::time::timeout;

const MAX_PENDING: u64 = 1024;

fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn never(id: u64) -> String {
    request(id, "tools/call", &json!({ "name": "s__never", "arguments": {} }))
}

async fn answer(socket: &mut ws::Client) -> Value {
    let text = timeout(PATIENCE, socket.next()).await.expect("an answer");
    serde_json::from_str(&text).unwrap()
}

/// A gateway with a service that never answers, and a client that has said hello.
async fn client_of_what_never_answers() -> (TestApp, ws::Client) {
    let app = TestApp::start(Backend::Sqlite).await;
    let config = json!({ "command": example("mcp_test_server") });
    app.service(json!({ "type": "mcp", "id": "s", "config": config })).await;
    let there = async || app.tool_names().await.iter().any(|name| name == "s__never");
    eventually("the tools", PATIENCE, there).await;
    let mut socket = ws::Client::connect(&format!("ws://{}/ws", app.address()), app.key().unwrap()).await;
    let hello = json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    socket.send(request(0, "initialize", &hello)).await;
    assert_eq!(answer(&mut socket).await["id"], 0);
    (app, socket)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refuses_the_request_that_is_one_too_many_and_reads_on() {
    let (_app, mut socket) = client_of_what_never_answers().await;
    for id in 1..=MAX_PENDING {
        socket.send(never(id)).await;
    }
    socket.send(never(5000)).await;
    let refused = answer(&mut socket).await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(5000), &json!(-32603)), "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("1024 requests"), "{refused}");
    socket.send(format!("[{},{}]", never(5001), never(5002))).await;
    let refused = answer(&mut socket).await;
    assert_eq!((&refused[0]["id"], &refused[1]["id"]), (&json!(5001), &json!(5002)), "{refused}");
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    socket.send(cancelled.to_string()).await;
    // Its place is free as soon as the call has ended.
    eventually("a place", PATIENCE, async || {
        socket.send(request(6000, "ping", &json!({}))).await;
        answer(&mut socket).await["result"] == json!({})
    })
    .await;
}

/// Each request of a batch takes a place of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_in_batches_are_counted_one_by_one() {
    const BATCH: u64 = 100;
    let (_app, mut socket) = client_of_what_never_answers().await;
    let batch = |number: u64| {
        let calls: Vec<_> = (1..=BATCH).map(|id| never(number * BATCH + id)).collect();
        format!("[{}]", calls.join(","))
    };
    for number in 0..=MAX_PENDING / BATCH {
        socket.send(batch(number)).await;
    }
    let refused = answer(&mut socket).await;
    assert_eq!(refused.as_array().unwrap().len(), 100, "the last one of them is too much");
    assert!(refused[0]["error"]["message"].as_str().unwrap().contains("1024 requests"), "{refused}");
    for id in 1..=MAX_PENDING % BATCH {
        socket.send(never(100_000 + id)).await;
    }
    socket.send(request(6000, "ping", &json!({}))).await;
    assert_eq!(answer(&mut socket).await["error"]["code"], -32603, "no place is left");
}
