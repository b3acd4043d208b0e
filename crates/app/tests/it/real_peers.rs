//! Servers and clients that others wrote, with the gateway between them.

use crate::binary::{BINARY, said, serve};
use crate::pipe::Pipe;
use crate::setup::{PATIENCE, example, path_with_node, servers};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::process::Server;
use testkit::{Backend, Database};

/// A server on a port of its own; it ends when dropped.
struct Peer {
    child: Child,
    port: u16,
}

impl Peer {
    /// Starts and does not wait: servers of others take their time.
    fn start(port: u16, command: &mut Command) -> Self {
        command.env("PORT", port.to_string()).env("PATH", path_with_node());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { child, port }
    }

    fn wait(&self) {
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(begun.elapsed() < PATIENCE, "nobody listens on {}", self.port);
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn node(name: &str) -> String {
    servers().join("node_modules/.bin").join(name).to_string_lossy().into_owned()
}

fn python() -> String {
    servers().join("venv/bin/python").to_string_lossy().into_owned()
}

const PYTHON_SERVER: &str = r#"
import os, sys
from mcp.server import MCPServer
server = MCPServer("python")

@server.tool()
def echo(message: str) -> str:
    """Says it back."""
    return "python says " + message

server.run("stdio") if sys.argv[1] == "stdio" else server.run("streamable-http", port=int(os.environ["PORT"]))
"#;

/// The services of an mcp.json, as a user would write it. `folder` is theirs to write in.
fn services(folder: &Path, everything: &Peer, everything_sse: &Peer, python_http: &Peer) -> Value {
    let path = path_with_node().to_string_lossy().into_owned();
    let uv = json!({ "UV_CACHE_DIR": servers().join("uv") });
    json!({
        "time": {
            "command": servers().join("venv/bin/uvx"), "args": ["--offline", "mcp-server-time@2026.10.19"], "env": uv
        },
        "everything": { "command": node("mcp-server-everything"), "args": ["stdio"], "env": { "PATH": path } },
        "everything_http": { "type": "http", "url": format!("http://127.0.0.1:{}/mcp", everything.port) },
        "everything_sse": { "type": "sse", "url": format!("http://127.0.0.1:{}/sse", everything_sse.port) },
        "files": { "command": node("mcp-server-filesystem"), "args": [folder], "env": { "PATH": path } },
        "memory": {
            "command": node("mcp-server-memory"),
            "env": { "PATH": path, "MEMORY_FILE_PATH": folder.join("memory.json") }
        },
        "python": { "command": python(), "args": ["-c", PYTHON_SERVER, "stdio"] },
        "python_http": { "type": "http", "url": format!("http://127.0.0.1:{}/mcp", python_http.port) },
        "rmcp": { "command": example("conformance_server"), "args": ["stdio", "legacy"] },
        "rmcp_modern": { "command": example("conformance_server"), "args": ["stdio", "modern"] }
    })
}

/// MC-1, MC-2, MC-3, PX-3, PX-4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_others_answer_through_the_gateway() {
    let port = async || testkit::http::dead_address().await.port();
    let everything = Peer::start(
        port().await,
        testkit::process::sheltered(node("mcp-server-everything")).arg("streamableHttp"),
    );
    let everything_sse =
        Peer::start(port().await, testkit::process::sheltered(node("mcp-server-everything")).arg("sse"));
    let python_http =
        Peer::start(port().await, testkit::process::sheltered(python()).args(["-c", PYTHON_SERVER, "http"]));
    tokio::task::spawn_blocking(move || {
        [&everything, &everything_sse, &python_http].into_iter().for_each(Peer::wait);
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::write(root.join("note.txt"), "written by a test").unwrap();
        let services = services(&root, &everything, &everything_sse, &python_http);
        let mut client = Pipe::start(&services);
        client.hello("2025-11-25");
        every_service_is_listed(&mut client, &services);
        let mut says = |tool: &str, arguments: Value, expected: &str| {
            let text = client.text(tool, arguments);
            assert!(text.contains(expected), "{tool}: {text}");
        };
        says("time__get_current_time", json!({ "timezone": "UTC" }), "UTC");
        for name in ["everything", "everything_http", "everything_sse"] {
            says(&format!("{name}__echo"), json!({ "message": "hello there" }), "hello there");
        }
        says("files__read_text_file", json!({ "path": root.join("note.txt") }), "written by a test");
        let entity = json!({ "name": "Ada", "entityType": "person", "observations": ["counts"] });
        says("memory__create_entities", json!({ "entities": [entity] }), "Ada");
        says("memory__read_graph", json!({}), "counts");
        says("python__echo", json!({ "message": "hi" }), "python says hi");
        says("python_http__echo", json!({ "message": "hi" }), "python says hi");
        says("rmcp__test_simple_text", json!({}), "simple text");
        says("rmcp_modern__test_simple_text", json!({}), "simple text");
    })
    .await
    .unwrap();
}

/// Late services arrive later; each must arrive.
fn every_service_is_listed(client: &mut Pipe, services: &Value) {
    let begun = Instant::now();
    loop {
        let names = client.names();
        let is_listed =
            |service: &&String| names.iter().any(|name| name.starts_with(&format!("{service}__")));
        let missing: Vec<_> = services.as_object().unwrap().keys().filter(|name| !is_listed(name)).collect();
        if missing.is_empty() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{missing:?} are not listed");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The gateway over HTTP with two services.
async fn gateway() -> (Server, Database) {
    let database = Database::create(Backend::Sqlite).await;
    std::fs::create_dir_all(database.data_dir()).unwrap();
    let config = database.data_dir().join("mcp.json");
    let services = json!({
        "rmcp": { "command": example("conformance_server"), "args": ["stdio"] },
        "python": { "command": python(), "args": ["-c", PYTHON_SERVER, "stdio"] }
    });
    std::fs::write(&config, json!({ "mcpServers": services }).to_string()).unwrap();
    let mut command = serve(&database);
    command.arg("--mcp-config").arg(&config);
    (Server::start(command), database)
}

/// Runs a client to its end; it must be content.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.env("PATH", path_with_node()).stdin(Stdio::null()).output().unwrap();
    let (stdout, stderr) = said(&output);
    assert!(output.status.success(), "{:?} failed:\n{stdout}\n{stderr}", command.get_program());
    stdout
}

const PYTHON_CLIENT: &str = r#"
import asyncio, sys
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

async def use(server, mode):
    async with Client(server, mode=mode, read_timeout_seconds=30) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        said = (await client.call_tool("python__echo", {"message": "from " + mode})).content[0].text
        progress = []
        async def on_progress(done, total, message):
            progress.append(done)
        await client.call_tool("rmcp__test_tool_with_progress", {}, progress_callback=on_progress)
        print(client.protocol_version, "rmcp__test_simple_text" in names, said, progress)

async def main(kind, target, rest):
    if kind == "stdio":
        for mode in rest[1].split(","):
            server = StdioServerParameters(command=target, args=["--silent", "stdio", "--mcp-config", rest[0]])
            await use(server, mode)
    else:
        for mode in rest[1].split(","):
            http = httpx2.AsyncClient(headers={"Authorization": "Bearer " + rest[0]}, timeout=30)
            await use(streamable_http_client(target, http_client=http), mode)

asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
"#;

/// pip `mcp` opens with `server/discover` unless told otherwise.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_client_is_content_in_every_mode() {
    let (gateway, database) = gateway().await;
    let url = format!("http://{}/mcp", gateway.address());
    let (key, modes) = (gateway.admin_key().unwrap(), "legacy,auto,2026-07-28");
    let expected =
        |version: &str, mode: &str| format!("{version} True python says from {mode} [0.0, 50.0, 100.0]\n");
    let expected = expected("2025-11-25", "legacy")
        + &expected("2026-07-28", "auto")
        + &expected("2026-07-28", "2026-07-28");
    let over_http =
        run(testkit::process::sheltered(python()).args(["-c", PYTHON_CLIENT, "http", &url, key, modes]));
    assert_eq!(over_http, expected);
    let config = database.data_dir().join("mcp.json");
    let on_stdio = run(testkit::process::sheltered(python())
        .args(["-c", PYTHON_CLIENT, "stdio", BINARY])
        .arg(config)
        .arg(modes));
    assert_eq!(on_stdio, expected);
}

const NODE_CLIENT: &str = r#"
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
const [kind, target, rest] = process.argv.slice(1);
const transport = kind === "stdio"
  ? new StdioClientTransport({ command: target, args: ["--silent", "stdio", "--mcp-config", rest] })
  : new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { Authorization: `Bearer ${rest}` } } });
const client = new Client({ name: "node", version: "1" }, { capabilities: {} });
await client.connect(transport);
const names = (await client.listTools()).tools.map((tool) => tool.name);
const said = await client.callTool({ name: "python__echo", arguments: { message: "from node" } });
const progress = [];
await client.callTool({ name: "rmcp__test_tool_with_progress", arguments: {} }, undefined,
  { onprogress: (step) => progress.push(step.progress) });
console.log(names.includes("rmcp__test_simple_text"), said.content[0].text, JSON.stringify(progress));
await client.close();
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_npm_client_is_content_at_both_doors() {
    let (gateway, database) = gateway().await;
    let node = |kind: &str, target: &str, rest: &str| {
        let mut command = testkit::process::sheltered(node("node"));
        command.current_dir(servers()).args(["--input-type=module", "-e", NODE_CLIENT, kind, target, rest]);
        run(&mut command)
    };
    let expected = "true python says from node [0,50,100]\n";
    let url = format!("http://{}/mcp", gateway.address());
    assert_eq!(node("http", &url, gateway.admin_key().unwrap()), expected);
    let config = database.data_dir().join("mcp.json");
    assert_eq!(node("stdio", BINARY, &config.to_string_lossy()), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_inspector_is_content_in_every_era() {
    let (gateway, database) = gateway().await;
    let url = format!("http://{}/mcp", gateway.address());
    let header = format!("Authorization: Bearer {}", gateway.admin_key().unwrap());
    for era in ["legacy", "auto", "modern"] {
        let inspect = |more: &[&str]| {
            let mut command = testkit::process::sheltered(node("mcp-inspector"));
            command.env("HOME", database.data_dir());
            command.args(["--cli", &url, "--header", &header, "--protocol-era", era, "--method"]).args(more);
            run(&mut command)
        };
        // Each start of it costs seconds.
        if era != "auto" {
            let listed = inspect(&["tools/list"]);
            assert!(listed.contains("rmcp__test_simple_text"), "{era}: {listed}");
        }
        if era == "legacy" {
            continue;
        }
        let called =
            inspect(&["tools/call", "--tool-name", "python__echo", "--tool-arg", &format!("message={era}")]);
        assert!(called.contains(&format!("python says {era}")), "{era}: {called}");
    }
}
