//! One loop behind every transport: what a batch carries, and what a subscription is told, is the same on each.

use crate::binary::serve;
use crate::mcp_older::Events;
use crate::pipe::Pipe;
use crate::setup::{PATIENCE, example};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::client::send_json;
use testkit::mcp::ws;
use testkit::process::Server;
use testkit::{Backend, Client, Database};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const ACCEPT: &str = "application/json, text/event-stream";
const WATCHED: &str = "test://watched-resource";
const MODERN: &str = "2026-07-28";

fn services() -> Value {
    let fixture = json!({ "command": example("conformance_server"), "args": ["stdio", "legacy"], "protocolVersion": "2025-11-25" });
    json!({ "fixture": fixture, "s": { "command": example("mcp_test_server") } })
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn call(id: u64, tool: &str) -> Value {
    request(id, "tools/call", &json!({ "name": tool, "arguments": { "message": "who?" } }))
}

fn cancel(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })
}

fn accept(question: &Value) -> Value {
    let result = json!({ "action": "accept", "content": { "username": "Ada", "email": "ada@example.com" } });
    json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })
}

fn hello() -> Value {
    let info = json!({ "name": "t", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-03-26", "capabilities": { "elicitation": {} }, "clientInfo": info });
    request(1, "initialize", &params)
}

/// The gateway over HTTP, with every transport that it has there.
struct Gateway {
    admin: Client,
    _server: Server,
    _database: Database,
}

impl Gateway {
    async fn start() -> Self {
        let database = Database::create(Backend::Sqlite).await;
        std::fs::create_dir_all(database.data_dir()).unwrap();
        let config = database.data_dir().join("mcp.json");
        std::fs::write(&config, json!({ "mcpServers": services() }).to_string()).unwrap();
        let mut command = serve(&database);
        command.arg("--legacy-sse").arg("--mcp-config").arg(&config);
        let server = Server::start(command);
        let admin = server.admin();
        let is_there = async |tool: &str| admin.tool_names().await.iter().any(|name| name == tool);
        testkit::eventually("the services", PATIENCE, async || {
            is_there("s__echo").await && is_there("fixture__greet").await
        })
        .await;
        Self { admin, _server: server, _database: database }
    }
}

/// A client's end of a transport: messages as they are, both ways.
struct Wire {
    name: &'static str,
    outgoing: UnboundedSender<Value>,
    incoming: UnboundedReceiver<Value>,
}

impl Wire {
    fn of(name: &'static str) -> (Self, UnboundedReceiver<Value>, UnboundedSender<Value>) {
        let ((outgoing, sent), (arrived, incoming)) = (unbounded_channel(), unbounded_channel());
        (Self { name, outgoing, incoming }, sent, arrived)
    }

    fn stdio() -> Self {
        let (wire, mut sent, arrived) = Self::of("stdio");
        std::thread::spawn(move || {
            let mut pipe = Pipe::start(&services());
            loop {
                match sent.try_recv() {
                    Ok(message) => pipe.send(&message.to_string()),
                    Err(tokio::sync::mpsc::error::TryRecvError::Empty) => {}
                    Err(tokio::sync::mpsc::error::TryRecvError::Disconnected) => return,
                }
                if let Some(line) = pipe.next_within(Duration::from_millis(5)) {
                    let _ = arrived.send(serde_json::from_str(&line).unwrap());
                }
            }
        });
        wire
    }

    async fn websocket(gateway: &Gateway) -> Self {
        let (wire, mut sent, arrived) = Self::of("websocket");
        let url = format!("ws://{}/ws", gateway.admin.address());
        let mut socket = ws::Client::connect(&url, gateway.admin.key().unwrap()).await;
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    message = sent.recv() => match message {
                        Some(message) => socket.send(message.to_string()).await,
                        None => return,
                    },
                    text = socket.next() => {
                        let _ = arrived.send(serde_json::from_str(&text).unwrap());
                    }
                }
            }
        });
        wire
    }

    async fn sse(gateway: &Gateway) -> Self {
        let (wire, mut sent, arrived) = Self::of("sse");
        let client = gateway.admin.clone();
        let stream = client.request(Method::GET, "/sse").header("accept", "text/event-stream");
        let mut events = Events::of(stream).await;
        let (_, endpoint) = events.next().await;
        forward(events, arrived);
        tokio::spawn(async move {
            while let Some(message) = sent.recv().await {
                send_json(client.request(Method::POST, &endpoint), &message).await.is(202);
            }
        });
        wire
    }

    /// Each message in a POST of its own; with a session there is a stream for what comes unasked, too.
    fn http(gateway: &Gateway, session: Option<String>) -> Self {
        let (wire, mut sent, arrived) = Self::of("http");
        let client = gateway.admin.clone();
        if let Some(session) = &session {
            let stream = client.request(Method::GET, "/mcp").header("accept", "text/event-stream");
            let (stream, arrived) = (stream.header("mcp-session-id", session), arrived.clone());
            tokio::spawn(async move { forward(Events::of(stream).await, arrived) });
        }
        tokio::spawn(async move {
            while let Some(message) = sent.recv().await {
                let post = client.request(Method::POST, "/mcp").header("accept", ACCEPT).json(&message);
                let post = match &session {
                    Some(session) => post.header("mcp-session-id", session),
                    None => post
                        .header("mcp-protocol-version", MODERN)
                        .header("mcp-method", message["method"].as_str().unwrap()),
                };
                tokio::spawn(receive(post, arrived.clone()));
            }
        });
        wire
    }

    async fn http_session(gateway: &Gateway) -> Self {
        let post = gateway.admin.request(Method::POST, "/mcp").header("accept", ACCEPT);
        let session = send_json(post, &hello()).await.is(200).header("mcp-session-id").unwrap().to_owned();
        Self::http(gateway, Some(session))
    }

    /// A client of 2025-03-26 on every transport, after its handshake.
    async fn all_with_handshake(gateway: &Gateway) -> Vec<Self> {
        let mut wires = vec![Self::stdio(), Self::websocket(gateway).await, Self::sse(gateway).await];
        for wire in &mut wires {
            wire.send(hello());
            wire.next("hello", |message| message["id"] == 1).await;
            wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
            // The list waits for services that are still starting.
            wire.send(request(2, "tools/list", &json!({})));
            wire.next("the list", |message| message["id"] == 2).await;
        }
        wires.push(Self::http_session(gateway).await);
        wires
    }

    /// A client of 2026-07-28 on every transport.
    async fn all_without_handshake(gateway: &Gateway) -> Vec<Self> {
        let connections = [Self::stdio(), Self::websocket(gateway).await, Self::sse(gateway).await];
        connections.into_iter().chain([Self::http(gateway, None)]).collect()
    }

    fn send(&self, message: Value) {
        self.outgoing.send(message).unwrap();
    }

    /// The next message for which this holds; others are passed over.
    async fn next(&mut self, what: &str, is_meant: impl Fn(&Value) -> bool) -> Value {
        let name = self.name;
        let arrives = async {
            loop {
                let message = self.incoming.recv().await.unwrap_or_else(|| panic!("{name} has ended"));
                if is_meant(&message) {
                    return message;
                }
            }
        };
        let arrives = tokio::time::timeout(PATIENCE, arrives);
        arrives.await.unwrap_or_else(|_| panic!("{name}: {what} never comes"))
    }

    /// Sends a batch, and waits for the ids in its response.
    async fn batch(&mut self, messages: Value) -> Value {
        self.send(messages);
        self.next("the response to the batch", Value::is_array).await
    }

    fn is_silent(&mut self) -> bool {
        self.incoming.try_recv().is_err()
    }
}

fn ids(batch: &Value) -> Vec<u64> {
    batch.as_array().unwrap().iter().map(|response| response["id"].as_u64().unwrap()).collect()
}

fn forward(mut events: Events, arrived: UnboundedSender<Value>) {
    tokio::spawn(async move {
        while let Some((_, data)) = events.next_while_open().await {
            let _ = arrived.send(serde_json::from_str(&data).unwrap());
        }
    });
}

/// Reads what a POST is answered with: one message, or a stream of them.
async fn receive(post: reqwest::RequestBuilder, arrived: UnboundedSender<Value>) {
    let Ok(response) = post.send().await else { return };
    let is_stream = response.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream");
    if is_stream {
        return forward(Events::in_response(response), arrived);
    }
    let text = response.text().await.unwrap();
    if !text.is_empty() {
        let _ = arrived.send(serde_json::from_str(&text).unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_in_a_batch_takes_the_request_back_on_every_transport() {
    let gateway = Gateway::start().await;
    for wire in &mut Wire::all_with_handshake(&gateway).await {
        wire.send(call(100, "s__never"));
        tokio::time::sleep(Duration::from_millis(400)).await;
        let answers = wire.batch(json!([cancel(100), request(101, "ping", &json!({}))])).await;
        assert_eq!(ids(&answers), [101], "{}: {answers}", wire.name);
        let told = async {
            loop {
                wire.send(call(102, "s__seen"));
                let seen = wire.next("what the service has seen", |message| message["id"] == 102).await;
                if seen.to_string().contains("notifications/cancelled") {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, told).await.expect("the service is told of the cancel");
        // What is taken back in the batch that asks for it needs no response.
        let answers =
            wire.batch(json!([call(103, "s__never"), request(104, "ping", &json!({})), cancel(103)])).await;
        assert_eq!(ids(&answers), [104], "{}: {answers}", wire.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_twice_and_a_meta_that_is_none_are_refused_on_every_transport() {
    let gateway = Gateway::start().await;
    for wire in &mut Wire::all_with_handshake(&gateway).await {
        let twice = wire.batch(json!([call(100, "s__echo"), call(100, "s__echo")])).await;
        assert!(twice[0]["result"].is_object(), "{}: {twice}", wire.name);
        assert_eq!(twice[1]["error"]["code"], -32600, "{}: {twice}", wire.name);
        wire.send(request(101, "tools/list", &json!({ "_meta": 5 })));
        let refused = wire.next("the refusal", |message| message["id"] == 101).await;
        assert_eq!(refused["error"]["code"], -32602, "{}: {refused}", wire.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_and_their_answers_go_with_batches_on_every_transport() {
    let gateway = Gateway::start().await;
    for wire in &mut Wire::all_with_handshake(&gateway).await {
        let is_question = |message: &Value| message["method"] == "elicitation/create";
        wire.send(call(100, "fixture__test_elicitation"));
        let question = wire.next("the question", is_question).await;
        wire.send(json!([accept(&question), request(101, "ping", &json!({}))]));
        let (mut called, mut answers) = (None, None);
        while called.is_none() || answers.is_none() {
            let message =
                wire.next("the responses", |message| message.is_array() || message["id"] == 100).await;
            if message.is_array() { answers = Some(message) } else { called = Some(message) }
        }
        assert!(called.unwrap().to_string().contains("Ada"), "{}", wire.name);
        assert_eq!(ids(&answers.unwrap()), [101]);

        wire.send(json!([call(102, "fixture__test_elicitation"), request(103, "ping", &json!({}))]));
        let question = wire.next("the question of the batch", is_question).await;
        wire.send(accept(&question));
        let answers = wire.next("the response to the batch", Value::is_array).await;
        assert_eq!(ids(&answers), [102, 103], "{}: {answers}", wire.name);
        assert!(answers[0].to_string().contains("Ada"), "{}: {answers}", wire.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_level_set_in_a_batch_is_kept_on_every_transport() {
    let gateway = Gateway::start().await;
    for wire in &mut Wire::all_with_handshake(&gateway).await {
        for (level, is_heard) in [("emergency", false), ("debug", true)] {
            let set = request(100, "logging/setLevel", &json!({ "level": level }));
            assert_eq!(wire.batch(json!([set])).await[0]["result"], json!({}));
            wire.send(call(101, "fixture__test_tool_with_logging"));
            let is_log = |message: &Value| message["method"] == "notifications/message";
            let first = wire.next("a message", |message| is_log(message) || message["id"] == 101).await;
            assert_eq!(is_log(&first), is_heard, "{} at {level}: {first}", wire.name);
            if is_heard {
                wire.next("the response", |message| message["id"] == 101).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_in_a_batch_is_kept_on_every_transport() {
    let gateway = Gateway::start().await;
    for wire in &mut Wire::all_with_handshake(&gateway).await {
        let subscribe = request(100, "resources/subscribe", &json!({ "uri": WATCHED }));
        let missing = request(101, "resources/subscribe", &json!({ "uri": "nowhere://nothing" }));
        let answers = wire.batch(json!([subscribe, missing])).await;
        assert_eq!(answers[0]["result"], json!({}), "{}: {answers}", wire.name);
        assert_eq!(answers[1]["error"]["code"], -32602, "{}: {answers}", wire.name);
        wire.send(call(102, "fixture__test_trigger_resource_update"));
        let is_update = |message: &Value| message["method"] == "notifications/resources/updated";
        let told = wire.next("the update", is_update).await;
        assert_eq!(told["params"]["uri"], WATCHED);
        let unsubscribe = request(103, "resources/unsubscribe", &json!({ "uri": WATCHED }));
        assert_eq!(wire.batch(json!([unsubscribe])).await[0]["result"], json!({}));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_no_place_in_a_batch_is_refused_on_every_transport() {
    let gateway = Gateway::start().await;
    for wire in &mut Wire::all_with_handshake(&gateway).await {
        let modern = request(101, "tools/list", &json!({ "_meta": meta() }));
        let answers = wire.batch(json!([hello(), modern, request(102, "ping", &json!({}))])).await;
        assert_eq!(ids(&answers), [1, 101, 102], "{}: {answers}", wire.name);
        for (place, words) in [(0, "'initialize' cannot be part of a batch"), (1, "clients of 2025-03-26")] {
            let message = answers[place]["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains(words), "{}: {answers}", wire.name);
        }
        assert_eq!(answers[2]["result"], json!({}));
        assert!(wire.is_silent(), "{}", wire.name);
    }
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn listen(id: u64, uris: &[String]) -> Value {
    let params = json!({ "_meta": meta(), "notifications": { "resourceSubscriptions": uris } });
    request(id, "subscriptions/listen", &params)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listens_to_what_exists_and_refuses_too_much_aloud_on_every_transport() {
    let gateway = Gateway::start().await;
    for wire in &mut Wire::all_without_handshake(&gateway).await {
        let many: Vec<_> = (0..1001).map(|number| format!("test://{number}")).collect();
        wire.send(listen(1, &many));
        let refused =
            wire.next("a refusal", |message| message["id"] == 1 || message["params"].is_object()).await;
        assert_eq!(refused["error"]["code"], -32602, "{}: {refused}", wire.name);
        let message = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("at most 1000 resources"), "{}: {refused}", wire.name);

        wire.send(listen(2, &[WATCHED.to_owned(), "nowhere://nothing".to_owned()]));
        let is_acknowledged =
            |message: &Value| message["method"] == "notifications/subscriptions/acknowledged";
        let acknowledged = wire.next("the acknowledgement", is_acknowledged).await;
        let uris = &acknowledged["params"]["notifications"]["resourceSubscriptions"];
        assert_eq!(uris, &json!([WATCHED]), "{}: {acknowledged}", wire.name);
    }
}
