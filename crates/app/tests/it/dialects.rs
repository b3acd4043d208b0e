//! The dialects of other clients: what they mean by their words, in which units, taken over and read in place.

use crate::mcp_json::{Person, Said};
use crate::stdio::service;
use serde_json::{Value, json};

/// Where a client has its file, and what is taken over from it.
fn taken(client: &str, path: &str, text: &str) -> (Value, Said) {
    let ada = Person::new();
    ada.has(path, text);
    let said = ada.run(&["import", client]).is(0);
    (ada.services(), said)
}

const CLINE: &str = ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
const ROO: &str = ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json";

#[test]
fn time_is_taken_over_in_the_units_of_its_client() {
    let entry = |key: &str, value: Value| json!({ "command": "x", key: value });
    let servers = |place: &str, entry: &Value| json!({ place: { "a": entry } }).to_string();
    for (client, path, place, given, wanted) in [
        ("cline", CLINE, "mcpServers", entry("timeout", json!(60)), ("timeout", 60_000)),
        ("roo", ROO, "mcpServers", entry("timeout", json!(300)), ("timeout", 300_000)),
        (
            "zed",
            ".config/zed/settings.json",
            "context_servers",
            entry("timeout", json!(90)),
            ("timeout", 90_000),
        ),
        (
            "crush",
            ".config/crush/crush.json",
            "mcp",
            entry("timeout", json!(120)),
            ("start_timeout", 120_000),
        ),
        (
            "gemini",
            ".gemini/settings.json",
            "mcpServers",
            entry("timeout", json!(30_000)),
            ("timeout", 30_000),
        ),
        (
            "copilot",
            ".copilot/mcp-config.json",
            "mcpServers",
            entry("timeout", json!(45_000)),
            ("timeout", 45_000),
        ),
        (
            "opencode",
            ".config/opencode/opencode.json",
            "mcp",
            entry("timeout", json!(5_000)),
            ("timeout", 5_000),
        ),
        ("cursor", ".cursor/mcp.json", "mcpServers", entry("timeout", json!(7_000)), ("timeout", 7_000)),
    ] {
        let (services, _) = taken(client, path, &servers(place, &given));
        assert_eq!(services["a"][wanted.0], wanted.1, "{client}: {services}");
    }
    let (services, said) = taken("cline", CLINE, &servers("mcpServers", &entry("timeout", json!(86_400))));
    assert_eq!(services["a"]["timeout"], 3_600_000);
    said.has("86400 s is more than 3600 s");
}

/// What a service of Cline's says is used as Cline means it, also when its file is used where it is.
#[test]
fn a_clients_file_is_read_in_its_own_dialect() {
    let ada = Person::new();
    let slow = json!({ "mcpServers": { "a": { "command": service(), "timeout": 60 } } }).to_string();
    let file = ada.has(CLINE, &slow);
    let file = file.to_str().unwrap();
    ada.run(&["call", "mcp://a/echo", "--args", "{\"text\":\"hi\"}", "--mcp-config", file]).is(0);
    let zed = json!({ "theme": "x", "context_servers": { "a": { "command": service(), "timeout": 60 } } });
    let file = ada.has(".config/zed/settings.json", &zed.to_string());
    ada.run(&["tools", "--mcp-config", file.to_str().unwrap()]).is(0).has("a__echo");
}

#[test]
fn every_dialect_is_read() {
    let server = service();
    let server = server.to_str().unwrap();
    for (path, text) in [
        ("zed/settings.json", json!({ "context_servers": { "a": { "source": "custom", "command": server, "args": [], "env": {} } } }).to_string()),
        ("old/settings.json", json!({ "context_servers": { "a": { "command": { "path": server, "args": [], "env": null }, "settings": {} } } }).to_string()),
        ("opencode.json", json!({ "mcp": { "a": { "type": "local", "command": [server], "environment": { "A": "1" }, "enabled": true } } }).to_string()),
        ("v2/opencode.jsonc", json!({ "mcp": { "servers": { "a": { "type": "local", "command": [server] } } } }).to_string()),
        ("mcp-config.json", json!({ "mcpServers": { "a": { "type": "local", "command": server, "args": [], "tools": ["*"] } } }).to_string()),
        ("amp/settings.json", json!({ "amp.mcpServers": { "a": { "command": server } } }).to_string()),
        ("bare.json", json!({ "a": { "command": server } }).to_string()),
        ("mcp.json", json!({ "mcpServers": { "a": { "command": server, "env": { "PORT": 80, "GONE": null, "FLAG": true } } } }).to_string()),
        ("config.toml", format!("model = \"x\"\n[mcp_servers.a]\ncommand = \"{server}\"\nstartup_timeout_sec = 20.5\n[mcp_servers.a.env]\nK = \"1\"\n")),
        ("config.yaml", format!("name: mine\nmcpServers:\n  - name: a\n    command: {server}\n    connectionTimeout: 9000\n")),
        ("goose/config.yaml", format!("GOOSE_MODEL: x\nextensions:\n  a:\n    enabled: true\n    type: stdio\n    name: a\n    cmd: {server}\n    args: []\n    envs: {{}}\n    env_keys: []\n    timeout: 300\n")),
    ] {
        let ada = Person::new();
        let file = ada.has(path, &text);
        let said = ada.run(&["tools", "--mcp-config", file.to_str().unwrap()]).is(0);
        assert!(said.stdout.contains("a__echo"), "{path}: {}{}", said.stdout, said.stderr);
    }
}

#[test]
fn tools_that_are_switched_off_stay_off() {
    let server = service();
    for (key, value, gone) in [
        ("disabledTools", json!(["echo"]), true),
        ("disabled_tools", json!(["echo"]), true),
        ("excludeTools", json!(["echo"]), true),
        ("tools", json!(["raw"]), true),
        ("tools", json!(["*"]), false),
        ("enabled_tools", json!(["raw"]), true),
        ("enabled_tools", json!(["echo"]), false),
        ("available_tools", json!([]), false),
    ] {
        let ada = Person::new();
        ada.write(&json!({ "mcpServers": { "a": { "command": server, key: value } } }).to_string());
        let said = ada.run(&["tools", "--mcp-config", ada.file().to_str().unwrap()]).is(0);
        assert_eq!(!said.stdout.contains("a__echo"), gone, "{key} {value}: {}", said.stdout);
    }
    let ada = Person::new();
    let both = json!({ "command": server, "excludeTools": ["raw"], "disabledTools": ["echo"] });
    ada.write(&json!({ "mcpServers": { "a": both } }).to_string());
    let said = ada.run(&["tools", "--mcp-config", ada.file().to_str().unwrap()]).is(0);
    assert!(!said.stdout.contains("a__echo") && !said.stdout.contains("a__raw "), "{}", said.stdout);
}

#[test]
fn takes_over_codex_goose_and_continue() {
    let (services, _) = taken(
        "codex",
        ".codex/config.toml",
        "model = \"o\"\n[mcp_servers.docs]\nurl = \"https://x.example/mcp\"\nbearer_token_env_var = \"DOCS_TOKEN\"\n\
         tool_timeout_sec = 90\nenv_http_headers = { \"X-Who\" = \"WHO\" }\n[mcp_servers.off]\ncommand = \"x\"\n\
         enabled = false\nenv_vars = [\"A\", { name = \"B\", source = \"local\" }]\ndisabled_tools = [\"t\"]\n",
    );
    assert_eq!(services["docs"]["timeout"], 90_000, "{services}");
    assert_eq!(
        services["docs"]["headers"],
        json!({ "Authorization": "Bearer ${DOCS_TOKEN}", "X-Who": "${WHO}" })
    );
    assert_eq!(services["off"]["enabled"], false);
    assert_eq!(services["off"]["disabled_tools"], Value::Null);
    assert_eq!(services["off"]["excludeTools"], json!(["t"]));
    let (services, said) = taken(
        "goose",
        ".config/goose/config.yaml",
        "extensions:\n  developer: { enabled: true, type: builtin, name: developer, timeout: 300 }\n  \
         web: { enabled: false, type: streamable_http, name: web, uri: 'https://x.example/mcp', timeout: 30, envs: {}, \
         env_keys: [], headers: { A: b } }\n  fetch: { enabled: true, type: stdio, name: fetch, cmd: uvx, args: [mcp-server-fetch], \
         env_keys: [KEY], timeout: 10, available_tools: [] }\n",
    );
    assert_eq!(services["web"]["timeout"], 30_000, "{services}");
    assert_eq!(services["fetch"]["env"], json!({ "KEY": "${KEY}" }));
    assert!(services.get("developer").is_none(), "{services}");
    said.has("developer: skipped, it is a part of Goose itself");
    let (services, said) = taken(
        "continue",
        ".continue/config.yaml",
        "name: mine\nmcpServers:\n  - name: My Docs\n    type: streamable-http\n    url: https://x.example/mcp\n    \
         requestOptions:\n      headers:\n        Authorization: Bearer ${{ secrets.DOCS }}\n    connectionTimeout: 9000\n",
    );
    assert_eq!(services["My-Docs"]["start_timeout"], 9000, "{services}");
    assert_eq!(services["My-Docs"]["headers"], json!({ "Authorization": "Bearer ${DOCS}" }));
    said.has("My-Docs: taken from Continue");
}

#[test]
fn takes_over_what_claude_code_keeps_for_each_project() {
    let (services, _) = taken(
        "claude-code",
        ".claude.json",
        "{\"mcpServers\":{\"a\":{\"command\":\"x\"}},\"projects\":{\"/home/ada/shop\":{\"mcpServers\":\
         {\"db\":{\"command\":\"./db\"},\"off\":{\"url\":\"https://x.example/\"}},\"disabledMcpServers\":[\"off\"]}}}",
    );
    assert_eq!(services["db"], json!({ "command": "./db", "cwd": "/home/ada/shop" }), "{services}");
    assert_eq!(services["off"]["disabled"], true, "{services}");
    assert_eq!(services["a"], json!({ "command": "x" }));
}

#[test]
fn variables_are_taken_over_in_our_spelling() {
    let gemini = "{\"mcp\":{\"excluded\":[\"off\"]},\"mcpServers\":{\"a\":{\"command\":\"$HOME/bin/x\",\"env\":{\"K\":\"$KEY\",\"P\":\"a${KEY}b\",\"Q\":\"5$\"}},\
        \"off\":{\"command\":\"y\"}}}";
    let (services, _) = taken("gemini", ".gemini/settings.json", gemini);
    assert_eq!(
        services["a"],
        json!({ "command": "${HOME}/bin/x", "env": { "K": "${KEY}", "P": "a${KEY}b", "Q": "5$" } })
    );
    assert_eq!(services["off"]["disabled"], true, "{services}");
    let opencode = "{\"mcp\":{\"a\":{\"type\":\"remote\",\"url\":\"https://x.example/mcp\",\"headers\":{\"A\":\"Bearer {env:KEY}\",\"B\":\"{file:~/.key}\"}}}}";
    let (services, said) = taken("opencode", ".config/opencode/opencode.json", opencode);
    assert_eq!(services["a"]["headers"]["A"], "Bearer ${KEY}", "{services}");
    said.has("a: taken from opencode").has("{file:~/.key}");
    let crush = "{\"mcp\":{\"a\":{\"type\":\"http\",\"url\":\"https://x.example/mcp\",\"headers\":{\"A\":\"$(echo $KEY)\",\"B\":\"$KEY\"}}}}";
    let (services, said) = taken("crush", ".config/crush/crush.json", crush);
    assert_eq!(services["a"]["headers"]["B"], "${KEY}", "{services}");
    said.has("$(echo $KEY)");
}

#[test]
fn what_is_not_understood_is_named() {
    let (services, said) = taken(
        "zed",
        ".config/zed/settings.json",
        "{\"context_servers\":{\"a\":{\"command\":\"x\",\"wobble\":1},\"ext\":{\"settings\":{\"k\":1}},\"n\":7}}",
    );
    assert_eq!(services, json!({ "a": { "command": "x", "wobble": 1 } }));
    said.has("a: taken from Zed; not understood: wobble")
        .has("ext: skipped, it is an extension of Zed")
        .has("n: skipped, it is no object");
    let ada = Person::new();
    ada.write(
        &json!({ "mcpServers": { "a": { "command": "x", "wobble": 1, "alwaysAllow": [], "timeout": 60 } } })
            .to_string(),
    );
    ada.run(&["config", "validate"])
        .is(0)
        .has("warning: a: 'wobble' is not known and is ignored")
        .has("warning: a: 'timeout' is in milliseconds: 60 is less than a second");
    let yaml = ada.has("config.yaml", "mcpServers:\n  - name: a\n    command: x\n");
    let yaml = yaml.to_str().unwrap();
    ada.run(&["add", "b", "--mcp-config", yaml, "--", "y"])
        .is(1)
        .has("it is YAML, which can be read here, but not changed");
    assert!(std::fs::read_to_string(yaml).unwrap().contains("- name: a"));
}

#[test]
fn knows_the_folders_that_clients_name() {
    let ada = Person::new();
    let project = ada.home.path().join("shop");
    let text = json!({ "servers": { "a": { "command": "sh", "args": ["-c",
        "echo ${workspaceFolder} ${workspaceFolderBasename} ${userHome}${/}x ${pathSeparator} >&2; exit 1"] } } });
    let file = ada.has("shop/.vscode/mcp.json", &text.to_string());
    let said = ada.run(&["doctor", "--mcp-config", file.to_str().unwrap()]).is(1);
    let wanted = format!("{} shop {}/x /", project.display(), ada.home.path().display());
    said.has(&wanted);
    ada.write(&json!({ "mcpServers": { "a": { "command": "sh", "args": ["-c", "pwd >&2; echo ${workspaceFolder} >&2; exit 1"] } } }).to_string());
    let mut command = ada.command(&["doctor"]);
    let output = command.current_dir(&project).output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains(project.to_str().unwrap()));
}
