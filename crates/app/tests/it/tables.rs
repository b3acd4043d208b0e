//! Tables: JSON documents over REST, their parts, their versions, and as files.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::{send, send_json};
use testkit::{Backend, Client, Reply, TestApp, on_both_databases};

on_both_databases! {
    keeps_documents_and_their_parts
    refuses_pointers_to_nowhere
    keeps_versions_and_restores_them
    takes_and_gives_files
    keeps_documents_of_many_megabytes
    reads_what_was_written_before_a_restart
}

pub(crate) fn shop() -> Value {
    json!({
        "orders": [
            { "id": "o1", "status": "open", "total": 12.5, "lines": [{ "sku": "a" }] },
            { "id": "o2", "status": "closed", "total": 99, "lines": [] },
            { "id": 3, "status": "open", "total": 1, "lines": [] }
        ],
        "config": { "currency": "EUR", "a/b": { "m~n": 1 } },
        "title": "Shop"
    })
}

/// Makes a table and returns its path.
pub(crate) async fn table(client: &Client, data: Value) -> String {
    client.post("tables", json!({ "name": "shop", "data": data })).await.is(201).string("id")
}

async fn put(client: &Client, path: &str, data: Value) -> Reply {
    send_json(client.request(Method::PUT, path), &json!({ "data": data })).await
}

async fn keeps_documents_and_their_parts(backend: Backend) {
    let app = TestApp::start(backend).await;
    let made =
        app.post("tables", json!({ "name": "shop", "description": "Orders", "data": shop() })).await.is(201);
    assert_eq!((&made.body["version"], &made.body["name"]), (&json!(1), &json!("shop")));
    let path = format!("tables/{}", made.string("id"));
    assert_eq!(app.get(&path).await.is(200).body, made.body);
    let data = format!("{path}/data");
    let read = async |pointer: &str| app.get(&format!("{data}?json_path={pointer}")).await;
    assert_eq!(read("").await.is(200).body["data"], shop());
    assert_eq!(read("/orders/0/status").await.is(200).body["data"], "open");
    assert_eq!(read("/config/a~1b/m~0n").await.is(200).body["data"], 1);

    put(&app, &format!("{data}?json_path=/title"), json!("New")).await.is(200);
    put(&app, &format!("{data}?json_path=/config/fresh"), json!([1])).await.is(200);
    app.post(&format!("{data}?json_path=/orders"), json!({ "data": { "id": "o4" } })).await.is(201);
    app.post(&format!("{data}?json_path=/config"), json!({ "data": { "x": 1 } })).await.is(201);
    let added = app.post(&format!("{data}?json_path=/list"), json!({ "data": [] })).await.is(201);
    assert_eq!(added.body["version"], 6);
    send(app.request(Method::DELETE, &format!("{data}?json_path=/orders/0"))).await.is(200);
    let now = read("").await.is(200).body["data"].clone();
    assert_eq!(
        (&now["title"], &now["config"]["fresh"], &now["list"]),
        (&json!("New"), &json!([1]), &json!([]))
    );
    assert_eq!(now["orders"].as_array().unwrap().len(), 3);
    assert_eq!(now["orders"][0]["id"], "o2");
    app.post(&format!("{data}?json_path=/config"), json!({ "data": { "x": 2 } }))
        .await
        .is_problem(409, "CONFLICT");
    app.post(&format!("{data}?json_path=/title"), json!({ "data": 1 })).await.is_problem(409, "CONFLICT");
    // Only if nobody else has changed it.
    put(&app, &format!("{data}?json_path=/title&version=7"), json!("A")).await.is(200);
    put(&app, &format!("{data}?json_path=/title&version=7"), json!("B")).await.is_problem(409, "CONFLICT");
    put(&app, &data, json!([1, 2])).await.is(200);
    assert_eq!(read("").await.is(200).body["data"], json!([1, 2]));

    app.patch(&path, json!({ "name": "store", "description": null })).await.is(200);
    let listed = app.get("tables?q=STORE").await.is(200);
    assert_eq!((&listed.body["total"], &listed.items()[0]["description"]), (&json!(1), &Value::Null));
    app.delete(&path).await.is(204);
    app.get(&path).await.is_problem(404, "NOT_FOUND");
    app.get(&data).await.is_problem(404, "NOT_FOUND");
    assert_eq!(app.post("tables", json!({ "name": "empty" })).await.is(201).body["size_bytes"], 2);
    app.post("tables", json!({ "name": "", "data": 1 })).await.is_problem(422, "VALIDATION_FAILED");
    app.post("tables", json!({ "name": "x", "dat": 1 })).await.is_problem(422, "VALIDATION_FAILED");
}

async fn refuses_pointers_to_nowhere(backend: Backend) {
    let app = TestApp::start(backend).await;
    let data = format!("tables/{}/data", table(&app, shop()).await);
    for pointer in ["/nope", "/orders/9", "/orders/-", "/orders/01", "/title/x", "/orders/0/id/x"] {
        let path = format!("{data}?json_path={pointer}");
        let reply = app.get(&path).await.is_problem(404, "NOT_FOUND");
        assert!(reply.string("detail").contains("nothing is at"), "{}", reply.text);
        send(app.request(Method::DELETE, &path)).await.is(404);
    }
    for pointer in ["orders", "/a~2", "/a~", "%23/orders"] {
        app.get(&format!("{data}?json_path={pointer}")).await.is_problem(422, "VALIDATION_FAILED");
    }
    put(&app, &format!("{data}?json_path=/nope/x"), json!(1)).await.is_problem(404, "NOT_FOUND");
    put(&app, &format!("{data}?json_path=/orders/7"), json!(1)).await.is_problem(404, "NOT_FOUND");
    send(app.request(Method::DELETE, &data)).await.is_problem(422, "VALIDATION_FAILED");
    let deep = format!("{{\"data\":{}1{}}}", "[".repeat(110), "]".repeat(110));
    let deep: Value = serde_json::from_str(&deep).unwrap();
    send_json(app.request(Method::PUT, &data), &deep).await.is(409);
    let mut deep = deep;
    deep["name"] = "deep".into();
    app.post("tables", deep).await.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(app.get(&data).await.is(200).body["version"], 1, "nothing was changed");
}

async fn keeps_versions_and_restores_them(backend: Backend) {
    let app = TestApp::start(backend).await;
    let path = format!("tables/{}", table(&app, json!({ "n": 0, "list": [] })).await);
    for n in 1..=120 {
        put(&app, &format!("{path}/data?json_path=/n"), json!(n)).await.is(200);
    }
    let versions = app.get(&format!("{path}/versions?limit=1000")).await.is(200);
    assert_eq!(versions.items()[0]["version"], 121);
    assert!(versions.items().len() >= 100, "{}", versions.items().len());
    let old = app.get(&format!("{path}/data?version=50&json_path=/n")).await.is(200);
    assert_eq!(old.body, json!({ "data": 49, "version": 50 }));
    let restored = app.post(&format!("{path}/restore"), json!({ "version": 50 })).await.is(200);
    assert_eq!(restored.body["version"], 122);
    assert_eq!(app.get(&format!("{path}/data")).await.is(200).body["data"]["n"], 49);
    app.post(&format!("{path}/restore"), json!({ "version": 999 })).await.is_problem(404, "NOT_FOUND");
    // Whole documents are versions too, and the oldest go when there are too many.
    for n in 0..130 {
        put(&app, &format!("{path}/data"), json!({ "whole": n })).await.is(200);
    }
    let versions = app.get(&format!("{path}/versions?limit=1000")).await.is(200);
    let total = versions.body["total"].as_i64().unwrap();
    assert!((100..=110).contains(&total), "{total}");
    app.get(&format!("{path}/data?version=50")).await.is_problem(404, "NOT_FOUND");
    let oldest = versions.items().last().unwrap()["version"].clone();
    app.get(&format!("{path}/data?version={oldest}")).await.is(200);
}

async fn takes_and_gives_files(backend: Backend) {
    let app = TestApp::start(backend).await;
    let upload =
        async |path: &str, body: &str| send(app.request(Method::POST, path).body(body.to_owned())).await;
    let csv = "id,name,zip\n1,\"Ada, Countess\",007\n2,Bob,\n";
    let id = upload("tables/import?name=people&format=csv", csv).await.is(201).string("id");
    let rows =
        json!([{ "id": 1, "name": "Ada, Countess", "zip": "007" }, { "id": 2, "name": "Bob", "zip": "" }]);
    assert_eq!(app.get(&format!("tables/{id}/data")).await.is(200).body["data"], rows);
    let exported = app.get(&format!("tables/{id}/export?format=csv")).await.is(200);
    assert_eq!(exported.text.replace("\r\n", "\n"), csv);
    let lines = app.get(&format!("tables/{id}/export?format=jsonl")).await.is(200).text;
    assert_eq!(lines.lines().count(), 2);
    let again = upload("tables/import?name=again&format=jsonl", &lines).await.is(201).string("id");
    assert_eq!(app.get(&format!("tables/{again}/data")).await.is(200).body["data"], rows);
    assert_eq!(app.get(&format!("tables/{again}/export")).await.is(200).body, rows);
    upload(&format!("tables/{again}/import?json_path=/0"), "{\"x\":1}").await.is(200);
    assert_eq!(
        app.get(&format!("tables/{again}/data?json_path=/0")).await.is(200).body["data"],
        json!({ "x": 1 })
    );
    app.get(&format!("tables/{again}/export?format=csv&json_path=/0"))
        .await
        .is_problem(422, "VALIDATION_FAILED");
    for (format, body) in [("json", "{"), ("jsonl", "{}\n{"), ("csv", "a,b\n1\n"), ("xml", "<a/>")] {
        let reply = upload(&format!("tables/import?name=bad&format={format}"), body).await;
        assert_eq!(reply.body["code"], "BAD_REQUEST", "{format}: {}", reply.text);
    }
    upload("tables/import?format=json", "{}").await.is_problem(422, "VALIDATION_FAILED");
    let twice = upload("tables/import?name=twice&format=csv", "id,name,id\n1,a,2\n").await;
    let twice = twice.is_problem(400, "BAD_REQUEST");
    assert_eq!(
        twice.body["detail"],
        "columns 1 and 3 are both named 'id'; give each column a name of its own"
    );
    let formulas = json!([{ "=a": "=1+1", "b": "'=1+1", "c": "+49 30" }, { "=a": "-5 apples", "b": "@x", "c": "'quoted'" }]);
    let id = table(&app, formulas.clone()).await;
    let exported = app.get(&format!("tables/{id}/export?format=csv")).await.is(200).text;
    assert!(!exported.contains("\n=") && !exported.contains(",@"), "nothing a spreadsheet runs: {exported}");
    let again = upload("tables/import?name=formulas&format=csv", &exported).await.is(201).string("id");
    assert_eq!(app.get(&format!("tables/{again}/data")).await.is(200).body["data"], formulas);
}

async fn keeps_documents_of_many_megabytes(backend: Backend) {
    let app = TestApp::start(backend).await;
    let rows: Vec<Value> = (0..20_000).map(|n| json!({ "id": n, "text": "x".repeat(300) })).collect();
    let id = table(&app, json!({ "rows": rows })).await;
    let row = app.get(&format!("tables/{id}/data?json_path=/rows/19999/id")).await.is(200);
    assert_eq!(row.body["data"], 19_999);
    let path = format!("tables/{id}/data?json_path=/rows");
    let begun = std::time::Instant::now();
    for n in 0..20 {
        app.post(&path, json!({ "data": { "id": n } })).await.is(201);
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    let too_large = "x".repeat(64 * 1024 * 1024 + 1);
    app.post("tables", json!({ "name": "large", "data": too_large }))
        .await
        .is_problem(422, "VALIDATION_FAILED");
}

async fn reads_what_was_written_before_a_restart(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = table(&app, json!({ "list": [] })).await;
    for n in 0..50 {
        app.post(&format!("tables/{id}/data?json_path=/list"), json!({ "data": n })).await.is(201);
    }
    let two = app.replica("two").await;
    let read = two.get(&format!("tables/{id}/data")).await.is(200);
    assert_eq!(read.body, json!({ "data": { "list": (0..50).collect::<Vec<_>>() }, "version": 51 }));
}
