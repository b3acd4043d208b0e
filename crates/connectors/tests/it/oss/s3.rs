//! S3 and MinIO on a real server, SeaweedFS, and what comes of a connection that breaks.

use super::support::{Store, with};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use testkit::conformance::context;
use testkit::tcp_proxy::TcpProxy;
use tool::ErrorKind;
use tool::objects::{Body, Chunks, InMemory, Part, read_whole};

const KEY: &str = "tester-key";

fn server() -> String {
    std::env::var("MCP_TEST_SEAWEEDFS_URL").unwrap_or_else(|_| {
        panic!("MCP_TEST_SEAWEEDFS_URL is not set: use `make test` or `scripts/servers run seaweedfs -- cargo nextest run`")
    })
}

fn settings(endpoint: &str) -> Value {
    json!({
        "provider": "minio", "bucket": "tests", "endpoint": endpoint, "allow_private_network": true,
        "credentials": { "access_key_id": KEY, "secret_access_key": "tester-secret" },
        "prefix": format!("{}/", tool::new_id::<String>()), "retry": { "initial_delay_ms": 10 },
    })
}

fn open(more: Value) -> Store {
    Store::open(with(settings(&server()), more))
}

/// OS-3: SeaweedFS has folders before files whose names go on with another character, which is not the order of bytes.
#[tokio::test]
async fn pages_lose_nothing_where_the_store_has_an_order_of_its_own() {
    let names = ["d/1", "d/2", "d.txt", "d/e/1", "h/1", "h-1", "a b/z", "a..b", "a/ b", "z"];
    let store = open(json!({}));
    for name in names {
        store.save(name, "x").await;
    }
    let mut expected = names.map(str::to_owned);
    expected.sort();
    for most in [1, 2, 3, 7, 100] {
        let mut keys = store.keys(json!({ "maxKeys": most })).await;
        keys.sort();
        assert_eq!(keys, expected, "{most} a page");
    }
    let names = ["b-1", "b.txt", "b/1", "b/c/3", "b0", "c+d/e", "c/1", "c.txt", "ä/ü"];
    for name in names {
        store.save(&format!("folder/{name}"), "x").await;
    }
    for (prefix, delimiter, mut expected) in [
        ("folder/", "/", vec!["b-1", "b.txt", "b/", "b0", "c+d/", "c/", "c.txt", "ä/"]),
        ("folder/b", "/", vec!["b-1", "b.txt", "b/", "b0"]),
        ("folder/", "-", vec!["b-", "b.txt", "b/1", "b/c/3", "b0", "c+d/e", "c/1", "c.txt", "ä/ü"]),
        ("folder/", "c", vec!["b-1", "b.txt", "b/1", "b/c", "b0", "c", "ä/ü"]),
    ] {
        expected.sort_unstable();
        for most in [1, 2, 3, 5, 100] {
            let arguments = json!({ "prefix": prefix, "delimiter": delimiter, "maxKeys": most });
            let mut keys = store.keys(arguments).await;
            keys.sort();
            let keys: Vec<_> = keys.iter().map(|key| key.trim_start_matches("folder/")).collect();
            assert_eq!(keys, expected, "'{delimiter}' behind {prefix}, {most} a page");
        }
    }
    let folders = json!({ "prefix": "folder/", "delimiter": "/", "maxKeys": 1 });
    let cursor = store.call("list", folders).await["cursor"].clone();
    let error = store.fails("list", json!({ "prefix": "folder/", "cursor": cursor })).await;
    assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("cursor")), "{error:?}");
}

/// OS-1, OS-2, OS-3, OS-4, OS-6
#[tokio::test]
async fn does_everything_on_a_real_server() {
    for provider in ["minio", "s3"] {
        let store = open(json!({ "provider": provider, "path_style": true, "region": "us-east-1" }));
        let pdf = json!({ "key": "files/中文 a+b&c.pdf", "content": "JVBERi0=", "contentType": "application/pdf", "metadata": { "owner": "it" } });
        let saved = store.call("save", pdf).await;
        assert_eq!((&saved["size"], &saved["key"]), (&json!(5), &json!("files/中文 a+b&c.pdf")));
        assert!(
            saved["url"].as_str().unwrap().ends_with("/files/%E4%B8%AD%E6%96%87%20a%2Bb%26c.pdf"),
            "{saved}"
        );
        let loaded = store.call("load", json!({ "key": "files/中文 a+b&c.pdf" })).await;
        assert_eq!(
            (&loaded["content"], &loaded["contentType"]),
            (&json!("JVBERi0="), &json!("application/pdf"))
        );
        assert_eq!((&loaded["etag"], &loaded["metadata"]), (&saved["etag"], &json!({ "owner": "it" })));
        store.save("empty.txt", "").await;
        assert_eq!(store.load("empty.txt").await, "");
        store.call("copy", json!({ "key": "files/中文 a+b&c.pdf", "to": "b.pdf" })).await;
        for number in 0..12 {
            store.save(&format!("many/{number:02}.txt"), "x").await;
        }
        let keys = store.keys(json!({ "maxKeys": 5 })).await;
        assert_eq!((keys.len(), keys[0].as_str(), keys[14].as_str()), (15, "b.pdf", "many/11.txt"));
        assert_eq!(
            store.keys(json!({ "delimiter": "/", "maxKeys": 2 })).await,
            ["b.pdf", "empty.txt", "files/", "many/"]
        );
        let part = store.call("load", json!({ "key": "many/00.txt", "offset": 1 })).await;
        assert_eq!(part["content"], "");
        store.call("delete", json!({ "key": "b.pdf" })).await;
        store.call("delete", json!({ "key": "b.pdf" })).await;
        assert_eq!(store.fails("load", json!({ "key": "b.pdf" })).await.kind(), ErrorKind::Missing);
        assert_eq!(store.fails("stat", json!({ "key": "b.pdf" })).await.kind(), ErrorKind::Missing);
        let again = json!({ "key": "empty.txt", "content": "y", "ifNotExists": true });
        let error = store.fails("save", again).await;
        assert_eq!((error.kind(), error.service_code()), (ErrorKind::Upstream, Some("exists")), "{error:?}");
        store.connector.health(&context(Duration::from_secs(20))).await.unwrap();
    }
}

/// OS-3
#[tokio::test]
async fn joins_keys_at_any_delimiter() {
    super::folder::joins_at_any_delimiter(&open(json!({}))).await;
}

/// OS-5
#[tokio::test]
async fn links_are_signed_for_others() {
    let store = open(json!({}));
    let put = store
        .call("presign", json!({ "key": "中文 a+b&c.txt", "method": "PUT", "contentType": "text/plain" }))
        .await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut request = http.put(put["url"].as_str().unwrap()).body("hello");
    for (name, value) in put["headers"].as_object().unwrap() {
        request = request.header(name, value.as_str().unwrap());
    }
    assert_eq!(request.send().await.unwrap().status(), 200);
    let get =
        store.call("presign", json!({ "key": "中文 a+b&c.txt", "expires": 60, "filename": "x.txt" })).await;
    let url = get["url"].as_str().unwrap();
    let response = http.get(url).send().await.unwrap();
    assert_eq!(
        response.headers()["content-disposition"].to_str().unwrap().split(';').next(),
        Some("attachment")
    );
    assert_eq!(response.text().await.unwrap(), "hello");
    assert_eq!(http.get(url.replace("c.txt?", "d.txt?")).send().await.unwrap().status(), 403);
    let short = store.call("presign", json!({ "key": "中文 a+b&c.txt", "expires": 1 })).await;
    testkit::eventually("the link has ended", Duration::from_secs(20), async || {
        http.get(short["url"].as_str().unwrap()).send().await.unwrap().status() == 403
    })
    .await;
}

/// OS-12
#[tokio::test]
async fn uses_no_credentials_but_its_own() {
    let wrong = json!({ "access_key_id": KEY, "secret_access_key": "s3cr3t-that-is-wrong" });
    let store = open(json!({ "credentials": wrong }));
    for (tool, arguments) in [
        ("save", json!({ "key": "a", "content": "x" })),
        ("load", json!({ "key": "a" })),
        ("list", json!({})),
    ] {
        let error = store.fails(tool, arguments).await;
        assert!(
            error.is_about_credentials() && error.message().contains("'credentials'"),
            "{tool}: {error:?}"
        );
        assert!(!format!("{error:?}").contains("s3cr3t"), "{error:?}");
    }
    let error = connectors::find("oss")
        .unwrap()
        .open(json!({ "provider": "s3", "bucket": "tests", "region": "us-east-1" }), &tool::Env::default())
        .err()
        .unwrap();
    assert!(error.problems().iter().any(|problem| problem.path == "credentials"), "{error:?}");
}

/// A store behind a proxy, in a bucket of its own.
async fn behind_a_proxy() -> (Store, Arc<TcpProxy>, String) {
    let (_, address) =
        server().split_once("://").map(|(scheme, address)| (scheme.to_owned(), address.to_owned())).unwrap();
    let port: u16 = address.rsplit_once(':').unwrap().1.parse().unwrap();
    let bucket = format!(
        "{}/buckets/b{}/",
        server().replace(&port.to_string(), &(port - 1).to_string()),
        tool::new_id::<String>()
    );
    let made = reqwest::Client::builder().no_proxy().build().unwrap().post(&bucket).send().await.unwrap();
    assert!(made.status().is_success(), "{made:?}");
    let proxy = Arc::new(TcpProxy::start(address).await);
    let name = bucket.trim_end_matches('/').rsplit_once('/').unwrap().1;
    let settings =
        with(settings(&format!("http://{}", proxy.address())), json!({ "bucket": name, "timeout_ms": 3000 }));
    (Store::open(with(settings, json!({ "prefix": "" }))), proxy, bucket)
}

fn large() -> Vec<u8> {
    (0..60 * 1024 * 1024_u32).map(|number| (number >> 10) as u8).collect()
}

/// Pieces of an object, and something that happens before one of them.
struct Pieces<F>(std::collections::VecDeque<Vec<u8>>, usize, F);

#[async_trait::async_trait]
impl<F: FnMut() + Send> Chunks for Pieces<F> {
    async fn next(&mut self) -> tool::Result<Option<bytes::Bytes>> {
        if self.0.len() == self.1 {
            (self.2)();
        }
        Ok(self.0.pop_front().map(Into::into))
    }
}

/// OS-9, F8: the connection is cut in the third of eight parts; nothing is left, neither an object nor parts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_that_is_cut_leaves_nothing() {
    let (store, proxy, bucket) = behind_a_proxy().await;
    let objects = store.connector.objects().unwrap();
    let cx = context(Duration::from_secs(60));
    let pieces = large().chunks(1024 * 1024).map(<[u8]>::to_vec).collect();
    let cutting = proxy.clone();
    let body: Body = Box::new(Pieces(pieces, 42, move || cutting.cut()));
    let error = objects.write(&cx, "large", None, body).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    proxy.restore();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let list = |path: String| http.get(path).header("accept", "application/json").send();
    testkit::eventually("the parts are gone", Duration::from_secs(60), async || {
        let pending = list(format!("{bucket}.uploads/")).await.unwrap().text().await.unwrap();
        let pending: Value = serde_json::from_str(&pending).unwrap_or_default();
        pending["Entries"].as_array().is_none_or(Vec::is_empty)
    })
    .await;
    assert_eq!(store.fails("stat", json!({ "key": "large" })).await.kind(), ErrorKind::Missing);
    // And all is well again.
    let written = objects.write(&cx, "large", None, InMemory::body(large())).await.unwrap();
    assert_eq!(written.size, 60 * 1024 * 1024);
}

/// F9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_that_is_cut_goes_on_or_fails() {
    let (store, proxy, _) = behind_a_proxy().await;
    let objects = store.connector.objects().unwrap();
    let cx = context(Duration::from_secs(60));
    objects.write(&cx, "large", None, InMemory::body(large())).await.unwrap();
    let mut reading = objects.read(&cx, "large", Part::WHOLE).await.unwrap();
    let first = reading.body.next().await.unwrap().unwrap();
    proxy.cut();
    let (rest, ()) = tokio::join!(read_whole(reading.body, u64::MAX), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        proxy.restore();
    });
    assert!([first, rest.unwrap()].concat() == large(), "another object has come");

    let mut reading = objects.read(&cx, "large", Part::WHOLE).await.unwrap();
    reading.body.next().await.unwrap().unwrap();
    proxy.cut();
    let error = read_whole(reading.body, u64::MAX).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "short content is no success: {error:?}");
}

/// The guard holds for stores as for everything else.
#[tokio::test]
async fn reaches_no_private_address_unless_it_may() {
    let store = open(json!({ "allow_private_network": false }));
    let error = store.fails("list", json!({})).await;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
    let error = store.fails("load", json!({ "key": "a" })).await;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
}
