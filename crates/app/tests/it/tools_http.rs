//! Tools of type `http`: configured as in the design document, called by name, changed and hidden.

use crate::setup::{audited, crm};
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use testkit::client::send_json;
use testkit::{Backend, TestApp, http, on_both_databases};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

on_both_databases! {
    runs_the_example_of_the_design_document_end_to_end
    lists_and_calls_a_tool_at_the_mcp_door
    puts_arguments_where_they_belong_and_keeps_their_types
    refuses_values_that_would_traverse_or_inject
    applies_a_change_at_once_and_drops_the_old_template
    says_why_a_template_failed_and_gives_the_raw_answer
    hides_secrets_and_keeps_them
    reaches_private_addresses_only_where_allowed
    answers_what_the_service_did_wrong
}

/// An upstream that answers every request with the same JSON and keeps the head of the last one.
async fn order_service(answer: Value) -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let last = Arc::new(Mutex::new(String::new()));
    let seen = last.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = vec![0; 16 * 1024];
            let count = stream.read(&mut bytes).await.unwrap_or_default();
            *seen.lock().unwrap() = String::from_utf8_lossy(&bytes[..count]).into_owned();
            let body = answer.to_string();
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length:";
            let _ = stream.write_all(format!("{head} {}\r\n\r\n{body}", body.len()).as_bytes()).await;
        }
    });
    (url, last)
}

/// The configuration in seed 001, letter by letter but for the host.
fn example(base: &str) -> Value {
    json!({ "HTTP": {
        "endpoint": format!("{base}/users/{{userId}}/orders/{{orderId}}"),
        "method": "GET",
        "headers": { "Content-Type": "application/json" },
        "parameters": [
            { "name": "userId", "parameter_type": "String", "description": "User ID", "required": true, "position": "path" },
            { "name": "orderId", "parameter_type": "String", "description": "Order ID", "required": true, "position": "path" },
            { "name": "Authorization", "parameter_type": "String", "description": "Auth token", "required": true, "position": "header" },
            { "name": "includeDetails", "parameter_type": "Boolean", "description": "Include order details",
              "required": false, "position": "body", "default_value": false }
        ],
        "timeout_seconds": 30,
        "retry_count": 3,
        "response_template": "Order ID: {{ .orderId }}\nStatus: {{ .status }}\nItems:\n{{- range $index, $item := .items }}\n- {{ .name }}: ${{ .price }}\n{{- end }}"
    } })
}

#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
pub(crate) fn http_tool(name: &str, http: Value) -> Value {
    json!({ "name": name, "type": "http", "description": "A test", "config": { "HTTP": http } })
}

/// HD-1, HT-1.1, HT-1.4, HT-2.1, HT-2.2, HT-3.1, HT-3.2, HT-3.3, HT-3.6, HT-4.2, HT-4.3, HT-5.6
async fn runs_the_example_of_the_design_document_end_to_end(backend: Backend) {
    let order = json!({ "orderId": "o-7", "status": "shipped", "items": [{ "name": "Tea", "price": 3.5 }, { "name": "Cup", "price": 8 }] });
    let (base, last) = order_service(order).await;
    let app = TestApp::start(backend).await;
    let body = json!({ "name": "get_order", "description": "Finds an order", "type": "http", "config": example(&base) });
    let made = app.post("tools", body).await.is(201);
    assert_eq!((&made.body["status"], &made.body["type"]), (&json!("active"), &json!("http")));
    assert_eq!(made.body["config"], example(&base), "it is kept as it was given");
    assert_eq!(made.body["address"], "tool://get_order/call");

    let listed = app.get("mcp/tools").await.is(200).body["tools"][0].clone();
    assert_eq!((&listed["name"], &listed["description"]), (&json!("get_order"), &json!("Finds an order")));
    let schema = &listed["inputSchema"];
    assert_eq!(schema["required"], json!(["userId", "orderId", "Authorization"]));
    assert_eq!(
        schema["properties"]["includeDetails"],
        json!({ "type": "boolean", "description": "Include order details", "default": false })
    );

    let arguments = json!({ "userId": "u 1", "orderId": "o/7", "Authorization": "Bearer s3cret" });
    for reply in [
        app.call_name("get_order", arguments.clone()).await,
        app.call("tool://get_order/call", arguments.clone()).await,
    ] {
        let reply = reply.is(200);
        assert_eq!(reply.body["isError"], false, "{}", reply.text);
        let text = "Order ID: o-7\nStatus: shipped\nItems:\n- Tea: $3.5\n- Cup: $8";
        assert_eq!(reply.body["content"], json!([{ "type": "text", "text": text }]));
        let seen = last.lock().unwrap().to_lowercase();
        assert!(
            seen.starts_with("get /users/u%201/orders/o%2f7?includedetails=false http/1.1\r\n"),
            "{seen}"
        );
        assert!(seen.contains("\r\nauthorization: bearer s3cret\r\n"), "{seen}");
        assert!(seen.contains("\r\ncontent-type: application/json\r\n"), "{seen}");
    }
    for record in audited(&app, "tool=get_order", 2).await {
        assert_eq!((&record["tool"], &record["uri"]), (&json!("get_order"), &json!("tool://get_order/call")));
        assert!(!record.to_string().contains("s3cret"), "{record}");
    }
}

/// HT-4.1, HT-4.2, HT-5.1, HT-5.4
async fn lists_and_calls_a_tool_at_the_mcp_door(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let http = json!({ "endpoint": format!("{}/own/{{id}}", upstream.url()), "response_template": "{{ .path }}",
        "parameters": [{ "name": "id", "required": true, "position": "path" }] });
    app.post("tools", http_tool("own", http)).await.is(201);
    let ask = async |session: Option<&str>, method: &str, params: Value| {
        let request =
            app.request(Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
        let request = match session {
            Some(session) => request.header("mcp-session-id", session),
            None => request,
        };
        send_json(request, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
            .await
            .is(200)
    };
    let client = json!({ "name": "t", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let hello = ask(None, "initialize", params).await;
    let session = hello.header("mcp-session-id");
    let listed = ask(session, "tools/list", json!({})).await.body["result"]["tools"][0].clone();
    assert_eq!((&listed["name"], &listed["description"]), (&json!("own"), &json!("A test")));
    assert_eq!(listed["inputSchema"]["required"], json!(["id"]));
    let called = ask(session, "tools/call", json!({ "name": "own", "arguments": { "id": "x" } })).await;
    assert_eq!(called.body["result"]["content"], json!([{ "type": "text", "text": "/own/x" }]));
}

/// HT-1.2, HT-1.4, HT-1.5, HT-2.5, HT-3.5
async fn puts_arguments_where_they_belong_and_keeps_their_types(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let parameters = json!([
        { "name": "id", "required": true, "position": "path" },
        { "name": "q", "position": "query" },
        { "name": "X-Trace", "position": "header" },
        { "name": "count", "parameter_type": "Integer" },
        { "name": "deep", "parameter_type": "Object" }
    ]);
    let endpoint = format!("{}/things/{{id}}?fixed=1", upstream.url());
    let made = app.post(
        "tools",
        http_tool("put_thing", json!({ "endpoint": endpoint, "method": "POST", "parameters": parameters })),
    );
    let made = made.await.is(201);
    assert_eq!(made.body["config"]["HTTP"]["parameters"][3]["position"], "body", "{}", made.text);
    let arguments =
        json!({ "id": "a/b c?&#%ü", "q": "x y", "X-Trace": "t", "count": 7, "deep": { "a": [1.5, null] } });
    let reply = app.call_name("put_thing", arguments).await.is(200);
    let got = upstream.last();
    assert_eq!(
        (got.path.as_str(), got.query.as_str()),
        ("/things/a%2Fb%20c%3F%26%23%25%C3%BC", "fixed=1&q=x%20y")
    );
    assert_eq!(got.header("x-trace"), Some("t"));
    assert_eq!(got.json(), json!({ "count": 7, "deep": { "a": [1.5, null] } }));
    assert_eq!(reply.body["structuredContent"]["method"], "POST");
    app.call_name("put_thing", json!({ "id": "a", "nope": 1 })).await.is_problem(422, "VALIDATION_FAILED");
    app.call_name("put_thing", json!({ "id": "a", "count": "7" })).await.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(upstream.requests().len(), 1);
}

/// HD-2, HD-3
async fn refuses_values_that_would_traverse_or_inject(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let http = json!({ "endpoint": format!("{}/files/{{name}}", upstream.url()), "parameters": [
        { "name": "name", "required": true, "position": "path" },
        { "name": "X-Note", "position": "header" }
    ] });
    app.post("tools", http_tool("file", http)).await.is(201);
    for name in ["..", ".", "../etc", "a/../b", "%2e%2e", "%252e%252e%252f", "..\\x", ""] {
        let reply = app.call_name("file", json!({ "name": name })).await.is_problem(422, "VALIDATION_FAILED");
        assert_eq!(reply.errors(), [("name", "PathTraversal")], "{name}");
    }
    for note in ["a\r\nX-Evil: 1", "a\nb", "a\0b", &"x".repeat(9000)] {
        let reply = app.call_name("file", json!({ "name": "a", "X-Note": note })).await;
        assert_eq!(reply.is_problem(422, "VALIDATION_FAILED").errors(), [("X-Note", "InvalidHeaderValue")]);
    }
    assert!(upstream.requests().is_empty());
}

/// HT-6.2, HT-6.3, HT-6.4
async fn applies_a_change_at_once_and_drops_the_old_template(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let http = |template: Value| json!({ "HTTP": { "endpoint": format!("{}/x", upstream.url()), "response_template": template } });
    let tool = json!({ "name": "t", "type": "http", "config": http(json!("old {{ .method }}")) });
    let path = format!("tools/{}", app.post("tools", tool).await.is(201).string("id"));
    let text = async || app.call_name("t", json!({})).await.is(200).body["content"][0]["text"].clone();
    assert_eq!(text().await, "old GET");
    app.patch(&path, json!({ "config": http(json!("new {{ .path }}")) })).await.is(200);
    assert_eq!(text().await, "new /x");
    app.patch(&path, json!({ "config": http(json!(null)) })).await.is(200);
    assert!(app.call_name("t", json!({})).await.is(200).body["structuredContent"].is_object());
    let replica = app.replica("second").await;
    replica.call_name("t", json!({})).await.is(200);
    app.delete(&path).await.is(204);
    app.call_name("t", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
}

/// HT-3.4, HT-3.7
async fn says_why_a_template_failed_and_gives_the_raw_answer(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let template = "{{- if .body }}body{{ else }}no body{{ end }} {{ index .headers.list 3 }}";
    let http = json!({ "endpoint": format!("{}/x", upstream.url()), "response_template": template });
    app.post("tools", http_tool("t", http)).await.is(201);
    let reply = app.call_name("t", json!({})).await.is(200);
    assert_eq!(reply.body["isError"], true, "{}", reply.text);
    assert!(
        reply.body["content"][0]["text"].as_str().unwrap().contains("response_template:1:"),
        "{}",
        reply.text
    );
    assert!(reply.body["content"][1]["text"].as_str().unwrap().contains("\"path\":\"/x\""), "{}", reply.text);
}

async fn hides_secrets_and_keeps_them(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let http = |headers: Value| json!({ "HTTP": { "endpoint": format!("{}/x", upstream.url()), "headers": headers } });
    let tool = json!({ "name": "t", "type": "http", "config": http(json!({ "Authorization": "Bearer hunter2", "Accept": "a" })) });
    let made = app.post("tools", tool).await.is(201);
    let path = format!("tools/{}", made.string("id"));
    let shown = json!({ "Authorization": "***", "Accept": "a" });
    assert_eq!(made.body["config"]["HTTP"]["headers"], shown);
    for headers in [shown.clone(), json!({ "Accept": "b" })] {
        let changed = app.patch(&path, json!({ "config": http(headers) })).await.is(200);
        assert_eq!(changed.body["config"]["HTTP"]["headers"]["Authorization"], "***");
        app.call_name("t", json!({})).await.is(200);
        assert_eq!(upstream.last().header("authorization"), Some("Bearer hunter2"));
    }
    let tried = app.post(&format!("{path}/test"), json!({})).await.is(200);
    assert_eq!(tried.body["request"]["headers"]["authorization"], "***");
    for path in ["tools".to_owned(), path.clone(), format!("{path}/versions")] {
        let reply = app.get(&path).await.is(200);
        assert!(!reply.text.contains("hunter2"), "{}", reply.text);
    }
    let failing = json!({ "endpoint": format!("{}/status/500", upstream.url()), "headers": { "Authorization": "Bearer hunter2" }, "retry_count": 0 });
    app.post("tools", http_tool("fails", failing)).await.is(201);
    let reply = app.call_name("fails", json!({})).await.is(200);
    assert!(reply.body["isError"] == true && !reply.text.contains("hunter2"), "{}", reply.text);
}

async fn reaches_private_addresses_only_where_allowed(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start_with(backend, |settings| settings.allow_private_network = false).await;
    let http = |allow: Value| json!({ "endpoint": format!("{}/x", upstream.url()), "retry_count": 0, "allow_private_network": allow });
    app.post("tools", http_tool("closed", http(json!(false)))).await.is(201);
    app.post("tools", http_tool("open", http(json!(true)))).await.is(201);
    app.post("tools", http_tool("listed", http(json!(["127.0.0.0/8"])))).await.is(201);
    let refused = app.call_name("closed", json!({})).await;
    assert!(refused.status != 200 || refused.body["isError"] == true, "{}", refused.text);
    assert!(refused.text.contains("set config.HTTP.allow_private_network of the tool"), "{}", refused.text);
    app.service(crm(&upstream)).await;
    let refused = app.call("api://crm/ping", json!({})).await.is_problem(403, "FORBIDDEN");
    assert!(refused.string("detail").ends_with("on the service"), "{}", refused.text);
    let tested = app.post("services/api/crm/test", json!({})).await.is(200);
    assert_eq!(tested.body["error"]["code"], "FORBIDDEN", "{}", tested.text);
    assert!(upstream.requests().is_empty());
    for name in ["open", "listed"] {
        assert_eq!(app.call_name(name, json!({})).await.is(200).body["isError"], false, "{name}");
    }
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    caller.post("tools", http_tool("mine", http(json!(true)))).await.is_problem(403, "FORBIDDEN");
    caller.post("tools", http_tool("mine", http(json!(false)))).await.is(201);
}

/// HT-5.5, AP-7, AP-8
async fn answers_what_the_service_did_wrong(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let missing = json!({ "endpoint": format!("{}/status/404", upstream.url()) });
    app.post("tools", http_tool("missing", missing)).await.is(201);
    let reply = app.call_name("missing", json!({})).await.is(200);
    assert_eq!((&reply.body["isError"], &reply.body["error"]["status"]), (&json!(true), &json!(404)));
    assert_eq!(
        (&reply.body["error"]["code"], &reply.body["error"]["service"]),
        (&json!("UPSTREAM_ERROR"), &json!("missing"))
    );
    assert_eq!(upstream.requests().len(), 1, "404 is not asked again");
    let flaky = json!({ "endpoint": format!("{}/flaky/1?key=k", upstream.url()), "retry_count": 1 });
    app.post("tools", http_tool("flaky", flaky)).await.is(201);
    assert_eq!(app.call_name("flaky", json!({})).await.is(200).body["isError"], false);
    assert_eq!(upstream.requests().len(), 3, "one retry is two attempts");
    let slow = json!({ "endpoint": format!("{}/slow/5000", upstream.url()), "timeout_seconds": 1, "retry_count": 0 });
    app.post("tools", http_tool("slow", slow)).await.is(201);
    let reply = app.call_name("slow", json!({})).await.is(200);
    assert_eq!((&reply.body["isError"], &reply.body["error"]["code"]), (&json!(true), &json!("TIMEOUT")));
}
