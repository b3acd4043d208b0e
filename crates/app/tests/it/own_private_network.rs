//! Who may reach private addresses: services of the operator's own mcp.json may, services made over REST may not.

use crate::binary::BINARY;
use crate::pipe::Pipe;
use crate::setup::PATIENCE;
use serde_json::json;
use testkit::mcp::http::{Behaviour, Server};
use testkit::{Backend, Database, process};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_mcp_json_may_use_private_addresses_and_rest_may_not() {
    let server = Server::start(Behaviour::default()).await;
    let services = json!({ "own": { "type": "http", "url": server.url() } });
    let text = tokio::task::block_in_place(|| {
        let mut pipe = Pipe::start(&services);
        pipe.hello("2025-11-25");
        pipe.text("own__echo", json!({ "text": "in stdio" }))
    });
    assert_eq!(text, "in stdio");

    let database = Database::create(Backend::Sqlite).await;
    std::fs::create_dir_all(database.data_dir()).unwrap();
    let config = database.data_dir().join("mcp.json");
    std::fs::write(&config, json!({ "mcpServers": services }).to_string()).unwrap();
    let mut command = process::serve(BINARY, &database, &database.data_dir());
    command.arg("--mcp-config").arg(&config);
    let gateway = process::Server::start(command);
    let client = gateway.admin();
    testkit::eventually("the tools", PATIENCE, async || !client.tool_names().await.is_empty()).await;
    let own = client.call_name("own__echo", json!({ "text": "in serve" })).await.is(200);
    assert_eq!(own.body["content"][0]["text"], "in serve");

    let made = json!({ "type": "mcp", "id": "made", "config": { "type": "http", "url": server.url() } });
    client.post("services", made).await.is(201);
    let tested = client.post("services/mcp/made/test", json!({})).await;
    assert!(tested.text.contains("allow_private_network"), "{}", tested.text);
    let called = client.call("mcp://made/echo", json!({ "text": "x" })).await;
    assert!(called.text.contains("allow_private_network"), "{}", called.text);
}
