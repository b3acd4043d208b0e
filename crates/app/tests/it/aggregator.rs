//! Servers of npm and PyPI, listed and called with us and without us: definitions and results are the same bytes.

use crate::matrix::{members, result_of};
use crate::pipe::Pipe;
use crate::setup::{PATIENCE, path_with_node, servers};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::process;

const VERSION: &str = "2025-11-25";

/// A server of others: how it is started, and calls whose answers are always the same.
struct Peer {
    name: &'static str,
    entry: Value,
    calls: Vec<(&'static str, Value)>,
    /// The server is a child of what we start: it must end by itself, as killing that one would leave it behind.
    has_child: bool,
}

#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn npm(name: &'static str, program: &str, args: Value, calls: Vec<(&'static str, Value)>) -> Peer {
    let command = servers().join("node_modules/.bin").join(program);
    Peer { name, entry: json!({ "command": command, "args": args, "env": {} }), calls, has_child: false }
}

fn pypi(name: &'static str, package: &str, calls: Vec<(&'static str, Value)>) -> Peer {
    let command = servers().join("venv/bin/uvx");
    let env = json!({ "UV_CACHE_DIR": servers().join("uv"), "ALLOW_COMMANDS": "echo" });
    Peer {
        name,
        entry: json!({ "command": command, "args": ["--offline", package], "env": env }),
        calls,
        has_child: true,
    }
}

/// All of them. `folder` is theirs to work on; `url` answers with a page.
fn peers(folder: &Path, url: &str) -> Vec<Peer> {
    let memory = folder.join("memory.json");
    let mut peers = of_npm(folder);
    peers.extend(of_pypi(folder, url));
    for peer in &mut peers {
        peer.entry["env"]["PATH"] = path_with_node().to_string_lossy().into();
        peer.entry["env"]["MEMORY_FILE_PATH"] = memory.to_string_lossy().into();
    }
    peers
}

fn of_npm(folder: &Path) -> Vec<Peer> {
    let note = folder.join("note.txt");
    vec![
        npm(
            "everything",
            "mcp-server-everything",
            json!(["stdio"]),
            vec![
                ("echo", json!({ "message": "h\u{e9}llo \u{1f980}" })),
                ("get-sum", json!({ "a": 2, "b": 0.5 })),
                ("get-tiny-image", json!({})),
                ("get-structured-content", json!({ "location": "New York" })),
                ("get-annotated-message", json!({ "messageType": "error", "includeImage": true })),
            ],
        ),
        npm(
            "filesystem",
            "mcp-server-filesystem",
            json!([folder]),
            vec![
                ("read_text_file", json!({ "path": note })),
                ("list_directory", json!({ "path": folder })),
                ("read_text_file", json!({ "path": folder.join("missing") })),
            ],
        ),
        npm("memory", "mcp-server-memory", json!([]), vec![("read_graph", json!({}))]),
        npm(
            "thinking",
            "mcp-server-sequential-thinking",
            json!([]),
            vec![(
                "sequentialthinking",
                json!({ "thought": "one", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1 }),
            )],
        ),
        npm("hello", "mcp-hello-world", json!([]), vec![("echo", json!({ "message": "hi" }))]),
    ]
}

fn of_pypi(folder: &Path, url: &str) -> Vec<Peer> {
    vec![
        pypi(
            "calculator",
            "mcp-server-calculator@0.2.1",
            vec![
                ("calculate", json!({ "expression": "2*(3+4)" })),
                ("calculate", json!({ "expression": "2*(" })),
            ],
        ),
        pypi("fetch", "mcp-server-fetch@2026.10.24", vec![("fetch", json!({ "url": url, "raw": true }))]),
        pypi(
            "git",
            "mcp-server-git@2026.10.19",
            vec![
                ("git_status", json!({ "repo_path": folder.join("repository") })),
                ("git_log", json!({ "repo_path": folder.join("repository") })),
            ],
        ),
        pypi(
            "time",
            "mcp-server-time@2026.10.19",
            vec![(
                "convert_time",
                json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" }),
            )],
        ),
        pypi(
            "shell",
            "mcp-shell-server@1.1.14",
            vec![
                ("shell_execute", json!({ "command": ["echo", "hi"], "directory": folder })),
                ("shell_execute", json!({ "command": ["rm", "x"], "directory": folder })),
            ],
        ),
    ]
}

impl Peer {
    /// The server itself, with a client that can do what the gateway says its clients can do.
    fn direct(&self) -> Pipe {
        let mut command = process::sheltered(self.entry["command"].as_str().unwrap());
        command.args(self.entry["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()));
        command.envs(
            self.entry["env"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, value)| (name, value.as_str().unwrap())),
        );
        let mut pipe = Pipe::to(command);
        pipe.hello_as(VERSION, abilities());
        pipe
    }
}

fn abilities() -> Value {
    json!({ "roots": { "listChanged": false }, "sampling": { "tools": {} }, "elicitation": { "form": {}, "url": {} } })
}

/// A tool as it is written: its description, and its other members in their order.
#[derive(Debug, PartialEq, Eq)]
struct Definition {
    description: Option<String>,
    members: Vec<(String, String)>,
}

impl Definition {
    /// It must be called as a task, which we do not know.
    fn is_for_tasks_only(&self) -> bool {
        let execution = self.members.iter().find(|(name, _)| name == "execution");
        execution.is_some_and(|(_, text)| text.contains(r#""taskSupport":"required""#))
    }
}

/// Every tool by its name.
fn tools(pipe: &mut Pipe) -> BTreeMap<String, Definition> {
    let answer = pipe.ask_raw("tools/list", "{}");
    let result = result_of(&answer).unwrap_or_else(|| panic!("no result: {answer}"));
    let list = members(&result).into_iter().find(|(name, _)| name == "tools").unwrap().1;
    let list: Vec<Box<RawValue>> = serde_json::from_str(&list).unwrap();
    let tools = list.iter().map(|tool| {
        let mut members = members(tool.get());
        let mut take = |wanted: &str| {
            let at = members.iter().position(|(name, _)| name == wanted)?;
            Some(members.remove(at).1)
        };
        let name: String = serde_json::from_str(&take("name").unwrap()).unwrap();
        let description = take("description");
        (name, Definition { description, members })
    });
    tools.collect()
}

/// The tools of all of them: some take longer to start than a list waits.
fn all_tools(gateway: &mut Pipe, peers: &[Peer]) -> BTreeMap<String, Definition> {
    let begun = Instant::now();
    loop {
        let tools = tools(gateway);
        let is_missing =
            |peer: &&Peer| !tools.keys().any(|name| name.starts_with(&format!("{}__", peer.name)));
        let missing: Vec<_> = peers.iter().filter(is_missing).map(|peer| peer.name).collect();
        if missing.is_empty() {
            return tools;
        }
        assert!(begun.elapsed() < PATIENCE * 2, "{missing:?} are not listed");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What is answered, as it is written.
fn call(pipe: &mut Pipe, name: &str, arguments: &Value) -> String {
    let params = json!({ "name": name, "arguments": arguments }).to_string();
    let answer = pipe.ask_raw("tools/call", &params);
    let mut members = members(&answer);
    members.retain(|(name, _)| name == "result" || name == "error");
    members.pop().unwrap_or_else(|| panic!("neither result nor error: {answer}")).1
}

/// A folder with a file and a repository in it.
fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::write(root.join("note.txt"), "written by a test\r\n\u{1f980}").unwrap();
    let repository = root.join("repository");
    std::fs::create_dir(&repository).unwrap();
    std::fs::write(repository.join("file"), "content").unwrap();
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"];
    for step in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "first"]] {
        let done = process::sheltered("git").args(who).args(step).current_dir(&repository).status().unwrap();
        assert!(done.success(), "git {step:?}");
    }
    (folder, root)
}

/// MC-1, PX-3, PX-4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_servers_of_others_are_the_same_through_us() {
    let page = testkit::http::Server::start().await;
    let url = format!("{}/ping", page.url());
    tokio::task::spawn_blocking(move || {
        let (_folder, root) = folder();
        let peers = peers(&root, &url);
        assert!(peers.len() >= 10);
        let entries = peers.iter().map(|peer| (peer.name.to_owned(), peer.entry.clone())).collect();
        let mut gateway = Pipe::start(&Value::Object(entries));
        gateway.hello_as(VERSION, abilities());
        let mut through_us = all_tools(&mut gateway, &peers);
        for peer in &peers {
            let mut direct = peer.direct();
            for (tool, mut definition) in tools(&mut direct) {
                let name = format!("{}__{tool}", peer.name);
                if definition.is_for_tasks_only() {
                    assert_eq!(through_us.remove(&name), None, "{name} cannot be called through us");
                    continue;
                }
                // All that is ours: whose tool it is.
                let description = definition.description.take().unwrap_or_else(|| "\"\"".to_owned());
                definition.description = Some(description.replacen('"', &format!("\"[{}] ", peer.name), 1));
                assert_eq!(through_us.remove(&name), Some(definition), "{name}");
            }
            for (tool, arguments) in &peer.calls {
                let expected = call(&mut direct, tool, arguments);
                let name = format!("{}__{tool}", peer.name);
                assert_eq!(call(&mut gateway, &name, arguments), expected, "{name} {arguments}");
            }
            if peer.has_child {
                direct.end();
            }
        }
        assert!(through_us.is_empty(), "only through us: {:?}", through_us.keys());
    })
    .await
    .unwrap();
}
