//! Tools over tables at their limits: large answers, huge elements, tables that are gone, and other ways to them.

use crate::table_tools::{answer, tool};
use crate::tables::{shop, table};
use serde_json::{Value, json};
use testkit::{Backend, Client, TestApp, on_both_databases};

on_both_databases! {
    cuts_large_answers_and_goes_on
    says_that_mount_or_table_is_gone
    calls_operations_by_uri
    lists_the_tools_of_a_table
    takes_huge_elements_and_very_many
    keeps_the_tables_of_a_tenant_within_its_quota
}

async fn cuts_large_answers_and_goes_on(backend: Backend) {
    let app = TestApp::start(backend).await;
    let rows: Vec<Value> = (0..5000).map(|n| json!({ "n": n, "text": "x".repeat(1000) })).collect();
    let id = table(&app, rows.into()).await;
    for kind in ["get_all_data", "query_data", "preview", "select"] {
        tool(&app, kind, &id, "", json!({})).await;
        let mut arguments = match kind {
            "query_data" => json!({ "query": "[?n >= `0`]" }),
            "select" => json!({ "field": "text", "keys": ["x".repeat(1000)] }),
            _ => json!({}),
        };
        let mut seen = 0;
        loop {
            let reply = app.call_name(kind, arguments.clone()).await.is(200);
            let found = &reply.body["structuredContent"];
            assert!(found.to_string().len() <= 1024 * 1024, "within the budget");
            for row in found["data"].as_array().unwrap() {
                assert_eq!(row["n"], seen, "{kind}");
                seen += 1;
            }
            let Some(cursor) = found.get("next_cursor") else { break };
            assert_eq!(found["total_count"], 5000);
            assert!(
                reply.body["content"][1]["text"].as_str().unwrap().contains("of 5000"),
                "it says what was cut"
            );
            arguments["cursor"] = cursor.clone();
        }
        assert_eq!(seen, 5000, "{kind}");
        arguments["limit"] = 2.into();
        arguments["cursor"] = "10".into();
        assert_eq!(answer(&app, kind, arguments.clone()).await["data"][1]["n"], 11);
        arguments["cursor"] = "x".into();
        app.call_name(kind, arguments).await.is_problem(422, "VALIDATION_FAILED");
    }
}

async fn says_that_mount_or_table_is_gone(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = table(&app, shop()).await;
    for (kind, arguments) in [
        ("get_all_data", json!({})),
        ("query_data", json!({ "query": "@" })),
        ("create", json!({ "elements": [{ "content": 1 }] })),
        ("delete", json!({ "keys": ["a"] })),
    ] {
        tool(&app, kind, &id, "/title/deeper", json!({})).await;
        let reply = app.call_name(kind, arguments).await.is(200);
        assert_eq!(
            (&reply.body["isError"], &reply.body["error"]["code"]),
            (&json!(true), &json!("NOT_FOUND"))
        );
        assert!(reply.text.contains("'/title' is a string, which holds nothing"), "{}", reply.text);
    }
    let calls = (0..40).map(|_| {
        let client = Client::clone(&app);
        tokio::spawn(async move { client.call_name("get_all_data", json!({})).await })
    });
    let calls: Vec<_> = calls.collect();
    app.delete(&format!("tables/{id}")).await.is(204);
    for call in calls {
        assert_eq!(call.await.unwrap().is(200).body["isError"], true);
    }
    let reply = app.call_name("get_all_data", json!({})).await.is(200);
    assert_eq!(reply.body["error"]["code"], "NOT_FOUND", "{}", reply.text);
    assert!(reply.text.contains("is not there any more"), "{}", reply.text);
}

async fn calls_operations_by_uri(backend: Backend) {
    let app = TestApp::start(backend).await;
    let ada = app.with_key(json!({ "name": "ada", "role": "caller" })).await;
    let bob = app.with_key(json!({ "name": "bob", "role": "caller" })).await;
    let id = table(&ada, shop()).await;
    let uri = format!("table://{id}/query_data?path=/orders");
    for client in [&ada, &*app] {
        let reply = client.call(&uri, json!({ "query": "[0].id" })).await.is(200);
        assert_eq!(reply.body["structuredContent"]["data"], "o1");
    }
    bob.call(&uri, json!({ "query": "@" })).await.is_problem(404, "TOOL_NOT_FOUND");
    let create = format!("table://{id}/create?path=/orders");
    bob.call(&create, json!({ "elements": [{ "content": 1 }] })).await.is_problem(404, "TOOL_NOT_FOUND");
    for uri in
        ["table://no-such-table/get_all_data", "table://..%2fx/get_all_data", &format!("table://{id}/nope")]
    {
        app.call(uri, json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    }
    app.call(&format!("table://{id}/get_all_data?path=orders"), json!({}))
        .await
        .is_problem(422, "VALIDATION_FAILED");
    // A Tool over the URI works for whoever may use the Tool.
    let over = json!({ "name": "open_orders", "type": "uri", "uri": uri, "arguments": { "query": "[?status=='open'].id" } });
    ada.post("tools", over).await.is(201);
    for client in [&ada, &bob] {
        let reply = client.call_name("open_orders", json!({})).await.is(200);
        assert_eq!(reply.body["structuredContent"]["data"], json!(["o1", 3]), "{}", reply.text);
    }
    // Nobody gets beyond the part that a Tool is over.
    for options in ["path=", "path=/customers"] {
        let beyond = format!("tool://open_orders/call?{options}");
        bob.call(&beyond, json!({})).await.is_problem(400, "INVALID_URI");
    }
    assert!(
        !app.tool_names().await.iter().any(|name| name.contains("table")),
        "tables are not listed by themselves"
    );
    let service = json!({ "type": "table", "id": "t", "name": "t", "config": { "table_id": id } });
    app.post("services", service).await.is_problem(422, "VALIDATION_FAILED");
}

/// TB-7.1, TB-7.2
async fn lists_the_tools_of_a_table(backend: Backend) {
    let app = TestApp::start(backend).await;
    let ada = app.with_key(json!({ "name": "ada", "role": "caller" })).await;
    let bob = app.with_key(json!({ "name": "bob", "role": "caller" })).await;
    let (one, two) = (table(&ada, shop()).await, table(&ada, shop()).await);
    tool(&ada, "query_data", &one, "/orders", json!({})).await;
    tool(&ada, "create", &two, "/orders", json!({})).await;
    let over = json!({ "name": "over", "type": "uri", "uri": format!("table://{one}/preview?path=/orders") });
    ada.post("tools", over).await.is(201);
    for path in [format!("tools/by-table/{one}"), format!("/tools/by-table/{one}")] {
        for client in [&ada, &*app] {
            let reply = client.get(&path).await.is(200);
            let names: Vec<_> = reply.items().iter().map(|tool| tool["name"].clone()).collect();
            assert_eq!((json!(names), &reply.body["total"]), (json!(["query_data", "over"]), &json!(2)));
        }
        bob.get(&path).await.is_problem(404, "NOT_FOUND");
    }
    for path in ["tools/by-table/no-such-table".to_owned(), "/tools/by-table/nope".to_owned()] {
        app.get(&path).await.is_problem(404, "NOT_FOUND");
    }
}

async fn takes_huge_elements_and_very_many(backend: Backend) {
    let app =
        TestApp::start_with(backend, |settings| settings.server.max_body_bytes = 64 * 1024 * 1024).await;
    let id = table(&app, json!({ "list": [], "map": {} })).await;
    tool(&app, "create", &id, "/list", json!({})).await;
    let elements: Vec<Value> = (0..100_000).map(|n| json!({ "content": { "n": n } })).collect();
    let made = app.call_name("create", json!({ "elements": elements })).await.is(200);
    assert!(made.text.contains("99999"), "all were made: {}", &made.text[made.text.len() - 300..]);
    app.post("tools", json!({ "name": "put", "type": "create", "table_id": id, "json_path": "/map" }))
        .await
        .is(201);
    let elements: Vec<Value> =
        (0..100_000).map(|n| json!({ "key": format!("k{n}"), "content": n })).collect();
    app.call_name("put", json!({ "elements": elements })).await.is(200);
    let huge = "x".repeat(10 * 1024 * 1024);
    app.call_name("put", json!({ "elements": [{ "key": "huge", "content": huge }] })).await.is(200);
    let read = async |path: &str| {
        app.get(&format!("tables/{id}/data?json_path={path}")).await.is(200).body["data"].clone()
    };
    assert_eq!(read("/map/k99999").await, 99_999);
    assert_eq!(read("/list/99999/n").await, 99_999);
    assert_eq!(read("/map/huge").await.as_str().unwrap().len(), huge.len());
}

/// No caller fills the disk; the platform's admin says how much a tenant may have.
async fn keeps_the_tables_of_a_tenant_within_its_quota(backend: Backend) {
    let app = TestApp::start(backend).await;
    let manager = app.with_tenant("acme").await;
    let tenant = app.get("tenants/acme").await.is(200).body;
    assert_eq!(tenant["table_quota_bytes"], 1024 * 1024 * 1024);
    let quota = |bytes: Value| json!({ "table_quota_bytes": bytes });
    manager.patch("tenants/acme", quota(json!(1))).await.is_problem(403, "FORBIDDEN");
    let reply = app.patch("tenants/acme", quota(json!(-1))).await.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(reply.errors()[0].0, "table_quota_bytes");
    app.patch("tenants/acme", quota(json!(1_000_000))).await.is(200);

    let new = |size: usize| json!({ "name": "t", "data": { "text": "x".repeat(size) } });
    let id = manager.post("tables", new(600_000)).await.is(201).string("id");
    let refused = manager.post("tables", new(600_000)).await.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(refused.errors()[0].0, "data");
    let said = refused.string("detail");
    assert!(said.contains("quota is 1000000") && said.contains("table_quota_bytes"), "{said}");
    let data = format!("tables/{id}/data");
    let put = async |size: usize| {
        let body = json!({ "data": { "text": "y".repeat(size) } });
        testkit::client::send_json(manager.request(reqwest::Method::PUT, &data), &body).await
    };
    put(1_100_000).await.is_problem(422, "VALIDATION_FAILED");
    // Older versions go before anything is refused, and there is always a way back.
    for _ in 0..5 {
        put(600_000).await.is(200);
    }
    put(900_000).await.is(200);
    app.patch("tenants/acme", quota(json!(1000))).await.is(200);
    put(800_000).await.is(200);
    put(800_001).await.is_problem(422, "VALIDATION_FAILED");
    app.patch("tenants/acme", quota(Value::Null)).await.is(200);
    manager.post("tables", new(600_000)).await.is(201);
}
