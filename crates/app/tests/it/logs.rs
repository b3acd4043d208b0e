//! A log that nobody can write to or nobody reads: everything else goes on.

use crate::binary::{BINARY, serve};
use crate::setup::{audited, crm};
use serde_json::json;
use std::fs::File;
use std::process::Stdio;
use std::time::Duration;
use testkit::process::{self, Server};
use testkit::{Backend, Database, http};

/// More than a pipe holds, in log lines.
const CALLS: usize = 300;

async fn serves_whatever_becomes_of_its_log(stderr: Stdio) {
    let upstream = http::Server::start().await;
    let database = Database::create(Backend::Sqlite).await;
    let mut command = serve(&database);
    command.args(["--log-level", "debug"]);
    let mut server = Server::start_with_stderr(command, stderr);
    let admin = server.admin();
    admin.post("services", crm(&upstream)).await.is(201);
    let long = "x".repeat(500);
    for n in 0..CALLS {
        let arguments = json!({ "userId": format!("{n}-{long}") });
        admin.call("api://crm/get_order", arguments).await.is(200);
    }
    admin.call("api://crm/fail", json!({})).await.is(200);
    audited(&admin, "service=crm", i64::try_from(CALLS).unwrap() + 1).await;
    server.terminate();
    assert!(server.wait(Duration::from_secs(60)).success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serves_with_a_log_on_a_full_disk() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    serves_whatever_becomes_of_its_log(full.into()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serves_with_a_log_whose_reader_has_gone() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    serves_whatever_becomes_of_its_log(writer.into()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serves_with_a_log_that_nobody_reads() {
    let (_reader, writer) = std::io::pipe().unwrap();
    serves_whatever_becomes_of_its_log(writer.into()).await;
}

#[test]
fn ends_commands_quietly_when_nobody_reads_their_results() {
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let gone = || Stdio::from(std::io::pipe().unwrap().1);
    for (stdout, stderr) in [(gone(), gone()), (full(), full()), (gone(), full())] {
        let mut command = process::command(BINARY);
        let status = command.args(["completions", "bash"]).stdout(stdout).stderr(stderr).status().unwrap();
        assert_eq!(status.code(), Some(0));
    }
    // A failure that nobody hears of is still one, and no panic.
    for stderr in [gone(), full()] {
        let mut command = process::command(BINARY);
        command.args(["config", "validate", "/nowhere/mcp.json"]).stdout(gone()).stderr(stderr);
        assert_eq!(command.status().unwrap().code(), Some(1));
    }
}
