//! The positions and names that only imported tools need, on the wire.

use super::*;
use std::time::Duration;
use testkit::conformance::{bind_and_call, context};
use testkit::http::{Received, Server};
use tool::{Arguments, Call, Env, ErrorKind};

/// Opens one tool at a real server and calls it.
async fn call(tool: Value, arguments: Value) -> Result<Received> {
    let server = Server::start().await;
    let settings = json!({ "base_url": server.url(), "allow_private_network": true, "tools": [tool] });
    let api = crate::find("api").unwrap().open(settings, &Env::default())?;
    let arguments = Arguments::from(arguments.as_object().unwrap().clone());
    let call = Call::new("t", arguments);
    bind_and_call(&*api, &context(Duration::from_secs(20)), call).await?;
    Ok(server.last())
}

fn problems_of(tool: &Value) -> Vec<(String, &'static str)> {
    let settings = json!({ "base_url": "https://api.example.com", "tools": [tool] });
    let error = crate::find("api").unwrap().open(settings, &Env::default()).err().unwrap();
    error.problems().iter().map(|problem| (problem.path.clone(), problem.code)).collect()
}

#[tokio::test]
async fn sends_a_whole_body_as_it_is() {
    let tool = |headers: Value| {
        json!({ "id": "t", "method": "POST", "endpoint": "/x", "headers": headers, "parameters": [
            { "name": "body", "position": "whole_body", "schema": {} }, { "name": "q", "position": "query" }] })
    };
    let list = call(tool(json!({})), json!({ "body": [1, { "a": null }], "q": "1" })).await.unwrap();
    assert_eq!((list.body.as_str(), list.query.as_str()), (r#"[1,{"a":null}]"#, "q=1"));
    assert_eq!(list.header("content-type"), Some("application/json"));
    let text = call(tool(json!({ "Content-Type": "text/plain" })), json!({ "body": "a\nb" })).await.unwrap();
    assert_eq!((text.body.as_str(), text.header("content-type")), ("a\nb", Some("text/plain")));
    let quoted = call(tool(json!({})), json!({ "body": "a" })).await.unwrap();
    assert_eq!(quoted.body, "\"a\"");
    let nothing = call(tool(json!({})), json!({})).await.unwrap();
    assert_eq!((nothing.body.as_str(), nothing.header("content-type")), ("", None));
    let mut delete = tool(json!({}));
    delete["method"] = json!("DELETE");
    assert_eq!(call(delete, json!({ "body": { "ids": [1] } })).await.unwrap().body, r#"{"ids":[1]}"#);
}

#[tokio::test]
async fn sends_parameters_under_their_own_names() {
    let tool = json!({ "id": "t", "method": "PUT", "endpoint": "/x/{id}", "parameters": [
        { "name": "id", "position": "path", "required": true },
        { "name": "query_id", "position": "query", "sent_as": "filter[id]" },
        { "name": "header_id", "position": "header", "sent_as": "X-Id" },
        { "name": "body_id", "position": "body", "sent_as": "id" },
    ] });
    let arguments = json!({ "id": "p", "query_id": "q", "header_id": "h", "body_id": "b" });
    let received = call(tool, arguments).await.unwrap();
    assert_eq!((received.path.as_str(), received.query.as_str()), ("/x/p", "filter%5Bid%5D=q"));
    assert_eq!((received.header("x-id"), received.json()), (Some("h"), json!({ "id": "b" })));
}

#[tokio::test]
async fn a_schema_decides_what_a_parameter_accepts() {
    let tool = |schema: Value| {
        json!({ "id": "t", "method": "POST", "endpoint": "/x", "parameters": [
            { "name": "v", "required": true, "schema": schema }] })
    };
    let union = json!({ "type": ["string", "integer"] });
    for value in [json!("a"), json!(1)] {
        assert_eq!(call(tool(union.clone()), json!({ "v": value })).await.unwrap().json()["v"], value);
    }
    let error = call(tool(union), json!({ "v": [] })).await.unwrap_err();
    assert_eq!((error.kind(), error.problems()[0].path.as_str()), (ErrorKind::InvalidInput, "v"));
    let nullable = json!({ "type": ["string", "null"] });
    assert_eq!(call(tool(nullable), json!({ "v": null })).await.unwrap().json(), json!({ "v": null }));
    let error =
        call(tool(json!({ "type": "object", "required": ["a"] })), json!({ "v": {} })).await.unwrap_err();
    assert!(error.message().contains("'v.a'"), "{error}");
}

#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn tool(method: &str, parameters: Value) -> Value {
    json!({ "id": "t", "method": method, "endpoint": "/x", "parameters": parameters })
}

/// Each tool has a problem at this path, with this code.
fn check_refused(cases: &[(Value, &str, &str)]) {
    for (tool, path, code) in cases {
        let (path, found) = (format!("tools[0].{path}"), problems_of(tool));
        assert!(found.iter().any(|(at, found)| *at == path && found == code), "{tool}: {found:?}");
    }
}

#[test]
fn refuses_positions_that_do_not_fit_together() {
    let whole = json!({ "name": "w", "position": "whole_body" });
    check_refused(&[
        (tool("GET", json!([whole])), "parameters[0].position", "ParameterPositionMismatch"),
        (
            tool("POST", json!([whole, { "name": "b" }])),
            "parameters[0].position",
            "ParameterPositionMismatch",
        ),
        (
            tool("POST", json!([whole, { "name": "f", "position": "form" }])),
            "parameters[0].position",
            "ParameterPositionMismatch",
        ),
        (
            tool("POST", json!([{ "name": "a", "position": "query", "file": {} }])),
            "parameters[0].position",
            "ParameterPositionMismatch",
        ),
    ]);
}

#[test]
fn refuses_names_that_two_parameters_have_or_none_can() {
    check_refused(&[
        (
            tool(
                "POST",
                json!([{ "name": "a", "position": "form" }, { "name": "b", "position": "form", "sent_as": "a" }]),
            ),
            "parameters[1].sent_as",
            "DuplicateParameter",
        ),
        (tool("POST", json!([{ "name": "a", "sent_as": "" }])), "parameters[0].sent_as", "InvalidName"),
        (
            tool("POST", json!([{ "name": "a" }, { "name": "b", "sent_as": "a" }])),
            "parameters[1].sent_as",
            "DuplicateParameter",
        ),
        (
            tool("POST", json!([{ "name": "w", "position": "whole_body", "sent_as": "x" }])),
            "parameters[0].sent_as",
            "Unused",
        ),
        (
            tool("GET", json!([{ "name": "a", "position": "header", "sent_as": "bad name" }])),
            "parameters[0].name",
            "InvalidHeaderName",
        ),
    ]);
}

#[test]
fn refuses_styles_schemas_and_defaults_that_do_not_fit() {
    check_refused(&[
        (
            tool("POST", json!([{ "name": "w", "position": "whole_body", "style": "comma" }])),
            "parameters[0].style",
            "Unused",
        ),
        (
            tool("POST", json!([{ "name": "a", "schema": { "type": 7 } }])),
            "parameters[0].schema",
            "InvalidSchema",
        ),
        (
            tool("POST", json!([{ "name": "a", "schema": { "type": "string" }, "default_value": 7 }])),
            "parameters[0].default_value",
            "WrongType",
        ),
    ]);
}

/// A path cannot have a hole where a null was given.
#[tokio::test]
async fn refuses_null_in_a_path() {
    let tool = json!({ "id": "t", "endpoint": "/x/{id}/delete", "parameters": [
        { "name": "id", "position": "path", "required": true, "schema": { "type": ["string", "null"] } }] });
    let error = call(tool, json!({ "id": null })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}
