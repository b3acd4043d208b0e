//! The client that the official conformance suite starts: `conformance_client BINARY URL`.
//!
//! What is tested is the client role of the gateway: this program only stands at the stdio door of
//! BINARY, whose one service is the suite's server at URL, uses everything it is offered there, and
//! answers what it is asked.

use serde_json::{Map, Value, json};
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [binary, url] = arguments.as_slice() else {
        return Err("usage: conformance_client BINARY URL".into());
    };
    let mut gateway = Gateway::start(binary, url)?;
    gateway.use_everything()
}

/// The gateway as a child, and our end of its pipes.
struct Gateway {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    folder: PathBuf,
    next_id: u64,
}

impl Gateway {
    fn start(binary: &str, url: &str) -> Result<Self> {
        let mut service = json!({ "type": "http", "url": url, "expose": { "prefix": false } });
        // Scenarios of 2026-07-28 take a handshake amiss: a client must know its server's version.
        if let Ok(version) = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION") {
            service["protocolVersion"] = version.into();
        }
        let folder = std::env::temp_dir().join(format!("conformance-client-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let config = folder.join("mcp.json");
        std::fs::write(&config, json!({ "mcpServers": { "suite": service } }).to_string())?;
        let mut child = Command::new(binary)
            .args(["--log-level", "warn", "stdio", "--mcp-config"])
            .arg(&config)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().ok_or("stdin is piped")?;
        let lines = BufReader::new(child.stdout.take().ok_or("stdout is piped")?).lines();
        Ok(Self { child, stdin, lines, folder, next_id: 1 })
    }

    fn use_everything(&mut self) -> Result<()> {
        let capabilities = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
        let info = json!({ "name": "conformance-client", "version": "1.0.0" });
        self.ask(
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info }),
        )?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        let listed = self.ask("tools/list", json!({}))?;
        for (name, arguments) in calls(&listed["result"]["tools"]) {
            self.ask("tools/call", json!({ "name": name, "arguments": arguments }))?;
        }
        let resources = self.ask("resources/list", json!({}))?;
        for resource in resources["result"]["resources"].as_array().into_iter().flatten() {
            self.ask("resources/read", json!({ "uri": resource["uri"] }))?;
        }
        let prompts = self.ask("prompts/list", json!({}))?;
        for prompt in prompts["result"]["prompts"].as_array().into_iter().flatten() {
            self.ask("prompts/get", json!({ "name": prompt["name"] }))?;
        }
        Ok(())
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        Ok(writeln!(self.stdin, "{message}")?)
    }

    #[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
    fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let line = self.lines.next().ok_or("the gateway has ended")??;
            let message: Value = serde_json::from_str(&line)?;
            if message["method"].is_null() && message["id"] == id {
                say(&format!("{method} {params} -> {line}"));
                return Ok(message);
            }
            if !message["id"].is_null() && !message["method"].is_null() {
                let answer = answer(&message);
                say(&format!("asked {line} -> {answer}"));
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": answer }))?;
            }
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // End of input ends the gateway; what cannot be cleaned up is not worth a failure.
        let _ = writeln!(self.stdin, r#"{{"jsonrpc":"2.0","method":"notifications/exit"}}"#);
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The calls that the scenario asks for, or each tool once.
fn calls(tools: &Value) -> Vec<(String, Value)> {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let named =
        |call: &Value| (call["name"].as_str().unwrap_or_default().to_owned(), call["arguments"].clone());
    if let Some(calls) = context["toolCalls"].as_array() {
        return calls.iter().map(named).collect();
    }
    let tools = tools.as_array().into_iter().flatten();
    tools
        .map(|tool| {
            let schema = &tool["inputSchema"];
            let is_required = |name: &str| {
                schema["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name))
            };
            let properties = schema["properties"].as_object().into_iter().flatten();
            let arguments: Map<String, Value> = properties
                .filter(|(name, _)| is_required(name))
                .map(|(name, property)| (name.clone(), fitting(property)))
                .collect();
            (tool["name"].as_str().unwrap_or_default().to_owned(), arguments.into())
        })
        .collect()
}

/// The default of a field, or a value of its type.
fn fitting(property: &Value) -> Value {
    if let Some(default) = property.get("default") {
        return default.clone();
    }
    match property["type"].as_str() {
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("some-text"),
    }
}

/// What a friendly user answers: yes to everything.
fn answer(request: &Value) -> Value {
    match request["method"].as_str() {
        Some("elicitation/create") => {
            let properties = request["params"]["requestedSchema"]["properties"].as_object();
            let content: Map<String, Value> = properties
                .into_iter()
                .flatten()
                .map(|(name, property)| (name.clone(), fitting(property)))
                .collect();
            json!({ "action": "accept", "content": content })
        }
        Some("sampling/createMessage") => {
            json!({ "role": "assistant", "content": { "type": "text", "text": "Well." }, "model": "none" })
        }
        Some("roots/list") => json!({ "roots": [] }),
        _ => json!({}),
    }
}

#[expect(clippy::print_stderr, reason = "the suite keeps it, and a failing test shows it")]
fn say(line: &str) {
    eprintln!("{}", line.chars().take(300).collect::<String>());
}
