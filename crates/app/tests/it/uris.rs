//! Tool URIs at the door: parsed strictly, refused with the reason.

use crate::setup::{audited, crm};
use serde_json::{Value, json};
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    reads_type_service_tool_and_options_of_a_uri
    answers_an_unknown_type_by_naming_it
    refuses_options_that_do_more_than_the_tool
    shows_the_options_to_the_policy_and_the_audit
}

/// UR-1
async fn reads_type_service_tool_and_options_of_a_uri(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let reply = app.call("api://crm/get_order?timeout=20000", json!({ "userId": "ada" })).await.is(200);
    assert_eq!(reply.body["structuredContent"]["path"], "/users/ada/orders");
    // The option means something: the same tool, told to hurry.
    let reply = app.call("api://crm/slow?timeout=50", json!({ "ms": 20_000 })).await.is(200);
    assert_eq!(reply.body["error"]["code"], "TIMEOUT", "{}", reply.text);
    let reply = app.call("api://crm/ping?method=get", json!({})).await.is(200);
    assert_eq!(reply.body["structuredContent"]["method"], "GET");
}

fn users(upstream: &http::Server) -> Value {
    let id = json!([{ "name": "id", "position": "path", "required": true }]);
    json!({
        "type": "api", "id": "ro", "config": { "base_url": upstream.url(), "timeout_ms": 300, "retry": { "max_attempts": 2 } },
        "tools": [
            { "id": "get_user", "endpoint": "/users/{id}", "parameters": id },
            { "id": "any_user", "endpoint": "/users/{id}", "methods": ["GET", "DELETE"], "parameters": id },
            { "id": "slow", "endpoint": "/slow/2000" },
            { "id": "add_user", "endpoint": "/flaky/5?key=add", "method": "POST" },
            { "id": "flaky", "endpoint": "/flaky/5?key=get" }
        ]
    })
}

/// A caller of a tool that reads cannot make it delete, wait longer or ask more often.
async fn refuses_options_that_do_more_than_the_tool(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(users(&upstream)).await;
    let reply = app.call("api://ro/get_user?method=DELETE", json!({ "id": "7" })).await;
    let reply = reply.is_problem(422, "VALIDATION_FAILED");
    let said = reply.string("detail");
    assert!(said.contains("method=DELETE") && said.contains("GET") && said.contains("methods"), "{said}");
    assert_eq!(reply.errors(), [("uri", "MethodNotOpen")]);
    let tool = json!({ "name": "gone", "type": "uri", "uri": "api://ro/get_user?method=DELETE" });
    let reply = app.post("tools", tool).await.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(reply.errors(), [("uri", "MethodNotOpen")], "{}", reply.text);
    assert!(upstream.requests().is_empty(), "nothing was sent");
    // Where the definition leaves it open, the caller chooses, but not against a Tool that has chosen.
    let reply = app.call("api://ro/any_user?method=DELETE", json!({ "id": "7" })).await.is(200);
    assert_eq!(reply.body["structuredContent"]["method"], "DELETE");
    app.call("api://ro/any_user?method=PUT", json!({ "id": "7" })).await.is_problem(422, "VALIDATION_FAILED");
    app.post(
        "tools",
        json!({ "name": "look", "type": "uri", "uri": "api://ro/any_user?method=GET&timeout=100" }),
    )
    .await
    .is(201);
    app.call("tool://look/call?method=GET", json!({ "id": "7" })).await.is(200);
    app.call("tool://look/call?method=DELETE", json!({ "id": "7" }))
        .await
        .is_problem(422, "VALIDATION_FAILED");
    app.post("tools", json!({ "name": "look_slowly", "type": "uri", "uri": "api://ro/slow?timeout=100" }))
        .await
        .is(201);
    for (uri, most) in [
        ("api://ro/slow?timeout=60000", 300),
        ("api://ro/slow?timeout=60000&max-attempts=1", 300),
        ("tool://look_slowly/call?timeout=60000", 100),
        ("tool://look_slowly/call?max-attempts=2", 100),
    ] {
        let reply = app.call(uri, json!({})).await.is(200);
        assert_eq!(reply.body["error"]["code"], "TIMEOUT", "{uri}: {}", reply.text);
        let (_, waited) =
            reply.text.split_once("did not answer within ").unwrap_or_else(|| panic!("{}", reply.text));
        let waited: u32 = waited.split(' ').next().unwrap().parse().unwrap();
        assert!(waited <= most, "{uri}: {}", reply.text);
    }
    for (uri, path, attempts) in [
        ("api://ro/add_user?max-attempts=4", "key=add", 1),
        ("api://ro/flaky?max-attempts=4", "key=get", 2),
        ("api://ro/flaky?max-attempts=1", "key=get", 3),
    ] {
        app.call(uri, json!({})).await.is(200);
        let sent = upstream.requests().iter().filter(|request| request.query == path).count();
        assert_eq!(sent, attempts, "{uri}");
    }
}

/// An allow-list that names a tool does not cover what its options make of it, and the audit says what was done.
async fn shows_the_options_to_the_policy_and_the_audit(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(users(&upstream)).await;
    app.post("tools", json!({ "name": "remove", "type": "uri", "uri": "api://ro/any_user?method=DELETE" }))
        .await
        .is(201);
    let id = || json!({ "id": "7" });
    for allow in ["api://ro/any_user", "ro__any_user", "api://ro/*", "*any_user"] {
        let reader = app.with_key(json!({ "name": "r", "allow": [allow] })).await;
        reader.call("api://ro/any_user?timeout=200", id()).await.is(200);
        reader.call("api://ro/any_user?method=GET", id()).await.is(200);
        reader.call("api://ro/any_user?method=DELETE", id()).await.is_problem(403, "FORBIDDEN");
        reader.call_name("remove", id()).await.is_problem(403, "FORBIDDEN");
        reader.call("tool://remove/call", id()).await.is_problem(403, "FORBIDDEN");
    }
    for allow in ["api://ro/any_user?method=DELETE", "api://ro/*?method=*"] {
        let remover = app.with_key(json!({ "name": "d", "allow": [allow] })).await;
        remover.call("api://ro/any_user?method=DELETE", id()).await.is(200);
        remover.call_name("remove", id()).await.is(200);
    }
    let admin = json!({ "id": "a" });
    app.call("api://ro/any_user?method=DELETE&timeout=250", admin).await.is(200);
    let records = audited(&app, "service=ro&status=ok", 4 * 2 + 2 * 2 + 1).await;
    assert_eq!(records[0]["uri"], "api://ro/any_user?timeout=250&method=DELETE");
    let deletions = records.iter().filter(|record| record["uri"].as_str().unwrap().contains("method=DELETE"));
    assert_eq!(deletions.count(), 5);
    let refused = audited(&app, "service=ro&status=refused", 4 * 3).await;
    assert!(refused.iter().all(|record| record["uri"] == "api://ro/any_user?method=DELETE"), "{refused:?}");
}

/// UR-2
#[tokio::test]
async fn says_what_is_wrong_with_a_malformed_uri() {
    let app = TestApp::start(Backend::Sqlite).await;
    for (uri, reason) in [
        ("", "empty"),
        ("crm/get_order", "no type"),
        ("API://crm/get_order", "lower-case"),
        ("api:///get_order", "service is empty"),
        ("api://crm", "names no tool"),
        ("api://crm/", "tool behind the last slash is empty"),
        ("api://crm/a/b", "slash too many"),
        ("api://crm/a%zz", "percent escape"),
        ("api://crm/a%ff", "not UTF-8"),
        ("api://crm/a b", "percent escape"),
        ("api://crm/a\u{7}", "control character"),
        ("api://crm/a?", "no name"),
        ("api://crm/a?x", "no value"),
        ("api://crm/a?timeout=1&timeout=2", "twice"),
        ("api://crm/a?timeout=soon", "'timeout' is 'soon'"),
        (
            "api://crm/a?timout=5",
            "no option 'timout'; there are timeout, max-attempts, method, async, version",
        ),
        ("tool://a/call?path=/x", "no option 'path'"),
    ] {
        let reply = app.call(uri, json!({})).await.is_problem(400, "INVALID_URI");
        assert!(reply.string("detail").contains(reason), "{uri}: {}", reply.text);
        assert_eq!(reply.errors(), [("uri", "InvalidUri")], "{uri}");
    }
    let reply = app.call("api://crm/a?timeout=abc&max-attempts=0", json!({})).await;
    let reply = reply.is_problem(400, "INVALID_URI");
    assert_eq!(reply.errors().len(), 2, "{}", reply.text);
    let long = format!("api://crm/{}", "x".repeat(100_000));
    app.call(&long, json!({})).await.is_problem(400, "INVALID_URI");
}

/// UR-3
async fn answers_an_unknown_type_by_naming_it(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let detail =
        async |uri: &str| app.call(uri, json!({})).await.is_problem(404, "TOOL_NOT_FOUND").string("detail");
    assert!(detail("carrier-pigeon://crm/get_order").await.contains("'carrier-pigeon'"));
    assert!(detail("api://nobody/get_order").await.contains("api://nobody"));
    assert!(detail("api://crm/dance").await.contains("no tool 'dance'"));
    let reply = app.call_name("crm__dance", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    assert_eq!(reply.string("detail"), "Tool 'crm__dance' not found");
    assert!(upstream.requests().is_empty());
}
