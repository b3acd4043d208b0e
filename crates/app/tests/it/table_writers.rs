//! Many writers on one table, in one process and in two: no update is lost, no document torn.

use crate::setup::PATIENCE;
use crate::tables::table;
use serde_json::{Value, json};
use std::collections::HashSet;
use testkit::{Backend, Client, TestApp, eventually, on_both_databases};

on_both_databases! {
    two_hundred_writers_lose_nothing
    two_replicas_lose_nothing
    a_replica_reads_what_another_wrote
}

/// So many writers at once, each adding to a list and counting in a map of its own.
async fn write(clients: &[Client], writers: usize) {
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let client = clients[writer % clients.len()].clone();
            tokio::spawn(async move {
                let element = json!({ "elements": [{ "key": format!("w{writer}"), "content": writer }] });
                let name = if writer % 2 == 0 { "append" } else { "insert" };
                let reply = client.call_name(name, element).await.is(200);
                assert_eq!(reply.body["isError"], false, "{}", reply.text);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

async fn tools(client: &Client) -> String {
    let id = table(client, json!({ "list": [], "map": {} })).await;
    for (name, path) in [("append", "/list"), ("insert", "/map")] {
        client
            .post("tools", json!({ "name": name, "type": "create", "table_id": id, "json_path": path }))
            .await
            .is(201);
    }
    id
}

fn is_complete(data: &Value, writers: usize) -> bool {
    let list: HashSet<_> = data["list"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    let map = data["map"].as_object().unwrap();
    list.len() == writers / 2
        && map.len() == writers / 2
        && data["list"].as_array().unwrap().len() == writers / 2
}

async fn two_hundred_writers_lose_nothing(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = tools(&app).await;
    write(&[Client::clone(&app)], 200).await;
    let read = app.get(&format!("tables/{id}/data")).await.is(200);
    assert!(is_complete(&read.body["data"], 200), "{}", read.text);
    assert_eq!(read.body["version"], 201);
    // As it is in the database, not only in memory.
    let other = app.replica("other").await;
    let read = other.get(&format!("tables/{id}/data")).await.is(200);
    assert!(is_complete(&read.body["data"], 200), "{}", read.text);
}

async fn two_replicas_lose_nothing(backend: Backend) {
    let one = TestApp::start(backend).await;
    let two = one.replica("two").await;
    let id = tools(&one).await;
    eventually("the tools are there", PATIENCE, async || two.tool_names().await.len() == 2).await;
    write(&[Client::clone(&one), Client::clone(&two)], 200).await;
    for app in [&one, &two] {
        eventually("both see everything", PATIENCE, async || {
            let read = app.get(&format!("tables/{id}/data")).await.is(200);
            is_complete(&read.body["data"], 200) && read.body["version"] == 201
        })
        .await;
    }
}

async fn a_replica_reads_what_another_wrote(backend: Backend) {
    let one = TestApp::start(backend).await;
    let two = one.replica("two").await;
    let id = table(&one, json!({ "list": [] })).await;
    let path = format!("tables/{id}/data?json_path=/list");
    for n in 0..30 {
        let (writer, reader) = if n % 2 == 0 { (&one, &two) } else { (&two, &one) };
        writer.post(&path, json!({ "data": n })).await.is(201);
        let own = writer.get(&path).await.is(200);
        assert_eq!(own.body["data"].as_array().unwrap().len(), n + 1, "a writer sees its own write");
        let read = async || reader.get(&path).await.is(200).body["data"].as_array().unwrap().len();
        match backend {
            // Behind one address, the next request may come to any replica.
            Backend::Postgres => assert_eq!(read().await, n + 1),
            Backend::Sqlite => {
                eventually("the write is seen", PATIENCE, async || read().await == n + 1).await
            }
        }
    }
    one.delete(&format!("tables/{id}")).await.is(204);
    eventually("it is gone", PATIENCE, async || two.get(&path).await.status == 404).await;
}
