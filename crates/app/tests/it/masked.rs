//! Secrets of an mcp.json never reach a screen, however they are written.

use crate::mcp_json::Person;
use crate::stdio::{Aggregator, service};
use serde_json::{Value, json};

/// Every `S3cret…` is one; each has a number, so that a leak says where it comes from.
fn services() -> Value {
    json!({
        "curl": { "command": "curl", "args": [
            "-H", "X-Key: S3cret01", "--header", "X-Other: S3cret02 and more", "-H X-Third: S3cret03",
            "-HX-Fourth:S3cret04", "--header=X-Fifth: S3cret05", "--auth=S3cret06", "-k", "S3cret07",
            "-u", "ada:S3cret08", "--header", "X-Mine: ${MINE}", "--port", "8080", "-y"
        ] },
        "tokens": { "command": "npx", "args": [
            "sk-S3cret10aaaa", "sk-proj-S3cret11aaaa", "ghp_S3cret12aaaa", "gho_S3cret13aaaa",
            "github_pat_S3cret14aaaa", "glpat-S3cret15aaaa", "xoxb-S3cret16aaaa", "AKIAS3CRET17AAAA",
            "AIzaS3cret18aaaa", "eyJS3cret19aaaa.S3cret19b.S3cret19c", "mk_S3cret20aaaa", "mi_S3cret21aaaa",
            "--id=mk_S3cret22aaaa", "{\"a\":\"S3cret23aaaaaaaaaaaaaaaa\",\"apiKey\": \"S3cret24\"}",
            "@modelcontextprotocol/server-everything", "mcp-server-time",
            "pkg@1.0.0-550e8400-e29b-41d4-a716-446655440000", "claude-3-5-sonnet-20241022"
        ] },
        "options": { "command": "uvx", "args": [
            "--key", "S3cret30", "--token", "S3cret31", "--client-secret", "S3cret32", "--password", "S3cret33",
            "--auth", "S3cret34", "--credential", "S3cret35", "--pass", "S3cret36", "--pwd", "S3cret37",
            "--apikey", "S3cret38", "--apiKey=S3cret39", "MY_KEY=S3cret40", "--basic-auth=S3cret41",
            "--token", "${TOKEN}", "--allow", "all"
        ] },
        "shell": { "command": "sh -c 'API_KEY=S3cret45 run'", "args": [
            "-c", "run --token S3cret46 --verbose", "-c", "curl -H \"X: S3cret47\" x", "-c", "run https://u:S3cret48@h/ plain"
        ] },
        "addresses": { "url": "https://x.example/mcp/mk_S3cret50aaaa/mcp", "proxy": "http://u:S3cret51@p.example",
            "deep": [{ "a": "see http://u:S3cret52@q.example/ and http://r.example,http://u:S3cret53@r.example" }] },
        "paths": { "httpUrl": "https://y.example/s/S3cret54aaaaaaaaaaaaaaaa/mcp?k=S3cret55#S3cret56" },
        "odd": { "serverUrl": "https://u:pa/S3cret57@z.example/sse?x", "args": [
            "root:S3cret58@tcp(127.0.0.1:3306)/db", "postgres://ada:S3cret59@db.example/x?y=S3cret60",
            "https://registry.example/@scope/pkg", "/srv/data/Folder2024/with/a/long/name/index.js"
        ] },
        "token": { "command": "/usr/bin/node", "cwd": "/srv/app", "custom": {
            "apiKey": "S3cret70", "nested": [{ "bearer": "S3cret71", "value": "Bearer S3cret72" }],
            "credentials": { "user": "S3cret73", "list": ["S3cret74", 1234567] }, "auth": "S3cret75",
            "note": "glpat-S3cret76aaaa", "name": "plain words" } }
    })
}

fn config() -> Value {
    json!({
        "inputs": [{ "id": "k", "type": "promptString", "password": true, "default": "S3cret80" },
            { "id": "l", "type": "promptString", "default": "plain default" }],
        "proxy": "http://u:S3cret81@root.example",
        "servers": services(),
    })
}

#[track_caller]
fn has_no_secret(shown: &str) {
    let is_leak = |word: &&str| word.to_ascii_lowercase().contains("s3cret") || *word == "1234567";
    let leaks: Vec<&str> = shown.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_leak).collect();
    assert!(leaks.is_empty(), "{leaks:?} in {shown}");
}

#[test]
fn show_and_list_print_no_secret_and_everything_else() {
    let ada = Person::new();
    ada.write(&config().to_string());
    let shown = ada.run(&["config", "show"]).is(0).stdout;
    has_no_secret(&shown);
    let list = ada.run(&["list"]).is(0).stdout;
    has_no_secret(&list);
    for plain in ["https://x.example/mcp/***/mcp", "/usr/bin/node", "sh -c 'API_KEY=***"] {
        assert!(list.contains(plain), "{plain} in {list}");
    }
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let args = |name: &str| shown["servers"][name]["args"].to_string();
    for (name, plain) in [
        ("curl", r#""-H","X-Key:***""#),
        ("curl", r#""X-Mine: ${MINE}","--port","8080","-y"]"#),
        ("tokens", r#""@modelcontextprotocol/server-everything","mcp-server-time""#),
        ("tokens", r#""pkg@1.0.0-550e8400-e29b-41d4-a716-446655440000","claude-3-5-sonnet-20241022""#),
        ("options", r#""--token","${TOKEN}","--allow","all""#),
        ("shell", "run --token *** --verbose"),
        ("shell", "run https://***@h/ plain"),
        ("odd", r#""https://registry.example/@scope/pkg","/srv/data/Folder2024/with/a/long/name/index.js""#),
        ("odd", "postgres://***@db.example/x?***"),
    ] {
        assert!(args(name).contains(plain), "{plain} in {}", args(name));
    }
    assert_eq!(shown["proxy"], "http://***@root.example");
    assert_eq!(shown["inputs"][1]["default"], "plain default");
    assert_eq!(shown["servers"]["paths"]["httpUrl"], "https://y.example/s/***/mcp?***");
    assert_eq!(shown["servers"]["token"]["custom"]["name"], "plain words");
    assert_eq!(shown["servers"]["token"]["cwd"], "/srv/app");
}

#[test]
fn what_was_shown_can_be_set_again() {
    let ada = Person::new();
    let config = json!({ "mcpServers": { "a": { "command": "x", "args": ["--k=***", "-H", "X: S3cret", "mk_S3cret00aaaa"] } } });
    ada.write(&config.to_string());
    let shown = ada.run(&["config", "show"]).is(0).stdout;
    has_no_secret(&shown);
    ada.run_with(&shown.replace("\"x\"", "\"y\""), &["config", "set"]).is(0);
    assert_eq!(ada.services()["a"]["args"], config["mcpServers"]["a"]["args"]);
    let elsewhere = shown.replace("\"a\"", "\"b\"");
    ada.run_with(&elsewhere, &["config", "set"]).is(1).has("b.args[2]: '***' stands for a secret");
}

#[test]
fn doctor_repeats_no_secret_of_a_command() {
    let ada = Person::new();
    let gone = json!({ "command": "no-such-command --token S3cret" });
    let closed = json!({ "type": "http", "url": "http://127.0.0.1:1/mcp/mk_S3cret00aaaa/mcp?k=S3cret" });
    ada.write(&json!({ "mcpServers": { "gone": gone, "closed": closed } }).to_string());
    let said = ada.run(&["doctor"]).is(1).has("'no-such-command --token ***' was not found");
    has_no_secret(&said.has("fix: see that http://127.0.0.1:1/mcp/***/mcp is right").stdout);
}

#[test]
fn an_agent_is_shown_no_secret_either() {
    let mut all = services();
    all.as_object_mut().unwrap().values_mut().for_each(|entry| entry["disabled"] = true.into());
    all["mine"] = json!({ "command": service(), "includeTools": ["echo"] });
    let mut client = Aggregator::start_with(all, |command| {
        command.arg("--self-tools");
    });
    client.hello();
    let shown = client.ask("tools/call", json!({ "name": "mcp_config__show", "arguments": {} }));
    assert!(shown.to_string().contains("server-everything"), "{shown}");
    has_no_secret(&shown.to_string());
}
