//! Who comes through which door of flows and runs, and what they get to see.

use crate::world::{PATIENCE, publish, publish_over_rest, run, start, until};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send_json;
use testkit::{Backend, Client, TestApp, eventually, on_both_databases};

on_both_databases! {
    an_allow_list_holds_at_every_door
    what_is_not_on_an_allow_list_is_not_there
    other_inputs_pass_nothing_by
    a_key_of_one_caller_leads_to_no_run_of_another
    a_name_that_several_have_decides_nothing
    those_who_only_call_read_no_text
    changes_right_behind_the_publication_start_runs
    a_pause_reaches_sub_flows
}

const ASKS: &str = "triggers: [{type: webhook, name: hook, auth: token}]\nnodes: {ok: {approval: Go}}";

/// FL-32: a manager with an allow-list does nothing to flows that are not on it, by whichever door.
async fn an_allow_list_holds_at_every_door(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish_over_rest(&app, "asks", ASKS).await;
    publish_over_rest(&app, "listed", ASKS).await;
    let ann = app.with_key(json!({ "name": "ann", "role": "manager", "allow": ["flow://listed"] })).await;
    for (flow, status) in [("asks", Some(403)), ("listed", None)] {
        let id = start(&app, flow, json!({})).await;
        let view = until(&app, &id, &["waiting"]).await;
        let approval = view["waiting_for"][0]["approval_id"].as_str().unwrap().to_owned();
        let doors = [
            (Method::POST, format!("flows/{flow}/runs"), json!({})),
            (Method::POST, format!("runs/{id}/pause"), json!({})),
            (Method::POST, format!("runs/{id}/resume"), json!({})),
            (Method::POST, format!("runs/{id}/signals/go"), json!({})),
            (Method::POST, format!("runs/{id}/replay"), json!({})),
            (Method::POST, format!("approvals/{approval}"), json!({ "decision": "approve" })),
            (Method::POST, format!("flows/{flow}/triggers/hook/fire"), json!({})),
            (Method::POST, format!("flows/{flow}/triggers/hook/rotate-secret"), json!({})),
            (Method::POST, format!("flows/{flow}/triggers/hook/disable"), json!({})),
            (Method::POST, format!("flows/{flow}/triggers/hook/enable"), json!({})),
            (Method::POST, format!("flows/{flow}/disable"), json!({})),
            (Method::POST, format!("flows/{flow}/enable"), json!({})),
            (Method::PATCH, format!("flows/{flow}"), json!({ "enabled": true })),
            (Method::PATCH, format!("flows/{flow}"), json!({ "source": ASKS })),
            (Method::PUT, format!("flows/{flow}/draft"), json!({ "source": ASKS })),
            (Method::POST, format!("flows/{flow}/runs"), json!({ "version": "draft" })),
            (Method::POST, format!("flows/{flow}/publish"), json!({})),
            (Method::POST, format!("flows/{flow}/rollback"), json!({ "version": 1 })),
        ];
        for (method, path, body) in doors {
            let reply = send_json(ann.request(method.clone(), &path), &body).await;
            match status {
                Some(status) => assert_eq!(reply.status, status, "{method} {path}: {}", reply.text),
                None => assert!(reply.status < 300, "{method} {path}: {}", reply.text),
            }
        }
        if status.is_some() {
            ann.post(&format!("runs/{id}/cancel"), json!({})).await.is_problem(403, "FORBIDDEN");
            ann.delete(&format!("flows/{flow}")).await.is_problem(403, "FORBIDDEN");
            let bulk = json!({ "action": "cancel", "filter": { "flow": flow } });
            assert_eq!(ann.post("runs/bulk", bulk).await.is(200).body["done"], 0);
        }
    }
}

/// FL-32: what is not on the list is not there to be read, and nobody makes what they may not touch.
async fn what_is_not_on_an_allow_list_is_not_there(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish_over_rest(&app, "asks", ASKS).await;
    publish_over_rest(&app, "listed", ASKS).await;
    start(&app, "listed", json!({})).await;
    let ann = app.with_key(json!({ "name": "ann", "role": "manager", "allow": ["flow://listed"] })).await;
    ann.post("flows", json!({ "id": "other", "source": ASKS })).await.is_problem(403, "FORBIDDEN");
    let run = start(&app, "asks", json!({})).await;
    for path in ["flows/asks", "flows/asks/versions", "flows/asks/triggers"] {
        ann.get(path).await.is_problem(404, "NOT_FOUND");
    }
    for path in [format!("runs/{run}"), format!("runs/{run}/steps"), format!("runs/{run}/events")] {
        ann.get(&path).await.is_problem(404, "NOT_FOUND");
    }
    for (path, field) in [("flows", "id"), ("runs", "flow")] {
        let listed = ann.get(path).await.is(200).items();
        assert!(!listed.is_empty() && listed.iter().all(|item| item[field] == "listed"), "{listed:?}");
    }
    // Whoever has been told of a run may ask about it, and about no other.
    let caller = app.with_key(json!({ "name": "c", "role": "caller", "allow": ["flow://listed"] })).await;
    let own = start(&caller, "listed", json!({})).await;
    let polled = caller.call_name("flow_run", json!({ "run_id": own })).await.is(200);
    assert_eq!(polled.body["structuredContent"]["run_id"], *own, "{}", polled.text);
    let other = start(&app, "asks", json!({})).await;
    let polled = caller.call_name("flow_run", json!({ "run_id": other })).await.is(200);
    let nobodys =
        caller.call_name("flow_run", json!({ "run_id": "01a1f585-7c3d-74a3-b050-000000000000" })).await;
    for answer in [polled, nobodys.is(200)] {
        let (is_error, code) = (&answer.body["isError"], &answer.body["error"]["code"]);
        assert_eq!(
            (is_error, code),
            (&json!(true), &json!("NOT_FOUND")),
            "the tool is there: {}",
            answer.text
        );
    }
    let taken = json!({ "id": "flow_run", "source": ASKS });
    app.post("flows", taken).await.is_problem(422, "VALIDATION_FAILED");
}

/// FL-23: what was approved and checked for some inputs is not taken over for others.
async fn other_inputs_pass_nothing_by(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = "
inputs: {amount: int}
nodes:
  small: {guard: {check: custom, of: '${amount}', when: amount < 100}, next: ok}
  ok: {approval: {title: 'Pay ${amount}?'}, next: pay}
  pay: {with: amount}
output: ${pay}
";
    publish(&app, app.database(), "pays", text).await;
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    let id = start(&caller, "pays", json!({ "amount": 1 })).await;
    let view = until(&app, &id, &["waiting"]).await;
    let approval = view["waiting_for"][0]["approval_id"].as_str().unwrap().to_owned();
    app.post(&format!("approvals/{approval}"), json!({ "decision": "approve" })).await.is(200);
    until(&app, &id, &["succeeded"]).await;
    let replay = format!("runs/{id}/replay");
    let other = json!({ "from": "pay", "inputs": { "amount": 1_000_000 } });
    let refused = caller.post(&replay, other.clone()).await.is_problem(422, "VALIDATION_FAILED");
    assert!(refused.text.contains("'from'"), "{}", refused.text);
    app.post(&replay, other).await.is_problem(422, "VALIDATION_FAILED");
    // The same inputs keep what was decided about them.
    for body in [json!({ "from": "pay" }), json!({ "from": "pay", "inputs": { "amount": 1 } })] {
        let again = caller.post(&replay, body).await.is(202).string("id");
        assert_eq!(until(&app, &again, &["succeeded"]).await["output"], 1);
    }
    // From the start everything is asked and checked again.
    let whole = caller.post(&replay, json!({ "inputs": { "amount": 2 } })).await.is(202).string("id");
    until(&app, &whole, &["waiting"]).await;
    let large = caller.post(&replay, json!({ "inputs": { "amount": 200 } })).await.is(202).string("id");
    assert_eq!(until(&app, &large, &["failed"]).await["error"]["code"], "GUARD");
}

/// FL-29: keys are those of who chose them.
async fn a_key_of_one_caller_leads_to_no_run_of_another(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "once", "inputs: {n: int}\nnodes: {one: {with: 'n'}}").await;
    let (ann, ben) = (
        app.with_key(json!({ "name": "ann", "role": "caller" })).await,
        app.with_key(json!({ "name": "ben", "role": "caller" })).await,
    );
    let body = |n: u32| json!({ "inputs": { "n": n }, "dedupe_key": "order-7", "wait_seconds": 30 });
    let first = ann.post("flows/once/runs", body(1)).await.is(200);
    let other = ben.post("flows/once/runs", body(2)).await.is(200);
    assert_eq!((&other.body["output"], other.body.get("deduplicated")), (&json!(2), None), "{}", other.text);
    let again = ann.post("flows/once/runs", body(3)).await.is(200);
    assert_eq!((again.string("id"), &again.body["output"]), (first.string("id"), &json!(1)));
}

/// FL-14: a name asks one alone; where several have it, the id does.
async fn a_name_that_several_have_decides_nothing(backend: Backend) {
    let app = TestApp::start(backend).await;
    let key = json!({ "name": "ben", "role": "caller" });
    let made = app.post("keys", key.clone()).await.is(201);
    let ben = app.as_key(made.string("key"));
    publish(&app, app.database(), "named", "nodes: {ok: {approval: {title: Go, by: ben}}}").await;
    let text = format!("nodes: {{ok: {{approval: {{title: Go, by: '{}'}}}}}}", made.string("id"));
    publish(&app, app.database(), "by_id", &text).await;
    let decide = async |who: &Client, flow: &str| {
        let id = start(&app, flow, json!({})).await;
        let view = until(&app, &id, &["waiting"]).await;
        let approval = view["waiting_for"][0]["approval_id"].as_str().unwrap().to_owned();
        who.post(&format!("approvals/{approval}"), json!({ "decision": "approve" })).await
    };
    decide(&ben, "named").await.is(200);
    let impostor = app.with_key(key).await;
    for who in [&impostor, &ben] {
        let refused = decide(who, "named").await.is_problem(403, "FORBIDDEN");
        assert!(refused.text.contains("several"), "{}", refused.text);
    }
    decide(&ben, "by_id").await.is(200);
    // The door of an instance has a name, too.
    let cyd = app.with_key(json!({ "name": "cyd", "role": "caller" })).await;
    publish(&app, app.database(), "of_cyd", "nodes: {ok: {approval: {title: Go, by: cyd}}}").await;
    decide(&cyd, "of_cyd").await.is(200);
    app.post("mcp", json!({ "name": "cyd" })).await.is(201);
    decide(&cyd, "of_cyd").await.is_problem(403, "FORBIDDEN");
    // A name that is the id of another is none.
    let named = app.with_key(json!({ "name": made.string("id"), "role": "caller" })).await;
    assert!(decide(&named, "by_id").await.status >= 400);
}

/// FL-32: those who only call see of flows what a tool shows.
async fn those_who_only_call_read_no_text(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish_over_rest(&app, "shown", "description: Adds\ninputs: {n: int}\nnodes: {a: {with: 'n'}}").await;
    publish_over_rest(&app, "hidden", ASKS).await;
    app.post("flows", json!({ "id": "draft", "source": "nodes: {a: {with: 1}}" })).await.is(201);
    let caller = app.with_key(json!({ "name": "c", "role": "caller", "allow": ["flow://shown"] })).await;
    let listed = caller.get("flows").await.is(200);
    assert_eq!((&listed.body["total"], &listed.body["items"][0]["id"]), (&json!(1), &json!("shown")));
    let shown = caller.get("flows/shown").await.is(200).body;
    assert_eq!((&shown["description"], shown.get("source")), (&json!("Adds"), None), "{shown}");
    assert_eq!(shown["input_schema"]["properties"]["n"]["type"], "integer", "{shown}");
    for flow in ["hidden", "draft"] {
        caller.get(&format!("flows/{flow}")).await.is_problem(404, "NOT_FOUND");
    }
    for part in ["versions", "versions/1", "diff", "references", "triggers"] {
        caller.get(&format!("flows/shown/{part}")).await.is_problem(403, "FORBIDDEN");
    }
    let viewer = app.with_key(json!({ "name": "v", "role": "viewer" })).await;
    assert!(viewer.get("flows/draft").await.is(200).body["source"].is_string());
    assert_eq!(viewer.get("flows").await.is(200).body["total"], 3);
}

/// What changes behind the publication is seen, however soon.
async fn changes_right_behind_the_publication_start_runs(backend: Backend) {
    let app = TestApp::start(backend).await;
    let table = app.post("tables", json!({ "name": "t", "data": { "n": 0 } })).await.is(201).string("id");
    let text = format!(
        "triggers: [{{type: table, name: t, table: {table}}}]\nnodes: {{a: {{with: trigger.change.version}}}}"
    );
    publish_over_rest(&app, "watches", &text).await;
    let change = async |n: u32| {
        let put = app.request(Method::PUT, &format!("tables/{table}/data?json_path=/n"));
        send_json(put, &json!({ "data": n })).await.is(200);
    };
    let count = async || app.get("runs?flow=watches&state=succeeded").await.is(200).body["total"].as_u64();
    change(1).await;
    change(2).await;
    eventually("both changes are runs", PATIENCE, async || count().await == Some(2)).await;
    // What changes while it is off stays unseen; what comes right behind its return does not.
    app.post("flows/watches/triggers/t/disable", json!({})).await.is(200);
    change(3).await;
    app.post("flows/watches/triggers/t/enable", json!({})).await.is(200);
    change(4).await;
    eventually("the change is a run", PATIENCE, async || count().await == Some(3)).await;
    app.post("flows/watches/disable", json!({})).await.is(200);
    change(5).await;
    app.post("flows/watches/enable", json!({})).await.is(200);
    change(6).await;
    eventually("the last change is a run", PATIENCE, async || count().await == Some(4)).await;
}

/// Nothing new starts in the sub-flows of a run that is paused.
async fn a_pause_reaches_sub_flows(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "inner", "nodes: {w: {wait: {signal: go}, next: b}, b: {with: '2'}}").await;
    publish(&app, app.database(), "outer", "nodes: {s: {flow: inner}}").await;
    let id = start(&app, "outer", json!({})).await;
    let mut child = Value::Null;
    eventually("the sub-flow waits", PATIENCE, async || {
        let found = app.get(&format!("runs?parent={id}")).await.is(200).items();
        child = found.first().map(|run| run["id"].clone()).unwrap_or_default();
        found.first().is_some_and(|run| run["state"] == "waiting")
    })
    .await;
    let child = child.as_str().unwrap();
    app.post(&format!("runs/{id}/pause"), json!({})).await.is(200);
    until(&app, child, &["paused"]).await;
    app.post(&format!("runs/{child}/signals/go"), json!({})).await.is(202);
    let steps = async || app.get(&format!("runs/{child}/steps")).await.is(200).items();
    eventually("the wait is over", PATIENCE, async || {
        steps().await.iter().any(|step| step["path"] == "w" && step["state"] == "succeeded")
    })
    .await;
    assert!(steps().await.iter().all(|step| step["path"] != "b"), "nothing new begins");
    app.post(&format!("runs/{id}/resume"), json!({})).await.is(200);
    assert_eq!(until(&app, &id, &["succeeded"]).await["output"], 2);
    assert_eq!(run(&app, "inner", json!({})).await.status, 202);
}
