//! The tenant's MCP door over HTTP, as a strict client meets it.

use crate::setup::{PATIENCE, audited, crm};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::{send, send_json};
use testkit::{Backend, Client, Reply, TestApp, http, mcp, on_both_databases};

on_both_databases! {
    lists_and_calls_tools_after_the_handshake
    any_replica_serves_any_session
}

const ACCEPT: &str = "application/json, text/event-stream";

/// A client that has said hello, in one version.
struct Session {
    client: Client,
    id: String,
}

impl Session {
    async fn open(client: &Client, version: &str) -> Self {
        let hello = hello(client, version).await.is(200);
        assert_eq!(hello.body["result"]["serverInfo"]["name"], "mcp-all-in-one");
        let id = hello.header("mcp-session-id").unwrap().to_owned();
        let session = Self { client: client.clone(), id };
        let told =
            session.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await.is(202);
        assert!(told.text.is_empty());
        session
    }

    async fn send(&self, message: Value) -> Reply {
        let request = self.client.request(Method::POST, "/mcp").header("accept", ACCEPT);
        send_json(request.header("mcp-session-id", &self.id), &message).await
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let reply = self.send(message).await.is(200);
        assert_eq!(reply.body["id"], 7);
        reply.body
    }
}

async fn hello(client: &Client, version: &str) -> Reply {
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    send_json(client.request(Method::POST, "/mcp").header("accept", ACCEPT), &message).await
}

/// HT-4.1, HT-4.2, HT-5.1, HT-5.4, HT-5.5
async fn lists_and_calls_tools_after_the_handshake(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = Session::open(&app, version).await;
        let listed = session.ask("tools/list", json!({})).await;
        let names: Vec<_> =
            listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["crm__fail", "crm__get_order", "crm__ping", "crm__slow"]);
        let called = session
            .ask("tools/call", json!({ "name": "crm__get_order", "arguments": { "userId": "u1" } }))
            .await;
        assert_eq!(called["result"]["structuredContent"]["path"], "/users/u1/orders");
        let failed = session.ask("tools/call", json!({ "name": "crm__fail" })).await;
        assert_eq!(failed["result"]["isError"], true);
        assert_eq!(session.ask("ping", json!({})).await["result"], json!({}));
    }
}

#[tokio::test]
async fn tells_errors_as_each_version_wants_them() {
    let upstream = http::Server::start().await;
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(crm(&upstream)).await;
    let old = Session::open(&app, "2025-06-18").await;
    let missing = old.ask("tools/call", json!({ "name": "crm__get_order", "arguments": {} })).await;
    assert_eq!(missing["error"]["code"], -32602);
    assert_eq!(missing["error"]["message"], "Invalid params: Missing required parameter 'userId'");
    assert_eq!(missing["error"]["data"], json!({ "parameter": "userId" }));
    let unknown = old.ask("tools/call", json!({ "name": "nope" })).await;
    assert_eq!(
        (&unknown["error"]["code"], &unknown["error"]["message"]),
        (&json!(-32601), &json!("Tool 'nope' not found"))
    );
    let method = old.ask("invalid/method", json!({})).await;
    assert_eq!(method["error"], json!({ "code": -32601, "message": "Method 'invalid/method' not found" }));

    let new = Session::open(&app, "2025-11-25").await;
    let missing = new.ask("tools/call", json!({ "name": "crm__get_order", "arguments": {} })).await;
    assert_eq!(missing["result"]["isError"], true);
    assert!(upstream.requests().is_empty());
}

/// HT-4.5
#[tokio::test]
async fn pages_the_list_with_cursors_that_survive_changes() {
    let app = TestApp::start(Backend::Sqlite).await;
    let tools = |count: usize| -> Vec<Value> {
        (0..count)
            .map(|n| json!({ "id": format!("t{n:04}"), "endpoint": "/x", "description": "d" }))
            .collect()
    };
    let service = |id: &str, count: usize| json!({ "type": "api", "id": id, "config": { "base_url": "http://127.0.0.1:9" }, "tools": tools(count) });
    app.service(service("a", 1200)).await;
    app.service(service("b", 3)).await;
    let session = Session::open(&app, "2025-11-25").await;
    let first = session.ask("tools/list", json!({})).await;
    assert_eq!(first["result"]["tools"].as_array().unwrap().len(), 1000);
    let cursor = first["result"]["nextCursor"].as_str().unwrap();
    app.delete("services/api/b").await.is(204);
    let second = session.ask("tools/list", json!({ "cursor": cursor })).await;
    let names: Vec<_> =
        second["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!((names.len(), &names[0]), (200, &json!("a__t1000")));
    assert!(second["result"].get("nextCursor").is_none());
    let invalid = session.ask("tools/list", json!({ "cursor": "bogus" })).await;
    assert_eq!(invalid["error"]["code"], -32602);
}

/// HD-7
#[tokio::test]
async fn answers_strict_clients_as_the_protocol_says() {
    let app = TestApp::start(Backend::Sqlite).await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let post = || app.request(Method::POST, "/mcp").header("accept", ACCEPT);

    send_json(app.as_nobody().request(Method::POST, "/mcp").header("accept", ACCEPT), &ping).await.is(401);
    send_json(app.request(Method::POST, "/mcp").header("accept", "application/json"), &ping).await.is(406);
    send_json(post().header("origin", "https://evil.example"), &ping).await.is(403);
    let missing = send_json(post(), &ping).await.is(400);
    assert!(missing.body["error"]["message"].as_str().unwrap().contains("Mcp-Session-Id is missing"));
    send_json(post().header("mcp-session-id", "garbage"), &ping).await.is(404);
    assert_eq!(send(post().body("{")).await.is(400).body["error"]["code"], -32700);
    assert_eq!(send(post().body("[]")).await.is(400).body["error"]["code"], -32600);
    let large = send(post().body(vec![b'x'; 17 << 20])).await.is(413);
    assert_eq!(large.body["error"]["code"], -32600);
    assert!(large.text.contains("at most 16777216 bytes"), "{}", large.text);
    let nameless = send(post().body(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#)).await.is(400);
    assert_eq!(nameless.body["error"]["code"], -32600);
    let get = || app.request(Method::GET, "/mcp").header("accept", "text/event-stream");
    send(get()).await.is(400);
    send(get().header("mcp-session-id", "garbage")).await.is(404);
    send(app.request(Method::GET, "/mcp").header("accept", "application/json")).await.is(406);
    app.delete("/mcp").await.is(405);

    let session = Session::open(&app, "2025-06-18").await;
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    for message in [&ping, &told, &json!([ping])] {
        let wrong = post().header("mcp-session-id", &session.id).header("mcp-protocol-version", "1999-01-01");
        let wrong = send_json(wrong, message).await.is(400);
        assert_eq!(wrong.body["error"]["code"], -32022, "{}", wrong.text);
        assert_eq!(wrong.body["error"]["data"]["supported"][0], "2026-07-28");
    }
    let wrong = get().header("mcp-session-id", &session.id).header("mcp-protocol-version", "1999-01-01");
    assert_eq!(send(wrong).await.is(400).body["error"]["code"], -32022);
    let other = app.with_tenant("acme").await;
    let stolen =
        other.request(Method::POST, "/mcp").header("accept", ACCEPT).header("mcp-session-id", &session.id);
    send_json(stolen, &ping).await.is(404);
    let modern = hello(&app, "2026-07-28").await.is(200);
    assert_eq!(modern.body["result"]["protocolVersion"], "2025-11-25");
}

/// Changes reach connected clients at once, and only those whose list they change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tells_connected_clients_that_their_tools_have_changed() {
    let upstream = http::Server::start().await;
    let app = TestApp::start(Backend::Sqlite).await;
    let listen = async |client: &Client| {
        let session = Session::open(client, "2025-06-18").await;
        let request = client.request(Method::GET, "/mcp").header("accept", "text/event-stream");
        let response = request.header("mcp-session-id", session.id).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response
    };
    let stranger = app.with_tenant("acme").await;
    let mut mine = listen(&app).await;
    let mut theirs = listen(&stranger).await;
    app.service(crm(&upstream)).await;
    let event = tokio::time::timeout(PATIENCE, mine.chunk()).await.unwrap().unwrap().unwrap();
    let event = String::from_utf8(event.to_vec()).unwrap();
    assert!(event.contains("notifications/tools/list_changed"), "{event}");
    let silence = tokio::time::timeout(std::time::Duration::from_millis(300), theirs.chunk()).await;
    assert!(silence.is_err(), "another tenant's change is none of their business");
    app.stop().await;
    assert!(matches!(tokio::time::timeout(PATIENCE, theirs.chunk()).await.unwrap(), Ok(None) | Err(_)));
}

async fn any_replica_serves_any_session(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let replica = app.replica("second").await;
    let mut session = Session::open(&app, "2025-06-18").await;
    session.client = app.at(replica.address());
    testkit::eventually("the replica lists the tools", PATIENCE, async || {
        let listed = session.ask("tools/list", json!({})).await;
        listed["result"]["tools"].as_array().unwrap().len() == 4
    })
    .await;
}

/// What one session wants to hear is nothing to the others.
#[tokio::test]
async fn a_session_hears_logs_down_to_the_level_that_it_set() {
    let streaming = mcp::http::Behaviour { is_streaming: true, ..Default::default() };
    let server = mcp::http::Server::start(streaming).await;
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(json!({ "type": "mcp", "id": "s", "config": { "url": server.url() } })).await;
    let (loud, quiet) = (Session::open(&app, "2025-06-18").await, Session::open(&app, "2025-06-18").await);
    let called = async |session: &Session| {
        let params = json!({ "name": "s__echo", "arguments": { "text": "x" } });
        let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        session.send(call).await.is(200).text
    };
    assert!(called(&quiet).await.contains("notifications/message"));
    assert_eq!(quiet.ask("logging/setLevel", json!({ "level": "warning" })).await["result"], json!({}));
    let answer = called(&quiet).await;
    assert!(!answer.contains("notifications/message") && answer.contains("\"id\":7"), "{answer}");
    assert!(called(&loud).await.contains("notifications/message"));
}

/// The header names what the body calls, whatever else stands in the body: otherwise what looks at headers alone would be
/// passed by.
#[tokio::test]
async fn the_header_and_the_body_name_the_same_whatever_stands_beside_it() {
    let upstream = http::Server::start().await;
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(crm(&upstream)).await;
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let ask = async |method: &str, name: Option<&str>, params: &str| {
        let mut request = app.request(Method::POST, "/mcp").header("accept", ACCEPT);
        request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{meta},{params}}}}}"#);
        send(request.header("content-type", "application/json").body(body)).await
    };
    for (method, name, params, code) in [
        ("tools/call", Some("crm__fail"), r#""name":"crm__ping","uri":5"#, -32020),
        ("tools/call", None, r#""name":"crm__ping","uri":5"#, -32020),
        ("tools/call", Some("crm__ping"), r#""name":"crm__fail","name":"crm__ping""#, -32602),
        ("tools/call", Some("crm__ping"), r#""name":"crm__ping","name":"crm__fail""#, -32602),
        ("resources/read", Some("res://a"), r#""uri":"res://b","name":5"#, -32020),
        ("prompts/get", Some("a"), r#""name":"b","taskId":1"#, -32020),
    ] {
        let reply = ask(method, name, params).await.is(400);
        assert_eq!(reply.body["error"]["code"], code, "{params}: {}", reply.text);
    }
    assert!(upstream.requests().is_empty(), "nothing was called");
    ask("tools/call", Some("crm__ping"), r#""name":"crm__ping","uri":5,"arguments":{}"#).await.is(200);
    assert_eq!(upstream.requests().len(), 1);
}

/// Of two headers with one name another program may read the other one: whoever sends both is refused.
#[tokio::test]
async fn a_header_that_is_there_twice_is_refused() {
    let upstream = http::Server::start().await;
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(crm(&upstream)).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"crm__ping","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    for (name, value) in
        [("mcp-name", "crm__fail"), ("mcp-method", "tools/list"), ("mcp-protocol-version", "2025-11-25")]
    {
        let request = app.request(Method::POST, "/mcp").header("accept", ACCEPT);
        let request = request.header("mcp-protocol-version", "2026-07-28");
        let request = request.header("mcp-method", "tools/call").header("mcp-name", "crm__ping");
        let request = request.header(name, value).header("content-type", "application/json");
        let reply = send(request.body(body)).await.is(400);
        assert_eq!(reply.body["error"]["code"], -32020, "{name}: {}", reply.text);
        assert!(reply.text.contains(name) && reply.text.contains("twice"), "{}", reply.text);
    }
    assert!(upstream.requests().is_empty(), "nothing was called");
}

/// A prompt's arguments that nobody can read the same way are refused, and on record.
#[tokio::test]
async fn a_prompt_that_is_refused_for_its_arguments_is_on_record() {
    let app = TestApp::start(Backend::Sqlite).await;
    let session = Session::open(&app, "2025-11-25").await;
    let ask = r#"{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"p","arguments":{"a":"1","a":"2"}}}"#;
    let request = app.request(Method::POST, "/mcp").header("accept", ACCEPT);
    let request = request.header("mcp-session-id", &session.id).header("content-type", "application/json");
    let reply = send(request.body(ask)).await.is(200);
    assert!(reply.body["error"]["message"].as_str().unwrap().contains("twice"), "{}", reply.text);
    let records = audited(&app, "tool=p", 1).await;
    assert_eq!(records[0]["status"], "refused", "{records:?}");
}
