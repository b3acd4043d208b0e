//! The client that the official conformance suite starts: `conformance_client BINARY URL`.
//!
//! What is tested is the client role of the gateway: this program only stands at the stdio door of
//! BINARY, whose one service is the suite's server at URL, uses everything it is offered there, and
//! answers what it is asked. Where the server wants a sign-in, it does what the gateway's messages say:
//! it runs `login` and follows the printed address, as a person with a browser would.

use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [binary, url] = arguments.as_slice() else {
        return Err("usage: conformance_client BINARY URL".into());
    };
    let folder = Folder::make(url)?;
    if !scenario().starts_with("auth/") {
        return Gateway::start(binary, &folder)?.use_everything().map(drop);
    }
    // A person follows advice; the gateway must not give it for ever.
    for _ in 0..MAX_LOGINS {
        let doctor = Command::new(binary).args(folder.arguments("doctor")).env(HOME, &folder.0).output()?;
        let mut said = String::from_utf8_lossy(&doctor.stdout).into_owned();
        say(&said);
        if !said.contains(ADVICE) {
            said = Gateway::start(binary, &folder)?.use_everything()?;
        }
        if !said.contains(ADVICE) {
            return Ok(());
        }
        sign_in(binary, &folder)?;
    }
    Err("the gateway advises to sign in again and again".into())
}

const ADVICE: &str = "mcp-all-in-one login suite";
const MAX_LOGINS: usize = 8;
const HOME: &str = "MCP_ALL_IN_ONE_HOME";

fn scenario() -> String {
    std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default()
}

/// Holds the mcp.json, and the home of the gateway.
struct Folder(PathBuf);

impl Folder {
    fn make(url: &str) -> Result<Self> {
        let mut service = json!({ "type": "http", "url": url, "expose": { "prefix": false } });
        // Scenarios of 2026-07-28 take a handshake amiss: a client must know its server's version.
        if let Ok(version) = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION") {
            service["protocolVersion"] = version.into();
        }
        if let Some(auth) = auth()? {
            service["auth_type"] = "oauth2".into();
            service["auth_config"] = auth;
        }
        let folder = std::env::temp_dir().join(format!("conformance-client-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let config = json!({ "mcpServers": { "suite": service } });
        std::fs::write(folder.join("mcp.json"), config.to_string())?;
        Ok(Self(folder))
    }

    fn arguments(&self, command: &str) -> Vec<OsString> {
        let config = self.0.join("mcp.json");
        ["--log-level", "warn", command, "--mcp-config"]
            .map(OsString::from)
            .into_iter()
            .chain([config.into()])
            .collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be cleaned up is not worth a failure.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a person would write into `auth_config`, where the scenario hands something out beforehand.
fn auth() -> Result<Option<Value>> {
    let scenario = scenario();
    if scenario == "auth/basic-cimd" {
        return Ok(Some(
            json!({ "client_metadata_url": "https://conformance-test.local/client-metadata.json" }),
        ));
    }
    let Ok(context) = std::env::var("MCP_CONFORMANCE_CONTEXT") else { return Ok(None) };
    let context: Value = serde_json::from_str(&context)?;
    let mut auth = Map::new();
    for key in ["client_id", "client_secret"] {
        if let Some(value) = context.get(key) {
            auth.insert(key.into(), value.clone());
        }
    }
    if scenario == "auth/pre-registration" {
        auth.insert("grant".into(), "authorization_code".into());
    }
    Ok((!auth.is_empty()).then_some(auth.into()))
}

/// Runs `login`, and is the browser.
fn sign_in(binary: &str, folder: &Folder) -> Result<()> {
    let mut command = Command::new(binary);
    command.args(folder.arguments("login")).args(["suite", "--port", "0"]).env(HOME, &folder.0);
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let lines = BufReader::new(child.stdout.take().ok_or("stdout is piped")?).lines();
    for line in lines {
        let line = line?;
        say(&line);
        if let Some(address) = line.trim().strip_prefix("http://") {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let page =
                runtime.block_on(async { reqwest::get(format!("http://{address}")).await?.text().await });
            say(&page?);
        }
    }
    if child.wait()?.success() { Ok(()) } else { Err("no sign-in".into()) }
}

/// The gateway as a child, and our end of its pipes.
struct Gateway {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    next_id: u64,
}

impl Gateway {
    fn start(binary: &str, folder: &Folder) -> Result<Self> {
        let mut command = Command::new(binary);
        command.args(folder.arguments("stdio")).env(HOME, &folder.0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take().ok_or("stdin is piped")?;
        let lines = BufReader::new(child.stdout.take().ok_or("stdout is piped")?).lines();
        Ok(Self { child, stdin, lines, next_id: 1 })
    }

    /// Returns all that the tools have said.
    fn use_everything(&mut self) -> Result<String> {
        let mut said = String::new();
        let capabilities = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
        let info = json!({ "name": "conformance-client", "version": "1.0.0" });
        self.ask(
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info }),
        )?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        let listed = self.ask("tools/list", json!({}))?;
        for (name, arguments) in calls(&listed["result"]["tools"]) {
            let answer = self.ask("tools/call", json!({ "name": name, "arguments": arguments }))?;
            said.push_str(&answer.to_string());
        }
        let resources = self.ask("resources/list", json!({}))?;
        for resource in resources["result"]["resources"].as_array().into_iter().flatten() {
            self.ask("resources/read", json!({ "uri": resource["uri"] }))?;
        }
        let prompts = self.ask("prompts/list", json!({}))?;
        for prompt in prompts["result"]["prompts"].as_array().into_iter().flatten() {
            self.ask("prompts/get", json!({ "name": prompt["name"] }))?;
        }
        Ok(said)
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
        // End of input ends the gateway.
        let _ = writeln!(self.stdin, r#"{{"jsonrpc":"2.0","method":"notifications/exit"}}"#);
        let _ = self.child.wait();
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
