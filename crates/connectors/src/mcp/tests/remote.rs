//! Servers at a URL, and what they may answer instead of the truth.

use super::*;
use testkit::mcp::http::{Behaviour, Server};
use testkit::mcp::ws;
use testkit::mcp::{RAW_RESULT, complete};

#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn remote(url: &str, more: Value) -> Arc<dyn Connector> {
    let mut settings = json!({ "url": url, "allow_private_network": ["127.0.0.1"] });
    for (name, value) in more.as_object().unwrap() {
        settings[name] = value.clone();
    }
    open(settings).unwrap()
}

fn http(server: &Server) -> Arc<dyn Connector> {
    remote(&server.url(), json!({ "type": "http" }))
}

/// MC-1, MC-3
#[tokio::test]
async fn relays_json_and_streams_byte_for_byte() {
    for is_streaming in [false, true] {
        let server = Server::start(Behaviour { is_streaming, ..Behaviour::default() }).await;
        let service = http(&server);
        assert_eq!(call(&*service, "raw", json!({})).await.unwrap().to_result(), RAW_RESULT);
        call(&*service, "raw", json!({})).await.unwrap();
        let seen = server.seen();
        assert_eq!(seen.iter().filter(|what| *what == "POST initialize").count(), 1, "{seen:?}");
        drop(service);
        assert!(is_true_soon(|| server.sessions() == 0).await, "the session must be deleted");
    }
}

/// MC-1, MC-2
#[tokio::test]
async fn many_first_callers_connect_and_list_once() {
    let server = Server::start(Behaviour::default()).await;
    let service = http(&server);
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..50 {
        let service = service.clone();
        calls.spawn(async move { text(&*service, "echo", json!({ "text": format!("{number}") })).await });
    }
    assert_eq!(calls.join_all().await.len(), 50);
    let seen = server.seen();
    for once in ["POST initialize", "POST tools/list"] {
        assert_eq!(seen.iter().filter(|what| *what == once).count(), 1, "{once}: {seen:?}");
    }
}

/// MC-4
#[tokio::test]
async fn opens_a_forgotten_session_again_and_repeats_the_call() {
    let server = Server::start(Behaviour::default()).await;
    let service = http(&server);
    text(&*service, "echo", json!({ "text": "a" })).await;
    server.forget_sessions();
    assert_eq!(text(&*service, "echo", json!({ "text": "b" })).await, "b");
    let seen = server.seen();
    assert_eq!(seen.iter().filter(|what| *what == "POST initialize").count(), 2, "{seen:?}");
}

/// MC-4, MC-5
#[tokio::test]
async fn never_repeats_after_401_and_says_which_header_to_look_at() {
    let key = || Behaviour { key: Some("Bearer right-key".into()), ..Behaviour::default() };
    let server = Server::start(key()).await;
    let service = remote(&server.url(), json!({ "type": "http", "api_key": "wrong-key" }));
    let error = error_of(&*service, "echo", json!({})).await;
    assert_eq!((error.kind(), error.reason()), (ErrorKind::Upstream, Some(Reason::CredentialsRejected)));
    assert_eq!((error.status(), error.is_retryable()), (Some(401), false));
    assert!(
        error.message().contains("header authorization") && !error.message().contains("wrong-key"),
        "{error}"
    );
    assert_eq!(server.seen(), ["POST server/discover"]);
    let service = remote(&server.url(), json!({ "headers": { "X-API-Key": "Bearer right-key" } }));
    assert_eq!(text(&*service, "echo", json!({ "text": "in" })).await, "in");
    server.behave(Behaviour { status: Some(403), ..key() });
    let before = server.seen().len();
    let error = error_of(&*service, "echo", json!({})).await;
    assert_eq!((error.reason(), error.status()), (Some(Reason::CredentialsRejected), Some(403)));
    assert_eq!(server.seen().len(), before + 1);
}

#[tokio::test]
async fn says_what_a_server_answered_instead_of_a_message() {
    let server = Server::start(Behaviour::default()).await;
    for (status, kind) in
        [(500, ErrorKind::Upstream), (503, ErrorKind::Unavailable), (404, ErrorKind::Upstream)]
    {
        server.behave(Behaviour { status: Some(status), ..Behaviour::default() });
        let error = error_of(&*http(&server), "echo", json!({})).await;
        assert_eq!((error.kind(), error.status()), (kind, Some(status)), "{error:?}");
    }
    server.behave(Behaviour { redirect: Some("http://10.0.0.1/x?key=1".into()), ..Behaviour::default() });
    let error = error_of(&*http(&server), "echo", json!({})).await;
    assert!(error.message().contains("redirects to http://10.0.0.1/x, and"), "{error}");
    server.behave(Behaviour { garbage: Some("<html>".into()), ..Behaviour::default() });
    let error = error_of(&*http(&server), "echo", json!({})).await;
    assert!(error.message().contains("is no message: <html>"), "{error}");
}

#[tokio::test]
async fn takes_up_a_stream_that_ended_before_its_answer() {
    let server = Server::start(Behaviour { is_resuming: true, ..Behaviour::default() }).await;
    assert_eq!(call(&*http(&server), "raw", json!({})).await.unwrap().to_result(), RAW_RESULT);
    let seen = server.seen();
    assert_eq!(seen.iter().filter(|what| *what == "POST tools/call").count(), 1, "{seen:?}");
}

#[tokio::test]
async fn hears_of_changes_on_the_stream_for_what_is_said_unasked() {
    let told = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let server = Server::start(Behaviour { told: Some(told.into()), ..Behaviour::default() }).await;
    let service = http(&server);
    let mut changes = service.changes().unwrap();
    text(&*service, "echo", json!({})).await;
    tokio::time::timeout(Duration::from_secs(5), changes.changed()).await.unwrap().unwrap();
}

#[tokio::test]
async fn tells_a_remote_server_too_when_a_caller_stops_waiting() {
    let server = Server::start(Behaviour::default()).await;
    let service = http(&server);
    text(&*service, "echo", json!({})).await;
    let error = call_within(&*service, "slow", json!({}), Duration::from_millis(200)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let is_told = || server.seen().contains(&"POST notifications/cancelled".to_owned());
    assert!(is_true_soon(is_told).await, "{:?}", server.seen());
}

/// MC-1
#[tokio::test]
async fn speaks_to_servers_that_know_only_2026_07_28() {
    let server = Server::start(Behaviour { is_modern: true, ..Behaviour::default() }).await;
    let service = http(&server);
    assert_eq!(
        call(&*service, "raw", json!({})).await.unwrap().to_result(),
        complete("tools/call", RAW_RESULT)
    );
    service.health(&context(Duration::from_secs(5))).await.unwrap();
    assert!(server.seen().contains(&"POST server/discover".to_owned()));
}

#[tokio::test]
async fn refuses_an_answer_without_end() {
    let huge = "x".repeat(70 * 1024 * 1024);
    let server = Server::start(Behaviour { garbage: Some(huge), ..Behaviour::default() }).await;
    let service = http(&server);
    let error = error_of(&*service, "echo", json!({})).await;
    assert!(error.message().contains("longer than 67108864 bytes"), "{error}");
    server.behave(Behaviour::default());
    assert_eq!(text(&*service, "echo", json!({ "text": "fine" })).await, "fine");
}

/// MC-5
#[tokio::test]
async fn never_posts_its_keys_to_another_origin() {
    for endpoint in ["http://127.0.0.1:9/x", "https://evil.example/x", "//evil.example/x"] {
        let server =
            Server::start(Behaviour { endpoint: Some(endpoint.into()), ..Behaviour::default() }).await;
        let service = remote(&server.url(), json!({ "type": "sse", "api_key": "secret-key" }));
        let error = error_of(&*service, "echo", json!({})).await;
        assert!(error.message().contains("another origin"), "{endpoint}: {error}");
    }
}

#[tokio::test]
async fn refuses_private_addresses_unless_they_are_opened() {
    let server = Server::start(Behaviour::default()).await;
    for url in [server.url(), server.url().replace("127.0.0.1", "localhost"), "ws://localhost:9/x".into()] {
        let service = open(json!({ "url": url })).unwrap();
        let error = error_of(&*service, "echo", json!({})).await;
        assert_eq!(error.kind(), ErrorKind::Denied, "{url}: {error:?}");
        assert!(error.message().contains("allow_private_network"), "{error}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_failed_tls_handshake_is_unavailable() {
    let server = Server::start(Behaviour::default()).await;
    for scheme in ["https", "wss"] {
        let service = remote(&server.url().replace("http", scheme), json!({}));
        let error = error_of(&*service, "echo", json!({})).await;
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error:?}");
    }
}

/// MC-4
#[tokio::test]
async fn opens_a_broken_websocket_again() {
    let server = ws::Server::start(None).await;
    let service = remote(&server.url(), json!({ "type": "websocket" }));
    assert_eq!(call(&*service, "raw", json!({})).await.unwrap().to_result(), RAW_RESULT);
    server.cut().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(text(&*service, "echo", json!({ "text": "again" })).await, "again");
    assert_eq!(server.connections(), 2);
}

/// MC-5
#[tokio::test]
async fn a_websocket_that_does_not_let_us_in_says_so() {
    let server = ws::Server::start(Some("right")).await;
    let service = remote(&server.url(), json!({ "headers": { "X-API-Key": "wrong" } }));
    let error = error_of(&*service, "echo", json!({})).await;
    assert_eq!((error.reason(), error.status()), (Some(Reason::CredentialsRejected), Some(401)), "{error:?}");
}

/// MC-4
#[tokio::test]
async fn waits_for_a_server_that_is_coming_back_as_often_as_the_settings_say() {
    let server = ws::Server::start(None).await;
    let address = server.url().strip_prefix("ws://").unwrap().split('/').next().unwrap().to_owned();
    let proxy = testkit::tcp_proxy::TcpProxy::start(address.clone()).await;
    let url = server.url().replace(&address, &proxy.address().to_string());
    let service = remote(&url, json!({ "type": "ws", "reconnectInterval": 300, "maxRetries": 10 }));
    assert_eq!(text(&*service, "echo", json!({ "text": "a" })).await, "a");
    proxy.cut();
    assert!(is_true_soon(|| proxy.open() == 0).await);
    let back = async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        proxy.restore();
    };
    let begun = Instant::now();
    let (answer, ()) = tokio::join!(text(&*service, "echo", json!({ "text": "b" })), back);
    assert_eq!(answer, "b");
    assert!(begun.elapsed() >= Duration::from_millis(700));
    // One that does not come back is given up after so many attempts, and later callers do not wait.
    let service = remote(&url, json!({ "type": "ws", "reconnectInterval": 50, "maxRetries": 3 }));
    assert_eq!(text(&*service, "echo", json!({ "text": "a" })).await, "a");
    proxy.cut();
    assert!(is_true_soon(|| proxy.open() == 0).await);
    assert_eq!(error_of(&*service, "echo", json!({})).await.kind(), ErrorKind::Unavailable);
    let begun = Instant::now();
    let error = error_of(&*service, "echo", json!({})).await;
    assert!(begun.elapsed() < Duration::from_millis(300) && error.is_retryable(), "{error:?}");
}
