//! A disk that is full: calls go on, management says so, and once there is room all is as before.

use crate::binary::serve;
use crate::setup::{PATIENCE, audited, crm};
use serde_json::json;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use testkit::process::{self, Server};
use testkit::{Backend, Database, eventually, http};

/// A server whose data folder is a small disk of its own, in a mount namespace that needs no rights.
struct SmallDisk {
    server: Server,
    folder: PathBuf,
    _database: Database,
    _upstream: http::Server,
}

impl SmallDisk {
    /// The server with a service; nothing where this machine lets us have no disk of our own.
    async fn start() -> Option<Self> {
        if !has_namespaces() {
            return None;
        }
        let (upstream, database) = (http::Server::start().await, Database::create(Backend::Sqlite).await);
        let folder = database.data_dir();
        std::fs::create_dir_all(&folder).unwrap();
        let server = Server::start(Self::command(&serve(&database), &folder));
        let folder = PathBuf::from(format!("/proc/{}/root{}", server.id(), folder.display()));
        assert!(folder.join("data.db").exists(), "the disk of the server can be seen: {}", folder.display());
        server.admin().post("services", crm(&upstream)).await.is(201);
        Some(Self { server, folder, _database: database, _upstream: upstream })
    }

    /// The command of the server, with a disk of 8 MB at `folder`.
    fn command(inner: &Command, folder: &Path) -> Command {
        let mut command = process::sheltered("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c"]);
        command.arg("mount -t tmpfs -o size=8m,mode=700 none \"$0\" && exec \"$@\"").arg(folder);
        command.arg(inner.get_program()).args(inner.get_args());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    fn ballast(&self) -> PathBuf {
        self.folder.join("ballast")
    }

    /// Leaves not one byte.
    fn fill(&self) {
        fill(&self.ballast());
    }

    fn make_room(&self) {
        std::fs::remove_file(self.ballast()).unwrap();
    }
}

fn fill(path: &Path) {
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    for size in [64 * 1024, 4096, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
}

/// Whether this machine lets us have a disk of our own. Where it does not, the test fails on purpose
/// in CI and says so loudly elsewhere.
fn has_namespaces() -> bool {
    let probe = process::sheltered("unshare").args(["--map-root-user", "--mount", "true"]).output();
    let is_able = probe.is_ok_and(|output| output.status.success());
    assert!(
        is_able || std::env::var_os("CI").is_none(),
        "CI must be able to run 'unshare --map-root-user --mount'"
    );
    if !is_able {
        let said =
            b"NOT TESTED: a full disk needs 'unshare --map-root-user --mount', which this machine refuses\n";
        std::io::stderr().write_all(said).unwrap();
    }
    is_able
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn goes_on_with_a_full_disk_and_recovers_by_itself() {
    let Some(mut disk) = SmallDisk::start().await else { return };
    let admin = disk.server.admin();
    admin.get("/readyz").await.is(200);
    for _ in 0..2 {
        disk.fill();
        // The log of the database may have some room of its own left.
        let large = json!({ "name": "t", "data": "x".repeat(300_000) });
        for _ in 0..3 {
            let reply = admin.post("tables", large.clone()).await.is_problem(503, "UNAVAILABLE");
            assert!(reply.string("detail").contains("full"), "{}", reply.text);
        }
        for n in 0..30 {
            let reply = admin.call("api://crm/get_order", json!({ "userId": format!("u{n}") })).await.is(200);
            assert_eq!(reply.body["isError"], false, "calls go on");
        }
        eventually("readiness says why not", PATIENCE, async || {
            let reply = admin.get("/readyz").await;
            reply.status == 503 && reply.text.contains("full")
        })
        .await;
        admin.get("services").await.is(200);
        disk.make_room();
        eventually("it is ready again", PATIENCE, async || admin.get("/readyz").await.status == 200).await;
        let made = admin.post("tables", large).await.is(201);
        admin.delete(&format!("tables/{}", made.string("id"))).await.is(204);
    }
    audited(&admin, "service=crm&status=ok", 60).await;
    disk.server.terminate();
    assert!(disk.server.wait(Duration::from_secs(60)).success(), "{}", disk.server.stderr());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_in_time_with_a_full_disk() {
    let Some(mut disk) = SmallDisk::start().await else { return };
    let admin = disk.server.admin();
    disk.fill();
    admin
        .post("tables", json!({ "name": "t", "data": "x".repeat(300_000) }))
        .await
        .is_problem(503, "UNAVAILABLE");
    for n in 0..30 {
        admin.call("api://crm/get_order", json!({ "userId": format!("last-{n}") })).await.is(200);
    }
    let kept = admin.get("audit?service=crm&limit=1000").await.is(200).text;
    disk.server.terminate();
    assert!(disk.server.wait(Duration::from_secs(90)).success(), "{}", disk.server.stderr());
    // Records that could be kept nowhere else stand in the log.
    let log = disk.server.stderr();
    for n in 0..30 {
        let call = format!("last-{n}");
        assert!(kept.contains(&call) || log.contains(&call), "{call} is nowhere on record: {log}");
    }
}

/// F11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_leaves_the_old_object_whole() {
    let Some(disk) = SmallDisk::start().await else { return };
    let admin = disk.server.admin();
    admin.post("services", json!({ "type": "oss", "id": "docs", "config": {} })).await.is(201);
    let save = async |content: String| {
        admin.call("oss://docs/save", json!({ "key": "a.txt", "content": content })).await
    };
    let old = "old".repeat(10_000);
    save(old.clone()).await.is(200);
    disk.fill();
    let reply = save("new".repeat(100_000)).await;
    assert!(reply.text.contains("full"), "{}", reply.text);
    let loaded = admin.call("oss://docs/load", json!({ "key": "a.txt" })).await.is(200);
    assert_eq!(loaded.body["structuredContent"]["content"], old.as_str(), "the old object is whole");
    disk.make_room();
    save("new".repeat(100_000)).await.is(200);
}
