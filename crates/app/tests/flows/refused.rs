//! Starts and answers that are refused: what is kept of them, and what is said.

use crate::world::{draft, publish_over_rest, until};
use serde_json::{Value, json};
use testkit::{Backend, Client, TestApp, eventually, http, on_both_databases};

on_both_databases! {
    what_a_refused_start_was_given_is_on_no_record
    a_start_and_a_replay_need_no_body
    a_wrong_answer_is_told_by_the_field_that_is_missing
}

const SEALED: &str = "inputs: {pw: {type: string, secret: true}}\nnodes: {a: {with: 1}}";

/// The records of calls that were refused so, when there are so many.
async fn refused(app: &Client, code: &str, count: usize) -> Vec<Value> {
    let mut found = Vec::new();
    eventually("the refusals are on record", crate::world::PATIENCE, async || {
        found = app.get("audit?limit=1000").await.is(200).items();
        found.retain(|entry| entry["code"] == code);
        found.len() >= count
    })
    .await;
    assert_eq!(found.len(), count, "{found:?}");
    found
}

/// FL-32: where no flow is found nobody knows which of its inputs are secret, so that none is kept. What other unknown
/// tools were given is.
async fn what_a_refused_start_was_given_is_on_no_record(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crate::world::shop(&upstream)).await;
    publish_over_rest(&app, "off", SEALED).await;
    app.post("tools", json!({ "name": "leads_there", "type": "uri", "uri": "flow://off" })).await.is(201);
    app.post("flows/off/disable", json!({})).await.is(200);
    publish_over_rest(&app, "gone", SEALED).await;
    app.delete("flows/gone").await.is(204);
    draft(app.database(), "drafted", SEALED).await;
    let given = json!({ "pw": "hunter2-hunter2" });
    let by = json!({ "inputs": given });
    app.post("flows/off/runs", by.clone()).await.is_problem(409, "SERVICE_DISABLED");
    app.call("flow://off", given.clone()).await.is_problem(409, "SERVICE_DISABLED");
    app.call_name("leads_there", given.clone()).await.is_problem(409, "SERVICE_DISABLED");
    for flow in ["gone", "drafted", "never"] {
        app.post(&format!("flows/{flow}/runs"), by.clone()).await.is(404);
        app.call(&format!("flow://{flow}"), given.clone()).await.is(404);
    }
    app.call("agent://nobody", given.clone()).await.is(404);
    app.call_name("off", given.clone()).await.is(404);
    app.call("api://shop/nothing", json!({ "id": "A-7" })).await.is(404);
    app.call_name("nothing", json!({ "id": "A-7" })).await.is(404);
    let (disabled, missing) =
        (refused(&app, "SERVICE_DISABLED", 3).await, refused(&app, "TOOL_NOT_FOUND", 10).await);
    let kept = |entry: &&Value| entry["arguments"] == json!({ "pw": "***" });
    assert_eq!(disabled.iter().filter(kept).count(), 3, "{disabled:?}");
    assert_eq!(missing.iter().filter(kept).count(), 8, "{missing:?}");
    let kept = |entry: &&Value| entry["arguments"] == json!({ "id": "A-7" });
    assert_eq!(missing.iter().filter(kept).count(), 2, "{missing:?}");
}

/// FL-1: nothing to say is said by no body.
async fn a_start_and_a_replay_need_no_body(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish_over_rest(&app, "plain", "nodes: {a: {with: 1}}").await;
    let started = app.request(reqwest::Method::POST, "flows/plain/runs").send().await.unwrap();
    assert!(matches!(started.status().as_u16(), 200 | 202), "{}", started.status());
    let id: Value = started.json().await.unwrap();
    let id = id["id"].as_str().unwrap().to_owned();
    until(&app, &id, &["succeeded"]).await;
    let nothing = app.post("flows/plain/runs", Value::Null).await;
    assert!(matches!(nothing.status, 200 | 202), "{}", nothing.text);
    app.post("flows/plain/runs", json!([])).await.is_problem(422, "VALIDATION_FAILED");
    let again = app.request(reqwest::Method::POST, &format!("runs/{id}/replay")).send().await.unwrap();
    assert_eq!(again.status().as_u16(), 202);
    let again: Value = again.json().await.unwrap();
    assert_eq!(until(&app, again["id"].as_str().unwrap(), &["succeeded"]).await["output"], 1);
}

/// FL-14: an answer that lacks something is told by the path of that.
async fn a_wrong_answer_is_told_by_the_field_that_is_missing(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = "nodes: {ok: {approval: {title: T, fields: {carrier: string, box: {size: int}}}}}";
    publish_over_rest(&app, "asks", text).await;
    let run = app.post("flows/asks/runs", json!({})).await.string("id");
    let view = until(&app, &run, &["waiting"]).await;
    let path = format!("approvals/{}", view["waiting_for"][0]["approval_id"].as_str().unwrap());
    let paths = async |data: Value| -> Vec<String> {
        let mut answer = json!({ "decision": "approve", "data": data });
        if answer["data"].is_null() {
            answer.as_object_mut().unwrap().remove("data");
        }
        let wrong = app.post(&path, answer).await.is_problem(422, "VALIDATION_FAILED");
        let errors = wrong.body["errors"].as_array().cloned().unwrap_or_default();
        errors.iter().map(|error| error["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(paths(Value::Null).await, ["data.carrier", "data.box"]);
    assert_eq!(paths(json!({})).await, ["data.carrier", "data.box"]);
    assert_eq!(paths(json!({ "carrier": "dhl", "box": {} })).await, ["data.box.size"]);
    assert_eq!(paths(json!(5)).await, ["data"]);
    app.post(&path, json!({ "decision": "approve", "data": { "carrier": "dhl", "box": { "size": 1 } } }))
        .await
        .is(200);
}
