//! What the connector sends, answers and refuses, against a real server.

mod arguments;
mod bodies;
mod doubt;
mod garbage;
mod guard;
mod inline;
mod jwt;
mod outcomes;
mod properties;
mod resilience;
mod sign_in;
mod validation;

use super::Settings;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use testkit::conformance::{self, Capability, Echo, Sample, Subject, Tested, bind_and_call, context};
use testkit::http::{Server, dead_address};
use tool::{Call, Connector, Env, Error, Kind, Outcome, Output};

fn open(settings: Value) -> tool::Result<Arc<dyn Connector>> {
    Kind::of::<Settings>().open(settings, &Env::default())
}

/// A service at `server` with one tool, `it`.
fn with_tool(server: &Server, tool: Value) -> Arc<dyn Connector> {
    with_settings(server, json!({}), tool)
}

/// The same with more settings of the service.
#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn with_settings(server: &Server, more: Value, mut tool: Value) -> Arc<dyn Connector> {
    tool["id"] = "it".into();
    let mut settings = json!({
        "base_url": server.url(),
        "allow_private_network": ["127.0.0.1"],
        "retry": { "initial_delay_ms": 10 },
        "tools": [tool]
    });
    for (name, value) in more.as_object().cloned().unwrap_or_default() {
        settings[name] = value;
    }
    open(settings).unwrap()
}

async fn call(connector: &dyn Connector, arguments: Value) -> tool::Result<Output> {
    call_with(connector, "", arguments).await
}

/// Calls `it` with URI options such as `timeout=500`.
async fn call_with(connector: &dyn Connector, options: &str, arguments: Value) -> tool::Result<Output> {
    let uri: tool::Uri = format!("api://service/it{options}").parse().unwrap();
    let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap();
    let call = Call {
        tool: "it".into(),
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

async fn error_of(connector: &dyn Connector, arguments: Value) -> Error {
    call(connector, arguments).await.unwrap_err()
}

fn data(output: &Output) -> Value {
    serde_json::from_str(&output.data().unwrap()).unwrap()
}

#[tokio::test]
async fn conforms_like_every_connector() {
    let server = Server::start().await;
    let settings = |url: String| {
        json!({
            "base_url": url,
            "auth_type": "apikey",
            "auth_config": { "header": "key", "value": "s3cr3t-value", "in": "query" },
            "allow_private_network": true,
            "retry": { "max_attempts": 2, "initial_delay_ms": 10 },
            "tools": [
                { "id": "slow", "description": "Waits.", "endpoint": "/slow/8000" },
                { "id": "echo", "description": "Echoes.", "endpoint": "/echo", "method": "POST",
                  "parameters": [{ "name": "text" }, { "name": "count", "parameter_type": "Integer" }] },
                { "id": "fails", "description": "Fails.", "endpoint": "/status/500" },
            ]
        })
    };
    let subject = Subject {
        tested: Tested::with::<Settings>(),
        readme: include_str!("README.md"),
        settings: settings(server.url()),
        dead_settings: Capability::Has(settings(format!("http://{}", dead_address().await))),
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
