//! Servers of three SDKs that speak both eras: through the gateway they score as they do without it.

use super::suite::{Suite, last_lines};
use super::{Fixture, Gateway};
use crate::setup::{path_with_node, servers};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

fn peer(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/conformance/peers").join(file)
}

fn python() -> Command {
    let mut command = testkit::process::sheltered(servers().join("venv/bin/python"));
    command.arg(peer("server.py"));
    command
}

fn typescript() -> Command {
    let mut command = testkit::process::sheltered("node");
    command.env("PATH", path_with_node()).arg(peer("server.mjs")).arg(servers());
    command
}

async fn scores_as_without_us(fixture: &Fixture, version: &str) {
    let suite = Suite::without_exceptions(version);
    let gateway = Gateway::start(json!({ "type": "http", "url": fixture.url })).await;
    let without_us = suite.score_server(&fixture.url).await;
    let through_us = suite.score_server(&gateway.url()).await;
    let log = || last_lines(&gateway.server.stderr(), 30);
    assert_eq!(through_us, without_us, "{version}: the gateway's log:\n{}", log());
    // Equal because both failed would be no success.
    let failing: Vec<_> = without_us.iter().filter(|(_, score)| score.failed > 0).collect();
    assert!(failing.is_empty(), "{version}: the fixture fails by itself: {failing:?}");
}

async fn scores_as_without_us_in_both_eras(command: Command) {
    let fixture = Fixture::spawn(command);
    scores_as_without_us(&fixture, "2025-11-25").await;
    scores_as_without_us(&fixture, "2026-07-28").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rust_server_of_both_eras_scores_as_without_us() {
    scores_as_without_us_in_both_eras(Fixture::command("both")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_python_server_of_both_eras_scores_as_without_us() {
    scores_as_without_us_in_both_eras(python()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_typescript_server_of_both_eras_scores_as_without_us() {
    scores_as_without_us_in_both_eras(typescript()).await;
}
