//! The examples of flows do what they say, with services like those beside them.

use crate::world::{PATIENCE, publish_over_rest, run, until};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};
use sqlx::Executor as _;
use std::path::Path;
use testkit::{Backend, Database, TestApp, eventually, http, on_both_databases};

on_both_databases! {
    every_example_runs
}

fn example(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn service(path: &str) -> Value {
    serde_json::from_str(&example(path)).unwrap()
}

/// The service of weather, at a server that always has the same.
async fn weather(app: &TestApp, upstream: &http::Server) {
    let mut weather = service("services/weather.json");
    let now = BASE64.encode(r#"{"current":{"temperature_2m":3.5,"wind_speed_10m":10}}"#);
    weather["config"]["base_url"] = upstream.url().into();
    weather["tools"][0]["endpoint"] = format!("/raw?type=application/json&base64={now}").into();
    app.service(weather).await;
}

/// The service of the shop, in a database of its own.
async fn shop(app: &TestApp, database: &Database) {
    let mut connection = database.connect().await;
    for statement in [
        "CREATE TABLE customers (id text PRIMARY KEY)",
        "CREATE TABLE orders (id int PRIMARY KEY, customer text, status text, total float8, created timestamp DEFAULT now())",
        "INSERT INTO orders (id, customer, status, total) VALUES (1, 'ada', 'new', 50), (2, 'ada', 'new', 5000)",
    ] {
        connection.execute(statement).await.unwrap();
    }
    let mut shop = service("services/shop-database.json");
    shop["config"]["connection_string"] = database.url().into();
    app.service(shop).await;
}

/// The names of all examples, sorted.
fn all_examples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flows");
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let mut there: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| name(&entry.unwrap().path())).collect();
    there.sort();
    there
}

/// The example that asks somebody.
async fn orders_are_checked(app: &TestApp) {
    let asked = app.post("flows/order-check/runs", json!({ "inputs": { "customer": "ada" } })).await.is(202);
    let id = asked.string("id");
    let waiting = until(app, &id, &["waiting", "failed"]).await;
    let approval =
        waiting["waiting_for"][0]["approval_id"].as_str().unwrap_or_else(|| panic!("{waiting}")).to_owned();
    let decision = json!({ "decision": "approve", "data": { "reason": "known" } });
    app.post(&format!("approvals/{approval}"), decision).await.is(200);
    let checked = until(app, &id, &["succeeded", "failed"]).await;
    assert_eq!(
        (&checked["output"]["passed"], &checked["output"]["large"]),
        (&json!(true), &json!(1)),
        "{checked}"
    );
}

/// FL-5, FL-6, FL-14: every example is published as it is, runs, and gives what its text promises.
async fn every_example_runs(backend: Backend) {
    let upstream = http::Server::start().await;
    let (app, orders) = (TestApp::start(backend).await, Database::create(Backend::Postgres).await);
    weather(&app, &upstream).await;
    shop(&app, &orders).await;
    let mut names: Vec<_> =
        ["hello", "nightly-weather", "origin-style", "order-check", "payment-webhook"].into();
    for name in &names {
        publish_over_rest(&app, name, &example(&format!("flows/{name}.yaml"))).await;
    }
    names.sort_unstable();
    assert_eq!(all_examples(), names, "every example is run here");

    let hello = run(&app, "hello", json!({ "name": "Ada", "times": 2 })).await.is(200).body;
    assert_eq!(hello["output"], json!({ "text": "Hello Ada, Hello Ada", "count": 2 }), "{hello}");
    let nightly = run(&app, "nightly-weather", json!({})).await.is(200).body;
    assert_eq!(
        nightly["output"]["places"][2],
        json!({ "place": "Bari", "weather": "3.5 °C, wind 10 km/h" }),
        "{nightly}"
    );
    let place = json!({ "latitude": 52.5, "longitude": 13.4 });
    let origin = run(&app, "origin-style", place).await.is(200).body;
    assert_eq!(origin["output"], json!({ "text": "Now: 3.5 °C, wind 10 km/h", "cold": true }), "{origin}");

    orders_are_checked(&app).await;

    let pay = async |body: Value| {
        let fired = app
            .post("flows/payment-webhook/triggers/payments/fire", json!({ "event": { "body": body } }))
            .await;
        until(&app, &fired.is(202).string("id"), &["succeeded", "failed", "waiting"]).await
    };
    let booked = pay(json!({ "customer": "ada", "amount": 20, "note": "from ada@example.com" })).await;
    assert_eq!(
        (&booked["output"]["customer"], &booked["output"]["amount"]),
        (&json!("ada"), &json!(20)),
        "{booked}"
    );
    assert!(!booked["output"].to_string().contains("ada@example.com"), "{booked}");
    let refused = pay(json!({ "customer": "ada", "amount": 0 })).await;
    assert_eq!(refused["output"]["failed"]["code"], "NO_AMOUNT", "{refused}");
    let large = pay(json!({ "customer": "bob", "amount": 20000 })).await;
    let id = large["id"].as_str().unwrap().to_owned();
    eventually("the large one is booked", PATIENCE, async || {
        app.get(&format!("runs/{id}")).await.is(200).body["output"]["amount"] == 20000
    })
    .await;
}
