//! What servers say about themselves.

use super::{open, run};
use crate::on_every_grpc_server;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::conformance::context;
use tool::Tool;

on_every_grpc_server! {
    lists_every_method_that_can_be_called
    chooses_methods
    calls_by_the_names_that_settings_give
}

const ALL: [&str; 8] = [
    "customers_create",
    "customers_echo",
    "customers_fail",
    "customers_get",
    "customers_list",
    "customers_metadata",
    "customers_upper",
    "customers_watch",
];

/// Requirement SV-5: by reflection v1, and by v1alpha where v1 is missing.
async fn lists_every_method_that_can_be_called(address: String) {
    let service = open(&address, &json!({}));
    let tools = service.tools(&context(Duration::from_secs(20))).await.unwrap();
    assert_eq!(tools.iter().map(Tool::name).collect::<Vec<_>>(), ALL);
    let get: Value = serde_json::from_str(tools[3].input_schema().get()).unwrap();
    assert_eq!(get["properties"]["id"]["type"], json!(["string", "integer"]));
    let echo: Value = serde_json::from_str(tools[1].input_schema().get()).unwrap();
    assert_eq!(echo["properties"]["at"]["format"], "date-time", "files that others import are there, too");
}

async fn chooses_methods(address: String) {
    let service = open(
        &address,
        &json!({ "include": ["loyalty.v1.Customers/*"], "exclude": ["*/Fail", "customers_w*"] }),
    );
    let tools = service.tools(&context(Duration::from_secs(20))).await.unwrap();
    assert_eq!(tools.len(), 6);
}

async fn calls_by_the_names_that_settings_give(address: String) {
    let tools = json!([{ "id": "find", "rpc": "loyalty.v1.Customers/Get", "description": "Finds.", "select": "displayName" }]);
    let service = open(&address, &json!({ "tools": tools }));
    let listed = service.tools(&context(Duration::from_secs(20))).await.unwrap();
    assert_eq!((listed.len(), listed[0].description()), (1, Some("Finds.")));
    assert_eq!(run(&service, "find", &json!({ "id": 1 })).await.unwrap()["displayName"], "Ada");
    let service = open(&address, &json!({ "tools": [{ "id": "x", "rpc": "loyalty.v1.Customers/Nope" }] }));
    let error = service.tools(&context(Duration::from_secs(20))).await.unwrap_err();
    assert!(
        error.message().contains("'loyalty.v1.Customers/Nope'") && error.message().contains("Customers/List"),
        "{error}"
    );
}
