//! What the connector must do, against real servers on this machine.

mod balancing;
mod calls;
mod discovery;
mod kubernetes;
mod nacos;
mod refused_registry;
mod resilience;
mod settings;
mod sign_in;
mod slow_registry;
#[cfg(feature = "grpc")]
mod tools;

use super::Settings;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use testkit::conformance::{self, Capability, Echo, Sample, Subject, Tested, bind_and_call, context};
use testkit::eventually;
use testkit::http::{Server, dead_address};
use tool::{Call, Connector, Env, Error, Kind, Outcome, Output};

const SOON: Duration = Duration::from_secs(10);

fn open(settings: Value) -> tool::Result<Arc<dyn Connector>> {
    Kind::of::<Settings>().open(settings, &Env::default())
}

/// Settings of an HTTP service with the tool `it`, without retries.
#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn settings_of(discovery: Value) -> Value {
    json!({
        "discovery": discovery, "allow_private_network": ["127.0.0.1"],
        "retry": { "max_attempts": 1 }, "tools": [{ "id": "it", "endpoint": "/x" }]
    })
}

/// The same, over what is given.
fn with(mut settings: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().cloned().unwrap_or_default() {
        settings[name] = value;
    }
    settings
}

fn static_of(servers: &[&Server]) -> Value {
    let endpoints: Vec<_> = servers.iter().map(|server| server.address().to_string()).collect();
    json!({ "type": "static", "endpoints": endpoints })
}

async fn call(connector: &dyn Connector) -> tool::Result<Output> {
    call_with(connector, "it", json!({})).await
}

async fn call_with(connector: &dyn Connector, tool: &str, arguments: Value) -> tool::Result<Output> {
    call_uri(connector, &format!("svc://service/{tool}"), arguments).await
}

/// Calls with what stands behind the question mark, e.g. `?timeout=500`.
async fn call_uri(connector: &dyn Connector, uri: &str, arguments: Value) -> tool::Result<Output> {
    let uri: tool::Uri = uri.parse().unwrap();
    let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap();
    let call = Call {
        tool: uri.tool().unwrap().to_owned(),
        arguments: arguments.into(),
        options: uri.options().clone(),
        extras: Default::default(),
        max_answer_bytes: usize::MAX,
    };
    match bind_and_call(connector, &context(Duration::from_secs(20)), call).await? {
        Outcome::Done(output) => Ok(output),
        other => panic!("the call must be done, not {other:?}"),
    }
}

async fn error_of(connector: &dyn Connector) -> Error {
    call(connector).await.unwrap_err()
}

/// Calls until `server` is asked.
async fn eventually_asks(connector: &dyn Connector, server: &Server) {
    let before = server.requests().len();
    eventually("the instance is asked", SOON, async || {
        let _ = call(connector).await;
        server.requests().len() > before
    })
    .await;
}

/// Calls so often that whoever serves was asked.
async fn asked(connector: &dyn Connector, servers: &[&Server]) -> Vec<bool> {
    let before: Vec<_> = servers.iter().map(|server| server.requests().len()).collect();
    for _ in 0..4 * servers.len() {
        call(connector).await.unwrap();
    }
    servers.iter().zip(before).map(|(server, before)| server.requests().len() > before).collect()
}

fn data(output: &Output) -> Value {
    serde_json::from_str(&output.data().unwrap()).unwrap()
}

#[tokio::test]
async fn conforms_like_every_connector() {
    let server = Server::start().await;
    let settings = |address: String| {
        json!({
            "discovery": { "type": "static", "endpoints": [address] },
            "auth": { "type": "apikey", "header": "key", "value": "s3cr3t-value", "in": "query" },
            "allow_private_network": true,
            "retry": { "max_attempts": 2, "initial_delay_ms": 10 },
            "tools": [
                { "id": "slow", "description": "Waits.", "endpoint": "/slow/8000" },
                { "id": "echo", "description": "Echoes.", "endpoint": "/echo", "method": "POST",
                  "parameters": [{ "name": "text" }, { "name": "count", "parameter_type": "Integer" }] },
            ]
        })
    };
    let subject = Subject {
        tested: Tested::with::<Settings>(),
        readme: include_str!("README.md"),
        settings: settings(server.address().to_string()),
        dead_settings: Capability::Has(settings(dead_address().await.to_string())),
        env: Env::default(),
        secrets: vec!["s3cr3t-value".into()],
        good: Sample::new("echo", json!({ "text": "hello" })),
        bad: Sample::new("echo", json!({ "count": "seven" })),
        bad_argument: "count",
        slow: Capability::Has(Sample::new("slow", json!({}))),
        echo: Capability::Has(Echo { tool: "echo", argument: "text" }),
        undescribed: Capability::Absent("what a request is answered with is known to the service alone"),
    };
    conformance::check(&subject).await;
}
