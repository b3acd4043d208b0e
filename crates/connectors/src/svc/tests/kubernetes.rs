//! Instances that come from the slices of a Kubernetes service.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use testkit::registry::{Expiry, Kubernetes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

pub(super) fn kubernetes_at(url: &str) -> Value {
    json!({ "type": "kubernetes", "api_server": url, "service_name": "loyalty", "port": "http" })
}

fn endpoints(ready: &[(&str, Option<bool>)]) -> Value {
    let endpoint = |(address, ready): &(&str, Option<bool>)| json!({ "addresses": [address], "conditions": { "ready": ready, "serving": true } });
    ready.iter().map(endpoint).collect::<Vec<_>>().into()
}

/// SV-3: several slices of one service, in pages, those that are ready.
#[tokio::test]
async fn follows_the_slices_of_a_kubernetes_service() {
    let (kubernetes, one, two) = (Kubernetes::start().await, Server::start().await, Server::start().await);
    kubernetes.require_token("s3cr3t");
    let here = "127.0.0.1";
    kubernetes.put(
        "a",
        "loyalty",
        &endpoints(&[(here, Some(true)), ("127.0.0.7", Some(false))]),
        one.address().port(),
    );
    kubernetes.put("other", "billing", &endpoints(&[("127.0.0.8", Some(true))]), 1);
    for number in 0..150 {
        kubernetes.put(&format!("empty-{number}"), "loyalty", &json!(null), 1);
    }
    let mut discovery = kubernetes_at(&kubernetes.url());
    discovery["token"] = "s3cr3t".into();
    let connector = open(settings_of(discovery)).unwrap();
    assert_eq!(asked(&*connector, &[&one, &two]).await, [true, false]);
    kubernetes.put("z", "loyalty", &endpoints(&[(here, None)]), two.address().port());
    eventually_asks(&*connector, &two).await;
    assert_eq!(asked(&*connector, &[&one, &two]).await, [true, true]);
    kubernetes.put("a", "loyalty", &endpoints(&[(here, Some(false))]), one.address().port());
    eventually("one is not ready", SOON, async || asked(&*connector, &[&one, &two]).await == [false, true])
        .await;
    kubernetes.delete("z");
    eventually("nobody is left", SOON, async || call(&*connector).await.is_err()).await;
    assert_eq!(kubernetes.lists(), 1);
}

/// F6: a version that is too old, a connection that is cut, and a bookmark alone. Nobody is lost, nobody stays for ever.
#[tokio::test]
async fn survives_what_watches_of_kubernetes_do() {
    let (kubernetes, one, two) = (Kubernetes::start().await, Server::start().await, Server::start().await);
    let put = |name: &str, server: &Server| {
        kubernetes.put(name, "loyalty", &endpoints(&[("127.0.0.1", Some(true))]), server.address().port());
    };
    put("a", &one);
    let connector = open(settings_of(kubernetes_at(&kubernetes.url()))).unwrap();
    call(&*connector).await.unwrap();
    let watched = async |count: usize| {
        eventually("it watches again", SOON, async || kubernetes.watches().len() >= count).await;
    };
    watched(1).await;
    // A bookmark moves the version on: the next watch begins behind it.
    kubernetes.bookmark();
    kubernetes.cut();
    watched(2).await;
    // What happens while nobody watches is told afterwards.
    put("b", &two);
    kubernetes.cut();
    eventually_asks(&*connector, &two).await;
    kubernetes.delete("a");
    eventually("one is gone", SOON, async || asked(&*connector, &[&one, &two]).await == [false, true]).await;
    let lists = kubernetes.lists();
    for (round, expiry) in [Expiry::Event, Expiry::Status].into_iter().enumerate() {
        // The event that says so is forgotten with its version: only a list can tell.
        if round == 0 {
            kubernetes.delete("b")
        } else {
            put("b", &two)
        }
        put("c", &one);
        kubernetes.expire(expiry);
        kubernetes.cut();
        eventually("it lists anew", SOON, async || kubernetes.lists() > lists + round).await;
        let expected = [true, round == 1];
        eventually("as it is now", SOON, async || asked(&*connector, &[&one, &two]).await == expected).await;
    }
    let version = kubernetes.watches();
    assert!(version.iter().all(|version| version.parse::<u64>().is_ok()), "{version:?}");
}

#[tokio::test]
async fn says_which_ports_there_are_when_the_one_that_is_wanted_is_not() {
    let kubernetes = Kubernetes::start().await;
    kubernetes.put("a", "loyalty", &endpoints(&[("127.0.0.1", Some(true))]), 8080);
    let mut discovery = kubernetes_at(&kubernetes.url());
    discovery["port"] = 80.into();
    let error = error_of(&*open(settings_of(discovery)).unwrap()).await;
    assert!(error.in_words().contains("8080 (http)"), "{}", error.in_words());
}

/// An API whose lists are right and whose watches are garbage; it counts the watches.
async fn garbage() -> (String, Arc<AtomicUsize>, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let watches = Arc::new(AtomicUsize::new(0));
    let counted = watches.clone();
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 8192];
            let length = stream.read(&mut request).await.unwrap_or_default();
            let is_watch = String::from_utf8_lossy(&request[..length]).contains("watch=true");
            counted.fetch_add(usize::from(is_watch), Ordering::SeqCst);
            let slice = json!({ "metadata": { "name": "a" }, "endpoints": [{ "addresses": ["127.0.0.1"] }],
                "ports": [{ "name": "http", "port": 1 }] });
            let list = json!({ "metadata": { "resourceVersion": "1" }, "items": [slice] }).to_string();
            let body = if is_watch { "garbage\n".to_owned() } else { list };
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
        }
    });
    (url, watches, AbortOnDropHandle::new(task))
}

/// F6: watches that are of no use are asked for ever less often.
#[tokio::test]
async fn rests_longer_after_each_watch_that_is_garbage() {
    let (url, watches, _task) = garbage().await;
    let connector = open(settings_of(kubernetes_at(&url))).unwrap();
    // Nobody listens at the instance; the registry is what matters.
    call(&*connector).await.unwrap_err();
    eventually("it watches again", SOON, async || watches.load(Ordering::SeqCst) >= 2).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    let asked = watches.load(Ordering::SeqCst);
    assert!(asked <= 7, "{asked}");
}
