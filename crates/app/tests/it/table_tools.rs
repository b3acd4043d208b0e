//! Tools over tables: each operation, what it takes and gives, and what it refuses.

use crate::tables::{shop, table};
use serde_json::{Value, json};
use testkit::{Backend, Client, TestApp, on_both_databases};

on_both_databases! {
    makes_tools_over_a_part_of_a_table
    changes_what_a_tool_over_a_table_is
    refuses_a_tool_over_a_table_that_cannot_work
    shows_how_the_data_is_built
    queries_with_jmespath
    creates_elements_all_or_none
    updates_and_deletes_elements
    previews_with_and_without_keys
    selects_by_a_field
}

/// Makes a Tool of a type over a table, named after its type.
pub(crate) async fn tool(client: &Client, kind: &str, table: &str, path: &str, more: Value) -> String {
    let mut tool = json!({ "name": kind, "type": kind, "table_id": table, "json_path": path });
    tool.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    client.post("tools", tool).await.is(201).string("id")
}

/// The structured answer of a call that succeeds.
pub(crate) async fn answer(client: &Client, name: &str, arguments: Value) -> Value {
    let reply = client.call_name(name, arguments).await.is(200);
    assert_eq!(reply.body["isError"], false, "{}", reply.text);
    let structured = reply.body["structuredContent"].clone();
    let text: Value = serde_json::from_str(reply.body["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, structured, "the text is the same JSON");
    structured
}

/// TB-1.1, TB-1.2
async fn makes_tools_over_a_part_of_a_table(backend: Backend) {
    let app = TestApp::start(backend).await;
    let ada = app.with_key(json!({ "name": "ada", "role": "caller" })).await;
    let bob = app.with_key(json!({ "name": "bob", "role": "caller" })).await;
    let id = table(&ada, shop()).await;
    let made = ada
        .post(
            "tools",
            json!({
                "name": "query_orders", "type": "query_data", "table_id": id, "json_path": "/orders",
                "description": "Finds orders", "input_schema": {}, "output_schema": null,
                "metadata": { "team": "sales" }, "alias": "Orders"
            }),
        )
        .await
        .is(201);
    for (field, expected) in [
        ("type", json!("query_data")),
        ("table_id", json!(id)),
        ("json_path", json!("/orders")),
        ("metadata", json!({ "team": "sales" })),
        ("alias", json!("Orders")),
        ("status", json!("active")),
    ] {
        assert_eq!(made.body[field], expected, "{field}: {}", made.text);
    }
    let path = format!("tools/{}", made.string("id"));
    // Only those who may manage it see it.
    assert_eq!(ada.get("tools").await.is(200).body["total"], 1);
    assert_eq!(bob.get("tools").await.is(200).body["total"], 0);
    bob.get(&path).await.is_problem(404, "NOT_FOUND");
    bob.patch(&path, json!({ "alias": "x" })).await.is_problem(404, "NOT_FOUND");
    let foreign = json!({ "name": "mine", "type": "get_all_data", "table_id": id });
    bob.post("tools", foreign).await.is_problem(404, "NOT_FOUND");
    let foreign = json!({ "name": "mine", "type": "uri", "uri": format!("table://{id}/get_all_data") });
    bob.post("tools", foreign).await.is_problem(404, "NOT_FOUND");
}

/// TB-1.3
async fn changes_what_a_tool_over_a_table_is(backend: Backend) {
    let app = TestApp::start(backend).await;
    let ada = app.with_key(json!({ "name": "ada", "role": "caller" })).await;
    let id = table(&ada, shop()).await;
    let path =
        format!("tools/{}", tool(&ada, "query_data", &id, "/orders", json!({ "alias": "Orders" })).await);
    let change = json!({
        "name": "orders", "alias": null, "description": "All orders", "metadata": { "team": "it" },
        "input_schema": { "type": "object", "properties": { "query": { "type": "string", "maxLength": 20 } }, "required": ["query"] },
        "output_schema": { "type": "object" }
    });
    let changed = ada.patch(&path, change).await.is(200);
    assert_eq!((&changed.body["table_id"], &changed.body["json_path"]), (&json!(id), &json!("/orders")));
    let listed = app.get("mcp/tools").await.is(200).body["tools"][0].clone();
    assert_eq!((&listed["name"], &listed["description"]), (&json!("orders"), &json!("All orders")));
    assert_eq!(listed["inputSchema"]["properties"]["query"]["maxLength"], 20);
    assert_eq!(listed["outputSchema"], json!({ "type": "object" }));
    assert_eq!(answer(&app, "orders", json!({ "query": "[0].id" })).await["data"], "o1");
    app.call_name("orders", json!({ "query": "[0].id || [1].id || [2].id" }))
        .await
        .is_problem(422, "VALIDATION_FAILED");
}

/// TB-1.1
async fn refuses_a_tool_over_a_table_that_cannot_work(backend: Backend) {
    let app = TestApp::start(backend).await;
    let ada = app.with_key(json!({ "name": "ada", "role": "caller" })).await;
    let id = table(&ada, shop()).await;
    for (more, expected) in [
        (json!({ "json_path": "orders" }), ("json_path", "InvalidPointer")),
        (json!({ "json_path": "/a~2" }), ("json_path", "InvalidPointer")),
        (json!({ "table_id": null }), ("table_id", "Required")),
        (json!({ "input_schema": { "type": 7 } }), ("input_schema", "InvalidSchema")),
        (json!({ "input_schema": { "type": "array" } }), ("input_schema", "InvalidSchema")),
        (json!({ "input_schema": { "anyOf": [{ "type": "object" }] } }), ("input_schema", "InvalidSchema")),
        (json!({ "output_schema": { "type": "strin" } }), ("output_schema", "InvalidSchema")),
        (json!({ "metadata": { "preview_keys": "id" } }), ("metadata.preview_keys", "WrongType")),
        (json!({ "colour": 1 }), ("colour", "Unknown")),
        (json!({ "type": "query" }), ("type", "UnknownType")),
    ] {
        let mut body = json!({ "name": "x", "type": "query_data", "table_id": id });
        body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let reply = ada.post("tools", body).await.is_problem(422, "VALIDATION_FAILED");
        assert!(reply.errors().contains(&expected), "{expected:?}: {}", reply.text);
    }
    ada.post("tools", json!({ "name": "x", "type": "create", "table_id": "no-such" }))
        .await
        .is_problem(404, "NOT_FOUND");
}

/// TB-4.4
async fn shows_how_the_data_is_built(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = table(&app, shop()).await;
    tool(&app, "get_data_schema", &id, "", json!({})).await;
    let expected = json!({
        "orders": [{ "id": "<str>", "status": "<str>", "total": "<float>", "lines": [{ "sku": "<str>" }] }],
        "config": { "currency": "<str>", "a/b": { "m~n": "<int>" } },
        "title": "<str>"
    });
    let found = answer(&app, "get_data_schema", json!({})).await;
    assert_eq!((&found["data"], &found["meta"]["root_type"]), (&expected, &json!("object")));
    tool(&app, "get_all_data", &id, "/config", json!({})).await;
    assert_eq!(answer(&app, "get_all_data", json!({})).await, json!({ "data": shop()["config"] }));
    let listed = app.get("mcp/tools").await.is(200).body["tools"][0].clone();
    assert_eq!(listed["description"], "Returns the data at /config.", "a tool has a description by itself");
    assert_eq!(listed["inputSchema"]["additionalProperties"], false);
}

/// TB-4.1
async fn queries_with_jmespath(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = table(&app, shop()).await;
    tool(&app, "query_data", &id, "/orders", json!({})).await;
    for (query, expected) in [
        ("[?status=='open'].id", json!(["o1", 3])),
        ("length(@)", json!(3)),
        ("sort_by(@, &total)[-1].total", json!(99)),
        ("[?status=='gone']", json!([])),
        ("nothing.here", json!(null)),
        ("[].{id: id, sum: total} | [0]", json!({ "id": "o1", "sum": 12.5 })),
        ("max_by(@, &total).id", json!("o2")),
    ] {
        let found = answer(&app, "query_data", json!({ "query": query })).await;
        assert_eq!(found, json!({ "data": expected, "query": query }));
    }
    for (query, why) in [
        ("[?status==", "line 1, column"),
        ("foo(@)", "there is no function 'foo'"),
        ("abs([0].id)", "abs() wants a number and got string"),
    ] {
        let reply =
            app.call_name("query_data", json!({ "query": query })).await.is_problem(422, "VALIDATION_FAILED");
        assert!(reply.string("detail").contains(why), "{query}: {}", reply.text);
        assert_eq!(reply.errors(), [("query", "QueryError")]);
    }
    let bomb = format!("[@,@]{}", " | [@,@]".repeat(60));
    app.call_name("query_data", json!({ "query": bomb })).await.is_problem(422, "VALIDATION_FAILED");
    app.call_name("query_data", json!({ "query": "(".repeat(4000) }))
        .await
        .is_problem(422, "VALIDATION_FAILED");
    app.call_name("query_data", json!({})).await.is_problem(422, "VALIDATION_FAILED");
    app.call_name("query_data", json!({ "query": "@", "nope": 1 }))
        .await
        .is_problem(422, "VALIDATION_FAILED");
}

/// TB-4.2
async fn creates_elements_all_or_none(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = table(&app, shop()).await;
    tool(&app, "create", &id, "/config", json!({})).await;
    let data = format!("tables/{id}/data?json_path=/config");
    let made = answer(
        &app,
        "create",
        json!({ "elements": [{ "key": "a", "content": 1 }, { "key": "b", "content": { "c": null } }] }),
    )
    .await;
    assert_eq!(made, json!({ "created_keys": ["a", "b"], "total_created": 2, "failed": [] }));
    assert_eq!(app.get(&data).await.body["data"]["b"], json!({ "c": null }));
    for (elements, path) in [
        (json!([{ "key": "new", "content": 1 }, { "key": "a", "content": 2 }]), "elements[1].key"),
        (json!([{ "key": "new", "content": 1 }, { "key": "new", "content": 2 }]), "elements[1].key"),
        (json!([{ "content": 1 }]), "elements[0].key"),
    ] {
        let reply = app
            .call_name("create", json!({ "elements": elements }))
            .await
            .is_problem(422, "VALIDATION_FAILED");
        assert_eq!(reply.errors()[0].0, path, "{}", reply.text);
        assert!(app.get(&data).await.body["data"].get("new").is_none(), "all or nothing");
    }
    let on_list = json!({ "name": "add_order", "type": "create", "table_id": id, "json_path": "/orders" });
    app.post("tools", on_list).await.is(201);
    let made = answer(
        &app,
        "add_order",
        json!({ "elements": [{ "key": "ignored", "content": { "id": "o4" } }, { "content": 5 }] }),
    )
    .await;
    assert_eq!(made["created_keys"], json!(["3", "4"]));
    let text = json!({ "name": "add_text", "type": "create", "table_id": id, "json_path": "/title" });
    app.post("tools", text).await.is(201);
    let reply = app.call_name("add_text", json!({ "elements": [{ "content": 1 }] })).await.is(200);
    assert_eq!(reply.body["isError"], true, "{}", reply.text);
}

/// TB-4.4
async fn updates_and_deletes_elements(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = table(&app, json!({ "list": [0, 1, 2, 3, 4], "map": { "a": 1, "b": 2, "c": 3 } })).await;
    for (name, kind, path) in [
        ("set_list", "update", "/list"),
        ("set_map", "update", "/map"),
        ("cut_list", "delete", "/list"),
        ("cut_map", "delete", "/map"),
    ] {
        app.post("tools", json!({ "name": name, "type": kind, "table_id": id, "json_path": path }))
            .await
            .is(201);
    }
    let done =
        answer(&app, "set_map", json!({ "updates": [{ "key": "a", "content": { "whole": true } }] })).await;
    assert_eq!(done, json!({ "updated_keys": ["a"], "total_updated": 1 }));
    answer(
        &app,
        "set_list",
        json!({ "updates": [{ "key": 1, "content": "one" }, { "key": "2", "content": "two" }] }),
    )
    .await;
    let done = answer(&app, "cut_list", json!({ "keys": [0, "3", 4] })).await;
    assert_eq!(done, json!({ "deleted_keys": ["0", "3", "4"], "total_deleted": 3 }));
    answer(&app, "cut_map", json!({ "keys": ["b"] })).await;
    let data = app.get(&format!("tables/{id}/data")).await.is(200).body["data"].clone();
    assert_eq!(data, json!({ "list": ["one", "two"], "map": { "a": { "whole": true }, "c": 3 } }));
    for (name, arguments) in [
        ("set_map", json!({ "updates": [{ "key": "c", "content": 0 }, { "key": "nope", "content": 1 }] })),
        ("set_list", json!({ "updates": [{ "key": 9, "content": 1 }] })),
        ("set_list", json!({ "updates": [{ "key": "-", "content": 1 }] })),
        ("cut_list", json!({ "keys": [0, 7] })),
        ("cut_list", json!({ "keys": ["01"] })),
        ("cut_list", json!({ "keys": [0, 0] })),
        ("cut_map", json!({ "keys": ["a", "nope"] })),
    ] {
        let reply = app.call_name(name, arguments).await.is_problem(422, "VALIDATION_FAILED");
        assert!(reply.string("detail").contains("nothing was changed"), "{}", reply.text);
    }
    assert_eq!(app.get(&format!("tables/{id}/data")).await.is(200).body["data"], data);
}

/// TB-6.1, TB-6.2
async fn previews_with_and_without_keys(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = table(&app, shop()).await;
    tool(&app, "get_all_data", &id, "/orders", json!({})).await;
    tool(&app, "preview", &id, "/orders", json!({})).await;
    let all = answer(&app, "get_all_data", json!({})).await;
    let found = answer(&app, "preview", json!({})).await;
    assert_eq!((&found["data"], &found["total_count"]), (&all["data"], &json!(3)));
    let keys = json!({ "name": "short", "type": "preview", "table_id": id, "json_path": "/orders",
        "metadata": { "preview_keys": ["status", "id", "missing"] } });
    app.post("tools", keys).await.is(201);
    let found = answer(&app, "short", json!({})).await;
    let expected = json!([{ "status": "open", "id": "o1" }, { "status": "closed", "id": "o2" }, { "status": "open", "id": 3 }]);
    assert_eq!(found, json!({ "data": expected, "keys": ["status", "id", "missing"], "total_count": 3 }));
    let no_list = json!({ "name": "no_list", "type": "preview", "table_id": id, "json_path": "/config" });
    app.post("tools", no_list).await.is(201);
    let reply = app.call_name("no_list", json!({})).await.is(200);
    assert!(reply.body["isError"] == true && reply.text.contains("list of objects"), "{}", reply.text);
}

/// TB-4.4
async fn selects_by_a_field(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = table(&app, shop()).await;
    tool(&app, "select", &id, "/orders", json!({})).await;
    for (field, keys, expected) in [
        ("status", json!(["open"]), json!(["o1", 3])),
        ("id", json!(["3", "o2"]), json!(["o2", 3])),
        ("id", json!([3]), json!([3])),
        ("total", json!(["12.5", 99]), json!(["o1", "o2"])),
        ("nope", json!(["x"]), json!([])),
    ] {
        let found = answer(&app, "select", json!({ "field": field, "keys": keys })).await;
        let ids: Vec<_> = found["data"].as_array().unwrap().iter().map(|order| order["id"].clone()).collect();
        assert_eq!(
            (json!(ids), &found["matched_count"]),
            (expected.clone(), &json!(expected.as_array().unwrap().len()))
        );
    }
}
