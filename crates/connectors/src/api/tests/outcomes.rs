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
    let empty = answer("/empty").await.unwrap();
    assert_eq!(empty.to_result(), Output::text("HTTP 204, no content").to_result());
    assert!(empty.data().is_none(), "there is nothing for a template to read");
    for encoding in ["gzip", "br", "zstd"] {
        let echo = data(&answer(&format!("/{encoding}")).await.unwrap());
        assert_eq!(echo["path"], format!("/{encoding}"));
        assert!(echo["headers"]["accept-encoding"].as_str().unwrap().contains(encoding), "{echo}");
    }
}

/// The answer to `/raw` with this type and these bytes.
async fn raw(content_type: &str, more: &str, bytes: &[u8]) -> tool::Result<Output> {
    use base64::Engine;
    let escape = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let base64 = base64::engine::general_purpose::STANDARD.encode(bytes);
    answer(&format!("/raw?type={}&base64={}{more}", escape(content_type), escape(&base64))).await
}

#[tokio::test]
async fn reads_xml_and_other_charsets_as_text() {
    let xml = b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>\xE9</a>";
    let text = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>é</a>";
    assert_eq!(data(&raw("application/xml", "", xml).await.unwrap()), text);
    assert_eq!(data(&raw("image/svg+xml", "", b"<svg/>").await.unwrap()), "<svg/>");
    assert_eq!(
        data(&raw("text/plain; charset=shift_jis", "", &[0x93, 0xFA, 0x96, 0x7B]).await.unwrap()),
        "日本"
    );
    assert_eq!(data(&raw("text/plain; charset=\"GBK\"", "", &[0xD6, 0xD0]).await.unwrap()), "中");
    assert_eq!(data(&raw("application/json", "", b"\xFF\xFE{\0}\0").await.unwrap()), json!({}));
    assert_eq!(data(&raw("text/plain; charset=nonsense", "", b"a\xFFb").await.unwrap()), "a\u{fffd}b");
    assert_eq!(data(&raw("application/problem+json", "", b"[1]").await.unwrap()), json!([1]));
}

#[tokio::test]
async fn gives_pictures_sounds_and_files_as_mcp_content() {
    let block = async |content_type: &str, more: &str| -> Value {
        let output = raw(content_type, more, &[0, 159, 255]).await.unwrap();
        serde_json::from_str::<Value>(&output.to_result()).unwrap()["content"][0].clone()
    };
    assert_eq!(
        block("image/png", "").await,
        json!({ "type": "image", "data": "AJ//", "mimeType": "image/png" })
    );
    assert_eq!(
        block("Audio/WAV", "").await,
        json!({ "type": "audio", "data": "AJ//", "mimeType": "audio/wav" })
    );
    for (content_type, disposition, uri, mime_type) in [
        ("application/pdf", "", "attachment:answer", "application/pdf"),
        (
            "application/zip",
            "attachment; filename=\"..%2F../a b.zip\"",
            "attachment:a%20b.zip",
            "application/zip",
        ),
        (
            "video/mp4",
            "inline; filename=x; filename*=UTF-8''%C3%A9.mp4",
            "attachment:%C3%A9.mp4",
            "video/mp4",
        ),
        ("", "", "attachment:answer", "application/octet-stream"),
    ] {
        let escaped = percent_encoding::utf8_percent_encode(disposition, percent_encoding::NON_ALPHANUMERIC);
        let found = block(content_type, &format!("&disposition={escaped}")).await;
        let expected = json!({ "uri": uri, "mimeType": mime_type, "blob": "AJ//" });
        assert_eq!(found, json!({ "type": "resource", "resource": expected }), "{disposition}");
    }
}

#[tokio::test]
async fn refuses_what_is_compressed_in_a_way_it_cannot_read() {
    let error = raw("text/plain", "&encoding=compress", b"xyz").await.unwrap_err();
    assert!(error.to_string().contains("compressed with 'compress'"), "{error}");
    let error = raw("text/plain", "&encoding=zstd", b"no zstd").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream, "{error:?}");
    assert!(error.to_string().contains("cannot be decompressed") && !error.is_retryable(), "{error:?}");
}

#[tokio::test]
async fn tells_errors_in_the_words_of_the_tool() {
    let server = Server::start().await;
    let template = "{{ .status }} {{ .reason }} at {{ .body.path }} ({{ index .headers \"content-type\" }}) {{ .body.headers.authorization }}";
    let tool = json!({ "endpoint": "/status/422", "error_template": template });
    let auth = json!({ "auth": { "type": "bearer", "token": "s3cr3t-value" } });
    let error = error_of(&*with_settings(&server, auth, tool), json!({})).await;
    assert_eq!(error.to_string(), "422 Unprocessable Entity at /status/422 (application/json) Bearer ***");
    assert_eq!(error.status(), Some(422));
    let tool = json!({ "endpoint": "/status/500", "error_template": "{{ index .body.nothing 5 }}" });
    let error = error_of(&*with_tool(&server, tool), json!({})).await.to_string();
    assert!(error.contains("HTTP 500") && error.contains("error_template:1:"), "{error}");
}

#[tokio::test]
async fn redacts_secrets_in_errors_however_they_are_spelled() {
    let server = Server::start().await;
    for auth in [
        json!({ "type": "apikey", "in": "query", "header": "key", "value": "ab+cd/ef==" }),
        json!({ "type": "apikey", "in": "header", "header": "x-key", "value": "ab\\cd\"ef==" }),
    ] {
        let api = with_settings(&server, json!({ "auth": auth }), json!({ "endpoint": "/status/400" }));
        let error = error_of(&*api, json!({})).await.to_string();
        assert!(error.contains("***") && !error.contains("ef="), "{error}");
        assert!(!error.contains("ef%3D"), "{error}");
    }
}

#[tokio::test]
async fn quotes_no_part_of_a_secret_where_the_quote_ends() {
    let server = Server::start().await;
    let auth = json!({ "auth": { "type": "bearer", "token": "LONGSECRETTOKENVALUE0123456789" } });
    let mut redacted_count = 0;
    // The quote ends before, within and behind the token, which the server repeats.
    for length in (3600..4100).step_by(3) {
        let tool = json!({ "endpoint": format!("/status/400?{}", "x".repeat(length)) });
        let error = error_of(&*with_settings(&server, auth.clone(), tool), json!({})).await.to_string();
        assert!(!error.contains("LO"), "{length}: {error}");
        redacted_count += u32::from(error.contains("***"));
    }
    assert!((1..150).contains(&redacted_count), "{redacted_count}");
}

#[tokio::test]
async fn answers_a_head_request_with_its_status_and_headers() {
    let server = Server::start().await;
    let api = with_tool(&server, json!({ "endpoint": "/x", "method": "HEAD" }));
    let answer = data(&call(&*api, json!({})).await.unwrap());
    assert_eq!(
        (&answer["status"], &answer["headers"]["content-type"]),
        (&json!(200), &json!("application/json"))
    );
    assert_eq!(server.last().method, "HEAD");
}

#[tokio::test]
async fn stops_reading_at_the_limit_also_behind_compression() {
    let server = Server::start().await;
    let limit = json!({ "max_response_bytes": 100_000 });
    for (path, is_fine) in [
        ("/big/100000", true),
        ("/big/100001", false),
        ("/gzip/90000000", false),
        ("/br/90000000", false),
        ("/zstd/90000000", false),
        ("/zstd/100000", true),
    ] {
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
    for status in [400, 401, 404, 418, 500] {
        let error = answer(&format!("/status/{status}")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream);
        assert_eq!(error.status(), Some(status));
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
