//! A call's way through the pipeline, and every way it can fail.

use crate::support::*;
use serde_json::json;
use std::time::{Duration, Instant};
use tool::ErrorKind;

/// HT-5.1, HT-5.3, HT-5.4
#[tokio::test]
async fn runs_a_tool_by_name_and_by_uri() {
    let world = World::with(vec![service("m", json!({ "greeting": "hello" }))]).await;
    let expected = r#"{"content":[{"type":"text","text":"hello"}],"isError":false}"#;
    assert_eq!(world.call("m__say", json!({})).await.unwrap(), expected);
    assert_eq!(world.call("memory://m/say?timeout=5000", json!({})).await.unwrap(), expected);
}

/// HT-5.2
#[tokio::test]
async fn refuses_bad_arguments_before_anything_is_sent() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let error = world.call("m__find", json!({})).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::InvalidInput, "Missing required parameter 'query'")
    );
    let error = world.call("m__find", json!({ "query": "x", "page": 1 })).await.unwrap_err();
    assert_eq!(error.message(), "Unknown parameter 'page'; leave it out");
    let find = world.call("m__find", json!({ "query": "x" })).await.unwrap();
    assert!(find.contains(r#""structuredContent":{"query":"x"}"#), "{find}");
}

/// Whoever takes something away for good has to know how much of it the caller will see.
#[tokio::test]
async fn tells_the_connector_how_large_an_answer_may_be() {
    let world = World::with(vec![service("m", json!({ "echoes": ["room"] }))]).await;
    let all = world.call("m__room", json!({})).await.unwrap();
    assert!(all.contains(r#""room":10000"#), "{all}");
    for (wanted, room) in [(500, 500), (50_000, 10_000)] {
        let cx = tool::Context { result_bytes: Some(wanted), ..context() };
        let less = world.call_as(&cx, "m__room", json!({})).await.unwrap();
        assert!(less.contains(&format!(r#""room":{room}"#)), "{less}");
    }
}

/// Since when a service is in trouble is when it got there, and not when it last said what it has.
#[tokio::test]
async fn remembers_since_when_a_service_is_in_trouble() {
    let world = World::with(vec![service("m", json!({ "echoes": ["trouble"] }))]).await;
    let catalog = world.gateway.catalog().tenant(&"acme".parse().unwrap()).unwrap();
    let service = catalog.service("memory", "m").unwrap();
    let pause = async || tokio::time::sleep(Duration::from_millis(20)).await;
    let mut since = service.since_ms();
    for is_troubled in [true, false] {
        pause().await;
        world.call("m__trouble", json!({ "is": is_troubled })).await.unwrap_err();
        assert!(service.since_ms() > since, "{is_troubled}");
        since = service.since_ms();
        pause().await;
        assert_eq!(service.trouble().is_some(), is_troubled);
        world.call("m__say", json!({})).await.unwrap();
        assert_eq!(
            (service.trouble().is_some(), service.since_ms()),
            (is_troubled, since),
            "it is as it was"
        );
    }
}

/// UR-3
#[tokio::test]
async fn says_what_is_not_there() {
    let world = World::with(vec![service("m", json!({}))]).await;
    for (target, message) in [
        ("m__nope", "Tool 'm__nope' not found"),
        ("nope", "Tool 'nope' not found"),
        ("unknown://service/tool", "there is no tool type 'unknown' (in unknown://service/tool)"),
        ("memory://nope/say", "there is no service memory://nope"),
        ("memory://m/nope", "service memory://m has no tool 'nope'"),
    ] {
        let error = world.call(target, json!({})).await.unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::NotFound, message));
    }
}

/// SC-2
#[tokio::test]
async fn answers_for_a_disabled_service_however_it_is_asked() {
    let mut off = service("m", json!({}));
    off.is_enabled = false;
    let world = World::with(vec![off]).await;
    for target in ["m__say", "m__anything", "memory://m/say"] {
        let error = world.call(target, json!({})).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ServiceDisabled, "{target}");
        assert!(error.message().contains("memory://m is disabled"), "{error}");
    }
    assert!(world.gateway.list(&context()).is_empty());
}

#[tokio::test]
async fn a_broken_service_hurts_nobody_else() {
    let world = World::with(vec![service("bad", json!({ "typo": 1 })), service("m", json!({}))]).await;
    let error = world.call("memory://bad/say", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    assert!(error.message().contains("Unknown setting 'typo'"), "{error}");
    assert!(world.call("m__say", json!({})).await.is_ok());
}

#[tokio::test]
async fn ends_at_the_deadline_of_the_uri() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let begun = Instant::now();
    let error = world.call("memory://m/sleep?timeout=50", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.service(), Some("m"));
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn drops_a_connector_that_does_not_stop() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let error = world.call("memory://m/stubborn?timeout=50", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let cx = context();
    cx.cancel.cancel();
    let error = world.call_as(&cx, "m__stubborn", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[tokio::test]
async fn survives_a_connector_that_panics() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let error = world.call("m__panic", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert!(world.call("m__say", json!({})).await.is_ok());
}

#[tokio::test]
async fn shapes_what_the_tool_answers() {
    let world = World::with(vec![service("m", json!({ "select": "items[].n" }))]).await;
    let result = world.call("m__data", json!({})).await.unwrap();
    assert!(result.contains(r#""structuredContent":[1,2]"#), "{result}");
}
