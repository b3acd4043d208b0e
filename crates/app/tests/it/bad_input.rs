//! Bad input: whatever is sent, the answer is a problem that says what to do, and the server goes on.

use crate::setup::crm;
use reqwest::Method;
use serde_json::json;
use testkit::client::send;
use testkit::{Backend, Reply, TestApp, http};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

async fn post(app: &TestApp, path: &str, body: impl Into<reqwest::Body>) -> Reply {
    send(app.request(Method::POST, path).header("content-type", "application/json").body(body)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_wrong_paths_and_methods_with_problems() {
    let app = TestApp::start(Backend::Sqlite).await;
    for path in ["/nothing", "/api/v2/services", "nothing", "services/api", "keys/%00", "tenants/%ff", "//"] {
        let reply = app.get(path).await.is_problem(404, "NOT_FOUND");
        assert!(!reply.text.contains('\0'));
    }
    for (method, path) in [
        (Method::PUT, "services"),
        (Method::DELETE, "services"),
        (Method::GET, "call"),
        (Method::POST, "/healthz"),
        (Method::OPTIONS, "services"),
    ] {
        send(app.request(method, path)).await.is_problem(405, "BAD_REQUEST");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_bodies_that_are_no_json_with_problems() {
    let app = TestApp::start(Backend::Sqlite).await;
    let bodies: [&[u8]; 8] = [
        b"",
        b"{",
        b"{'a':1}",
        b"{\"name\":\"x\"} trailing",
        b"{\"name\": \"\xff\xfe\"}",
        b"\xef\xbb\xbf{}",
        b"{\"name\": NaN}",
        b"\x00",
    ];
    for body in bodies {
        let reply = post(&app, "keys", body.to_vec()).await.is_problem(400, "BAD_REQUEST");
        assert!(reply.string("detail").contains("no JSON"), "{}", reply.text);
    }
    app.get("/healthz").await.is(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn survives_json_nested_a_hundred_thousand_levels_deep() {
    let upstream = http::Server::start().await;
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(crm(&upstream)).await;
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    for nested in [deep("[", "]"), deep("{\"a\":", "}")] {
        let bodies = [
            ("keys", nested.clone()),
            ("keys", format!("{{\"name\":{nested}}}")),
            ("services", format!("{{\"type\":\"api\",\"id\":\"x\",\"config\":{nested}}}")),
            ("services", format!("{{\"type\":\"api\",\"id\":\"x\",\"config\":{{\"base_url\":{nested}}}}}")),
            ("call", format!("{{\"uri\":\"api://crm/ping\",\"arguments\":{nested}}}")),
            ("call", format!("{{\"uri\":\"api://crm/get_order\",\"arguments\":{{\"userId\":{nested}}}}}")),
            ("mcp/tools/call", format!("{{\"name\":\"crm__ping\",\"arguments\":{{\"x\":{nested}}}}}")),
        ];
        for (path, body) in bodies {
            let reply = post(&app, path, body).await;
            assert!([400, 422].contains(&reply.status), "{path}: {} {:.300}", reply.status, reply.text);
        }
    }
    app.call("api://crm/ping", json!({})).await.is(200);
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_the_field_that_has_a_wrong_type_or_is_unknown() {
    let app = TestApp::start(Backend::Sqlite).await;
    for (path, body, field) in [
        ("keys", json!({ "name": 5 }), "name"),
        ("keys", json!({ "name": "k", "limits": { "calls_per_minute": "many" } }), "limits.calls_per_minute"),
        ("keys", json!({ "name": "k", "limits": { "calls_per_minute": -1 } }), "limits.calls_per_minute"),
        ("keys", json!({ "name": "k", "limits": { "calls_per_minute": 0 } }), "limits.calls_per_minute"),
        ("tenants", json!({ "id": "a", "limits": { "concurrent_calls": 0 } }), "limits.concurrent_calls"),
        ("keys", json!({ "name": "k", "scopes": ["call", 3] }), "scopes[1]"),
        ("keys", json!({ "name": "k", "colour": "red" }), "colour"),
        ("keys", json!({ "name": "" }), "name"),
        ("keys", json!({ "name": "two\nlines" }), "name"),
        ("tenants", json!({ "id": "Not An Id!" }), "id"),
        ("tenants", json!({ "id": "a", "limits": { "x": 1 } }), "limits.x"),
        ("tenants", json!({ "id": "a", "name": "n".repeat(129) }), "name"),
        ("users", json!({ "username": "a", "password": "short" }), "password"),
        ("users", json!({ "username": "a", "password": "correct horse", "role": "god" }), "role"),
        ("services", json!({ "type": "api", "id": "a", "config": [] }), "config"),
        (
            "services",
            json!({ "type": "api", "id": "a", "config": { "base_url": "https://x.example" }, "tools": [{ "id": 1, "endpoint": "/" }] }),
            "tools[0].id",
        ),
        ("call", json!({ "uri": 1 }), "uri"),
        ("call", json!({ "uri": "api://a/b", "argumants": {} }), "argumants"),
    ] {
        let reply = app.post(path, body.clone()).await.is_problem(422, "VALIDATION_FAILED");
        let errors = reply.errors();
        assert_eq!(
            errors.iter().map(|(path, _)| *path).collect::<Vec<_>>(),
            [field],
            "{body}: {}",
            reply.text
        );
        assert!(reply.body["errors"][0]["message"].as_str().is_some_and(|text| !text.is_empty()));
    }
    let missing = app.post("keys", json!({})).await.is_problem(422, "VALIDATION_FAILED");
    assert!(missing.string("detail").contains("name"), "{}", missing.text);
}

/// HT-5.2: what only the service can judge lands on its argument, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_the_argument_that_a_service_refuses() {
    let app = TestApp::start(Backend::Sqlite).await;
    let mail = json!({ "from_address": "it@example.com", "allow_recipients": ["*@example.com"] });
    app.service(json!({ "type": "mail", "id": "it", "config": mail })).await;
    app.service(json!({ "type": "oss", "id": "docs", "config": {} })).await;
    let letter = |to: &str| json!({ "to": to, "subject": "s", "body": "b" });
    for (uri, arguments, status, code, path) in [
        ("mail://it/send", letter("nobody"), 422, "VALIDATION_FAILED", "to"),
        ("mail://it/send", letter("eve@elsewhere.net"), 403, "FORBIDDEN", "to"),
        ("oss://docs/save", json!({ "key": "../a", "content": "x" }), 422, "VALIDATION_FAILED", "key"),
        ("oss://docs/list", json!({ "cursor": "/x" }), 422, "VALIDATION_FAILED", "cursor"),
    ] {
        let reply = app.call(uri, arguments).await.is_problem(status, code);
        let detail = reply.string("detail");
        assert_eq!(reply.errors(), [(path, "Invalid")], "{}", reply.text);
        assert_eq!(reply.body["errors"][0]["message"], detail, "{}", reply.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refuses_bodies_beyond_the_limit() {
    let app = TestApp::start(Backend::Sqlite).await;
    let big = format!("{{\"name\":\"{}\"}}", "x".repeat(17 * 1024 * 1024));
    let reply = post(&app, "keys", big.clone()).await.is_problem(413, "BAD_REQUEST");
    for word in ["--max-body-bytes", "at most 16777216 bytes", "'source'"] {
        assert!(reply.string("detail").contains(word), "{}", reply.text);
    }
    // One that says how long it is, and one that does not.
    let address = app.address();
    let key = app.post("keys", json!({ "name": "k", "role": "manager" })).await.is(201).string("key");
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /api/v1/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("100000\r\n{}\r\n", "x".repeat(0x10_0000));
    for _ in 0..20 {
        if stream.write_all(chunk.as_bytes()).await.is_err() {
            break;
        }
    }
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 413");

    // One that is only announced, at either door: whoever waited for it would time out.
    for path in ["/api/v1/keys", "/mcp"] {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: 99999999\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = vec![0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, b"HTTP/1.1 413", "{path}: {}", String::from_utf8_lossy(&answer));
    }

    let small = TestApp::start_with(Backend::Sqlite, |settings| settings.server.max_body_bytes = 100).await;
    let body = json!({ "name": "x".repeat(100) });
    small.post("keys", body).await.is_problem(413, "BAD_REQUEST");
    small.post("keys", json!({ "name": "x" })).await.is(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cuts_an_answer_that_is_too_long_and_says_so() {
    let upstream = http::Server::start().await;
    let app = TestApp::start(Backend::Sqlite).await;
    let service = json!({ "type": "api", "id": "big", "config": { "base_url": upstream.url() },
        "tools": [{ "id": "text", "endpoint": "/big/9000000" }, { "id": "huge", "endpoint": "/big/11000000" }] });
    app.service(service).await;
    let reply = app.call("api://big/text", json!({})).await.is(200);
    assert!(reply.text.len() < 2 * 1024 * 1024, "{}", reply.text.len());
    let end = &reply.text[reply.text.len() - 400..];
    assert!(end.contains("Cut to 1048576 bytes"), "{end}");
    let reply = app.call("api://big/huge", json!({})).await.is(200);
    assert_eq!(reply.body["error"]["code"], "UPSTREAM_ERROR");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keeps_a_sane_request_id_and_makes_one_otherwise() {
    let app = TestApp::start(Backend::Sqlite).await;
    let with_id = async |id: &str| {
        let reply = send(app.request(Method::GET, "nothing").header("x-request-id", id)).await;
        reply.is_problem(404, "NOT_FOUND").string("request_id")
    };
    assert_eq!(with_id("my-request/7").await, "my-request/7");
    let made = with_id(&"x".repeat(129)).await;
    assert!(made.len() == 36, "{made}");
    assert_ne!(with_id("with space").await, "with space");
    let (one, two) = (app.get("auth/me").await, app.get("auth/me").await);
    assert_ne!(one.header("x-request-id"), two.header("x-request-id"));
    assert_eq!(one.header("x-content-type-options"), Some("nosniff"));
}

/// Who is meant must be said, and once: what stands between us and the client may believe the other one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refuses_requests_with_no_host_or_two() {
    let app = TestApp::start(Backend::Sqlite).await;
    let ask = async |head: &str| {
        let mut stream = tokio::net::TcpStream::connect(app.address()).await.unwrap();
        stream.write_all(format!("{head}connection: close\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    for head in [
        "GET /healthz HTTP/1.1\r\n",
        "GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\n",
        "GET /healthz HTTP/1.1\r\nhost: a\r\nHost: a\r\n",
        "GET /healthz HTTP/1.0\r\nhost: a\r\nhost: b\r\n",
    ] {
        let answer = ask(head).await;
        assert!(answer.starts_with("HTTP/1.1 400") || answer.starts_with("HTTP/1.0 400"), "{head}: {answer}");
        assert!(answer.contains("\"BAD_REQUEST\"") && answer.contains("Host"), "{head}: {answer}");
    }
    let answer = ask("GET /healthz HTTP/1.1\r\nhost: localhost\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Before 1.1 nobody had to say it, and probes still do not.
    let answer = ask("GET /healthz HTTP/1.0\r\n").await;
    assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
}
