//! `config set`, `add`, `remove` and the flags that stand for `config`, as a person uses them.

use crate::binary::BINARY;
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testkit::process;

/// Somebody with a home folder of their own.
pub(crate) struct Person {
    pub(crate) home: tempfile::TempDir,
}

pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    #[track_caller]
    pub(crate) fn is(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn has(self, text: &str) -> Self {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        // Errors are wrapped to the width of the terminal.
        let said =
            words(&format!("{}\n{}", self.stdout, self.stderr.replace(['│', '×', '╰', '─', '▶'], " ")));
        assert!(said.contains(&words(text)), "'{text}' in {}{}", self.stdout, self.stderr);
        self
    }
}

impl Person {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = process::command(BINARY);
        command.args(words).env("HOME", self.home.path()).env_remove("MCP_ALL_IN_ONE_HOME");
        command.env_remove("XDG_CONFIG_HOME").env_remove("CLAUDE_CONFIG_DIR").env_remove("MCP_TEST_UNSET");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Said {
        self.run_with("", words)
    }

    pub(crate) fn run_with(&self, stdin: &str, words: &[&str]) -> Said {
        let mut child = self.command(words).spawn().unwrap();
        // Who refuses early does not read.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.home.path().join(".mcp-all-in-one/mcp.json")
    }

    pub(crate) fn write(&self, text: &str) {
        fs::create_dir_all(self.file().parent().unwrap()).unwrap();
        fs::write(self.file(), text).unwrap();
    }

    pub(crate) fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    pub(crate) fn services(&self) -> Value {
        serde_json::from_str::<Value>(&self.text()).unwrap()["mcpServers"].clone()
    }
}

/// The files beside the mcp.json that hold what was there before.
pub(crate) fn backups(file: &Path) -> Vec<PathBuf> {
    let is_backup = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "bak");
    let entries = fs::read_dir(file.parent().unwrap()).unwrap();
    entries.map(|entry| entry.unwrap().path()).filter(is_backup).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn adds_commands_and_urls_and_removes_them() {
    let ada = Person::new();
    ada.run(&["add", "time", "-e", "TZ=UTC", "-e", "HOME", "--", "uvx", "mcp-server-time", "--x", "-y"])
        .is(0);
    ada.run(&["add", "web", "https://x.example/mcp", "-H", "Authorization: Bearer ${MCP_TEST_UNSET}"])
        .is(0)
        .has("warning: web: the environment variable MCP_TEST_UNSET is not set here");
    ada.run(&["add", "old", "-t", "sse", "https://x.example/sse"]).is(0);
    ada.run(&["add", "socket", "wss://x.example/"]).is(0);
    let wanted = json!({
        "time": { "command": "uvx", "args": ["mcp-server-time", "--x", "-y"], "env": { "TZ": "UTC", "HOME": "${HOME}" } },
        "web": { "type": "http", "url": "https://x.example/mcp",
            "headers": { "Authorization": "Bearer ${MCP_TEST_UNSET}" } },
        "old": { "type": "sse", "url": "https://x.example/sse" },
        "socket": { "type": "ws", "url": "wss://x.example/" },
    });
    assert_eq!(ada.services(), wanted);
    assert_eq!(mode(&ada.file()), 0o600);
    assert!(backups(&ada.file()).iter().all(|backup| mode(backup) == 0o600));
    ada.run(&["remove", "old"]).is(0);
    ada.run(&["remove", "old"]).is(1).has("there is no service 'old'").has("time, web, socket");
    assert!(ada.services().get("old").is_none());
}

#[test]
fn refuses_what_cannot_be_a_service_and_changes_nothing() {
    let ada = Person::new();
    ada.write("{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}");
    let before = ada.text();
    for (words, why) in [
        (&["add", "two words", "https://x"][..], "'two words' is no service name"),
        (&["add", "a${b}", "https://x"], "is no service name"),
        (&["add", "", "https://x"], "is no service name"),
        (&["add", "a", "--", "y"], "there is a service 'a' already"),
        (&["add", "b", "not a url"], "the address"),
        (&["add", "b", "-t", "stdio", "https://x"], "a URL is not of the type stdio"),
        (&["add", "b", "-t", "http", "--", "x"], "a command is of the type stdio"),
        (&["add", "b", "-e", "A=1", "https://x"], "-e is for a command"),
        (&["add", "b", "-H", "A: 1", "--", "x"], "-H is for a URL"),
        (&["add", "b", "-H", "nothing", "https://x"], "-H needs 'Name: value'"),
        (&["add", "b", "-t", "ws", "https://x"], "ws:// or wss://"),
    ] {
        ada.run(words).is(1).has(why);
    }
    for words in
        [&["add", "b"][..], &["add", "b", "https://x", "--", "y"], &["add"], &["add", "b", "-t", "tcp", "x"]]
    {
        ada.run(words).is(2);
    }
    assert_eq!(ada.text(), before);
    assert!(backups(&ada.file()).is_empty());
}

#[test]
fn keeps_comments_order_and_unknown_keys() {
    let ada = Person::new();
    let text = "{\n  // my servers\n  \"inputs\": [], /* theirs */\n  \"servers\": {\n    \"z\": { \"command\": \"x\", \"gallery\": true }, // last\n    \"a\": { \"url\": \"https://x\" },\n  },\n}\n";
    ada.write(text);
    ada.run(&["add", "new", "--", "y"]).is(0);
    ada.run(&["remove", "a"]).is(0);
    let now = ada.text();
    for kept in [
        "// my servers",
        "\"inputs\": [], /* theirs */",
        "\"z\": { \"command\": \"x\", \"gallery\": true }",
        "// last",
    ] {
        assert!(now.contains(kept), "{kept} in {now}");
    }
    assert!(now.contains("\"new\"") && !now.contains("\"a\""), "{now}");
    ada.run(&["config", "validate"]).is(0).has("2 services");
    // What machines write, `set` writes into the text that a person wrote.
    let shown = ada.run(&["config", "show"]).is(0).stdout;
    let mut config: Value = serde_json::from_str(&shown).unwrap();
    config["servers"]["new"]["args"] = json!(["-v"]);
    ada.run_with(&config.to_string(), &["config", "set"]).is(0);
    assert!(ada.text().contains("// my servers") && ada.text().contains("\"-v\""), "{}", ada.text());
}

#[test]
fn set_checks_backs_up_and_keeps_masked_secrets() {
    let ada = Person::new();
    ada.write(
        &json!({ "mcpServers": { "a": { "command": "x", "args": ["--api-key", "s3cret"],
        "env": { "K": "s3cret" } } } })
        .to_string(),
    );
    let shown = ada.run(&["config", "show"]).is(0).stdout;
    assert!(!shown.contains("s3cret"), "{shown}");
    let said = ada.run_with(&shown.replace("\"x\"", "\"y\""), &["config", "set"]).is(0).has("backup");
    assert!(!said.stdout.contains("s3cret"));
    assert_eq!(
        ada.services()["a"],
        json!({ "command": "y", "args": ["--api-key", "s3cret"], "env": { "K": "s3cret" } })
    );
    let backup = backups(&ada.file()).pop().unwrap();
    assert!(fs::read_to_string(&backup).unwrap().contains("\"x\""));
    let before = ada.text();
    for (config, why) in [
        ("{\"mcpServers\":{\"a b\":{\"command\":\"x\"},\"c\":{}}}", "is no service name"),
        ("{\"mcpServers\":{\"a\":{\"command\":7}}}", "a: "),
        (
            "{\"mcpServers\":{\"new\":{\"command\":\"x\",\"env\":{\"K\":\"***\"}}}}",
            "new.env.K: '***' stands for a secret",
        ),
    ] {
        ada.run_with(config, &["config", "set"]).is(1).has(why).has("stays as it is");
    }
    for config in ["{", "[]", "{\"other\":1}", "{\"mcpServers\":7}", "\u{1}"] {
        ada.run_with(config, &["config", "set"]).is(1).has("is no mcp.json");
    }
    assert_eq!(ada.text(), before);
}

#[test]
fn the_flags_do_what_the_commands_do() {
    let ada = Person::new();
    let file = ada.home.path().join("new.json");
    fs::write(&file, "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}").unwrap();
    let from_file = format!("@{}", file.display());
    ada.run(&["--set-mcp-config", &from_file]).is(0).has("made");
    ada.run(&["--validate-mcp-config"]).is(0).has("1 services, nothing wrong");
    ada.run(&["--show-mcp-config"]).is(0).has("\"command\": \"x\"");
    ada.run(&["--show-mcp-config", file.to_str().unwrap()]).is(0).has("\"command\": \"x\"");
    ada.run(&["--show-mcp-config-schema"]).is(0).has("\"title\": \"mcp.json\"");
    ada.run(&["--set-mcp-config", "{\"mcpServers\":{}}"]).is(0).has("0 services");
    ada.run_with("{\"mcpServers\":{\"b\":{\"command\":\"y\"}}}", &["--set-mcp-config", "-"]).is(0);
    assert_eq!(ada.services(), json!({ "b": { "command": "y" } }));
    ada.run(&["--show-mcp-config", "--show-mcp-config-schema"]).is(2);
    ada.run(&["--show-mcp-config-schema", "list"]).is(2);
    ada.run(&["--silent"]).is(2);
    ada.run(&["--validate-mcp-config", "/no/such/file"]).is(1).has("there is no file /no/such/file");
}

#[test]
fn the_file_at_home_is_made_when_it_is_missing() {
    for (words, said) in [
        (&["list"][..], "there are no services; add one with `mcp-all-in-one add`"),
        (&["config", "show"], "\"mcpServers\": {}"),
        (&["config", "validate"], "0 services, nothing wrong"),
        (&["doctor"], "0 work, 0 failed, 0 disabled"),
        (&["stdio"], ""),
        (&["--show-mcp-config"], "\"mcpServers\": {}"),
    ] {
        let ada = Person::new();
        ada.run(words).is(0).has(said);
        assert_eq!(ada.text(), "{\"mcpServers\":{}}\n", "{words:?}");
        fs::remove_file(ada.file()).unwrap();
        ada.run(&["stdio", "--mcp-config", ada.file().to_str().unwrap()]).is(0);
        assert!(ada.file().exists(), "the same file by its name, as `connect` writes it");
    }
}

#[test]
fn another_file_that_is_missing_is_refused() {
    let ada = Person::new();
    let typo = ada.home.path().join("typo.json");
    let path = typo.to_str().unwrap();
    for words in [
        &["list"][..],
        &["stdio"],
        &["tools"],
        &["call", "mcp://a/b"],
        &["doctor"],
        &["approve", "a"],
        &["login", "a"],
    ] {
        let said = ada.run(&[words, &["--mcp-config", path]].concat()).is(1);
        assert!(said.has("there is no file").stdout.is_empty(), "{words:?}");
    }
    for words in [["config", "show", path], ["config", "validate", path]] {
        ada.run(&words).is(1).has("there is no file");
    }
    assert!(!typo.exists());
    ada.run(&["add", "a", "--mcp-config", path, "--", "x"]).is(0).has("made");
}
