//! Checks of flows against the catalog: schemas, services that are down, the publisher's rights; and services that flows need.

use crate::flows::{publish, put_draft};
use crate::setup::{api, crm};
use serde_json::{Value, json};
use testkit::{Backend, Client, TestApp, http, on_both_databases};

on_both_databases! {
    tells_everything_that_the_catalog_knows_better
    a_malformed_uri_is_not_published
    takes_a_service_that_is_down_for_unchecked
    nobody_publishes_what_they_may_not_call
    guards_a_service_that_flows_need
    keeps_what_was_bound_with_the_version
}

async fn validate(client: &Client, source: &str) -> Value {
    client.post("flows/validate", json!({ "source": source })).await.is(200).body
}

fn codes(validation: &Value) -> Vec<(String, i64, i64)> {
    let errors = validation["errors"].as_array().unwrap().iter();
    let code = |error: &Value| error["code"].as_str().unwrap().to_owned();
    let number = |error: &Value, field: &str| error[field].as_i64().unwrap();
    errors.map(|error| (code(error), number(error, "line"), number(error, "column"))).collect()
}

/// FL-18: tools, arguments and types against the catalog, all at once.
async fn tells_everything_that_the_catalog_knows_better(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let text = "inputs: {limit: string}
nodes:
  gone: {exec: 'api://crm/gone'}
  nowhere: {exec: 'api://nobody/x'}
  odd: {exec: 'nope://crm/ping'}
  missing: {exec: 'api://crm/get_order'}
  wrong:
    exec: api://crm/get_order
    args: {userId: u, limit: many, state: lost, colour: red}
  deed: {exec: 'api://crm/ping?method=DELETE'}
";
    let checked = validate(&app, text).await;
    assert_eq!(checked["valid"], false);
    let found = codes(&checked);
    for expected in [
        ("UnknownTool", 3, 16),
        ("UnknownTool", 4, 19),
        ("UnknownTool", 5, 15),
        ("MissingArgument", 6, 19),
        ("TypeMismatch", 9, 23),
        ("TypeMismatch", 9, 36),
        ("UnknownTool", 10, 16),
    ] {
        let expected = (expected.0.to_owned(), expected.1, expected.2);
        assert!(found.contains(&expected), "{expected:?} is missing: {checked:#}");
    }
}

/// UR-2: a malformed URI stops publishing, and the author learns what is wrong with it, and where.
async fn a_malformed_uri_is_not_published(backend: Backend) {
    let app = TestApp::start(backend).await;
    for (uri, words) in [
        ("api//crm/ping", "is no URI of a tool"),
        ("api://crm", "is no URI of a tool"),
        ("api://crm/ping?timeout=never", "timeout"),
        ("api://crm/${name}", "a URI is written out"),
    ] {
        let source = format!("nodes:\n  a:\n    exec: '{uri}'\n");
        let id = format!("f{}", uri.len());
        let made = app.post("flows", json!({ "id": id, "source": source })).await.is(201).body;
        let error = &made["errors"][0];
        assert_eq!((&error["line"], &error["path"]), (&json!(3), &json!("nodes.a.exec")), "{made:#}");
        assert!(error["message"].as_str().unwrap().contains(words), "{uri}: {error}");
        publish(&app, &id).await.is_problem(422, "VALIDATION_FAILED");
    }
}

/// FL-16: what is left out is bound by name when the flow is published, and stored with the version.
async fn keeps_what_was_bound_with_the_version(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let source = "inputs: {userId: string, limit: int}\nnodes: {o: {exec: 'api://crm/get_order'}}";
    let bound = json!([
        { "node": "nodes.o", "parameter": "userId", "name": "userId" },
        { "node": "nodes.o", "parameter": "limit", "name": "limit" },
    ]);
    let checked = validate(&app, source).await;
    assert_eq!((&checked["valid"], &checked["bound"]), (&json!(true), &bound), "{checked}");
    app.post("flows", json!({ "id": "f", "source": source })).await.is(201);
    publish(&app, "f").await.is(200);
    let mut grown = crm(&upstream);
    grown["tools"][0]["parameters"].as_array_mut().unwrap().retain(|parameter| parameter["name"] != "limit");
    app.patch("services/api/crm", json!({ "tools": grown["tools"] })).await.is(200);
    assert_eq!(app.get("flows/f/versions/1").await.is(200).body["bound"], bound, "what is published stays");
    assert_eq!(validate(&app, source).await["bound"].as_array().unwrap().len(), 1);
}

/// A service that cannot say what it offers is no mistake of the author: a warning, and the flow is published.
async fn takes_a_service_that_is_down_for_unchecked(backend: Backend) {
    let app = TestApp::start(backend).await;
    let service = json!({ "type": "mcp", "id": "down", "config": { "url": "http://127.0.0.1:1/mcp" } });
    app.service(service).await;
    app.service(api("off", "http://127.0.0.1:1")).await;
    app.patch("services/api/off", json!({ "enabled": false })).await.is(200);
    let text = "nodes: {a: {exec: 'mcp://down/x', args: {y: 1}}, b: {exec: 'api://off/ping'}}";
    let checked = validate(&app, text).await;
    assert_eq!(checked["valid"], true, "{checked:#}");
    let found: Vec<_> = codes(&checked).into_iter().map(|(code, ..)| code).collect();
    assert_eq!(found, ["Unchecked", "Unchecked"], "{checked:#}");
    app.post("flows", json!({ "id": "f", "source": text })).await.is(201);
    let published = publish(&app, "f").await.is(200).body;
    assert_eq!(published["errors"][0]["severity"], "warning", "{published}");
}

/// A flow reaches what its publisher may: nobody publishes around an allow-list.
async fn nobody_publishes_what_they_may_not_call(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    app.post("flows", json!({ "id": "all", "source": "nodes: {a: {exec: 'api://crm/fail'}}" })).await.is(201);
    publish(&app, "all").await.is(200);
    let key = json!({ "name": "narrow", "role": "manager", "allow": ["api://crm/ping", "flow://mine"] });
    let narrow = app.with_key(key).await;
    for (text, code) in [
        ("nodes: {a: {exec: 'api://crm/ping'}}", None),
        ("nodes: {a: {exec: 'api://crm/fail'}}", Some("not on the allow-list of narrow")),
        ("nodes: {a: {flow: all}}", Some("not on the allow-list of narrow")),
    ] {
        let checked = validate(&narrow, text).await;
        assert_eq!(checked["valid"], code.is_none(), "{checked:#}");
        assert!(code.is_none_or(|words| checked.to_string().contains(words)), "{checked:#}");
    }
    let source = json!({ "source": "nodes: {a: {exec: 'api://crm/fail'}, b: {with: 1}}" });
    put_draft(&narrow, "all", source.clone()).await.is_problem(403, "FORBIDDEN");
    put_draft(&app, "all", source).await.is(200);
    publish(&narrow, "all").await.is_problem(403, "FORBIDDEN");
    publish(&app, "all").await.is(200);
    narrow.post("flows/all/rollback", json!({ "version": 1 })).await.is_problem(403, "FORBIDDEN");
    let mine = json!({ "id": "mine", "source": "nodes: {a: {exec: 'api://crm/fail'}}" });
    narrow.post("flows", mine).await.is(201);
    publish(&narrow, "mine").await.is_problem(422, "VALIDATION_FAILED");
    publish(&app, "mine").await.is(200);
    let key = json!({ "name": "desk", "role": "manager", "scopes": ["read", "manage"] });
    let desk = app.with_key(key).await;
    let checked = validate(&desk, "nodes: {a: {exec: 'api://crm/ping'}}").await;
    assert!(checked.to_string().contains("desk may not call tools"), "{checked:#}");
}

/// SC-4: a service that flows need is deleted only when forced; the list names flow, version and node.
async fn guards_a_service_that_flows_need(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let source = "name: Pings\nnodes: {p: {exec: 'api://crm/ping'}, e: {each: '[1] => x', nodes: {q: {exec: 'api://crm/slow', args: {ms: 1}}}}}";
    app.post("flows", json!({ "id": "pings", "source": source })).await.is(201);
    publish(&app, "pings").await.is(200);
    put_draft(&app, "pings", json!({ "source": "name: Pings\nnodes: {p: {exec: 'api://crm/ping'}}" }))
        .await
        .is(200);
    let references = app.get("services/api/crm/references").await.is(200);
    let of = |node: &str, tool: &str, version: Option<i64>| {
        let state = if version.is_some() { "current" } else { "draft" };
        let mut reference = json!({ "type": "flow", "id": "pings", "name": "Pings", "uri": format!("api://crm/{tool}"), "node": node, "state": state });
        if let Some(version) = version {
            reference["version"] = version.into();
        }
        reference
    };
    let expected = json!([
        of("nodes.p", "ping", None),
        of("nodes.e.nodes.q", "slow", Some(1)),
        of("nodes.p", "ping", Some(1))
    ]);
    assert_eq!(references.body["items"], expected);
    let refused = app.delete("services/api/crm").await.is_problem(409, "REFERENCED");
    for words in [
        "3 things refer",
        "the draft of flow pings (nodes.p)",
        "flow pings version 1 (nodes.e.nodes.q)",
        "?force=true",
    ] {
        assert!(refused.string("detail").contains(words), "{}", refused.text);
    }
    assert_eq!(refused.body["errors"].as_array().unwrap().len(), 3);
    app.delete("services/api/crm/tools/slow").await.is_problem(409, "REFERENCED");
    app.delete("services/api/crm/tools/fail").await.is(204);
    let other = app.with_tenant("umbrella").await;
    other.post("services", crm(&upstream)).await.is(201);
    other.delete("services/api/crm").await.is(204);
    app.delete("services/api/crm?force=true").await.is(204);
    app.get("flows/pings/versions/1").await.is(200);
}
