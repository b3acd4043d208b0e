//! Search when things go wrong: providers that fail, processes that die, replicas that share the work.

use crate::binary::serve;
use crate::search::{manual, places, put, ready, results, search_tool};
use crate::setup::PATIENCE;
use crate::tables::table;
use connectors::embeddings;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::embeddings::{DIMENSIONS, Mood, Provider};
use testkit::process::Server;
use testkit::{Backend, Client, Database, TestApp, eventually, on_both_databases};
use tool::Secret;

on_both_databases! {
    finds_by_meaning_what_has_none_of_the_words
    answers_by_words_while_the_provider_is_away
    gives_up_in_time_and_tries_again
    embeds_only_what_changed
    goes_on_after_a_kill
}

async fn app_with(provider: &Provider, backend: Backend) -> TestApp {
    TestApp::start_with(backend, |settings| {
        settings.search.backoff = (Duration::from_millis(100), Duration::from_millis(200));
        settings.embeddings = Some(embeddings::Settings {
            base_url: provider.base_url(),
            model: "subjects".into(),
            api_key: Some(Secret::new("sk-embeddings")),
            dimensions: Some(DIMENSIONS),
        });
    })
    .await
}

async fn index_of(client: &Client, tool: &str) -> Value {
    client.get(&format!("tools/{tool}/search-index")).await.is(200).body
}

async fn fails_with(client: &Client, tool: &str, why: &str) {
    eventually(why, PATIENCE, async || {
        let index = index_of(client, tool).await;
        index["last_error"].as_str().is_some_and(|error| error.contains(why))
    })
    .await;
}

async fn finds_by_meaning_what_has_none_of_the_words(backend: Backend) {
    let provider = Provider::start().await;
    let app = app_with(&provider, backend).await;
    let id = table(&app, manual()).await;
    let tool = search_tool(&app, "find", &id, "/docs").await;
    let index = ready(&app, &tool).await;
    assert_eq!((&index["chunks_count"], &index["indexed_chunks_count"]), (&json!(8), &json!(8)));
    assert_eq!(provider.authorization().as_deref(), Some("Bearer sk-embeddings"));
    let shown = app.get(&format!("tools/{tool}")).await.is(200);
    assert_eq!(shown.body["metadata"]["search_index"]["embedding_model"], "subjects/4");
    assert!(!shown.text.contains("sk-embeddings"));
    // None of the query's words stands in the texts.
    let found = places(&app, "find", "reimburse").await;
    assert!(found[..2].contains(&"/0/text".into()) && found[..2].contains(&"/2/text".into()), "{found:?}");
    // In both lists, so it comes first; the score is the sum of both.
    let found = results(&app, "find", json!({ "query": "courier", "top_k": 3 })).await;
    assert_eq!(found[0]["json_path"], "/1/text");
    assert!(
        found[0]["score"].as_f64().unwrap() > 1.9 / 61.0 && found[0]["score"].as_f64().unwrap() <= 2.0 / 61.0
    );
    if backend == Backend::Postgres {
        use sqlx::Row;
        let mut connection = app.database().connect().await;
        let sql = "SELECT CAST(pg_typeof(embedding) AS TEXT) FROM search_vectors LIMIT 1";
        let kind = sqlx::query(sql).fetch_one(&mut connection).await.unwrap();
        assert_eq!(kind.get::<String, _>(0), "vector", "pgvector is at work");
    }
}

async fn answers_by_words_while_the_provider_is_away(backend: Backend) {
    let provider = Provider::start().await;
    let app = app_with(&provider, backend).await;
    let id = table(&app, manual()).await;
    for (mood, why) in [
        (Mood::Failing(503), "status 503"),
        (Mood::WrongLength, "5 dimensions instead of 4"),
        (Mood::Failing(401), "status 401"),
    ] {
        provider.set(mood);
        let tool = search_tool(&app, "find", &id, "/docs").await;
        fails_with(&app, &tool, why).await;
        let reply = app.call_name("find", json!({ "query": "courier" })).await.is(200);
        assert_eq!(reply.body["structuredContent"]["results"][0]["json_path"], "/1/text", "{}", reply.text);
        assert!(reply.body["structuredContent"]["remark"].as_str().is_some(), "{}", reply.text);
        provider.set(Mood::Well);
        let index = ready(&app, &tool).await;
        assert_eq!((&index["last_error"], &index["indexed_chunks_count"]), (&Value::Null, &json!(8)));
        assert!(!places(&app, "find", "reimburse").await.is_empty());
        // The provider fails for the query alone.
        provider.set(mood);
        assert_eq!(places(&app, "find", "courier").await, ["/1/text"]);
        app.delete(&format!("tools/{tool}")).await.is(204);
    }
}

/// TB-9.2
async fn gives_up_in_time_and_tries_again(backend: Backend) {
    let provider = Provider::start().await;
    provider.set(Mood::Slow(Duration::from_secs(60)));
    let app = TestApp::start_with(backend, |settings| {
        settings.search.timeout = Duration::from_secs(1);
        settings.search.backoff = (Duration::from_millis(100), Duration::from_millis(200));
        settings.embeddings = Some(embeddings::Settings {
            base_url: provider.base_url(),
            model: "subjects".into(),
            api_key: None,
            dimensions: None,
        });
    })
    .await;
    let id = table(&app, manual()).await;
    let tool = search_tool(&app, "find", &id, "/docs").await;
    fails_with(&app, &tool, "longer than 1 s").await;
    provider.set(Mood::Well);
    ready(&app, &tool).await;
    assert!(!places(&app, "find", "reimburse").await.is_empty());
}

async fn embeds_only_what_changed(backend: Backend) {
    let provider = Provider::start().await;
    let app = app_with(&provider, backend).await;
    let texts: Vec<String> = (0..100).map(|n| format!("text {n}")).collect();
    let id = table(&app, json!(texts)).await;
    let tool = search_tool(&app, "find", &id, "").await;
    ready(&app, &tool).await;
    assert_eq!(provider.texts().len(), 100);
    put(&app, &id, "/50", json!("a new cat")).await;
    ready(&app, &tool).await;
    assert_eq!(provider.texts()[100..], ["a new cat"]);
    assert_eq!(places(&app, "find", "kitten").await[0], "/50");
}

/// kill -9 while it indexes: another process takes over, and nothing is there twice.
async fn goes_on_after_a_kill(backend: Backend) {
    let provider = Provider::start().await;
    provider.set(Mood::Slow(Duration::from_secs(600)));
    let database = Database::create(backend).await;
    let with_provider = |database: &Database| {
        let mut command = serve(database);
        command.args(["--embeddings-base-url", &provider.base_url(), "--embeddings-model", "subjects"]);
        command
    };
    let mut server = Server::start(with_provider(&database));
    let admin = server.admin();
    let id = table(&admin, manual()).await;
    let tool = search_tool(&admin, "find", &id, "/docs").await;
    eventually("the words are indexed, and embeddings awaited", PATIENCE, async || {
        !places(&admin, "find", "courier").await.is_empty()
            && index_of(&admin, &tool).await["status"] == "indexing"
    })
    .await;
    server.kill();
    provider.set(Mood::Well);
    let again = Server::start(with_provider(&database));
    let admin = again.client(server.admin_key().unwrap());
    let index = ready(&admin, &tool).await;
    assert_eq!((&index["chunks_count"], &index["nodes_count"]), (&json!(8), &json!(8)));
    assert_eq!(provider.texts().len(), 8, "each text once");
    assert_eq!(places(&admin, "find", "courier").await[0], "/1/text");
}

/// Two processes on one database: each index is made once, and both see every change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_share_the_work_and_the_index() {
    let provider = Provider::start().await;
    let database = Database::create(Backend::Postgres).await;
    let with_provider = |data_dir: &std::path::Path| {
        let mut command = testkit::process::serve(crate::binary::BINARY, &database, data_dir);
        command.arg("--allow-private-network");
        command.args(["--embeddings-base-url", &provider.base_url(), "--embeddings-model", "subjects"]);
        command
    };
    let first = Server::start(with_provider(&database.data_dir()));
    let second = Server::start(with_provider(&database.replica_data_dir("second")));
    let admins = [first.admin(), second.client(first.admin_key().unwrap())];
    let mut tools = Vec::new();
    for n in 0..6 {
        let id = table(&admins[n % 2], json!([format!("cat number{n}"), format!("parcel number{n}")])).await;
        tools.push((id.clone(), search_tool(&admins[n % 2], &format!("find{n}"), &id, "").await));
    }
    for (n, (_, tool)) in tools.iter().enumerate() {
        for admin in &admins {
            ready(admin, tool).await;
            let name = format!("find{n}");
            eventually("the other replica knows the tool", PATIENCE, async || {
                admin.call_name(&name, json!({ "query": "x" })).await.status == 200
            })
            .await;
            assert_eq!(places(admin, &name, &format!("number{n}")).await.len(), 2);
        }
    }
    let indexed =
        provider.texts().iter().filter(|text| text.starts_with("cat") || text.starts_with("parcel")).count();
    assert_eq!(indexed, 12, "each text was indexed by one of them");
    // A change through one is found through the other, and what is gone is gone at once.
    put(&admins[0], &tools[0].0, "/0", json!("a zebra")).await;
    // The new text may be indexed by now, and is then as near to the query as any other.
    let found = results(&admins[1], "find0", json!({ "query": "number0", "top_k": 20 })).await;
    let texts: Vec<_> = found.iter().map(|result| &result["chunk"]["chunk_text"]).collect();
    assert!(
        texts.contains(&&json!("parcel number0")) && !texts.contains(&&json!("cat number0")),
        "{texts:?}"
    );
    ready(&admins[1], &tools[0].1).await;
    assert_eq!(places(&admins[1], "find0", "zebra").await[0], "/0");
}
