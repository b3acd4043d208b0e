//! Tools of type `uri`: a service's tool under another name, with presets and another shape.

use crate::setup::{audited, crm};
use serde_json::{Value, json};
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    calls_a_services_tool_with_presets_and_other_names
    says_where_a_tool_leads_that_has_no_target
    refuses_what_does_not_fit_its_target
    guards_a_service_that_tools_refer_to
    guards_a_services_tool_that_tools_refer_to
    speaks_of_renamed_parameters_by_their_new_names
    numbers_keep_their_digits_on_their_way_through_a_tool
}

#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn orders(more: Value) -> Value {
    let mut tool = json!({ "name": "find_orders", "type": "uri", "description": "Open orders", "uri": "api://crm/get_order?timeout=5000" });
    for (name, value) in more.as_object().cloned().unwrap_or_default() {
        tool[name] = value;
    }
    tool
}

async fn calls_a_services_tool_with_presets_and_other_names(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let tool = orders(json!({
        "arguments": { "state": "open", "access_token": "hunter2" }, "hidden": ["limit"], "rename": { "customer": "userId" },
        "response_template": "{{ .path }}?{{ .query }}"
    }));
    let made = app.post("tools", tool).await.is(201);
    assert_eq!(made.body["arguments"], json!({ "state": "open", "access_token": "***" }));
    let path = format!("tools/{}", made.string("id"));

    let listed = app.get("mcp/tools").await.is(200).body["tools"].as_array().unwrap().clone();
    let listed = listed.iter().find(|tool| tool["name"] == "find_orders").unwrap();
    assert_eq!(listed["description"], "Open orders");
    assert_eq!(listed["inputSchema"]["required"], json!(["customer"]));
    assert_eq!(listed["inputSchema"]["properties"].as_object().unwrap().len(), 1, "{listed}");

    let reply = app.call_name("find_orders", json!({ "customer": "u1" })).await.is(200);
    let text = "/users/u1/orders?limit=20&state=open&access_token=hunter2";
    assert_eq!(reply.body["content"][0]["text"], text, "presets and defaults are filled in");
    let preset = app.call_name("find_orders", json!({ "customer": "u1", "state": "closed" })).await;
    let preset = preset.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(preset.body["errors"][0]["path"], "state", "{}", preset.text);
    assert!(preset.string("detail").contains("Unknown parameter 'state'"), "{}", preset.text);
    for bad in [json!({ "userId": "u1" }), json!({ "customer": "u1", "limit": 5 }), json!({})] {
        app.call_name("find_orders", bad).await.is_problem(422, "VALIDATION_FAILED");
    }
    let records = audited(&app, "tool=find_orders&status=ok", 1).await;
    assert_eq!(
        (&records[0]["uri"], &records[0]["service"]),
        (&json!("api://crm/get_order?timeout=5000"), &json!("crm"))
    );

    // A masked preset that is sent back stays what it was.
    let change =
        json!({ "arguments": { "state": "open", "access_token": "***" }, "response_template": null });
    let changed = app.patch(&path, change).await.is(200);
    assert!(changed.body.get("response_template").is_none(), "{}", changed.text);
    let reply = app.call_name("find_orders", json!({ "customer": "u2" })).await.is(200);
    assert_eq!(reply.body["structuredContent"]["query"], "limit=20&state=open&access_token=hunter2");

    let slow = json!({ "name": "slow", "type": "uri", "uri": "api://crm/slow?timeout=300" });
    app.post("tools", slow).await.is(201);
    let reply = app.call_name("slow", json!({ "ms": 5000 })).await.is(200);
    assert_eq!(reply.body["error"]["code"], "TIMEOUT", "the URI's options hold: {}", reply.text);
}

async fn says_where_a_tool_leads_that_has_no_target(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.post("tools", orders(json!({}))).await.is(201);
    let reply = app.call_name("find_orders", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    assert!(reply.string("detail").contains("api://crm/get_order"), "{}", reply.text);
    assert!(app.tool_names().await.is_empty());
    app.service(crm(&upstream)).await;
    app.call_name("find_orders", json!({ "userId": "u" })).await.is(200);
    app.post("services/api/crm/disable", json!({})).await.is(200);
    app.call_name("find_orders", json!({ "userId": "u" })).await.is_problem(409, "SERVICE_DISABLED");
}

async fn refuses_what_does_not_fit_its_target(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    for (more, expected) in [
        (json!({ "uri": "api:/crm" }), ("uri", "InvalidUri")),
        (json!({ "uri": "api://crm/get_order?timout=5" }), ("uri", "InvalidUri")),
        (json!({ "uri": "pigeon://a/b" }), ("uri", "UnknownType")),
        (json!({ "uri": "tool://find_orders/call" }), ("uri", "UnknownType")),
        (json!({ "arguments": { "nope": 1 } }), ("arguments.nope", "UnknownParameter")),
        (json!({ "arguments": { "limit": "x" } }), ("arguments.limit", "WrongType")),
        (json!({ "hidden": ["userId"] }), ("hidden[0]", "RequiredParameterHidden")),
        (json!({ "rename": { "limit": "userId" } }), ("rename.limit", "DuplicateParameter")),
        (json!({ "response_template": "{{" }), ("response_template", "TemplateSyntaxError")),
        (json!({ "select": "a[" }), ("select", "SelectSyntaxError")),
        (json!({ "input_schema": { "type": 7 } }), ("input_schema", "InvalidSchema")),
        (json!({ "input_schema": { "type": "array" } }), ("input_schema", "InvalidSchema")),
        (
            json!({ "input_schema": { "$ref": "#/$defs/a", "$defs": { "a": {} } } }),
            ("input_schema", "InvalidSchema"),
        ),
        (json!({ "hidden": "userId" }), ("hidden", "WrongType")),
    ] {
        let reply = app.post("tools", orders(more)).await.is_problem(422, "VALIDATION_FAILED");
        assert!(reply.errors().contains(&expected), "{expected:?}: {}", reply.text);
    }
    let preset = app.post("tools", orders(json!({ "arguments": { "limit": "x" } }))).await;
    let message = preset.body["errors"][0]["message"].clone();
    assert_eq!(message, "Preset 'limit' must be an integer, not a string");
    let both = orders(json!({ "hidden": ["nope"], "select": "[", "name": "" }));
    assert_eq!(app.post("tools", both).await.is_problem(422, "VALIDATION_FAILED").errors().len(), 3);
}

/// SC-4
async fn guards_a_service_that_tools_refer_to(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let id = app.post("tools", orders(json!({}))).await.is(201).string("id");
    let references = app.get("services/api/crm/references").await.is(200);
    let expected = json!([{ "type": "tool", "id": id, "name": "find_orders", "uri": "api://crm/get_order?timeout=5000" }]);
    assert_eq!((&references.body["items"], &references.body["total"]), (&expected, &json!(1)));
    let refused = app.delete("services/api/crm").await.is_problem(409, "REFERENCED");
    assert!(refused.string("detail").contains("find_orders"), "{}", refused.text);
    app.call_name("find_orders", json!({ "userId": "u" })).await.is(200);
    app.delete("services/api/crm?force=true").await.is(204);
    app.call_name("find_orders", json!({ "userId": "u" })).await.is_problem(404, "TOOL_NOT_FOUND");
}

/// SC-4
async fn guards_a_services_tool_that_tools_refer_to(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    app.post("tools", orders(json!({}))).await.is(201);
    let path = "services/api/crm/tools/get_order";
    let refused = app.delete(path).await.is_problem(409, "REFERENCED");
    assert!(refused.string("detail").contains("find_orders"), "{}", refused.text);
    app.delete("services/api/crm/tools/ping").await.is(204);

    // Nor does it go, or get another id, with a change of all tools.
    let mut tools = app.get("services/api/crm").await.is(200).body["tools"].clone();
    app.patch("services/api/crm", json!({ "tools": tools })).await.is(200);
    tools[0]["id"] = json!("get_orders");
    for without in [tools, json!([])] {
        let change = json!({ "tools": without });
        app.patch("services/api/crm", change).await.is_problem(409, "REFERENCED");
    }
    app.call_name("find_orders", json!({ "userId": "u" })).await.is(200);

    app.patch("services/api/crm?force=true", json!({ "tools": [{ "id": "fail", "endpoint": "/" }] }))
        .await
        .is(200);
    app.post("services/api/crm/tools", json!({ "id": "get_order", "endpoint": "/" })).await.is(201);
    app.call_name("find_orders", json!({})).await.is(200);
    app.delete(&format!("{path}?force=true")).await.is(204);
    app.call_name("find_orders", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
}

async fn speaks_of_renamed_parameters_by_their_new_names(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    app.post("tools", orders(json!({ "rename": { "customer": "userId" } }))).await.is(201);
    for bad in [json!({ "customer": ".." }), json!({ "customer": 5 }), json!({ "customer": "" }), json!({})] {
        let reply = app.call_name("find_orders", bad.clone()).await.is_problem(422, "VALIDATION_FAILED");
        assert_eq!(reply.body["errors"][0]["path"], "customer", "{bad}: {}", reply.text);
        assert!(!reply.text.contains("userId"), "{bad}: {}", reply.text);
    }
    assert!(upstream.requests().is_empty());
}

async fn numbers_keep_their_digits_on_their_way_through_a_tool(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let parameter = |name: &str, of: &str| json!({ "name": name, "parameter_type": of, "position": "body" });
    let mut service = crm(&upstream);
    service["tools"] = json!([{ "id": "pay", "description": "Pays", "method": "POST", "endpoint": "/pay",
        "parameters": [parameter("amount", "Number"), parameter("account", "Number"), parameter("note", "String")] }]);
    app.service(service).await;
    let preset = json!({ "name": "pay", "type": "uri", "description": "Pays", "uri": "api://crm/pay",
        "arguments": { "note": "x" }, "rename": { "to": "account" } });
    app.post("tools", preset).await.is(201);
    let text = r#"{"name":"pay","arguments":{"to":123456789012345678901234,"amount":0.10}}"#;
    let request = app.request(reqwest::Method::POST, "mcp/tools/call");
    let request = request.header("content-type", "application/json").body(text);
    testkit::client::send(request).await.is(200);
    let sent = upstream.requests()[0].body.clone();
    assert!(sent.contains(":123456789012345678901234") && sent.contains("\"note\":\"x\""), "{sent}");
}
