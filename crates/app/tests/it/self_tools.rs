//! `--self-tools`: an agent shows, checks and changes the configuration in chat.

use crate::mcp_json::backups;
use crate::setup::{PATIENCE, audited};
use crate::stdio::{Aggregator, service};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};
use testkit::{Backend, TestApp, on_both_databases};

on_both_databases! {
    over_http_they_are_for_admins_alone
}

const NAMES: [&str; 4] =
    ["mcp_config__schema", "mcp_config__set", "mcp_config__show", "mcp_config__validate"];

fn call(client: &mut Aggregator, name: &str, arguments: &Value) -> (bool, String) {
    let answer = client.ask("tools/call", json!({ "name": name, "arguments": arguments }));
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    (result["isError"] == true, text)
}

#[test]
fn an_agent_adds_a_service_and_gets_its_tools() {
    let a = json!({ "command": service(), "env": { "KEY": "s3cret" }, "includeTools": ["echo"] });
    let mut client = Aggregator::start_with(json!({ "a": a }), |command| {
        command.arg("--self-tools");
    });
    client.hello();
    let names = client.names();
    assert_eq!(names, [&["a__echo"][..], &NAMES].concat());
    let path = client.folder.path().join("mcp.json");

    let (is_error, shown) = call(&mut client, "mcp_config__show", &json!({}));
    assert!(!is_error && shown.contains("***") && !shown.contains("s3cret"), "{shown}");
    let (_, schema) = call(&mut client, "mcp_config__schema", &json!({}));
    assert!(schema.contains("\"mcpServers\""), "{schema}");
    let mut config: Value = serde_json::from_str(&shown).unwrap();
    config["mcpServers"]["b c"] = json!({ "command": 7 });
    let before = fs::read_to_string(&path).unwrap();
    for tool in ["mcp_config__validate", "mcp_config__set"] {
        let (is_error, text) = call(&mut client, tool, &json!({ "config": config }));
        assert!(is_error && text.contains("is no service name"), "{text}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), before);

    config["mcpServers"].as_object_mut().unwrap().remove("b c");
    config["mcpServers"]["b"] = json!({ "command": service(), "includeTools": ["env", "pid"] });
    assert_eq!(
        call(&mut client, "mcp_config__validate", &json!({ "config": config })),
        (false, "Nothing is wrong.".into())
    );
    assert_eq!(call(&mut client, "mcp_config__validate", &json!({})), (false, "Nothing is wrong.".into()));
    let (is_error, text) = call(&mut client, "mcp_config__set", &json!({ "config": config.to_string() }));
    assert!(!is_error && text.contains("it has 2 services"), "{text}");
    assert!(fs::read_to_string(&path).unwrap().contains("s3cret"), "the masked secret stays");
    assert_eq!(backups(&path).len(), 1);
    let deadline = Instant::now() + PATIENCE;
    while !client.names().contains(&"b__env".to_owned()) {
        assert!(Instant::now() < deadline, "{:?}", client.names());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn they_are_not_there_unless_asked_for() {
    let mut client = Aggregator::start_with(json!({}), |_| {});
    client.hello();
    assert!(client.names().is_empty());
    let answer = client.ask("tools/call", json!({ "name": "mcp_config__show", "arguments": {} }));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}

async fn over_http_they_are_for_admins_alone(backend: Backend) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    fs::write(&path, "{\"mcpServers\":{}}").unwrap();
    let app = TestApp::start_with(backend, |settings| {
        settings.mcp_config = Some(path.clone());
        settings.has_self_tools = true;
    })
    .await;
    assert_eq!(app.tool_names().await, NAMES);
    let config = json!({ "mcpServers": { "a": { "url": "https://x.example/mcp", "type": "http", "headers": { "K": "s3cret" } } } });
    let set = app.call_name("mcp_config__set", json!({ "config": config })).await.is(200);
    assert_eq!(set.body["isError"], false, "{}", set.text);
    let shown = app.call("self://mcp_config/show", json!({})).await.is(200).text;
    assert!(shown.contains("x.example") && !shown.contains("s3cret"), "{shown}");
    let records = audited(&app, "tool=mcp_config__set", 1).await;
    assert!(
        records[0].to_string().contains("***") && !records[0].to_string().contains("s3cret"),
        "{records:?}"
    );

    for role in ["manager", "caller"] {
        let key = app.with_key(json!({ "name": role, "role": role })).await;
        assert!(key.tool_names().await.is_empty());
        key.call_name("mcp_config__show", json!({})).await.is_problem(403, "FORBIDDEN");
        key.call("self://mcp_config/show", json!({})).await.is_problem(403, "FORBIDDEN");
    }
    let manager = app.with_key(json!({ "name": "m", "role": "manager" })).await;
    let around = json!({ "name": "around", "type": "uri", "uri": "self://mcp_config/show" });
    manager.post("tools", around).await.is_problem(422, "VALIDATION_FAILED");
    let stranger = app.with_tenant("acme").await;
    stranger.call("self://mcp_config/show", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    manager
        .post("services", json!({ "type": "self", "id": "x", "config": {} }))
        .await
        .is_problem(422, "VALIDATION_FAILED");
}
