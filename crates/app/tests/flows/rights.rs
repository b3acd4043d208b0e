//! What runs may reach: what their publisher might, and of a draft no more than whoever tries it out.

use crate::world::{PATIENCE, draft, publish, publish_over_rest, run, shop, start, until};
use serde_json::json;
use std::time::Duration;
use testkit::model::{Model, Reply};
use testkit::{Backend, TestApp, eventually, http, on_both_databases};
use tool::TenantId;

on_both_databases! {
    a_draft_reaches_what_whoever_tries_it_might
    an_allow_list_holds_for_runs_that_begin_again
    an_allow_list_holds_for_the_version_of_a_replay
    many_runs_are_steered_by_those_who_see_them
    a_run_reaches_what_its_publisher_might
    a_trigger_reaches_what_its_publisher_might
    an_agent_in_a_flow_has_the_rights_of_the_publisher
}

const ORDER: &str = "nodes: {o: {exec: 'api://shop/order', args: {id: \"'1'\"}}}";
const LOST: &str = "nodes: {o: {exec: 'api://shop/lost'}}";

/// FL-32: nobody has published a draft, so that an allow-list holds for its calls.
async fn a_draft_reaches_what_whoever_tries_it_might(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    draft(app.database(), "tried", LOST).await;
    draft(app.database(), "listed", ORDER).await;
    let key = json!({ "name": "ann", "role": "manager", "allow": ["api://shop/order", "flow://*"] });
    let ann = app.with_key(key).await;
    let try_out = async |flow: &str| {
        let body = json!({ "version": "draft", "wait_seconds": 30 });
        ann.post(&format!("flows/{flow}/runs"), body).await.is(200)
    };
    assert_eq!(try_out("listed").await.body["state"], "succeeded");
    let refused = try_out("tried").await;
    assert_eq!(refused.body["error"]["code"], "FORBIDDEN", "{}", refused.text);
    assert!(upstream.requests().iter().all(|request| !request.path.contains("404")));
    // Nor does it reach more when it is repeated.
    let again = ann.post(&format!("runs/{}/replay", refused.string("id")), json!({})).await.is(202);
    let again = until(&ann, &again.string("id"), &["succeeded", "failed"]).await;
    assert_eq!(again["error"]["code"], "FORBIDDEN", "{again}");
}

/// FL-32: whoever may not call a flow has none of its runs begin.
async fn an_allow_list_holds_for_runs_that_begin_again(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    publish(&app, app.database(), "lost", LOST).await;
    let failed = run(&app, "lost", json!({})).await.is(200).string("id");
    until(&app, &failed, &["failed"]).await;
    let key = json!({ "name": "ann", "role": "manager", "allow": ["api://shop/order"] });
    let ann = app.with_key(key).await;
    let before = upstream.requests().len();
    ann.post("flows/lost/runs", json!({})).await.is_problem(403, "FORBIDDEN");
    for action in ["retry", "replay"] {
        let refused = ann.post(&format!("runs/{failed}/{action}"), json!({})).await;
        let refused = refused.is_problem(403, "FORBIDDEN");
        assert!(refused.text.contains("allow-list"), "{}", refused.text);
    }
    let bulk = ann.post("runs/bulk", json!({ "action": "retry", "filter": {} })).await.is(200);
    assert_eq!((&bulk.body["done"], &bulk.body["matched"]), (&json!(0), &json!(0)), "{}", bulk.text);
    assert_eq!(upstream.requests().len(), before);
    let other = start(&app, "lost", json!({})).await;
    until(&app, &other, &["failed"]).await;
}

/// FL-32: what could not be checked when a flow was published is within the publisher's rights or refused, whoever
/// runs it; who may call it may publish it again.
async fn a_run_reaches_what_its_publisher_might(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let key = json!({ "name": "ann", "role": "manager", "allow": ["flow://*"] });
    let ann = app.with_key(key).await;
    let enable = async |is_enabled: bool| {
        app.patch("services/api/shop", json!({ "enabled": is_enabled })).await.is(200);
    };
    enable(false).await;
    publish_over_rest(&ann, "order", ORDER).await;
    enable(true).await;
    for who in [&ann, &*app] {
        let refused = run(who, "order", json!({})).await.is(200);
        assert_eq!(refused.body["error"]["code"], "FORBIDDEN", "{}", refused.text);
    }
    assert_eq!(upstream.requests().len(), 0);
    let published = app.post("flows/order/publish", json!({})).await.is(200);
    assert_eq!((&published.body["version"], &published.body["is_new"]), (&json!(2), &json!(true)));
    assert_eq!(run(&ann, "order", json!({})).await.is(200).body["state"], "succeeded");
}

/// FL-32: what a trigger listens to or lists, and could not be checked when the flow was published, is within the
/// publisher's rights, or it starts nothing.
async fn a_trigger_reaches_what_its_publisher_might(backend: Backend) {
    let app = TestApp::start(backend).await;
    let queue = json!({ "type": "mq", "id": "orders", "config": {}, "tools": [{ "id": "placed" }] });
    app.post("services", queue).await.is(201);
    app.post("services", json!({ "type": "oss", "id": "inbox", "config": {} })).await.is(201);
    let ann = app.with_key(json!({ "name": "ann", "role": "manager", "allow": ["flow://*"] })).await;
    let enable = async |is_enabled: bool| {
        for service in ["mq/orders", "oss/inbox"] {
            app.patch(&format!("services/{service}"), json!({ "enabled": is_enabled })).await.is(200);
        }
    };
    enable(false).await;
    let text = "
triggers:
  - {type: message, name: placed, from: 'mq://orders/placed'}
  - {type: file, name: files, from: 'oss://inbox', every: 1s}
nodes: {a: {with: trigger.type}}
";
    publish_over_rest(&ann, "theirs", text).await;
    publish_over_rest(&app, "ours", text).await;
    enable(true).await;
    let total = async |flow: &str| app.get(&format!("runs?flow={flow}")).await.is(200).body["total"].clone();
    // What is there when a trigger of files begins is not new: it has looked before there is one.
    let store = crate::world::store(app.database()).await;
    eventually("it has looked", PATIENCE, async || {
        let kept = store.flows().triggers(&TenantId::default_tenant(), "ours").await.unwrap();
        kept.iter().any(|kept| kept.kind == "file" && kept.mark.is_some())
    })
    .await;
    store.close().await;
    // The other one looks as often, and would have by then.
    tokio::time::sleep(Duration::from_secs(3)).await;
    app.call("mq://orders/placed", json!({ "message": {} })).await.is(200);
    app.call("oss://inbox/save", json!({ "key": "a.txt", "content": "a" })).await.is(200);
    eventually("the admin's flow has both", PATIENCE, async || total("ours").await == 2).await;
    assert_eq!(total("theirs").await, 0);
}

/// FL-32, AG-5: an agent with the rights of its caller has those of whoever published the flow that asks it.
async fn an_agent_in_a_flow_has_the_rights_of_the_publisher(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let replies = vec![Reply::calls(&[("shop__order", json!({ "id": "1" }))]), Reply::says("done")];
    let model = Model::replies(replies).await;
    let config = json!({ "provider": "openai", "base_url": model.url(), "api_key": "k", "model": "m",
        "tools": ["api://shop/*"] });
    app.post("services", json!({ "type": "agent", "id": "ops", "config": config })).await.is(201);
    let key = json!({ "name": "ann", "role": "manager", "allow": ["agent://ops", "flow://*"] });
    let ann = app.with_key(key).await;
    let asks = "nodes: {think: {agent: ops, args: {prompt: Order it}}}";
    publish_over_rest(&ann, "asks", asks).await;
    let refused = run(&ann, "asks", json!({})).await.is(200);
    assert_eq!(refused.body["error"]["code"], "FORBIDDEN", "{}", refused.text);
    assert_eq!((model.asked().len(), upstream.requests().len()), (0, 0));
    publish_over_rest(&app, "may", asks).await;
    assert_eq!(run(&ann, "may", json!({})).await.is(200).body["state"], "succeeded");
    assert_eq!(upstream.requests().len(), 1);
}

/// FL-32: a list that names a flow means its current version; another one is asked for as a call of it names it.
async fn an_allow_list_holds_for_the_version_of_a_replay(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "ship", "nodes: {a: {with: \"'first'\"}}").await;
    publish(&app, app.database(), "ship", "nodes: {a: {with: \"'second'\"}}").await;
    for (name, allow, status) in
        [("ann", json!(["flow://ship"]), 403), ("ben", json!(["flow://ship", "flow://ship?version=1"]), 202)]
    {
        let key = app.with_key(json!({ "name": name, "role": "manager", "allow": allow })).await;
        let ran = run(&key, "ship", json!({})).await.is(200).string("id");
        let called = key.post("flows/ship/runs", json!({ "version": 1 })).await;
        assert_eq!(called.status == 403, status == 403, "{}", called.text);
        let replayed = key.post(&format!("runs/{ran}/replay"), json!({ "version": 1 })).await;
        assert_eq!(replayed.status, status, "{}", replayed.text);
        key.post(&format!("runs/{ran}/replay"), json!({})).await.is(202);
    }
}

/// FL-32: `POST /runs/bulk` names no run that is not there for its caller, and none of them is in the way of theirs.
async fn many_runs_are_steered_by_those_who_see_them(backend: Backend) {
    let app = TestApp::start(backend).await;
    for flow in ["mine", "theirs"] {
        publish(&app, app.database(), flow, "nodes: {w: {wait: {signal: go}}}").await;
        let id = start(&app, flow, json!({})).await;
        until(&app, &id, &["waiting"]).await;
    }
    let ann = app.with_key(json!({ "name": "ann", "role": "manager", "allow": ["flow://mine"] })).await;
    let all = json!({ "action": "cancel", "filter": {} });
    let cancelled = ann.post("runs/bulk", all).await.is(200).body;
    assert_eq!(cancelled, json!({ "matched": 1, "done": 1, "failed": [] }));
    let theirs = json!({ "action": "cancel", "filter": { "flow": "theirs" } });
    assert_eq!(ann.post("runs/bulk", theirs).await.is(200).body["matched"], 0);
    assert_eq!(app.get("runs?flow=theirs&state=waiting").await.is(200).body["total"], 1);
}
