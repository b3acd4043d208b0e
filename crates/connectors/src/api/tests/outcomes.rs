//! What becomes of responses.

use super::*;
use tool::ErrorKind;

async fn answer(endpoint: &str) -> tool::Result<Output> {
    let server = Server::start().await;
    call(&*with_tool(&server, json!({ "endpoint": endpoint })), json!({})).await
}

#[tokio::test]
async fn keeps_json_as_it_came() {
    let output = answer("/bom").await.unwrap();
    assert_eq!(output.data().unwrap(), "{\"a\": 1.0}");
    assert!(output.to_result().contains("\"structuredContent\":{\"a\": 1.0}"));
}

#[tokio::test]
async fn reads_text_in_its_charset_and_tells_what_is_no_text() {
    assert_eq!(data(&answer("/text").await.unwrap()), "plain text, é");
    assert_eq!(data(&answer("/latin1").await.unwrap()), "café");
    assert_eq!(data(&answer("/broken-json").await.unwrap()), "{\"a\": ");
    assert_eq!(data(&answer("/empty").await.unwrap()), "HTTP 204, no content");
    assert_eq!(data(&answer("/binary").await.unwrap()), "binary answer of 6 bytes, image/png");
    assert_eq!(data(&answer("/gzip").await.unwrap())["path"], "/gzip");
}

#[tokio::test]
async fn answers_a_head_request_with_its_status() {
    let server = Server::start().await;
    let api = with_tool(&server, json!({ "endpoint": "/x", "method": "HEAD" }));
    assert_eq!(data(&call(&*api, json!({})).await.unwrap()), "HTTP 200, no content");
}

#[tokio::test]
async fn stops_reading_at_the_limit_also_behind_compression() {
    let server = Server::start().await;
    let limit = json!({ "max_response_bytes": 100_000 });
    for (path, is_fine) in [("/big/100000", true), ("/big/100001", false), ("/gzip/9000000", false)] {
        let api = with_settings(&server, limit.clone(), json!({ "endpoint": path }));
        let result = call(&*api, json!({})).await;
        assert_eq!(result.is_ok(), is_fine, "{path}");
        if let Err(error) = result {
            assert_eq!(error.kind(), ErrorKind::Upstream);
            assert!(error.to_string().contains("more than 100000 bytes"), "{error}");
            assert!(!error.is_retryable());
        }
    }
}

/// AP-8
#[tokio::test]
async fn makes_an_error_of_a_bad_status_with_status_and_body() {
    for status in ["400", "401", "404", "418", "500"] {
        let error = answer(&format!("/status/{status}")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream);
        assert_eq!(error.context("status"), Some(status));
        assert!(error.to_string().contains(&format!("HTTP {status}")), "{error}");
        assert!(error.to_string().contains(&format!("\"path\":\"/status/{status}\"")), "{error}");
        assert!(!error.is_retryable());
    }
}

#[tokio::test]
async fn quotes_a_bounded_part_of_an_error_without_the_keys_in_it() {
    let server = Server::start().await;
    let parameters = json!([{ "name": "a" }]);
    let tool = json!({ "endpoint": "/status/500", "method": "POST", "parameters": parameters });
    for auth in [
        json!({ "type": "bearer", "token": "s3cr3t-value" }),
        json!({ "type": "apikey", "value": "s3cr3t-value", "header": "k", "in": "query" }),
        json!({ "type": "basic", "username": "u", "password": "s3cr3t-value" }),
    ] {
        let api = with_settings(&server, json!({ "auth": auth }), tool.clone());
        let error = error_of(&*api, json!({ "a": "x".repeat(10_000) })).await;
        let text = format!("{error:?} {}", error.full_message());
        assert!(!text.contains("s3cr3t-value") && !text.contains("dTpzM2NyM3"), "{text}");
        assert!(error.to_string().len() < 4_400, "{}", error.to_string().len());
        assert!(server.last().header("authorization").is_some() || server.last().query.contains("s3cr3t"));
    }
}

/// HT-4.3
#[tokio::test]
async fn describes_tools_by_json_schemas_of_their_parameters() {
    let parameters = json!([
        { "name": "id", "description": "Which one.", "required": true, "position": "path" },
        { "name": "count", "parameter_type": "Integer", "default_value": 2, "enum_values": [1, 2] },
        { "name": "tags", "parameter_type": "Array", "position": "query" }
    ]);
    let api = open(json!({ "base_url": "https://api.example.com", "tools": [
        { "id": "z", "endpoint": "/z" },
        { "id": "a", "description": "Does a.", "endpoint": "/a/{id}", "parameters": parameters,
          "select": "x.y", "response_template": "{{ . }}", "max_result_bytes": 9 }
    ] }))
    .unwrap();
    let tools = api.tools(&context(Duration::from_secs(1))).await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| (tool.name(), tool.description().unwrap())).collect();
    assert_eq!(names, [("a", "Does a."), ("z", "GET /z")]);
    let schema: Value = serde_json::from_str(tools[0].input_schema().get()).unwrap();
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "id": { "type": "string", "description": "Which one." },
                "count": { "type": "integer", "default": 2, "enum": [1, 2] },
                "tags": { "type": "array", "items": {} }
            },
            "required": ["id"],
            "additionalProperties": false
        })
    );
    let shape = tools[0].shape();
    assert_eq!((shape.select.as_deref(), shape.template.as_deref()), (Some("x.y"), Some("{{ . }}")));
    assert_eq!(shape.max_bytes, Some(9));
}
