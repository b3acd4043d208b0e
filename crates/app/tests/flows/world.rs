//! A service of one's own to call, flows to run, and few words for both.

use reqwest::Method;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use store::Store;
use store::flows::{NewDraft, NewTrigger, Publication};
use testkit::client::send_json;
use testkit::http::Server;
use testkit::{Client, Database, Reply, eventually};
use tool::{Secret, TenantId};

/// Long enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The service `shop`: each tool leads to the echo server.
pub(crate) fn shop(upstream: &Server) -> Value {
    let parameter = |name: &str, kind: &str, position: &str| json!({ "name": name, "parameter_type": kind, "required": true, "position": position });
    json!({
        "type": "api", "id": "shop", "name": "Shop",
        "config": { "base_url": upstream.url(), "retry": { "max_attempts": 1 } },
        "tools": [
            { "id": "order", "endpoint": "/orders/{id}", "parameters": [parameter("id", "String", "path")] },
            { "id": "ship", "method": "POST", "endpoint": "/ship",
              "parameters": [parameter("id", "String", "body")] },
            { "id": "lost", "endpoint": "/status/404" },
            { "id": "flaky", "method": "POST", "endpoint": "/flaky/1",
              "parameters": [parameter("key", "String", "query")] },
            { "id": "slow", "method": "POST", "endpoint": "/slow/{ms}",
              "parameters": [parameter("ms", "Integer", "path")] }
        ]
    })
}

/// The database of a running program, beside it.
pub(crate) async fn store(database: &Database) -> Store {
    store_in(database, &database.data_dir()).await
}

async fn store_in(database: &Database, data_dir: &Path) -> Store {
    let url = database.url().map(Secret::new);
    app::wiring::connect_store(data_dir, url, None).await.unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// Publishes a text and waits until it can be called.
pub(crate) async fn publish(admin: &Client, database: &Database, id: &str, text: &str) -> i64 {
    publish_with(admin, database, id, text, Vec::new()).await
}

/// The same with what starts it by itself.
pub(crate) async fn publish_with(
    admin: &Client,
    database: &Database,
    id: &str,
    text: &str,
    triggers: Vec<NewTrigger>,
) -> i64 {
    publish_all(admin, database, &TenantId::default_tenant(), id, text, triggers).await
}

/// The same in a tenant, whose manager asks.
pub(crate) async fn publish_in(
    manager: &Client,
    database: &Database,
    tenant: &TenantId,
    id: &str,
    text: &str,
) -> i64 {
    publish_all(manager, database, tenant, id, text, Vec::new()).await
}

async fn publish_all(
    manager: &Client,
    database: &Database,
    tenant: &TenantId,
    id: &str,
    text: &str,
    triggers: Vec<NewTrigger>,
) -> i64 {
    let store = store(database).await;
    let draft = NewDraft { name: id.into(), source: text.into(), references: Vec::new() };
    if store.flows().get(tenant, id).await.is_err() {
        store.flows().create(tenant, id, &draft, "ada").await.unwrap();
    }
    let publication = Publication {
        source: text.into(),
        bound: "[]".into(),
        references: Vec::new(),
        triggers,
        published_by: "ada".into(),
        rights: None,
    };
    let version = store.flows().publish(tenant, id, &publication, None).await.unwrap().flow.current.unwrap();
    store.close().await;
    eventually("the flow can be called", PATIENCE, async || {
        manager.tool_names().await.iter().any(|name| name == id)
    })
    .await;
    version
}

/// A flow that has a draft alone.
pub(crate) async fn draft(database: &Database, id: &str, text: &str) {
    let store = store(database).await;
    let draft = NewDraft { name: id.into(), source: text.into(), references: Vec::new() };
    store.flows().create(&TenantId::default_tenant(), id, &draft, "ada").await.unwrap();
    store.close().await;
}

/// Starts a run and waits for its end.
pub(crate) async fn run(client: &Client, flow: &str, inputs: Value) -> Reply {
    let body = json!({ "inputs": inputs, "wait_seconds": 30 });
    client.post(&format!("flows/{flow}/runs"), body).await
}

/// Starts a run and gives its id.
pub(crate) async fn start(client: &Client, flow: &str, inputs: Value) -> String {
    let reply = client.post(&format!("flows/{flow}/runs"), json!({ "inputs": inputs })).await;
    // A short one may have ended before it is answered.
    assert!(matches!(reply.status, 200 | 202), "{}", reply.text);
    reply.string("id")
}

/// Waits until the run is in one of these states.
pub(crate) async fn until(client: &Client, run: &str, states: &[&str]) -> Value {
    let mut view = Value::Null;
    eventually(&format!("run {run} is {states:?}"), PATIENCE, async || {
        view = client.get(&format!("runs/{run}")).await.is(200).body;
        states.iter().any(|state| view["state"] == *state)
    })
    .await;
    view
}

/// Publishes a text as people do.
pub(crate) async fn publish_over_rest(client: &Client, id: &str, text: &str) -> Reply {
    client.post("flows", json!({ "id": id, "source": text })).await.is(201);
    client.post(&format!("flows/{id}/publish"), json!({})).await.is(200)
}

/// Publishes another text of a flow that is there.
pub(crate) async fn republish_over_rest(client: &Client, id: &str, text: &str) -> Reply {
    let draft = client.request(Method::PUT, &format!("flows/{id}/draft"));
    send_json(draft, &json!({ "source": text })).await.is(200);
    client.post(&format!("flows/{id}/publish"), json!({})).await.is(200)
}

/// The runs of a flow in a state, each as a whole.
pub(crate) async fn runs_of(client: &Client, flow: &str, state: &str) -> Vec<Value> {
    let listed = client.get(&format!("runs?flow={flow}&state={state}&limit=1000")).await.is(200).items();
    let mut runs = Vec::new();
    for run in listed {
        runs.push(client.get(&format!("runs/{}", run["id"].as_str().unwrap())).await.is(200).body);
    }
    runs
}
