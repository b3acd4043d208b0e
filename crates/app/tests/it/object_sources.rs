//! Content of one tool that goes into another, under the rights of the caller.

use serde_json::{Value, json};
use testkit::{Backend, TestApp, http};

async fn two_stores() -> TestApp {
    let app = TestApp::start(Backend::Sqlite).await;
    for id in ["docs", "archive"] {
        app.service(json!({ "type": "oss", "id": id, "config": {} })).await;
    }
    app
}

/// OS-9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saves_what_another_tool_has_or_an_address_gives() {
    let app = two_stores().await;
    let image = json!({ "key": "a.png", "content": "iVBORw==", "contentType": "image/png" });
    app.call("oss://docs/save", image).await.is(200);
    let from = |key: &str| json!({ "uri": "oss://docs/load", "arguments": { "key": key } });
    app.call("oss://archive/save", json!({ "key": "copy", "source": from("a.png") })).await.is(200);
    let loaded = app.call("oss://archive/load", json!({ "key": "copy" })).await.is(200);
    let loaded = &loaded.body["structuredContent"];
    assert_eq!((&loaded["content"], &loaded["contentType"]), (&json!("iVBORw=="), &json!("image/png")));

    // Too large for an answer: it goes from one to the other without one.
    let large = "0123456789".repeat(200_000);
    app.call("oss://docs/save", json!({ "key": "large.txt", "content": large })).await.is(200);
    let saved = app
        .call("oss://archive/save", json!({ "key": "large.txt", "source": from("large.txt") }))
        .await
        .is(200);
    assert_eq!(saved.body["structuredContent"]["size"], 2_000_000);
    let part =
        app.call("oss://archive/load", json!({ "key": "large.txt", "offset": 1_999_990 })).await.is(200);
    assert_eq!(part.body["structuredContent"]["content"], "0123456789");

    let upstream = http::Server::start().await;
    let source = json!({ "url": format!("{}/echo", upstream.url()) });
    let saved = app.call("oss://archive/save", json!({ "key": "web.json", "source": source })).await.is(200);
    assert!(saved.body["structuredContent"]["size"].as_u64().unwrap() > 10, "{}", saved.text);
    let broken = json!({ "key": "web.json", "source": { "url": format!("{}/status/500", upstream.url()) } });
    let reply = app.call("oss://archive/save", broken).await;
    assert!(reply.text.contains("the source answered HTTP 500"), "{}", reply.text);
}

/// OS-9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_is_called_with_the_rights_of_the_caller() {
    let app = two_stores().await;
    app.call("oss://docs/save", json!({ "key": "a.txt", "content": "secret" })).await.is(200);
    let only_archive = app.with_key(json!({ "name": "archivist", "allow": ["oss://archive/*"] })).await;
    let source = json!({ "uri": "oss://docs/load", "arguments": { "key": "a.txt" } });
    let reply = only_archive.call("oss://archive/save", json!({ "key": "x", "source": source })).await;
    assert!(reply.status >= 400 || reply.body["isError"] == true, "{}", reply.text);
    let listed = app.call("oss://archive/list", json!({})).await.is(200);
    assert_eq!(listed.body["structuredContent"]["objects"], json!([]));
    let reply = app.call("oss://archive/save", json!({ "key": "x", "source": { "uri": "nonsense" } })).await;
    assert!(reply.text.contains("source.uri"), "{}", reply.text);

    // Sources within sources end at some depth.
    let nest =
        |inner: Value| json!({ "uri": "oss://archive/save", "arguments": { "key": "y", "source": inner } });
    let deep = (0..5)
        .fold(json!({ "uri": "oss://docs/load", "arguments": { "key": "a.txt" } }), |inner, _| nest(inner));
    let reply = app.call("oss://archive/save", json!({ "key": "x", "source": deep })).await;
    assert!(reply.text.contains("3 deep"), "{}", reply.text);
}

/// OS-9, ML-3: callers fetch from public addresses only, even where the service itself may reach private ones.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_are_guarded() {
    let upstream = http::Server::start().await;
    let app = TestApp::start_with(Backend::Sqlite, |settings| settings.allow_private_network = false).await;
    app.service(json!({ "type": "oss", "id": "closed", "config": {} })).await;
    app.service(json!({ "type": "oss", "id": "open", "config": { "allow_private_network": true } })).await;
    app.service(json!({ "type": "mail", "id": "post", "config": { "allow_private_network": true } })).await;
    let url = upstream.url();
    let sources = [
        json!({ "url": format!("{url}/echo") }),
        json!({ "url": "http://169.254.169.254/latest/meta-data" }),
    ];
    for source in sources {
        for store in ["closed", "open"] {
            let save = json!({ "key": "x", "source": source });
            let reply = app.call(&format!("oss://{store}/save"), save).await;
            let words = "content comes from public addresses only";
            assert!(reply.text.contains(words), "{store} {source}: {}", reply.text);
        }
        let file = json!([{ "name": "a.txt", "source": source }]);
        let mail = json!({ "to": "a@example.com", "subject": "s", "body": "b", "attachments": file });
        let reply = app.call("mail://post/send", mail).await;
        assert!(reply.text.contains("content comes from public addresses only"), "{source}: {}", reply.text);
    }
    let file = json!({ "key": "x", "source": { "url": "file:///etc/passwd" } });
    assert!(app.call("oss://open/save", file).await.text.contains("must begin with https://"));
    let listed = app.call("oss://open/list", json!({})).await.is(200);
    assert_eq!(listed.body["structuredContent"]["objects"], json!([]));
}
