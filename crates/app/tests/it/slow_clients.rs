//! Slow clients, and too many: they are ended or sent away in time, and the others are served as if they were not there.

use crate::binary::BINARY;
use crate::mcp_older::Events;
use crate::setup::{PATIENCE, crm};
use reqwest::Method;
use serde_json::json;
use server::ClientLimits;
use std::time::{Duration, Instant};
use testkit::client::send_json;
use testkit::mcp::ws;
use testkit::process::{self, Server};
use testkit::{Backend, Database, TestApp, eventually, http};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(3600);
const HEALTH: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// No limit that a test could meet by accident.
fn patient() -> ClientLimits {
    ClientLimits {
        head_timeout: LONG,
        body_timeout: LONG,
        keep_alive: LONG,
        max_connections: Some(10_000),
        max_connections_per_address: None,
    }
}

async fn app_with(limits: ClientLimits) -> TestApp {
    TestApp::start_with(Backend::Sqlite, |settings| settings.server.clients = limits).await
}

async fn connect(app: &TestApp) -> TcpStream {
    TcpStream::connect(app.address()).await.unwrap()
}

/// What comes until the other side ends the connection, which it must.
async fn until_end(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    // A reset is an end, too.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut all)).await.expect("the connection ends");
    String::from_utf8_lossy(&all).into_owned()
}

/// Asks and reads the answer, which is a short one.
async fn ask(stream: &mut TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"}") {
        let read = timeout(PATIENCE, stream.read_buf(&mut answer)).await.expect("an answer").unwrap();
        assert_ne!(read, 0, "the connection ended: {}", String::from_utf8_lossy(&answer));
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_clients_that_do_not_finish_the_head_of_a_request() {
    let app = app_with(ClientLimits { head_timeout: SHORT, ..patient() }).await;
    for begun in ["", "G", "GET /healthz HTTP/1.1\r\nhost: localhost\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
    {
        let mut stream = connect(&app).await;
        stream.write_all(begun.as_bytes()).await.unwrap();
        let said = until_end(&mut stream).await;
        assert!(!said.contains("200 OK"), "{begun}: {said}");
    }
    // A byte now and then buys no time.
    let (mut read, mut write) = connect(&app).await.into_split();
    let trickle = tokio::spawn(async move {
        let mut sent = write.write_all(b"GET /healthz HTTP/1.1\r\nx: ").await;
        while sent.is_ok() {
            tokio::time::sleep(SHORT / 10).await;
            sent = write.write_all(b"x").await;
        }
    });
    let ended = timeout(PATIENCE, read.read_to_end(&mut Vec::new())).await;
    assert!(ended.is_ok(), "a trickle of bytes keeps the connection open");
    timeout(PATIENCE, trickle).await.expect("nobody listens to it any more").unwrap();
    // The second request has as little time as the first.
    let mut stream = connect(&app).await;
    assert!(ask(&mut stream, HEALTH).await.contains("200 OK"));
    stream.write_all(b"GET /healthz").await.unwrap();
    until_end(&mut stream).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tells_a_client_whose_body_stops_coming_and_waits_for_one_that_is_slow() {
    let app = app_with(ClientLimits { body_timeout: SHORT, ..patient() }).await;
    let key = app.key().unwrap();
    let head = |path: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n"
        )
    };
    for path in ["/api/v1/auth/login", "/api/v1/call", "/api/v1/tables/import?name=a&format=json", "/mcp"] {
        for rest in ["content-length: 100\r\n\r\n{\"a\":", "transfer-encoding: chunked\r\n\r\n2\r\n{\"\r\n"] {
            let mut stream = connect(&app).await;
            stream.write_all(format!("{}{rest}", head(path)).as_bytes()).await.unwrap();
            let said = until_end(&mut stream).await;
            assert!(said.starts_with("HTTP/1.1 408"), "{path}: {said}");
            assert!(said.contains("application/problem+json") && said.contains("--body-timeout"), "{said}");
        }
    }
    // Slow, but not still: no pause is as long as the limit, all together are.
    let time = Duration::from_secs(2);
    let app = app_with(ClientLimits { body_timeout: time, ..patient() }).await;
    let body = json!({ "username": "x".repeat(40), "password": "y" }).to_string();
    let mut stream = connect(&app).await;
    let head = format!(
        "POST /api/v1/auth/login HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let begun = Instant::now();
    for byte in body.bytes() {
        stream.write_all(&[byte]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(begun.elapsed() > time);
    assert!(ask(&mut stream, "").await.starts_with("HTTP/1.1 401"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closes_connections_that_nobody_uses() {
    let app = app_with(ClientLimits { keep_alive: SHORT, ..patient() }).await;
    let mut stream = connect(&app).await;
    for _ in 0..3 {
        assert!(ask(&mut stream, HEALTH).await.contains("200 OK"));
    }
    assert_eq!(until_end(&mut stream).await, "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_waits_for_an_answer_is_not_slow() {
    let upstream = http::Server::start().await;
    let all_short = ClientLimits { head_timeout: SHORT, body_timeout: SHORT, keep_alive: SHORT, ..patient() };
    let app = app_with(all_short).await;
    app.service(crm(&upstream)).await;
    let reply = app.call("api://crm/slow", json!({ "ms": 1_500 })).await.is(200);
    assert_eq!(reply.body["isError"], false, "{}", reply.text);
    // Neither is whoever listens; that is counted.
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let post = app.request(Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
    let session = send_json(post, &hello).await.is(200).header("mcp-session-id").unwrap().to_owned();
    let stream = app.request(Method::GET, "/mcp").header("accept", "text/event-stream");
    let mut events = Events::of(stream.header("mcp-session-id", &session)).await;
    tokio::time::sleep(SHORT * 5).await;
    let numbers = app.get("/metrics").await.is(200).text;
    assert!(numbers.contains("mcp_all_in_one_listening_streams 1\n"), "{numbers}");
    app.delete("services/api/crm").await.is(204);
    assert_eq!(events.message().await["method"], "notifications/tools/list_changed");
    drop(events);
    eventually("the stream is not counted any more", PATIENCE, async || {
        app.get("/metrics").await.text.contains("mcp_all_in_one_listening_streams 0\n")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_clients_that_take_nothing_of_their_answers() {
    let app = app_with(ClientLimits { body_timeout: SHORT, ..patient() }).await;
    let mut stream = connect(&app).await;
    let request = "GET /api/openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
    // More than the kernel keeps for somebody who does not read.
    stream.write_all(request.repeat(300).as_bytes()).await.unwrap();
    eventually("only who asks for the numbers is connected", PATIENCE, async || {
        app.get("/metrics").await.text.contains("mcp_all_in_one_connections 1\n")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sends_clients_away_when_there_is_no_room_and_serves_the_others() {
    let all = ClientLimits { max_connections: Some(3), ..patient() };
    let per_address = ClientLimits { max_connections_per_address: Some(3), ..patient() };
    for (limits, flag) in [(all, "--max-connections)"), (per_address, "--max-connections-per-address")] {
        let app = app_with(limits).await;
        let mut streams = Vec::new();
        for _ in 0..3 {
            let mut stream = connect(&app).await;
            assert!(ask(&mut stream, HEALTH).await.contains("200 OK"));
            streams.push(stream);
        }
        for _ in 0..100 {
            let mut refused = connect(&app).await;
            // It may be told before it has asked.
            let _ = refused.write_all(HEALTH.as_bytes()).await;
            let said = until_end(&mut refused).await;
            assert!(said.starts_with("HTTP/1.1 503") && said.contains(flag), "{said}");
            assert!(said.contains("retry-after: ") && said.contains("\"UNAVAILABLE\""), "{said}");
        }
        for stream in &mut streams {
            assert!(ask(stream, HEALTH).await.contains("200 OK"));
        }
        drop(streams.pop());
        eventually("the place is free", PATIENCE, async || {
            let mut stream = connect(&app).await;
            let _ = stream
                .write_all(HEALTH.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n").as_bytes())
                .await;
            until_end(&mut stream).await.contains("200 OK")
        })
        .await;
    }
}

/// The same, when the operating system says no before we do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sends_clients_away_when_there_are_no_descriptors_and_serves_the_others() {
    let database = Database::create(Backend::Sqlite).await;
    let plain = process::serve(BINARY, &database, &database.data_dir());
    let mut command = process::sheltered("sh");
    command.args(["-c", "ulimit -n 100; exec \"$0\" \"$@\" --max-connections 1000", BINARY]);
    command.args(plain.get_args());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let server = Server::start(command);
    let connect = async || TcpStream::connect(server.address()).await.unwrap();
    let mut old = connect().await;
    assert!(ask(&mut old, HEALTH).await.contains("200 OK"));
    let (mut served, mut refused) = (Vec::new(), 0);
    for _ in 0..200 {
        let mut stream = connect().await;
        let _ = stream.write_all(HEALTH.as_bytes()).await;
        let mut first = [0; 12];
        match timeout(PATIENCE, stream.read_exact(&mut first)).await.expect("nobody is left waiting") {
            Ok(_) if first == *b"HTTP/1.1 200" => served.push(stream),
            // Told, or at least ended.
            Ok(_) | Err(_) => refused += 1,
        }
    }
    assert!(served.len() > 10 && refused > 50, "{} served, {refused} refused", served.len());
    assert!(ask(&mut old, HEALTH).await.contains("200 OK"));
    drop(served);
    eventually("there is room again", PATIENCE, async || {
        let mut stream = connect().await;
        let _ = stream.write_all(HEALTH.as_bytes()).await;
        let mut first = [0; 12];
        matches!(timeout(PATIENCE, stream.read_exact(&mut first)).await, Ok(Ok(_)))
            && first == *b"HTTP/1.1 200"
    })
    .await;
    let logged = server.stderr().matches("no connection can be accepted").count();
    assert!((1..=5).contains(&logged), "{logged} lines for one trouble");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_websocket_lives_longer_than_the_head_of_a_request_may_take() {
    let limits = ClientLimits { head_timeout: SHORT, keep_alive: SHORT, ..patient() };
    let app = app_with(limits).await;
    let url = format!("ws://{}/ws", app.address());
    let mut socket = ws::Client::connect(&url, app.key().unwrap()).await;
    let begun = Instant::now();
    // Now with something to say, now without.
    for pause in [SHORT / 10, SHORT * 2, SHORT / 10, SHORT * 3] {
        socket.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string()).await;
        assert!(timeout(PATIENCE, socket.next()).await.expect("an answer").contains("\"id\":1"));
        tokio::time::sleep(pause).await;
    }
    socket.send(json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }).to_string()).await;
    assert!(timeout(PATIENCE, socket.next()).await.expect("an answer").contains("\"id\":2"));
    assert!(begun.elapsed() > SHORT * 5);
}
