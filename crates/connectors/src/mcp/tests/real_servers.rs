//! Servers that others wrote, installed by `scripts/mcp-servers`.

use super::*;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// The folder with the servers. Tests that need it fail without it: skipping would hide them.
fn servers() -> PathBuf {
    let folder = std::env::var_os("MCP_TEST_SERVERS");
    folder.expect("MCP_TEST_SERVERS is not set; run the tests with scripts/mcp-servers run CMD").into()
}

fn everything() -> PathBuf {
    servers().join("node_modules/.bin/mcp-server-everything")
}

async fn free_port() -> u16 {
    testkit::http::dead_address().await.port()
}

/// Starts a server on a port and waits until it listens.
async fn listening(mut command: Command, port: u16) -> Child {
    command.env("PORT", port.to_string()).stdout(std::process::Stdio::null()).kill_on_drop(true);
    let child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    for _ in 0..300 {
        if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            return child;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{command:?} does not listen on {port}");
}

async fn calls_echo_and_lists(service: &dyn Connector) {
    let tools = service.tools(&context(Duration::from_secs(30))).await.unwrap();
    assert!(tools.iter().any(|tool| tool.name() == "echo"), "{tools:?}");
    let result = call(service, "echo", json!({ "message": "hello there" })).await.unwrap();
    assert!(result.to_result().contains("hello there"), "{}", result.to_result());
    service.health(&context(Duration::from_secs(10))).await.unwrap();
}

/// MC-1
#[tokio::test]
async fn server_everything_on_stdio() {
    let service = open(json!({ "command": everything(), "args": ["stdio"] })).unwrap();
    calls_echo_and_lists(&*service).await;
}

/// MC-1
#[tokio::test]
async fn server_everything_over_streamable_http() {
    let port = free_port().await;
    let mut command = Command::new(everything());
    command.arg("streamableHttp");
    let server = listening(command, port).await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let service = open(json!({ "url": url, "allow_private_network": true })).unwrap();
    calls_echo_and_lists(&*service).await;
    // MC-4: a restarted server knows no session.
    drop(server);
    let mut command = Command::new(everything());
    command.arg("streamableHttp");
    let _server = loop_until_free(command, port).await;
    calls_echo_and_lists(&*service).await;
}

async fn loop_until_free(command: Command, port: u16) -> Child {
    while TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    listening(command, port).await
}

/// MC-1
#[tokio::test]
async fn server_everything_over_sse_with_and_without_its_type() {
    let port = free_port().await;
    let mut command = Command::new(everything());
    command.arg("sse");
    let _server = listening(command, port).await;
    let url = format!("http://127.0.0.1:{port}/sse");
    for settings in [
        json!({ "type": "sse", "url": url, "allow_private_network": true }),
        json!({ "url": url, "allow_private_network": true }),
    ] {
        calls_echo_and_lists(&*open(settings).unwrap()).await;
    }
}

const PYTHON_SERVER: &str = r#"
import os, sys
try:
    from mcp.server.fastmcp import FastMCP as Server
except ImportError:
    from mcp.server import MCPServer as Server
server = Server("python")

@server.tool()
def echo(message: str) -> str:
    """Says it back."""
    return "python says " + message

if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    server.run("streamable-http", port=int(os.environ["PORT"]))
"#;

/// MC-1
#[tokio::test]
async fn python_mcp_on_stdio_and_over_http() {
    let python = servers().join("venv/bin/python");
    let service = open(json!({ "command": python, "args": ["-c", PYTHON_SERVER, "stdio"] })).unwrap();
    calls_echo_and_lists(&*service).await;
    let port = free_port().await;
    let mut command = Command::new(python);
    command.args(["-c", PYTHON_SERVER, "http"]);
    let _server = listening(command, port).await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let service = open(json!({ "url": url, "type": "http", "allow_private_network": true })).unwrap();
    calls_echo_and_lists(&*service).await;
}
