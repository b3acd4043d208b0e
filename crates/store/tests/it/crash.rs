//! kill -9 in the middle of writes: what was acknowledged is there, and nothing is half-written.

use crate::backend::{Backend, acme, new_service, new_user};
use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use store::{Filter, Options, PageRequest, Store, Vault};
use tokio::task::JoinSet;

on_both! {
    keeps_every_acknowledged_write_when_killed
}

const CHILD: &str = "STORE_TEST_CRASH_URL";
const FOLDER: &str = "STORE_TEST_CRASH_FOLDER";

async fn keeps_every_acknowledged_write_when_killed(db: Arc<Backend>) {
    if let Ok(url) = std::env::var(CHILD) {
        return write_forever(url).await;
    }
    db.open_with_tenants().await.close().await;
    for round in 0..3 {
        let acknowledged = run_and_kill(&db, 40);
        let store = db.open().await;
        let page = PageRequest { page: 1, limit: 1000 };
        let audit = store
            .audit()
            .query(&acme(), &Filter::default(), PageRequest { page: 1, limit: 5000 })
            .await
            .unwrap();
        let users: HashSet<_> = store
            .users()
            .list(&acme(), page)
            .await
            .unwrap()
            .items
            .into_iter()
            .map(|user| user.username)
            .collect();
        let services = store.services().all(&acme()).await.unwrap();
        let audited: HashSet<_> = audit.items.iter().map(|row| &*row.id).collect();
        for name in &acknowledged {
            assert!(users.contains(name), "round {round}: user {name} was lost");
            assert!(
                services.iter().any(|service| service.id == *name),
                "round {round}: service {name} was lost"
            );
            assert!(audited.contains(name.as_str()), "round {round}: audit of {name} was lost");
        }
        assert!(services.iter().all(|service| service.tools.len() == 2), "no service without its tools");
        store.close().await;
    }
}

/// Lets the child acknowledge some writes, then kills it while it is busy with more.
fn run_and_kill(db: &Backend, enough: usize) -> Vec<String> {
    let test = format!(
        "crash::{}::keeps_every_acknowledged_write_when_killed",
        format!("{:?}", db.kind).to_lowercase()
    );
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--nocapture"])
        .env(CHILD, &db.url)
        .env(FOLDER, db.data_dir())
        .env("TMPDIR", db.data_dir())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = Vec::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while let Some(Ok(line)) = lines.next() {
        let Some(name) = line.strip_prefix("acknowledged ") else { continue };
        acknowledged.push(name.to_owned());
        if acknowledged.len() == enough {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(acknowledged.len() >= enough, "the child ended early: {acknowledged:?}");
    acknowledged
}

async fn write_forever(url: String) {
    let folder = std::env::var(FOLDER).unwrap();
    let vault = Vault::load(folder.as_ref(), None).unwrap();
    let store = Store::open(&Options::new(url), vault).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..4 {
        let store = store.clone();
        writers.spawn(async move {
            for n in 0.. {
                let name = format!("p{}-{writer}-{n}", std::process::id());
                store.users().create(&acme(), new_user(&name)).await.unwrap();
                store.services().create(&acme(), new_service(&name)).await.unwrap();
                store.audit().append(&[crate::audit::row("acme", &name, n)]).await.unwrap();
                println!("\nacknowledged {name}");
            }
        });
    }
    while let Some(result) = writers.join_next().await {
        result.unwrap();
    }
}
