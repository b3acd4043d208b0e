//! `import` and `connect`: the files of other clients, read and written at their usual places.

use crate::binary::BINARY;
use crate::mcp_json::{Person, backups};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

impl Person {
    /// Puts a file of another client into place.
    pub(crate) fn has(&self, path: &str, text: &str) -> PathBuf {
        let file = self.home.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }
}

const CURSOR: &str = ".cursor/mcp.json";
const DESKTOP: &str = ".config/Claude/claude_desktop_config.json";

#[test]
fn takes_over_the_servers_of_every_client() {
    let ada = Person::new();
    ada.has(DESKTOP, "{\"mcpServers\":{\"time\":{\"command\":\"uvx\",\"args\":[\"mcp-server-time\"]}}}");
    ada.has(".claude.json", "{\"numStartups\":7,\"mcpServers\":{\"time\":{\"command\":\"other\"},\"code\":{\"type\":\"http\",\"url\":\"https://c\"}}}");
    ada.has(CURSOR, "{\"mcpServers\":{\"My Server\":{\"url\":\"https://u\",\"headers\":{\"A\":\"s3cret\"}}, // mine\n \"us\":{\"command\":\"/usr/bin/mcp-all-in-one\",\"args\":[\"stdio\"]}}}");
    ada.has(".config/Code/User/mcp.json", "{\"inputs\":[],\"servers\":{\"vs\":{\"type\":\"stdio\",\"command\":\"v\",\"env\":{\"K\":\"${input:k}\"}}}}");
    ada.has(
        ".config/Code/User/settings.json",
        "{\"editor.fontSize\":12,\"mcp\":{\"servers\":{\"older\":{\"command\":\"o\"}}},}",
    );
    ada.has(
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        "{\"mcpServers\":{\"cline\":{\"command\":\"c\",\"disabled\":true,\"autoApprove\":[\"x\"]}}}",
    );
    ada.has(
        ".gemini/settings.json",
        "{\"theme\":\"x\",\"mcpServers\":{\"gem\":{\"httpUrl\":\"https://g\",\"trust\":true}}}",
    );
    let dry = ada
        .run(&["import", "--dry-run"])
        .is(0)
        .has("time: taken from Claude Desktop")
        .has("nothing was changed");
    assert!(!ada.file().exists() && !dry.stdout.contains("s3cret"));
    let said = ada.run(&["import"]).is(0);
    assert!(!said.stdout.contains("s3cret"), "{}", said.stdout);
    let said = said
        .has("time: skipped, there is another one of this name (Claude Code)")
        .has("My-Server: taken from Cursor")
        .has("us: skipped, it is mcp-all-in-one itself (Cursor)")
        .has("warning: vs: the input 'k' has no value yet: give it with `mcp-all-in-one config input k`");
    for name in ["code", "vs", "older", "cline", "gem"] {
        assert!(said.stdout.contains(&format!("{name}: taken from ")), "{name}: {}", said.stdout);
    }
    let services = ada.services();
    assert_eq!(services.as_object().unwrap().len(), 7, "{services}");
    assert_eq!(services["cline"], json!({ "command": "c", "disabled": true, "autoApprove": ["x"] }));
    assert_eq!(services["gem"], json!({ "httpUrl": "https://g", "trust": true }));
    assert_eq!(services["time"]["command"], "uvx");
    ada.run(&["import"]).is(0).has("time: skipped, it is there already").has("says so already");
}

#[test]
fn says_which_client_has_nothing_or_nonsense() {
    let ada = Person::new();
    ada.run(&["import"]).is(0).has("no other client has MCP servers");
    ada.run(&["import", "cursor"]).is(1).has("Cursor has no file");
    ada.run(&["import", "notepad"]).is(2).has("claude-desktop");
    ada.has(CURSOR, "{ nonsense");
    ada.has(DESKTOP, "{\"mcpServers\":{\"a\":{\"command\":\"x\"},\"n\":7}}");
    ada.run(&["import"])
        .is(1)
        .has("a: taken from Claude Desktop")
        .has("n: skipped, it is no object")
        .has("Cursor: ");
    assert_eq!(ada.services(), json!({ "a": { "command": "x" } }));
    ada.run(&["import", "cursor"]).is(1).has("cannot be used");
}

#[test]
fn puts_ourselves_into_a_clients_file_and_nothing_else() {
    let ada = Person::new();
    let text = "{ // Ada's\n  \"mcpServers\": { \"a\": { \"command\": \"x\", \"env\": { \"K\": \"s3cret\" } } },\n  \"other\": 1.0\n}\n";
    let file = ada.has(CURSOR, text);
    let dry = ada
        .run(&["connect", "cursor", "--dry-run"])
        .is(0)
        .has("@@ mcpServers @@")
        .has("+  \"mcp-all-in-one\": {");
    assert!(!dry.stdout.contains("s3cret"), "{}", dry.stdout);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    ada.run(&["connect", "cursor"]).is(0).has("backup").has("restart Cursor");
    let now = fs::read_to_string(&file).unwrap();
    assert!(now.contains("// Ada's") && now.contains("\"other\": 1.0") && now.contains("s3cret"), "{now}");
    assert_eq!(fs::read_to_string(&backups(&file)[0]).unwrap(), text);
    let plain: Value = serde_json::from_str(&now.replace("// Ada's", "")).unwrap();
    let entry = json!({ "command": BINARY, "args": ["stdio", "--mcp-config", ada.file()] });
    assert_eq!(plain["mcpServers"]["mcp-all-in-one"], entry);
    assert!(ada.file().exists(), "the client will find an mcp.json");
    ada.run(&["connect", "cursor"]).is(0).has("says so already");
    assert_eq!(backups(&file).len(), 1);
    ada.run(&["connect", "cursor", "--mcp-config", "other.json", "--dry-run"])
        .is(0)
        .has("-")
        .has("other.json");
}

#[test]
fn speaks_each_clients_dialect() {
    let ada = Person::new();
    for (client, path, place) in [
        ("vscode", ".config/Code/User/mcp.json", "servers"),
        ("claude-desktop", DESKTOP, "mcpServers"),
        ("claude-code", ".claude.json", "mcpServers"),
        ("gemini", ".gemini/settings.json", "mcpServers"),
        (
            "cline",
            ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            "mcpServers",
        ),
    ] {
        let file = ada.has(path, "{\"theme\":\"dark\"}");
        ada.run(&["connect", client]).is(0);
        let now: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(now["theme"], "dark");
        assert_eq!(now[place]["mcp-all-in-one"]["command"], BINARY, "{client}: {now}");
        assert_eq!(
            now[place]["mcp-all-in-one"].get("type"),
            (client == "vscode").then(|| json!("stdio")).as_ref()
        );
    }
}

#[test]
fn refuses_to_break_or_to_loop() {
    let ada = Person::new();
    ada.run(&["connect", "cursor"]).is(1).has("Cursor has no folder").has("start it once");
    let file = ada.has(CURSOR, "{ nonsense");
    ada.run(&["connect", "cursor"]).is(1).has("cannot be changed");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ nonsense");
    fs::write(&file, "{\"mcpServers\":[]}").unwrap();
    ada.run(&["connect", "cursor"]).is(1).has("must be an object");
    fs::write(&file, "{}").unwrap();
    let own = file.to_str().unwrap();
    ada.run(&["connect", "cursor", "--mcp-config", own]).is(1).has("we would start ourselves");
    assert!(backups(&file).is_empty());
}
