//! What another client has switched off stays off, taken over and used in place, and what we cannot honour is named.

use crate::mcp_json::Person;
use crate::stdio::service;
use serde_json::{Value, json};

/// The tools of a client's file, once used where it is and once taken over.
fn tools(client: &str, path: &str, root: &Value) -> [String; 2] {
    let ada = Person::new();
    let file = ada.has(path, &root.to_string());
    let in_place = ada.run(&["tools", "--mcp-config", file.to_str().unwrap()]).is(0).stdout;
    ada.run(&["import", client]).is(0);
    let taken = ada.run(&["tools", "--mcp-config", ada.file().to_str().unwrap()]).is(0).stdout;
    [in_place, taken]
}

#[test]
fn servers_that_gemini_excludes_or_does_not_allow_stay_off() {
    let entry = json!({ "command": service() });
    for switch in [json!({ "excluded": ["off"] }), json!({ "allowed": ["on"] })] {
        let root = json!({ "mcp": switch, "mcpServers": { "on": entry, "off": entry } });
        for said in tools("gemini", ".gemini/settings.json", &root) {
            assert!(said.contains("on__echo") && !said.contains("off__"), "{switch}: {said}");
        }
    }
    let ada = Person::new();
    let root = json!({ "mcp": { "allowed": "on" }, "mcpServers": { "on": entry } });
    let file = ada.has(".gemini/settings.json", &root.to_string());
    ada.run(&["config", "validate", file.to_str().unwrap()]).has("on: 'mcp.allowed' is no list");
    ada.run(&["import", "gemini"]).is(0).has("'mcp.allowed' is no list");
}

#[test]
fn tools_that_opencode_and_amp_switch_off_for_a_server_stay_off() {
    let list = json!({ "type": "local", "command": [service()] });
    let opencode = |switch: Value| json!({ "tools": switch, "mcp": { "ev": list, "ev2": list } });
    let path = ".config/opencode/opencode.json";
    for said in
        tools("opencode", path, &opencode(json!({ "ev_echo": false, "ev2_r*": false, "bash": false })))
    {
        assert!(!said.contains("ev__echo") && said.contains("ev2__echo"), "{said}");
        assert!(said.contains("ev__raw") && !said.contains("ev2__raw"), "{said}");
    }
    for said in tools("opencode", path, &opencode(json!({ "ev_*": false, "ev_raw": true }))) {
        assert!(
            !said.contains("ev__echo") && said.contains("ev__raw") && said.contains("ev2__echo"),
            "{said}"
        );
    }
    let plain = json!({ "command": service() });
    let amp = json!({ "amp.tools.disable": ["mcp__ev2__echo", "builtin:raw", "pi*"], "amp.mcpPermissions": [],
        "amp.mcpServers": { "ev": plain, "ev2": plain } });
    for said in tools("amp", ".config/amp/settings.json", &amp) {
        assert!(said.contains("ev__echo") && !said.contains("ev2__echo"), "{said}");
        assert!(said.contains("ev2__raw") && !said.contains("ev__pid"), "{said}");
    }
    let ada = Person::new();
    let file = ada.has(".config/amp/settings.json", &amp.to_string());
    ada.run(&["config", "validate", file.to_str().unwrap()]).has("ev: 'amp.mcpPermissions' is not honoured");
    ada.run(&["import", "amp"]).is(0).has("'amp.mcpPermissions' is not honoured");
}

#[test]
fn an_entry_says_tool_by_tool_what_is_off() {
    for (switches, has_echo, has_raw) in [
        (json!({ "echo": false }), false, true),
        (json!({ "echo": { "enabled": false }, "raw": { "approval_mode": "approve" } }), false, true),
        (json!({ "*": false, "raw": true }), false, true),
        (json!({ "echo": true }), true, true),
    ] {
        let ada = Person::new();
        ada.write(&json!({ "mcpServers": { "a": { "command": service(), "tools": switches } } }).to_string());
        let said = ada.run(&["tools", "--mcp-config", ada.file().to_str().unwrap()]).is(0).stdout;
        assert_eq!(
            (said.contains("a__echo"), said.contains("a__raw")),
            (has_echo, has_raw),
            "{switches}: {said}"
        );
    }
    let ada = Person::new();
    ada.write(
        &json!({ "mcpServers": { "a": { "command": service(), "tools": { "echo": "off" } } } }).to_string(),
    );
    ada.run(&["config", "validate", ada.file().to_str().unwrap()]).has("'tools.echo' is not known");
}
