//! Links to objects of this machine: `/o/{token}`.

use crate::setup::audited;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::{Client, Reply, send};
use testkit::{Backend, TestApp};

/// A server with the service `docs`, over a folder that replicas share.
async fn docs() -> (TestApp, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let app = TestApp::start(Backend::Sqlite).await;
    let config = json!({ "root": folder.path(), "max_object_bytes": 100_000 });
    app.service(json!({ "type": "oss", "id": "docs", "config": config })).await;
    (app, folder)
}

async fn save(app: &Client, key: &str, content: &str) {
    app.call("oss://docs/save", json!({ "key": key, "content": content })).await.is(200);
}

/// The path of a link.
async fn link(app: &Client, arguments: Value) -> String {
    let reply = app.call("oss://docs/presign", arguments).await.is(200);
    let url = reply.body["structuredContent"]["url"].as_str().unwrap().to_owned();
    let here = app.url("/");
    assert!(url.starts_with(&here), "{url} does not lead to {here}");
    url[here.len() - 1..].to_owned()
}

async fn fetch(app: &Client, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let request = app.as_nobody().request(method, path).body(body.to_owned());
    send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
}

/// OS-5, OS-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_reads_one_object_on_every_replica() {
    let (app, _folder) = docs().await;
    save(&app, "files/中文 a+b&c.txt", "hello world").await;
    let path = link(&app, json!({ "key": "files/中文 a+b&c.txt", "expires": 3600 })).await;
    let reply = fetch(&app, Method::GET, &path, &[], "").await.is(200);
    assert_eq!(reply.text, "hello world");
    assert_eq!(reply.header("content-type"), Some("text/plain"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
    assert!(
        reply.header("content-disposition").unwrap().starts_with("attachment; filename=\"__ a+b_c.txt\""),
        "{reply:?}"
    );
    let policies: Vec<_> = reply
        .headers
        .get_all("content-security-policy")
        .iter()
        .map(|value| value.to_str().unwrap())
        .collect();
    assert!(policies.iter().any(|policy| policy.starts_with("sandbox;")), "{policies:?}");

    let head = fetch(&app, Method::HEAD, &path, &[], "").await.is(200);
    assert_eq!((head.header("content-length"), head.text.as_str()), (Some("11"), ""));
    for (range, text, told) in [
        ("bytes=0-4", "hello", "bytes 0-4/11"),
        ("bytes=-5", "world", "bytes 6-10/11"),
        ("bytes=6-99", "world", "bytes 6-10/11"),
    ] {
        let part = fetch(&app, Method::GET, &path, &[("range", range)], "").await.is(206);
        assert_eq!((part.text.as_str(), part.header("content-range")), (text, Some(told)));
    }
    let behind = fetch(&app, Method::GET, &path, &[("range", "bytes=11-")], "").await.is(416);
    assert_eq!(behind.header("content-range"), Some("bytes */11"));

    let replica = app.replica("second").await;
    assert_eq!(fetch(&replica, Method::GET, &path, &[], "").await.is(200).text, "hello world");
    app.call("oss://docs/delete", json!({ "key": "files/中文 a+b&c.txt" })).await.is(200);
    fetch(&app, Method::GET, &path, &[], "").await.is_problem(404, "NOT_FOUND");
}

/// OS-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_writes_one_object_of_one_type() {
    let (app, _folder) = docs().await;
    let path = link(&app, json!({ "key": "in/a.csv", "method": "PUT", "contentType": "text/csv" })).await;
    fetch(&app, Method::PUT, &path, &[("content-type", "text/html")], "<script>")
        .await
        .is_problem(400, "BAD_REQUEST");
    fetch(&app, Method::PUT, &path, &[], "a,b").await.is(400);
    let reply = fetch(&app, Method::PUT, &path, &[("content-type", "text/csv")], "a,b").await.is(200);
    assert_eq!((&reply.body["key"], &reply.body["size"]), (&json!("in/a.csv"), &json!(3)));
    let loaded = app.call("oss://docs/load", json!({ "key": "in/a.csv" })).await.is(200);
    assert_eq!(loaded.body["structuredContent"]["content"], "a,b");
    let large = "x".repeat(100_001);
    let reply = fetch(&app, Method::PUT, &path, &[("content-type", "text/csv")], &large).await;
    assert!(reply.status >= 400 && reply.text.contains("max_object_bytes"), "{}", reply.text);
    let loaded = app.call("oss://docs/load", json!({ "key": "in/a.csv" })).await.is(200);
    assert_eq!(loaded.body["structuredContent"]["content"], "a,b", "what was there is still there");
    // What the service does not allow any more, its links do not allow either.
    let reply = app.get("services/oss/docs").await.is(200);
    let mut config = reply.body["config"].clone();
    config["read_only"] = json!(true);
    app.patch("services/oss/docs", json!({ "config": config })).await.is(200);
    fetch(&app, Method::PUT, &path, &[("content-type", "text/csv")], "c").await.is(403);
    app.delete("services/oss/docs?force=true").await.is(204);
    fetch(&app, Method::PUT, &path, &[("content-type", "text/csv")], "c").await.is(404);
}

/// OS-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_for_one_method_and_ends() {
    let (app, _folder) = docs().await;
    save(&app, "a.txt", "hello").await;
    let read = link(&app, json!({ "key": "a.txt" })).await;
    let write = link(&app, json!({ "key": "a.txt", "method": "PUT" })).await;
    fetch(&app, Method::PUT, &read, &[], "x").await.is(405);
    fetch(&app, Method::GET, &write, &[], "").await.is(405);
    fetch(&app, Method::DELETE, &read, &[], "").await.is(405);
    fetch(&app, Method::POST, &write, &[], "x").await.is(405);
    let short = link(&app, json!({ "key": "a.txt", "expires": 1 })).await;
    testkit::eventually("the link has ended", std::time::Duration::from_secs(10), async || {
        fetch(&app, Method::GET, &short, &[], "").await.status == 404
    })
    .await;
    fetch(&app, Method::GET, &read, &[], "").await.is(200);
}

/// Hostile tokens, and names that would like to be headers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_makes_a_link_but_us() {
    let (app, folder) = docs().await;
    save(&app, "a.html", "<script>alert(document.cookie)</script>").await;
    let path = link(&app, json!({ "key": "a.html", "filename": "evil\".html; x=中.html" })).await;
    let token = path.strip_prefix("/o/").unwrap();
    for at in (0..token.len()).step_by(7) {
        let other = if &token[at..=at] == "A" { "B" } else { "A" };
        let mut wrong = token.to_owned();
        wrong.replace_range(at..=at, other);
        fetch(&app, Method::GET, &format!("/o/{wrong}"), &[], "").await.is_problem(404, "NOT_FOUND");
    }
    let long = "A".repeat(20_000);
    for wrong in ["A", "..%2F..%2Fetc%2Fpasswd", "%00", &long, &token[1..]] {
        let reply = fetch(&app, Method::GET, &format!("/o/{wrong}"), &[], "").await;
        assert!((400..500).contains(&reply.status), "{wrong}: {}", reply.status);
    }
    let reply = fetch(&app, Method::GET, &path, &[], "").await.is(200);
    let disposition = reply.header("content-disposition").unwrap();
    assert!(
        disposition.starts_with("attachment; filename=\"evil_.html_ x__.html\"; filename*=UTF-8''evil%22"),
        "{disposition}"
    );
    for name in ["a\r\nSet-Cookie: x", "a\nb", "../a", "a\\b", ""] {
        let reply = app.call("oss://docs/presign", json!({ "key": "a.html", "filename": name })).await;
        assert!(reply.text.contains("filename"), "{name:?}: {}", reply.text);
    }
    // Another tenant's service of the same name is another.
    let other = app.with_tenant("other").await;
    other.post("services", json!({ "type": "oss", "id": "docs", "config": {} })).await.is(201);
    let reply = other.call("oss://docs/load", json!({ "key": "a.html" })).await;
    assert!(reply.body["isError"] == true && reply.text.contains("there is no object"), "{}", reply.text);
    // Only those who manage the machine name its folders.
    let taken = json!({ "type": "oss", "id": "mine", "config": { "root": folder.path() } });
    other.post("services", taken).await.is(403);
}

/// OS-5: what a deleted service kept, and the links to it, go to nobody; whoever uses a link is audited.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_deleted_service_goes_to_the_next_one() {
    let app = TestApp::start(Backend::Sqlite).await;
    let make = || app.service(json!({ "type": "oss", "id": "docs", "config": {} }));
    make().await;
    save(&app, "a.txt", "of the first").await;
    let path = link(&app, json!({ "key": "a.txt" })).await;
    assert_eq!(fetch(&app, Method::GET, &path, &[], "").await.is(200).text, "of the first");
    let calls = "tool=GET%20by%20link";
    assert_eq!(audited(&app, calls, 1).await[0]["uri"], "oss://docs");
    app.delete("services/oss/docs").await.is(204);
    make().await;
    fetch(&app, Method::GET, &path, &[], "").await.is(404);
    let listed = app.call("oss://docs/list", json!({})).await.is(200);
    assert_eq!(listed.body["structuredContent"]["objects"], json!([]));
    save(&app, "a.txt", "of the second").await;
    fetch(&app, Method::GET, &path, &[], "").await.is(404);
}
