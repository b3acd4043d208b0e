//! What many tests begin with: a service whose tools lead to the echo server.

use reqwest::Method;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use testkit::client::send_json;
use testkit::http::Server;
use testkit::{Client, Reply};

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

/// A caller who asks for everything twice: over REST and at the MCP door.
pub(crate) struct BothDoors {
    client: Client,
    session: String,
}

impl BothDoors {
    /// Says hello at the MCP door.
    pub(crate) async fn open(client: &Client) -> Self {
        let mut doors = Self { client: client.clone(), session: String::new() };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let reply = doors.send("initialize", &hello, &[]).await;
        doors.session = reply.header("mcp-session-id").unwrap().to_owned();
        doors
    }

    /// Asks at the MCP door.
    pub(crate) async fn mcp(&self, method: &str, params: Value) -> Value {
        self.send(method, &params, &[]).await.body
    }

    /// The result of a call, which is the same at both doors.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Value {
        self.call_with(name, arguments, &[]).await
    }

    /// The same with more headers.
    pub(crate) async fn call_with(&self, name: &str, arguments: Value, headers: &[(&str, &str)]) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        let mut request = self.client.request(Method::POST, "mcp/tools/call");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let rest = send_json(request, &params).await.is(200);
        let mcp = self.send("tools/call", &params, headers).await;
        let result = &mcp.body["result"];
        for field in ["content", "structuredContent", "isError"] {
            assert_eq!(rest.body[field], result[field], "{field}: {} {}", rest.text, mcp.text);
        }
        rest.body
    }

    /// What both doors say to a call that is turned away for its arguments.
    pub(crate) async fn refuse(&self, name: &str, arguments: Value) -> String {
        let params = json!({ "name": name, "arguments": arguments });
        let rest =
            self.client.post("mcp/tools/call", params.clone()).await.is_problem(422, "VALIDATION_FAILED");
        let mcp = self.mcp("tools/call", params).await;
        let (said, detail) = (mcp["error"]["message"].as_str(), rest.string("detail"));
        assert_eq!(mcp["error"]["code"], -32602, "{mcp}");
        assert_eq!(said, Some(format!("Invalid params: {detail}").as_str()), "{mcp}");
        detail
    }

    /// The names of the tools, which are the same at both doors.
    pub(crate) async fn names(&self) -> Vec<String> {
        let listed = self.mcp("tools/list", json!({})).await["result"]["tools"].clone();
        let rest = self.client.get("mcp/tools?limit=1000").await.is(200).body["tools"].clone();
        assert_eq!(listed, rest, "both doors list the same");
        listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Listens for notifications.
    pub(crate) async fn listen(&self) -> reqwest::Response {
        let request = self.client.request(Method::GET, "/mcp").header("accept", "text/event-stream");
        let response = request.header("mcp-session-id", &self.session).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response
    }

    async fn send(&self, method: &str, params: &Value, headers: &[(&str, &str)]) -> Reply {
        let mut request = self.client.request(Method::POST, "/mcp");
        request = request.header("accept", "application/json, text/event-stream");
        if !self.session.is_empty() {
            request = request.header("mcp-session-id", &self.session);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        send_json(request, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
            .await
            .is(200)
    }
}
