//! Flows that files start, and what publishing says of triggers that lead nowhere.

use crate::world::{PATIENCE, publish_over_rest, republish_over_rest, runs_of};
use serde_json::{Value, json};
use testkit::{Backend, Client, TestApp, eventually, on_both_databases};

on_both_databases! {
    a_file_that_is_new_or_changed_is_a_run
    publishing_says_what_triggers_cannot_find
}

const FLOW: &str = "
triggers: [{type: file, name: inbox, from: 'oss://inbox', prefix: in/, every: 1s}]
inputs: {key: string, size: int}
nodes: {a: {with: {key: '${key}', size: '${size}', from: '${trigger.from}'}}}
";

async fn save(client: &Client, key: &str, content: &str) {
    client.call("oss://inbox/save", json!({ "key": key, "content": content })).await.is(200);
}

async fn keys(client: &Client) -> Vec<String> {
    let runs = runs_of(client, "inbox", "succeeded").await;
    let mut keys: Vec<_> = runs.iter().map(|run| run["output"]["key"].as_str().unwrap().to_owned()).collect();
    keys.sort();
    keys
}

/// A file that was there before is none, one that is new or changed is one run, whoever looks; what changed while the
/// trigger was off stays as it is.
async fn a_file_that_is_new_or_changed_is_a_run(backend: Backend) {
    let app = TestApp::start(backend).await;
    let _other = app.replica("other").await;
    app.service(json!({ "type": "oss", "id": "inbox", "name": "Inbox", "config": {} })).await;
    save(&app, "in/old.txt", "old").await;
    publish_over_rest(&app, "inbox", FLOW).await;
    let has_looked = async || {
        let store = crate::world::store(app.database()).await;
        let kept = store.flows().triggers(&tool::TenantId::default_tenant(), "inbox").await.unwrap();
        store.close().await;
        kept[0].mark.is_some()
    };
    eventually("it has looked", PATIENCE, has_looked).await;
    save(&app, "in/a.txt", "one").await;
    save(&app, "in/deep/b.txt", "two").await;
    save(&app, "out/c.txt", "three").await;
    eventually("two are new", PATIENCE, async || keys(&app).await == ["in/a.txt", "in/deep/b.txt"]).await;
    save(&app, "in/old.txt", "changed").await;
    let all = ["in/a.txt", "in/deep/b.txt", "in/old.txt"];
    eventually("one has changed", PATIENCE, async || keys(&app).await == all).await;
    let runs = runs_of(&app, "inbox", "succeeded").await;
    let changed = runs.iter().find(|run| run["output"]["key"] == "in/old.txt").unwrap();
    assert_eq!(changed["output"], json!({ "key": "in/old.txt", "size": 7, "from": "oss://inbox" }));
    assert_eq!(changed["trigger"], json!({ "type": "file", "name": "inbox" }));
    app.post("flows/inbox/triggers/inbox/disable", json!({})).await.is(200);
    save(&app, "in/d.txt", "four").await;
    app.post("flows/inbox/triggers/inbox/enable", json!({})).await.is(200);
    eventually("it has looked again", PATIENCE, has_looked).await;
    save(&app, "in/e.txt", "five").await;
    eventually("one more", PATIENCE, async || keys(&app).await.contains(&"in/e.txt".to_owned())).await;
    assert!(!keys(&app).await.contains(&"in/d.txt".to_owned()), "it was off");
    // Where it did not look before, what is there is as old.
    republish_over_rest(&app, "inbox", &FLOW.replace("prefix: in/", "prefix: out/")).await;
    eventually("it has looked elsewhere", PATIENCE, has_looked).await;
    save(&app, "out/f.txt", "six").await;
    eventually("one is new", PATIENCE, async || keys(&app).await.contains(&"out/f.txt".to_owned())).await;
    assert!(!keys(&app).await.contains(&"out/c.txt".to_owned()), "nobody looked there");
}

/// FL-18: what a trigger names must be there, and the place in the text is said.
async fn publishing_says_what_triggers_cannot_find(backend: Backend) {
    let app = TestApp::start(backend).await;
    app.service(json!({ "type": "mq", "id": "orders", "name": "Orders", "config": {}, "tools": [{ "id": "placed", "peek": true }] }))
        .await;
    let table = app.post("tables", json!({ "name": "t", "data": {} })).await.is(201).string("id");
    let text = format!(
        "nodes: {{a: {{with: 1}}}}
triggers:
  - {{type: message, from: 'mq://orders/placed'}}
  - {{type: message, from: 'mq://orders/lost'}}
  - {{type: message, from: 'mq://nobody/placed'}}
  - {{type: message, from: 'mq://orders/placed_peek'}}
  - {{type: table, table: {table}}}
  - {{type: table, table: 0198c0de-0000-7000-8000-000000000000}}
  - {{type: file, from: 'oss://nowhere'}}
"
    );
    let found = app.post("flows/validate", json!({ "source": text })).await.is(200).body;
    let places: Vec<_> = found["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| (error["code"].clone(), error["line"].clone(), error["column"].clone()))
        .collect();
    let expected = [(4, 27), (5, 27), (6, 27), (8, 26), (9, 24)];
    let expected: Vec<(Value, Value, Value)> =
        expected.map(|(line, column)| (json!("UnknownTool"), json!(line), json!(column))).into();
    assert_eq!(places, expected, "{found}");
    app.post("flows", json!({ "id": "lost", "source": text })).await.is(201);
    app.post("flows/lost/publish", json!({})).await.is_problem(422, "VALIDATION_FAILED");
}
