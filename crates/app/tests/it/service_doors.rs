//! What users of supergateway and mcp-proxy know: one server from the command line, a door for each service, a
//! WebSocket, a base path, no keys on one's own machine.

use crate::binary::{BINARY, said};
use crate::setup::{PATIENCE, crm, example, path_with_node, servers};
use reqwest::Method;
use serde_json::{Value, json};
use std::process::Command;
use testkit::client::{send, send_json};
use testkit::process::{self, Server};
use testkit::{Backend, Client, Reply, TestApp, http};

const ACCEPT: &str = "application/json, text/event-stream";

/// A client with a handshake at one of the doors.
struct AtDoor<'a> {
    client: &'a Client,
    path: &'a str,
    session: String,
}

impl<'a> AtDoor<'a> {
    async fn open(client: &'a Client, path: &'a str) -> Self {
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let mut door = Self { client, path, session: String::new() };
        let reply = door.send("initialize", &hello).await.is(200);
        door.session = reply.header("mcp-session-id").unwrap().to_owned();
        door
    }

    async fn send(&self, method: &str, params: &Value) -> Reply {
        let request = self.client.request(Method::POST, self.path).header("accept", ACCEPT);
        let request = request.header("mcp-session-id", &self.session);
        send_json(request, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).await
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        self.send(method, &params).await.is(200).body
    }

    async fn names(&self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}")).clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_service_has_a_door_of_its_own() {
    let upstream = http::Server::start().await;
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(crm(&upstream)).await;
    let server = json!({ "type": "mcp", "id": "s", "config": { "command": example("mcp_test_server") } });
    app.service(server).await;
    let crm = AtDoor::open(&app, "/servers/crm/mcp").await;
    assert_eq!(crm.names().await, ["fail", "get_order", "ping", "slow"]);
    let listed = crm.ask("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"][1]["description"], "Finds orders of a user", "{listed}");
    let arguments = json!({ "userId": "u1" });
    let called = crm.ask("tools/call", json!({ "name": "get_order", "arguments": arguments })).await;
    assert_eq!(called["result"]["structuredContent"]["path"], "/users/u1/orders", "{called}");
    for name in ["crm__get_order", "s__echo", "echo", "nobody"] {
        let refused = crm.ask("tools/call", json!({ "name": name })).await;
        assert_eq!(refused["error"]["code"], -32601, "{name}: {refused}");
    }
    // The one that was answered and the one that was refused under its longer name.
    let audited = crate::setup::audited(&app, "tool=crm__get_order", 2).await;
    let answered = audited.iter().find(|record| record["status"] == "ok").unwrap();
    assert_eq!((&answered["service"], &answered["door"]), (&json!("crm"), &json!("mcp")), "{answered}");

    // A session belongs to its door.
    let elsewhere = AtDoor { path: "/mcp", session: crm.session.clone(), client: &app };
    elsewhere.send("tools/list", &json!({})).await.is(404);
    assert!(AtDoor::open(&app, "/mcp").await.names().await.contains(&"crm__get_order".to_owned()));
    // The same sign-in, the same policy, the same tenants.
    let post = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    app.as_nobody().post("/servers/crm/mcp", post.clone()).await.is(401);
    app.post("/servers/nobody/mcp", post.clone()).await.is_problem(404, "NOT_FOUND");
    let acme = app.with_tenant("acme").await;
    acme.post("/servers/crm/mcp", post).await.is_problem(404, "NOT_FOUND");
    let few = app.with_key(json!({ "name": "few", "role": "caller", "allow": ["crm__ping"] })).await;
    let few = AtDoor::open(&few, "/servers/crm/mcp").await;
    assert_eq!(few.names().await, ["ping"]);
    let refused = few.ask("tools/call", json!({ "name": "fail" })).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("allow-list"), "{refused}");
}

/// The server with one MCP server from the command line.
fn serve_one(folder: &tempfile::TempDir, flags: &[&str]) -> Command {
    let mut command = process::command(BINARY);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.path()).args(flags);
    command.arg("--").arg(example("mcp_test_server"));
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serves_one_server_from_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(serve_one(&folder, &["--no-auth"]));
    let anybody = server.admin().as_nobody();
    let door = AtDoor::open(&anybody, "/mcp").await;
    let names = door.names().await;
    assert!(names.contains(&"echo".to_owned()) && !names.iter().any(|name| name.contains("__")), "{names:?}");
    let said = door.ask("tools/call", json!({ "name": "echo", "arguments": { "text": "hi" } })).await;
    assert_eq!(said["result"]["content"][0]["text"], "hi", "{said}");
    // What is configured beside it is not served there.
    let upstream = http::Server::start().await;
    server.admin().post("services", crm(&upstream)).await.is(201);
    assert_eq!(AtDoor::open(&anybody, "/mcp").await.names().await, names);
    let written: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(!written.iter().any(|name| name == "mcp.json"), "{written:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asks_for_no_key_on_this_machine_alone_and_never_for_management() {
    let folder = tempfile::tempdir().unwrap();
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let mut command = process::command(BINARY);
        command.args(["serve", "--no-auth", "--listen", listen, "--data-dir"]).arg(folder.path());
        let output = process::run(&mut command);
        let (_, stderr) = said(&output);
        assert!(!output.status.success() && stderr.contains("--no-auth"), "{listen}: {stderr}");
    }
    let server = Server::start(serve_one(&folder, &["--no-auth", "--legacy-sse"]));
    let anybody = server.admin().as_nobody();
    let port = anybody.address().port();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-06-18", "capabilities": {} } });
    let with = async |headers: &[(&str, &str)]| {
        let mut request = anybody.request(Method::POST, "/mcp").header("accept", ACCEPT);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        send_json(request, &list).await.status
    };
    assert_eq!(with(&[]).await, 200);
    assert_eq!(with(&[("host", &format!("localhost:{port}"))]).await, 200);
    // A name that its owner has pointed at this machine, with and without a page behind it.
    assert_eq!(with(&[("host", "evil.example")]).await, 403);
    let rebound = format!("evil.example:{port}");
    assert_eq!(with(&[("host", &rebound), ("origin", &format!("http://{rebound}"))]).await, 403);
    assert_eq!(with(&[("origin", "https://evil.example")]).await, 403);
    assert_eq!(with(&[("sec-fetch-site", "cross-site")]).await, 403);
    // A wrong key is not better than none.
    assert_eq!(with(&[("authorization", "Bearer wrong")]).await, 401);
    for path in ["/sse", "/ws"] {
        let request = anybody.request(Method::GET, path).header("host", "evil.example");
        assert_eq!(send(request).await.status, 403, "{path}");
    }
    for path in ["services", "keys", "audit", "tools", "mcp/tools"] {
        anybody.get(path).await.is(401);
    }
    anybody.post("call", json!({ "uri": "mcp://server/echo" })).await.is(401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stands_behind_a_base_path() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(serve_one(&folder, &["--base-path", "/tools/x/", "--legacy-sse"]));
    let admin = server.admin();
    assert!(server.stdout().contains("/tools/x/mcp "), "{}", server.stdout());
    let door = AtDoor::open(&admin, "/tools/x/mcp").await;
    assert!(door.names().await.contains(&"echo".to_owned()));
    assert!(
        AtDoor::open(&admin, "/tools/x/servers/server/mcp").await.names().await.contains(&"echo".to_owned())
    );
    admin.get("/tools/x/healthz").await.is(200);
    for page in ["/tools/x", "/tools/x/", "/tools/x/ui", "/tools/x/ui/", "/tools/x/ui/services"] {
        let page = admin.get(page).await.is(200);
        assert!(page.text.contains("<html"), "{}", page.text);
    }
    admin.get("/tools/x/api/v1/services").await.is(200);
    for path in ["/healthz", "/mcp", "/api/v1/services", "/tools/x/nothing", "/tools/xmcp"] {
        admin.get(path).await.is_problem(404, "NOT_FOUND");
    }
    let document = admin.get("/tools/x/api/openapi.json").await.is(200).body;
    assert_eq!(document["servers"], json!([{ "url": "/tools/x" }]));
    assert!(document["paths"]["/api/v1/services"].is_object());
    let page = admin.get("/tools/x/api/docs/").await.is(200);
    assert!(page.text.contains("<html"), "{}", page.text);
    let script = admin.get("/tools/x/api/docs/swagger-initializer.js").await.is(200);
    assert!(script.text.contains("/tools/x/api/openapi.json"), "{}", script.text);
    let sse = admin.request(Method::GET, "/tools/x/sse").header("accept", "text/event-stream");
    let mut stream = sse.send().await.unwrap();
    let first = tokio::time::timeout(PATIENCE, stream.chunk()).await.unwrap().unwrap().unwrap();
    let first = String::from_utf8(first.to_vec()).unwrap();
    assert!(first.contains("data: /tools/x/messages?session="), "{first}");
    // Keys of instances stay out of the log behind it, too.
    admin.post("/tools/x/mcp/a-secret-key", json!({})).await.is(404);
    assert!(!server.stderr().contains("a-secret-key"), "{}", server.stderr());

    for wrong in ["tools", "/a b", "/../x", "/a//b", "/ä"] {
        let mut command = process::command(BINARY);
        let output = process::run(command.args(["serve", "--base-path", wrong]));
        assert_eq!(output.status.code(), Some(2), "{wrong}: {}", said(&output).1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn takes_websockets() {
    let upstream = http::Server::start().await;
    let behind =
        TestApp::start_with(Backend::Sqlite, |settings| settings.server.max_body_bytes = 64 * 1024).await;
    behind.service(crm(&upstream)).await;
    // Our own client is at the other end: a gateway with a service on a WebSocket.
    let front = TestApp::start(Backend::Sqlite).await;
    let service = |id: &str, path: &str, key: &str| {
        let url = format!("ws://{}{path}", behind.address());
        json!({ "type": "mcp", "id": id, "config": { "type": "ws", "url": url, "headers": { "Authorization": format!("Bearer {key}") } } })
    };
    let key = behind.key().unwrap();
    front.service(service("all", "/ws", key)).await;
    front.service(service("one", "/servers/crm/ws", key)).await;
    front.service(service("wrong", "/ws", "wrong")).await;
    let order = json!({ "userId": "u1" });
    for name in ["all__crm__get_order", "one__get_order"] {
        let called = front.call_name(name, order.clone()).await.is(200);
        assert_eq!(called.body["structuredContent"]["path"], "/users/u1/orders", "{}", called.text);
    }
    let refused = front.call_name("wrong__crm__ping", json!({})).await;
    assert!(refused.text.contains("Authentication failed"), "{}", refused.text);
    let large = json!({ "userId": "x".repeat(65 * 1024) });
    let refused = front.call_name("one__get_order", large).await;
    assert!(refused.status != 200 || refused.body["isError"] == true, "{}", refused.text);
    front.call_name("one__get_order", order).await.is(200);

    let upgrade = |origin: Option<&str>| {
        let request = behind.request(Method::GET, "/ws").header("connection", "upgrade");
        let request = request.header("upgrade", "websocket").header("sec-websocket-version", "13");
        let request = request.header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        match origin {
            Some(origin) => request.header("origin", origin),
            None => request,
        }
    };
    let accepted = upgrade(None).header("sec-websocket-protocol", "mcp").send().await.unwrap();
    assert_eq!(accepted.status(), 101);
    assert_eq!(accepted.headers()["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(accepted.headers()["sec-websocket-protocol"], "mcp");
    assert_eq!(send(upgrade(Some("https://evil.example"))).await.status, 403);
    assert_eq!(send(upgrade(None).header("sec-websocket-protocol", "chat")).await.status, 400);
    behind.get("/ws").await.is(426);
    behind.as_nobody().get("/ws").await.is(401);
}

/// The client of the SDK that others wrote, on a WebSocket.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clients_of_others_come_in_on_a_websocket() {
    const SCRIPT: &str = r#"
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js";
const client = new Client({ name: "t", version: "1" });
await client.connect(new WebSocketClientTransport(new URL(process.argv[2])));
const tools = await client.listTools();
const said = await client.callTool({ name: "echo", arguments: { text: "over a socket" } });
console.log(tools.tools.some(tool => tool.name === "echo"), said.content[0].text);
await client.close();
"#;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(serve_one(&folder, &["--no-auth"]));
    let script = servers().join(format!("ws-client-{}.mjs", std::process::id()));
    std::fs::write(&script, SCRIPT).unwrap();
    let url = format!("ws://{}/ws", server.admin().address());
    let mut command = process::sheltered("node");
    command.arg(&script).arg(url).env("PATH", path_with_node());
    let output = tokio::task::spawn_blocking(move || process::run(&mut command)).await.unwrap();
    std::fs::remove_file(script).unwrap();
    let (stdout, stderr) = said(&output);
    assert_eq!(stdout.trim(), "true over a socket", "{stderr}");
}
