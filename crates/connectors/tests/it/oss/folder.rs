//! Objects in a folder of this machine.

use super::support::Store;
use serde_json::json;
use std::time::Duration;
use testkit::conformance::context;
use tool::ErrorKind;

/// OS-1, OS-2, OS-4
#[tokio::test]
async fn keeps_content_with_its_type_and_notes() {
    let store = Store::in_folder(json!({ "public_base_url": "https://cdn.test/files/" }));
    let pdf = json!({ "key": "files/中文 a+b&c.pdf", "content": "JVBERi0=", "contentType": "application/pdf", "metadata": { "Owner": "it" } });
    let saved = store.call("save", pdf).await;
    assert_eq!((&saved["size"], &saved["contentType"]), (&json!(5), &json!("application/pdf")));
    assert_eq!(saved["url"], "https://cdn.test/files/files/%E4%B8%AD%E6%96%87%20a%2Bb%26c.pdf");
    let result = store.result("load", json!({ "key": "files/中文 a+b&c.pdf" })).await;
    let loaded = &result["structuredContent"];
    assert_eq!((&loaded["content"], &loaded["encoding"]), (&json!("JVBERi0="), &json!("base64")));
    assert_eq!((&loaded["etag"], &loaded["metadata"]), (&saved["etag"], &json!({ "owner": "it" })));
    assert_eq!(result["content"][1]["resource"]["blob"], "JVBERi0=", "{result}");
    let stat = store.call("stat", json!({ "key": "files/中文 a+b&c.pdf" })).await;
    assert_eq!((&stat["etag"], &stat["content"]), (&saved["etag"], &json!(null)));

    store.save("files/a.txt", "你好").await;
    assert_eq!(store.load("files/a.txt").await, "你好");
    let copied = store.call("copy", json!({ "key": "files/中文 a+b&c.pdf", "to": "b.pdf" })).await;
    assert_eq!((&copied["key"], &copied["etag"]), (&json!("b.pdf"), &saved["etag"]));
    assert_eq!(store.call("stat", json!({ "key": "b.pdf" })).await["metadata"], json!({ "owner": "it" }));

    for _ in 0..2 {
        assert_eq!(
            store.call("delete", json!({ "key": "b.pdf" })).await,
            json!({ "key": "b.pdf", "deleted": true })
        );
    }
    let error = store.fails("load", json!({ "key": "b.pdf" })).await;
    assert_eq!(error.kind(), ErrorKind::Missing, "{error:?}");
    assert!(error.message().contains("b.pdf"), "{error}");
}

/// OS-3
#[tokio::test]
async fn lists_in_the_order_of_bytes_page_by_page() {
    let store = Store::in_folder(json!({ "prefix": "team/" }));
    assert_eq!(store.keys(json!({})).await, Vec::<String>::new(), "nothing was saved yet");
    let mut keys: Vec<_> =
        ["a", "a-b", "a.txt", "a0", "b/c/d", "b/c-e", "b/z", "b!", "中/文"].map(str::to_owned).into();
    keys.extend((0..25).map(|number| format!("many/{number:02}")));
    keys.sort();
    for key in &keys {
        store.save(key, key).await;
    }
    std::fs::write(store.root().join("outside"), "not below the prefix").unwrap();
    for page in [1, 3, 7, 1000] {
        assert_eq!(store.keys(json!({ "maxKeys": page })).await, keys, "{page} at a time");
        assert_eq!(
            store.keys(json!({ "maxKeys": page, "prefix": "many/1" })).await,
            keys.iter().filter(|key| key.starts_with("many/1")).cloned().collect::<Vec<_>>()
        );
        let joined = store.keys(json!({ "maxKeys": page, "delimiter": "/" })).await;
        assert_eq!(joined, ["a", "a-b", "a.txt", "a0", "b!", "b/", "many/", "中/"], "{page} at a time");
        assert_eq!(
            store.keys(json!({ "maxKeys": page, "delimiter": "/", "prefix": "b/" })).await,
            ["b/c-e", "b/c/", "b/z"]
        );
        assert_eq!(
            store.keys(json!({ "maxKeys": page, "delimiter": "/", "prefix": "b" })).await,
            ["b!", "b/"]
        );
    }
    let page = store.call("list", json!({ "prefix": "many/", "maxKeys": 2 })).await;
    assert_eq!((&page["cursor"], &page["truncated"]), (&json!("many/01"), &json!(true)));
    let first = &page["objects"][0];
    assert_eq!(
        (&first["size"], first["lastModified"].is_string(), first["etag"].is_string()),
        (&json!(7), true, true)
    );
}

/// OS-3: keys are joined at whatever stands between their parts, also over pages.
#[tokio::test]
async fn joins_keys_at_any_delimiter() {
    joins_at_any_delimiter(&Store::in_folder(json!({ "prefix": "team/" }))).await;
}

/// What every store does with a delimiter.
pub(super) async fn joins_at_any_delimiter(store: &Store) {
    for key in ["2026-01-a", "2026-01-b", "2026-02-a", "2026", "a b/c", "a b/d", "a", "x/.-y", "x/.-z", "x/y"]
    {
        store.save(key, "x").await;
    }
    for page in [1, 2, 100] {
        let joined = async |delimiter: &str, prefix: &str| {
            store.keys(json!({ "maxKeys": page, "delimiter": delimiter, "prefix": prefix })).await
        };
        assert_eq!(joined("-", "").await, ["2026", "2026-", "a", "a b/c", "a b/d", "x/.-", "x/y"], "{page}");
        assert_eq!(joined("-", "2026-").await, ["2026-01-", "2026-02-"], "{page}");
        assert_eq!(joined(" ", "a").await, ["a", "a "], "{page}");
        assert_eq!(joined(".-", "x").await, ["x/.-", "x/y"], "{page}");
        assert_eq!(joined("-0", "").await[..2], ["2026", "2026-0"], "{page}");
        assert_eq!(joined("none of them", "x/").await, ["x/.-y", "x/.-z", "x/y"], "{page}");
    }
    for wrong in ["", "\n", "12345678901234567"] {
        let error = store.fails("list", json!({ "delimiter": wrong })).await;
        assert_eq!(
            (error.kind(), error.parameter()),
            (ErrorKind::InvalidInput, Some("delimiter")),
            "{wrong:?}"
        );
    }
    let error = store.fails("list", json!({ "delimiter": "-", "cursor": "/a" })).await;
    assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("cursor")));
}

/// OS-8
#[tokio::test]
async fn gives_parts_of_what_is_too_large_for_an_answer() {
    let store = Store::in_folder(json!({ "max_inline_bytes": 1024, "public_base_url": "https://cdn.test" }));
    let text: String = (0..1000).map(|number| format!("{number:04}")).collect();
    store.save("large.txt", &text).await;
    let result = store.result("load", json!({ "key": "large.txt" })).await;
    let loaded = &result["structuredContent"];
    assert_eq!((&loaded["size"], &loaded["url"]), (&json!(4000), &json!("https://cdn.test/large.txt")));
    assert!(loaded["content"].is_null(), "{loaded}");
    let link =
        result["content"].as_array().unwrap().iter().find(|block| block["type"] == "resource_link").unwrap();
    assert_eq!(
        (&link["uri"], &link["name"], &link["mimeType"]),
        (&json!("https://cdn.test/large.txt"), &json!("large.txt"), &json!("text/plain"))
    );
    let part = store.call("load", json!({ "key": "large.txt", "offset": 8, "length": 4 })).await;
    assert_eq!((&part["content"], &part["size"]), (&json!("0002"), &json!(4000)));
    let last = store.call("load", json!({ "key": "large.txt", "offset": 3996, "length": 1000 })).await;
    assert_eq!(last["content"], "0999");
    assert_eq!(store.call("load", json!({ "key": "large.txt", "offset": 4000 })).await["content"], "");
    for (arguments, parameter) in [
        (json!({ "key": "large.txt", "offset": 4001 }), "offset"),
        (json!({ "key": "large.txt", "length": 1025 }), "length"),
    ] {
        assert_eq!(store.fails("load", arguments).await.parameter(), Some(parameter));
    }
}

#[tokio::test]
async fn saves_only_what_is_new_where_that_is_wanted() {
    let store = Store::in_folder(json!({}));
    let (one, two) = (
        json!({ "key": "a", "content": "1", "ifNotExists": true }),
        json!({ "key": "a", "content": "2", "ifNotExists": true }),
    );
    store.call("save", one).await;
    let error = store.fails("save", two).await;
    assert_eq!((error.kind(), error.service_code()), (ErrorKind::Upstream, Some("exists")));
    assert_eq!(store.load("a").await, "1");
    let at_once = (0..16).map(|number| {
        let (connector, cx) = (store.connector.clone(), context(Duration::from_secs(20)));
        tokio::spawn(async move {
            let arguments = json!({ "key": "deep/er/b", "content": number.to_string(), "ifNotExists": true });
            let call = testkit::conformance::call("save", arguments.as_object().cloned().unwrap());
            connector.call(&cx, call).await.is_ok()
        })
    });
    let mut winners = 0;
    for save in at_once.collect::<Vec<_>>() {
        winners += usize::from(save.await.unwrap());
    }
    assert_eq!(winners, 1);
}

#[tokio::test]
async fn changes_nothing_where_it_is_read_only() {
    let store = Store::in_folder(json!({}));
    store.save("a", "1").await;
    let reader = Store::open(json!({ "root": store.root(), "read_only": true }));
    let cx = context(Duration::from_secs(20));
    let tools = reader.connector.tools(&cx).await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, ["list", "load", "presign", "stat"]);
    for tool in ["save", "delete", "copy"] {
        let error = reader.fails(tool, json!({ "key": "a", "content": "2", "to": "b" })).await;
        assert_eq!(error.kind(), ErrorKind::NotFound, "{tool}: {error:?}");
    }
    let error = reader.fails("presign", json!({ "key": "a", "method": "PUT" })).await;
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error:?}");
    assert_eq!(reader.load("a").await, "1");
}

#[tokio::test]
async fn takes_files_that_others_have_put_there_as_objects() {
    let store = Store::in_folder(json!({}));
    store.save("a.json", "{}").await;
    std::fs::create_dir(store.root().join("by")).unwrap();
    std::fs::write(store.root().join("by/hand.csv"), "a,b").unwrap();
    let loaded = store.call("load", json!({ "key": "by/hand.csv" })).await;
    assert_eq!((&loaded["content"], &loaded["contentType"]), (&json!("a,b"), &json!("text/csv")));
    // One of ours that somebody else has changed is not what its record says any more.
    let before = store.call("stat", json!({ "key": "a.json" })).await["etag"].clone();
    std::fs::write(store.root().join("a.json"), "{\"b\":1}").unwrap();
    assert_ne!(store.call("stat", json!({ "key": "a.json" })).await["etag"], before);
    assert_eq!(store.keys(json!({})).await, ["a.json", "by/hand.csv"]);
}

/// Writers of one key wait for one another, and readers see one of the contents, with its own type.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_see_whole_objects_while_others_write_and_delete() {
    let store = std::sync::Arc::new(Store::in_folder(json!({})));
    let writers = (0..4_u8).map(|number| {
        let store = store.clone();
        tokio::spawn(async move {
            for _ in 0..40 {
                let content = char::from(b'a' + number).to_string().repeat(20_000);
                let arguments =
                    json!({ "key": "x/y/z", "content": content, "contentType": format!("text/x-{number}") });
                store.call("save", arguments).await;
                if number == 3 {
                    store.call("delete", json!({ "key": "x/y/z" })).await;
                }
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    while writers.iter().any(|writer| !writer.is_finished()) {
        let cx = context(Duration::from_secs(20));
        let Ok(tool::Outcome::Done(output)) = store.try_call(&cx, "load", json!({ "key": "x/y/z" })).await
        else {
            continue;
        };
        let data: serde_json::Value = serde_json::from_str(&output.data().unwrap()).unwrap();
        let content = data["content"].as_str().unwrap();
        assert_eq!(content.len(), 20_000);
        assert!(content.bytes().all(|byte| byte == content.as_bytes()[0]), "two contents are mixed");
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let left = std::fs::read_dir(store.root().join(".mcp-all-in-one/new")).unwrap().count();
    assert_eq!(left, 0, "files are left half written");
}

/// The prefix is shown to nobody, also where something is not there.
#[tokio::test]
async fn errors_do_not_tell_the_prefix() {
    let store = Store::in_folder(json!({ "prefix": "hidden/team/" }));
    for tool in ["load", "stat"] {
        let error = store.fails(tool, json!({ "key": "a.txt" })).await;
        assert!(error.message().contains("'a.txt'") && !error.message().contains("hidden"), "{error}");
    }
}
