//! The list of tools: whose, what of each, in pages.

use crate::setup::{api, crm};
use serde_json::{Value, json};
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    lists_the_tools_of_the_callers_tenant
    gives_each_tool_name_description_and_schema
    pages_the_list
    never_shows_or_calls_the_tools_of_another_tenant
    lets_an_admin_choose_the_tenant
}

/// HT-4.1, HD-6
async fn lists_the_tools_of_the_callers_tenant(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    assert_eq!(
        app.get("mcp/tools").await.is(200).body,
        json!({ "tools": [], "page": 1, "limit": 50, "total": 0 })
    );
    app.service(crm(&upstream)).await;
    assert_eq!(app.tool_names().await, ["crm__fail", "crm__get_order", "crm__ping", "crm__slow"]);
    // The list is exactly what may be called.
    let narrow = app.with_key(json!({ "name": "narrow", "allow": ["crm__p*", "api://crm/slow"] })).await;
    assert_eq!(narrow.tool_names().await, ["crm__ping", "crm__slow"]);
    let viewer = app.with_key(json!({ "name": "viewer", "role": "viewer" })).await;
    assert!(viewer.tool_names().await.is_empty());
}

/// HT-4.2, HT-4.3
async fn gives_each_tool_name_description_and_schema(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let tools = app.get("mcp/tools").await.is(200).body["tools"].clone();
    let order = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "crm__get_order").unwrap();
    assert_eq!(order["description"], "[crm] Finds orders of a user");
    let schema = &order["inputSchema"];
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["userId"]));
    assert_eq!(schema["additionalProperties"], false);
    let properties = &schema["properties"];
    assert_eq!(properties["userId"], json!({ "type": "string", "description": "Whose orders" }));
    assert_eq!(properties["limit"], json!({ "type": "integer", "description": "How many", "default": 20 }));
    assert_eq!(properties["state"], json!({ "type": "string", "enum": ["open", "closed"] }));
    for tool in tools.as_array().unwrap() {
        assert!(tool["name"].is_string() && tool["description"].is_string());
        assert!(tool["inputSchema"].is_object(), "{tool}");
    }
}

/// HT-4.5, HD-6
async fn pages_the_list(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    for id in ["a", "b", "c"] {
        app.service(api(id, &upstream.url())).await;
    }
    let all = app.tool_names().await;
    assert_eq!(all.len(), 12);
    let mut paged = Vec::new();
    for page in 1..=4 {
        let body = app.get(&format!("mcp/tools?page={page}&limit=5")).await.is(200).body;
        assert_eq!((&body["page"], &body["limit"], &body["total"]), (&json!(page), &json!(5), &json!(12)));
        let tools = body["tools"].as_array().unwrap().clone();
        assert_eq!(tools.len(), [5, 5, 2, 0][page - 1]);
        paged.extend(tools.into_iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
    }
    assert_eq!(paged, all);
    for query in ["page=0", "limit=0", "limit=1001", "page=-1", "limit=many"] {
        app.get(&format!("mcp/tools?{query}")).await.is_problem(400, "BAD_REQUEST");
    }
    let huge = app.get("mcp/tools?page=4294967295&limit=1000").await.is(200);
    assert_eq!(huge.body["tools"], json!([]));
}

/// HT-4.4
async fn never_shows_or_calls_the_tools_of_another_tenant(backend: Backend) {
    let (ours, theirs) = (http::Server::start().await, http::Server::start().await);
    let app = TestApp::start(backend).await;
    let acme = app.with_tenant("acme").await;
    let umbrella = app.with_tenant("umbrella").await;
    acme.post("services", crm(&ours)).await.is(201);
    let mut secret = api("vault", &theirs.url());
    secret["tools"] = json!([{ "id": "open", "endpoint": "/open" }]);
    umbrella.post("services", secret).await.is(201);
    assert_eq!(acme.tool_names().await.len(), 4);
    assert_eq!(umbrella.tool_names().await, ["vault__open"]);
    acme.call("api://vault/open", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    acme.call_name("vault__open", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    for path in ["mcp/tools?tenant_id=umbrella", "mcp/tools?tenant_id=nobody"] {
        acme.get(path).await.is_problem(404, "NOT_FOUND");
    }
    let body = json!({ "name": "vault__open" });
    acme.post("mcp/tools/call?tenant_id=umbrella", body).await.is_problem(404, "NOT_FOUND");
    assert!(theirs.requests().is_empty());
    // The same id in two tenants leads to two places.
    umbrella.post("services", crm(&theirs)).await.is(201);
    acme.call("api://crm/ping", json!({})).await.is(200);
    assert_eq!((ours.requests().len(), theirs.requests().len()), (1, 0));
    umbrella.call("api://crm/ping", json!({})).await.is(200);
    assert_eq!((ours.requests().len(), theirs.requests().len()), (1, 1));
}

/// HD-6, HT-4.4
async fn lets_an_admin_choose_the_tenant(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let acme = app.with_tenant("acme").await;
    acme.post("services", crm(&upstream)).await.is(201);
    assert_eq!(app.get("mcp/tools").await.body["total"], 0);
    assert_eq!(app.get("mcp/tools?tenant_id=acme").await.is(200).body["total"], 4);
    let body = json!({ "name": "crm__ping", "arguments": {} });
    app.post("mcp/tools/call", body.clone()).await.is_problem(404, "TOOL_NOT_FOUND");
    let reply = app.post("mcp/tools/call?tenant_id=acme", body).await.is(200);
    assert_eq!(reply.body["isError"], false);
    assert_eq!(acme.get("mcp/tools?tenant_id=acme").await.is(200).body["total"], 4);
    let tenants: Vec<Value> = acme.get("tenants").await.is(200).items();
    assert_eq!(tenants.len(), 1, "a manager sees its own tenant");
}
