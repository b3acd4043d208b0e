//! Services of type `db` through REST and through a real MCP client, and who may save which.

use crate::instances::instance;
use serde_json::{Value, json};
use sqlx::Executor;
use std::sync::Arc;
use testkit::{Backend, Database, TestApp};

/// Lists and calls, and prints what comes back.
const CLIENT: &str = r#"
import asyncio, json, sys
from mcp import ClientSession
try:
    from mcp.client.streamable_http import streamable_http_client as connect
except ImportError:
    from mcp.client.streamable_http import streamablehttp_client as connect

async def main():
    async with connect(sys.argv[1]) as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            tools = [tool.model_dump(by_alias=True) for tool in (await session.list_tools()).tools]
            print(json.dumps({tool["name"]: tool["annotations"]["readOnlyHint"] for tool in tools}), flush=True)
            async def call(name, arguments):
                return (await session.call_tool(name, arguments)).model_dump(by_alias=True)
            print(json.dumps((await call("orders", {"where": {"status": "open"}}))["structuredContent"]), flush=True)
            print((await call("order", {"id": 99}))["content"][0]["text"], flush=True)
            result = await call("ask", {"sql": "DELETE FROM orders"})
            print(json.dumps([result["isError"], result["content"][0]["text"]]), flush=True)

asyncio.run(main())
"#;

const ORDERS: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer VARCHAR(40), status VARCHAR(20))";

/// A database with orders, and the service `crm.postgresql.orders` over its table.
async fn orders() -> (Arc<Database>, Value) {
    let database = Arc::new(Database::create(Backend::Postgres).await);
    let mut connection = database.connect().await;
    connection.execute(ORDERS).await.unwrap();
    connection.execute("INSERT INTO orders VALUES (1, 'ann', 'open'), (2, 'bob', 'paid')").await.unwrap();
    let config = json!({
        "db_type": "postgresql", "connection_string": database.url().unwrap(), "table": "orders", "allow_superuser": true,
    });
    (database, json!({ "type": "db", "id": "crm.postgresql.orders", "config": config }))
}

/// DB-1, DB-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_client_asks_a_database() {
    let folder = crate::setup::servers();
    let (_database, service) = orders().await;
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(service).await;
    let listed = app.call("db://crm.postgresql.orders/list", json!({ "limit": 1 })).await.is(200);
    let first = json!({ "rows": [{ "id": 1, "customer": "ann", "status": "open" }], "truncated": true });
    assert_eq!(listed.body["structuredContent"], first);

    let door = instance(&app, "door").await;
    let mut bindings = Vec::new();
    for (name, tool) in [("orders", "list"), ("order", "take"), ("ask", "query")] {
        let uri = format!("db://crm.postgresql.orders/{tool}");
        let tool = app.post("tools", json!({ "name": name, "type": "uri", "uri": uri })).await.is(201);
        bindings.push(json!({ "tool_id": tool.string("id") }));
    }
    app.post(&format!("mcp/id/{}/bindings", door.id), json!({ "bindings": bindings })).await.is(201);
    let mut client = testkit::process::sheltered(folder.join("venv/bin/python"));
    client.arg("-c").arg(CLIENT).arg(format!("http://{}/mcp/{}", app.address(), door.key));
    let output = tokio::task::spawn_blocking(move || client.output().unwrap()).await.unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], json!({ "orders": true, "order": true, "ask": true }));
    assert_eq!(lines[1]["rows"], json!([{ "id": 1, "customer": "ann", "status": "open" }]));
    assert_eq!(lines[2], Value::Null);
    assert_eq!(lines[3][0], true);
    assert!(lines[3][1].as_str().unwrap().contains("must begin with one of SELECT"), "{out}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_this_machine_are_for_admins() {
    let app = TestApp::start(Backend::Sqlite).await;
    let manager = app.with_key(json!({ "name": "m", "role": "manager" })).await;
    let named = json!({ "type": "db", "id": "file", "config": { "db_type": "sqlite", "connection_string": "/tmp/x.db" } });
    manager.post("services", named.clone()).await.is(403);
    app.post("services", named).await.is(201);
    let own = json!({ "type": "db", "id": "own", "config": { "db_type": "sqlite" } });
    manager.post("services", own).await.is(201);
    let tables = manager.call("db://own/tables", json!({})).await.is(200);
    assert_eq!(tables.body["structuredContent"], json!({ "rows": [], "truncated": false }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_database_is_saved_masked_and_reported() {
    let app = TestApp::start(Backend::Sqlite).await;
    let address = testkit::http::dead_address().await;
    let string = format!("postgres://reader:hunter2-and-more@{address}/shop");
    let tools = json!([{ "id": "one", "sql": "SELECT 1" }]);
    let config =
        json!({ "db_type": "postgresql", "connection_string": string, "retry": { "max_attempts": 1 } });
    let saved = app
        .post("services", json!({ "type": "db", "id": "dead", "config": config, "tools": tools }))
        .await
        .is(201);
    assert!(!saved.text.contains("hunter2") && !saved.text.contains("postgres://"), "{}", saved.text);
    let called = app.call("db://dead/one", json!({})).await;
    assert!(called.text.contains("UNAVAILABLE") && !called.text.contains("hunter2"), "{}", called.text);
    let broken = json!({ "type": "db", "id": "x", "config": { "db_type": "postgresql", "connection_string": "x" },
        "tools": [{ "id": "one", "sql": "DELETE FROM orders" }] });
    let refused = app.post("services", broken).await.is(422);
    assert!(
        refused.text.contains("connection_string") && refused.text.contains("tools[0].sql"),
        "{}",
        refused.text
    );
}

/// DB-6, SV-5: tools are not told to be missing while their service hangs. Those that the settings name are called, and a
/// call of any other waits for what the service offers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_tool_is_missing_while_its_service_hangs() {
    // Nobody accepts what is connected.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let app = TestApp::start(Backend::Sqlite).await;
    let database =
        json!({ "db_type": "postgresql", "connection_string": format!("postgres://u:p@{address}/x") });
    let query = json!({ "id": "nq", "sql": "SELECT 1" });
    app.service(json!({ "type": "db", "id": "slow", "config": database, "tools": [query] })).await;
    let discovery = json!({ "type": "static", "endpoints": [address.to_string()] });
    let far = json!({ "protocol": "grpc", "discovery": discovery, "timeout_ms": 60_000 });
    let get = json!({ "id": "get", "rpc": "a.B/Get" });
    app.service(json!({ "type": "svc", "id": "far", "config": far, "tools": [get] })).await;
    for (uri, code) in [
        ("db://slow/nq?timeout=300", "TIMEOUT"),
        ("svc://far/get?timeout=300", "TIMEOUT"),
        ("db://slow/query?timeout=300", "UNAVAILABLE"),
        ("svc://far/other?timeout=300", "UNAVAILABLE"),
    ] {
        let reply = app.call(uri, json!({})).await.is(200);
        assert_eq!(
            (&reply.body["isError"], &reply.body["error"]["code"]),
            (&json!(true), &json!(code)),
            "{uri}"
        );
    }
}
