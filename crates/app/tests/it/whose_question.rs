//! A service that does not say whose call its question belongs to: nobody is asked on behalf of another.

use crate::instances::{Instance, bind, instance};
use crate::mcp_older::Events;
use crate::setup::{PATIENCE, example};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send_json;
use testkit::{Backend, Client, TestApp, eventually};

const ACCEPT: &str = "application/json, text/event-stream";

/// A program that can be asked anything, in a session of its own.
struct Program {
    client: Client,
    path: String,
    session: String,
}

impl Program {
    async fn open(client: &Client, path: &str) -> Self {
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": { "sampling": {}, "roots": {} },
            "clientInfo": { "name": "t", "version": "1" } });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let request = client.request(Method::POST, path).header("accept", ACCEPT);
        let session = send_json(request, &hello).await.is(200).header("mcp-session-id").unwrap().to_owned();
        Self { client: client.clone(), path: path.to_owned(), session }
    }

    fn call(&self, id: u64, tool: &str) -> reqwest::RequestBuilder {
        let params = json!({ "name": tool, "arguments": {}, "_meta": { "progressToken": "p" } });
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let request = self.client.request(Method::POST, &self.path).header("accept", ACCEPT);
        request.header("mcp-session-id", &self.session).json(&call)
    }

    /// Begins a call that never ends, and waits until the service works on it.
    async fn wait_forever(&self) -> Events {
        let mut events = Events::of(self.call(2, "s__never")).await;
        assert_eq!(events.message().await["method"], "notifications/progress");
        events
    }
}

/// The door of an instance whose tool leads to the one that asks.
async fn door(client: &Client) -> Instance {
    let tool = json!({ "name": "ask", "type": "uri", "uri": "mcp://s/ask" });
    let tool = client.post("tools", tool).await.is(201).string("id");
    let door = instance(client, "door").await;
    bind(client, &door, &[&tool]).await.is(201);
    door
}

/// What the service was answered since it was last looked at: to sampling, and to roots.
async fn answers(app: &TestApp, count: usize) -> Vec<Value> {
    let mut seen = Vec::new();
    eventually("the answers to the service's questions", PATIENCE, async || {
        let said = app.call_name("s__seen", json!({})).await.is(200);
        let lines = said.body["content"][0]["text"].as_str().unwrap().lines();
        let lines = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        seen = lines.filter(|line| line["id"] == "q2" || line["id"] == "q3").collect();
        seen.len() == count
    })
    .await;
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_asked_on_behalf_of_another_caller() {
    let app = TestApp::start(Backend::Sqlite).await;
    let config = json!({ "command": example("mcp_test_server") });
    app.service(json!({ "type": "mcp", "id": "s", "config": config })).await;
    let there = async || app.tool_names().await.iter().any(|name| name == "s__never");
    eventually("the tools", PATIENCE, there).await;
    let (ada, bob) = (json!({ "name": "ada", "role": "caller" }), json!({ "name": "bob", "role": "caller" }));
    let (ada, bob) = (app.with_key(ada).await, app.with_key(bob).await);
    // Without anybody else, a client that cannot answer is told so.
    ada.call_name("s__ask", json!({})).await.is(200);
    for answer in answers(&app, 2).await {
        assert!(answer["error"]["message"].as_str().unwrap().contains("does not support"), "{answer}");
    }
    let listening = Program::open(&bob, "/mcp").await.wait_forever().await;
    // Over REST, at the door of an instance, and in another session of the same key.
    ada.call_name("s__ask", json!({})).await.is(200);
    let door = Program::open(&app.as_nobody(), &format!("/mcp/{}", door(&app).await.key)).await;
    let others = [door.call(3, "ask"), Program::open(&bob, "/mcp").await.call(3, "s__ask")];
    for other in others {
        assert_eq!(other.send().await.unwrap().status(), 200);
    }
    for answer in &answers(&app, 8).await[2..] {
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("several clients"), "{answer}");
    }
    drop(listening);
}
