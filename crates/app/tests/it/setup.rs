//! What many tests begin with: a service whose tools lead to the echo server.

use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use testkit::Client;
use testkit::http::Server;

/// Long enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A program that `cargo test` builds from an example of another crate.
pub(crate) fn example(name: &str) -> PathBuf {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_mcp-all-in-one"));
    let path = binary.parent().unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is missing; build all targets: make test", path.display());
    path
}

/// The folder with servers, clients and the suite that others wrote.
/// Tests that need it fail without it: skipping would hide them.
pub(crate) fn servers() -> PathBuf {
    let folder = std::env::var_os("MCP_TEST_SERVERS");
    folder.expect("MCP_TEST_SERVERS is not set; run the tests with scripts/mcp-servers run CMD").into()
}

/// The search path with the node that the suite and the inspector need.
pub(crate) fn path_with_node() -> OsString {
    let mut path = servers().join("node_modules/.bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    path
}

/// The service `crm` with one tool of each temper.
pub(crate) fn crm(upstream: &Server) -> Value {
    api("crm", &upstream.url())
}

/// An API service at `base_url`, tried once.
pub(crate) fn api(id: &str, base_url: &str) -> Value {
    json!({
        "type": "api", "id": id, "name": "CRM",
        "config": { "base_url": base_url, "retry": { "max_attempts": 1 } },
        "tools": [
            {
                "id": "get_order", "description": "Finds orders of a user", "method": "GET",
                "endpoint": "/users/{userId}/orders",
                "parameters": [
                    { "name": "userId", "parameter_type": "String", "description": "Whose orders", "required": true, "position": "path" },
                    { "name": "limit", "parameter_type": "Integer", "description": "How many", "default_value": 20, "position": "query" },
                    { "name": "state", "parameter_type": "String", "enum_values": ["open", "closed"], "position": "query" },
                    { "name": "access_token", "parameter_type": "String", "position": "query" }
                ]
            },
            { "id": "ping", "description": "Says hello", "endpoint": "/ping" },
            { "id": "fail", "description": "Fails", "endpoint": "/status/404" },
            { "id": "slow", "description": "Takes a while", "endpoint": "/slow/{ms}",
              "parameters": [{ "name": "ms", "parameter_type": "Integer", "required": true, "position": "path" }] }
        ]
    })
}

/// Waits until the audit of the caller's tenant holds `total` records for this query.
pub(crate) async fn audited(client: &Client, query: &str, total: i64) -> Vec<Value> {
    let path = format!("audit?limit=1000&{query}");
    let mut items = Vec::new();
    testkit::eventually(&format!("{total} records in the audit for '{query}'"), PATIENCE, async || {
        let reply = client.get(&path).await.is(200);
        items = reply.items();
        reply.body["total"] == total
    })
    .await;
    items
}

/// Waits until the upstream has got so many requests.
pub(crate) async fn received(upstream: &Server, count: usize) {
    let what = format!("{count} requests upstream");
    testkit::eventually(&what, PATIENCE, async || upstream.requests().len() >= count).await;
}
