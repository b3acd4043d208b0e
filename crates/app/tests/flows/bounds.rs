//! Values and journals that would harm whoever reads them.

use crate::world::{PATIENCE, publish, run, start, until};
use serde_json::{Value, json};
use testkit::{Backend, TestApp, eventually, on_both_databases};

on_both_databases! {
    inputs_are_what_their_types_say
    a_value_that_wraps_itself_ends_its_run_alone
    a_run_whose_journal_cannot_be_read_fails
    what_comes_in_is_no_deeper_or_larger_than_a_value
}

/// So many lists in one another, as text.
fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

/// FL-17: the run fails, and the process goes on.
async fn a_value_that_wraps_itself_ends_its_run_alone(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = "
inputs: {n: int}
vars: {v: []}
nodes: {l: {vars: {i: 0}, when: i < n, max: 100000, nodes: {s: {sets: {v: '${[v]}', i: '${i + 1}'}}}}}
";
    publish(&app, app.database(), "deep", text).await;
    for n in [127, 300, 500, 5000] {
        let ended = run(&app, "deep", json!({ "n": n })).await.is(200);
        assert_eq!(ended.body["error"]["code"], "LIMIT", "{}", ended.text);
        assert!(ended.text.contains("64 levels"), "{}", ended.text);
        app.get(&format!("runs/{}/steps?limit=1000", ended.string("id"))).await.is(200);
    }
}

/// FL-17: a run whose journal holds what nobody can read ends, and everything about it works.
async fn a_run_whose_journal_cannot_be_read_fails(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "torn", "nodes: {a: {with: '1', next: b}, b: {wait: {signal: go}}}").await;
    let id = start(&app, "torn", json!({})).await;
    until(&app, &id, &["waiting"]).await;
    let mut connection = app.database().connect().await;
    let broken = format!("{{\"value\":{},\"exit\":\"next\"}}", nested(300));
    let sql = format!("UPDATE run_journal SET data = '{broken}' WHERE run = '{id}' AND kind = 'succeeded'");
    sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    app.post(&format!("runs/{id}/cancel"), json!({})).await.is(200);
    let ended = until(&app, &id, &["failed", "cancelled"]).await;
    assert_eq!(ended["error"]["code"], "INTERNAL", "{ended}");
    assert!(ended["error"]["message"].as_str().unwrap().contains("cannot be read"), "{ended}");
    app.get(&format!("runs/{id}/steps")).await.is(200);
    app.delete("flows/torn").await.is(204);
}

/// FL-17: inputs, signals and decisions are bounded where they come in.
async fn what_comes_in_is_no_deeper_or_larger_than_a_value(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = "inputs: {v: any?}\nnodes: {w: {wait: {signal: go}, next: ok}, ok: {approval: Go}}";
    publish(&app, app.database(), "waits", text).await;
    let deep: Value = serde_json::from_str(&nested(65)).unwrap();
    let refused = app.post("flows/waits/runs", json!({ "inputs": { "v": deep } })).await;
    let refused = refused.is_problem(422, "VALIDATION_FAILED");
    assert!(refused.text.contains("64 levels"), "{}", refused.text);
    app.post("flows/waits/runs", json!({ "wait_seconds": 301 })).await.is_problem(422, "VALIDATION_FAILED");
    let id = start(&app, "waits", json!({})).await;
    let signals = format!("runs/{id}/signals/go");
    app.post(&signals, json!({ "data": deep })).await.is(413);
    app.post(&signals, json!({ "data": "x".repeat(1024 * 1024) })).await.is(413);
    app.post(&signals, json!({ "key": "x".repeat(600) })).await.is_problem(422, "VALIDATION_FAILED");
    app.post(&signals, json!({ "data": 1 })).await.is(202);
    let mut asked = Value::Null;
    eventually("somebody is asked", PATIENCE, async || {
        asked = app.get("approvals").await.is(200).items().first().cloned().unwrap_or_default();
        !asked.is_null()
    })
    .await;
    let approval = format!("approvals/{}", asked["id"].as_str().unwrap());
    let decision = |data: Value| json!({ "decision": "approve", "data": data });
    app.post(&approval, decision(deep)).await.is_problem(422, "VALIDATION_FAILED");
    app.post(&approval, decision(Value::Null)).await.is(200);
    until(&app, &id, &["succeeded"]).await;
}

/// FL-1: what is no day, no time, no address or no number of 64 bits is refused by the name of its input, rather than
/// taken for something else.
async fn inputs_are_what_their_types_say(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = "
inputs:
  day: date?
  at: time?
  when: datetime?
  count: int?
  to: {type: string, format: email, default: ada@example.com}
nodes: {a: {with: '[day, at, when, count, to]'}}
";
    publish(&app, app.database(), "typed", text).await;
    let right = json!({ "day": "2028-02-29", "at": "10:30:00", "when": "2026-07-28T10:00:00+02:00",
        "count": i64::MAX, "to": "ada@example.com" });
    let ended = run(&app, "typed", right.clone()).await.is(200);
    assert_eq!(ended.body["output"][3], right["count"], "{}", ended.text);
    let least = run(&app, "typed", json!({ "count": i64::MIN })).await.is(200);
    assert_eq!(least.body["output"][3], i64::MIN, "{}", least.text);
    for (input, wrong) in [
        ("day", json!("2026-02-30")),
        ("day", json!("yesterday")),
        ("at", json!("25:00:00")),
        ("when", json!("2026-13-01T00:00:00Z")),
        ("count", json!(9_223_372_036_854_775_808_u64)),
        ("count", serde_json::from_str("18446744073709551616").unwrap()),
        ("count", serde_json::from_str("-9223372036854775809").unwrap()),
        ("to", json!("nobody")),
    ] {
        let refused = app.post("flows/typed/runs", json!({ "inputs": { input: wrong } })).await;
        let refused = refused.is_problem(422, "VALIDATION_FAILED");
        assert!(refused.text.contains(&format!("'{input}'")), "{}", refused.text);
    }
}
