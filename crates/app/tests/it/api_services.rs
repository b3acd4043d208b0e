//! Services of type `api` through REST and through the MCP door: requests, answers, attempts, and what is refused on save.

use crate::setup::{BothDoors, received};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    makes_requests_of_arguments_at_both_doors
    tries_again_and_gives_up_in_time_at_both_doors
    tells_errors_with_status_and_body_at_both_doors
    sends_forms_and_files_at_both_doors
    gives_every_kind_of_answer_at_both_doors
    refuses_answers_that_are_nested_too_deeply_at_both_doors
    leaves_a_failing_service_alone_and_comes_back
    reports_every_problem_of_a_service_at_once
}

#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn api(upstream: &http::Server, config: Value, tools: Value) -> Value {
    let mut service =
        json!({ "type": "api", "id": "a", "config": { "base_url": upstream.url() }, "tools": tools });
    service["config"].as_object_mut().unwrap().extend(config.as_object().cloned().unwrap());
    service
}

/// AP-1, AP-2, AP-6
async fn makes_requests_of_arguments_at_both_doors(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let parameters = json!([{ "name": "userId" }, { "name": "tags", "parameter_type": "Array" }]);
    let path = |name: &str| json!({ "name": name, "required": true, "position": "path" });
    let tools = json!([
        { "id": "get_profile", "endpoint": "/profile", "method": "GET", "methods": ["POST"], "parameters": parameters },
        { "id": "sync_order", "endpoint": "/orders", "method": "POST", "parameters": parameters },
        { "id": "find", "endpoint": "/users/{userId}/orders/{orderId}", "parameters": [path("userId"), path("orderId")] }
    ]);
    app.service(api(&upstream, json!({ "base_url": format!("{}/v1/", upstream.url()) }), tools)).await;
    let doors = BothDoors::open(&app).await;
    let arguments = json!({ "userId": "U 001", "tags": ["x", "y"] });
    let got = doors.call("a__get_profile", arguments.clone()).await["structuredContent"].clone();
    assert_eq!(
        (&got["method"], &got["path"], &got["query"]),
        (&json!("GET"), &json!("/v1/profile"), &json!("userId=U%20001&tags=x&tags=y"))
    );
    let sent = doors.call("a__sync_order", arguments.clone()).await["structuredContent"].clone();
    assert_eq!((&sent["method"], &sent["body"]), (&json!("POST"), &arguments));
    assert_eq!(sent["headers"]["content-type"], "application/json");
    let found = doors.call("a__find", json!({ "userId": "U001", "orderId": "O/1" })).await;
    assert_eq!(found["structuredContent"]["path"], "/v1/users/U001/orders/O%2F1");
    // The URI chooses the method where the tool leaves it open, at the MCP door through a tool over it.
    app.post("tools", json!({ "name": "posted", "type": "uri", "uri": "api://a/get_profile?method=POST" }))
        .await
        .is(201);
    let posted = doors.call("posted", arguments.clone()).await;
    assert_eq!(posted["structuredContent"]["body"], arguments);
    let posted = app.call("api://a/get_profile?method=POST", arguments.clone()).await.is(200);
    assert_eq!(posted.body["structuredContent"]["method"], "POST");
}

/// What many programs that read JSON cannot bear is not passed on, whoever said it.
async fn refuses_answers_that_are_nested_too_deeply_at_both_doors(backend: Backend) {
    use base64::Engine as _;
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let answer = |depth: usize| {
        let text = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        base64::engine::general_purpose::STANDARD.encode(text).replace('=', "%3D").replace('+', "%2B")
    };
    let tool = |id: &str, depth: usize, kind: &str| json!({ "id": id, "endpoint": format!("/raw?type={kind}&base64={}", answer(depth)) });
    let tools = json!([
        tool("deep", 256, "application/json"),
        tool("too_deep", 257, "application/json"),
        tool("guessed", 257, "")
    ]);
    app.service(api(&upstream, json!({}), tools)).await;
    let doors = BothDoors::open(&app).await;
    // Deeper than what reads it here.
    let deep = app.call_name("a__deep", json!({})).await.is(200).text;
    assert!(deep.contains("\"isError\":false") && deep.contains(&"[".repeat(256)), "{deep:.200}");
    for name in ["a__too_deep", "a__guessed"] {
        let refused = doors.call(name, json!({})).await;
        assert_eq!(refused["isError"], json!(true), "{name}");
        let text = refused["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("nested more than 256 levels deep"), "{text:.200}");
    }
}

/// AP-7
async fn tries_again_and_gives_up_in_time_at_both_doors(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let tools = json!([
        { "id": "slow", "endpoint": "/slow/5000" },
        { "id": "flaky", "endpoint": "/flaky/2", "parameters": [{ "name": "key", "position": "query" }] }
    ]);
    let retry = json!({ "retry": { "max_attempts": 3, "initial_delay_ms": 40, "max_delay_ms": 100 } });
    app.service(api(&upstream, retry, tools)).await;
    app.post(
        "tools",
        json!({ "name": "slow", "type": "uri", "uri": "api://a/slow?timeout=200&max-attempts=3" }),
    )
    .await
    .is(201);
    let doors = BothDoors::open(&app).await;
    let begun = Instant::now();
    let late = app.call_name("slow", json!({})).await.is(200).body;
    assert_eq!(late["error"]["code"], "TIMEOUT", "{late}");
    let mcp = doors.mcp("tools/call", json!({ "name": "slow" })).await["result"].clone();
    for result in [late, mcp] {
        assert_eq!(result["isError"], true);
        assert!(result["content"][0]["text"].as_str().unwrap().contains("did not answer within"), "{result}");
    }
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    received(&upstream, 6).await;
    assert_eq!(upstream.requests().len(), 6, "three attempts at each door");
    for key in ["a", "b"] {
        let begun = Instant::now();
        let reply = app.call_name("a__flaky", json!({ "key": key })).await.is(200);
        assert_eq!(reply.body["isError"], false, "{}", reply.text);
        assert!(begun.elapsed() >= Duration::from_millis(60), "half of 40 and of 80");
    }
    let mcp = doors.mcp("tools/call", json!({ "name": "a__flaky", "arguments": { "key": "c" } })).await;
    assert_eq!(mcp["result"]["structuredContent"]["path"], "/flaky/2", "{mcp}");
}

/// AP-8
async fn tells_errors_with_status_and_body_at_both_doors(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let template = "Order service says {{ .status }}: {{ .body.path }}";
    let tools = json!([
        { "id": "missing", "endpoint": "/status/404" },
        { "id": "broken", "endpoint": "/status/500" },
        { "id": "worded", "endpoint": "/status/409", "error_template": template }
    ]);
    app.service(api(&upstream, json!({}), tools)).await;
    let doors = BothDoors::open(&app).await;
    for (tool, status, text) in [
        ("missing", 404, "the service answered HTTP 404 Not Found: {"),
        ("broken", 500, "the service answered HTTP 500 Internal Server Error: {"),
        ("worded", 409, "Order service says 409: /status/409"),
    ] {
        let failed = doors.call(&format!("a__{tool}"), json!({})).await;
        let expected = json!({ "code": "UPSTREAM_ERROR", "status": status, "service": "a" });
        assert_eq!((&failed["isError"], &failed["error"]), (&json!(true), &expected), "{failed}");
        let said = failed["content"][0]["text"].as_str().unwrap();
        assert!(said.starts_with(text), "{said}");
    }
}

async fn sends_forms_and_files_at_both_doors(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let tools = json!([
        { "id": "pay", "endpoint": "/pay", "method": "POST", "parameters": [
            { "name": "amount", "parameter_type": "Integer", "required": true, "position": "form" },
            { "name": "metadata", "parameter_type": "Object", "position": "form" },
            { "name": "note", "position": "form" }
        ] },
        { "id": "upload", "endpoint": "/upload", "method": "POST", "parameters": [
            { "name": "file", "required": true, "position": "form", "file": { "encoding": "base64", "filename": "a.bin" } }
        ] }
    ]);
    app.service(api(&upstream, json!({}), tools)).await;
    let doors = BothDoors::open(&app).await;
    let paid = doors
        .call("a__pay", json!({ "amount": 5, "metadata": { "order": { "id": 7 } }, "note": null }))
        .await;
    assert_eq!(paid["structuredContent"]["body"], "amount=5&metadata%5Border%5D%5Bid%5D=7");
    assert_eq!(paid["structuredContent"]["headers"]["content-type"], "application/x-www-form-urlencoded");
    for reply in [
        app.call_name("a__upload", json!({ "file": "AP8B" })).await.is(200).body,
        doors.mcp("tools/call", json!({ "name": "a__upload", "arguments": { "file": "AP8B" } })).await,
    ] {
        assert!(reply.to_string().contains("multipart/form-data; boundary="), "{reply}");
        let sent = upstream.last();
        assert!(sent.bytes.windows(3).any(|window| window == [0, 255, 1]), "{:?}", sent.bytes);
        assert!(sent.body.contains("name=\"file\"; filename=\"a.bin\""), "{}", sent.body);
    }
    assert!(doors.refuse("a__upload", json!({ "file": "%%" })).await.contains("must hold Base64"));
}

async fn gives_every_kind_of_answer_at_both_doors(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let tool = |id: &str, endpoint: &str| json!({ "id": id, "endpoint": endpoint });
    let mut tools: Vec<_> = [
        ("png", "/raw?type=image/png&base64=iVBORw0KGgo="),
        ("wav", "/raw?type=audio/wav&base64=UklGRg=="),
        ("pdf", "/raw?type=application/pdf&base64=JVBERi0=&disposition=inline;filename=a.pdf"),
        ("xml", "/raw?type=application/xml&base64=PGEvPg=="),
        ("text", "/latin1"),
        ("none", "/empty"),
        ("zstd", "/zstd"),
        ("br", "/br"),
        ("bomb", "/zstd/50000000"),
        ("large", "/raw?type=image/png&base64=iVBORw0KGgo="),
    ]
    .map(|(id, endpoint)| tool(id, endpoint))
    .into();
    tools[9]["max_result_bytes"] = json!(40);
    tools.push(json!({ "id": "head", "endpoint": "/x", "method": "HEAD" }));
    app.service(api(&upstream, json!({ "max_response_bytes": 1_000_000 }), tools.into())).await;
    let doors = BothDoors::open(&app).await;
    let first = async |tool: &str| doors.call(&format!("a__{tool}"), json!({})).await["content"][0].clone();
    assert_eq!(
        first("png").await,
        json!({ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" })
    );
    assert_eq!(first("wav").await, json!({ "type": "audio", "data": "UklGRg==", "mimeType": "audio/wav" }));
    let pdf = json!({ "uri": "attachment:a.pdf", "mimeType": "application/pdf", "blob": "JVBERi0=" });
    assert_eq!(first("pdf").await, json!({ "type": "resource", "resource": pdf }));
    assert_eq!(first("xml").await["text"], "<a/>");
    assert_eq!(first("text").await["text"], "café");
    assert_eq!(first("none").await["text"], "HTTP 204, no content");
    assert!(first("large").await["text"].as_str().unwrap().contains("image of"), "cut as a whole");
    for encoding in ["zstd", "br"] {
        let answer = doors.call(&format!("a__{encoding}"), json!({})).await;
        assert_eq!(answer["structuredContent"]["path"], format!("/{encoding}"));
    }
    let bomb = doors.call("a__bomb", json!({})).await;
    assert_eq!(bomb["isError"], true);
    assert!(bomb["content"][0]["text"].as_str().unwrap().contains("more than 1000000 bytes"), "{bomb}");
    assert_eq!(doors.call("a__head", json!({})).await["structuredContent"]["status"], 200);
}

async fn leaves_a_failing_service_alone_and_comes_back(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let config =
        json!({ "retry": { "max_attempts": 1 }, "circuit_breaker": { "failures": 2, "open_ms": 700 } });
    let tools = json!([{ "id": "it", "endpoint": "/flaky/2?key=k" }]);
    app.service(api(&upstream, config, tools)).await;
    let doors = BothDoors::open(&app).await;
    assert_eq!(doors.call("a__it", json!({})).await["error"]["status"], 503, "one failure at each door");
    let left_alone = app.call_name("a__it", json!({})).await.is(200);
    assert_eq!(left_alone.body["error"]["code"], "CIRCUIT_OPEN", "{}", left_alone.text);
    assert!(
        left_alone.body["content"][0]["text"].as_str().unwrap().contains("left alone"),
        "{}",
        left_alone.text
    );
    let mcp = doors.mcp("tools/call", json!({ "name": "a__it" })).await;
    assert_eq!(mcp["result"]["isError"], true, "{mcp}");
    assert_eq!(upstream.requests().len(), 2);
    tokio::time::sleep(Duration::from_millis(750)).await;
    assert_eq!(doors.call("a__it", json!({})).await["isError"], false, "the probe found it well");
}

/// HT-1.3, HT-2.3, HT-2.4, HT-7.1, HT-7.4, HT-7.5, HD-5
async fn reports_every_problem_of_a_service_at_once(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let tools = json!([
        { "id": "one", "endpoint": "/{a}/{b}", "method": "POST", "response_template": "a\n{{ if }}", "error_template": "{{ .x",
          "parameters": [
            { "name": "b", "position": "query" }, { "name": "c", "position": "path", "required": true },
            { "name": "no good", "position": "header" }, { "name": "d" }, { "name": "d" },
            { "name": "e", "position": "form" }, { "name": "f", "position": "moon" }
          ] },
        { "id": "two", "endpoint": "/two", "select": "items[" }
    ]);
    let reply = app.post("services", api(&upstream, json!({ "colour": 1 }), tools)).await;
    let reply = reply.is_problem(422, "VALIDATION_FAILED");
    let found = reply.errors();
    for expected in [
        ("config.colour", "Unknown"),
        ("tools[0].endpoint", "PathParameterMissing"),
        ("tools[0].parameters[0].position", "ParameterPositionMismatch"),
        ("tools[0].parameters[1].position", "PathParameterInvalid"),
        ("tools[0].parameters[2].name", "InvalidHeaderName"),
        ("tools[0].parameters[4].name", "DuplicateParameter"),
        ("tools[0].parameters", "ParameterPositionMismatch"),
        ("tools[0].response_template", "TemplateSyntaxError"),
        ("tools[0].error_template", "TemplateSyntaxError"),
        ("tools[1].select", "SelectSyntaxError"),
    ] {
        assert!(found.contains(&expected), "{expected:?} is not in {}", reply.text);
    }
    assert!(found.iter().any(|(path, _)| *path == "tools[0].parameters[6].position"), "{}", reply.text);
    assert!(BothDoors::open(&app).await.names().await.is_empty(), "nothing was saved");
}
