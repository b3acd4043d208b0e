//! `/flows`: drafts that go stale, versions that never change, what differs between them, triggers and their secrets.

use crate::setup::audited;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::{send, send_json};
use testkit::{Backend, Client, Reply, TestApp, on_both_databases};

on_both_databases! {
    works_on_drafts_and_publishes_versions
    keeps_two_people_from_overwriting_one_another
    shows_how_texts_differ
    gives_webhooks_a_secret_once
    deletes_no_flow_that_others_call
    puts_every_change_on_record
}

const ONE: &str = "name: First\nnodes:\n  a: {with: 1} # one\n";
const TWO: &str = "name: Second\nnodes:\n  a: {with: 2, next: b}\n  b: {with: a}\n";

pub(crate) async fn put_draft(client: &Client, id: &str, body: Value) -> Reply {
    send_json(client.request(Method::PUT, &format!("flows/{id}/draft")), &body).await
}

pub(crate) async fn publish(client: &Client, id: &str) -> Reply {
    send(client.request(Method::POST, &format!("flows/{id}/publish"))).await
}

/// FL-26: a version never changes, an equal text makes none, and the way back is a version of its own.
async fn works_on_drafts_and_publishes_versions(backend: Backend) {
    let app = TestApp::start(backend).await;
    let made = app.post("flows", json!({ "id": "orders", "source": ONE })).await.is(201).body;
    assert_eq!(
        (&made["name"], &made["revision"], &made["current"]),
        (&json!("First"), &json!(1), &Value::Null)
    );
    assert_eq!((&made["errors"], &made["source"]), (&json!([]), &json!(ONE)));
    app.post("flows", json!({ "id": "orders", "source": ONE })).await.is_problem(409, "CONFLICT");
    let version = publish(&app, "orders").await.is(200).body;
    assert_eq!((&version["version"], &version["is_new"]), (&json!(1), &json!(true)));
    assert_eq!(publish(&app, "orders").await.is(200).body["is_new"], false);
    put_draft(&app, "orders", json!({ "source": TWO })).await.is(200);
    assert_eq!(publish(&app, "orders").await.is(200).body["version"], 2);
    let back = app.post("flows/orders/rollback", json!({ "version": 1 })).await.is(200).body;
    assert_eq!(back["version"], 3);
    let versions = app.get("flows/orders/versions?limit=2").await.is(200);
    assert_eq!(versions.body["total"], 3);
    assert_eq!(versions.items().iter().map(|item| item["version"].clone()).collect::<Vec<_>>(), [3, 2]);
    for (number, text) in [(1, ONE), (2, TWO), (3, ONE)] {
        let version = app.get(&format!("flows/orders/versions/{number}")).await.is(200).body;
        assert_eq!((&version["source"], &version["bound"]), (&json!(text), &json!([])));
    }
    let flow = app.get("flows/orders").await.is(200).body;
    assert_eq!((&flow["current"], &flow["source"]), (&json!(3), &json!(TWO)), "the draft stays as it is");
    assert_eq!(app.get("flows?q=SECOND").await.is(200).body["total"], 1);
    app.post("flows/orders/rollback", json!({ "version": 9 })).await.is_problem(404, "NOT_FOUND");
    app.get("flows/orders/versions/9").await.is_problem(404, "NOT_FOUND");
    app.get("flows/orders/versions/-1").await.is_problem(404, "NOT_FOUND");

    assert_eq!(send(app.request(Method::POST, "flows/orders/disable")).await.is(200).body["enabled"], false);
    assert_eq!(app.get("flows?enabled=false").await.is(200).body["total"], 1);
    assert_eq!(app.patch("flows/orders", json!({ "enabled": true })).await.is(200).body["enabled"], true);
    app.delete("flows/orders").await.is(204);
    app.get("flows/orders").await.is_problem(404, "NOT_FOUND");
    app.get("flows/orders/versions/1").await.is_problem(404, "NOT_FOUND");
}

/// FL-5: a document is the same flow as its text; a draft may be wrong, and is not published then.
async fn keeps_two_people_from_overwriting_one_another(backend: Backend) {
    let app = TestApp::start(backend).await;
    let document = json!({ "id": "greet", "nodes": { "a": { "with": 1 } } });
    let made = app.post("flows", json!({ "source": document })).await.is(201).body;
    assert_eq!((&made["id"], &made["name"]), (&json!("greet"), &json!("greet")));
    put_draft(&app, "greet", json!({ "source": ONE, "revision": 1 })).await.is(200);
    put_draft(&app, "greet", json!({ "source": TWO, "revision": 1 })).await.is_problem(409, "CONFLICT");
    app.patch("flows/greet", json!({ "source": TWO, "revision": 1 })).await.is_problem(409, "CONFLICT");
    app.post("flows/greet/publish", json!({ "revision": 1 })).await.is_problem(409, "CONFLICT");
    assert_eq!(app.get("flows/greet").await.is(200).body["source"], ONE);
    let wrong = "nodes:\n  a: {with: 1, next: b}\n";
    let saved = put_draft(&app, "greet", json!({ "source": wrong, "revision": 2 })).await.is(200).body;
    let error = json!({ "path": "nodes.a.next", "code": "UnknownNode", "line": 2, "column": 22, "severity": "error",
        "message": "there is no node 'b' in this block" });
    assert_eq!(saved["errors"], json!([error]));
    let refused = publish(&app, "greet").await.is_problem(422, "VALIDATION_FAILED").body;
    let error = json!({ "path": "nodes.a.next", "code": "UnknownNode", "line": 2, "column": 22,
        "message": "there is no node 'b' in this block" });
    assert_eq!(refused["errors"], json!([error]));
    assert!(
        refused["detail"].as_str().unwrap().starts_with("line 2, column 22: there is no node"),
        "{refused}"
    );
    assert_eq!(app.get("flows/greet").await.is(200).body["current"], Value::Null);
    app.post("flows", json!({ "source": ONE })).await.is_problem(422, "VALIDATION_FAILED");
}

async fn shows_how_texts_differ(backend: Backend) {
    let app = TestApp::start(backend).await;
    app.post("flows", json!({ "id": "f", "source": ONE })).await.is(201);
    let all = app.get("flows/f/diff").await.is(200).body;
    assert_eq!(all["changes"][0]["path"], "", "nothing is published yet: {all}");
    publish(&app, "f").await.is(200);
    assert_eq!(app.get("flows/f/diff").await.is(200).body["changes"], json!([]));
    put_draft(&app, "f", json!({ "source": TWO })).await.is(200);
    let changes = json!([
        { "path": "name", "from": "First", "to": "Second" },
        { "path": "nodes.a.with", "from": 1, "to": 2 },
        { "path": "nodes.a.next", "to": "b" },
        { "path": "nodes.b", "to": { "with": "a" } },
    ]);
    assert_eq!(app.get("flows/f/diff").await.is(200).body["changes"], changes);
    assert_eq!(app.get("flows/f/diff?from=1&to=draft").await.is(200).body["changes"], changes);
    assert_eq!(app.get("flows/f/diff?from=draft&to=draft").await.is(200).body["changes"], json!([]));
    app.get("flows/f/diff?from=7").await.is_problem(404, "NOT_FOUND");
    app.get("flows/f/diff?to=yesterday").await.is_problem(400, "BAD_REQUEST");
}

/// FL-32: a secret is shown once, and sealed from then on.
async fn gives_webhooks_a_secret_once(backend: Backend) {
    let app = TestApp::start(backend).await;
    let triggers =
        "triggers:\n- {type: webhook, name: in, auth: standard}\n- {type: schedule, cron: '0 3 * * *'}\n";
    app.post("flows", json!({ "id": "f", "source": format!("{ONE}{triggers}") })).await.is(201);
    assert_eq!(app.get("flows/f/triggers").await.is(200).body["total"], 0, "live from publishing");
    let webhooks = publish(&app, "f").await.is(200).body["webhooks"].clone();
    let (path, secret) = (webhooks[0]["path"].as_str().unwrap(), webhooks[0]["secret"].as_str().unwrap());
    assert!(path.starts_with("/hooks/") && path.len() > 25 && secret.starts_with("whsec_"), "{webhooks}");
    put_draft(&app, "f", json!({ "source": format!("{TWO}{triggers}") })).await.is(200);
    assert_eq!(publish(&app, "f").await.is(200).body["webhooks"], json!([]), "it has one already");
    let listed = app.get("flows/f/triggers").await.is(200);
    assert!(!listed.text.contains(secret), "{}", listed.text);
    let settings = json!({ "auth": "standard", "header": null, "prefix": null, "tolerance": null });
    let hook =
        json!({ "name": "in", "type": "webhook", "enabled": true, "settings": settings, "path": path });
    let settings = json!({ "cron": "0 3 * * *", "timezone": "UTC", "catch_up": "none", "overlap": "queue" });
    let clock = json!({ "name": "schedule_2", "type": "schedule", "enabled": true, "settings": settings });
    assert_eq!(listed.body["items"], json!([hook, clock]));
    let act = async |name: &str, action: &str| {
        send(app.request(Method::POST, &format!("flows/f/triggers/{name}/{action}"))).await
    };
    assert_eq!(act("in", "disable").await.is(200).body["enabled"], false);
    assert_eq!(act("in", "enable").await.is(200).body["enabled"], true);
    let rotated = act("in", "rotate-secret").await.is(200).body;
    assert_eq!(rotated["path"], path, "the address stays");
    assert_ne!(rotated["secret"], secret);
    act("schedule_2", "rotate-secret").await.is_problem(422, "VALIDATION_FAILED");
    act("nobody", "enable").await.is_problem(404, "NOT_FOUND");
    let records = audited(&app, "kind=management", 7).await;
    assert!(!json!(records).to_string().contains("whsec_"), "no secret is on record: {records:?}");
}

async fn deletes_no_flow_that_others_call(backend: Backend) {
    let app = TestApp::start(backend).await;
    app.post("flows", json!({ "id": "child", "source": "nodes: {again: {flow: child, only: 'false'}}" }))
        .await
        .is(201);
    publish(&app, "child").await.is(200);
    assert_eq!(app.get("flows/child/references").await.is(200).body["total"], 0, "its own count for nothing");
    let parent = "name: Parent\nnodes: {c: {flow: child}}";
    app.post("flows", json!({ "id": "parent", "source": parent })).await.is(201);
    let references = app.get("flows/child/references").await.is(200).body["items"].clone();
    let expected = json!([{ "type": "flow", "id": "parent", "name": "Parent", "uri": "flow://child", "node": "nodes.c", "state": "draft" }]);
    assert_eq!(references, expected);
    app.delete("flows/child").await.is_problem(409, "REFERENCED");
    app.delete("flows/child?force=true").await.is(204);
    let missing = publish(&app, "parent").await.is_problem(422, "VALIDATION_FAILED").body;
    assert_eq!(missing["errors"][0]["message"], "there is no flow 'child'");
}

async fn puts_every_change_on_record(backend: Backend) {
    let app = TestApp::start(backend).await;
    app.post("flows", json!({ "id": "f", "source": ONE })).await.is(201);
    put_draft(&app, "f", json!({ "source": TWO })).await.is(200);
    publish(&app, "f").await.is(200);
    app.post("flows/validate", json!({ "source": ONE })).await.is(200);
    app.delete("flows/f").await.is(204);
    let records = audited(&app, "kind=management", 4).await;
    let record = |action: &str| {
        let found = records.iter().find(|record| record["tool"] == action);
        found.unwrap_or_else(|| panic!("no {action} in {records:?}"))["arguments"].clone()
    };
    let draft = record("PUT /api/v1/flows/f/draft");
    assert_eq!((&draft["before"]["source"], &draft["after"]["source"]), (&json!(ONE), &json!(TWO)));
    assert_eq!(record("POST /api/v1/flows/f/publish")["after"]["version"], 1);
    assert_eq!(record("DELETE /api/v1/flows/f")["before"]["current"], 1);
}
