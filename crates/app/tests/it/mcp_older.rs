//! What only older clients do: several messages at once, and HTTP with a stream of events.

use crate::pipe::Pipe;
use crate::setup::{crm, example};
use futures::StreamExt as _;
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::client::send_json;
use testkit::{Backend, Client, Reply, TestApp, http};

const ACCEPT: &str = "application/json, text/event-stream";
const PATIENCE: Duration = Duration::from_secs(20);

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn hello(version: &str) -> Value {
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    request(1, "initialize", &params)
}

async fn session(client: &Client, version: &str) -> String {
    let request = client.request(Method::POST, "/mcp").header("accept", ACCEPT);
    send_json(request, &hello(version)).await.is(200).header("mcp-session-id").unwrap().to_owned()
}

async fn send(client: &Client, session: &str, body: &Value) -> Reply {
    let request = client.request(Method::POST, "/mcp").header("accept", ACCEPT);
    send_json(request.header("mcp-session-id", session), body).await
}

#[tokio::test]
async fn answers_batches_of_2025_03_26_and_of_no_other_version() {
    let upstream = http::Server::start().await;
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(crm(&upstream)).await;
    let batch = json!([
        request(1, "ping", &json!({})),
        { "jsonrpc": "2.0", "method": "notifications/anything" },
        request(2, "tools/call", &json!({ "name": "crm__get_order", "arguments": { "userId": "u1" } })),
        request(3, "no/such", &json!({})),
        { "jsonrpc": "2.0" },
    ]);
    let old = session(&app, "2025-03-26").await;
    let answers = send(&app, &old, &batch).await.is(200).body;
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 4, "{answers:?}");
    assert_eq!((&answers[0]["id"], &answers[0]["result"]), (&json!(1), &json!({})));
    assert_eq!(answers[1]["result"]["structuredContent"]["path"], "/users/u1/orders");
    assert_eq!(answers[2]["error"]["code"], -32601);
    assert_eq!((&answers[3]["id"], &answers[3]["error"]["code"]), (&Value::Null, &json!(-32600)));
    let silent = json!([{ "jsonrpc": "2.0", "method": "notifications/anything" }]);
    assert!(send(&app, &old, &silent).await.is(202).text.is_empty());
    send(&app, &old, &json!([])).await.is(400);
    let many: Vec<_> = (0..101).map(|id| request(id, "ping", &json!({}))).collect();
    send(&app, &old, &json!(many)).await.is(400);
    let new = session(&app, "2025-11-25").await;
    let refused = send(&app, &new, &batch).await.is(400);
    assert!(refused.body["error"]["message"].as_str().unwrap().contains("2025-03-26"), "{}", refused.text);
}

#[test]
fn answers_batches_of_2025_03_26_on_stdio_with_one_line() {
    let mut client = Pipe::start(&json!({ "s": { "command": example("mcp_test_server") } }));
    client.hello("2025-03-26");
    client.names();
    let call = |id, text: &str| {
        request(id, "tools/call", &json!({ "name": "s__slow", "arguments": { "ms": 200, "text": text } }))
    };
    let batch = json!([
        call(100, "one"),
        { "jsonrpc": "2.0", "method": "notifications/anything" },
        request(101, "ping", &json!({})),
        { "jsonrpc": "2.0", "id": "reply to nothing", "result": {} },
        request(102, "no/such", &json!({})),
        hello("2025-03-26"),
        ["2.0", 73, "ping"],
        call(100, "the same id again"),
    ]);
    client.send(&batch.to_string());
    let answers: Value = serde_json::from_str(&client.next()).unwrap();
    let ids: Vec<_> = answers.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
    assert_eq!(json!(ids), json!([100, 101, 102, 1, null, 100]), "{answers}");
    assert_eq!(answers[0]["result"]["content"][0]["text"], "one");
    assert_eq!(answers[1]["result"], json!({}));
    assert_eq!(answers[2]["error"]["code"], -32601);
    for refused in 3..6 {
        assert_eq!(answers[refused]["error"]["code"], -32600, "{answers}");
    }
    // What is taken back gets no answer, and nothing to answer is no line.
    let never = request(7, "tools/call", &json!({ "name": "s__never", "arguments": {} }));
    client.send(&json!([never, request(8, "ping", &json!({}))]).to_string());
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    client.send(&json!([cancel]).to_string());
    assert_eq!(client.next(), r#"[{"jsonrpc":"2.0","id":8,"result":{}}]"#);
    let many: Vec<_> = (0..101).map(|id| request(id, "ping", &json!({}))).collect();
    for (batch, word) in [(json!([]), "1 to 100 messages"), (json!(many), "1 to 100 messages")] {
        client.send(&batch.to_string());
        let refused: Value = serde_json::from_str(&client.next()).unwrap();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)), "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(word), "{refused}");
    }
    client.send("[{]");
    assert!(client.next().contains("-32700"));
    assert_eq!(client.text("s__echo", json!({ "text": "still here" })), "still here");
    client.send(&json!([{ "jsonrpc": "2.0", "method": "exit" }]).to_string());
    assert!(client.end().success());
}

#[test]
fn refuses_batches_of_other_versions_on_stdio() {
    let batch = json!([request(1, "ping", &json!({}))]).to_string();
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut client = Pipe::start(&json!({}));
        client.hello(version);
        for batch in [batch.as_str(), "[]", r#"["2.0",71,"ping"]"#] {
            client.send(batch);
            let refused = client.next();
            assert!(refused.contains("batches are for clients of 2025-03-26"), "{version}: {refused}");
            assert!(refused.contains(r#""id":null"#) && refused.contains("-32600"), "{version}: {refused}");
        }
    }
}

/// The events of a stream, as name and data.
pub(crate) struct Events {
    stream: futures::stream::BoxStream<'static, reqwest::Result<Vec<u8>>>,
    read: String,
}

impl Events {
    async fn open(client: &Client) -> Self {
        Self::of(client.request(Method::GET, "/sse").header("accept", "text/event-stream")).await
    }

    pub(crate) async fn of(request: reqwest::RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        Self::in_response(response)
    }

    pub(crate) fn in_response(response: reqwest::Response) -> Self {
        Self {
            stream: response.bytes_stream().map(|chunk| chunk.map(|bytes| bytes.to_vec())).boxed(),
            read: String::new(),
        }
    }

    pub(crate) async fn next(&mut self) -> (String, String) {
        // Signs of life keep coming, also where the event does not.
        let next = tokio::time::timeout(PATIENCE, self.next_while_open()).await;
        next.expect("an event comes in time").expect("an open stream")
    }

    /// The next event, however long it takes; nothing at the end of the stream.
    pub(crate) async fn next_while_open(&mut self) -> Option<(String, String)> {
        loop {
            if let Some(end) = self.read.find("\n\n") {
                let event: String = self.read.drain(..end + 2).collect();
                let field = |name: &str| {
                    let line = event.lines().find_map(|line| line.strip_prefix(name));
                    line.map(|text| text.trim_start().to_owned()).unwrap_or_default()
                };
                let (name, data) = (field("event:"), field("data:"));
                if !data.is_empty() {
                    return Some((name, data));
                }
                continue;
            }
            let chunk = self.stream.next().await?.ok()?;
            self.read.push_str(&String::from_utf8_lossy(&chunk));
        }
    }

    pub(crate) async fn message(&mut self) -> Value {
        let (name, data) = self.next().await;
        assert_eq!(name, "message");
        serde_json::from_str(&data).unwrap()
    }
}

#[tokio::test]
async fn serves_clients_of_2024_11_05_over_a_stream_of_events_where_asked_to() {
    let upstream = http::Server::start().await;
    let app = TestApp::start_with(Backend::Sqlite, |settings| settings.server.serves_sse = true).await;
    app.service(crm(&upstream)).await;
    let mut events = Events::open(&app).await;
    let (name, endpoint) = events.next().await;
    assert!(name == "endpoint" && endpoint.starts_with("/messages?session="), "{name} {endpoint}");
    let post = async |client: &Client, message: &Value| {
        send_json(client.request(Method::POST, &endpoint), message).await
    };
    post(&app, &hello("2024-11-05")).await.is(202);
    let hello = events.message().await;
    assert_eq!(hello["result"]["protocolVersion"], "2024-11-05");
    let call = json!({ "name": "crm__get_order", "arguments": { "userId": "u1" } });
    post(&app, &request(2, "tools/call", &call)).await.is(202);
    let called = events.message().await;
    assert_eq!((&called["id"], &called["result"]["isError"]), (&json!(2), &json!(false)), "{called}");
    app.delete("services/api/crm").await.is(204);
    assert_eq!(events.message().await["method"], "notifications/tools/list_changed");

    let stranger = app.with_key(json!({ "name": "other", "role": "caller" })).await;
    post(&stranger, &request(3, "ping", &json!({}))).await.is(404);
    drop(events);
    let gone = async { while post(&app, &request(4, "ping", &json!({}))).await.status != 404 {} };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
}

#[tokio::test]
async fn has_no_stream_of_the_older_kind_unless_asked_for() {
    let app = TestApp::start(Backend::Sqlite).await;
    let request = app.request(Method::GET, "/sse").header("accept", "text/event-stream");
    assert_eq!(request.send().await.unwrap().status(), 404);
}
