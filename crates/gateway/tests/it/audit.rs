//! Every call leaves one record, whatever becomes of it.

use crate::support::*;
use gateway::audit::Status;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tool::{Caller, ErrorKind, Role};

/// HT-5.6
#[tokio::test]
async fn records_answers_failures_and_refusals() {
    let world = World::with(vec![service("m", json!({}))]).await;
    world.call("m__find", json!({ "query": "x" })).await.unwrap();
    world.call("memory://m/down", json!({ "password": "hunter2" })).await.unwrap_err();
    world.call("m__find", json!({})).await.unwrap_err();
    world.call("m__nope", json!({ "api_key": "hunter2" })).await.unwrap_err();
    let viewer = context_of(Caller { role: Role::Viewer, ..Caller::local() });
    world.call_as(&viewer, "m__say", json!({})).await.unwrap_err();

    let entries = world.audited().await;
    let seen: Vec<_> = entries.iter().map(|e| (e.tool.as_str(), e.status, e.code)).collect();
    assert_eq!(
        seen,
        [
            ("m__find", Status::Ok, None),
            ("m__down", Status::Error, Some(ErrorKind::Unavailable)),
            ("m__find", Status::Refused, Some(ErrorKind::InvalidInput)),
            ("m__nope", Status::Refused, Some(ErrorKind::NotFound)),
            ("m__say", Status::Refused, Some(ErrorKind::Denied)),
        ]
    );
    assert_eq!(entries[0].arguments, r#"{"query":"x"}"#);
    assert_eq!(entries[0].uri.as_deref(), Some("memory://m/find"));
    assert_eq!((entries[0].tenant.as_str(), entries[0].caller.as_str()), ("acme", "local"));
    assert!(entries.iter().all(|entry| !entry.arguments.contains("hunter2")));
}

#[tokio::test]
async fn loses_nothing_while_the_audit_is_down() {
    let world = World::with(vec![service("m", json!({}))]).await;
    world.sink.is_down.store(true, Ordering::SeqCst);
    for _ in 0..1000 {
        world.call("m__say", json!({})).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(world.sink.entries.lock().unwrap().is_empty());
    world.sink.is_down.store(false, Ordering::SeqCst);
    let entries = world.audited().await;
    assert_eq!(entries.len(), 1000);
    let ids: std::collections::HashSet<_> = entries.iter().map(|entry| &entry.id).collect();
    assert_eq!(ids.len(), 1000);
}

#[tokio::test]
async fn counts_huge_arguments_instead_of_keeping_them() {
    let world = World::with(vec![service("m", json!({}))]).await;
    world.call("m__say", json!({ "text": "x".repeat(100_000) })).await.unwrap();
    let entries = world.audited().await;
    assert_eq!(entries[0].arguments, r#"{"omitted":"100011 bytes of arguments"}"#);
}

#[tokio::test]
async fn a_flush_waits_for_what_was_handed_over() {
    let world = World::with(vec![service("m", json!({}))]).await;
    for n in 1..20 {
        world.call("m__say", json!({})).await.unwrap();
        world.gateway.audit().flush(Duration::from_secs(5)).await;
        assert_eq!(world.sink.entries.lock().unwrap().len(), n);
    }
    world.sink.is_down.store(true, Ordering::SeqCst);
    world.call("m__say", json!({})).await.unwrap();
    world.gateway.audit().flush(Duration::from_millis(50)).await;
    assert_eq!(world.sink.entries.lock().unwrap().len(), 19, "it gives up in time");
    world.sink.is_down.store(false, Ordering::SeqCst);
}
