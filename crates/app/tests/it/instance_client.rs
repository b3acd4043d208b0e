//! A real MCP client, the Python package `mcp`, at the door of an instance.

use crate::instances::instance;
use crate::tables::{shop, table};
use serde_json::json;
use std::process::Stdio;
use std::time::Duration;
use testkit::{Backend, TestApp};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

/// Lists, calls, says `ready`, and waits to be told that the list has changed.
const CLIENT: &str = r#"
import asyncio, sys
import mcp.types as types
from mcp import ClientSession
try:
    from mcp.client.streamable_http import streamable_http_client as connect
except ImportError:
    from mcp.client.streamable_http import streamablehttp_client as connect

async def main():
    changed = asyncio.Event()
    async def on_message(message):
        if "ToolListChanged" in type(getattr(message, "root", message)).__name__:
            changed.set()
    async with connect(sys.argv[1]) as streams:
        async with ClientSession(streams[0], streams[1], message_handler=on_message) as session:
            await session.initialize()
            names = [tool.name for tool in (await session.list_tools()).tools]
            print("tools", *sorted(names), flush=True)
            result = await session.call_tool("query_orders", {"query": "[?status=='open'].id"})
            print("called", result.content[0].text, flush=True)
            await asyncio.sleep(0.5)
            print("ready", flush=True)
            await asyncio.wait_for(changed.wait(), 30)
            names = [tool.name for tool in (await session.list_tools()).tools]
            print("changed", *sorted(names), flush=True)

asyncio.run(main())
"#;

/// TB-2.2, TB-3.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_client_lists_calls_and_is_told() {
    let folder = std::env::var_os("MCP_TEST_SERVERS");
    let folder = folder.expect("MCP_TEST_SERVERS is not set; run the tests with scripts/mcp-servers run CMD");
    let python = std::path::Path::new(&folder).join("venv/bin/python");
    let app = TestApp::start(Backend::Sqlite).await;
    let orders = table(&app, shop()).await;
    let door = instance(&app, "door").await;
    let mut tools = Vec::new();
    for (name, kind) in [("query_orders", "query_data"), ("all_orders", "get_all_data")] {
        let tool = json!({ "name": name, "type": kind, "table_id": orders, "json_path": "/orders" });
        tools.push(app.post("tools", tool).await.is(201).string("id"));
    }
    let bindings: Vec<_> = tools.iter().map(|tool| json!({ "tool_id": tool })).collect();
    app.post(&format!("mcp/id/{}/bindings", door.id), json!({ "bindings": bindings })).await.is(201);

    let url = format!("http://{}/mcp/{}", app.address(), door.key);
    let mut client = Command::from(testkit::process::sheltered(python));
    client.arg("-c").arg(CLIENT).arg(url).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = client.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = async || {
        let line = tokio::time::timeout(Duration::from_secs(60), lines.next_line()).await;
        line.expect("the client goes on").unwrap().expect("the client has not failed")
    };
    assert_eq!(next().await, "tools all_orders query_orders");
    let called = next().await;
    assert!(called.contains(r#"["o1",3]"#), "{called}");
    assert_eq!(next().await, "ready");
    let path = format!("mcp/id/{}/bindings/{}", door.id, tools[1]);
    app.patch(&path, json!({ "status": "disabled" })).await.is(200);
    assert_eq!(next().await, "changed query_orders");
    assert!(child.wait().await.unwrap().success());
}
