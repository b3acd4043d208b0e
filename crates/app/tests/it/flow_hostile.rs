//! Hostile flows at the door: refused with a place, and nobody else notices.

use crate::flows::put_draft;
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::client::send;
use testkit::{Backend, Reply, TestApp, on_both_databases};

on_both_databases! {
    refuses_texts_beyond_the_limits_with_their_place
    tells_where_a_text_cannot_be_read
    refuses_bodies_that_are_too_large_or_no_text
    takes_no_odd_names
}

/// Small texts that mean something endless.
fn endless() -> Vec<(&'static str, String)> {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let previous = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![previous; 10].join(", "));
    }
    let nodes: String = (0..501).map(|n| format!("  n{n}: {{with: {n}}}\n")).collect();
    let blocks = |levels: usize| {
        (0..levels).fold("{with: 1}".to_owned(), |inner, n| format!("{{nodes: {{b{n}: {inner}}}}}"))
    };
    let deep = format!("nodes: {{a: {{with: {}1{}}}}}", "(".repeat(1000), ")".repeat(1000));
    vec![
        ("a bomb of aliases", bomb),
        ("501 nodes", format!("nodes:\n{nodes}")),
        ("9 levels of blocks", blocks(10)),
        ("a deep expression", deep),
        ("a long expression", format!("nodes: {{a: {{with: '{}'}}}}", "1 + ".repeat(2000) + "1")),
        ("more than 512 KiB", format!("nodes: {{a: {{with: '{}'}}}}", "x".repeat(600_000))),
    ]
}

/// FL-17, and the fault "hostile expression, YAML bomb": 422 with a place, process unharmed.
async fn refuses_texts_beyond_the_limits_with_their_place(backend: Backend) {
    let app = TestApp::start(backend).await;
    app.post("flows", json!({ "id": "f", "source": "nodes: {a: {with: 1}}" })).await.is(201);
    for (name, text) in endless() {
        let begun = Instant::now();
        let refused = app.post("flows", json!({ "id": "bad", "source": text })).await;
        let refused = refused.is_problem(422, "VALIDATION_FAILED");
        let error = &refused.body["errors"][0];
        assert_eq!(error["code"], "LimitExceeded", "{name}: {}", refused.text);
        assert!(error["line"].as_i64() > Some(0) && error["column"].as_i64() > Some(0), "{name}: {error}");
        put_draft(&app, "f", json!({ "source": text })).await.is_problem(422, "VALIDATION_FAILED");
        app.patch("flows/f", json!({ "source": text })).await.is_problem(422, "VALIDATION_FAILED");
        let checked = app.post("flows/validate", json!({ "source": text })).await.is(200).body;
        assert_eq!(checked["valid"], false, "{name}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{name} took {:?}", begun.elapsed());
    }
    assert_eq!(app.get("flows/f").await.is(200).body["revision"], 1, "nothing was changed");
    app.get("flows/bad").await.is_problem(404, "NOT_FOUND");
}

/// What cannot be read is a draft with its first problem, and is never published.
async fn tells_where_a_text_cannot_be_read(backend: Backend) {
    let app = TestApp::start(backend).await;
    for (at, (text, code, line)) in [
        ("nodes: {a: [", "Syntax", 1),
        ("nodes:\n  a: {with: 1}\n  a: {with: 2}\n", "Duplicate", 3),
        ("nodes:\n  a: {with: 1}\n---\nnodes: {}\n", "Syntax", 3),
        ("", "Syntax", 1),
        ("- a\n- b\n", "Syntax", 1),
        ("nodes:\n  a:\n    ? [x]\n    : 1\n", "Syntax", 3),
        ("nodes: {a: *unknown}", "Syntax", 1),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("f{at}");
        let made = app.post("flows", json!({ "id": id, "source": text })).await.is(201);
        let error = &made.body["errors"][0];
        assert_eq!((&error["code"], &error["line"]), (&json!(code), &json!(line)), "{text}: {}", made.text);
        let refused = app.post(&format!("flows/{id}/publish"), json!({})).await;
        assert_eq!(refused.is_problem(422, "VALIDATION_FAILED").body["errors"][0]["line"], line);
    }
    // Of a document that says something twice, both are seen.
    let twice = r#"{"id":"twice","source":{"nodes":{"a":{"with":1},"a":{"with":2}}}}"#;
    let made = raw(&app, "flows", twice.as_bytes().to_vec()).await.is(201);
    assert_eq!(made.body["errors"][0]["code"], "Duplicate", "{}", made.text);
}

async fn raw(app: &TestApp, path: &str, body: Vec<u8>) -> Reply {
    send(app.request(Method::POST, path).header("content-type", "application/json").body(body)).await
}

/// The fault "10 MB body", and bodies that are none.
async fn refuses_bodies_that_are_too_large_or_no_text(backend: Backend) {
    let app = TestApp::start(backend).await;
    let of_size = |size: usize| json!({ "id": "x", "source": "x".repeat(size) }).to_string().into_bytes();
    raw(&app, "flows", of_size(10 * 1024 * 1024)).await.is(422);
    let large = of_size(17 * 1024 * 1024);
    for path in ["flows", "flows/validate"] {
        raw(&app, path, large.clone()).await.is_problem(413, "BAD_REQUEST");
    }
    raw(&app, "flows", b"{\"id\":\"x\",\"source\":\"\xff\xfe\"}".to_vec())
        .await
        .is_problem(400, "BAD_REQUEST");
    let half = raw(&app, "flows", br#"{"id":"x","source":"\ud800"}"#.to_vec()).await;
    assert!([400, 422].contains(&half.status), "{}", half.text);
    let nested = format!("{{\"id\":\"x\",\"source\":{}1{}}}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let nested = raw(&app, "flows", nested.into_bytes()).await;
    assert!([400, 422].contains(&nested.status), "{}", nested.text);
    for source in [json!(1), json!(null), json!([1]), json!(true)] {
        let refused = app
            .post("flows", json!({ "id": "x", "source": source }))
            .await
            .is_problem(422, "VALIDATION_FAILED");
        assert!(refused.text.contains("source"), "{}", refused.text);
    }
    app.post("flows", json!({ "id": "x", "source": "a: \"\\0\"\nb: \u{0}" }))
        .await
        .is_problem(422, "VALIDATION_FAILED");
    app.get("flows").await.is(200);
}

/// FL-32: names that are none lead nowhere, whatever stands in them.
async fn takes_no_odd_names(backend: Backend) {
    let app = TestApp::start(backend).await;
    let source = json!({ "nodes": { "a": { "with": 1 } } });
    for id in ["", "validate", ".hidden", "a b", "a/b", "../x", "ä", "a\u{0}", "x?y", "{}", "a\nb"] {
        let refused = app.post("flows", json!({ "id": id, "source": source })).await;
        assert_eq!(refused.is_problem(422, "VALIDATION_FAILED").body["errors"][0]["path"], "id", "{id:?}");
    }
    app.post("flows", json!({ "id": "x".repeat(65), "source": source }))
        .await
        .is_problem(422, "VALIDATION_FAILED");
    let own: Value = json!({ "id": "../own", "nodes": { "a": { "with": 1 } } });
    app.post("flows", json!({ "source": own })).await.is_problem(422, "VALIDATION_FAILED");
    for id in ["%00", "..%2Fx", "%C3%A4", "a%20b", "%27%20OR%201=1--", "%FF"] {
        for path in ["", "/versions", "/triggers", "/references", "/diff"] {
            app.get(&format!("flows/{id}{path}")).await.is_problem(404, "NOT_FOUND");
        }
        send(app.request(Method::POST, &format!("flows/{id}/publish"))).await.is_problem(404, "NOT_FOUND");
        send(app.request(Method::POST, &format!("flows/x/triggers/{id}/enable")))
            .await
            .is_problem(404, "NOT_FOUND");
    }
}
