//! What the connector does with real servers and with broken ones.

mod connection;
mod faults;
mod oauth;
mod processes;
mod real_servers;
mod remote;
mod settings;

use super::Settings;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::conformance::{self, Capability, Echo, Sample, Subject, Tested, context};
use tool::{Call, Connector, Env, Error, ErrorKind, Kind, Outcome, Output, Reason};

fn open(settings: Value) -> tool::Result<Arc<dyn Connector>> {
    Kind::of::<Settings>().open(settings, &Env::default())
}

/// Our own server on stdio, which `cargo test` builds with this crate's examples.
fn server_path() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples/mcp_test_server");
    assert!(path.exists(), "{} is missing; run all targets: cargo nextest run -p connectors", path.display());
    path
}

fn stdio_settings(args: &[&str]) -> Value {
    json!({ "command": server_path(), "args": args })
}

/// Our own server with arguments that make it misbehave.
fn stdio(args: &[&str]) -> Arc<dyn Connector> {
    open(stdio_settings(args)).unwrap()
}

/// The same with more settings.
#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn stdio_with(args: &[&str], more: Value) -> Arc<dyn Connector> {
    let mut settings = stdio_settings(args);
    for (name, value) in more.as_object().unwrap() {
        settings[name] = value.clone();
    }
    open(settings).unwrap()
}

async fn call(connector: &dyn Connector, tool: &str, arguments: Value) -> tool::Result<Output> {
    call_within(connector, tool, arguments, Duration::from_secs(20)).await
}

async fn call_within(
    connector: &dyn Connector,
    tool: &str,
    arguments: Value,
    time: Duration,
) -> tool::Result<Output> {
    let arguments: Map<String, Value> = serde_json::from_value(arguments).unwrap();
    match connector.call(&context(time), conformance::call(tool, arguments)).await? {
        Outcome::Done(output) => Ok(output),
        other => panic!("the call must be done, not {other:?}"),
    }
}

/// The text that a tool answers.
async fn text(connector: &dyn Connector, tool: &str, arguments: Value) -> String {
    let result: Value =
        serde_json::from_str(&call(connector, tool, arguments).await.unwrap().to_result()).unwrap();
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

async fn error_of(connector: &dyn Connector, tool: &str, arguments: Value) -> Error {
    call(connector, tool, arguments).await.unwrap_err()
}

async fn is_true_soon(mut check: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(8);
    while Instant::now() < end {
        if check() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

/// There is such a process, and it is no zombie.
fn is_running(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| !rest.starts_with('Z')))
}

fn kill(pid: &str) {
    assert!(std::process::Command::new("kill").args(["-9", pid]).status().unwrap().success());
}

#[tokio::test]
async fn conforms_like_every_connector_on_stdio() {
    let settings = |command: Value| json!({ "command": command, "env": { "KEY": "s3cr3t-value" } });
    conformance::check(&subject(
        settings(server_path().to_string_lossy().into()),
        settings("/no/such/command".into()),
    ))
    .await;
}

/// MC-5
#[tokio::test]
async fn conforms_like_every_connector_over_http() {
    let behaviour =
        testkit::mcp::http::Behaviour { key: Some("Bearer s3cr3t-value".into()), ..Default::default() };
    let server = testkit::mcp::http::Server::start(behaviour).await;
    let dead = testkit::http::dead_address().await;
    let settings = |url: String| json!({ "type": "http", "url": url, "api_key": "s3cr3t-value", "allow_private_network": true });
    conformance::check(&subject(settings(server.url()), settings(format!("http://{dead}/mcp")))).await;
}

/// MC-1
#[tokio::test]
async fn conforms_like_every_connector_on_a_websocket() {
    let server = testkit::mcp::ws::Server::start(Some("s3cr3t-value")).await;
    let dead = testkit::http::dead_address().await;
    let settings = |url: String| {
        let auth = json!({ "value": "s3cr3t-value" });
        json!({ "url": url, "auth_type": "apikey", "auth_config": auth, "allow_private_network": true })
    };
    conformance::check(&subject(settings(server.url()), settings(format!("ws://{dead}/mcp")))).await;
}

fn subject(settings: Value, dead_settings: Value) -> Subject {
    Subject {
        tested: Tested::with::<Settings>(),
        readme: include_str!("README.md"),
        settings,
        dead_settings: Capability::Has(dead_settings),
        env: Env::default(),
        secrets: vec!["s3cr3t-value".into()],
        good: Sample::new("echo", json!({ "text": "hello" })),
        bad: Sample::new("echo", json!({ "count": "seven" })),
        bad_argument: "count",
        slow: Capability::Has(Sample::new("slow", json!({ "ms": 8_000 }))),
        echo: Capability::Has(Echo { tool: "echo", argument: "text" }),
        undescribed: Capability::Absent("what tools say is their server's affair"),
    }
}
