//! The stand-ins for registries, checked by clients that others wrote for the real ones.

use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
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

/// What Kubernetes' own command does with the stand-in. It sends no token over a connection without TLS.
fn kubectl(url: &str, home: &std::path::Path) -> Command {
    let mut command = Command::new("kubectl");
    command.env("HOME", home).env("KUBECONFIG", home.join("none"));
    command.args(["--server", url, "--namespace", "default"]);
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_finds_what_it_expects() {
    let kubernetes = Kubernetes::start().await;
    let endpoints = json!([{ "addresses": ["10.0.0.1"], "conditions": { "ready": true } }]);
    kubernetes.put("web-0", "web", &endpoints, 8080);
    kubernetes.put("other", "other", &endpoints, 8080);
    let (url, home) = (kubernetes.url(), std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubectl"));
    let work = tokio::task::spawn_blocking(move || {
        let run = |arguments: &[&str]| {
            let output = kubectl(&url, &home).args(arguments).output();
            let output = output.expect("kubectl is there; apt has it as kubernetes-client");
            let texts = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
            (output.status.success(), texts.concat())
        };
        let selector = "--selector=kubernetes.io/service-name=web";
        let shown = "--output=jsonpath={.items[*].metadata.name} {.items[*].ports[0].port}";
        assert_eq!(run(&["get", "endpointslices", selector, shown]), (true, "web-0 8080".to_owned()));
        // It lists, and goes on from there.
        let watching = [
            "get",
            "endpointslices",
            selector,
            "--watch",
            "--output=jsonpath={.metadata.name} {.metadata.resourceVersion}{'\\n'}",
        ];
        let mut watch = kubectl(&url, &home).args(watching).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines().map(Result::unwrap);
        let first = lines.next().unwrap();
        assert!(first.starts_with("web-0 "), "{first}");
        kubernetes.put("web-1", "web", &endpoints, 8081);
        assert!(lines.next().unwrap().starts_with("web-1 "));
        watch.kill().unwrap();
        watch.wait().unwrap();
        let (is_fine, said) = run(&["delete", "endpointslice", "web-1", "--wait=false"]);
        assert!(is_fine && said.contains("deleted"), "{said}");
        assert_eq!(run(&["get", "endpointslices", selector, shown]).1, "web-0 8080");
    });
    work.await.unwrap();
}
