//! The aggregator beside a service that takes its time, or never starts.

use crate::setup::PATIENCE;
use crate::stdio::{Aggregator, good};
use serde_json::{Value, json};
use std::time::Instant;

/// Reads what it is asked, and never answers.
fn mute() -> Value {
    json!({ "command": "sh", "args": ["-c", "cat >/dev/null"] })
}

fn write(aggregator: &Aggregator, services: &Value) {
    let path = aggregator.folder.path().join("mcp.json");
    std::fs::write(path, json!({ "mcpServers": services }).to_string()).unwrap();
}

/// PX-10
#[test]
fn a_call_does_not_wait_for_services_that_it_does_not_need() {
    let mut client = Aggregator::start(json!({ "good": good(), "mute": mute() }));
    client.hello();
    client.send(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#);
    let call = json!({ "jsonrpc": "2.0", "id": "call", "method": "tools/call",
        "params": { "name": "good__echo", "arguments": { "text": "hello" } } });
    client.send(&call.to_string());
    let first = client.next();
    assert_eq!(first["id"], "call", "{first}");
    assert_eq!(first["result"]["content"][0]["text"], "hello", "{first}");
    let second = client.next();
    assert_eq!(second["id"], "list", "{second}");
    assert!(!second["result"]["tools"].as_array().unwrap().is_empty(), "{second}");
}

/// PX-10
#[test]
fn a_changed_file_is_in_use_at_once_beside_a_service_that_never_starts() {
    let mut client = Aggregator::start(json!({ "a": good(), "b": good() }));
    client.hello();
    assert!(client.names().iter().any(|name| name == "b__echo"));
    write(&client, &json!({ "a": good(), "b": good(), "mute": mute() }));
    write(&client, &json!({ "a": good(), "c": good(), "mute": mute() }));
    let begun = Instant::now();
    loop {
        let names = client.names();
        let has = |name: &str| names.iter().any(|listed| listed == name);
        if has("a__echo") && has("c__echo") && !has("b__echo") {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{names:?}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn ends_when_its_client_goes_while_services_start() {
    let mut client = Aggregator::start(json!({ "good": good(), "mute": mute() }));
    client.hello();
    client.send(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#);
    client.close_input();
    assert!(client.wait().success());
}
