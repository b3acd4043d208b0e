//! Search over tables: made at once, indexed in the background, found in current text alone.

use crate::setup::PATIENCE;
use crate::tables::table;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send_json;
use testkit::{Backend, Client, TestApp, eventually, on_both_databases};

on_both_databases! {
    makes_a_search_tool_at_once_and_says_how_far_its_index_is
    finds_english_and_chinese_and_says_where
    ranks_rare_words_above_common_ones
    cuts_long_texts_by_characters
    never_finds_what_is_no_longer_there
    indexes_only_what_changed
    stays_within_mount_tenant_and_owner
    follows_a_tool_that_searches_elsewhere
    survives_the_end_of_its_table
    goes_on_after_a_restart
    refuses_bad_arguments_and_survives_strange_queries
}

/// The manual of a shop, in two languages.
pub(crate) fn manual() -> Value {
    json!({
        "docs": [
            { "title": "Returns", "text": "You may return goods within seven days. The refund reaches your account after inspection." },
            { "title": "Shipping", "text": "Orders are shipped by courier on the next working day." },
            { "title": "退货政策", "text": "本店支持七天无理由退货，退款将在验货后原路返回。" },
            { "title": "配送", "text": "订单通常在两个工作日内由快递送达。" }
        ],
        "secret": { "note": "The refund password is swordfish." }
    })
}

/// Makes a search tool and returns its id.
pub(crate) async fn search_tool(client: &Client, name: &str, table: &str, path: &str) -> String {
    let tool = json!({ "name": name, "table_id": table, "json_path": path });
    client.post("tools/search", tool).await.is(201).string("id")
}

/// Waits until the index shows the table as it is.
pub(crate) async fn ready(client: &Client, tool: &str) -> Value {
    let mut last = Value::Null;
    eventually("the index is ready", PATIENCE, async || {
        last = client.get(&format!("tools/{tool}/search-index")).await.is(200).body;
        last["status"] == "ready"
    })
    .await;
    last
}

/// The results of a search that succeeds.
pub(crate) async fn results(client: &Client, name: &str, arguments: Value) -> Vec<Value> {
    let reply = client.call_name(name, arguments).await.is(200);
    assert_eq!(reply.body["isError"], false, "{}", reply.text);
    let structured = &reply.body["structuredContent"];
    let text: Value = serde_json::from_str(reply.body["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, *structured, "the text is the same JSON");
    structured["results"].as_array().unwrap().clone()
}

/// The places of what is found.
pub(crate) async fn places(client: &Client, name: &str, query: &str) -> Vec<String> {
    let found = results(client, name, json!({ "query": query, "top_k": 20 })).await;
    found.iter().map(|result| result["json_path"].as_str().unwrap().to_owned()).collect()
}

pub(crate) async fn put(client: &Client, table: &str, path: &str, data: Value) {
    let path = format!("tables/{table}/data?json_path={path}");
    send_json(client.request(Method::PUT, &path), &json!({ "data": data })).await.is(200);
}

/// TB-9.1, TB-9.2, TB-10.1, TB-10.2
async fn makes_a_search_tool_at_once_and_says_how_far_its_index_is(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = table(&app, manual()).await;
    let body =
        json!({ "name": "find", "table_id": id, "json_path": "/docs", "metadata": { "team": "support" } });
    let made = app.post("tools/search", body).await.is(201);
    assert_eq!((&made.body["type"], &made.body["json_path"]), (&json!("search"), &json!("/docs")));
    assert_eq!(made.body["metadata"]["search_index"]["status"], "pending");
    let tool = made.string("id");
    let index = ready(&app, &tool).await;
    for (field, expected) in [
        ("nodes_count", json!(8)),
        ("chunks_count", json!(8)),
        ("indexed_chunks_count", json!(8)),
        ("last_error", Value::Null),
    ] {
        assert_eq!(index[field], expected, "{field}: {index}");
    }
    assert!(index["indexed_at"].as_str().unwrap().ends_with('Z'), "{index}");
    let shown = app.get(&format!("tools/{tool}")).await.is(200).body;
    assert_eq!(shown["metadata"]["team"], "support");
    let mirror = &shown["metadata"]["search_index"];
    assert_eq!((&mirror["status"], &mirror["chunks_count"]), (&json!("ready"), &json!(8)), "{mirror}");
    assert_eq!(app.get("tools").await.is(200).items()[0]["metadata"]["search_index"], *mirror);
    let by_table = app.get(&format!("tools/by-table/{id}")).await.is(200);
    assert_eq!(by_table.items()[0]["metadata"]["search_index"], *mirror);

    // The mirror that is sent back is not kept as if it were the user's.
    let path = format!("tools/{tool}");
    let metadata = json!({ "team": "sales", "search_index": { "status": "error" } });
    let changed = app.patch(&path, json!({ "metadata": metadata })).await.is(200);
    assert_eq!(changed.body["metadata"]["search_index"]["status"], "ready");

    // The general way makes the same.
    let body = json!({ "name": "find2", "type": "search", "table_id": id });
    let general = app.post("tools", body).await.is(201).string("id");
    assert_eq!(ready(&app, &general).await["nodes_count"], 9);
    app.post("tools/search", json!({ "name": "x", "type": "preview", "table_id": id }))
        .await
        .is_problem(422, "VALIDATION_FAILED");
    app.post("tools/search", json!({ "name": "x", "table_id": "no-such" }))
        .await
        .is_problem(404, "NOT_FOUND");
    let other = json!({ "name": "all", "type": "get_all_data", "table_id": id });
    let other = app.post("tools", other).await.is(201).string("id");
    app.get(&format!("tools/{other}/search-index")).await.is_problem(404, "NOT_FOUND");
    app.get("tools/no-such/search-index").await.is_problem(404, "NOT_FOUND");
}

/// TB-4.3
async fn finds_english_and_chinese_and_says_where(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = table(&app, manual()).await;
    let tool = search_tool(&app, "find", &id, "/docs").await;
    ready(&app, &tool).await;
    let found = results(&app, "find", json!({ "query": "How do I get a REFUND?" })).await;
    let first = &found[0];
    assert_eq!(first["json_path"], "/0/text");
    assert!(first["score"].as_f64().unwrap() > 0.0);
    let text = manual()["docs"][0]["text"].as_str().unwrap().to_owned();
    for (field, expected) in [
        ("table_id", json!(id)),
        ("json_pointer", json!("/docs/0/text")),
        ("chunk_text", json!(text)),
        ("char_start", json!(0)),
        ("char_end", json!(text.chars().count())),
        ("chunk_index", json!(0)),
        ("total_chunks", json!(1)),
    ] {
        assert_eq!(first["chunk"][field], expected, "{field}: {first}");
    }
    assert_eq!(first["chunk"]["content_hash"].as_str().unwrap().len(), 64);
    assert_eq!(first["chunk"].as_object().unwrap().len(), 8);
    for (query, place) in [
        ("退货", "/2/title"),
        ("七天无理由退货", "/2/text"),
        ("请问退款多久到账", "/2/text"),
        ("快递什么时候送达", "/3/text"),
        ("courier", "/1/text"),
        ("ＣＯＵＲＩＥＲ", "/1/text"),
    ] {
        assert_eq!(places(&app, "find", query).await.first().map(String::as_str), Some(place), "{query}");
    }
    assert!(places(&app, "find", "zebra 斑马").await.is_empty());
    // By URI too, within the index of the tool.
    let uri = format!("table://{id}/search?path=/docs/2");
    let reply = app.call(&uri, json!({ "query": "退货", "top_k": 1 })).await.is(200);
    let found = &reply.body["structuredContent"]["results"][0];
    assert_eq!(found["json_path"], "/title", "{}", reply.text);
    let reply = app.call(&format!("table://{id}/search"), json!({ "query": "退货" })).await;
    assert!(reply.text.contains("not indexed"), "{}", reply.text);
}

async fn ranks_rare_words_above_common_ones(backend: Backend) {
    let app = TestApp::start(backend).await;
    let mut texts: Vec<String> =
        (0..60).map(|n| format!("product number {n} is a product like any other product")).collect();
    texts.push("the zirconium product".into());
    texts.push(format!("zirconium {}", "and much else besides ".repeat(20)));
    let id = table(&app, json!({ "texts": texts })).await;
    let tool = search_tool(&app, "find", &id, "").await;
    ready(&app, &tool).await;
    let found = places(&app, "find", "zirconium product").await;
    assert_eq!(found[..2], ["/texts/60", "/texts/61"], "{found:?}");
    assert_eq!(places(&app, "find", "zirconium").await, ["/texts/60", "/texts/61"], "short texts first");
}

async fn cuts_long_texts_by_characters(backend: Backend) {
    let app = TestApp::start(backend).await;
    let lines: Vec<String> = (0..200).map(|n| format!("第{n}行 é line number{n} 内容内容内容内容")).collect();
    let text = lines.join("\n");
    let id = table(&app, json!([{ "a/b": text }])).await;
    let tool = search_tool(&app, "find", &id, "").await;
    let index = ready(&app, &tool).await;
    let total = index["chunks_count"].as_u64().unwrap();
    assert!(total >= 5 && index["nodes_count"] == 1, "{index}");
    let found = results(&app, "find", json!({ "query": "number137", "top_k": 1 })).await;
    let chunk = &found[0]["chunk"];
    assert_eq!(found[0]["json_path"], "/0/a~1b");
    let number = |field: &str| usize::try_from(chunk[field].as_u64().unwrap()).unwrap();
    let cut: String =
        text.chars().skip(number("char_start")).take(number("char_end") - number("char_start")).collect();
    assert_eq!(chunk["chunk_text"], cut);
    assert!(cut.contains("number137") && cut.chars().count() <= 1000 && cut.ends_with('\n'), "{cut}");
    assert_eq!(chunk["total_chunks"], total);
    assert!(number("chunk_index") > 0);
}

async fn never_finds_what_is_no_longer_there(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = table(&app, manual()).await;
    let tool = search_tool(&app, "find", &id, "/docs").await;
    ready(&app, &tool).await;
    assert_eq!(places(&app, "find", "courier").await, ["/1/text"]);
    // At once, before the index can have followed.
    put(&app, &id, "/docs/1/text", json!("Orders are carried by pigeons.")).await;
    assert!(places(&app, "find", "courier").await.is_empty());
    ready(&app, &tool).await;
    assert_eq!(places(&app, "find", "pigeons").await, ["/1/text"]);
    assert!(places(&app, "find", "courier").await.is_empty());
    // Text that moves is found where it is now, and nowhere else.
    put(&app, &id, "/docs", json!([{ "text": "Orders are carried by pigeons." }])).await;
    let moved = places(&app, "find", "pigeons").await;
    assert!(moved.is_empty() || moved == ["/0/text"], "{moved:?}");
    let index = ready(&app, &tool).await;
    assert_eq!(index["nodes_count"], 1);
    assert_eq!(places(&app, "find", "pigeons").await, ["/0/text"]);
    assert!(places(&app, "find", "退货").await.is_empty());
    put(&app, &id, "", json!({ "docs": [] })).await;
    assert!(places(&app, "find", "pigeons").await.is_empty());
    assert_eq!(ready(&app, &tool).await["chunks_count"], 0);
}

async fn indexes_only_what_changed(backend: Backend) {
    use sqlx::Row;
    let app = TestApp::start(backend).await;
    let texts: Vec<String> = (0..50).map(|n| format!("text number{n}")).collect();
    let id = table(&app, json!(texts)).await;
    let tool = search_tool(&app, "find", &id, "").await;
    ready(&app, &tool).await;
    // SQLite gives the id of a chunk that is gone to a new one, so an id alone says nothing.
    let chunks = async || -> Vec<(i64, String)> {
        let mut connection = app.database().connect().await;
        let chunks = sqlx::query("SELECT id, hash FROM search_chunks");
        let rows = chunks.fetch_all(&mut connection).await.unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    };
    let before = chunks().await;
    assert_eq!(before.len(), 50);
    // All but one move by one place.
    let mut moved = texts.clone();
    moved.remove(0);
    moved.push("something fresh".into());
    put(&app, &id, "", json!(moved)).await;
    ready(&app, &tool).await;
    let after = chunks().await;
    assert_eq!(after.iter().filter(|chunk| before.contains(chunk)).count(), 49, "what moved kept its chunks");
    assert_eq!(after.len(), 50);
    assert_eq!(places(&app, "find", "number7").await, ["/6"]);
    assert_eq!(places(&app, "find", "fresh").await, ["/49"]);
    // The same text in many places is found in each.
    put(&app, &id, "", json!(vec!["twin"; 7])).await;
    ready(&app, &tool).await;
    assert_eq!(places(&app, "find", "twin").await.len(), 7);
    assert_eq!(chunks().await.len(), 1);
}

async fn stays_within_mount_tenant_and_owner(backend: Backend) {
    let app = TestApp::start(backend).await;
    let acme = app.with_tenant("acme").await;
    let globex = app.with_tenant("globex").await;
    let ids =
        [table(&acme, manual()).await, table(&globex, json!({ "docs": ["globex refund plans"] })).await];
    let acme_tool = search_tool(&acme, "find", &ids[0], "/docs").await;
    let globex_tool = search_tool(&globex, "find", &ids[1], "/docs").await;
    let wide = search_tool(&acme, "wide", &ids[0], "").await;
    for (client, tool) in [(&acme, &acme_tool), (&globex, &globex_tool), (&acme, &wide)] {
        ready(client, tool).await;
    }
    assert_eq!(places(&acme, "find", "refund").await, ["/0/text"], "the secret is outside the mount");
    assert_eq!(places(&acme, "wide", "swordfish").await, ["/secret/note"]);
    assert!(places(&acme, "find", "swordfish").await.is_empty());
    assert_eq!(places(&globex, "find", "refund").await, ["/0"]);
    globex.get(&format!("tools/{acme_tool}/search-index")).await.is_problem(404, "NOT_FOUND");
    globex
        .post("tools/search", json!({ "name": "x", "table_id": ids[0] }))
        .await
        .is_problem(404, "NOT_FOUND");
    globex
        .call(&format!("table://{}/search", ids[0]), json!({ "query": "refund" }))
        .await
        .is_problem(404, "TOOL_NOT_FOUND");
    let caller = acme.as_key(
        app.post("keys", json!({ "name": "c", "tenant": "acme", "role": "caller" }))
            .await
            .is(201)
            .string("key"),
    );
    caller.get(&format!("tools/{acme_tool}/search-index")).await.is_problem(404, "NOT_FOUND");
    assert_eq!(places(&caller, "find", "refund").await, ["/0/text"], "who may call the tool may search");
    // What goes leaves nothing behind.
    acme.delete(&format!("tools/{wide}")).await.is(204);
    app.delete("tenants/globex?force=true").await;
}

async fn follows_a_tool_that_searches_elsewhere(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = table(&app, manual()).await;
    let tool = search_tool(&app, "find", &id, "/docs").await;
    ready(&app, &tool).await;
    let path = format!("tools/{tool}");
    app.patch(&path, json!({ "description": "Finds" })).await.is(200);
    assert_eq!(
        app.get(&format!("{path}/search-index")).await.is(200).body["status"],
        "ready",
        "nothing moved"
    );
    app.patch(&path, json!({ "json_path": "/secret" })).await.is(200);
    assert_eq!(ready(&app, &tool).await["nodes_count"], 1);
    assert_eq!(places(&app, "find", "refund").await, ["/note"]);
}

async fn survives_the_end_of_its_table(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = table(&app, manual()).await;
    let tool = search_tool(&app, "find", &id, "/docs").await;
    ready(&app, &tool).await;
    app.delete(&format!("tables/{id}")).await.is(204);
    let reply = app.call_name("find", json!({ "query": "refund" })).await;
    assert!(reply.text.contains("not there any more"), "{}", reply.text);
    eventually("the index says so", PATIENCE, async || {
        let index = app.get(&format!("tools/{tool}/search-index")).await.is(200).body;
        index["status"] == "error" && index["last_error"].as_str().unwrap().contains("not there any more")
    })
    .await;
    app.delete(&format!("tools/{tool}")).await.is(204);
}

/// TB-9.1
async fn goes_on_after_a_restart(backend: Backend) {
    // The first server has no time to index.
    let app =
        TestApp::start_with(backend, |settings| settings.search.timeout = std::time::Duration::ZERO).await;
    let id = table(&app, manual()).await;
    let tool = search_tool(&app, "find", &id, "/docs").await;
    eventually("the attempt has timed out", PATIENCE, async || {
        let index = app.get(&format!("tools/{tool}/search-index")).await.is(200).body;
        index["status"] == "error" && index["last_error"].as_str().unwrap().contains("longer than 0 s")
    })
    .await;
    let key = app
        .post("keys", json!({ "name": "k", "tenant": "default", "role": "admin" }))
        .await
        .is(201)
        .string("key");
    let database = app.database().clone();
    app.stop().await;
    let again = TestApp::restart(&database).await;
    let admin = again.as_key(key);
    ready(&admin, &tool).await;
    assert_eq!(places(&admin, "find", "courier").await, ["/1/text"]);
}

async fn refuses_bad_arguments_and_survives_strange_queries(backend: Backend) {
    let app = TestApp::start(backend).await;
    let strange = "\u{0}'\"\\ :* ^ NEAR(a b) AND OR NOT - + ( ) { } | & ! <-> ' 𝕏 İ ß ﷺ 👍";
    let id =
        table(&app, json!({ "docs": ["plain tea", strange.replace('\u{0}', ""), "", "  ", 7, null] })).await;
    let tool = search_tool(&app, "find", &id, "/docs").await;
    assert_eq!(ready(&app, &tool).await["nodes_count"], 2);
    for arguments in [
        json!({}),
        json!({ "query": "" }),
        json!({ "query": 7 }),
        json!({ "query": "x", "top_k": 0 }),
        json!({ "query": "x", "top_k": 21 }),
        json!({ "query": "x", "top_k": 1.5 }),
        json!({ "query": "x", "colour": 1 }),
    ] {
        app.call_name("find", arguments.clone()).await.is_problem(422, "VALIDATION_FAILED");
    }
    let long = "tea ".repeat(100_000);
    for query in [strange, "\"", "*", "NOT", "tea AND", "tea\" OR \"", "' | 'a", ":*", "👍", " ", &long] {
        let found = places(&app, "find", query).await;
        assert!(found.len() <= 2, "{found:?}");
    }
    assert_eq!(places(&app, "find", &long).await, ["/0"]);
    assert_eq!(places(&app, "find", "near").await, ["/1"]);
}
