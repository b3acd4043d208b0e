//! A raw client at the stdio door: lines in, lines out, nothing interpreted that a test does not ask for.

use crate::binary::BINARY;
use crate::setup::PATIENCE;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The binary as an aggregator, and our end of its pipes. It is killed at the latest when dropped.
pub(crate) struct Pipe {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    _folder: Option<tempfile::TempDir>,
    next_id: u64,
}

/// What routes a message; the rest may be nested more deeply than a parser likes.
#[derive(serde::Deserialize)]
struct Envelope {
    #[serde(default)]
    id: Value,
    method: Option<String>,
}

impl Pipe {
    pub(crate) fn start(services: &Value) -> Self {
        Self::start_with(services, |_| {})
    }

    pub(crate) fn start_with(services: &Value, change: impl FnOnce(&mut Command)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("mcp.json");
        std::fs::write(&config, json!({ "mcpServers": services }).to_string()).unwrap();
        let mut command = testkit::process::command(BINARY);
        command.args(["--silent", "stdio", "--mcp-config"]).arg(&config);
        change(&mut command);
        Self::spawn(command, Some(folder))
    }

    /// A server itself, without us in between.
    pub(crate) fn to(command: Command) -> Self {
        Self::spawn(command, None)
    }

    fn spawn(mut command: Command, folder: Option<tempfile::TempDir>) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (tx, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            // Nobody reads any more: the test has ended.
            stdout.lines().map_while(Result::ok).try_for_each(|line| tx.send(line))
        });
        Self { stdin: child.stdin.take(), child, lines, _folder: folder, next_id: 1 }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Bytes as they are: no line end is added.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).and_then(|()| stdin.flush()).unwrap();
    }

    pub(crate) fn send(&mut self, line: &str) {
        self.write(format!("{line}\n").as_bytes());
    }

    pub(crate) fn next(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line")
    }

    /// The next line, if one comes soon.
    pub(crate) fn next_within(&self, time: Duration) -> Option<String> {
        match self.lines.recv_timeout(time) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("the process has ended"),
        }
    }

    /// Asks with params as they are written, and waits for the answer as it is written.
    pub(crate) fn ask_raw(&mut self, method: &str, params: &str) -> String {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#));
        loop {
            let line = self.next();
            let envelope: Envelope =
                serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON on stdout: {line}"));
            if envelope.id == id && envelope.method.is_none() {
                return line;
            }
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        serde_json::from_str(&self.ask_raw(method, &params.to_string())).unwrap()
    }

    pub(crate) fn hello(&mut self, version: &str) -> Value {
        self.hello_as(version, json!({}))
    }

    #[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
    pub(crate) fn hello_as(&mut self, version: &str, capabilities: Value) -> Value {
        let info = json!({ "name": "pipe", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": info });
        let hello = self.ask("initialize", params);
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        hello
    }

    #[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    /// The text that a tool answers.
    pub(crate) fn text(&mut self, name: &str, arguments: Value) -> String {
        let answer = self.call(name, arguments);
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    pub(crate) fn names(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Closes stdin and waits for the end.
    pub(crate) fn end(&mut self) -> ExitStatus {
        self.stdin.take();
        end_of(&mut self.child)
    }
}

/// Waits for the end of a process.
pub(crate) fn end_of(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(begun.elapsed() < PATIENCE, "the process does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
