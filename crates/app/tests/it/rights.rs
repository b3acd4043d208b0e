//! What stays open — WebSockets, streams of events, subscriptions — has the rights that its key has now, and ends with it.

use crate::instances::{Instance, bind, instance};
use crate::mcp_older::Events;
use crate::setup::{PATIENCE, crm};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send_json;
use testkit::mcp::ws;
use testkit::{Backend, Client, Reply, TestApp, http};
use tokio::time::timeout;

const ACCEPT: &str = "application/json, text/event-stream";
const MODERN: &str = "2026-07-28";

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn hello() -> Value {
    let info = json!({ "name": "t", "version": "1" });
    request(
        1,
        "initialize",
        &json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info }),
    )
}

async fn app() -> (TestApp, http::Server) {
    let upstream = http::Server::start().await;
    let app = TestApp::start_with(Backend::Sqlite, |settings| settings.server.serves_sse = true).await;
    app.service(crm(&upstream)).await;
    (app, upstream)
}

async fn key(app: &TestApp) -> (Client, String) {
    let made = app.post("keys", json!({ "name": "ada", "role": "caller" })).await.is(201);
    (app.as_key(made.string("key")), format!("keys/{}", made.string("id")))
}

/// A WebSocket on which hello was said.
async fn socket(app: &TestApp, path: &str, key: &str) -> ws::Client {
    let mut socket = ws::Client::connect(&format!("ws://{}{path}", app.address()), key).await;
    answer(&mut socket, &hello()).await;
    socket
}

/// The answer to a request; notifications are passed over.
async fn answer(socket: &mut ws::Client, request: &Value) -> Value {
    socket.send(request.to_string()).await;
    loop {
        let text = timeout(PATIENCE, socket.next()).await.expect("an answer");
        let message: Value = serde_json::from_str(&text).unwrap();
        if message["id"] == request["id"] {
            return message;
        }
    }
}

fn ping(id: u64) -> Value {
    request(id, "tools/call", &json!({ "name": "crm__ping", "arguments": {} }))
}

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_websocket_has_the_rights_that_its_key_has_now() {
    let (app, _upstream) = app().await;
    let (ada, path) = key(&app).await;
    let mut socket = socket(&app, "/ws", ada.key().unwrap()).await;
    assert_eq!(answer(&mut socket, &ping(2)).await["result"]["isError"], false);
    app.patch(&path, json!({ "allow": ["crm__get_order"] })).await.is(200);
    let listed = answer(&mut socket, &request(3, "tools/list", &json!({}))).await;
    assert_eq!(names(&listed), ["crm__get_order"]);
    assert!(answer(&mut socket, &ping(4)).await["error"].is_object());
    app.patch(&path, json!({ "allow": [], "role": "viewer" })).await.is(200);
    assert!(answer(&mut socket, &ping(5)).await["error"].is_object());
    app.delete(&path).await.is(204);
    let why = timeout(PATIENCE, socket.ended()).await.expect("the connection ends");
    assert!(why.unwrap().contains("not valid any more"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_of_events_has_the_rights_that_its_key_has_now() {
    let (app, _upstream) = app().await;
    let (ada, path) = key(&app).await;
    let mut events = Events::of(ada.request(Method::GET, "/sse").header("accept", "text/event-stream")).await;
    let (_, endpoint) = events.next().await;
    let post = async |message: &Value| send_json(ada.request(Method::POST, &endpoint), message).await.is(202);
    post(&hello()).await;
    assert_eq!(events.message().await["id"], 1);
    app.patch(&path, json!({ "allow": ["crm__get_order"] })).await.is(200);
    post(&request(2, "tools/list", &json!({}))).await;
    let listed = loop {
        let message = events.message().await;
        if message["id"] == 2 {
            break message;
        }
    };
    assert_eq!(names(&listed), ["crm__get_order"]);
    app.patch(&path, json!({ "status": "disabled" })).await.is(200);
    ends(events).await;
}

/// The stream ends; what comes before is passed over.
async fn ends(mut events: Events) {
    let rest = async { while events.next_while_open().await.is_some() {} };
    timeout(PATIENCE, rest).await.expect("the stream ends");
}

/// `GET /mcp` of a session at this door.
async fn listen(client: &Client, door: &str) -> Events {
    let post = client.request(Method::POST, door).header("accept", ACCEPT);
    let session = send_json(post, &hello()).await.is(200).header("mcp-session-id").unwrap().to_owned();
    let get = client.request(Method::GET, door).header("accept", "text/event-stream");
    Events::of(get.header("mcp-session-id", session)).await
}

/// `subscriptions/listen` of a client without a handshake.
async fn subscribe(client: &Client) -> Events {
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" } });
    let params = json!({ "_meta": meta, "notifications": { "toolsListChanged": true } });
    let post = client.request(Method::POST, "/mcp").header("accept", ACCEPT);
    let post = post.header("mcp-protocol-version", MODERN).header("mcp-method", "subscriptions/listen");
    let mut events = Events::of(post.json(&request(7, "subscriptions/listen", &params))).await;
    assert_eq!(events.message().await["method"], "notifications/subscriptions/acknowledged");
    events
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_notifications_end_with_their_key() {
    let (app, _upstream) = app().await;
    for end in [json!(null), json!({ "status": "disabled" }), json!({ "expires_at": "2001-01-01T00:00:00Z" })]
    {
        let (ada, path) = key(&app).await;
        let (mut listening, mut subscribed) = (listen(&ada, "/mcp").await, subscribe(&ada).await);
        // Fewer tools are a change that is told.
        app.patch(&path, json!({ "allow": ["crm__ping"] })).await.is(200);
        for events in [&mut listening, &mut subscribed] {
            assert_eq!(events.message().await["method"], "notifications/tools/list_changed");
        }
        match &end {
            Value::Null => drop(app.delete(&path).await.is(204)),
            change => drop(app.patch(&path, change.clone()).await.is(200)),
        }
        ends(listening).await;
        ends(subscribed).await;
    }
}

/// An instance with one tool.
async fn door(client: &Client) -> Instance {
    let tool = json!({ "name": "ping", "type": "uri", "uri": "api://crm/ping" });
    let tool = client.post("tools", tool).await.is(201).string("id");
    let door = instance(client, "door").await;
    bind(client, &door, &[&tool]).await.is(201);
    door
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doors_of_an_instance_end_with_its_key_and_with_its_owner() {
    let (app, _upstream) = app().await;
    let made = app.post("keys", json!({ "name": "owner", "role": "manager" })).await.is(201);
    let (owner, path) = (app.as_key(made.string("key")), format!("keys/{}", made.string("id")));
    let door = door(&owner).await;
    let open = async |key: String| {
        let at = format!("/mcp/{key}");
        let socket = socket(&app, &format!("{at}/ws"), "").await;
        (socket, listen(&app.as_nobody(), &at).await)
    };
    let over = async |(socket, events): (ws::Client, Events)| {
        assert!(timeout(PATIENCE, socket.ended()).await.expect("the connection ends").is_some());
        ends(events).await;
    };
    let first = open(door.key.clone()).await;
    let rotated: Reply = owner.post(&format!("mcp/id/{}/rotate-key", door.id), json!({})).await.is(200);
    over(first).await;
    let second = open(rotated.string("api_key")).await;
    app.delete(&path).await.is(204);
    over(second).await;
}
