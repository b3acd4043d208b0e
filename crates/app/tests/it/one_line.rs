//! One message is one line, whatever white space it came with: nothing in a payload becomes a message of its own.

use crate::binary::serve;
use crate::mcp_older::Events;
use crate::pipe::Pipe;
use crate::setup::PATIENCE;
use crate::stdio::service;
use reqwest::Method;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use testkit::client::{Reply, send};
use testkit::mcp::wide::{TOOLS, spaced};
use testkit::mcp::{http, ws};
use testkit::{Backend, Client, Database, TestApp, process};

/// Every white space of JSON, alone and mixed.
const SPACES: [&str; 6] = [" ", "\t", "\r", "\n", "\r\n", " \n\n\t\r "];

/// Would be executed, if it stood on a line of its own.
const SMUGGLED: &str = "{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"tools/call\",\"params\":{\"name\":\"smuggled\",\"arguments\":{\"a\":\"x\u{2028}y \\r\\n\"}}}";

/// A payload with a message on a line of its own.
fn payload(space: &str) -> String {
    format!("{{{space}\"x\":{space}{SMUGGLED}{space},\"n\":{space}123456789012345678901234{space}}}")
}

/// Without the white space that means nothing. Strings here have no space but the one in `SMUGGLED`.
fn compact(json: &str) -> String {
    json.replace(['\n', '\r', '\t', ' '], "")
}

/// The fields of the payload: those of a `_meta` have ours beside them.
fn fields(space: &str) -> String {
    compact(&payload(space)).trim_matches(['{', '}']).to_owned()
}

/// What a client may ask, and where its payload stands.
fn requests(service: &str, space: &str) -> Vec<(&'static str, String)> {
    let payload = payload(space);
    let call =
        |tool: &str| format!("{{\"name\":\"{service}__{tool}\",{space}\"arguments\":{payload}{space}}}");
    let text = format!("{{{space}\"text\"{space}:{space}\"a\u{2028}b\"{space}}}");
    let reference = format!("{{{space}\"type\":\"ref/prompt\",\"name\":\"{service}__say\"{space}}}");
    vec![
        ("tools/call", call("say")),
        ("tools/call", call("refuse")),
        ("tools/call", call("tell")),
        ("prompts/get", format!("{{\"name\":\"{service}__say\",\"arguments\":{text},\"_meta\":{payload}}}")),
        (
            "completion/complete",
            format!(
                "{{\"ref\":{reference},\"argument\":{space}{{\"name\":\"text\",{space}\"value\":\"v\"}},\"context\":{space}{{\"arguments\":{text}}},\"_meta\":{payload}}}"
            ),
        ),
    ]
}

struct Gateway {
    server: process::Server,
    journal: PathBuf,
    _database: Database,
}

impl Gateway {
    async fn start(mut services: Value) -> Self {
        let database = Database::create(Backend::Sqlite).await;
        std::fs::create_dir_all(database.data_dir()).unwrap();
        let journal = database.data_dir().join("journal");
        services["line"] = json!({ "command": service(), "args": ["--wide", journal, "\t\r "] });
        let config = database.data_dir().join("mcp.json");
        std::fs::write(&config, json!({ "mcpServers": services }).to_string()).unwrap();
        let mut command = serve(&database);
        command.arg("--legacy-sse").arg("--mcp-config").arg(&config);
        Self { server: process::Server::start(command), journal, _database: database }
    }

    /// Waits until the services are there.
    async fn client(&self, tools: usize) -> Client {
        let client = self.server.admin();
        testkit::eventually("the tools", PATIENCE, async || client.tool_names().await.len() == tools).await;
        client
    }
}

/// A client over HTTP that writes its messages as it likes.
struct Session {
    client: Client,
    id: String,
}

impl Session {
    async fn open(client: Client) -> Self {
        let mut session = Self { client, id: String::new() };
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": { "name": "t", "version": "1" } });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        session.id = session.post(hello.to_string()).await.header("mcp-session-id").unwrap().to_owned();
        session
    }

    fn request(&self, body: String) -> reqwest::RequestBuilder {
        let request = self.client.request(Method::POST, "/mcp").header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream").body(body);
        if self.id.is_empty() { request } else { request.header("mcp-session-id", &self.id) }
    }

    async fn post(&self, body: String) -> Reply {
        send(self.request(body)).await
    }

    async fn ask(&self, method: &str, params: &str, space: &str) -> Reply {
        self.post(format!("{space}{{\"jsonrpc\":\"2.0\",{space}\"id\":7,\"method\":\"{method}\",{space}\"params\":{params}{space}}}{space}")).await
    }
}

/// Nothing but whole messages, none of them smuggled in.
fn check_journal(journal: &Path) -> Vec<String> {
    let lines: Vec<_> = std::fs::read_to_string(journal).unwrap().lines().map(str::to_owned).collect();
    for line in &lines {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no message: {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        assert_ne!(message["id"], 99, "executed: {line}");
    }
    lines
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_to_a_service_on_stdio_is_one_line_and_otherwise_as_it_came() {
    let gateway = Gateway::start(json!({})).await;
    let session = Session::open(gateway.client(TOOLS.len()).await).await;
    for space in SPACES {
        let expected = fields(space);
        for (method, params) in requests("line", space) {
            let before = check_journal(&gateway.journal).len();
            session.ask(method, &params, space).await.is(200);
            let lines = check_journal(&gateway.journal);
            assert_eq!(lines.len(), before + 1, "{space:?} {method}: {lines:?}");
            assert!(compact(&lines[before]).contains(&expected), "{space:?} {method}: {}", lines[before]);
        }
        answers_a_question(&session, &gateway.journal, space).await;
    }
}

/// The service asks, and the answer has a message in it.
async fn answers_a_question(session: &Session, journal: &Path, space: &str) {
    let call =
        json!({ "jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": { "name": "line__ask" } });
    let mut events = Events::of(session.request(call.to_string())).await;
    let question = events.message().await;
    assert_eq!(question["method"], "elicitation/create");
    let before = check_journal(journal).len();
    let answer = format!("{{\"action\":\"accept\",{space}\"content\":{}{space}}}", payload(space));
    let id = &question["id"];
    session
        .post(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{space}{answer}{space}}}"))
        .await
        .is(202);
    let result = events.message().await;
    assert_eq!(result["id"], 8, "{result}");
    let lines = check_journal(journal);
    assert_eq!(lines.len(), before + 1, "{space:?}: {lines:?}");
    assert!(compact(&lines[before]).contains(&compact(&answer)), "{space:?}: {}", lines[before]);
}

/// Services of every kind that write their messages with this space.
async fn spacious() -> (Value, Vec<http::Server>, Vec<ws::Server>) {
    let mut services = json!({});
    let (mut over_http, mut over_ws) = (Vec::new(), Vec::new());
    for (at, space) in SPACES.into_iter().enumerate() {
        for is_streaming in [false, true] {
            let behaviour = http::Behaviour { wide: Some(space), is_streaming, ..Default::default() };
            let server = http::Server::start(behaviour).await;
            let name = if is_streaming { format!("stream{at}") } else { format!("http{at}") };
            services[name] = json!({ "type": "http", "url": server.url() });
            over_http.push(server);
        }
        let server = ws::Server::start_wide(space).await;
        services[format!("ws{at}")] = json!({ "type": "ws", "url": server.url() });
        over_ws.push(server);
    }
    (services, over_http, over_ws)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_from_any_service_is_one_line_at_the_stdio_door() {
    let (mut services, _over_http, _over_ws) = spacious().await;
    let relay = relay(&_over_ws[5]).await;
    services["sse"] = json!({ "type": "sse", "url": relay.url("/sse"),
        "headers": { "Authorization": format!("Bearer {}", relay.key().unwrap()) } });
    let names: Vec<_> = services.as_object().unwrap().keys().cloned().collect();
    tokio::task::block_in_place(|| {
        let mut pipe = Pipe::start(&services);
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": { "name": "t", "version": "1" } });
        pipe.ask("initialize", params);
        for list in ["tools", "prompts", "resources", "resources/templates"] {
            let listed = compact(&pipe.ask_raw(&format!("{list}/list"), "{}"));
            assert!(
                names.iter().all(|name| listed.contains(name.as_str()) || list.starts_with("res")),
                "{listed}"
            );
        }
        for name in names {
            let (service, prefix) = match name.as_str() {
                "sse" => ("sse", "sse__far"),
                name => (name, name),
            };
            check_requests(&mut pipe, prefix);
            if service.starts_with("ws") {
                check_question(&mut pipe, prefix);
            }
        }
        assert!(pipe.end().success());
    });
}

/// A gateway with a stream of the older kind, and with a service behind it.
async fn relay(behind: &ws::Server) -> TestApp {
    let app = TestApp::start_with(Backend::Sqlite, |settings| settings.server.serves_sse = true).await;
    app.service(json!({ "type": "mcp", "id": "far", "config": { "type": "ws", "url": behind.url(), "allow_private_network": true } }))
        .await;
    testkit::eventually("the tools", PATIENCE, async || app.tool_names().await.len() == TOOLS.len()).await;
    app
}

fn check_requests(pipe: &mut Pipe, service: &str) {
    let expected = compact(&payload(""));
    for (method, params) in requests(service, "") {
        // Reads line by line, and each must be a message.
        let answer = pipe.ask_raw(method, &params);
        assert!(answer.contains("\u{2028}"), "{service} {method}: {answer}");
        let is_told = method == "tools/call" && params.contains("refuse");
        assert!(!is_told || compact(&answer).contains(&format!("\"arguments\":{expected}")), "{answer}");
    }
    let read = pipe.ask_raw("resources/read", r#"{"uri":"test:say"}"#);
    assert!(read.contains("test:say"), "{read}");
}

fn check_question(pipe: &mut Pipe, service: &str) {
    pipe.send(&json!({ "jsonrpc": "2.0", "id": "asks", "method": "tools/call", "params": { "name": format!("{service}__ask") } }).to_string());
    let question: Value = serde_json::from_str(&pipe.next()).unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let answer = json!({ "action": "accept", "content": { "a": "b" } });
    pipe.send(&spaced(
        &json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }).to_string(),
        "\t\r ",
    ));
    let called: Value = serde_json::from_str(&pipe.next()).unwrap();
    assert_eq!(called["id"], "asks");
    assert!(called["result"]["content"][0]["text"].as_str().unwrap().contains("accept"), "{called}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_is_one_line_of_data_at_both_doors_with_events() {
    let (services, _over_http, _over_ws) = spacious().await;
    let gateway = Gateway::start(services).await;
    let client = gateway.client(TOOLS.len() * 19).await;
    let session = Session::open(client.clone()).await;
    let mut events =
        Events::of(client.request(Method::GET, "/sse").header("accept", "text/event-stream")).await;
    let (_, endpoint) = events.next().await;
    let hello = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
    testkit::client::send_json(client.request(Method::POST, &endpoint), &hello).await.is(202);
    events.message().await;
    for at in 0..SPACES.len() {
        for service in ["http", "stream", "ws"] {
            let call = json!({ "name": format!("{service}{at}__tell"), "arguments": { "a": "b" } });
            let reply = session.ask("tools/call", &call.to_string(), "").await.is(200);
            let lines: Vec<_> = reply.text.split(['\n', '\r']).filter(|line| !line.is_empty()).collect();
            let data: Vec<_> = lines.iter().filter_map(|line| line.strip_prefix("data: ")).collect();
            assert_eq!((data.len(), lines.len()), (2, 4), "{service}{at}: {:?}", reply.text);
            assert!(data.iter().all(|data| serde_json::from_str::<Value>(data).is_ok()), "{data:?}");
            let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call });
            testkit::client::send_json(client.request(Method::POST, &endpoint), &call).await.is(202);
            assert_eq!(events.message().await["method"], "notifications/message");
            assert_eq!(events.message().await["id"], 2);
        }
    }
}
