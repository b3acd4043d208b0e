//! The tools users define on a service, one by one.

use crate::setup::crm;
use serde_json::{Value, json};
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! { adds_changes_and_deletes_tools_of_a_service refuses_a_bad_tool_and_keeps_the_old_ones }

async fn adds_changes_and_deletes_tools_of_a_service(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let tools = "services/api/crm/tools";
    let reply =
        app.post(tools, json!({ "id": "new", "description": "New", "endpoint": "/new" })).await.is(201);
    assert_eq!((&reply.body["id"], &reply.body["name"]), (&json!("new"), &json!("crm__new")));
    assert_eq!(reply.body["uri"], "api://crm/new");
    assert_eq!(reply.body["inputSchema"]["type"], "object");
    app.call("api://crm/new", json!({})).await.is(200);
    assert_eq!(upstream.last().path, "/new");

    let parameter = json!({ "name": "q", "required": true, "position": "query" });
    let change = json!({ "endpoint": "/newer", "parameters": [parameter] });
    let reply = app.patch(&format!("{tools}/new"), change).await.is(200);
    assert_eq!(reply.body["description"], "New", "what is not given stays");
    app.call_name("crm__new", json!({})).await.is_problem(422, "VALIDATION_FAILED");
    app.call_name("crm__new", json!({ "q": "x" })).await.is(200);
    assert_eq!((upstream.last().path.as_str(), upstream.last().query.as_str()), ("/newer", "q=x"));

    let ids: Vec<Value> =
        app.get(tools).await.is(200).items().iter().map(|tool| tool["id"].clone()).collect();
    assert_eq!(ids.len(), 5, "{ids:?}");
    assert_eq!(app.get(&format!("{tools}?limit=2&page=3")).await.is(200).items().len(), 1);
    app.delete(&format!("{tools}/new")).await.is(204);
    app.get(&format!("{tools}/new")).await.is_problem(404, "NOT_FOUND");
    app.delete(&format!("{tools}/new")).await.is_problem(404, "NOT_FOUND");
    app.call("api://crm/new", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    app.call("api://crm/ping", json!({})).await.is(200);
}

async fn refuses_a_bad_tool_and_keeps_the_old_ones(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let tools = "services/api/crm/tools";
    app.post(tools, json!({ "id": "ping", "endpoint": "/x" })).await.is_problem(409, "CONFLICT");
    let reply = app.post(tools, json!({ "endpoint": "/x" })).await.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(reply.errors(), [("id", "Invalid")]);
    let bad = json!({ "id": "a b", "endpoint": "/{x}", "response_template": "{{" });
    let reply = app.post(tools, bad).await.is_problem(422, "VALIDATION_FAILED");
    let expected = [
        ("id", "Invalid"),
        ("endpoint", "PathParameterMissing"),
        ("response_template", "TemplateSyntaxError"),
    ];
    assert_eq!(reply.errors(), expected);
    let bad = json!({ "id": "bad", "endpoint": "/{a}", "method": "GET", "colour": 1 });
    let reply = app.post(tools, bad).await.is_problem(422, "VALIDATION_FAILED");
    assert!(reply.errors().iter().any(|(path, _)| *path == "colour"), "{}", reply.text);
    let reply = app.patch(&format!("{tools}/ping"), json!({ "endpoint": "/{a}" })).await;
    let reply = reply.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(reply.errors(), [("endpoint", "PathParameterMissing")], "{}", reply.text);
    app.patch(&format!("{tools}/ping"), json!({ "id": "pong" })).await.is_problem(422, "VALIDATION_FAILED");
    app.post("services/api/nobody/tools", json!({ "id": "a", "endpoint": "/" }))
        .await
        .is_problem(404, "NOT_FOUND");
    app.call("api://crm/ping", json!({})).await.is(200);
    assert_eq!(app.get(tools).await.is(200).body["total"], 4);
}
