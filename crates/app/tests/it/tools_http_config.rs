//! What a config of an inline HTTP tool is refused for, when it is saved and when it is only validated.

use crate::tools_http::http_tool;
use serde_json::{Value, json};
use testkit::{Backend, TestApp, on_both_databases};

on_both_databases! {
    refuses_a_bad_config_with_every_problem_at_once
    refuses_an_endpoint_that_is_no_address
    refuses_a_tool_without_its_type_or_config
}

/// HT-1.3, HT-2.3, HT-2.4, HT-7.1, HT-7.4, HT-7.5, HD-5
async fn refuses_a_bad_config_with_every_problem_at_once(backend: Backend) {
    let app = TestApp::start(backend).await;
    let reply = app.post("tools", bad_tool()).await.is_problem(422, "VALIDATION_FAILED");
    let found = reply.errors();
    for expected in [
        ("name", "InvalidName"),
        ("status", "NotAllowed"),
        ("config.HTTP.endpoint", "PathParameterMissing"),
        ("config.HTTP.headers.Bad Header", "InvalidHeaderName"),
        ("config.HTTP.parameters[0].position", "ParameterPositionMismatch"),
        ("config.HTTP.parameters[1].position", "PathParameterInvalid"),
        ("config.HTTP.parameters[3].name", "InvalidHeaderName"),
        ("config.HTTP.parameters[5].name", "DuplicateParameter"),
        ("config.HTTP.parameters[6].default_value", "WrongType"),
        ("config.HTTP.timeout_seconds", "TooLarge"),
        ("config.HTTP.retry_count", "TooLarge"),
        ("config.HTTP.response_template", "TemplateSyntaxError"),
    ] {
        assert!(found.contains(&expected), "{expected:?} is not in {}", reply.text);
    }
    for path in ["colour", "config.HTTP.colour", "config.HTTP.method", "config.HTTP.parameters[2].position"] {
        assert!(found.iter().any(|(at, _)| *at == path), "{path} is not in {}", reply.text);
    }
    let message =
        reply.body["errors"].as_array().unwrap().iter().find(|error| error["code"] == "TemplateSyntaxError");
    assert!(message.unwrap()["message"].as_str().unwrap().contains(":2:"), "{}", reply.text);

    let dry = app.post("tools/validate", bad_tool()).await.is(200);
    assert_eq!((&dry.body["valid"], &dry.body["errors"]), (&json!(false), &reply.body["errors"]));
    assert_eq!(app.get("tools").await.is(200).body["total"], 0);
}

/// A Tool with a mistake in every field.
fn bad_tool() -> Value {
    json!({
        "name": "bad name", "type": "http", "colour": "red", "status": "sleeping",
        "config": { "HTTP": {
            "endpoint": "https://api.example.com/{a}/{b}/{c}", "method": "BREW",
            "headers": { "Bad Header": "x" },
            "parameters": [
                { "name": "a", "position": "query" },
                { "name": "d", "position": "path", "required": true },
                { "name": "b", "position": "moon" },
                { "name": "no good", "position": "header" },
                { "name": "x" }, { "name": "x" },
                { "name": "n", "parameter_type": "Integer", "default_value": "one" }
            ],
            "timeout_seconds": 301, "retry_count": 11,
            "response_template": "first\n{{ if }}",
            "colour": "red"
        } }
    })
}

async fn refuses_an_endpoint_that_is_no_address(backend: Backend) {
    let app = TestApp::start(backend).await;
    for endpoint in [
        "/users",
        "users/{x}",
        "",
        "ftp://x/y",
        "https://{x}/y",
        "https://",
        "https://u:p@x/",
        "//x/y",
        "https://x/../y",
        "https://x/{",
        "https://x/#a",
    ] {
        let reply = app.post("tools", http_tool("t", json!({ "endpoint": endpoint }))).await;
        let reply = reply.is_problem(422, "VALIDATION_FAILED");
        assert!(
            reply.errors().iter().any(|(path, _)| *path == "config.HTTP.endpoint"),
            "{endpoint}: {}",
            reply.text
        );
        assert!(!reply.text.contains("base_url"), "{}", reply.text);
    }
    assert_eq!(app.get("tools").await.is(200).body["total"], 0);
}

async fn refuses_a_tool_without_its_type_or_config(backend: Backend) {
    let app = TestApp::start(backend).await;
    for (body, path) in [
        (json!({}), "type"),
        (json!({ "type": "http", "name": "t" }), "config"),
        (json!({ "type": "http", "name": "t", "config": {} }), "config.HTTP"),
        (json!({ "type": "http", "name": "t", "config": 7 }), "config"),
        (json!({ "type": "http", "name": 7, "config": { "HTTP": { "endpoint": "https://x/" } } }), "name"),
        (json!({ "type": "pigeon", "name": "t" }), "type"),
    ] {
        let reply = app.post("tools", body).await.is_problem(422, "VALIDATION_FAILED");
        assert!(reply.errors().iter().any(|(at, _)| *at == path), "{path}: {}", reply.text);
    }
    assert_eq!(app.get("tools").await.is(200).body["total"], 0);
}
