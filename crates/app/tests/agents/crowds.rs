//! Many who ask at once, of a model that takes its time.

use crate::world::{PATIENCE, agent};
use serde_json::json;
use std::time::{Duration, Instant};
use testkit::model::{Model, Reply};
use testkit::proc::resident_kib;
use testkit::{Backend, Client, Database, eventually, process};
use tokio::task::JoinSet;

/// As many as ask at once.
const CROWD: usize = 300;
/// Of these, as many go away.
const GONE: usize = 100;
/// What one of them may take, in a debug build with its larger futures and connections of two sides.
const KIB_PER_ASK: u64 = 512;
/// How long a stopping process lets calls go on.
const GRACE: Duration = Duration::from_secs(3);

async fn start(folder: &std::path::Path) -> process::Server {
    let database = Database::create(Backend::Sqlite).await;
    let mut command = process::serve(env!("CARGO_BIN_EXE_mcp-all-in-one"), &database, folder);
    command.args(["--allow-private-network", "--shutdown-timeout", &GRACE.as_secs().to_string()]);
    tokio::task::spawn_blocking(|| process::Server::start(command)).await.unwrap()
}

async fn ask(client: Client, agent: &'static str) {
    // Most are gone before there is an answer, or the process is.
    let request = client.request(reqwest::Method::POST, &format!("agents/{agent}/runs"));
    let _ = request.json(&json!({ "prompt": "Go." })).send().await;
}

/// F16: hundreds of runs wait for their model with bounded memory, harm no other call, are cancelled one by one, and keep no
/// process from ending.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_of_runs_harms_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let slow =
        Model::start(|_, _| Reply::Late(Duration::from_secs(120), Box::new(Reply::says("late")))).await;
    let quick = Model::replies(vec![Reply::says("here")]).await;
    let mut server = start(folder.path()).await;
    let admin = server.admin();
    for (id, model) in [("slow", &slow), ("quick", &quick)] {
        admin.post("services", agent(id, model, json!({ "tools": [] }))).await.is(201);
    }
    let (process, key) = (server.id(), server.admin_key().unwrap().to_owned());
    admin.post("agents/quick/runs", json!({ "prompt": "Are you there?" })).await.is(200);
    let before = resident_kib(process);
    let (mut leaving, mut staying) = (JoinSet::new(), JoinSet::new());
    for at in 0..CROWD {
        let asking = if at < GONE { &mut leaving } else { &mut staying };
        asking.spawn(ask(server.client(&key), "slow"));
    }
    eventually("all wait for the model", PATIENCE, async || slow.asked().len() == CROWD).await;
    let each = resident_kib(process).saturating_sub(before) / CROWD as u64;
    assert!(each < KIB_PER_ASK, "{each} KiB for each of them");
    let begun = Instant::now();
    admin.post("agents/quick/runs", json!({ "prompt": "And now?" })).await.is(200);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    leaving.shutdown().await;
    eventually("those who went are given up", PATIENCE, async || slow.given_up() == GONE).await;
    let begun = Instant::now();
    server.terminate();
    let status = tokio::task::block_in_place(|| server.wait(GRACE + PATIENCE));
    assert!(status.success(), "{status}");
    assert!(begun.elapsed() < GRACE + Duration::from_secs(10), "{:?}", begun.elapsed());
    eventually("nobody waits for the model any more", PATIENCE, async || slow.given_up() == CROWD).await;
    staying.shutdown().await;
}
