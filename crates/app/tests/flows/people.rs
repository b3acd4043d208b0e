//! Runs that ask people, and wait for signals and time.

use crate::world::{PATIENCE, publish, run, shop, start, until};
use serde_json::{Value, json};
use testkit::{Backend, Client, TestApp, eventually, http, on_both_databases};

on_both_databases! {
    the_first_decision_counts
    only_those_decide_who_are_asked
    a_list_of_what_may_be_called_holds_for_approvals
    a_call_is_answered_when_people_are_asked
    a_run_waits_for_a_signal
    a_sub_flow_that_is_to_be_tried_again_is_waited_for_no_more
    whoever_is_to_decide_is_told
}

const SHIP: &str = "
inputs: {id: string}
nodes:
  ok: {approval: {title: 'Ship ${id}?', fields: {carrier: string}}, then: sent, else: kept}
  sent: {with: {by: '${ok.by}', carrier: '${ok.data.carrier}'}}
  kept: {with: \"'kept'\"}
";

async fn approval_of(client: &Client, run: &str) -> String {
    let view = until(client, run, &["waiting"]).await;
    view["waiting_for"][0]["approval_id"].as_str().unwrap_or_else(|| panic!("{view}")).to_owned()
}

/// FL-14: of two decisions at once one wins, and the other learns so.
async fn the_first_decision_counts(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "ship", SHIP).await;
    let id = start(&app, "ship", json!({ "id": "7" })).await;
    let approval = approval_of(&app, &id).await;
    let asked = app.get("approvals").await.is(200).items();
    assert_eq!((&asked[0]["title"], &asked[0]["by"]), (&json!("Ship 7?"), &json!("managers")));
    let path = format!("approvals/{approval}");
    let wrong = app.post(&path, json!({ "decision": "approve", "data": { "carrier": 1 } })).await;
    wrong.is_problem(422, "VALIDATION_FAILED");
    // More than the node could give is refused while somebody can still decide.
    for (comment, data) in [(2 << 20, 0), (700 << 10, 700 << 10), ((1 << 20) - 80, 0)] {
        let data = json!({ "carrier": "x".repeat(data) });
        let large = json!({ "decision": "approve", "comment": "x".repeat(comment), "data": data });
        app.post(&path, large).await.is_problem(422, "VALIDATION_FAILED");
    }
    let approve = || app.post(&path, json!({ "decision": "approve", "data": { "carrier": "dhl" } }));
    let (one, other) = tokio::join!(approve(), approve());
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{} {}", one.text, other.text);
    let ended = until(&app, &id, &["succeeded", "failed"]).await;
    assert_eq!(ended["output"]["carrier"], "dhl", "{ended}");
    assert_eq!(app.get("approvals").await.is(200).items(), Vec::<Value>::new());
    app.post(&path, json!({ "decision": "reject" })).await.is(409);

    let id = start(&app, "ship", json!({ "id": "8" })).await;
    let approval = approval_of(&app, &id).await;
    app.post(&format!("approvals/{approval}"), json!({ "decision": "reject" })).await.is(200);
    assert_eq!(until(&app, &id, &["succeeded"]).await["output"], "kept");
}

/// Whoever is not asked may not decide, and does not see it.
async fn only_those_decide_who_are_asked(backend: Backend) {
    let app = TestApp::start(backend).await;
    let caller = app.with_key(json!({ "name": "ben", "role": "caller" })).await;
    let other = app.with_key(json!({ "name": "eve", "role": "caller" })).await;
    let stranger = app.with_tenant("acme").await;
    publish(&app, app.database(), "asks", "nodes: {ok: {approval: {title: Go, by: [ben]}}}").await;
    let id = start(&app, "asks", json!({})).await;
    let path = format!("approvals/{}", approval_of(&app, &id).await);
    let decision = || json!({ "decision": "approve" });
    stranger.post(&path, decision()).await.is_problem(404, "NOT_FOUND");
    other.post(&path, decision()).await.is_problem(404, "NOT_FOUND");
    app.post(&path, decision()).await.is_problem(403, "FORBIDDEN");
    assert_eq!(other.get("approvals").await.is(200).items().len(), 0);
    assert_eq!(caller.get("approvals").await.is(200).items()[0]["by"], json!(["ben"]));
    caller.post(&path, decision()).await.is(200);
    assert_eq!(until(&app, &id, &["succeeded"]).await["output"]["by"], "ben");
}

/// FL-32: a manager whose key names what it may call learns nothing of other flows.
async fn a_list_of_what_may_be_called_holds_for_approvals(backend: Backend) {
    let app = TestApp::start(backend).await;
    for flow in ["asks", "other"] {
        publish(&app, app.database(), flow, "nodes: {ok: {approval: Go}}").await;
        approval_of(&app, &start(&app, flow, json!({})).await).await;
    }
    let key = json!({ "name": "ann", "role": "manager", "allow": ["flow://asks"] });
    let manager = app.with_key(key).await;
    assert_eq!(app.get("approvals").await.is(200).items().len(), 2);
    let seen = manager.get("approvals").await.is(200);
    assert_eq!((seen.items().len(), &seen.body["total"]), (1, &json!(1)), "{}", seen.text);
    let run = seen.items()[0]["run_id"].as_str().unwrap().to_owned();
    assert_eq!(manager.get(&format!("runs/{run}")).await.is(200).body["flow"], "asks");
}

/// A caller is not kept waiting for people: it gets the run, also where a sub-flow asks.
async fn a_call_is_answered_when_people_are_asked(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "asks", "nodes: {ok: {approval: Go}}").await;
    publish(&app, app.database(), "outer", "nodes: {inner: {flow: asks}}").await;
    for flow in ["asks", "outer"] {
        let started = app.call(&format!("flow://{flow}"), json!({})).await.is(200);
        let id = started.body["task"]["id"].as_str().unwrap_or_else(|| panic!("{}", started.text)).to_owned();
        let polled = app.call_name("flow_run", json!({ "run_id": id })).await.is(200);
        assert_eq!(polled.body["structuredContent"]["state"], "waiting", "{}", polled.text);
        let asked = app.get("approvals").await.is(200).items();
        let approval = asked.last().unwrap()["id"].as_str().unwrap().to_owned();
        app.post(&format!("approvals/{approval}"), json!({ "decision": "approve" })).await.is(200);
        until(&app, &id, &["succeeded"]).await;
    }
}

/// FL-13: a signal that comes before the wait is kept for it.
async fn a_run_waits_for_a_signal(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = "nodes: {pause: {wait: 200, next: paid}, paid: {wait: {signal: paid, key: '7'}}}";
    publish(&app, app.database(), "paid", text).await;
    let id = start(&app, "paid", json!({})).await;
    let path = format!("runs/{id}/signals/paid");
    app.post(&path, json!({ "key": "8", "data": 8 })).await.is(202);
    app.post(&path, json!({ "key": "7", "data": { "euro": 5 } })).await.is(202);
    let ended = until(&app, &id, &["succeeded"]).await;
    assert_eq!(ended["output"], json!({ "euro": 5 }));
    app.post(&path, json!({})).await.is_problem(409, "CONFLICT");
    assert_eq!(run(&app, "paid", json!({})).await.status, 202, "without a signal it waits");
}

/// FL-14: `notify` makes its call once, with the names of the flow, before anybody decides.
async fn whoever_is_to_decide_is_told(backend: Backend) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.service(shop(&upstream)).await;
    let text = "
inputs: {id: string}
nodes:
  ok: {approval: 'Ship ${id}?', notify: {exec: 'api://shop/ship', args: {id: '${id}'}}, next: done}
  done: {with: \"'done'\"}
";
    publish(&app, app.database(), "tells", text).await;
    let id = start(&app, "tells", json!({ "id": "o-7" })).await;
    let approval = approval_of(&app, &id).await;
    eventually("somebody is told", PATIENCE, async || !upstream.requests().is_empty()).await;
    let told = upstream.requests();
    assert_eq!(told[0].path, "/ship");
    assert!(told[0].body.contains("o-7"));
    app.post(&format!("approvals/{approval}"), json!({ "decision": "approve" })).await.is(200);
    assert_eq!(until(&app, &id, &["succeeded", "failed"]).await["output"], "done");
    assert_eq!(upstream.requests().len(), 1);
}

/// FL-13: a node waits for one thing at a time: while it pauses before the next attempt, not for the run that failed.
async fn a_sub_flow_that_is_to_be_tried_again_is_waited_for_no_more(backend: Backend) {
    let app = TestApp::start(backend).await;
    let below = "nodes: {go: {wait: {signal: go}, next: t}, t: {throw: {code: NO, message: no}}}";
    publish(&app, app.database(), "below", below).await;
    let text = "nodes: {s: {flow: below, retry: {attempts: 2, delay: 10m, max_delay: 10m, on: any}}}";
    publish(&app, app.database(), "outer", text).await;
    let outer = start(&app, "outer", json!({})).await;
    let kinds = async || {
        let view = app.get(&format!("runs/{outer}")).await.is(200).body;
        let waits = view["waiting_for"].as_array().unwrap().clone();
        waits.iter().map(|wait| wait["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    eventually("it waits for the other run", PATIENCE, async || kinds().await == ["child"]).await;
    let child = app.get(&format!("runs?parent={outer}")).await.is(200).items()[0]["id"].clone();
    app.post(&format!("runs/{}/signals/go", child.as_str().unwrap()), json!({})).await.is(202);
    eventually("it waits for its time", PATIENCE, async || kinds().await.contains(&"retry".to_owned())).await;
    assert_eq!(kinds().await, ["retry"]);
}
