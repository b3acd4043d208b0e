//! What the connector must do, against real servers on this machine.

mod calls;

use super::Settings;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use testkit::conformance::{bind_and_call, context};
use tool::{Call, Connector, Env, Error, Kind, Outcome, Output};

fn open(settings: Value) -> tool::Result<Arc<dyn Connector>> {
    Kind::of::<Settings>().open(settings, &Env::default())
}

/// Settings of an HTTP service with the tool `it`, without retries.
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
    };
    match bind_and_call(connector, &context(Duration::from_secs(20)), call).await? {
        Outcome::Done(output) => Ok(output),
        other => panic!("the call must be done, not {other:?}"),
    }
}

async fn error_of(connector: &dyn Connector) -> Error {
    call(connector).await.unwrap_err()
}

fn data(output: &Output) -> Value {
    serde_json::from_str(&output.data().unwrap()).unwrap()
}
