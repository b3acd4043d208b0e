//! Stores and sources that answer wrongly, slowly or not at all, and readers in the middle of a write.

use super::support::Store;
use serde_json::json;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
#[cfg(feature = "oss")]
use testkit::conformance::context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tool::ErrorKind;

/// Gives the same answer to everybody, and then says nothing more.
async fn answering(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut request = vec![0; 8192];
                while socket.read(&mut request).await.is_ok_and(|count| count > 0) {
                    socket.write_all(answer.as_bytes()).await.unwrap();
                }
            });
        }
    });
    address
}

/// Reads every request, and closes the connection, or says nothing.
#[cfg(feature = "oss")]
async fn losing(is_closing: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut request = vec![0; 8192];
                let _ = socket.read(&mut request).await;
                tokio::time::sleep(Duration::from_millis(50)).await;
                match is_closing {
                    true => drop(socket),
                    false => std::future::pending().await,
                }
            });
        }
    });
    address
}

/// Nobody knows whether it was done, and what would be done twice is not to be tried again.
#[cfg(feature = "oss")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_says_that_it_may_have_happened() {
    for is_closing in [true, false] {
        let address = losing(is_closing).await;
        let store = Store::open(json!({
            "provider": "minio", "bucket": "b", "endpoint": format!("http://{address}"), "timeout_ms": 1000,
            "credentials": { "access_key_id": "k", "secret_access_key": "s" }, "allow_private_network": true,
            "retry": { "max_attempts": 1 }, "circuit_breaker": { "failures": 0 },
        }));
        let new = json!({ "key": "a", "content": "x", "ifNotExists": true });
        for (tool, arguments, is_repeatable) in [
            ("save", new, false),
            ("save", json!({ "key": "a", "content": "x" }), true),
            ("copy", json!({ "key": "a", "to": "b" }), true),
            ("delete", json!({ "key": "a" }), true),
        ] {
            let error = store.fails(tool, arguments.clone()).await;
            assert!(error.message().ends_with("; it may have happened"), "{tool} {arguments}: {error}");
            assert_eq!(error.is_retryable(), is_repeatable, "{tool} {arguments}: {error}");
        }
        let error = store.fails("stat", json!({ "key": "a" })).await;
        assert!(error.is_retryable() && !error.message().contains("happened"), "{error}");
    }
}

/// F9: other bytes than were asked for are no success.
#[cfg(feature = "oss")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refuses_bytes_that_were_not_asked_for() {
    for (answer, arguments) in [
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 10\r\netag: \"e\"\r\n\r\n0123456789",
            json!({ "key": "a", "offset": 5, "length": 3 }),
        ),
        (
            "HTTP/1.1 206 Partial Content\r\ncontent-length: 4\r\ncontent-range: bytes 0-3/10\r\netag: \"e\"\r\n\r\n0123",
            json!({ "key": "a", "offset": 5, "length": 3 }),
        ),
        (
            "HTTP/1.1 206 Partial Content\r\ncontent-length: 4\r\ncontent-range: bytes 0-3/10\r\netag: \"e\"\r\n\r\n0123",
            json!({ "key": "a" }),
        ),
    ] {
        let store = Store::open(json!({
            "provider": "minio", "bucket": "b", "endpoint": format!("http://{}", answering(answer).await),
            "credentials": { "access_key_id": "k", "secret_access_key": "s" }, "allow_private_network": true,
            "retry": { "max_attempts": 1 }, "timeout_ms": 2000,
        }));
        let error = store.fails("load", arguments).await;
        assert_eq!(error.kind(), ErrorKind::Upstream, "{error:?}");
        assert!(error.message().contains("not those that were asked for"), "{error}");
    }
}

/// F3: what stands still is ended after `timeout_ms`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_stands_still_is_ended() {
    let address = answering("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n0123456789").await;
    let store = Store::with_private_sources(json!({ "timeout_ms": 500 }));
    let begin = Instant::now();
    let error =
        store.fails("save", json!({ "key": "a", "source": { "url": format!("http://{address}/") } })).await;
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error:?}");
    assert!(error.message().contains("timeout_ms"), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

/// Whoever reads while an object is replaced finds what belongs to the old content or to the new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_known_of_an_object_does_not_vanish_while_it_is_replaced() {
    let store = Store::in_folder(json!({}));
    let save = |number: usize| {
        let kind = ["text/x-odd", "text/x-even"][number % 2];
        store.call(
            "save",
            json!({ "key": "a.bin", "content": "x", "contentType": kind, "metadata": { "by": "me" } }),
        )
    };
    save(0).await;
    let writing = async {
        for number in 1..60 {
            save(number).await;
        }
    };
    let reading = async {
        for _ in 0..200 {
            let found = store.call("stat", json!({ "key": "a.bin" })).await;
            let kind = found["contentType"].as_str().unwrap_or_default();
            assert!(kind.starts_with("text/x-") && found["metadata"]["by"] == "me", "{found}");
        }
    };
    tokio::join!(writing, reading);
}

/// What a process left that was killed is gone when the next one looks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn removes_what_was_left_half_written() {
    let store = Store::in_folder(json!({}));
    let folder = store.root().join(".mcp-all-in-one/new");
    std::fs::create_dir_all(&folder).unwrap();
    let leftover = std::fs::File::create(folder.join("half")).unwrap();
    leftover.set_modified(std::time::SystemTime::now() - Duration::from_secs(60)).unwrap();
    let held = std::fs::File::create(folder.join("held")).unwrap();
    held.set_modified(std::time::SystemTime::now() - Duration::from_secs(60)).unwrap();
    held.lock().unwrap();
    drop(leftover);
    store.call("list", json!({})).await;
    assert!(!folder.join("half").exists() && folder.join("held").exists());
}

/// A bucket at an address.
#[cfg(feature = "oss")]
fn bucket_at(address: SocketAddr) -> Store {
    Store::open(json!({
        "provider": "minio", "bucket": "invoices", "endpoint": format!("http://{address}"),
        "credentials": { "access_key_id": "k", "secret_access_key": "s" }, "allow_private_network": true,
        "retry": { "max_attempts": 1 }, "circuit_breaker": { "failures": 0 },
    }))
}

/// An address that is no store's holds no empty bucket.
#[cfg(feature = "oss")]
#[tokio::test]
async fn a_page_for_people_is_no_list_of_objects() {
    let cx = context(Duration::from_secs(20));
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 15\r\n\r\n<html>hi</html>",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    ] {
        let store = bucket_at(answering(answer).await);
        let error = store.try_call(&cx, "list", json!({})).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Upstream && error.message().contains("'endpoint'"), "{error}");
        let error = store.connector.health(&cx).await.unwrap_err();
        assert!(error.message().contains("'endpoint'"), "{error}");
    }
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 15\r\n\r\n<html>hi</html>";
    let store = bucket_at(answering(page).await);
    let error =
        store.try_call(&cx, "save", json!({ "key": "a", "content": "x", "contentType": "text/plain" })).await;
    assert!(error.unwrap_err().message().contains("'endpoint'"));
    let list = "HTTP/1.1 200 OK\r\ncontent-type: application/xml\r\ncontent-length: 72\r\n\r\n\
                <?xml version=\"1.0\"?><ListBucketResult><Name>b</Name></ListBucketResult>";
    let store = bucket_at(answering(list).await);
    assert_eq!(store.result("list", json!({})).await["structuredContent"]["objects"], json!([]));
}

/// Whoever reads it knows which setting is wrong.
#[cfg(feature = "oss")]
#[tokio::test]
async fn a_bucket_that_is_not_there_is_named() {
    let cx = context(Duration::from_secs(20));
    let answer = "HTTP/1.1 404 Not Found\r\ncontent-type: application/xml\r\ncontent-length: 42\r\n\r\n\
                  <Error><Code>NoSuchBucket</Code>  </Error>";
    let store = bucket_at(answering(answer).await);
    for (tool, arguments) in [
        ("list", json!({})),
        ("load", json!({ "key": "a" })),
        ("save", json!({ "key": "a", "content": "x", "contentType": "text/plain" })),
    ] {
        let error = store.try_call(&cx, tool, arguments).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Missing, "{tool}: {error:?}");
        assert!(
            error.message().contains("'invoices'") && error.message().contains("'bucket'"),
            "{tool}: {error}"
        );
    }
    let error = store.connector.health(&cx).await.unwrap_err();
    assert!(error.message().contains("'invoices'"), "{error}");
}

/// A store that says forever that its list goes on is not asked forever.
#[cfg(feature = "oss")]
#[tokio::test]
async fn a_list_that_never_ends_is_an_error() {
    let page = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>on</NextContinuationToken></ListBucketResult>";
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/xml\r\ncontent-length: {}\r\n\r\n{page}",
        page.len()
    );
    let store = bucket_at(answering(answer.leak()).await);
    let error = store.try_call(&context(Duration::from_secs(60)), "list", json!({})).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Upstream && error.message().contains("does not end"), "{error}");
}

/// A part of a source, or nothing of it, is not saved as if it were all; and a type that is none is not kept.
#[tokio::test]
async fn what_is_not_all_of_a_source_is_not_saved() {
    let store = Store::with_private_sources(json!({}));
    for answer in [
        "HTTP/1.1 206 Partial Content\r\ncontent-length: 4\r\ncontent-range: bytes 0-3/10\r\n\r\n0123",
        "HTTP/1.1 204 No Content\r\n\r\n",
    ] {
        let source = json!({ "url": format!("http://{}/", answering(answer).await) });
        let error = store.fails("save", json!({ "key": "a", "source": source })).await;
        assert!(error.kind() == ErrorKind::Upstream && error.message().contains("HTTP 20"), "{error}");
        assert_eq!(store.fails("stat", json!({ "key": "a" })).await.kind(), ErrorKind::Missing);
    }
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: nonsense; a=b\r\ncontent-length: 4\r\n\r\n0123";
    let source = json!({ "url": format!("http://{}/", answering(answer).await) });
    let saved = store.call("save", json!({ "key": "a", "source": source })).await;
    assert_eq!((&saved["size"], saved.get("contentType")), (&json!(4), None), "{saved}");
}
