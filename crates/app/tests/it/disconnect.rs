//! `connect` takes a client's servers over, and `disconnect` gives them back.

use crate::mcp_json::Person;
use serde_json::{Value, json};
use std::fs;

const CURSOR: &str = ".cursor/mcp.json";
const TEXT: &str = "{ // Ada's\n\t\"mcpServers\": { \"a\": { \"command\": \"x\", \"env\": { \"K\": \"s3cret\" } },\r\n  \"b\":{\"url\":\"https://u\"}},\n  \"other\": 1.0 }";

#[test]
fn takes_the_old_entries_over_and_gives_them_back_byte_for_byte() {
    let ada = Person::new();
    let file = ada.has(CURSOR, TEXT);
    let said = ada.run(&["connect", "cursor", "--take-over"]).is(0);
    assert!(!said.stdout.contains("s3cret"), "{}", said.stdout);
    said.has("a: taken from Cursor")
        .has("b: taken from Cursor")
        .has("`mcp-all-in-one disconnect cursor` undoes it");
    let now = fs::read_to_string(&file).unwrap();
    assert!(
        now.contains("// Ada's") && !now.contains("s3cret") && now.contains("\"mcp-all-in-one\""),
        "{now}"
    );
    assert_eq!(ada.services()["a"]["env"]["K"], "s3cret");
    ada.run(&["connect", "cursor", "--take-over"]).is(0).has("says so already");
    ada.run(&["disconnect", "cursor"]).is(0).has("as it was before");
    assert_eq!(fs::read_to_string(&file).unwrap(), TEXT);
    assert_eq!(ada.services()["a"]["env"]["K"], "s3cret", "what others use stays");
    ada.run(&["disconnect", "cursor"]).is(1).has("Cursor is not connected");
}

#[test]
fn gives_them_back_beside_what_has_changed_since() {
    let ada = Person::new();
    let file = ada.has(CURSOR, TEXT);
    ada.run(&["connect", "cursor"]).is(0).has("--take-over");
    ada.run(&["connect", "cursor", "--take-over"]).is(0);
    let mut changed = fs::read_to_string(&file).unwrap();
    changed = changed.replace("\"other\": 1.0", "\"other\": 2.0, // since\n");
    fs::write(&file, &changed).unwrap();
    ada.run(&["disconnect", "cursor", "--dry-run"]).is(0).has("a, b");
    assert_eq!(fs::read_to_string(&file).unwrap(), changed);
    ada.run(&["disconnect", "cursor"]).is(0);
    let now = fs::read_to_string(&file).unwrap();
    for kept in ["// Ada's", "// since", "\"other\": 2.0", "s3cret", "https://u"] {
        assert!(now.contains(kept), "{kept} in {now}");
    }
    assert!(!now.contains("mcp-all-in-one"), "{now}");
}

#[test]
fn a_file_that_we_made_goes_and_one_without_us_stays() {
    let ada = Person::new();
    let file = ada.has(CURSOR, "");
    fs::remove_file(&file).unwrap();
    ada.run(&["connect", "cursor"]).is(0);
    assert!(file.exists());
    ada.run(&["disconnect", "cursor"]).is(0);
    assert!(!file.exists());
    fs::write(&file, "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}").unwrap();
    ada.run(&["disconnect", "cursor"]).is(1).has("not connected");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}");
}

#[test]
fn what_was_not_taken_stays_where_it_is() {
    let ada = Person::new();
    ada.write("{\"mcpServers\":{\"a\":{\"command\":\"another\"}}}");
    let file = ada.has(CURSOR, TEXT);
    ada.run(&["connect", "cursor", "--take-over"]).is(0).has("a: skipped, there is another one of this name");
    let now = fs::read_to_string(&file).unwrap();
    assert!(now.contains("s3cret") && !now.contains("https://u"), "{now}");
}

#[test]
fn connects_clients_of_every_format() {
    let ada = Person::new();
    let codex =
        "# mine\nmodel = \"o\"\n\n[mcp_servers.a]\ncommand = \"x\" # the first\ntool_timeout_sec = 9\n";
    let file = ada.has(".codex/config.toml", codex);
    ada.run(&["connect", "codex", "--take-over"]).is(0).has("a: taken from Codex");
    let now = fs::read_to_string(&file).unwrap();
    assert!(
        now.contains("# mine") && now.contains("mcp-all-in-one") && !now.contains("# the first"),
        "{now}"
    );
    assert_eq!(ada.services()["a"]["timeout"], 9000);
    ada.run(&["disconnect", "codex"]).is(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), codex);
    let opencode = ada.has(".config/opencode/opencode.json", "{}");
    ada.run(&["connect", "opencode"]).is(0);
    let now: Value = serde_json::from_str(&fs::read_to_string(&opencode).unwrap()).unwrap();
    let entry = &now["mcp"]["mcp-all-in-one"];
    assert_eq!((&entry["type"], &entry["command"][1]), (&json!("local"), &json!("stdio")), "{now}");
    for (client, path, place) in [
        ("zed", ".config/zed/settings.json", "context_servers"),
        ("amp", ".config/amp/settings.json", "amp.mcpServers"),
        ("copilot", ".copilot/mcp-config.json", "mcpServers"),
        ("windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers"),
        ("crush", ".config/crush/crush.json", "mcp"),
    ] {
        let file = ada.has(path, "{}");
        ada.run(&["connect", client]).is(0);
        let now: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert!(now[place]["mcp-all-in-one"]["command"].is_string(), "{client}: {now}");
    }
    let goose = ada.has(".config/goose/config.yaml", "extensions: {}\n");
    ada.run(&["connect", "goose"]).is(1).has("it is YAML").has("cmd:");
    assert_eq!(fs::read_to_string(&goose).unwrap(), "extensions: {}\n");
}
