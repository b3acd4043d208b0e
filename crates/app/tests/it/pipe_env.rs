//! The environment of services that are commands: ours, without what configures us.

use crate::pipe::Pipe;
use crate::setup::example;
use serde_json::json;

#[test]
fn services_inherit_no_variable_of_ours() {
    let server = example("mcp_test_server");
    let services = json!({
        "plain": { "command": server },
        "given": { "command": server, "env": { "MCP_ALL_IN_ONE_TOKEN": "its own" } }
    });
    let mut client = Pipe::start_with(&services, |command| {
        command.env("MCP_ALL_IN_ONE_ADMIN_TOKEN", "an-admin-token-of-our-own");
        command.env(
            "MCP_ALL_IN_ONE_MASTER_KEY",
            "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
        );
        command.env("MCP_ALL_IN_ONE_TOKEN", "ours").env("OTHER", "inherited");
    });
    client.hello("2025-11-25");
    for (tool, name, value) in [
        ("plain__env", "MCP_ALL_IN_ONE_ADMIN_TOKEN", "(unset)"),
        ("plain__env", "MCP_ALL_IN_ONE_MASTER_KEY", "(unset)"),
        ("plain__env", "MCP_ALL_IN_ONE_TOKEN", "(unset)"),
        ("plain__env", "OTHER", "inherited"),
        ("given__env", "MCP_ALL_IN_ONE_TOKEN", "its own"),
    ] {
        assert_eq!(client.text(tool, json!({ "name": name })), value, "{tool} {name}");
    }
}
