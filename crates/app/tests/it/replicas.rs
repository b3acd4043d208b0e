//! Two servers on one database: what one is told, the other knows within a second.

use crate::setup::{PATIENCE, audited, crm};
use serde_json::json;
use std::time::{Duration, Instant};
use testkit::{Backend, TestApp, eventually, http, on_both_databases};

on_both_databases! { sees_the_changes_of_another_replica }

/// A busy machine may be slow once; a replica that polls every few seconds would fail all three.
async fn within_a_second(
    what: &str,
    mut change: impl AsyncFnMut(u32),
    mut is_seen: impl AsyncFnMut(u32) -> bool,
) {
    let mut times = Vec::new();
    for round in 0..3 {
        change(round).await;
        let begun = Instant::now();
        eventually(what, PATIENCE, async || is_seen(round).await).await;
        times.push(begun.elapsed());
    }
    assert!(times.iter().any(|time| *time < Duration::from_secs(1)), "{what}: {times:?}");
}

async fn sees_the_changes_of_another_replica(backend: Backend) {
    let upstream = http::Server::start().await;
    let one = TestApp::start(backend).await;
    let two = one.replica("two").await;
    one.service(crm(&upstream)).await;
    eventually("the service is there", PATIENCE, async || two.tool_names().await.len() == 4).await;
    two.call("api://crm/ping", json!({})).await.is(200);
    within_a_second(
        "a switched service",
        async |round| {
            let verb = if round % 2 == 0 { "disable" } else { "enable" };
            one.post(&format!("services/api/crm/{verb}"), json!({})).await.is(200);
        },
        async |round| {
            let status = two.call("api://crm/ping", json!({})).await.status;
            status == if round % 2 == 0 { 409 } else { 200 }
        },
    )
    .await;
    one.post("services/api/crm/enable", json!({})).await.is(200);
    let made = std::cell::RefCell::new((one.as_nobody(), String::new()));
    within_a_second(
        "a new key",
        async |round| {
            let reply = two.post("keys", json!({ "name": format!("k{round}") })).await.is(201);
            made.replace((one.as_key(reply.string("key")), format!("keys/{}", reply.string("id"))));
        },
        async |_| {
            let client = made.borrow().0.clone();
            client.get("auth/me").await.status == 200
        },
    )
    .await;
    let (key, path) = made.into_inner();
    two.delete(&path).await.is(204);
    eventually("the key is gone", PATIENCE, async || key.get("auth/me").await.status == 401).await;
    // Tokens of one are good at the other, and void at both.
    two.post("users", json!({ "username": "ada", "password": "correct horse" })).await.is(201);
    let login = json!({ "username": "ada", "password": "correct horse" });
    let token = two.post("auth/login", login).await.is(200).string("token");
    let at_one = one.as_key(&token);
    eventually("the token works", PATIENCE, async || at_one.get("auth/me").await.status == 200).await;
    two.as_key(&token).post("auth/logout", json!({})).await.is(204);
    eventually("the token is void", PATIENCE, async || at_one.get("auth/me").await.status == 401).await;
    two.call("api://crm/fail", json!({})).await;
    audited(&one, "tool=crm__fail", 1).await;
}
