//! Tool URIs at the door: parsed strictly, refused with the reason.

use crate::setup::crm;
use serde_json::json;
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! { reads_type_service_tool_and_options_of_a_uri answers_an_unknown_type_by_naming_it }

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
    let reply = app.call("api://crm/ping?method=POST", json!({})).await.is(200);
    assert_eq!(reply.body["structuredContent"]["method"], "POST");
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
