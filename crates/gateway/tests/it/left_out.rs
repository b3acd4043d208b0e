//! Types of services that this program was built without: whoever meets one learns which feature brings it in.

use crate::support::*;
use crate::tools::tool;
use gateway::ToolBody;
use serde_json::json;
use tool::{ErrorKind, TenantId};

const ADVICE: &str = "in this program: build it with `--features pigeon`";

#[tokio::test]
async fn a_uri_of_a_type_left_out_names_the_feature() {
    let world = World::new();
    world.load("acme", Vec::new()).await;
    let error = world.call("carrier://loft/send", json!({})).await.unwrap_err();
    let expected = format!("there is no tool type 'carrier' {ADVICE} (in carrier://loft/send)");
    assert_eq!((error.kind(), error.message()), (ErrorKind::NotFound, &*expected));
}

#[tokio::test]
async fn settings_of_a_type_left_out_are_refused_with_the_feature() {
    let error =
        World::new().gateway.check(&TenantId::default_tenant(), "carrier", json!({})).await.unwrap_err();
    let expected = format!("there is no service type 'carrier' {ADVICE}");
    assert_eq!((error.kind(), error.message()), (ErrorKind::NotFound, &*expected));
}

#[tokio::test]
async fn a_saved_service_of_a_type_left_out_is_kept_and_says_why_it_cannot_be_used() {
    let mut saved = service("loft", json!({}));
    saved.scheme = "carrier".into();
    let world = World::with(vec![saved, service("m", json!({ "greeting": "hello" }))]).await;
    let error = world.call("loft__send", json!({})).await.unwrap_err();
    assert!(error.message().contains(ADVICE), "{error}");
    assert!(world.call("m__say", json!({})).await.unwrap().contains("hello"));
}

#[tokio::test]
async fn a_tool_of_a_type_left_out_names_the_feature() {
    let world = World::new();
    let letter = tool("letter", ToolBody::Inline { tool_type: "letter".into(), config: json!({}) });
    let checked = world.gateway.check_tool(&"acme".parse().unwrap(), &letter).await;
    assert_eq!(checked.problems[0].message, format!("there is no tool type 'letter' {ADVICE}"));
    world.load_all(Vec::new(), vec![letter]).await;
    let error = world.call("letter", json!({})).await.unwrap_err();
    assert!(error.message().contains(ADVICE), "{error}");
}

#[test]
fn a_type_that_is_there_is_not_said_to_be_left_out() {
    let here = World::registry();
    assert!(here.find("memory").is_some());
    assert_eq!(here.no_service_type("memory"), "there is no service type 'memory'");
}
