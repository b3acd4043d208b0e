//! Two services with resources of the same URI: each can be listed, read, completed and watched.

use crate::pipe::Pipe;
use crate::setup::{PATIENCE, example};
use serde_json::{Value, json};
use std::time::Instant;
use testkit::mcp::ws;
use testkit::{Backend, TestApp, eventually};

const OTHERS: &str = "mcp://b/resources/memo://same";

fn client() -> Pipe {
    let service = |text: &str| json!({ "command": example("mcp_test_server"), "args": ["--resource", text] });
    let mut client = Pipe::start(&json!({ "b": service("bee"), "a": service("ant") }));
    client.hello("2025-11-25");
    client
}

fn read(client: &mut Pipe, uri: &str) -> Value {
    let read = client.ask("resources/read", json!({ "uri": uri }));
    read["result"]["contents"][0]["text"].clone()
}

#[test]
fn both_are_listed_and_read_under_names_that_stay() {
    let mut client = client();
    let listed = client.ask("resources/list", json!({}))["result"]["resources"].clone();
    let expected = json!([
        { "uri": OTHERS, "name": "same", "x-kept": 1.0 },
        { "uri": "memo://same", "name": "same", "x-kept": 1.0 }
    ]);
    assert_eq!(listed, expected);
    let listed = client.ask("resources/templates/list", json!({}))["result"]["resourceTemplates"].clone();
    let patterns = json!([listed[0]["uriTemplate"], listed[1]["uriTemplate"]]);
    assert_eq!(patterns, json!(["mcp://b/resources/memo://of/{id}", "memo://of/{id}"]), "{listed}");
    assert_eq!(read(&mut client, "memo://same"), "ant of memo://same");
    assert_eq!(read(&mut client, OTHERS), "bee of memo://same");
    // The longer name always leads there, whoever else has one.
    assert_eq!(read(&mut client, "mcp://a/resources/memo://same"), "ant of memo://same");
    assert_eq!(read(&mut client, "memo://of/1"), "ant of memo://of/1");
    assert_eq!(read(&mut client, "mcp://b/resources/memo://of/1"), "bee of memo://of/1");
    let missing = client.ask("resources/read", json!({ "uri": "mcp://nobody/resources/memo://of/1" }));
    assert!(missing["result"]["contents"][0]["text"] != "bee of memo://of/1", "{missing}");
}

#[test]
fn arguments_of_both_templates_are_completed() {
    let mut client = client();
    client.ask("resources/templates/list", json!({}));
    for (uri, word) in [("memo://of/{id}", "ant"), ("mcp://b/resources/memo://of/{id}", "bee")] {
        let of = json!({ "ref": { "type": "ref/resource", "uri": uri }, "argument": { "name": "id", "value": "" } });
        let completed = client.ask("completion/complete", of)["result"]["completion"]["values"].clone();
        assert_eq!(completed, json!([word, "memo://of/{id}"]));
    }
}

#[test]
fn a_client_hears_of_the_one_it_watches() {
    let mut client = client();
    client.ask("resources/list", json!({}));
    for uri in [OTHERS, "memo://same"] {
        let watched = client.ask("resources/subscribe", json!({ "uri": uri }));
        assert_eq!(watched["result"], json!({}), "{watched}");
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "nobody tells of {uri}");
            let told: Value = serde_json::from_str(&client.next()).unwrap();
            if told["method"] == "notifications/resources/updated" {
                assert_eq!(told["params"]["uri"], uri, "{told}");
                break;
            }
        }
        client.ask("resources/unsubscribe", json!({ "uri": uri }));
        // What was on its way when it stopped is passed over.
        while client.next_within(std::time::Duration::from_millis(300)).is_some() {}
    }
}

/// What was there first keeps its URI: a newer service does not get it by its name.
#[tokio::test]
async fn the_older_service_keeps_its_uri() {
    let app = TestApp::start(Backend::Sqlite).await;
    for id in ["zzz", "aaa"] {
        let config = json!({ "command": example("mcp_test_server"), "args": ["--resource", id] });
        app.service(json!({ "type": "mcp", "id": id, "config": config })).await;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let hello = json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let mut socket = ws::Client::connect(&format!("ws://{}/ws", app.address()), app.key().unwrap()).await;
    let mut ask = async |method: &str, params: Value| {
        let id: String = tool::new_id();
        socket
            .send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string())
            .await;
        loop {
            let answer: Value = serde_json::from_str(&socket.next().await).unwrap();
            if answer["id"] == id {
                return answer["result"].clone();
            }
        }
    };
    ask("initialize", hello).await;
    eventually("both are listed", PATIENCE, async || {
        let listed = ask("resources/list", json!({})).await;
        listed["resources"].as_array().is_some_and(|resources| resources.len() == 2)
    })
    .await;
    let read = ask("resources/read", json!({ "uri": "memo://same" })).await;
    assert_eq!(read["contents"][0]["text"], "zzz of memo://same", "{read}");
}
