//! Faults: a locked, full or lost database is unavailable, nothing worse, and comes back.

use crate::backend::{Backend, Kind, acme, eventually, new_service, new_tenant, new_user};
use sqlx::{Connection as _, Executor as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use store::{ErrorKind, Options, PageRequest, Store};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Stands between store and server, and can be cut.
struct Proxy {
    address: SocketAddr,
    is_up: watch::Sender<bool>,
}

impl Proxy {
    async fn start(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (is_up, state) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *state.borrow() {
                    tokio::spawn(forward(client, server.clone(), state.clone()));
                }
            }
        });
        Self { address, is_up }
    }
}

async fn forward(mut client: TcpStream, server: String, mut state: watch::Receiver<bool>) {
    let mut server = TcpStream::connect(server).await.unwrap();
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
        _ = state.wait_for(|is_up| !is_up) => {}
    }
}

fn impatient(url: String) -> Options {
    Options {
        connect_timeout: Duration::from_secs(1),
        busy_timeout: Duration::from_millis(200),
        ..Options::new(url)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comes_back_after_postgres_was_gone() {
    crate::backend::run(Kind::Postgres, async |db: Arc<Backend>| {
        let (before, database) = db.url.rsplit_once('/').unwrap();
        let server = before.rsplit_once('@').unwrap().1;
        let proxy = Proxy::start(server.to_owned()).await;
        let url = format!("{}/{database}", before.replace(server, &proxy.address.to_string()));
        let store = Store::open(&impatient(url), db.vault()).await.unwrap();
        store.tenants().create(new_tenant("acme")).await.unwrap();
        let mut revision = store.watch(CancellationToken::new());
        revision.wait_for(|value| *value == 1).await.unwrap();

        proxy.is_up.send_replace(false);
        let begun = Instant::now();
        for _ in 0..3 {
            let error = store.users().create(&acme(), new_user("lost")).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            assert!(error.is_retryable());
        }
        assert_eq!(store.ping().await.unwrap_err().kind(), ErrorKind::Unavailable);
        assert!(begun.elapsed() < Duration::from_secs(8), "an answer, not a hang");

        proxy.is_up.send_replace(true);
        eventually("writes succeed again", Duration::from_secs(5), || async {
            store.users().create(&acme(), new_user("eve")).await.is_ok()
        })
        .await;
        let direct = db.open().await;
        assert_eq!(direct.users().list(&acme(), PageRequest::default()).await.unwrap().total, 1);
        direct.users().create(&acme(), new_user("mallory")).await.unwrap();
        let seen = revision.wait_for(|value| *value == 3);
        tokio::time::timeout(Duration::from_secs(8), seen).await.expect("the watcher survived").unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn goes_on_when_postgres_ends_its_connections() {
    crate::backend::run(Kind::Postgres, async |db: Arc<Backend>| {
        let store = db.open_with_tenants().await;
        let mut revision = store.watch(CancellationToken::new());
        revision.wait_for(|value| *value == 2).await.unwrap();
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
        store.users().create(&acme(), new_user("eve")).await.unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
        db.open().await.users().create(&acme(), new_user("mallory")).await.unwrap();
        let seen = revision.wait_for(|value| *value == 4);
        tokio::time::timeout(Duration::from_secs(1), seen).await.expect("listens again").unwrap();
    })
    .await;
}

/// Whoever waits for a transaction to begin may go away at any moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaves_no_transaction_open_when_its_caller_goes_away() {
    crate::backend::run(Kind::Postgres, async |db: Arc<Backend>| {
        let store = db.open_with_tenants().await;
        let count = "SELECT count(*) FROM pg_stat_activity \
                     WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
        let mut watcher = sqlx::PgConnection::connect(&db.url).await.unwrap();
        for round in 0..60 {
            let name = format!("user-{round}");
            let mut create = Box::pin(async { store.users().create(&acme(), new_user(&name)).await });
            let mut looks_left = round % 15;
            std::future::poll_fn(|cx| {
                if looks_left == 0 || create.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                looks_left -= 1;
                Poll::Pending
            })
            .await;
            drop(create);
            let mut open = i64::MAX;
            for _ in 0..100 {
                open = sqlx::query_scalar(count).fetch_one(&mut watcher).await.unwrap();
                if open == 0 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            assert_eq!(open, 0, "after {} looks", round % 15);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn says_unavailable_when_no_postgres_answers() {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let options = impatient(format!("postgres://me:hunter2@127.0.0.1:{port}/none"));
    let vault = store::Vault::load(folder.path(), None).unwrap();
    let error = Store::open(&options, vault).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(!error.to_string().contains("hunter2"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_for_a_lock_on_sqlite_only_so_long() {
    let db = Backend::new(Kind::Sqlite).await;
    db.open_with_tenants().await.close().await;
    let store = Store::open(&impatient(db.url.clone()), db.vault()).await.unwrap();
    let mut locker = db.raw().await;
    locker.execute("BEGIN IMMEDIATE").await.unwrap();
    let error = store.users().create(&acme(), new_user("eve")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.to_string(), "the database is locked by another process");
    assert_eq!(store.tenants().all().await.unwrap().len(), 2, "reading goes on");
    locker.execute("ROLLBACK").await.unwrap();
    locker.close().await.unwrap();
    store.users().create(&acme(), new_user("eve")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lets_readers_pass_while_many_writers_wait_on_sqlite() {
    let db = Backend::new(Kind::Sqlite).await;
    let store = db.open_with_tenants().await;
    let mut locker = db.raw().await;
    locker.execute("BEGIN IMMEDIATE").await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for n in 0..30 {
        let store = store.clone();
        writers.spawn(async move { store.users().create(&acme(), new_user(&format!("user{n}"))).await });
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let reading = store.tenants().all();
    let tenants =
        tokio::time::timeout(Duration::from_millis(700), reading).await.expect("no waiting").unwrap();
    assert_eq!(tenants.len(), 2);
    locker.execute("ROLLBACK").await.unwrap();
    while let Some(result) = writers.join_next().await {
        result.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_a_file_that_is_no_database_corrupt() {
    let db = Backend::new(Kind::Sqlite).await;
    std::fs::create_dir_all(db.database_file().parent().unwrap()).unwrap();
    std::fs::write(db.database_file(), "this is a letter to my mother ".repeat(200)).unwrap();
    let error = Store::open(&db.options(), db.vault()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

/// The parent runs this very test again under a limit on file sizes; the child fills the database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn survives_a_full_disk_on_sqlite() {
    const CHILD: &str = "STORE_TEST_FULL_DISK";
    if let Ok(folder) = std::env::var(CHILD) {
        return fill_the_disk(std::path::Path::new(&folder)).await;
    }
    let db = Backend::new(Kind::Sqlite).await;
    db.open_with_tenants().await.close().await;
    let script = "trap '' XFSZ; ulimit -f 4096; exec \"$0\" \"$@\"";
    let output = std::process::Command::new("bash")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "faults::survives_a_full_disk_on_sqlite", "--nocapture"])
        .env(CHILD, db.data_dir())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let stored: usize = text.lines().find_map(|line| line.strip_prefix("stored ")?.parse().ok()).unwrap();
    assert!(stored > 0, "{text}");
    let store = db.open().await;
    assert_eq!(store.services().all(&acme()).await.unwrap().len(), stored, "what was acknowledged is there");
    store.services().create(&acme(), new_service("space again")).await.unwrap();
    let mut connection = db.raw().await;
    let check = sqlx::query("PRAGMA integrity_check").fetch_one(&mut connection).await.unwrap();
    assert_eq!(sqlx::Row::get::<String, _>(&check, 0), "ok");
}

async fn fill_the_disk(folder: &std::path::Path) {
    let url = format!("sqlite:{}", folder.join("data/data.db").display());
    let vault = store::Vault::load(folder, None).unwrap();
    let store = Store::open(&Options::new(url), vault).await.unwrap();
    let mut stored = 0;
    let error = loop {
        let mut new = new_service(&format!("s{stored}"));
        new.config = serde_json::json!("x".repeat(100_000));
        match store.services().create(&acme(), new).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 1000, "the disk is never full");
    };
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert_eq!(store.services().all(&acme()).await.unwrap().len(), stored, "reading goes on");
    println!("\nstored {stored}");
}
