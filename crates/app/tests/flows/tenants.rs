//! What one tenant's runs are to another's.

use crate::world::{publish, publish_in, shop, start, until};
use serde_json::json;
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    a_tenant_with_a_long_queue_keeps_no_other_waiting
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
