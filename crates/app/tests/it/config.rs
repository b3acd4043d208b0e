//! `config`, `list` and `doctor`, on files that are right and wrong.

use serde_json::{Value, json};
use std::process::Output;
use testkit::process::{command, run};

fn on(words: &[&str], config: &Value) -> (Output, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    std::fs::write(&path, config.to_string()).unwrap();
    let mut command = command(env!("CARGO_BIN_EXE_mcp-all-in-one"));
    command.args(words).env("MCP_ALL_IN_ONE_MCP_CONFIG", &path).env_remove("MCP_TEST_UNSET");
    let output = run(&mut command);
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    (output, said)
}

fn service() -> String {
    let binary = std::path::PathBuf::from(env!("CARGO_BIN_EXE_mcp-all-in-one"));
    binary.parent().unwrap().join("examples/mcp_test_server").to_string_lossy().into_owned()
}

#[test]
fn validate_names_every_problem_and_its_service() {
    let (output, said) = on(&["config", "validate"], &json!({ "mcpServers": { "a": { "command": "x" } } }));
    assert!(output.status.success() && said.contains("1 services, nothing wrong"), "{said}");
    let (output, said) = on(
        &["config", "validate"],
        &json!({ "mcpServers": { "good": { "command": "x" }, "both": { "command": "x", "url": "https://x" },
            "typed": { "command": 7 }, "unset": { "url": "https://x", "headers": { "A": "${MCP_TEST_UNSET}" } } } }),
    );
    assert_eq!(output.status.code(), Some(1));
    for name in ["both: ", "typed: ", "unset: the environment variable MCP_TEST_UNSET is not set"] {
        assert!(said.contains(name), "{name} in {said}");
    }
    assert!(!said.contains("good"), "{said}");
    let (output, _) = on(&["config", "validate"], &json!([]));
    assert!(!output.status.success());
}

fn validate(text: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    std::fs::write(&path, text).unwrap();
    let mut command = command(env!("CARGO_BIN_EXE_mcp-all-in-one"));
    let output = run(command.args(["config", "validate"]).arg(&path).env("MCP_TEST_SET", "middle"));
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn validate_sees_what_reading_loses() {
    let twice = "{ \"mcpServers\": {\n \"a\": { \"command\": \"x\" },\n \"b\": { \"command\": \"y\" },\n \
        \"a\": { \"command\": \"z\", \"env\": { \"K\": \"1\",\n \"K\": \"2\" } } } }";
    let (code, said) = validate(twice);
    assert_eq!(code, Some(1), "{said}");
    for wrong in ["a: it is there twice, in lines 2 and 4", "a.env.K: it is there twice, in lines 4 and 5"] {
        assert!(said.contains(wrong), "{wrong} in {said}");
    }
    let (code, said) =
        validate("{ \"mcpServers\": {},\n \"mcpServers\": { \"a\": { \"command\": \"x\" } } }");
    assert!(code == Some(1) && said.contains("mcpServers: it is there twice, in lines 1 and 2"), "{said}");
}

#[test]
fn validate_names_variables_that_cannot_be_filled_in() {
    let entry = |text: &str| json!({ "mcpServers": { "a": { "command": "x", "args": [text] } } }).to_string();
    for (text, why) in [
        (
            "--token=${input:tok}",
            "a: the input 'tok' has no value yet: give it with `mcp-all-in-one config input tok",
        ),
        ("--token=${config:tok}", "a: '${config:tok}' can be filled in by another client alone"),
        ("${open", "a: '${open' has no '}' and is used as it stands"),
        ("${MCP_TEST_UNSET:-x${HV", "a: '${MCP_TEST_UNSET' has no '}'"),
        ("${MCP_TEST_SET:-${command:tok}}", "a: '${command:tok}' can be filled in by another client alone"),
    ] {
        let (code, said) = validate(&entry(text));
        assert!(code == Some(1) && said.contains(why), "{text}: {said}");
    }
    let (code, said) = validate(&entry("${MCP_TEST_UNSET:-x${MCP_TEST_SET}y}"));
    assert_eq!(code, Some(0), "{said}");
}

/// What `config schema` lists is used, and of the wrong type named.
#[test]
fn settings_that_the_schema_lists_are_honoured() {
    let (_, schema) = on(&["config", "schema"], &json!({}));
    let schema: Value = serde_json::from_str(&schema).unwrap();
    for (key, value, why) in [
        ("start_timeout", json!("soon"), "'start_timeout' must be an integer"),
        ("start_timeout", json!(0), "'start_timeout' must be at least 1"),
        ("idle_timeout", json!(true), "'idle_timeout' must be an integer"),
        ("max_concurrent_calls", json!(0), "'max_concurrent_calls' must be at least 1"),
        ("max_concurrent_calls", json!("2"), "'max_concurrent_calls' must be"),
        ("allow_private_network", json!("yes"), "'allow_private_network'"),
        ("timeout", json!("60"), "'timeout' must be an integer"),
        ("disabled", json!("true"), "'disabled' must be true or false, not a string"),
        ("enabled", json!(1), "'enabled' must be true or false, not a number"),
        ("envFile", json!([]), "'envFile' must be the path of a file, not a list"),
    ] {
        assert!(schema["$defs"]["Service"]["properties"].get(key).is_some(), "{key}");
        let config = json!({ "mcpServers": { "a": { "command": "x", key: value } } });
        let (output, said) = on(&["config", "validate"], &config);
        assert_eq!(output.status.code(), Some(1), "{key} {value}: {said}");
        assert!(said.starts_with("a: ") && said.contains(why), "{key}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_advises_the_setting_that_helps() {
    let server = testkit::http::Server::start().await;
    let config = json!({ "mcpServers": {
        "slow": { "command": "sleep", "args": ["60"], "start_timeout": 300 },
        "inside": { "type": "http", "url": format!("{}/mcp", server.url()), "allow_private_network": false },
    } });
    let (_, said) = tokio::task::spawn_blocking(move || on(&["doctor"], &config)).await.unwrap();
    for words in [
        "within 300 ms",
        "fix: if it needs longer, write \"start_timeout\": 30000 into its entry, in milliseconds",
        "fix: write \"allow_private_network\": true into its entry",
    ] {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert!(server.requests().is_empty(), "an address that is refused is not asked");
}

#[test]
fn show_never_prints_a_secret() {
    let config =
        json!({ "mcpServers": { "a": { "command": "x", "env": { "K": "s3cret" }, "alwaysAllow": ["t"] } } });
    let (output, said) = on(&["config", "show"], &config);
    assert!(output.status.success() && !said.contains("s3cret"), "{said}");
    let shown: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        shown["mcpServers"]["a"],
        json!({ "command": "x", "env": { "K": "***" }, "alwaysAllow": ["t"] })
    );
    let (_, said) = on(&["config", "schema"], &config);
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap()["title"], "mcp.json");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_advises_what_fits_the_failure() {
    let server = testkit::http::Server::start().await;
    let (url, address) = (server.url(), server.address());
    let http = |url: String| json!({ "type": "http", "url": url });
    let config = json!({ "mcpServers": {
        "moved": http(format!("{url}/redirect?to=/mcp/")), "limited": http(format!("{url}/status/429")),
        "busy": http(format!("{url}/status/503")), "broken": http(format!("{url}/status/500")),
        "plain": http(format!("https://{address}/mcp")), "socket": { "type": "ws", "url": format!("wss://{address}/mcp") },
        "wrong": http(format!("{url}/status/404")),
        "closed": http(format!("{url}/status/401")), "key": { "type": "http", "url": format!("{url}/status/401"), "headers": { "A": "bad" } },
    } });
    let (_, said) = tokio::task::spawn_blocking(move || on(&["doctor"], &config)).await.unwrap();
    let fix = |name: &str| {
        let mut lines = said.lines().skip_while(|line| !line.starts_with(name));
        lines.nth(1).unwrap_or_default().trim().to_owned()
    };
    for (name, advice) in [
        ("moved", format!("fix: write {url}/mcp/ as 'url'")),
        ("limited", "fix: it is busy, or limits how often we may ask: try again later".to_owned()),
        ("busy", "fix: it is busy, or limits how often we may ask: try again later".to_owned()),
        ("broken", "fix: the server has failed: its own log says why".to_owned()),
        ("plain", "fix: the port does not speak TLS: write http:// instead of https://".to_owned()),
        ("socket", "fix: the port does not speak TLS: write ws:// instead of wss://".to_owned()),
        ("wrong", "fix: see that the address is that of an MCP server".to_owned()),
        ("closed", "fix: run `mcp-all-in-one login closed".to_owned()),
        ("key", "fix: give it a key that is good, in 'headers'".to_owned()),
    ] {
        assert!(fix(name).starts_with(&advice), "{name}: '{}' in {said}", fix(name));
    }
}

#[test]
fn doctor_starts_each_service_and_says_what_to_fix() {
    let config = json!({ "mcpServers": {
        "good": { "command": service() }, "gone": { "command": "no-such-command-anywhere" },
        "off": { "command": "x", "disabled": true }, "closed": { "type": "http", "url": "http://127.0.0.1:1/mcp" },
        "unset": { "url": "https://x", "headers": { "A": "${MCP_TEST_UNSET}" } },
        "crash": { "command": service(), "args": ["--crash"] } } });
    let (output, said) = on(&["doctor"], &config);
    assert_eq!(output.status.code(), Some(1));
    let line = |name: &str| said.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(line("good").contains("ok") && line("good").contains(" tools"), "{said}");
    assert!(line("gone").contains("FAILED") && line("gone").contains("was not found; install it"), "{said}");
    assert!(line("off").contains("disabled"), "{said}");
    assert!(line("crash").contains("FAILED") && line("crash").contains("the key is missing"), "{said}");
    for remedy in [
        "fix: see that http://127.0.0.1:1/mcp is right, that the server runs",
        "fix: set the variable where you start this program",
        "mcp_test_server' by hand with its arguments",
        "1 work, 4 failed, 1 disabled",
    ] {
        assert!(said.contains(remedy), "{remedy} in {said}");
    }
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let (_, said) = on(&["list"], &config);
    assert_eq!(said.lines().count(), 6, "{said}");
}
