//! Settings that change while calls run.

use crate::remotes::{path, remotes};
use crate::setup::PATIENCE;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use testkit::{Backend, TestApp, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The way to a server, on which answers take their time; it counts connections.
struct SlowWay {
    address: SocketAddr,
    open: Arc<AtomicUsize>,
    all: Arc<AtomicUsize>,
}

impl SlowWay {
    async fn start(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (open, all) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (server, counts) = (server.to_owned(), (open.clone(), all.clone()));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, (open, all)) = (server.clone(), counts.clone());
                tokio::spawn(async move {
                    all.fetch_add(1, Ordering::SeqCst);
                    open.fetch_add(1, Ordering::SeqCst);
                    let _ = pass(client, &server).await;
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, open, all }
    }
}

async fn pass(client: TcpStream, server: &str) -> std::io::Result<()> {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = TcpStream::connect(server).await?.into_split();
    let answers = async {
        let mut buffer = vec![0; 65536];
        while let read @ 1.. = from_server.read(&mut buffer).await? {
            tokio::time::sleep(Duration::from_millis(200)).await;
            to_client.write_all(&buffer[..read]).await?;
        }
        Ok::<_, std::io::Error>(())
    };
    tokio::select! {
        asked = tokio::io::copy(&mut from_client, &mut to_server) => asked.map(drop),
        answered = answers => answered,
    }
}

/// F28: what runs ends on the old settings, what comes uses the new ones, and no connection is left behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_end_on_the_settings_that_they_began_with() {
    let app = TestApp::start(Backend::Sqlite).await;
    for remote in remotes() {
        let (old, new) = (SlowWay::start(&remote.server).await, SlowWay::start(&remote.server).await);
        let service = (remote.service)(&old.address.to_string());
        app.service(service.clone()).await;
        let calls: Vec<_> = (0..4)
            .map(|_| {
                let (client, uri) = (app.as_key(app.key().unwrap()), remote.uri);
                let arguments = remote.arguments.clone();
                tokio::spawn(async move { client.call(uri, arguments).await })
            })
            .collect();
        eventually("calls run", PATIENCE, async || old.open.load(Ordering::SeqCst) > 0).await;
        let config = (remote.service)(&new.address.to_string())["config"].clone();
        app.patch(&path(&service), json!({ "config": config })).await.is(200);
        let before = old.all.load(Ordering::SeqCst);
        let reply = app.call(remote.uri, remote.arguments.clone()).await.is(200);
        assert_ne!(reply.body["isError"], true, "{}", reply.text);
        assert!(new.all.load(Ordering::SeqCst) > 0, "{} uses the new settings", remote.uri);
        for call in calls {
            let reply = call.await.unwrap().is(200);
            assert_ne!(reply.body["isError"], true, "{}", reply.text);
        }
        assert!(before > 0, "{} used the old settings", remote.uri);
        eventually("the old connections are closed", PATIENCE, async || old.open.load(Ordering::SeqCst) == 0)
            .await;
        app.delete(&path(&service)).await.is(204);
        eventually("the new ones, too", PATIENCE, async || new.open.load(Ordering::SeqCst) == 0).await;
    }
}
