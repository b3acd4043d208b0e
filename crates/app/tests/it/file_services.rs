//! Services of whoever runs the server in REST: shown and tested like all others, changed by their owner alone.

use crate::setup::{PATIENCE, example};
use local::OneServer;
use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::mcp::http::{Behaviour, Server};
use testkit::{Backend, TestApp};

/// A server whose operator has three services in a file, and one more that is configured.
async fn served(file: &tempfile::TempDir, url: &str) -> (TestApp, PathBuf) {
    let path = file.path().join("mcp.json");
    let config = json!({ "mcpServers": {
        "clock": { "type": "http", "url": url, "headers": { "X-Api-Key": "hunter2", "X-Ref": "${HOME}" } },
        "dead": { "type": "http", "url": "http://127.0.0.1:9/mcp" },
        "off": { "type": "http", "url": url, "disabled": true },
    } });
    std::fs::write(&path, config.to_string()).unwrap();
    let app = TestApp::start_with(Backend::Sqlite, |settings| settings.mcp_config = Some(path.clone())).await;
    app.service(json!({ "type": "api", "id": "made", "config": { "base_url": "http://127.0.0.1:9" } })).await;
    testkit::eventually("the tools", PATIENCE, async || !app.tool_names().await.is_empty()).await;
    (app, path)
}

fn ids(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["id"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_of_an_mcp_json_are_listed_with_their_health_and_tools() {
    let server = Server::start(Behaviour::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let (app, _) = served(&folder, &server.url()).await;
    testkit::eventually("the failure", PATIENCE, async || {
        app.get("services/mcp/dead").await.is(200).body["health"]["state"] == "failing"
    })
    .await;
    let listed = app.get("services").await.is(200);
    assert!(!listed.text.contains("hunter2"), "{}", listed.text);
    let items = listed.items();
    assert_eq!(ids(&items), ["made", "clock", "dead", "off"]);
    assert_eq!(listed.body["total"], 4);
    let sources: Vec<_> = items.iter().map(|item| item["source"].as_str().unwrap()).collect();
    assert_eq!(sources, ["store", "mcp.json", "mcp.json", "mcp.json"]);
    let clock = app.get("services/mcp/clock").await.is(200).body;
    assert_eq!((&clock["health"]["state"], &clock["health"]["error"]), (&json!("ok"), &Value::Null));
    assert!(clock["tools"].as_array().unwrap().iter().any(|tool| tool["id"] == "echo"), "{clock}");
    assert_eq!(clock["config"]["headers"]["X-Api-Key"], "***");
    assert_eq!(clock["config"]["headers"]["X-Ref"], "${HOME}", "what a variable holds is not shown");
    assert_eq!((&clock["version"], &clock["created_at"]), (&Value::Null, &Value::Null));
    let dead = app.get("services/mcp/dead").await.is(200).body;
    assert!(!dead["health"]["error"].as_str().unwrap().is_empty(), "{dead}");
    let off = app.get("services/mcp/off").await.is(200).body;
    assert_eq!((&off["health"]["state"], &off["status"]), (&json!("disabled"), &json!("disabled")));
}

/// When a service became what it is now.
async fn since(app: &TestApp, id: &str) -> String {
    let service = app.get(&format!("services/mcp/{id}")).await.is(200).body;
    service["health"]["since"].as_str().unwrap_or_else(|| panic!("{service}")).to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_says_since_when_and_only_a_change_moves_it() {
    let server = Server::start(Behaviour::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let begun = chrono::Utc::now();
    let (app, _) = served(&folder, &server.url()).await;
    testkit::eventually("the failure", PATIENCE, async || {
        app.get("services/mcp/dead").await.body["health"]["state"] == "failing"
    })
    .await;
    let before = (since(&app, "clock").await, since(&app, "dead").await, since(&app, "off").await);
    for time in [&before.0, &before.1, &before.2] {
        let time = chrono::DateTime::parse_from_rfc3339(time).unwrap();
        assert!(time.timestamp_millis() >= begun.timestamp_millis() && time <= chrono::Utc::now());
    }
    app.post("services/mcp/clock/test", json!({})).await.is(200);
    app.post("services/mcp/dead/test", json!({})).await.is(200);
    let after = (since(&app, "clock").await, since(&app, "dead").await, since(&app, "off").await);
    assert_eq!(after, before, "nothing became different");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_of_an_mcp_json_s_services_are_listed_and_not_changed() {
    let server = Server::start(Behaviour::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let (app, path) = served(&folder, &server.url()).await;
    let tools = app.get("services/mcp/clock/tools").await.is(200).items();
    let echo = tools.iter().find(|tool| tool["id"] == "echo").unwrap();
    assert_eq!((&echo["name"], &echo["uri"]), (&json!("clock__echo"), &json!("mcp://clock/echo")));
    assert_eq!((&echo["inputSchema"]["type"], &echo["definition"]), (&json!("object"), &Value::Null));
    assert_eq!(app.get("services/mcp/clock/tools/echo").await.is(200).body, *echo);
    app.get("services/mcp/clock/tools/missing").await.is(404);
    assert!(app.get("services/mcp/off/tools").await.is(200).items().is_empty());
    app.get("services/mcp/missing/tools").await.is(404);
    for reply in [
        app.post("services/mcp/clock/tools", json!({ "id": "x" })).await,
        app.patch("services/mcp/clock/tools/echo", json!({ "description": "x" })).await,
        app.delete("services/mcp/clock/tools/echo").await,
    ] {
        let reply = reply.is_problem(409, "CONFLICT");
        assert!(reply.text.contains(path.to_str().unwrap()), "{}", reply.text);
    }
    app.with_tenant("acme").await.get("services/mcp/clock/tools").await.is(404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_of_the_command_line_is_listed_too() {
    let words = [example("mcp_test_server").to_str().unwrap(), "--api-key", "hunter2"].map(str::to_owned);
    let one = OneServer::new(words.to_vec());
    let app = TestApp::start_with(Backend::Sqlite, |settings| settings.one_server = one).await;
    testkit::eventually("the tools", PATIENCE, async || {
        app.get("services/mcp/server").await.is(200).body["health"]["state"] == "ok"
    })
    .await;
    let listed = app.get("services").await.is(200);
    assert!(!listed.text.contains("hunter2"), "{}", listed.text);
    let items = listed.items();
    assert_eq!(ids(&items), ["server"]);
    assert_eq!(items[0]["source"], "command_line");
    assert_eq!(items[0]["config"]["args"], json!(["--api-key", "***"]));
    let tools = app.get("services/mcp/server/tools").await.is(200).items();
    assert!(ids(&tools).contains(&"echo"), "{tools:?}");
    let refused = app.delete("services/mcp/server").await.is_problem(409, "CONFLICT");
    assert!(refused.text.contains("serve -- "), "{}", refused.text);
    app.with_tenant("acme").await.get("services/mcp/server").await.is(404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_of_services_is_cut_and_filtered_across_both_sources() {
    let server = Server::start(Behaviour::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let (app, _) = served(&folder, &server.url()).await;
    for (query, expected) in [
        ("limit=1", &["made"][..]),
        ("limit=1&page=2", &["clock"]),
        ("limit=3&page=2", &["off"]),
        ("limit=3&page=3", &[]),
        ("type=mcp", &["clock", "dead", "off"]),
        ("type=api", &["made"]),
        ("enabled=false", &["off"]),
        ("q=CLO", &["clock"]),
    ] {
        let listed = app.get(&format!("services?{query}")).await.is(200);
        assert_eq!(ids(&listed.items()), expected, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_of_an_mcp_json_are_tested_and_not_changed() {
    let server = Server::start(Behaviour::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let (app, path) = served(&folder, &server.url()).await;
    let tested = app.post("services/mcp/clock/test", json!({})).await.is(200);
    assert_eq!(tested.body["ok"], true, "{}", tested.text);
    let tested = app.post("services/mcp/dead/test", json!({})).await.is(200);
    assert_eq!(tested.body["ok"], false, "{}", tested.text);
    app.get("services/mcp/clock/references").await.is(200);
    let refused = [
        app.patch("services/mcp/clock", json!({ "name": "x" })).await,
        app.delete("services/mcp/clock").await,
        app.post("services/mcp/clock/enable", json!({})).await,
        app.post("services/mcp/clock/disable", json!({})).await,
    ];
    for reply in refused {
        let reply = reply.is_problem(409, "CONFLICT");
        assert!(reply.text.contains(path.to_str().unwrap()), "{}", reply.text);
    }
    for id in ["missing", "mcp_config"] {
        app.get(&format!("services/mcp/{id}")).await.is(404);
        app.patch(&format!("services/mcp/{id}"), json!({ "name": "x" })).await.is(404);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_of_an_mcp_json_belong_to_one_tenant() {
    let server = Server::start(Behaviour::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let (app, path) = served(&folder, &server.url()).await;
    let stranger = app.with_tenant("acme").await;
    assert!(stranger.get("services").await.is(200).items().is_empty());
    for reply in [
        stranger.get("services/mcp/clock").await,
        stranger.patch("services/mcp/clock", json!({ "name": "x" })).await,
        stranger.delete("services/mcp/clock").await,
        stranger.post("services/mcp/clock/test", json!({})).await,
    ] {
        let reply = reply.is(404);
        assert!(!reply.text.contains(path.to_str().unwrap()), "{}", reply.text);
    }
}

/// Which service a name leads to now.
async fn address_of(app: &TestApp, name: &str) -> String {
    let tools = app.get("mcp/tools?limit=1000").await.is(200).body["tools"].clone();
    let tools = tools.as_array().unwrap();
    let found = tools.iter().find(|tool| tool["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is not in {tools:?}"))["description"].to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stored_service_takes_neither_the_id_nor_the_names_of_one_in_an_mcp_json() {
    let server = Server::start(Behaviour::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let (app, path) = served(&folder, &server.url()).await;
    let same = json!({ "type": "mcp", "id": "clock", "config": { "url": "http://127.0.0.1:9/mcp" } });
    let refused = app.post("services", same).await.is_problem(409, "CONFLICT");
    assert!(refused.string("detail").contains(path.to_str().unwrap()), "{}", refused.text);
    let before = address_of(&app, "clock__echo").await;
    let tools = json!([{ "id": "echo", "description": "of the newcomer", "endpoint": "/x" }]);
    let config = json!({ "base_url": "http://127.0.0.1:9" });
    app.service(json!({ "type": "api", "id": "clock", "config": config, "tools": tools })).await;
    assert_eq!(address_of(&app, "clock__echo").await, before);
    let newcomer = app.tool_names().await.into_iter().find(|name| name.starts_with("clock__echo_")).unwrap();
    assert!(address_of(&app, &newcomer).await.contains("of the newcomer"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stored_service_that_an_mcp_json_hides_says_so() {
    let server = Server::start(Behaviour::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let (app, path) = served(&folder, &server.url()).await;
    let late = json!({ "type": "mcp", "id": "late", "config": { "url": "http://127.0.0.1:9/mcp" } });
    app.service(late).await;
    let config = json!({ "mcpServers": { "late": { "type": "http", "url": server.url() } } });
    std::fs::write(&path, config.to_string()).unwrap();
    testkit::eventually("the tools of the file", PATIENCE, async || {
        app.tool_names().await.iter().any(|name| name == "late__echo")
    })
    .await;
    let stored = app.get("services/mcp/late").await.is(200).body;
    assert_eq!((&stored["source"], &stored["health"]["state"]), (&json!("store"), &json!("failing")));
    assert!(stored["health"]["error"].as_str().unwrap().contains("it is hidden"), "{stored}");
    let tested = app.post("services/mcp/late/test", json!({})).await.is(200).body;
    assert_eq!(tested["ok"], false, "{tested}");
    assert!(tested["error"]["message"].as_str().unwrap().contains("it is hidden"), "{tested}");
}
