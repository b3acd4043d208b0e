//! Runs that are paused, tried again and repeated.

use crate::world::{PATIENCE, publish, run, shop, start, until};
use serde_json::json;
use testkit::{Backend, TestApp, eventually, http, on_both_databases};

on_both_databases! {
    a_failed_run_is_tried_again_where_it_failed
    a_sub_flow_that_failed_is_run_again_by_a_retry
    a_run_is_repeated_from_a_node
    a_paused_run_begins_nothing_new
    many_runs_are_steered_at_once
    a_sub_flow_that_failed_is_tried_again_by_its_node
    a_replay_in_another_version_passes_nothing_by
    what_was_secret_stays_so_in_another_version
    a_run_that_is_tried_again_has_not_failed
    a_flow_that_is_disabled_is_not_repeated
}

/// FL-23: a retry does what failed again, and nothing else.
async fn a_failed_run_is_tried_again_where_it_failed(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let text = "
inputs: {key: string}
nodes:
  first: {exec: 'api://shop/ship', args: {id: one}, next: second}
  second: {exec: 'api://shop/flaky', args: {key: '${key}'}}
";
    publish(&app, app.database(), "twice", text).await;
    let failed = run(&app, "twice", json!({ "key": "a" })).await.is(200);
    assert_eq!(failed.body["state"], "failed", "{}", failed.text);
    let id = failed.string("id");
    app.post(&format!("runs/{id}/retry"), json!({})).await.is(200);
    until(&app, &id, &["succeeded"]).await;
    let paths: Vec<_> = upstream.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths.iter().filter(|path| *path == "/ship").count(), 1, "{paths:?}");
    assert_eq!(paths.len(), 3);
    app.post(&format!("runs/{id}/retry"), json!({})).await.is_problem(409, "CONFLICT");
}

/// A retry starts another child, not the one that failed.
async fn a_sub_flow_that_failed_is_run_again_by_a_retry(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    publish(&app, app.database(), "child", "nodes: {a: {exec: 'api://shop/flaky', args: {key: child}}}")
        .await;
    publish(&app, app.database(), "parent", "nodes: {inner: {flow: child}}").await;
    let failed = run(&app, "parent", json!({})).await.is(200);
    assert_eq!(failed.body["state"], "failed", "{}", failed.text);
    let id = failed.string("id");
    app.post(&format!("runs/{id}/retry"), json!({})).await.is(200);
    until(&app, &id, &["succeeded"]).await;
    assert_eq!(app.get(&format!("runs?parent={id}")).await.is(200).body["total"], 2);
}

/// FL-23: a replay copies what ended before a node and is another run.
async fn a_run_is_repeated_from_a_node(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let text = "
inputs: {id: string}
nodes:
  first: {exec: 'api://shop/order', args: {id: '${id}'}, next: second}
  second: {exec: 'api://shop/ship', args: {id: '${first.path}'}, with: second.body.id}
output: ${second}
";
    publish(&app, app.database(), "two", text).await;
    let ended = run(&app, "two", json!({ "id": "7" })).await.is(200);
    let id = ended.string("id");
    let replay = app.post(&format!("runs/{id}/replay"), json!({ "from": "second" })).await.is(202);
    assert_eq!(replay.body["replay_of"], *id);
    let again = until(&app, &replay.string("id"), &["succeeded"]).await;
    assert_eq!(again["output"], "/orders/7");
    assert_eq!(upstream.requests().len(), 3, "the first node was not called again");
    let body = json!({ "inputs": { "id": "8" } });
    let whole = app.post(&format!("runs/{id}/replay"), body).await.is(202).string("id");
    assert_eq!(until(&app, &whole, &["succeeded"]).await["output"], "/orders/8");
    let unknown = app.post(&format!("runs/{id}/replay"), json!({ "from": "third" })).await;
    unknown.is_problem(422, "VALIDATION_FAILED");
}

/// A pause lets calls end and starts nothing; a resume goes on.
async fn a_paused_run_begins_nothing_new(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let text = "
nodes:
  first: {exec: 'api://shop/slow', args: {ms: 1500}, next: second}
  second: {exec: 'api://shop/ship', args: {id: x}}
";
    publish(&app, app.database(), "two", text).await;
    let id = start(&app, "two", json!({})).await;
    eventually("the first call is under way", PATIENCE, async || upstream.requests().len() == 1).await;
    app.post(&format!("runs/{id}/pause"), json!({})).await.is(200);
    until(&app, &id, &["paused"]).await;
    assert_eq!(upstream.requests().len(), 1);
    app.post(&format!("runs/{id}/resume"), json!({})).await.is(200);
    until(&app, &id, &["succeeded"]).await;
    assert_eq!(upstream.requests().len(), 2);
}

/// What fits a filter is steered together, and what cannot be is told.
async fn many_runs_are_steered_at_once(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "waits", "nodes: {w: {wait: {signal: go}}}").await;
    let ids = futures::future::join_all((0..5).map(|_| start(&app, "waits", json!({})))).await;
    for id in &ids {
        until(&app, id, &["waiting"]).await;
    }
    let bulk = |action: &str| json!({ "action": action, "filter": { "flow": "waits" } });
    let none = app.post("runs/bulk", bulk("retry")).await.is(200);
    assert_eq!((&none.body["matched"], &none.body["done"]), (&json!(0), &json!(0)), "none has failed");
    let waiting = json!({ "action": "retry", "filter": { "flow": "waits", "state": "waiting" } });
    let failed = app.post("runs/bulk", waiting).await.is(200);
    assert_eq!((&failed.body["done"], failed.body["failed"].as_array().unwrap().len()), (&json!(0), 5));
    let done = app.post("runs/bulk", bulk("cancel")).await.is(200);
    assert_eq!((&done.body["matched"], &done.body["done"]), (&json!(5), &json!(5)));
    for id in &ids {
        until(&app, id, &["cancelled"]).await;
    }
    // What has ended stands in nobody's way.
    let again = app.post("runs/bulk", bulk("cancel")).await.is(200);
    assert_eq!((&again.body["matched"], &again.body["failed"]), (&json!(0), &json!([])));
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    caller.post("runs/bulk", bulk("cancel")).await.is_problem(403, "FORBIDDEN");
    app.post("runs/bulk", bulk("delete")).await.is(200);
    assert_eq!(app.get("runs").await.is(200).body["total"], 0);
}

/// FL-13: each attempt of a node that runs a flow is a run of its own, whichever way the node says it.
async fn a_sub_flow_that_failed_is_tried_again_by_its_node(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "kid", "nodes: {a: {throw: {code: KID, message: no}}}").await;
    for (id, call) in [("flow", "flow: kid"), ("exec", "exec: 'flow://kid'")] {
        let text = format!(
            "nodes: {{s: {{{call}, retry: {{attempts: 3, delay: 100, on: [KID]}}, fail: f}}, f: {{with: s.error.attempts}}}}"
        );
        publish(&app, app.database(), id, &text).await;
        let ended = run(&app, id, json!({})).await.is(200);
        assert_eq!((&ended.body["state"], &ended.body["output"]), (&json!("succeeded"), &json!(3)));
        let children = format!("runs?parent={}", ended.string("id"));
        assert_eq!(app.get(&children).await.is(200).body["total"], 3);
    }
}

/// FL-14, FL-15, FL-23: what ended in one version counts in another only where all before is the same, and nothing that
/// somebody or a guard decided does.
async fn a_replay_in_another_version_passes_nothing_by(backend: Backend) {
    let app = TestApp::start(backend).await;
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    let replay = async |run: &str, version: i64| {
        caller.post(&format!("runs/{run}/replay"), json!({ "from": "b", "version": version })).await
    };
    let two = |a: &str, b: &str| format!("nodes: {{a: {{{a}, next: b}}, b: {{with: {b}}}}}");
    publish(&app, app.database(), "pay", &two("with: 1", "'1'")).await;
    let first = run(&caller, "pay", json!({})).await.is(200).string("id");
    let guard = "guard: {check: custom, of: '1', when: 'false'}";
    for asks in ["approval: 'pay a million?'", guard, "nodes: {x: {approval: 'pay?'}}", "with: 2"] {
        let version = publish(&app, app.database(), "pay", &two(asks, "'1'")).await;
        let refused = replay(&first, version).await.is_problem(422, "VALIDATION_FAILED");
        assert!(refused.text.contains("nodes.a"), "{}", refused.text);
    }
    // What is the same before the node is copied, as it is in the run's own version.
    let version = publish(&app, app.database(), "pay", &two("with: 1", "'2'")).await;
    let again = replay(&first, version).await.is(202).string("id");
    assert_eq!(until(&app, &again, &["succeeded"]).await["output"], 2);
    // Other inputs are something else, also where only their defaults are.
    let text = format!("inputs: {{n: int = 7}}\n{}", two("with: 1", "'2'"));
    let version = publish(&app, app.database(), "pay", &text).await;
    let refused = replay(&first, version).await.is_problem(422, "VALIDATION_FAILED");
    assert!(refused.text.contains("inputs"), "{}", refused.text);

    let asks = "approval: {title: T, by: managers}";
    publish(&app, app.database(), "asks", &two(asks, "'1'")).await;
    let asked = start(&caller, "asks", json!({})).await;
    let view = until(&app, &asked, &["waiting"]).await;
    let approval = view["waiting_for"][0]["approval_id"].as_str().unwrap().to_owned();
    app.post(&format!("approvals/{approval}"), json!({ "decision": "approve" })).await.is(200);
    until(&app, &asked, &["succeeded"]).await;
    let version = publish(&app, app.database(), "asks", &two(asks, "'2'")).await;
    let refused = replay(&asked, version).await.is_problem(422, "VALIDATION_FAILED");
    assert!(refused.text.contains("the node 'a' is an approval"), "{}", refused.text);
    replay(&asked, 1).await.is(202);
}

/// FL-32: a version that does not call an input secret shows nothing of what was secret in the run that it repeats.
async fn what_was_secret_stays_so_in_another_version(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = |input: &str| format!("inputs: {{k: {input}}}\nnodes: {{b: {{with: '${{k}}'}}}}");
    publish(&app, app.database(), "keeps", &text("string")).await;
    publish(&app, app.database(), "keeps", &text("{type: string, secret: true}")).await;
    let body = json!({ "inputs": { "k": "REVERSEsecret777" }, "version": 2, "wait_seconds": 30 });
    let first = app.post("flows/keeps/runs", body).await.is(200);
    assert_eq!(first.body["inputs"]["k"], "***", "{}", first.text);
    let first = first.string("id");
    for body in [json!({ "version": 1 }), json!({ "version": 1, "inputs": { "k": "OTHERsecret888" } })] {
        let again = app.post(&format!("runs/{first}/replay"), body).await.is(202);
        let shown = until(&app, &again.string("id"), &["succeeded"]).await;
        assert_eq!((&shown["inputs"]["k"], &shown["output"]), (&json!("***"), &json!("***")), "{shown}");
        let steps = app.get(&format!("runs/{}/steps", again.string("id"))).await.is(200);
        assert!(!steps.text.contains("secret"), "{}", steps.text);
        // Nor does a repetition of the repetition.
        let third = app.post(&format!("runs/{}/replay", again.string("id")), json!({})).await.is(202);
        assert_eq!(until(&app, &third.string("id"), &["succeeded"]).await["inputs"]["k"], "***");
    }
}

async fn a_flow_that_is_disabled_is_not_repeated(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "off", "nodes: {a: {with: 1}}").await;
    let id = run(&app, "off", json!({})).await.is(200).string("id");
    app.post("flows/off/disable", json!({})).await.is(200);
    let refused = app.post(&format!("runs/{id}/replay"), json!({})).await;
    refused.is_problem(409, "SERVICE_DISABLED");
}

async fn a_run_that_is_tried_again_has_not_failed(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let text = "
nodes:
  first: {exec: 'api://shop/flaky', args: {key: again}, next: held}
  held: {approval: T, timeout: 1h}
";
    publish(&app, app.database(), "held", text).await;
    let failed = run(&app, "held", json!({})).await.is(200);
    assert_eq!(failed.body["error"]["node"], "first", "{}", failed.text);
    let id = failed.string("id");
    app.post(&format!("runs/{id}/retry"), json!({})).await.is(200);
    let waiting = until(&app, &id, &["waiting"]).await;
    assert!(waiting["error"].is_null() && waiting["waiting_for"][0]["until"].is_string(), "{waiting}");
}
