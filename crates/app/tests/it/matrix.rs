//! Every version of client with every version of service, at both doors, over both transports: nothing is lost.

use crate::binary::serve;
use crate::pipe::Pipe;
use crate::setup::{PATIENCE, example};
use reqwest::Method;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::fmt;
use testkit::client::send;
use testkit::mcp::http::{Behaviour, Server};
use testkit::mcp::{RAW_RESULT, complete};
use testkit::{Backend, Client, Database, process};

const VERSIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN];
const MODERN: &str = "2026-07-28";
/// Spelling that a parser would change: a big integer, a float, an exponent, an escape, an order.
const ARGUMENTS: &str =
    r#"{"z":1.0,"a":[1e2,12345678901234567890123],"text":"\u00e9\/","m":{"b":1,"a":-0.0}}"#;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"matrix","version":"1"}}"#;

/// One service of each version on each transport, and the servers that some of them are.
async fn services() -> (Value, Vec<Server>) {
    let (mut services, mut servers) = (json!({}), Vec::new());
    for version in VERSIONS {
        let args: &[&str] = if version == MODERN { &["--modern"] } else { &["--version", version] };
        services[format!("stdio-{version}")] = json!({ "command": example("mcp_test_server"), "args": args });
        let behaviour = if version == MODERN {
            Behaviour { is_modern: true, ..Behaviour::default() }
        } else {
            Behaviour { version: Some(version), ..Behaviour::default() }
        };
        let server = Server::start(behaviour).await;
        services[format!("http-{version}")] = json!({ "type": "http", "url": server.url() });
        servers.push(server);
    }
    (services, servers)
}

fn tools(name: &str) -> impl Iterator<Item = (&'static str, String)> {
    let names = VERSIONS.into_iter().flat_map(move |version| {
        ["stdio", "http"].map(|transport| (version, format!("{transport}-{version}__{name}")))
    });
    names.collect::<Vec<_>>().into_iter()
}

fn params(client: &str, name: &str, arguments: &str) -> String {
    let meta = if client == MODERN { format!(",{META}") } else { String::new() };
    format!(r#"{{"name":"{name}","arguments":{arguments}{meta}}}"#)
}

/// The members of an object in their order, each value as it is written.
struct Members(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    members.push((name, value.get().to_owned()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

pub(crate) fn members(text: &str) -> Vec<(String, String)> {
    serde_json::from_str::<Members>(text).unwrap_or_else(|error| panic!("{error}: {text}")).0
}

pub(crate) fn result_of(answer: &str) -> Option<String> {
    members(answer).into_iter().find(|(name, _)| name == "result").map(|(_, result)| result)
}

/// All combinations that fail, so that one does not hide the others.
#[derive(Default)]
struct Failures(Vec<String>);

impl Failures {
    fn note(&mut self, client: &str, tool: &str, found: Result<(), String>) {
        if let Err(why) = found {
            let why: String = why.chars().take(300).collect();
            self.0.push(format!("client {client}, {tool}: {why}"));
        }
    }

    #[track_caller]
    fn are_none(&self) {
        assert!(self.0.is_empty(), "{} of 100 fail:\n{}", self.0.len(), self.0.join("\n"));
    }
}

/// A client with a handshake gets the service's bytes. One of 2026-07-28 gets the members as they are
/// written, and what that version demands of every result is added where the service does not have it.
fn is_unchanged(answer: &str, client: &str, service: &str) -> Result<(), String> {
    let direct = if service == MODERN { complete("tools/call", RAW_RESULT) } else { RAW_RESULT.to_owned() };
    let got = result_of(answer).ok_or_else(|| format!("no result: {answer}"))?;
    if client != MODERN {
        return if got == direct { Ok(()) } else { Err(format!("{got} is not {direct}")) };
    }
    let mut members_got = members(&got);
    if !members_got.contains(&("resultType".into(), r#""complete""#.into())) {
        return Err(format!("no resultType: {got}"));
    }
    let direct = members(&direct);
    members_got.retain(|(name, _)| {
        direct.iter().any(|(known, _)| known == name) || (name != "resultType" && name != "_meta")
    });
    if members_got == direct { Ok(()) } else { Err(format!("{members_got:?} is not {direct:?}")) }
}

/// The tool `params` says back what the service was sent.
fn has_arrived(answer: &str) -> Result<(), String> {
    let message: Value = serde_json::from_str(answer).map_err(|error| format!("{error}: {answer}"))?;
    let sent =
        message["result"]["content"][0]["text"].as_str().ok_or_else(|| format!("no text: {answer}"))?;
    if sent.contains(ARGUMENTS) { Ok(()) } else { Err(format!("the service got {sent}")) }
}

/// PX-4, MC-1: 50 combinations at the stdio door.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_client_version_gets_every_service_version_unchanged_on_stdio() {
    let (services, servers) = services().await;
    let failures = tokio::task::spawn_blocking(move || {
        let mut failures = Failures::default();
        for client in VERSIONS {
            let mut pipe = Pipe::start(&services);
            if client != MODERN {
                let hello = pipe.hello(client);
                assert_eq!(hello["result"]["protocolVersion"], client);
            }
            for (service, tool) in tools("raw") {
                let answer = pipe.ask_raw("tools/call", &params(client, &tool, "{}"));
                failures.note(client, &tool, is_unchanged(&answer, client, service));
            }
            for (_, tool) in tools("params") {
                let answer = pipe.ask_raw("tools/call", &params(client, &tool, ARGUMENTS));
                failures.note(client, &tool, has_arrived(&answer));
            }
        }
        failures
    });
    failures.await.unwrap().are_none();
    drop(servers);
}

/// A raw client at the door over HTTP, in one version.
struct Door {
    client: Client,
    version: &'static str,
    session: Option<String>,
}

impl Door {
    async fn open(client: Client, version: &'static str) -> Self {
        let mut door = Self { client, version, session: None };
        if version != MODERN {
            let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "matrix", "version": "1" } });
            let reply = door.post("initialize", &params.to_string(), None).await.is(200);
            assert!(reply.text.contains(version), "{}", reply.text);
            door.session = reply.header("mcp-session-id").map(str::to_owned);
        }
        door
    }

    async fn post(&self, method: &str, params: &str, name: Option<&str>) -> testkit::Reply {
        let mut request = self.client.request(Method::POST, "/mcp").timeout(PATIENCE);
        request = request.header("content-type", "application/json");
        request = request.header("accept", "application/json, text/event-stream");
        if self.version >= "2025-06-18" && method != "initialize" {
            request = request.header("mcp-protocol-version", self.version);
        }
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        if self.version == MODERN {
            request = request.header("mcp-method", method);
            request = request.header("mcp-name", name.unwrap_or_default());
        }
        let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
        send(request.body(body)).await
    }

    /// The answer as it is written, which may come as an event.
    async fn call(&self, name: &str, arguments: &str) -> String {
        let reply = self.post("tools/call", &params(self.version, name, arguments), Some(name)).await;
        let events = reply.text.lines().filter_map(|line| line.strip_prefix("data:"));
        let answer = events.map(str::trim_start).find(|event| event.contains(r#""result""#));
        answer.unwrap_or(&reply.text).to_owned()
    }
}

/// PX-4, MC-1: 50 combinations at the door over HTTP.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_client_version_gets_every_service_version_unchanged_over_http() {
    let (services, _servers) = services().await;
    let database = Database::create(Backend::Sqlite).await;
    std::fs::create_dir_all(database.data_dir()).unwrap();
    let config = database.data_dir().join("mcp.json");
    std::fs::write(&config, json!({ "mcpServers": services }).to_string()).unwrap();
    let mut command = serve(&database);
    command.arg("--mcp-config").arg(&config);
    let gateway = process::Server::start(command);
    let mut failures = Failures::default();
    for version in VERSIONS {
        let door = Door::open(gateway.admin(), version).await;
        for (service, tool) in tools("raw") {
            failures.note(version, &tool, is_unchanged(&door.call(&tool, "{}").await, version, service));
        }
        for (_, tool) in tools("params") {
            failures.note(version, &tool, has_arrived(&door.call(&tool, ARGUMENTS).await));
        }
    }
    failures.are_none();
}
