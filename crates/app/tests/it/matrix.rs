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

fn members(text: &str) -> Vec<(String, String)> {
    serde_json::from_str::<Members>(text).unwrap_or_else(|error| panic!("{error}: {text}")).0
}

fn result_of(answer: &str) -> String {
    let result = members(answer).into_iter().find(|(name, _)| name == "result");
    result.unwrap_or_else(|| panic!("no result: {answer}")).1
}

/// A client with a handshake gets the service's bytes. One of 2026-07-28 gets the members as they are
/// written, and what that version demands of every result is added where the service does not have it.
#[track_caller]
fn is_unchanged(answer: &str, client: &str, service: &str, tool: &str) {
    let direct = if service == MODERN { complete("tools/call", RAW_RESULT) } else { RAW_RESULT.to_owned() };
    let got = result_of(answer);
    if client != MODERN {
        assert_eq!(got, direct, "client {client}, {tool}");
        return;
    }
    let mut got = members(&got);
    assert!(got.contains(&("resultType".into(), r#""complete""#.into())), "client {client}, {tool}: {got:?}");
    let direct = members(&direct);
    got.retain(|(name, _)| {
        direct.iter().any(|(known, _)| known == name) || (name != "resultType" && name != "_meta")
    });
    assert_eq!(got, direct, "client {client}, {tool}");
}

/// The tool `params` says back what the service was sent.
#[track_caller]
fn has_arrived(answer: &str, client: &str, tool: &str) {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let sent = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(sent.contains(ARGUMENTS), "client {client}, {tool}: {sent}");
}

/// PX-4, MC-1: 50 combinations at the stdio door.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_client_version_gets_every_service_version_unchanged_on_stdio() {
    let (services, servers) = services().await;
    tokio::task::spawn_blocking(move || {
        for client in VERSIONS {
            let mut pipe = Pipe::start(&services);
            if client != MODERN {
                let hello = pipe.hello(client);
                assert_eq!(hello["result"]["protocolVersion"], client);
            }
            for (service, tool) in tools("raw") {
                is_unchanged(
                    &pipe.ask_raw("tools/call", &params(client, &tool, "{}")),
                    client,
                    service,
                    &tool,
                );
            }
            for (_, tool) in tools("params") {
                has_arrived(&pipe.ask_raw("tools/call", &params(client, &tool, ARGUMENTS)), client, &tool);
            }
        }
    })
    .await
    .unwrap();
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
        assert_eq!(reply.status, 200, "client {}, {name}: {}", self.version, reply.text);
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
    for version in VERSIONS {
        let door = Door::open(gateway.admin(), version).await;
        for (service, tool) in tools("raw") {
            is_unchanged(&door.call(&tool, "{}").await, version, service, &tool);
        }
        for (_, tool) in tools("params") {
            has_arrived(&door.call(&tool, ARGUMENTS).await, version, &tool);
        }
    }
}
