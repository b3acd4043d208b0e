//! The command line: a flow in a file without a server, and runs of a server.

use crate::world::{PATIENCE, publish, shop, store};
use serde_json::{Value, json};
use std::process::{Command, Output, Stdio};
use testkit::{Backend, TestApp, eventually, http, process};

const BINARY: &str = env!("CARGO_BIN_EXE_mcp-all-in-one");

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

async fn run(args: Vec<String>) -> Output {
    tokio::task::spawn_blocking(move || process::run(process::command(BINARY).args(args))).await.unwrap()
}

/// FL-1: `flow run FILE` needs no server; what fails says so, with its place in the file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_a_file_without_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("mcp.json");
    std::fs::write(&config, "{\"mcpServers\": {}}").unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let file = write(
        "sum.yaml",
        "inputs: {a: int, b: int}\nnodes: {s: {with: a + b, next: w}, w: {wait: 50, with: s}}",
    );
    let of = |file: String, inputs: Value| {
        let config = config.display().to_string();
        ["flow", "run", &file, "--mcp-config", &config, "--inputs", &inputs.to_string()]
            .map(str::to_owned)
            .to_vec()
    };
    let ended = run(of(file.clone(), json!({ "a": 2, "b": 3 }))).await;
    assert!(ended.status.success(), "{:?}", said(&ended));
    assert_eq!(said(&ended).0.trim(), "5");
    let failed = run(of(file, json!({ "a": "x", "b": 3 }))).await;
    assert!(!failed.status.success());
    assert!(said(&failed).1.contains("VALIDATION_FAILED"), "{:?}", said(&failed));
    let broken = run(of(write("broken.yaml", "nodes:\n  s: {with: a +}\n"), json!({}))).await;
    assert!(!broken.status.success());
    assert!(said(&broken).1.contains("broken.yaml:2:"), "{:?}", said(&broken));
    let asks = run(of(write("asks.yaml", "nodes: {ok: {approval: Go}}"), json!({}))).await;
    assert!(said(&asks).1.contains("'ok' asks for an approval"), "{:?}", said(&asks));
    let absent = run(of("absent.yaml".into(), json!({}))).await;
    assert!(said(&absent).1.contains("there is no file 'absent.yaml'"), "{:?}", said(&absent));
}

/// FL-22: where there is no terminal, SIGTERM is what Ctrl-C is on one: it cancels the run that a script waits for. Stdin is
/// one thing at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_is_ended_cancels_its_run() {
    let upstream = http::Server::start().await;
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(shop(&upstream)).await;
    publish(&app, app.database(), "slow", "nodes: {s: {exec: 'api://shop/slow', args: {ms: 60000}}}").await;
    let server = format!("http://{}", app.address());
    let arguments = ["flow", "run", "slow", "--server", &server, "--token", app.key().unwrap()];
    let mut script = process::command(BINARY);
    script.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let script = script.spawn().unwrap();
    eventually("the call is under way", PATIENCE, async || upstream.requests().len() == 1).await;
    assert!(Command::new("kill").args(["-TERM", &script.id().to_string()]).status().unwrap().success());
    let ended = tokio::task::spawn_blocking(move || script.wait_with_output().unwrap()).await.unwrap();
    assert_eq!((ended.status.code(), said(&ended).0.as_str()), (Some(1), ""), "{:?}", said(&ended));
    let run = app.get("runs?flow=slow").await.is(200).items()[0]["id"].as_str().unwrap().to_owned();
    assert!(said(&ended).1.contains(&format!("run {run} is cancelled")), "{:?}", said(&ended));
    crate::world::until(&app, &run, &["cancelled"]).await;
    let both = self::run(["flow", "run", "-", "--inputs", "-"].map(str::to_owned).to_vec()).await;
    assert!(said(&both).1.contains("stdin cannot be both"), "{:?}", said(&both));
}

/// FL-23: the commands about runs do what REST does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn looks_after_runs_of_a_server() {
    let upstream = http::Server::start().await;
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(shop(&upstream)).await;
    let text = "
inputs: {key: string}
nodes:
  ok: {approval: 'Go ${key}?', next: try}
  try: {exec: 'api://shop/flaky', args: {key: '${key}'}, with: \"'done'\"}
output: ${try}
";
    publish(&app, app.database(), "asks", text).await;
    let (server, token) = (format!("http://{}", app.address()), app.key().unwrap().to_owned());
    let flow = async |args: &[&str]| {
        let mut all = vec!["flow".to_owned()];
        all.extend(args.iter().map(|arg| (*arg).to_owned()));
        all.extend(["--server".to_owned(), server.clone(), "--token".to_owned(), token.clone()]);
        run(all).await
    };
    let started = flow(&["run", "asks", "--inputs", "{\"key\":\"k\"}", "--detach"]).await;
    let id = said(&started).0.trim().to_owned();
    crate::world::until(&app, &id, &["waiting"]).await;
    let listed = said(&flow(&["approve"]).await).0;
    assert!(listed.contains("Go k?"), "{listed}");
    let approval = listed.split_whitespace().next().unwrap().to_owned();
    assert_eq!(said(&flow(&["approve", &approval]).await).0.trim(), "approved");
    crate::world::until(&app, &id, &["failed"]).await;
    let again = flow(&["approve", &approval]).await;
    assert!(!again.status.success() && said(&again).1.contains("answered already"), "{:?}", said(&again));
    let logs = said(&flow(&["logs", &id]).await).0;
    assert!(logs.contains("✓ succeeded ok") && logs.contains("✗ failed    try"), "{logs}");
    assert!(said(&flow(&["retry", &id]).await).0.contains("is queued"));
    crate::world::until(&app, &id, &["succeeded"]).await;
    let runs = said(&flow(&["runs", "--flow", "asks", "--state", "succeeded"]).await).0;
    assert!(runs.contains(&id), "{runs}");
    let replay = said(&flow(&["replay", &id, "--from", "try"]).await).0.trim().to_owned();
    crate::world::until(&app, &replay, &["succeeded"]).await;
    let waiting =
        said(&flow(&["run", "asks", "--inputs", "{\"key\":\"l\"}", "--detach"]).await).0.trim().to_owned();
    assert!(flow(&["cancel", &waiting]).await.status.success());
    crate::world::until(&app, &waiting, &["cancelled"]).await;
    let asks = "nodes: {o: {with: {order: 7}, next: ok}, ok: {approval: {title: '${o}'}}}";
    publish(&app, app.database(), "a.b", asks).await;
    let dotted = said(&flow(&["run", "a.b", "--detach"]).await).0.trim().to_owned();
    crate::world::until(&app, &dotted, &["waiting"]).await;
    let listed = said(&flow(&["approve"]).await).0;
    assert!(listed.contains(r#"{"order":7}"#), "{listed}");
    assert!(!flow(&["logs", &waiting[..8]]).await.status.success());
    store(app.database()).await.close().await;
}
