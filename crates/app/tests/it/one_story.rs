//! One file for every command: what `add` writes, `list`, `doctor`, `serve`, `tools` and `call` use.

use crate::binary::BINARY;
use crate::mcp_json::Person;
use crate::stdio::service;
use serde_json::{Value, json};
use testkit::process::Server;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_added_is_what_is_served_listed_and_called() {
    let ada = Person::new();
    let server = service();
    let server = server.to_str().unwrap();
    ada.run(&["add", "time", "--", server]).is(0);
    ada.run(&["doctor"]).is(0).has("time ok");
    ada.run(&["tools"]).is(0).has("time__echo");
    ada.run(&["call", "mcp://time/echo", "--args", "{\"text\":\"hello\"}"]).is(0).has("hello");
    let mut command = ada.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.stdin(std::process::Stdio::null());
    let serving = Server::start(command);
    let file = ada.file();
    assert!(serving.stdout().contains(&format!("Services of {}", file.display())), "{}", serving.stdout());
    let admin = serving.admin();
    testkit::eventually("the tools of the file", crate::setup::PATIENCE, async || {
        let listed = admin.get("mcp/tools").await.is(200).body;
        listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "time__echo")
    })
    .await;
    admin.call("mcp://time/echo", json!({ "text": "hello" })).await.is(200);
    let url = format!("http://{}", serving.address());
    let at = ["--server", url.as_str(), "--token", serving.admin_key().unwrap()];
    ada.run(&[&["tools"][..], &at].concat()).is(0).has("time__echo");
    ada.run(&["add", "more", "--", server]).is(0);
    testkit::eventually("a service that was added while it runs", crate::setup::PATIENCE, async || {
        let listed = admin.get("mcp/tools").await.is(200).body;
        listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "more__echo")
    })
    .await;
}

/// A server that has its data elsewhere is no person's: it takes no file of a home that nobody named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_data_of_its_own_says_that_it_has_no_file() {
    let ada = Person::new();
    ada.run(&["add", "time", "--", "x"]).is(0);
    let data = ada.home.path().join("data");
    let mut command =
        ada.command(&["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()]);
    command.stdin(std::process::Stdio::null());
    let serving = Server::start(command);
    assert!(!serving.stdout().contains("Services of"), "{}", serving.stdout());
}

#[test]
fn list_shows_what_is_started() {
    let ada = Person::new();
    ada.write(
        &json!({ "mcpServers": {
            "time": { "command": "uvx", "args": ["mcp-server-time", "--local-timezone", "Europe/Berlin"] },
            "keys": { "command": "npx", "args": ["-y", "pkg", "--api-key", "s3cret"], "env": { "K": "s3cret" } },
            "code": { "type": "local", "command": ["bunx", "two words"] },
            "web": { "url": "https://x.example/mcp?key=s3cret" },
            "off": { "command": "x", "disabled": true },
            "bad": { "command": "x", "disabled": "true" }
        } })
        .to_string(),
    );
    let said = ada.run(&["list"]).is(0);
    assert!(!said.stdout.contains("s3cret"), "{}", said.stdout);
    let said = said
        .has("time uvx mcp-server-time --local-timezone Europe/Berlin")
        .has("keys npx -y pkg --api-key ***")
        .has("code bunx 'two words'")
        .has("web https://x.example/mcp")
        .has("off disabled");
    said.has("bad broken: 'disabled' must be true or false, not a string");
    let said = ada.run(&["list", "--json"]).is(0);
    assert!(!said.stdout.contains("s3cret"), "{}", said.stdout);
    let listed: Value = serde_json::from_str(&said.stdout).unwrap();
    let of = |name: &str| {
        listed.as_array().unwrap().iter().find(|service| service["name"] == name).unwrap().clone()
    };
    assert_eq!(of("time")["type"], "stdio");
    assert_eq!(of("time")["command"], "uvx");
    assert_eq!(of("time")["args"], json!(["mcp-server-time", "--local-timezone", "Europe/Berlin"]));
    assert_eq!(of("code")["args"], json!(["two words"]));
    assert_eq!(of("off")["enabled"], false);
    assert_eq!(of("web")["url"], "https://x.example/mcp?***");
    assert_eq!(of("bad")["problems"], json!(["'disabled' must be true or false, not a string"]));
    let empty = Person::new();
    assert_eq!(empty.run(&["list", "--json"]).is(0).stdout.trim(), "[]");
}

#[test]
fn validate_names_every_unset_variable() {
    let ada = Person::new();
    ada.write(
        &json!({ "mcpServers": { "a": { "command": "x", "env": { "A": "${MCP_TEST_UNSET}", "B": "${MCP_TEST_UNSET_2}" } },
            "b": { "url": "https://x.example", "headers": { "A": "${MCP_TEST_UNSET_3}" } } } })
        .to_string(),
    );
    let said = ada.run(&["config", "validate"]).is(1);
    for name in [
        "a: the environment variable MCP_TEST_UNSET is not set",
        "MCP_TEST_UNSET_2",
        "b: the environment variable MCP_TEST_UNSET_3",
    ] {
        assert!(said.stdout.contains(name), "{name} in {}", said.stdout);
    }
}

#[test]
fn says_how_a_command_is_added() {
    let ada = Person::new();
    let right = "mcp-all-in-one add x -- npx -y foo";
    ada.run(&["add", "x", "npx", "-y", "foo"]).is(2).has(right);
    ada.run(&["add", "x", "npx", "foo"]).is(2).has("mcp-all-in-one add x -- npx foo");
    ada.run(&["add", "x", "-e", "A=1", "npx", "-y", "foo"])
        .is(2)
        .has("mcp-all-in-one add x -e A=1 -- npx -y foo");
    ada.run(&["add", "x", "npx"]).is(1).has("'npx' is no URL").has("mcp-all-in-one add x -- npx");
    ada.run(&["add", "x", "https://x.example", "--colour"]).is(2).has("--colour");
    assert!(!ada.file().exists());
    let readme = include_str!("../../../../README.md");
    assert!(readme.contains("cargo install --locked --path crates/app"), "how to get {BINARY} onto PATH");
}
