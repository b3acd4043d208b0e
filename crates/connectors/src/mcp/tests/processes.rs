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
async fn churn_leaves_neither_processes_nor_zombies() {
    for round in 0..15 {
        let service = stdio(&[]);
        let pid = text(&*service, "pid", json!({})).await;
        if round % 3 == 0 {
            kill(&pid);
        }
    }
    assert!(is_true_soon(|| children().is_empty()).await, "{:?}", children());
}

/// A service whose child leads a session of its own, and the file with that child's id.
fn with_session_of_its_own(folder: &tempfile::TempDir) -> (Arc<dyn Connector>, std::path::PathBuf) {
    let file = folder.path().join("id");
    let script = format!(
        "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $! > {}; exec {} --linger",
        file.display(),
        server_path().display()
    );
    let service = open(json!({ "command": "sh", "args": ["-c", script] })).unwrap();
    (service, file)
}

#[tokio::test]
async fn a_grandchild_in_a_session_of_its_own_ends_with_its_service() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [(service, file), (other, others_file)] = [0, 1].map(|at| with_session_of_its_own(&folders[at]));
    for service in [&service, &other] {
        text(&**service, "pid", json!({})).await;
    }
    let [far, others] =
        [file, others_file].map(|file| std::fs::read_to_string(file).unwrap().trim().to_owned());
    assert!(is_running(&far) && is_running(&others));
    drop(service);
    assert!(is_true_soon(|| !is_running(&far)).await, "{far} is still there");
    assert!(is_running(&others), "it belongs to another service");
    drop(other);
    assert!(is_true_soon(|| !is_running(&others)).await, "{others} is still there");
}

/// Our children, zombies included.
fn children() -> Vec<String> {
    let own = std::process::id().to_string();
    let stats = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let stat = std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
        let parent = stat.rsplit(") ").next()?.split(' ').nth(1)?.to_owned();
        (parent == own).then_some(stat)
    });
    stats.collect()
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
        let folder = tempfile::tempdir().unwrap();
        let (other, file) = with_session_of_its_own(&folder);
        let other = text(&*other, "pid", json!({})).await;
        let far = std::fs::read_to_string(&file).unwrap().trim().to_owned();
        println!("\nprocesses: {pid} {grandchild} {other} {far}");
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
