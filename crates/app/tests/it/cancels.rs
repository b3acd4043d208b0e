//! A client that stops waiting, in the words of its era: the service is told in the words of its own.

use crate::binary::serve;
use crate::pipe::Pipe;
use crate::setup::{PATIENCE, example};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::mcp::http::{Behaviour, Server};
use testkit::{Backend, Client, Database, process};

const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
/// Long enough to be under way, short enough for a test.
const WHILE: Duration = Duration::from_millis(400);

/// One service of each era on each transport.
struct Services {
    legacy: Server,
    modern: Server,
}

impl Services {
    async fn start() -> Self {
        let modern = Behaviour { is_modern: true, ..Behaviour::default() };
        Self { legacy: Server::start(Behaviour::default()).await, modern: Server::start(modern).await }
    }

    fn config(&self) -> Value {
        let command = example("mcp_test_server");
        json!({
            "stdio": { "command": command }, "stdio_modern": { "command": command, "args": ["--modern"] },
            "http": { "type": "http", "url": self.legacy.url() },
            "http_modern": { "type": "http", "url": self.modern.url() }
        })
    }

    /// A modern server over HTTP is told by hanging up; the other one by a message.
    async fn wait_until_told(&self) {
        let begun = Instant::now();
        loop {
            let (legacy, modern) = (self.legacy.seen(), self.modern.seen());
            if legacy.contains(&"POST notifications/cancelled".to_owned())
                && modern.contains(&"GONE tools/call".to_owned())
            {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "not told: legacy saw {legacy:?}, modern saw {modern:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Calls that do not end by themselves, one for each service.
const HANGING: [&str; 4] = ["stdio__never", "stdio_modern__never", "http__slow", "http_modern__slow"];

#[track_caller]
fn is_cancel(seen: &str) {
    assert!(seen.contains("notifications/cancelled"), "{seen}");
}

async fn cancelled_at_stdio(version: &'static str, meta: &'static str) {
    let services = Services::start().await;
    let config = services.config();
    let mut client = tokio::task::spawn_blocking(move || {
        let mut client = Pipe::start(&config);
        if meta.is_empty() {
            client.hello(version);
        }
        // The list waits for services that are still starting.
        client.ask_raw("tools/list", &format!("{{{}}}", meta.trim_start_matches(',')));
        for (number, tool) in HANGING.into_iter().enumerate() {
            let params = format!(r#"{{"name":"{tool}","arguments":{{"ms":60000}}{meta}}}"#);
            client.send(&format!(
                r#"{{"jsonrpc":"2.0","id":"h{number}","method":"tools/call","params":{params}}}"#
            ));
        }
        assert_eq!(client.next_within(WHILE * 2), None, "nothing has ended yet");
        for number in 0..HANGING.len() {
            client.send(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":"h{number}"}}}}"#
            ));
        }
        client
    })
    .await
    .unwrap();
    services.wait_until_told().await;
    tokio::task::spawn_blocking(move || {
        for service in ["stdio", "stdio_modern"] {
            let params = format!(r#"{{"name":"{service}__seen","arguments":{{}}{meta}}}"#);
            let begun = Instant::now();
            let mut seen = client.ask_raw("tools/call", &params);
            while !seen.contains("notifications/cancelled") && begun.elapsed() < PATIENCE {
                seen = client.ask_raw("tools/call", &params);
            }
            is_cancel(&seen);
        }
        assert_eq!(client.next_within(WHILE), None, "a cancelled call has no answer");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_are_told_of_a_cancel_on_stdio() {
    cancelled_at_stdio("2025-11-25", "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_are_told_of_a_cancel_of_2026_07_28_on_stdio() {
    cancelled_at_stdio("2026-07-28", META).await;
}

/// A request that was repeated with what a service had asked for is the one that its client cancels, and hears of.
#[test]
fn a_request_that_goes_on_with_its_input_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let wide = json!(["--wide", &journal, " "]);
    let mut client = Pipe::start(&json!({ "s": { "command": example("mcp_test_server"), "args": wide } }));
    let call = |id: &str, more: Value| {
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": id,
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} } });
        let mut params = json!({ "name": "s__dawdle", "arguments": {}, "_meta": meta });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
    };
    client.send(&call("first", json!({})));
    let asked: Value = serde_json::from_str(&client.next()).unwrap();
    let state = &asked["result"]["requestState"];
    assert!(state.is_string(), "{asked}");
    let answer = json!({ "question": { "action": "accept", "content": {} } });
    client.send(&call("second", json!({ "requestState": state, "inputResponses": answer })));
    let progress: Value = serde_json::from_str(&client.next()).unwrap();
    assert_eq!(progress["params"]["progressToken"], "second", "{progress}");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"second"}}"#);
    let begun = Instant::now();
    while !std::fs::read_to_string(&journal).unwrap_or_default().contains("notifications/cancelled") {
        assert!(begun.elapsed() < PATIENCE, "the service was not told");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(client.next_within(WHILE), None, "a cancelled call has no answer");
}

/// The gateway over HTTP.
async fn gateway(services: &Services) -> (process::Server, Database) {
    let database = Database::create(Backend::Sqlite).await;
    std::fs::create_dir_all(database.data_dir()).unwrap();
    let config = database.data_dir().join("mcp.json");
    std::fs::write(&config, json!({ "mcpServers": services.config() }).to_string()).unwrap();
    let mut command = serve(&database);
    command.arg("--mcp-config").arg(&config);
    (process::Server::start(command), database)
}

async fn all_are_told(services: &Services, client: &Client) {
    services.wait_until_told().await;
    for service in ["stdio", "stdio_modern"] {
        testkit::eventually(&format!("{service} is told"), PATIENCE, async || {
            let seen = client.call_name(&format!("{service}__seen"), json!({})).await.is(200);
            seen.text.contains("notifications/cancelled")
        })
        .await;
    }
}

/// A client of REST, or of 2026-07-28, cancels by hanging up.
async fn hangs_up(request: reqwest::RequestBuilder, body: String, what: &str) {
    let call = request.header("content-type", "application/json").body(body).send();
    let answer = tokio::time::timeout(WHILE * 2, async { call.await.unwrap().text().await.unwrap() }).await;
    assert!(answer.is_err(), "{what} must hang: {answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_are_told_when_a_client_of_rest_has_gone() {
    let services = Services::start().await;
    let (gateway, _database) = gateway(&services).await;
    let client = gateway.admin();
    for tool in HANGING {
        let body = json!({ "name": tool, "arguments": { "ms": 60_000 } }).to_string();
        hangs_up(client.request(Method::POST, "mcp/tools/call"), body, tool).await;
    }
    all_are_told(&services, &client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_are_told_when_a_client_of_2026_07_28_has_gone() {
    let services = Services::start().await;
    let (gateway, _database) = gateway(&services).await;
    let client = gateway.admin();
    for tool in HANGING {
        let params = format!(r#"{{"name":"{tool}","arguments":{{"ms":60000}}{META}}}"#);
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let request = client.request(Method::POST, "/mcp").header("mcp-protocol-version", "2026-07-28");
        let request = request.header("mcp-method", "tools/call").header("mcp-name", tool);
        hangs_up(request.header("accept", "application/json, text/event-stream"), body, tool).await;
    }
    all_are_told(&services, &client).await;
}

/// With a handshake, hanging up is no cancel: the client says so, in another request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_are_told_of_a_cancel_over_http() {
    let services = Services::start().await;
    let (gateway, _database) = gateway(&services).await;
    let client = gateway.admin();
    let post = |session: Option<&str>, body: String| {
        let request = client.request(Method::POST, "/mcp").header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        match session {
            Some(session) => request.header("mcp-session-id", session).body(body),
            None => request.body(body),
        }
    };
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let hello = post(None, hello.to_string()).send().await.unwrap();
    let session = hello.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    for (number, tool) in HANGING.into_iter().enumerate() {
        let params = json!({ "name": tool, "arguments": { "ms": 60_000 } });
        let call = json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params });
        let call = tokio::spawn(post(Some(&session), call.to_string()).send());
        tokio::time::sleep(WHILE).await;
        assert!(!call.is_finished(), "{tool} must hang");
        let params = json!({ "requestId": number });
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        assert_eq!(post(Some(&session), cancel.to_string()).send().await.unwrap().status(), 202);
        // No answer is owed, and a client that gets one takes it for a mistake; but the exchange must not stay open.
        let ended = tokio::time::timeout(PATIENCE, async { call.await.unwrap()?.bytes().await }).await;
        let said = ended.unwrap_or_else(|_| panic!("{tool}: the cancelled exchange stays open")).unwrap();
        assert!(said.is_empty(), "{tool}: {said:?}");
    }
    all_are_told(&services, &client).await;
}
