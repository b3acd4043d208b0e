//! One connection: made once, reused, made anew, and what passes through it.

use super::*;
use serde_json::value::RawValue;
use testkit::mcp::{RAW_RESULT, complete};
use tool::{Arguments, Event, Events};

/// MC-1
#[tokio::test]
async fn connects_on_first_use_once_for_many_callers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("starts");
    let service = stdio(&["--start-ms", "200", "--count-starts", file.to_str().unwrap()]);
    assert!(!file.exists(), "opening must start nothing");
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..50 {
        let service = service.clone();
        calls.spawn(async move {
            (number, text(&*service, "echo", json!({ "text": format!("{number}") })).await)
        });
    }
    while let Some(done) = calls.join_next().await {
        let (number, said) = done.unwrap();
        assert_eq!(said, number.to_string());
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
}

/// MC-2
#[tokio::test]
async fn discovers_tools_and_keeps_their_definitions_as_they_are() {
    let service = stdio(&["--bad-tool"]);
    let tools = service.tools(&context(Duration::from_secs(10))).await.unwrap();
    assert!(tools.is_sorted_by_key(|tool| tool.name().to_owned()));
    assert!(!tools.iter().any(|tool| tool.name() == "bad"));
    let echo = tools.iter().find(|tool| tool.name() == "echo").unwrap();
    assert!(echo.listed_as("echo", None).contains(r#""x-kept":{"z":1,"a":2}"#));
}

#[tokio::test]
async fn offers_only_the_tools_that_the_settings_let_through() {
    let service =
        stdio_with(&[], json!({ "includeTools": ["e*", "pid", "raw"], "excludeTools": ["env", "*w"] }));
    let tools = service.tools(&context(Duration::from_secs(10))).await.unwrap();
    assert_eq!(tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["echo", "pid"]);
    assert_eq!(error_of(&*service, "raw", json!({})).await.kind(), ErrorKind::NotFound);
}

/// MC-3
#[tokio::test]
async fn relays_arguments_and_results_byte_for_byte() {
    let service = stdio(&[]);
    assert_eq!(call(&*service, "raw", json!({})).await.unwrap().to_result(), RAW_RESULT);
    let arguments = r#"{ "b": 1.0,"a":9007199254740993, "c":"\u0041" }"#;
    let raw = RawValue::from_string(arguments.to_owned()).unwrap();
    let call = Call::new("params", Arguments::from_raw(raw).unwrap());
    let outcome = service.call(&context(Duration::from_secs(10)), call).await.unwrap();
    let result: Value = serde_json::from_str(&conformance::result_of(outcome).unwrap()).unwrap();
    let params = result["content"][0]["text"].as_str().unwrap();
    assert!(params.contains(&format!(r#""name":"params","arguments":{arguments}"#)), "{params}");
    let failed = super::call(&*service, "fails", json!({})).await.unwrap();
    assert!(failed.is_error());
}

#[tokio::test]
async fn keeps_the_codes_of_the_services_errors() {
    let service = stdio(&[]);
    let error = error_of(&*service, "unknown", json!({})).await;
    assert_eq!((error.kind(), error.reason()), (ErrorKind::Upstream, Some(Reason::UnknownOperation)));
    let error = error_of(&*service, "echo", json!({ "count": "x" })).await;
    assert_eq!((error.kind(), error.reason()), (ErrorKind::InvalidInput, None));
}

/// MC-4
#[tokio::test]
async fn connects_anew_when_the_process_has_died_between_calls() {
    let service = stdio(&[]);
    let first = text(&*service, "pid", json!({})).await;
    kill(&first);
    assert!(is_true_soon(|| !is_running(&first)).await);
    let second = text(&*service, "pid", json!({})).await;
    assert_ne!(first, second);
}

/// MC-4
#[tokio::test]
async fn a_call_under_way_when_the_process_dies_fails_and_is_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("starts");
    let service = stdio(&["--count-starts", file.to_str().unwrap()]);
    let error = error_of(&*service, "die", json!({})).await;
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error:?}");
    assert!(error.message().contains("exit status: 7"), "{error}");
    assert!(error.context("stderr").unwrap().contains("panicked at the worst moment"));
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
    assert_eq!(text(&*service, "echo", json!({ "text": "again" })).await, "again");
}

#[tokio::test]
async fn tells_when_the_tools_have_changed() {
    let service = stdio(&[]);
    let mut changes = service.changes().unwrap();
    let cx = context(Duration::from_secs(10));
    assert!(!service.tools(&cx).await.unwrap().iter().any(|tool| tool.name() == "new"));
    text(&*service, "change", json!({})).await;
    tokio::time::timeout(Duration::from_secs(5), changes.changed()).await.unwrap().unwrap();
    assert!(service.tools(&cx).await.unwrap().iter().any(|tool| tool.name() == "new"));
    assert_eq!(text(&*service, "new", json!({})).await, "new");
}

#[tokio::test]
async fn progress_reaches_the_caller() {
    let service = stdio(&[]);
    let mut cx = context(Duration::from_secs(10));
    let (events, mut rx) = Events::channel(16);
    cx.events = events;
    let arguments: Map<String, Value> = serde_json::from_value(json!({ "n": 3 })).unwrap();
    service.call(&cx, conformance::call("progress", arguments)).await.unwrap();
    let mut seen = Vec::new();
    while let Some(Event::Progress { progress, total, .. }) = rx.take() {
        seen.push((progress, total));
    }
    assert_eq!(seen, [(0.0, Some(3.0)), (1.0, Some(3.0)), (2.0, Some(3.0))]);
}

#[tokio::test]
async fn tells_the_server_when_a_caller_stops_waiting() {
    let service = stdio(&[]);
    let error = call_within(&*service, "never", json!({}), Duration::from_millis(700)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let seen = text(&*service, "seen", json!({})).await;
    assert!(seen.contains("notifications/cancelled") && seen.contains("\"requestId\":"), "{seen}");
    // A future that is simply dropped says so too.
    let cx = context(Duration::from_secs(10));
    let dropped = service.call(&cx, conformance::call("never", Map::new()));
    assert!(tokio::time::timeout(Duration::from_millis(200), dropped).await.is_err());
    let seen = text(&*service, "seen", json!({})).await;
    assert_eq!(seen.matches("notifications/cancelled").count(), 2, "{seen}");
}

#[tokio::test]
async fn answers_what_the_server_asks() {
    let service = stdio(&[]);
    text(&*service, "ask", json!({})).await;
    let mut seen = String::new();
    for _ in 0..50 {
        seen = text(&*service, "seen", json!({})).await;
        if seen.contains("q3") {
            break;
        }
    }
    assert!(seen.contains(r#""id":"q1","result":{}"#), "{seen}");
    assert!(seen.contains(r#""id":"q2","error":{"code":-32601"#), "{seen}");
}

#[tokio::test]
async fn takes_every_version_with_a_handshake_and_names_others() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        assert_eq!(text(&*stdio(&["--version", version]), "echo", json!({ "text": "x" })).await, "x");
    }
    let error = error_of(&*stdio(&["--version", "1999-01-01"]), "echo", json!({})).await;
    assert!(error.message().contains("1999-01-01"), "{error}");
}

#[tokio::test]
async fn starts_another_process_for_a_server_without_a_handshake() {
    let service = stdio(&["--modern"]);
    assert_eq!(
        call(&*service, "raw", json!({})).await.unwrap().to_result(),
        complete("tools/call", RAW_RESULT)
    );
    service.health(&context(Duration::from_secs(5))).await.unwrap();
    let error = call_within(&*service, "never", json!({}), Duration::from_millis(300)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(text(&*service, "seen", json!({})).await.contains("notifications/cancelled"));
}

#[tokio::test]
async fn closes_an_idle_connection_and_opens_it_again() {
    let service = stdio_with(&[], json!({ "idle_timeout": 150 }));
    let first = text(&*service, "pid", json!({})).await;
    assert!(is_true_soon(|| !is_running(&first)).await);
    assert_ne!(text(&*service, "pid", json!({})).await, first);
    // A call that takes longer than the limit is no idleness.
    assert_eq!(text(&*service, "slow", json!({ "ms": 600, "text": "done" })).await, "done");
}

#[tokio::test]
async fn health_connects_and_pings() {
    let cx = context(Duration::from_secs(10));
    stdio(&[]).health(&cx).await.unwrap();
    assert_eq!(stdio(&["--crash"]).health(&cx).await.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn keeps_to_the_cap_of_concurrent_calls() {
    let service = stdio_with(&[], json!({ "max_concurrent_calls": 1 }));
    text(&*service, "echo", json!({})).await;
    let begin = Instant::now();
    let slow = || text(&*service, "slow", json!({ "ms": 150, "text": "x" }));
    tokio::join!(slow(), slow(), slow());
    assert!(begin.elapsed() >= Duration::from_millis(450), "{:?}", begin.elapsed());
}
