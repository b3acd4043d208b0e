//! The stand-ins for registries, checked by clients that others wrote for the real ones.

use std::process::Command;
use testkit::registry::{Consul, Expiry, Kubernetes};

/// Runs a script of this folder with the clients of Python, and gives what it prints.
async fn run(script: &str, arguments: Vec<String>) -> String {
    let clients = std::env::var("MCP_TEST_REGISTRY_CLIENTS").expect(
        "MCP_TEST_REGISTRY_CLIENTS is not set: use `make test` or `scripts/mcp-servers run cargo nextest run`",
    );
    let script = format!("{}/tests/it/registry/{script}", env!("CARGO_MANIFEST_DIR"));
    let run = move || Command::new(format!("{clients}/bin/python")).arg(script).args(arguments).output();
    let output = tokio::task::spawn_blocking(run).await.unwrap().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[tokio::test]
async fn a_client_of_consul_finds_what_it_expects() {
    let consul = Consul::start().await;
    consul.require_token("right");
    let address = consul.address();
    run("consul_client.py", vec![address.ip().to_string(), address.port().to_string()]).await;
}

#[tokio::test]
async fn a_client_of_kubernetes_finds_what_it_expects() {
    let kubernetes = Kubernetes::start().await;
    kubernetes.require_token("right");
    let version = run("kubernetes_client.py", vec![kubernetes.url()]).await;
    for expiry in [Expiry::Event, Expiry::Status] {
        kubernetes.expire(expiry);
        run("kubernetes_client.py", vec![kubernetes.url(), version.clone()]).await;
    }
}
