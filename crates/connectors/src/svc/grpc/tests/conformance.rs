//! The rules that hold for every connector, over gRPC.

use super::server::{Exchange, Server};
use super::{EVERYTHING, LOYALTY};
use crate::svc::Settings;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::conformance::{self, Capability, Echo, Sample, Subject, Tested};
use testkit::http::dead_address;
use tool::Env;

const README: &str = r#"
```json
{
  "protocol": "grpc",
  "discovery": { "type": "static", "endpoints": ["10.0.0.1:50051", { "address": "10.0.0.2:50051", "weight": 2 }] },
  "schema": { "reflection": true },
  "metadata": { "x-team": "crm" },
  "max_messages": 100
}
```
"#;

const KEY: &str = "secret-key-of-the-service-0123456789";

async fn answer(mut exchange: Exchange) {
    let Some(message) = exchange.message().await else { return };
    match exchange.path.as_str() {
        "/grpc.health.v1.Health/Check" => exchange.fail(&[("grpc-status", "12")]),
        "/loyalty.v1.Customers/Get" => {
            tokio::select! {
                () = exchange.cancelled() => {}
                () = tokio::time::sleep(Duration::from_secs(6)) => {}
            }
        }
        _ => exchange.answer(&message),
    }
}

fn settings(address: &str) -> Value {
    json!({
        "protocol": "grpc", "discovery": { "type": "static", "endpoints": [address] }, "allow_private_network": true,
        "schema": { "protos": { "everything.proto": EVERYTHING, "loyalty.proto": LOYALTY } },
        "auth": { "type": "apikey", "header": "x-key", "value": KEY }, "retry": { "initial_delay_ms": 1 }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms_like_every_connector() {
    let server = Server::start(answer).await;
    let dead = dead_address().await;
    conformance::check(&Subject {
        tested: Tested::with::<Settings>(),
        readme: README,
        settings: settings(&server.address.to_string()),
        dead_settings: Capability::Has(settings(&dead.to_string())),
        env: Env::default(),
        secrets: vec![KEY.to_owned()],
        good: Sample::new("customers_create", json!({ "displayName": "Ada" })),
        bad: Sample::new("customers_create", json!({ "displayName": 7 })),
        bad_argument: "displayName",
        slow: Capability::Has(Sample::new("customers_get", json!({ "id": "1" }))),
        echo: Capability::Has(Echo { tool: "customers_create", argument: "displayName" }),
        undescribed: Capability::Has(&[]),
    })
    .await;
}
