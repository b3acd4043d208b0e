//! Attempts, pauses and the end of waiting.

use super::*;
use std::time::Instant;
use tool::ErrorKind;

/// AP-7
#[tokio::test]
async fn tries_again_until_the_service_recovers() {
    let server = Server::start().await;
    let api = with_tool(&server, json!({ "endpoint": "/flaky/2?key=a" }));
    assert_eq!(data(&call(&*api, json!({})).await.unwrap())["path"], "/flaky/2");
    assert_eq!(server.requests().len(), 3);
}

/// AP-7
#[tokio::test]
async fn gives_up_with_a_timeout_after_the_attempts_in_the_uri() {
    let server = Server::start().await;
    let api = with_tool(&server, json!({ "endpoint": "/slow/5000" }));
    let begin = Instant::now();
    let error = call_with(&*api, "?timeout=300&max-attempts=3", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.to_string(), "the service did not answer within 300 ms, 3 times");
    assert_eq!(server.requests().len(), 3);
    assert!(begin.elapsed() >= Duration::from_millis(900), "{:?}", begin.elapsed());
}

/// AP-7
#[tokio::test]
async fn gives_each_attempt_in_the_uri_the_whole_timeout() {
    let server = Server::start().await;
    let api = with_tool(&server, json!({ "endpoint": "/slow/700" }));
    call_with(&*api, "?timeout=1500&max-attempts=3", json!({})).await.unwrap();
    assert_eq!(server.requests().len(), 1);
    let error = call_with(&*api, "?timeout=200", json!({})).await.unwrap_err();
    // A busy machine spends some of the 200 ms before the request is sent.
    let text = error.to_string();
    let waited =
        text.strip_prefix("the service did not answer within ").and_then(|rest| rest.strip_suffix(" ms"));
    assert!(waited.unwrap().parse::<u32>().unwrap() <= 200, "{text}");
    assert_eq!(server.requests().len(), 2, "without max-attempts it is the time of the whole call");
}

#[tokio::test]
async fn gives_each_attempt_the_time_of_the_settings() {
    let server = Server::start().await;
    let service = json!({ "timeout_ms": 5_000, "retry": { "max_attempts": 2, "initial_delay_ms": 1 } });
    let api = with_settings(&server, service, json!({ "endpoint": "/slow/5000", "timeout_ms": 100 }));
    let error = error_of(&*api, json!({})).await;
    assert_eq!((error.kind(), error.context("attempts")), (ErrorKind::Timeout, Some("2")));
    assert_eq!(error.to_string(), "the service did not answer within 100 ms, 2 times");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn pauses_longer_each_time() {
    let server = Server::start().await;
    let retry = json!({ "retry": { "max_attempts": 4, "initial_delay_ms": 60, "max_delay_ms": 240 } });
    let api = with_settings(&server, retry, json!({ "endpoint": "/flaky/3?key=a" }));
    let begin = Instant::now();
    call(&*api, json!({})).await.unwrap();
    // At the least half of 60, 120 and 240.
    assert!(begin.elapsed() >= Duration::from_millis(210), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn repeats_no_post_whatever_the_caller_says() {
    let server = Server::start().await;
    let api = with_tool(&server, json!({ "endpoint": "/flaky/1?key=a", "method": "POST" }));
    let error = error_of(&*api, json!({})).await;
    assert_eq!((error.kind(), error.status()), (ErrorKind::Upstream, Some(503)));
    assert!(error.is_retryable());
    let api = with_tool(&server, json!({ "endpoint": "/flaky/1?key=b", "method": "POST" }));
    call_with(&*api, "?max-attempts=2", json!({})).await.unwrap_err();
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn gives_a_caller_less_than_the_service_allows_and_never_more() {
    let server = Server::start().await;
    let service = json!({ "timeout_ms": 200, "retry": { "max_attempts": 2, "initial_delay_ms": 1 } });
    let api = with_settings(&server, service, json!({ "endpoint": "/slow/5000" }));
    for (options, sent) in [
        ("?timeout=60000&max-attempts=20", 2),
        ("?timeout=60000", 4),
        ("?max-attempts=20", 6),
        ("?max-attempts=1", 7),
    ] {
        let error = call_with(&*api, options, json!({})).await.unwrap_err();
        assert!(
            error.to_string().starts_with("the service did not answer within 200 ms"),
            "{options}: {error}"
        );
        assert_eq!(server.requests().len(), sent, "{options}");
    }
}

#[tokio::test]
async fn repeats_a_tool_as_it_says_itself() {
    let server = Server::start().await;
    let search = json!({ "endpoint": "/flaky/1?key=a", "method": "POST", "idempotent": true });
    call(&*with_tool(&server, search), json!({})).await.unwrap();
    let counter = json!({ "endpoint": "/flaky/1?key=b", "method": "GET", "idempotent": false });
    error_of(&*with_tool(&server, counter), json!({})).await;
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn leaves_a_service_alone_that_fails_again_and_again() {
    let server = Server::start().await;
    let service =
        json!({ "retry": { "max_attempts": 1 }, "circuit_breaker": { "failures": 3, "open_ms": 300 } });
    let api = with_settings(&server, service, json!({ "endpoint": "/flaky/4?key=a" }));
    for _ in 0..3 {
        assert_eq!(error_of(&*api, json!({})).await.status(), Some(503));
    }
    let begin = Instant::now();
    let error = error_of(&*api, json!({})).await;
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::CircuitOpen, true), "{error:?}");
    assert!(begin.elapsed() < Duration::from_millis(200));
    assert_eq!(server.requests().len(), 3, "nothing is sent meanwhile");
    tokio::time::sleep(Duration::from_millis(320)).await;
    assert_eq!(error_of(&*api, json!({})).await.status(), Some(503), "the probe fails");
    assert_eq!(error_of(&*api, json!({})).await.kind(), ErrorKind::CircuitOpen);
    tokio::time::sleep(Duration::from_millis(320)).await;
    call(&*api, json!({})).await.unwrap();
    call(&*api, json!({})).await.unwrap();
}

#[tokio::test]
async fn does_not_blame_the_service_for_what_callers_do() {
    let server = Server::start().await;
    let service =
        json!({ "retry": { "max_attempts": 1 }, "circuit_breaker": { "failures": 1, "open_ms": 60_000 } });
    let missing = with_settings(&server, service.clone(), json!({ "endpoint": "/status/404" }));
    let busy = with_settings(&server, service.clone(), json!({ "endpoint": "/status/429" }));
    let slow =
        with_settings(&server, service, json!({ "endpoint": "/slow/400", "parameters": [{ "name": "a" }] }));
    for _ in 0..3 {
        assert_eq!(error_of(&*missing, json!({})).await.kind(), ErrorKind::Upstream);
        assert_eq!(error_of(&*busy, json!({})).await.kind(), ErrorKind::Upstream);
        assert_eq!(error_of(&*slow, json!({ "b": 1 })).await.kind(), ErrorKind::InvalidInput);
        let error = call_with(&*slow, "?timeout=50", json!({})).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
    }
}

#[tokio::test]
async fn does_not_repeat_what_will_not_get_better() {
    let server = Server::start().await;
    let api = with_tool(&server, json!({ "endpoint": "/status/404" }));
    error_of(&*api, json!({})).await;
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn waits_as_long_as_the_service_asks_if_there_is_time() {
    let server = Server::start().await;
    let retry = json!({ "retry": { "max_attempts": 2, "initial_delay_ms": 1 } });
    let api = with_settings(&server, retry.clone(), json!({ "endpoint": "/status/429?retry-after=1" }));
    let begin = Instant::now();
    let error = error_of(&*api, json!({})).await;
    assert_eq!((error.status(), error.context("attempts")), (Some(429), Some("2")));
    assert!(begin.elapsed() >= Duration::from_secs(1));
    let api = with_settings(&server, retry, json!({ "endpoint": "/status/503?retry-after=100" }));
    let begin = Instant::now();
    let error = error_of(&*api, json!({})).await;
    assert_eq!((error.status(), error.context("attempts")), (Some(503), None));
    assert!(begin.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn waits_until_the_date_the_service_names() {
    let server = Server::start().await;
    let retry = json!({ "retry": { "max_attempts": 2, "initial_delay_ms": 1 } });
    let endpoint = |date: std::time::SystemTime| {
        let date = httpdate::fmt_http_date(date).replace(' ', "%20").replace(',', "%2C");
        json!({ "endpoint": format!("/status/503?retry-after={date}") })
    };
    let now = std::time::SystemTime::now();
    let api = with_settings(&server, retry.clone(), endpoint(now + Duration::from_secs(2)));
    let begin = Instant::now();
    assert_eq!(error_of(&*api, json!({})).await.context("attempts"), Some("2"));
    assert!(begin.elapsed() >= Duration::from_millis(900), "{:?}", begin.elapsed());
    let api = with_settings(&server, retry.clone(), endpoint(now - Duration::from_secs(60)));
    let begin = Instant::now();
    assert_eq!(error_of(&*api, json!({})).await.context("attempts"), Some("2"), "the past is now");
    assert!(begin.elapsed() < Duration::from_secs(1));
    let api = with_settings(&server, retry, endpoint(now + Duration::from_secs(600)));
    assert_eq!(error_of(&*api, json!({})).await.context("attempts"), None, "later than the deadline");
}

#[tokio::test]
async fn calls_a_dropped_connection_unavailable_after_all_attempts() {
    let server = Server::start().await;
    let api = with_tool(&server, json!({ "endpoint": "/drop" }));
    let error = error_of(&*api, json!({})).await;
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn calls_a_name_that_is_none_unavailable() {
    let api = open(json!({
        "base_url": "http://no-such-host.invalid", "retry": { "max_attempts": 1 },
        "tools": [{ "id": "it", "endpoint": "/" }]
    }))
    .unwrap();
    let error = error_of(&*api, json!({})).await;
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error:?}");
}

#[tokio::test]
async fn calls_a_failed_tls_handshake_unavailable() {
    let server = Server::start().await;
    let base = json!({ "base_url": format!("https://{}", server.address()), "retry": { "max_attempts": 1 } });
    let error = error_of(&*with_settings(&server, base, json!({ "endpoint": "/x" })), json!({})).await;
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error:?}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn reuses_connections_and_keeps_to_the_cap() {
    let server = Server::start().await;
    let service = json!({ "max_concurrent_calls": 2 });
    let api = with_settings(&server, service, json!({ "endpoint": "/slow/20" }));
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let api = api.clone();
        calls.spawn(async move { call(&*api, json!({})).await.map(drop) });
    }
    while let Some(result) = calls.join_next().await {
        result.unwrap().unwrap();
    }
    assert_eq!(server.requests().len(), 10);
    assert!(server.connections() <= 2, "{} connections", server.connections());
}

#[tokio::test]
async fn health_takes_any_answer_but_not_a_gateway_that_gave_up() {
    let server = Server::start().await;
    for (path, is_healthy) in [("/status/404", true), ("/status/401", true), ("/status/503", false)] {
        let base = json!({ "base_url": format!("{}{path}", server.url()) });
        let api = with_settings(&server, base, json!({ "endpoint": "/" }));
        assert_eq!(api.health(&context(Duration::from_secs(5))).await.is_ok(), is_healthy, "{path}");
        assert_eq!(server.last().method, "HEAD");
    }
}
