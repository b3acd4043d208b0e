//! What one tenant's runs are to another's, and how long they are there.

use crate::world::{PATIENCE, publish, publish_in, publish_over_rest, shop, start, until};
use serde_json::json;
use sqlx::{AssertSqlSafe, Executor as _};
use store::PageRequest;
use store::runs::RunFilter;
use testkit::{Backend, TestApp, eventually, http, on_both_databases};

on_both_databases! {
    a_tenant_with_a_long_queue_keeps_no_other_waiting
    runs_of_a_tenant_that_is_off_wait
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

/// FL-25: while a tenant is disabled its runs neither go on nor fail, and its triggers fire nothing; then they go on.
async fn runs_of_a_tenant_that_is_off_wait(backend: Backend) {
    let app = TestApp::start(backend).await;
    let (acme, upstream) = (app.with_tenant("acme").await, http::Server::start().await);
    acme.post("services", shop(&upstream)).await.is(201);
    let queue = json!({ "type": "mq", "id": "q", "config": {}, "tools": [{ "id": "in", "peek": true }] });
    acme.post("services", queue).await.is(201);
    let parked = "nodes: {w: {wait: 1500, next: s}, s: {exec: 'mq://q/in', args: {message: {a: 1}}}}";
    let busy = "
nodes:
  many:
    each: '[1, 2, 3, 4, 5, 6] => n'
    nodes: {w: {wait: 100, next: s}, s: {exec: 'mq://q/in', delivery: at_most_once, args: {message: {b: '${n}'}}}}
output: '${size(many)}'
";
    let ticks =
        "triggers: [{type: schedule, name: t, cron: '* * * * * *', overlap: allow}]\nnodes: {a: {with: '1'}}";
    // Under way when the tenant is switched off, and with the next call to make.
    let calls = |more: &str| {
        format!(
            "nodes: {{s: {{exec: 'api://shop/slow', args: {{ms: 1000}}, next: t}}, t: {{exec: 'api://shop/ship', args: {{id: \"'1'\"}}{more}}}}}"
        )
    };
    let (often, once) = (calls(""), calls(", delivery: at_most_once"));
    for (flow, text) in
        [("parked", parked), ("busy", busy), ("ticks", ticks), ("often", &often), ("once", &once)]
    {
        publish_over_rest(&acme, flow, text).await;
    }
    let total = async || acme.get("runs?flow=ticks&limit=1").await.is(200).body["total"].as_u64().unwrap();
    eventually("the schedule has begun", PATIENCE, async || total().await > 0).await;
    let (parked, busy) = (start(&acme, "parked", json!({})).await, start(&acme, "busy", json!({})).await);
    let under_way = [start(&acme, "often", json!({})).await, start(&acme, "once", json!({})).await];
    eventually("the calls are under way", PATIENCE, async || upstream.requests().len() == 2).await;
    let switch = async |status: &str| app.patch("tenants/acme", json!({ "status": status })).await.is(200);
    switch("disabled").await;
    let (store, tenant) = (crate::world::store(app.database()).await, "acme".parse().unwrap());
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let live = RunFilter { flow: Some("ticks".into()), ..RunFilter::default() };
    let count = async || store.runs().list(&tenant, &live, PageRequest::default()).await.unwrap().total;
    let before = count().await;
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    assert_eq!(count().await, before, "a trigger of a tenant that is off has fired");
    for id in [&parked, &busy, &under_way[0], &under_way[1]] {
        let run = store.runs().get(&tenant, &id.parse().unwrap()).await.unwrap();
        assert!(!run.state.is_ended(), "{run:?}");
    }
    store.close().await;
    switch("active").await;
    let ended = until(&acme, &parked, &["succeeded", "failed"]).await;
    assert_eq!(ended["state"], "succeeded", "{ended}");
    let ended = until(&acme, &busy, &["succeeded", "failed"]).await;
    assert_eq!(ended["output"], 6, "{ended}");
    for id in &under_way {
        let ended = until(&acme, id, &["succeeded", "failed"]).await;
        assert_eq!(ended["state"], "succeeded", "{ended}");
    }
    let of = |path: &str| upstream.requests().iter().filter(|request| request.path == path).count();
    assert_eq!((of("/slow/1000"), of("/ship")), (2, 2), "each call is made once");
}
