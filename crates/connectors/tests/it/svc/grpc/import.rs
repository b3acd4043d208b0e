//! Services made from what servers say about themselves.

use super::{kind, run, settings};
use crate::on_every_grpc_server;
use serde_json::{Value, json};
use tool::{Env, ImportRequest, ImportSource, Pattern};

on_every_grpc_server! {
    imports_what_the_server_says
}

/// Requirement SV-12: an imported service keeps the descriptors, so that calls need no reflection.
async fn imports_what_the_server_says(address: String) {
    let mut request = ImportRequest::all_of(ImportSource::Document(json!({ "reflection": true })));
    request.config = settings(&address).as_object().unwrap().clone();
    request.exclude = vec![Pattern("*/Fail".to_owned())];
    let imported = (kind().import.unwrap().read)(request, Env::default()).await.unwrap();
    assert_eq!(
        (imported.id.as_str(), imported.name.as_str(), imported.tools.len()),
        ("customers", "Customers", 7)
    );
    assert_eq!(imported.skipped[0].operation, "loyalty.v1.Customers/Upload");
    assert_eq!(imported.tools[0].definition["rpc"], "loyalty.v1.Customers/Create");
    let mut settings = Value::Object(imported.config);
    assert!(settings["schema"]["descriptor_set"].is_string() && imported.described.contains_key("schema"));
    settings["tools"] = imported.tools.into_iter().map(|tool| tool.definition).collect();
    let service = kind().open(settings, &Env::default()).unwrap();
    let listed = run(&service, "customers_list", &json!({})).await.unwrap();
    assert_eq!(listed["customers"][0]["displayName"], "Ada");
}
