//! Two processes of the program on one PostgreSQL: tables, instances and their doors are the same at both.

use crate::instances::instance;
use crate::mcp_older::Events;
use crate::setup::PATIENCE;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send_json;
use testkit::process::Server;
use testkit::{Backend, Client, Database, eventually};

const ACCEPT: &str = "application/json, text/event-stream";

async fn session(client: &Client, path: &str) -> String {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let request = client.request(Method::POST, path).header("accept", ACCEPT);
    send_json(request, &hello).await.is(200).header("mcp-session-id").unwrap().to_owned()
}

async fn call(client: &Client, path: &str, session: &str, name: &str, arguments: &Value) -> Value {
    let params = json!({ "name": name, "arguments": arguments });
    let message = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
    let request = client.request(Method::POST, path).header("accept", ACCEPT);
    send_json(request.header("mcp-session-id", session), &message).await.is(200).body
}

/// TB-2.1, TB-2.2, TB-3.1, TB-4.1, TB-4.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn share_tables_instances_and_doors() {
    let database = Database::create(Backend::Postgres).await;
    let command =
        |data_dir: &std::path::Path| testkit::process::serve(crate::binary::BINARY, &database, data_dir);
    let first = Server::start(command(&database.data_dir()));
    let second = Server::start(command(&database.replica_data_dir("second")));
    let admins = [first.admin(), second.client(first.admin_key().unwrap())];

    let table = admins[0].post("tables", json!({ "name": "log", "data": { "lines": [] } })).await.is(201);
    let table = table.string("id");
    let mut tools = Vec::new();
    for (name, kind) in [("add", "create"), ("count", "query_data")] {
        let tool = json!({ "name": name, "type": kind, "table_id": table, "json_path": "/lines" });
        tools.push(admins[1].post("tools", tool).await.is(201).string("id"));
    }
    let door = instance(&admins[0], "door").await;
    let bindings: Vec<_> = tools.iter().map(|tool| json!({ "tool_id": tool })).collect();
    let path = format!("mcp/id/{}/bindings", door.id);
    eventually("the first process knows the tools", PATIENCE, async || {
        admins[0].post(&path, json!({ "bindings": bindings })).await.status < 300
    })
    .await;

    let path = format!("/mcp/{}", door.key);
    let guests = [admins[0].as_nobody(), admins[1].as_nobody()];
    let opened = session(&guests[0], &path).await;
    let stream = guests[1].request(Method::GET, &path).header("accept", "text/event-stream");
    eventually("the second process opens the door", PATIENCE, async || {
        call(&guests[1], &path, &opened, "count", &json!({ "query": "length(@)" })).await["result"]["isError"]
            == false
    })
    .await;
    let mut events = Events::of(stream.header("mcp-session-id", &opened)).await;

    let writers = (0..40).map(|n| {
        let (guest, path, opened) = (&guests[n % 2], &path, &opened);
        async move {
            let elements = json!({ "elements": [{ "key": "", "content": { "n": n } }] });
            let written = call(guest, path, opened, "add", &elements).await;
            assert_eq!(written["result"]["isError"], false, "{written}");
        }
    });
    futures::future::join_all(writers).await;
    for guest in &guests {
        let counted = call(guest, &path, &opened, "count", &json!({ "query": "length(@)" })).await;
        assert_eq!(counted["result"]["structuredContent"]["data"], 40, "no write was lost: {counted}");
    }

    let binding = format!("mcp/id/{}/bindings/{}", door.id, tools[0]);
    admins[0].patch(&binding, json!({ "status": "disabled" })).await.is(200);
    assert_eq!(events.message().await["method"], "notifications/tools/list_changed");
    let refused = call(&guests[1], &path, &opened, "add", &json!({ "elements": [] })).await;
    assert!(refused.to_string().contains("not enabled"), "{refused}");
}
