//! Children: their environment, and that none of them is ever left behind.

use super::*;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader};

#[tokio::test]
async fn a_child_has_our_environment_and_its_own() {
    let service = stdio_with(&[], json!({ "env": { "MCP_TEST_OWN": "mine" } }));
    assert_eq!(text(&*service, "env", json!({ "name": "MCP_TEST_OWN" })).await, "mine");
    let path = std::env::var("PATH").unwrap();
    assert_eq!(text(&*service, "env", json!({ "name": "PATH" })).await, path);
}

#[tokio::test]
async fn a_dropped_service_leaves_no_process_of_its_group() {
    let service = stdio(&["--linger"]);
    let pid = text(&*service, "pid", json!({})).await;
    let grandchild = text(&*service, "child", json!({})).await;
    assert!(is_running(&pid) && is_running(&grandchild));
    drop(service);
    assert!(is_true_soon(|| !is_running(&pid) && !is_running(&grandchild)).await);
}

#[tokio::test]
async fn a_service_dropped_while_connecting_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("starts");
    let service = stdio(&["--start-ms", "60000", "--count-starts", file.to_str().unwrap()]);
    let error = call_within(&*service, "echo", json!({}), Duration::from_millis(500)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let pid = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    assert!(is_running(&pid));
    drop(service);
    assert!(is_true_soon(|| !is_running(&pid)).await);
}

#[tokio::test]
async fn shutdown_ends_children_that_ignore_every_hint() {
    let env = Env::default();
    let script = format!("trap '' TERM; {} --linger; sleep 100", server_path().display());
    let settings = json!({ "command": "sh", "args": ["-c", script] });
    let service = Kind::of::<Settings>().open(settings, &env).unwrap();
    let pid = text(&*service, "pid", json!({})).await;
    env.shutdown.cancel();
    env.tasks.close();
    tokio::time::timeout(Duration::from_secs(10), env.tasks.wait()).await.unwrap();
    assert!(is_true_soon(|| !is_running(&pid)).await);
    let error = error_of(&*service, "pid", json!({})).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

/// This test is also the process that is killed: started again with `MCP_TEST_VICTIM`, it opens a
/// service, says the ids of its processes, and waits.
#[tokio::test]
async fn nothing_outlives_us_even_when_we_are_killed() {
    if std::env::var_os("MCP_TEST_VICTIM").is_some() {
        let service = stdio(&["--linger"]);
        let pid = text(&*service, "pid", json!({})).await;
        let grandchild = text(&*service, "child", json!({})).await;
        println!("\nprocesses: {pid} {grandchild}");
        tokio::time::sleep(Duration::from_secs(60)).await;
        return;
    }
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    assert!(name.ends_with("nothing_outlives_us_even_when_we_are_killed"), "{name}");
    let mut victim = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env("MCP_TEST_VICTIM", "1")
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let pids = loop {
        let line = lines.next_line().await.unwrap().expect("the victim says its processes");
        if let Some(pids) = line.strip_prefix("processes: ") {
            break pids.split(' ').map(str::to_owned).collect::<Vec<_>>();
        }
    };
    assert!(pids.iter().all(|pid| is_running(pid)), "{pids:?}");
    victim.start_kill().unwrap();
    victim.wait().await.unwrap();
    assert!(is_true_soon(|| !pids.iter().any(|pid| is_running(pid))).await, "{pids:?} are still there");
}
