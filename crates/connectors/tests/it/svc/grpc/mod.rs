//! gRPC servers that others wrote: on gRPC's own libraries for Python (reflection v1alpha) and Node (reflection v1).

mod calls;
mod import;
mod reflection;

use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use testkit::conformance::{bind_and_call, call, context};
use tool::{Connector, Context, Env, Error, Kind, Outcome};

/// Runs each named function once per server: `async fn name(address: String)`.
#[macro_export]
macro_rules! on_every_grpc_server {
    ($($name:ident)*) => {
        mod on_python {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                Box::pin(super::$name($crate::svc::grpc::needed("MCP_TEST_GRPC_PYTHON_URL"))).await;
            })*
        }
        mod on_node {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                Box::pin(super::$name($crate::svc::grpc::needed("MCP_TEST_GRPC_NODE_URL"))).await;
            })*
        }
    };
}

pub(crate) fn needed(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set; run the tests with scripts/servers run -- CMD"))
}

fn kind() -> &'static Kind {
    connectors::find("svc").unwrap()
}

/// Settings of a service at one address that describes itself.
fn settings(address: &str) -> Value {
    json!({
        "protocol": "grpc", "discovery": { "type": "static", "endpoints": [address] }, "allow_private_network": true,
    })
}

/// A service at one address, with more settings.
fn open(address: &str, more: &Value) -> Arc<dyn Connector> {
    let mut settings = settings(address);
    for (key, value) in more.as_object().unwrap() {
        settings[key] = value.clone();
    }
    kind().open(settings, &Env::default()).unwrap()
}

async fn run_in(
    cx: &Context,
    service: &Arc<dyn Connector>,
    tool: &str,
    arguments: &Value,
) -> Result<Value, Error> {
    let arguments: Map<_, _> = arguments.as_object().unwrap().clone();
    match bind_and_call(&**service, cx, call(tool, arguments)).await? {
        Outcome::Done(output) => Ok(serde_json::from_str(&output.data().unwrap()).unwrap()),
        other => panic!("{other:?}"),
    }
}

async fn run(service: &Arc<dyn Connector>, tool: &str, arguments: &Value) -> Result<Value, Error> {
    run_in(&context(Duration::from_secs(20)), service, tool, arguments).await
}
