//! The ends of the aggregator's pipe: what they may be, and what is heard there.

use crate::setup::PATIENCE;
use crate::stdio::{Aggregator, good, service};
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use testkit::mcp::http::{Behaviour, Server};

/// Programs made with Node give sockets for pipes.
#[test]
fn serves_a_client_at_the_other_end_of_a_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    std::fs::write(&path, json!({ "mcpServers": { "s": good() } }).to_string()).unwrap();
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut command = testkit::process::command(env!("CARGO_BIN_EXE_mcp-all-in-one"));
    command.args(["--silent", "stdio", "--mcp-config"]).arg(&path);
    let output = std::os::fd::OwnedFd::from(theirs.try_clone().unwrap());
    let mut child = command.stdin(std::os::fd::OwnedFd::from(theirs)).stdout(output).spawn().unwrap();
    drop(command);
    let text = "x".repeat(1_000_000);
    let arguments = json!({ "name": "s__echo", "arguments": { "text": text } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments });
    writeln!(ours, "{call}").unwrap();
    let mut answer = String::new();
    let mut lines = BufReader::new(ours.try_clone().unwrap());
    while !answer.contains("\"id\":1") {
        answer.clear();
        assert!(lines.read_line(&mut answer).unwrap() > 0, "the process ended");
    }
    assert!(answer.contains(&text));
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(child.wait().unwrap().success());
}

/// What comes before the end of the input is answered, also where it is a file.
#[test]
fn answers_what_stands_in_a_file() {
    let mut asked = tempfile::tempfile().unwrap();
    for id in 0..20 {
        writeln!(asked, r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).unwrap();
    }
    std::io::Seek::rewind(&mut asked).unwrap();
    let mut client = Aggregator::start_with(json!({}), |command| {
        command.stdin(asked);
    });
    let mut answered: Vec<_> = (0..20).map(|_| client.next()["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, (0..20).collect::<Vec<_>>());
    assert!(client.wait().success());
}

/// A client hears what a service logs, down to the level that it asked for.
#[tokio::test]
async fn logs_are_heard_down_to_the_level_that_was_set() {
    let server = Server::start(Behaviour { is_streaming: true, ..Behaviour::default() }).await;
    let services = json!({ "s": { "type": "http", "url": server.url() } });
    tokio::task::spawn_blocking(move || {
        let mut client = Aggregator::start(services);
        client.hello();
        client.names();
        for (level, is_heard) in [(None, true), (Some("error"), false), (Some("info"), true)] {
            if let Some(level) = level {
                let set = client.ask("logging/setLevel", json!({ "level": level }));
                assert_eq!(set["result"], json!({}));
            }
            let params = json!({ "name": "s__echo", "arguments": { "text": "x" } });
            let call = json!({ "jsonrpc": "2.0", "id": "a call", "method": "tools/call", "params": params });
            client.send(&call.to_string());
            let first = client.next();
            assert_eq!(first["method"] == "notifications/message", is_heard, "{level:?}: {first}");
            let last = if is_heard { client.next() } else { first };
            assert_eq!(last["id"], "a call");
        }
    })
    .await
    .unwrap();
}

/// As in `echo … | mcp-all-in-one stdio`, however long it takes.
#[test]
fn answers_what_was_asked_before_the_end_of_the_input_however_long_it_takes() {
    let mut client = Aggregator::start(json!({ "s": { "command": service() } }));
    client.hello();
    let call = json!({ "name": "s__slow", "arguments": { "ms": 4000, "text": "at last" } });
    let listen = json!({ "jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": { "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} },
        "notifications": { "toolsListChanged": true } } });
    client.send(&listen.to_string());
    assert_eq!(client.next()["method"], "notifications/subscriptions/acknowledged");
    client.send(&json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": call }).to_string());
    client.close_input();
    let answer = client.next();
    assert_eq!(
        (&answer["id"], &answer["result"]["content"][0]["text"]),
        (&json!(5), &json!("at last")),
        "{answer}"
    );
    assert!(client.wait().success(), "what never ends by itself keeps nobody");
}

/// Nobody is left to answer a question that a client of 2026-07-28 has got as the outcome of its request.
#[test]
fn ends_with_its_input_though_a_question_waits_for_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let wide = json!(["--wide", folder.path().join("journal"), " "]);
    let mut client = Aggregator::start(json!({ "s": { "command": service(), "args": wide } }));
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} } });
    let params = json!({ "name": "s__ask", "arguments": {}, "_meta": meta });
    client.send(&json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params }).to_string());
    let asked = client.next();
    assert!(asked["result"]["requestState"].is_string(), "{asked}");
    client.close_input();
    assert!(client.wait().success());
}
