//! MCP instances: doors that offer exactly the tools that are bound to them.

use crate::setup::{PATIENCE, crm};
use crate::tables::{shop, table};
use futures::StreamExt as _;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send_json;
use testkit::{Backend, Client, Reply, TestApp, eventually, http, on_both_databases};

on_both_databases! {
    offers_exactly_the_enabled_bindings
    binds_tools_of_every_type
    refuses_two_tools_of_one_name
    refuses_a_rename_that_collides
    lists_bindings_by_key_and_by_id
    shows_keys_once_and_rotates_them
    closes_the_door_of_a_disabled_instance
    tells_connected_clients_at_once
    another_replica_opens_the_same_doors
}

const ACCEPT: &str = "application/json, text/event-stream";

/// An instance with its key.
pub(crate) struct Instance {
    pub(crate) id: String,
    pub(crate) key: String,
}

pub(crate) async fn instance(client: &Client, name: &str) -> Instance {
    let made = client.post("mcp", json!({ "name": name })).await.is(201);
    Instance { id: made.string("id"), key: made.string("api_key") }
}

pub(crate) async fn tool(client: &Client, name: &str, kind: &str, table: &str, path: &str) -> String {
    let tool = json!({ "name": name, "type": kind, "table_id": table, "json_path": path });
    client.post("tools", tool).await.is(201).string("id")
}

pub(crate) async fn bind(client: &Client, instance: &Instance, tools: &[&str]) -> Reply {
    let bindings: Vec<_> = tools.iter().map(|tool| json!({ "tool_id": tool })).collect();
    client.post(&format!("mcp/id/{}/bindings", instance.id), json!({ "bindings": bindings })).await
}

async fn switch(client: &Client, instance: &Instance, tool: &str, status: Value) {
    let path = format!("mcp/id/{}/bindings/{tool}", instance.id);
    let is_on = status == true || status == "enabled";
    let switched = client.patch(&path, json!({ "status": status })).await.is(200);
    assert_eq!(switched.body["binding_status"], is_on, "{}", switched.text);
    for status in [json!(null), json!(1), json!("on"), json!("true")] {
        client.patch(&path, json!({ "status": status })).await.is_problem(422, "VALIDATION_FAILED");
    }
}

/// A client of an instance's door that has said hello. It has no other credentials.
pub(crate) struct Session {
    client: Client,
    path: String,
    id: String,
}

impl Session {
    pub(crate) async fn open(client: &Client, key: &str, version: &str) -> Self {
        let (client, path) = (client.as_nobody(), format!("/mcp/{key}"));
        let hello = hello(&client, &path, version).await.is(200);
        let id = hello.header("mcp-session-id").unwrap().to_owned();
        Self { client, path, id }
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let request = self.client.request(Method::POST, &self.path).header("accept", ACCEPT);
        send_json(request.header("mcp-session-id", &self.id), &message).await.is(200).body
    }

    async fn tools(&self) -> Vec<Value> {
        self.ask("tools/list", json!({})).await["result"]["tools"].as_array().unwrap().clone()
    }

    pub(crate) async fn names(&self) -> Value {
        self.tools().await.iter().map(|tool| tool["name"].clone()).collect()
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments })).await
    }
}

pub(crate) async fn hello(client: &Client, path: &str, version: &str) -> Reply {
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    send_json(client.request(Method::POST, path).header("accept", ACCEPT), &message).await
}

/// TB-2.1, TB-2.2, TB-3.1
async fn offers_exactly_the_enabled_bindings(backend: Backend) {
    let app = TestApp::start(backend).await;
    let (one, two) = (table(&app, shop()).await, table(&app, json!([{ "id": "x" }])).await);
    let query = tool(&app, "query_orders", "query_data", &one, "/orders").await;
    let add = tool(&app, "add_item", "create", &two, "").await;
    tool(&app, "unbound", "get_all_data", &one, "").await;
    let door = instance(&app, "door").await;
    let bound = bind(&app, &door, &[&query, &add]).await.is(201);
    assert_eq!(bound.body["total"], 2);
    assert!(bound.items().iter().all(|binding| binding["binding_status"] == true), "{}", bound.text);
    let again = bind(&app, &door, &[&query]).await.is_problem(409, "CONFLICT");
    assert!(again.string("detail").contains("'query_orders' is bound"), "{}", again.text);

    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = Session::open(&app, &door.key, version).await;
        let tools = session.tools().await;
        assert_eq!(session.names().await, json!(["add_item", "query_orders"]), "across tables and paths");
        assert_eq!(tools[1]["description"], "Runs a JMESPath query over the data at /orders.");
        assert_eq!(tools[1]["inputSchema"]["required"], json!(["query"]));
        let found = session.call("query_orders", json!({ "query": "[0].id" })).await;
        assert_eq!(found["result"]["structuredContent"]["data"], "o1", "{found}");
        let made = session.call("add_item", json!({ "elements": [{ "content": { "id": version } }] })).await;
        assert_eq!(made["result"]["structuredContent"]["total_created"], 1, "{made}");
        for (name, why) in [("unbound", "not registered"), ("nope", "not registered")] {
            let refused = session.call(name, json!({})).await;
            assert!(refused["error"]["message"].as_str().unwrap().contains(why), "{refused}");
        }
        switch(&app, &door, &query, json!(false)).await;
        assert_eq!(session.names().await, json!(["add_item"]));
        let refused = session.call("query_orders", json!({ "query": "@" })).await;
        assert!(refused["error"]["message"].as_str().unwrap().contains("not enabled"), "{refused}");
        switch(&app, &door, &query, json!(true)).await;
        assert_eq!(session.names().await, json!(["add_item", "query_orders"]));
    }
    assert_eq!(app.get(&format!("tables/{two}/data")).await.body["data"].as_array().unwrap().len(), 5);
    // A change of the Tool is a change of what the instance offers.
    let session = Session::open(&app, &door.key, "2025-06-18").await;
    app.patch(&format!("tools/{query}"), json!({ "name": "orders", "description": "Mine" })).await.is(200);
    assert_eq!(session.names().await, json!(["add_item", "orders"]));
    app.patch(&format!("tools/{query}"), json!({ "status": "inactive" })).await.is(200);
    assert_eq!(session.names().await, json!(["add_item"]));
    let refused = session.call("orders", json!({ "query": "@" })).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("not active"), "{refused}");
    app.delete(&format!("mcp/id/{}/bindings/{add}", door.id)).await.is(204);
    app.delete(&format!("mcp/id/{}/bindings/{add}", door.id)).await.is_problem(404, "NOT_FOUND");
    app.delete(&format!("tools/{query}")).await.is(204);
    assert_eq!(session.names().await, json!([]));
}

async fn binds_tools_of_every_type(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let orders = table(&app, shop()).await;
    let http = json!({ "name": "ping", "type": "http", "config": { "HTTP": { "endpoint": format!("{}/ping", upstream.url()) } } });
    let uri = json!({ "name": "order", "type": "uri", "uri": "api://crm/get_order" });
    let over = json!({ "name": "titles", "type": "uri", "uri": format!("table://{orders}/get_all_data?path=/title") });
    let mut tools = Vec::new();
    for body in [http, uri, over] {
        tools.push(app.post("tools", body).await.is(201).string("id"));
    }
    tools.push(tool(&app, "all", "get_all_data", &orders, "").await);
    let door = instance(&app, "door").await;
    bind(&app, &door, &tools.iter().map(String::as_str).collect::<Vec<_>>()).await.is(201);
    let session = Session::open(&app, &door.key, "2025-11-25").await;
    assert_eq!(session.names().await, json!(["all", "order", "ping", "titles"]));
    for (name, arguments) in
        [("ping", json!({})), ("order", json!({ "userId": "u" })), ("titles", json!({})), ("all", json!({}))]
    {
        let called = session.call(name, arguments).await;
        assert_eq!(called["result"]["isError"], false, "{name}: {called}");
    }
    let audit = app.get("audit?tool=all").await.is(200);
    assert_eq!(audit.items()[0]["caller_kind"], "instance", "{}", audit.text);
}

/// TB-5.1
async fn refuses_two_tools_of_one_name(backend: Backend) {
    let app = TestApp::start(backend).await;
    let (one, two) = (table(&app, shop()).await, table(&app, json!({ "two": true })).await);
    let first = tool(&app, "read", "get_all_data", &one, "/title").await;
    let second = tool(&app, "read", "get_all_data", &two, "").await;
    let door = instance(&app, "front door").await;
    let refused = bind(&app, &door, &[&first, &second]).await.is_problem(409, "CONFLICT");
    assert!(refused.string("detail").contains("'read'"), "{}", refused.text);
    let listed = format!("mcp/id/{}/tools?include_disabled=true", door.id);
    assert_eq!(app.get(&listed).await.is(200).body["total"], 0, "all or none");
    let off = json!({ "bindings": [{ "tool_id": first, "status": false }] });
    app.post(&format!("mcp/id/{}/bindings", door.id), off).await.is(201);
    let refused = bind(&app, &door, &[&second]).await.is_problem(409, "CONFLICT");
    let detail = refused.string("detail");
    assert!(
        detail.contains("'front door'") && detail.contains("'read'"),
        "a disabled binding counts: {detail}"
    );
    // In another instance it has its own name.
    let other = instance(&app, "back door").await;
    bind(&app, &other, &[&second]).await.is(201);
    let session = Session::open(&app, &other.key, "2025-06-18").await;
    assert_eq!(session.names().await, json!(["read"]));
    let found = session.call("read", json!({})).await;
    assert_eq!(found["result"]["structuredContent"]["data"], json!({ "two": true }));
    // In the tenant's own list, the first has the name and the other one like it.
    let names = app.tool_names().await;
    assert!(names.len() == 2 && names[0] == "read" && names[1].starts_with("read_"), "{names:?}");
    assert_eq!(app.call_name("read", json!({})).await.is(200).body["structuredContent"]["data"], "Shop");
    let found = app.call_name(&names[1], json!({})).await.is(200);
    assert_eq!(found.body["structuredContent"]["data"], json!({ "two": true }));
    let tried = app.post(&format!("tools/{second}/test"), json!({ "arguments": {} })).await.is(200);
    assert_eq!(tried.body["result"]["structuredContent"]["data"], json!({ "two": true }));
    // Others need a name of their own in the tenant.
    let http = json!({ "name": "ping", "type": "http", "config": { "HTTP": { "endpoint": "https://example.com/" } } });
    app.post("tools", http.clone()).await.is(201);
    app.post("tools", http).await.is_problem(409, "CONFLICT");
}

/// TB-5.2
async fn refuses_a_rename_that_collides(backend: Backend) {
    let app = TestApp::start(backend).await;
    let orders = table(&app, shop()).await;
    let a = tool(&app, "a", "get_all_data", &orders, "").await;
    let b = tool(&app, "b", "get_all_data", &orders, "").await;
    let (door, other) = (instance(&app, "front door").await, instance(&app, "other").await);
    bind(&app, &door, &[&a, &b]).await.is(201);
    bind(&app, &other, &[&b]).await.is(201);
    // In the words of older clients, too.
    for status in [json!("enabled"), json!(true), json!("disabled"), json!(false)] {
        switch(&app, &door, &a, status).await;
        let refused =
            app.patch(&format!("tools/{b}"), json!({ "name": "a" })).await.is_problem(409, "CONFLICT");
        assert!(refused.string("detail").contains("'front door'"), "{}", refused.text);
        assert_eq!(app.get(&format!("tools/{b}")).await.body["name"], "b");
    }
    app.patch(&format!("tools/{b}"), json!({ "name": "c" })).await.is(200);
    app.patch(&format!("tools/{a}"), json!({ "name": "b" })).await.is(200);
    app.delete(&format!("mcp/id/{}/bindings/{a}", door.id)).await.is(204);
    app.patch(&format!("tools/{b}"), json!({ "name": "b" })).await.is(200);
    let session = Session::open(&app, &door.key, "2025-06-18").await;
    assert_eq!(session.names().await, json!(["b"]));
}

/// TB-8.1, TB-8.2, TB-8.3, TB-8.4
async fn lists_bindings_by_key_and_by_id(backend: Backend) {
    let app = TestApp::start(backend).await;
    let ada = app.with_key(json!({ "name": "ada", "role": "caller" })).await;
    let orders = table(&ada, shop()).await;
    let on = tool(&ada, "on", "get_all_data", &orders, "").await;
    let off = tool(&ada, "off", "query_data", &orders, "").await;
    let door = instance(&ada, "door").await;
    bind(&ada, &door, &[&on, &off]).await.is(201);
    switch(&ada, &door, &off, json!(false)).await;
    for (client, path) in [
        (app.as_nobody(), format!("mcp/{}/tools", door.key)),
        (ada.clone(), format!("mcp/id/{}/tools", door.id)),
        (Client::clone(&app), format!("mcp/id/{}/tools", door.id)),
    ] {
        let listed = client.get(&path).await.is(200);
        assert_eq!((&listed.body["total"], &listed.body["page"]), (&json!(1), &json!(1)));
        let item = &listed.items()[0];
        for (field, expected) in [
            ("tool_id", json!(on)),
            ("name", json!("on")),
            ("type", json!("get_all_data")),
            ("binding_status", json!(true)),
        ] {
            assert_eq!(item[field], expected, "{field}: {item}");
        }
        assert!(!item["binding_id"].as_str().unwrap().is_empty());
        let all = client.get(&format!("{path}?include_disabled=true")).await.is(200);
        let statuses: Vec<_> = all.items().iter().map(|item| item["binding_status"].clone()).collect();
        assert_eq!(json!(statuses), json!([true, false]));
    }
    for key in ["nope", "mi_nope", "id", "tools", &door.id] {
        app.get(&format!("mcp/{key}/tools")).await.is_problem(404, "NOT_FOUND");
    }
    app.as_nobody().get(&format!("mcp/id/{}/tools", door.id)).await.is_problem(401, "UNAUTHENTICATED");
    assert!(
        app.get("mcp/tools").await.is(200).body["tools"].is_array(),
        "the list of MCP tools is still there"
    );
}

async fn shows_keys_once_and_rotates_them(backend: Backend) {
    let app = TestApp::start(backend).await;
    let made = app.post("mcp", json!({ "name": "door", "description": "For agents" })).await.is(201);
    let (id, old) = (made.string("id"), made.string("api_key"));
    let shown = app.get(&format!("mcp/id/{id}")).await.is(200);
    assert!(shown.body.get("api_key").is_none() && !shown.text.contains(&old), "{}", shown.text);
    assert!(old.starts_with(&shown.string("prefix")) && old.len() > 40);
    assert!(!app.get("mcp").await.is(200).text.contains(&old));
    let mut database = app.database().connect().await;
    let row: (String,) = sqlx::query_as("SELECT hash FROM instances").fetch_one(&mut database).await.unwrap();
    assert!(!row.0.contains(&old), "only the hash is kept");
    let new = app.post(&format!("mcp/id/{id}/rotate-key"), json!({})).await.is(200).string("api_key");
    assert_ne!(new, old);
    app.get(&format!("mcp/{old}/tools")).await.is_problem(404, "NOT_FOUND");
    app.get(&format!("mcp/{new}/tools")).await.is(200);
    hello(&app.as_nobody(), &format!("/mcp/{old}"), "2025-06-18").await.is_problem(404, "NOT_FOUND");
    Session::open(&app, &new, "2025-06-18").await;
    let changed =
        app.patch(&format!("mcp/id/{id}"), json!({ "name": "gate", "description": null })).await.is(200);
    assert_eq!((&changed.body["name"], &changed.body["description"]), (&json!("gate"), &Value::Null));
    app.post("mcp", json!({ "name": "" })).await.is_problem(422, "VALIDATION_FAILED");
    app.delete(&format!("mcp/id/{id}")).await.is(204);
    app.get(&format!("mcp/{new}/tools")).await.is_problem(404, "NOT_FOUND");
    // The key of a door opens nothing else.
    let door = instance(&app, "door").await;
    app.as_key(&door.key).get("tools").await.is_problem(401, "UNAUTHENTICATED");
}

async fn closes_the_door_of_a_disabled_instance(backend: Backend) {
    let app = TestApp::start(backend).await;
    let door = instance(&app, "door").await;
    let session = Session::open(&app, &door.key, "2025-06-18").await;
    app.patch(&format!("mcp/id/{}", door.id), json!({ "status": "disabled" })).await.is(200);
    app.get(&format!("mcp/{}/tools", door.key)).await.is_problem(404, "NOT_FOUND");
    hello(&app, &session.path, "2025-06-18").await.is_problem(404, "NOT_FOUND");
    let stream = app.request(Method::GET, &session.path).header("accept", "text/event-stream");
    assert_eq!(stream.header("mcp-session-id", &session.id).send().await.unwrap().status(), 404);
    app.get(&format!("mcp/id/{}/tools", door.id)).await.is(200);
    app.patch(&format!("mcp/id/{}", door.id), json!({ "status": "active" })).await.is(200);
    assert_eq!(session.names().await, json!([]));
}

async fn tells_connected_clients_at_once(backend: Backend) {
    let app = TestApp::start(backend).await;
    let orders = table(&app, shop()).await;
    let one = tool(&app, "one", "get_all_data", &orders, "").await;
    let door = instance(&app, "door").await;
    bind(&app, &door, &[&one]).await.is(201);
    let session = Session::open(&app, &door.key, "2025-06-18").await;
    let request = session.client.request(Method::GET, &session.path).header("accept", "text/event-stream");
    let response = request.header("mcp-session-id", &session.id).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let mut stream = response.bytes_stream();
    let mut told = async || {
        loop {
            let chunk = tokio::time::timeout(PATIENCE, stream.next()).await.unwrap().unwrap().unwrap();
            if String::from_utf8_lossy(&chunk).contains("notifications/tools/list_changed") {
                return;
            }
        }
    };
    switch(&app, &door, &one, json!(false)).await;
    told().await;
    // What happens to tools of others is not its business, so that the next word is about its own.
    tool(&app, "two", "get_all_data", &orders, "").await;
    switch(&app, &door, &one, json!(true)).await;
    told().await;
    app.patch(&format!("tools/{one}"), json!({ "description": "Changed" })).await.is(200);
    told().await;
}

async fn another_replica_opens_the_same_doors(backend: Backend) {
    let one = TestApp::start(backend).await;
    let two = one.replica("two").await;
    let orders = table(&one, shop()).await;
    let add = tool(&one, "add", "create", &orders, "/orders").await;
    let door = instance(&one, "door").await;
    bind(&one, &door, &[&add]).await.is(201);
    let client = two.as_nobody();
    let path = format!("/mcp/{}", door.key);
    eventually("the door is there", PATIENCE, async || {
        hello(&client, &path, "2025-06-18").await.status == 200
    })
    .await;
    let session = Session::open(&two, &door.key, "2025-06-18").await;
    eventually("the tool is there", PATIENCE, async || session.names().await == json!(["add"])).await;
    let made = session.call("add", json!({ "elements": [{ "content": 1 }] })).await;
    assert_eq!(made["result"]["structuredContent"]["created_keys"], json!(["3"]));
    switch(&one, &door, &add, json!(false)).await;
    eventually("the tool is gone", PATIENCE, async || session.names().await == json!([])).await;
}
