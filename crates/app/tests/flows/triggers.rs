//! Flows that start by themselves: by the clock, and by requests of others.

use crate::world::{PATIENCE, publish_with, until};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::Write as _;
use std::process::Stdio;
use store::flows::NewTrigger;
use testkit::client::{send, send_json};
use testkit::process::sheltered;
use testkit::{Backend, Reply, TestApp, eventually, on_both_databases};
use tool::{Secret, TenantId};

on_both_databases! {
    a_schedule_fires_once_whoever_looks_at_the_clock
    a_webhook_starts_a_run_once_for_a_signed_request
    a_change_of_a_table_starts_a_run
}

fn trigger(name: &str, kind: &str) -> NewTrigger {
    NewTrigger { name: name.into(), kind: kind.into(), settings: "{}".into() }
}

/// FL-27: at every instant one run begins, however many processes there are; switched off, none.
async fn a_schedule_fires_once_whoever_looks_at_the_clock(backend: Backend) {
    let app = TestApp::start(backend).await;
    let other = app.replica("other").await;
    let text = "
triggers: [{type: schedule, name: tick, cron: '* * * * * *', overlap: allow, inputs: {at: '${trigger.at}'}}]
inputs: {at: string}
nodes: {a: {with: at}}
";
    publish_with(&app, app.database(), "ticks", text, vec![trigger("tick", "schedule")]).await;
    let runs = async || app.get("runs?flow=ticks&state=succeeded&limit=1000").await.is(200).items();
    eventually("it has fired", PATIENCE, async || runs().await.len() >= 3).await;
    let store = crate::world::store(app.database()).await;
    let tenant = TenantId::default_tenant();
    store.flows().set_trigger_enabled(&tenant, "ticks", "tick", false).await.unwrap();
    let mut instants = Vec::new();
    for run in runs().await {
        assert_eq!(run["trigger"], json!({ "type": "schedule", "name": "tick" }));
        let view = other.get(&format!("runs/{}", run["id"].as_str().unwrap())).await.is(200).body;
        instants.push(view["output"].as_str().unwrap().to_owned());
    }
    let distinct: HashSet<_> = instants.iter().collect();
    assert_eq!(distinct.len(), instants.len(), "{instants:?}");
    assert!(instants.iter().all(|at| at.ends_with(".000Z")), "{instants:?}");
    store.close().await;
    // It is looked at every second: what began meanwhile has ended soon.
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let count = runs().await.len();
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(runs().await.len(), count, "it is off");
}

/// A signature as other programs make it.
fn signed(secret: &str, body: &str) -> String {
    let mut openssl = sheltered("openssl")
        .args(["dgst", "-sha256", "-hmac", secret, "-r"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    openssl.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    let output = openssl.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap().to_owned()
}

/// FL-28, FL-29: a request that is signed starts a run, once for each key; any other starts none.
async fn a_webhook_starts_a_run_once_for_a_signed_request(backend: Backend) {
    const SECRET: &str = "a-secret-of-the-sender";
    let app = TestApp::start(backend).await;
    let text = "
triggers: [{type: webhook, name: paid, auth: hmac, header: x-sign, prefix: 'sha256='}]
inputs: {order: string, body: any}
nodes: {a: {with: {order: '${order}', whole: '${body}', headers: '${trigger.headers}'}}}
";
    publish_with(&app, app.database(), "paid", text, vec![trigger("paid", "webhook")]).await;
    let (store, tenant) = (crate::world::store(app.database()).await, TenantId::default_tenant());
    store.flows().set_trigger_secret(&tenant, "paid", "paid", "h-1", &Secret::new(SECRET)).await.unwrap();
    let post = async |hook: &str, body: &str, signature: &str, key: Option<&str>| -> Reply {
        let mut request =
            app.as_nobody().request(Method::POST, &format!("/hooks/{hook}")).body(body.to_owned());
        request = request.header("x-sign", signature).header("x-other", "seen");
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        send(request).await
    };
    let body = r#"{"order":"7","euro":5}"#;
    let signature = format!("sha256={}", signed(SECRET, body));
    let first = post("h-1", body, &signature, Some("k1")).await.is(202);
    let ended = until(&app, &first.string("run_id"), &["succeeded", "failed"]).await;
    assert_eq!(ended["output"]["order"], "7", "{ended}");
    assert_eq!(ended["output"]["whole"], json!({ "order": "7", "euro": 5 }));
    assert_eq!(ended["output"]["headers"]["x-other"], "seen");
    assert_eq!(ended["output"]["headers"].get("x-sign"), None, "what proves the sender is not passed on");
    assert_eq!(ended["trigger"], json!({ "type": "webhook", "name": "paid" }));
    let second = post("h-1", body, &signature, Some("k1")).await.is(202);
    assert_eq!(
        (second.string("run_id"), &second.body["deduplicated"]),
        (first.string("run_id"), &json!(true))
    );
    post("h-1", body, &signature, Some("k2")).await.is(202);
    for wrong in [format!("sha256={}", signed("another", body)), "sha256=".into(), "x".into(), String::new()]
    {
        post("h-1", body, &wrong, None).await.is_problem(401, "UNAUTHENTICATED");
    }
    post("h-1", r#"{"order":"8"}"#, &signature, None).await.is_problem(401, "UNAUTHENTICATED");
    post("h-2", body, &signature, None).await.is_problem(404, "NOT_FOUND");
    let misfit = r#"{"order":8}"#;
    let signature = format!("sha256={}", signed(SECRET, misfit));
    post("h-1", misfit, &signature, None).await.is_problem(422, "VALIDATION_FAILED");
    let large = "x".repeat(10 * 1024 * 1024);
    post("h-1", &large, &signature, None).await.is(413);
    assert_eq!(app.get("runs?flow=paid").await.is(200).body["total"], 2);
    let event: Value = json!({ "event": { "body": { "order": "9" }, "headers": {} } });
    let fired = app.post("flows/paid/triggers/paid/fire", event).await.is(202);
    assert_eq!(until(&app, &fired.string("id"), &["succeeded"]).await["output"]["order"], "9");
    store.flows().set_trigger_enabled(&tenant, "paid", "paid", false).await.unwrap();
    let signature = format!("sha256={}", signed(SECRET, body));
    post("h-1", body, &signature, None).await.is_problem(404, "NOT_FOUND");
    store.close().await;
}

/// Each version of a table that changes something where the trigger looks is a run, once.
async fn a_change_of_a_table_starts_a_run(backend: Backend) {
    let app = TestApp::start(backend).await;
    let _other = app.replica("other").await;
    let table = json!({ "name": "shop", "data": { "orders": [{ "id": 1 }], "notes": [] } });
    let table = app.post("tables", table).await.is(201).string("id");
    let text = format!(
        "triggers: [{{type: table, name: orders, table: {table}, json_path: /orders, on: add}}]\ninputs: {{change: any}}\nnodes: {{a: {{with: change.entries}}}}"
    );
    publish_with(&app, app.database(), "orders", &text, vec![trigger("orders", "table")]).await;
    let store = crate::world::store(app.database()).await;
    eventually("the trigger has seen the table", PATIENCE, async || {
        let kept = store.flows().triggers(&TenantId::default_tenant(), "orders").await.unwrap();
        kept[0].mark.is_some()
    })
    .await;
    store.close().await;
    let data = format!("tables/{table}/data");
    app.post(&format!("{data}?json_path=/notes"), json!({ "data": "x" })).await.is(201);
    app.post(&format!("{data}?json_path=/orders"), json!({ "data": { "id": 2 } })).await.is(201);
    let put = app.request(Method::PUT, &format!("{data}?json_path=/orders/0"));
    send_json(put, &json!({ "data": { "id": 9 } })).await.is(200);
    app.post(&format!("{data}?json_path=/orders"), json!({ "data": { "id": 3 } })).await.is(201);
    let runs = async || app.get("runs?flow=orders&state=succeeded").await.is(200).items();
    eventually("both additions are runs", PATIENCE, async || runs().await.len() >= 2).await;
    let mut added = Vec::new();
    for run in runs().await {
        let view = app.get(&format!("runs/{}", run["id"].as_str().unwrap())).await.is(200).body;
        added.push(view["output"][0]["after"]["id"].clone());
    }
    added.sort_by_key(Value::to_string);
    assert_eq!(added, [2, 3]);
}
