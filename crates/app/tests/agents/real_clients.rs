//! Agents that use the model and the person of a real client, of pip `mcp`, in both eras.

use crate::crashes::serve;
use crate::world::{count, crm};
use serde_json::{Value, json};
use std::path::Path;
use testkit::process::{self, sheltered};
use testkit::{Backend, Database, http, on_both_databases};

on_both_databases! {
    a_real_client_s_model_and_person_are_asked_in_both_eras
}

/// Asks an agent; its model wants to call a tool, its person allows it, and its model says what it has heard.
const CLIENT: &str = r#"
import asyncio, json, sys
import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

heard = {"samplings": 0, "questions": []}

async def sample(context, params):
    heard["samplings"] += 1
    said = json.dumps([message.model_dump(mode="json") for message in params.messages])
    if "tool_result" not in said:
        assert [tool.name for tool in params.tools] == ["crm__remove"], params.tools
        use = types.ToolUseContent(type="tool_use", id="1", name="crm__remove", input={"text": "a"})
        return types.CreateMessageResultWithTools(role="assistant", content=[use], model="m", stop_reason="toolUse")
    text = types.TextContent(type="text", text="It is gone.")
    return types.CreateMessageResultWithTools(role="assistant", content=text, model="m", stop_reason="endTurn")

async def elicit(context, params):
    heard["questions"].append(params.message)
    return types.ElicitResult(action="accept", content={"decision": "approve"})

async def main(url, key, mode):
    http = httpx2.AsyncClient(headers={"Authorization": "Bearer " + key}, timeout=60)
    able = types.SamplingCapability(tools=types.SamplingToolsCapability())
    async with Client(streamable_http_client(url, http_client=http), mode=mode, read_timeout_seconds=60,
                      sampling_callback=sample, sampling_capabilities=able, elicitation_callback=elicit) as client:
        result = await client.call_tool("a__ask", {"prompt": "Remove it."})
        assert not result.is_error, result
        print(json.dumps({"told": result.structured_content, **heard}))

asyncio.run(main(*sys.argv[1:]))
"#;

async fn ask(server: &process::Server, key: &str, mode: &str) -> Value {
    let folder = std::env::var_os("MCP_TEST_SERVERS");
    let folder = folder.expect("MCP_TEST_SERVERS is not set; run the tests with scripts/mcp-servers run CMD");
    let mut client = sheltered(Path::new(&folder).join("venv/bin/python"));
    let url = format!("http://{}/mcp", server.address());
    client.args(["-c", CLIENT, &url, key, mode]);
    let output = tokio::task::spawn_blocking(move || process::run(&mut client)).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// AG-13, AG-17: with `provider: client` the model of the calling client thinks, and its person approves, in both eras over
/// the wire.
async fn a_real_client_s_model_and_person_are_asked_in_both_eras(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let server = serve(&database);
    let (admin, key) = (server.admin(), server.admin_key().unwrap().to_owned());
    admin.post("services", crm(&upstream)).await.is(201);
    let config = json!({ "provider": "client", "tools": ["api://crm/remove"] });
    admin.post("services", json!({ "type": "agent", "id": "a", "config": config })).await.is(201);
    for (times, mode) in [(1, "legacy"), (2, "2026-07-28")] {
        let heard = ask(&server, &key, mode).await;
        assert_eq!(heard["told"]["answer"], "It is gone.", "{mode}: {heard}");
        assert_eq!((&heard["samplings"], &heard["told"]["usage"]["input_tokens"]), (&json!(2), &Value::Null));
        let question = heard["questions"][0].as_str().unwrap();
        assert!(question.contains(r#"api://crm/remove with {"text":"a"}"#), "{mode}: {heard}");
        assert_eq!(heard["questions"].as_array().unwrap().len(), 1);
        assert_eq!(count(&upstream, "/remove"), times, "{mode}");
    }
}
