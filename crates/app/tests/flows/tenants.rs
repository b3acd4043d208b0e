//! What one tenant's runs are to another's, and how long they are there.

use crate::world::{PATIENCE, publish, publish_in, shop, start, until};
use serde_json::json;
use sqlx::{AssertSqlSafe, Executor as _};
use testkit::{Backend, TestApp, eventually, http, on_both_databases};

on_both_databases! {
    a_tenant_with_a_long_queue_keeps_no_other_waiting
    runs_that_ended_long_ago_are_deleted_and_no_others
}

/// FL-25: more than one tenant may have under way is waiting; another's run begins and ends all the same.
async fn a_tenant_with_a_long_queue_keeps_no_other_waiting(backend: Backend) {
    const MANY: usize = 140;
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.service(shop(&upstream)).await;
    let (other, tenant) = (app.with_tenant("other").await, "other".parse().unwrap());
    publish(&app, app.database(), "slow", "nodes: {s: {exec: 'api://shop/slow', args: {ms: 20000}}}").await;
    publish_in(&other, app.database(), &tenant, "quick", "nodes: {w: {wait: 100}}").await;
    for _ in 0..MANY {
        start(&app, "slow", json!({})).await;
    }
    let quick = start(&other, "quick", json!({})).await;
    until(&other, &quick, &["succeeded"]).await;
    let queued = app.get("runs?flow=slow&state=queued&limit=1").await.is(200).body["total"].as_u64().unwrap();
    assert!(queued > 0, "the queue was gone before the other's turn came");
}

/// FL-31: those that succeeded go after a week, those that failed after a month, those that live never.
async fn runs_that_ended_long_ago_are_deleted_and_no_others(backend: Backend) {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    let app = TestApp::start(backend).await;
    let text = "inputs: {how: string}\nnodes: {c: {case: [{when: how == 'well', then: ok}, {when: how == 'badly', then: bad}], else: w}, ok: {with: '1'}, bad: {throw: gone}, w: {wait: {signal: go}}}";
    publish(&app, app.database(), "ends", text).await;
    let mut runs = Vec::new();
    for (how, state, days) in [
        ("well", "succeeded", 8),
        ("well", "succeeded", 6),
        ("badly", "failed", 31),
        ("badly", "failed", 29),
        ("never", "waiting", 99),
    ] {
        let run = start(&app, "ends", json!({ "how": how })).await;
        until(&app, &run, &[state]).await;
        runs.push((run, days));
    }
    let (database, key) = (app.database().clone(), app.key().unwrap().to_owned());
    app.stop().await;
    let mut connection = database.connect().await;
    for (run, days) in &runs {
        let sql = format!(
            "UPDATE runs SET created_at = created_at - {ms}, ended_at = ended_at - {ms} WHERE id = '{run}'",
            ms = days * DAY_MS
        );
        connection.execute(AssertSqlSafe(sql)).await.unwrap();
    }
    drop(connection);
    let again = TestApp::restart(&database).await;
    let app = again.as_key(key);
    let status = async |at: usize| app.get(&format!("runs/{}", runs[at].0)).await.status;
    eventually("the old ones are gone", PATIENCE, async || status(0).await == 404 && status(2).await == 404)
        .await;
    for at in [1, 3, 4] {
        assert_eq!(status(at).await, 200, "run {at} has gone, too");
    }
    app.post(&format!("runs/{}/signals/go", runs[4].0), json!({})).await.is(202);
    until(&app, &runs[4].0, &["succeeded"]).await;
}
