//! The command line: what it prints, what it returns, and what it says when something is wrong.

use crate::binary::{BINARY, said, serve};
use crate::setup::crm;
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::Stdio;
use testkit::process::{self, Server};
use testkit::{Backend, Database, http};

pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the binary to its end, with this on stdin.
pub(crate) async fn run_with(stdin: &'static str, arguments: &[&str]) -> Ended {
    let mut command = process::command(BINARY);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    });
    let output = output.await.unwrap();
    let (stdout, stderr) = said(&output);
    Ended { code: output.status.code(), stdout, stderr }
}

pub(crate) async fn run(arguments: &[&str]) -> Ended {
    run_with("", arguments).await
}

#[tokio::test]
async fn says_its_version_and_completes_shells() {
    let version = run(&["--version"]).await;
    assert_eq!((version.code, version.stdout.as_str()), (Some(0), "mcp-all-in-one 1.0.0\n"));
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]).await;
        assert_eq!(script.code, Some(0));
        assert!(script.stdout.contains("mcp-all-in-one") && script.stdout.contains("rotate-key"), "{shell}");
    }
    let help = run(&["serve", "--help"]).await;
    for flag in ["--listen", "--database", "--data-dir", "--allow-private-network"] {
        assert!(help.stdout.contains(flag), "{flag}: {}", help.stdout);
    }
}

#[tokio::test]
async fn says_what_is_wrong_with_flags() {
    for (arguments, reason) in [
        (&["serve", "--listen", "nowhere"][..], "--listen"),
        (&["serve", "--colour", "red"], "--colour"),
        (&["dance"], "dance"),
        (&["call"], "URI"),
        (&["call", "no uri"], "no uri"),
        (&["completions", "cmd"], "cmd"),
        (&["serve", "--call-timeout", "0"], "--call-timeout"),
    ] {
        let ended = run(arguments).await;
        assert_eq!(ended.code, Some(2), "{arguments:?}");
        assert!(ended.stderr.contains(reason), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stdout.is_empty());
    }
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    for (arguments, reason) in [
        (&["--log-level", "loud=x=y", "serve"][..], "log level"),
        (
            &["serve", "--listen", "127.0.0.1:0", "--data-dir", dir, "--database", "mysql://x"],
            "sqlite: or postgres:",
        ),
        (&["serve", "--listen", "127.0.0.1:0", "--data-dir", "/proc/nope"], "/proc/nope"),
        (&["serve", "--listen", "127.0.0.1:0", "--data-dir", dir, "--master-key", "short"], "master key"),
        (
            &[
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--data-dir",
                dir,
                "--database",
                "postgres://me:hunter2@127.0.0.1:1/x",
            ],
            "database cannot be opened",
        ),
    ] {
        let ended = run(arguments).await;
        assert_eq!(ended.code, Some(1), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(reason), "{arguments:?}: {}", ended.stderr);
        assert!(!ended.stderr.contains("hunter2") && !ended.stderr.contains("panicked"), "{}", ended.stderr);
    }
}

#[tokio::test]
async fn says_what_to_do_about_a_port_in_use() {
    let holder = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = holder.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let ended = run(&["serve", "--listen", &address, "--data-dir", folder.path().to_str().unwrap()]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains(&format!("cannot listen on {address}")), "{}", ended.stderr);
    assert!(ended.stderr.contains("--listen"), "advice: {}", ended.stderr);
    assert!(!folder.path().join("data.db").exists(), "nothing was begun");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_a_tool_and_exits_by_how_it_ended() {
    let upstream = http::Server::start().await;
    let database = Database::create(Backend::Sqlite).await;
    let server = Server::start(serve(&database));
    server.admin().post("services", crm(&upstream)).await.is(201);
    let url = format!("http://{}", server.address());
    let at = ["--server", &url, "--token", server.admin_key().unwrap()];
    let call = async |arguments: &[&str], stdin| run_with(stdin, &[arguments, &at].concat()).await;
    let order = "api://crm/get_order";

    let good = call(&["call", order, "--args", r#"{"userId":"ada"}"#], "").await;
    assert_eq!(good.code, Some(0), "{}", good.stderr);
    let data: Value = serde_json::from_str(&good.stdout).unwrap();
    assert_eq!(data["path"], "/users/ada/orders");
    let file = database.data_dir().join("arguments.json");
    std::fs::write(&file, r#"{"userId":"from-file"}"#).unwrap();
    let argument = format!("@{}", file.display());
    let from_file = call(&["call", order, "--args", &argument], "").await;
    assert!(from_file.stdout.contains("/users/from-file/orders"), "{}{}", from_file.stdout, from_file.stderr);
    let from_stdin = call(&["call", order, "--args", "-"], r#"{"userId":"from-stdin"}"#).await;
    assert!(from_stdin.stdout.contains("/users/from-stdin/orders"), "{}", from_stdin.stderr);

    let failed = call(&["call", "api://crm/fail"], "").await;
    assert_eq!(failed.code, Some(1));
    assert!(failed.stdout.contains("HTTP 404"), "{}", failed.stdout);
    for (arguments, reason) in [
        (&["call", order][..], "Missing required parameter 'userId'"),
        (&["call", "api://crm/dance"], "TOOL_NOT_FOUND"),
        (&["call", order, "--args", "{"], "no JSON"),
        (&["call", order, "--args", "[]"], "JSON object"),
        (&["call", order, "--args", "@/nowhere"], "/nowhere"),
    ] {
        let refused = call(arguments, "").await;
        assert_eq!(refused.code, Some(1), "{arguments:?}");
        assert!(refused.stderr.contains(reason), "{arguments:?}: {}", refused.stderr);
        assert!(refused.stdout.is_empty());
    }
    let stranger = run(&["call", "api://crm/ping", "--server", &url, "--token", "wrong"]).await;
    assert!(stranger.code == Some(1) && stranger.stderr.contains("--token"), "{}", stranger.stderr);
    let nobody_there = run(&["call", "api://crm/ping", "--server", "http://127.0.0.1:1"]).await;
    assert!(nobody_there.code == Some(1) && nobody_there.stderr.contains("mcp-all-in-one serve"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_tools_for_people_and_for_programs() {
    let upstream = http::Server::start().await;
    let database = Database::create(Backend::Sqlite).await;
    let server = Server::start(serve(&database));
    server.admin().post("services", crm(&upstream)).await.is(201);
    let url = format!("http://{}", server.address());
    let at = ["--server", &url, "--token", server.admin_key().unwrap()];
    let plain = run(&[&["tools"][..], &at].concat()).await;
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    let lines: Vec<_> = plain.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{}", plain.stdout);
    assert_eq!(lines[1], "crm__get_order  [crm] Finds orders of a user");
    let json = run(&[&["tools", "--json"][..], &at].concat()).await;
    let tools: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&tools[0]["name"], tools.as_array().unwrap().len()), (&json!("crm__fail"), 4));
    assert!(tools[0]["inputSchema"].is_object());
}

/// Whoever tries the server out on their own machine may take any token; it is said that it can be guessed.
#[tokio::test]
async fn takes_short_admin_tokens_on_this_machine_alone() {
    let refused = run(&["serve", "--listen", "0.0.0.0:0", "--admin-token", "letmein"]).await;
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("take at least 16 characters"), "{}", refused.stderr);
    let database = Database::create(Backend::Sqlite).await;
    let mut command = serve(&database);
    command.args(["--admin-token", "letmein"]);
    let server = Server::start_with_stderr(command, Stdio::piped());
    server.client("letmein").get("auth/me").await.is(200);
    assert!(server.stderr().contains("can be guessed"), "{}", server.stderr());
}

#[tokio::test]
async fn refuses_tokens_that_are_none_and_origins_that_are_none() {
    for (flag, value, said) in [
        ("--admin-token", " ", "it is empty"),
        ("--cors-origin", "foo", "https://app.example.com"),
        ("--cors-origin", "*", "https://app.example.com"),
        ("--cors-origin", "https://app.example.com/path", "https://app.example.com"),
    ] {
        let refused = run(&["serve", "--listen", "127.0.0.1:0", flag, value]).await;
        assert_eq!(refused.code, Some(2), "{flag} {value}: {}", refused.stderr);
        assert!(refused.stderr.contains(said), "{flag} {value}: {}", refused.stderr);
    }
}
