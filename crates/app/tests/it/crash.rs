//! Processes that die, and processes that start together.

use crate::binary::{BINARY, serve};
use crate::setup::{PATIENCE, crm};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use testkit::process::{self, Server};
use testkit::{Backend, Client, Database, eventually, http, on_both_databases};

on_both_databases! { loses_no_acknowledged_write_when_killed }

/// kill -9 in the middle of audited calls and of management writes.
async fn loses_no_acknowledged_write_when_killed(backend: Backend) {
    let upstream = http::Server::start().await;
    let database = Database::create(backend).await;
    let mut server = Server::start(serve(&database));
    let admin = server.admin();
    admin.post("services", crm(&upstream)).await.is(201);
    let (calls, writes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        tasks.spawn(call(admin.clone(), calls.clone()));
    }
    for writer in 0..2 {
        tasks.spawn(write(writer, admin.clone(), writes.clone()));
    }
    eventually("enough is under way", PATIENCE, async || {
        calls.load(Ordering::SeqCst) >= 300 && writes.load(Ordering::SeqCst) >= 10
    })
    .await;
    server.kill();
    let mut acknowledged: Vec<String> = Vec::new();
    while let Some(task) = tasks.join_next().await {
        acknowledged.extend(task.unwrap());
    }
    assert!(acknowledged.len() >= 10);

    let again = Server::start(serve(&database));
    let admin = again.client(server.admin_key().unwrap());
    for id in &acknowledged {
        admin.get(&format!("tenants/{id}")).await.is(200);
    }
    admin.call("api://crm/ping", json!({})).await.is(200);
    admin.post("tenants", json!({ "id": "after" })).await.is(201);
    let total = admin.get("audit").await.is(200).body["total"].as_u64().unwrap();
    assert!(total > 0, "the audit is there");
    if backend == Backend::Sqlite {
        use sqlx::Row;
        let mut connection = database.connect().await;
        let check = sqlx::query("PRAGMA integrity_check").fetch_one(&mut connection).await.unwrap();
        assert_eq!(check.get::<String, _>(0), "ok");
    }
}

/// Calls until nobody answers, and counts the calls that were answered.
async fn call(admin: Client, answered: Arc<AtomicUsize>) -> Vec<String> {
    let uri = json!({ "uri": "api://crm/ping" });
    while post_until_killed(&admin, "call", &uri).await.is_some() {
        answered.fetch_add(1, Ordering::SeqCst);
    }
    Vec::new()
}

/// Makes tenants, and says which were acknowledged.
async fn write(writer: usize, admin: Client, count: Arc<AtomicUsize>) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for n in 0.. {
        let id = format!("t-{writer}-{n}");
        let Some(201) = post_until_killed(&admin, "tenants", &json!({ "id": id })).await else { break };
        acknowledged.push(id);
        count.fetch_add(1, Ordering::SeqCst);
    }
    acknowledged
}

async fn post_until_killed(client: &Client, path: &str, body: &serde_json::Value) -> Option<u16> {
    let request = client.request(reqwest::Method::POST, path).body(body.to_string());
    let response = request.send().await.ok()?;
    let status = response.status().as_u16();
    response.bytes().await.ok()?;
    Some(status)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_start_together_on_one_fresh_postgres_and_see_each_others_changes() {
    let upstream = http::Server::start().await;
    let database = Arc::new(Database::create(Backend::Postgres).await);
    let token = "an-admin-token-of-our-own";
    let start = |name: &'static str| {
        let database = database.clone();
        tokio::task::spawn_blocking(move || {
            let folder = database.data_dir().join(name);
            let mut command = process::serve(BINARY, &database, &folder);
            command.arg("--allow-private-network").env("MCP_ALL_IN_ONE_ADMIN_TOKEN", token);
            command.env("MCP_ALL_IN_ONE_MASTER_KEY", "0123456789abcdef".repeat(4));
            Server::start(command)
        })
    };
    let (one, two) = (start("one"), start("two"));
    let (one, two) = (one.await.unwrap(), two.await.unwrap());
    let (first, second) = (one.client(token), two.client(token));
    second.get("tenants/default").await.is(200);
    first.post("services", crm(&upstream)).await.is(201);
    eventually("the service is there", PATIENCE, async || second.tool_names().await.len() == 4).await;
    second.call("api://crm/ping", json!({})).await.is(200);
    let mut times = Vec::new();
    for (verb, status) in [("disable", 409), ("enable", 200), ("disable", 409), ("enable", 200)] {
        first.post(&format!("services/api/crm/{verb}"), json!({})).await.is(200);
        let begun = Instant::now();
        eventually(verb, PATIENCE, async || second.call("api://crm/ping", json!({})).await.status == status)
            .await;
        times.push(begun.elapsed());
    }
    assert!(times.iter().any(|time| *time < Duration::from_secs(1)), "{times:?}");
    let made = second.post("keys", json!({ "name": "k" })).await.is(201);
    let key = first.as_key(made.string("key"));
    eventually("the key works", PATIENCE, async || key.get("auth/me").await.status == 200).await;
    second.delete(&format!("keys/{}", made.string("id"))).await.is(204);
    eventually("the key is gone", PATIENCE, async || key.get("auth/me").await.status == 401).await;
}

/// Without a token from outside both may make an admin key, but both must come up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_start_together_on_one_fresh_folder() {
    let database = Arc::new(Database::create(Backend::Sqlite).await);
    let start = || {
        let database = database.clone();
        tokio::task::spawn_blocking(move || Server::start(serve(&database)))
    };
    let (one, two) = (start(), start());
    let (one, two) = (one.await.unwrap(), two.await.unwrap());
    let keys: Vec<_> = [&one, &two].into_iter().filter_map(|server| server.admin_key()).collect();
    assert!(!keys.is_empty());
    for key in keys {
        for server in [&one, &two] {
            let client = server.client(key);
            eventually("the key works", PATIENCE, async || client.get("auth/me").await.status == 200).await;
        }
    }
}
