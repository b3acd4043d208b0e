//! The aggregator: `mcp-all-in-one stdio` as its client sees it, with real services behind it.

use crate::pipe::end_of;
use crate::setup::{PATIENCE, example};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use testkit::mcp::http::{Behaviour, Server};

/// A client at the other end of the pipe.
pub(crate) struct Aggregator {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    pub(crate) folder: tempfile::TempDir,
}

/// The MCP server that the tests of `connectors` are built with.
pub(crate) fn service() -> PathBuf {
    example("mcp_test_server")
}

impl Aggregator {
    pub(crate) fn start(services: Value) -> Self {
        Self::start_with(services, |_| {})
    }

    #[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
    pub(crate) fn start_with(services: Value, change: impl FnOnce(&mut Command)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        std::fs::write(&path, json!({ "mcpServers": services }).to_string()).unwrap();
        let mut command = testkit::process::command(env!("CARGO_BIN_EXE_mcp-all-in-one"));
        command
            .args(["--silent", "stdio", "--mcp-config"])
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let (tx, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let message =
                    serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON on stdout: {line}"));
                let _ = tx.send(message);
            }
        });
        Self { stdin: child.stdin.take(), child, lines, folder }
    }

    pub(crate) fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).and_then(|()| stdin.write_all(b"\n")).unwrap();
    }

    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    pub(crate) fn next(&self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("an answer")
    }

    /// Asks and waits for the answer; what comes in between is passed over.
    #[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = "an id";
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        loop {
            let answer = self.next();
            if answer["id"] == id {
                return answer;
            }
        }
    }

    pub(crate) fn hello(&mut self) -> Value {
        let hello = self.ask(
            "initialize",
            json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {}, "roots": {}, "sampling": {} },
                "clientInfo": { "name": "test-client", "version": "1.0.0" } }),
        );
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        hello
    }

    pub(crate) fn names(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    #[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
    fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        end_of(&mut self.child)
    }
}

impl Drop for Aggregator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn good() -> Value {
    json!({ "command": service() })
}

/// PX-1, PX-2
#[test]
fn shakes_hands_and_answers_no_notification() {
    let mut client = Aggregator::start(json!({}));
    let hello = client.hello();
    assert_eq!(
        hello["result"],
        json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {
                "tools": { "listChanged": true },
                "prompts": { "listChanged": true },
                "resources": { "listChanged": true, "subscribe": true },
                "completions": {},
                "logging": {},
                "roots": {},
                "sampling": {},
            },
            "serverInfo": { "name": "mcp-all-in-one", "version": "1.0.0" }
        })
    );
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/anything"}"#);
    client.send(r#"{"jsonrpc":"2.0","id":"reply to nothing","result":{}}"#);
    client.send(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    assert_eq!(client.next(), json!({ "jsonrpc": "2.0", "id": 2, "result": {} }));
}

/// PX-3, PX-4
#[test]
fn lists_every_services_tools_and_calls_the_right_one() {
    let mut client = Aggregator::start(
        json!({ "Time": good(), "My.Other": good(), "off": { "command": "x", "disabled": true } }),
    );
    client.hello();
    let names = client.names();
    assert!(
        names.contains(&"Time__echo".to_owned()) && names.contains(&"My.Other__echo".to_owned()),
        "{names:?}"
    );
    assert!(names.iter().all(|name| name.starts_with("Time__") || name.starts_with("My.Other__")));
    let listed = client.ask("tools/list", json!({}));
    let echo = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "Time__echo")
        .unwrap();
    assert_eq!(echo["description"], "[Time] Does 'echo'.");
    assert_eq!(echo["x-kept"], json!({ "z": 1, "a": 2 }), "fields we do not know survive");
    let pids: Vec<_> = ["Time__pid", "My.Other__pid", "Time__pid"]
        .map(|name| client.call(name, json!({}))["result"]["content"][0]["text"].clone())
        .into();
    assert_eq!(pids[0], pids[2], "the connection is reused");
    assert_ne!(pids[0], pids[1], "each service is its own process");
}

/// PX-4
#[test]
fn relays_a_result_byte_for_byte() {
    let mut client = Aggregator::start(json!({ "s": good() }));
    client.hello();
    client.send(
        r#"{"jsonrpc":"2.0","id":1e2,"method":"tools/call","params":{"name":"s__raw","arguments":{}}}"#,
    );
    let answer = client.next().to_string();
    let expected: Value = serde_json::from_str(testkit::mcp::RAW_RESULT).unwrap();
    assert!(answer.contains(&expected.to_string()), "{answer}");
}

/// PX-5
#[tokio::test]
async fn names_the_variable_whose_credentials_are_missing_or_refused() {
    let server = Server::start(Behaviour { key: Some("right".into()), ..Behaviour::default() }).await;
    let entry = |variable: &str| json!({ "type": "http", "url": server.url(), "headers": { "Authorization": format!("${{{variable}}}") } });
    let services = json!({ "unset": entry("MCP_TEST_UNSET"), "wrong": entry("MCP_TEST_WRONG"), "right": entry("MCP_TEST_RIGHT") });
    tokio::task::spawn_blocking(move || {
        let mut client = Aggregator::start_with(services, |command| {
            command
                .env("MCP_TEST_WRONG", "wrong")
                .env("MCP_TEST_RIGHT", "right")
                .env_remove("MCP_TEST_UNSET");
        });
        client.hello();
        for (name, variable) in [("unset", "MCP_TEST_UNSET"), ("wrong", "MCP_TEST_WRONG")] {
            let answer = client.call(&format!("{name}__echo"), json!({ "text": "x" }));
            assert_eq!(answer["error"]["code"], -32603, "{answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(variable), "{answer}");
            assert_eq!(answer["error"]["data"]["service"], name);
        }
        let answer = client.call("right__echo", json!({ "text": "x" }));
        assert!(answer["result"]["content"].is_array(), "{answer}");
    })
    .await
    .unwrap();
}

/// PX-6, PX-7, PX-8
#[test]
fn tells_what_is_wrong_with_a_request() {
    let mut client = Aggregator::start(json!({ "s": good() }));
    client.hello();
    let unknown = client.call("nonexistent_tool", json!({}));
    assert_eq!(unknown["error"], json!({ "code": -32601, "message": "Tool 'nonexistent_tool' not found" }));
    let wrong = client.call("s__echo", json!({ "count": "many" }));
    assert_eq!(wrong["error"]["code"], -32602);
    assert_eq!(wrong["error"]["data"], json!({ "parameter": "count" }));
    let method = client.ask("invalid/method", json!({}));
    assert_eq!(method["error"], json!({ "code": -32601, "message": "Method 'invalid/method' not found" }));
    client.send("this is no JSON");
    assert_eq!(client.next()["error"]["code"], -32700);
    client.send("[]");
    assert_eq!(client.next()["error"]["code"], -32600);
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
}

/// PX-9
#[test]
fn ends_cleanly_when_told_to_and_leaves_no_process() {
    for ending in ["exit", "end of input"] {
        let mut client = Aggregator::start(json!({ "s": good() }));
        client.hello();
        let pid =
            client.call("s__pid", json!({}))["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        assert_eq!(client.ask("shutdown", json!({}))["result"], json!({}));
        if ending == "exit" {
            client.send(r#"{"jsonrpc":"2.0","method":"notifications/exit"}"#);
        } else {
            client.stdin.take();
        }
        assert!(client.wait().success(), "{ending}");
        assert!(!PathBuf::from(format!("/proc/{pid}")).exists(), "the service outlived us after {ending}");
    }
}

/// PX-10
#[test]
fn a_broken_service_disturbs_nobody() {
    let mut client = Aggregator::start(json!({
        "good": good(),
        "missing": { "command": "no-such-command-anywhere" },
        "crashing": { "command": service(), "args": ["--crash"] },
        "noisy": { "command": service(), "args": ["--noise"] },
        "bad": { "url": 7 },
    }));
    client.hello();
    let names = client.names();
    assert!(names.iter().all(|name| name.starts_with("good__") || name.starts_with("noisy__")), "{names:?}");
    let crashed = client.call("crashing__echo", json!({})).to_string();
    assert!(crashed.contains("crashing") && crashed.contains("the key is missing"), "{crashed}");
    let missing = client.call("missing__echo", json!({})).to_string();
    assert!(missing.contains("no-such-command-anywhere"), "{missing}");
    let died = client.call("good__die", json!({}));
    assert!(died["result"]["isError"] == true || died["error"].is_object(), "{died}");
    assert!(died.to_string().contains("'good'"), "which service it was: {died}");
    let answer = client.call("good__echo", json!({ "text": "still here" })).to_string();
    assert!(answer.contains("still here"), "{answer}");
}

#[test]
fn follows_its_file_and_tells_the_client() {
    let mut client = Aggregator::start(json!({ "a": good() }));
    client.hello();
    assert!(client.names().iter().all(|name| name.starts_with("a__")));
    let path = client.folder.path().join("mcp.json");
    std::fs::write(&path, "{ broken").unwrap();
    std::thread::sleep(Duration::from_millis(1200));
    assert!(!client.names().is_empty(), "an invalid file keeps the last good state");
    std::fs::write(&path, json!({ "mcpServers": { "a": { "command": 5 } } }).to_string()).unwrap();
    std::thread::sleep(Duration::from_millis(1200));
    assert!(!client.names().is_empty(), "so does a mistake in one service");
    std::fs::write(&path, json!({ "mcpServers": { "a": good(), "b": good() } }).to_string()).unwrap();
    // On a busy machine "a" may have been late as well, and was told of first.
    for _ in 0..2 {
        let told = client.next();
        assert_eq!(told, json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
        if client.names().contains(&"b__echo".to_owned()) {
            return;
        }
    }
    panic!("the new service is not listed");
}

#[test]
fn five_hundred_calls_at_once_each_get_their_own_answer() {
    let mut client = Aggregator::start(json!({ "s": good() }));
    client.hello();
    client.names();
    for n in 0..500 {
        let params = json!({ "name": "s__echo", "arguments": { "text": format!("number {n}") } });
        client.send(
            &json!({ "jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params }).to_string(),
        );
    }
    let mut answered = std::collections::HashSet::new();
    while answered.len() < 500 {
        let answer = client.next();
        let n = answer["id"].as_u64().unwrap();
        assert!(answer["result"].to_string().contains(&format!("number {n}\"")), "{answer}");
        assert!(answered.insert(n));
    }
}

#[test]
fn a_cancelled_call_ends_without_an_answer() {
    let mut client = Aggregator::start(json!({ "s": good() }));
    client.hello();
    client.names();
    client.send(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"s__never","arguments":{}}}"#,
    );
    std::thread::sleep(Duration::from_millis(300));
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#);
    client.send(r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#);
    assert_eq!(client.next()["id"], 8);
}
