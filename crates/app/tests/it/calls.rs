//! Calls: validated before anything is sent, answered with content or with an error to act on.

use crate::setup::{api, audited, crm, received};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::json;
use std::time::Duration;
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    calls_by_name_and_by_uri_and_returns_the_result
    checks_name_and_arguments_before_anything_is_sent
    answers_failure_with_an_error_to_act_on
    answers_a_slow_or_dead_service_with_an_error
    cancels_the_call_of_a_client_that_goes_away_and_audits_it
    tells_an_answer_as_an_event_as_it_is_written
}

/// HT-5.1, HT-5.3, HT-5.4, HD-6
async fn calls_by_name_and_by_uri_and_returns_the_result(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let arguments = json!({ "userId": "a/b c", "state": "open" });
    for reply in [
        app.call_name("crm__get_order", arguments.clone()).await.is(200),
        app.call("api://crm/get_order", arguments.clone()).await.is(200),
    ] {
        assert_eq!(reply.body["isError"], false);
        assert!(reply.body.get("error").is_none());
        let data = &reply.body["structuredContent"];
        assert_eq!(data["path"], "/users/a%2Fb%20c/orders");
        assert_eq!(data["query"], "limit=20&state=open", "the default is filled in");
        let content = reply.body["content"].as_array().unwrap();
        assert_eq!(content[0]["type"], "text");
        let text: serde_json::Value = serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(&text, data, "the text is the same JSON");
    }
    // Arguments may be left out where none is needed.
    app.post("call", json!({ "uri": "api://crm/ping" })).await.is(200);
    app.post("mcp/tools/call", json!({ "name": "crm__ping" })).await.is(200);
    assert_eq!(upstream.requests().len(), 4);
}

/// HT-5.2
async fn checks_name_and_arguments_before_anything_is_sent(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    for (arguments, path, message) in [
        (json!({}), "userId", "Missing required parameter 'userId'"),
        (json!({ "userId": 7 }), "userId", "string"),
        (json!({ "userId": "a", "limit": "ten" }), "limit", "integer"),
        (json!({ "userId": "a", "state": "ajar" }), "state", "open"),
        (json!({ "userId": "a", "colour": "red" }), "colour", "colour"),
    ] {
        let reply = app.call("api://crm/get_order", arguments.clone()).await;
        let reply = reply.is_problem(422, "VALIDATION_FAILED");
        assert!(reply.string("detail").contains(message), "{arguments}: {}", reply.text);
        assert_eq!(
            reply.errors().iter().map(|(path, _)| *path).collect::<Vec<_>>(),
            [path],
            "{}",
            reply.text
        );
        app.call_name("crm__get_order", arguments).await.is_problem(422, "VALIDATION_FAILED");
    }
    let two = app.call("api://crm/get_order", json!({ "limit": "ten", "state": "ajar" })).await;
    assert_eq!(two.is_problem(422, "VALIDATION_FAILED").errors().len(), 3, "all problems at once");
    app.call_name("crm__nothing", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    for arguments in [json!([1]), json!("text"), json!(5)] {
        app.call("api://crm/ping", arguments).await.is_problem(422, "VALIDATION_FAILED");
    }
    assert!(upstream.requests().is_empty(), "{:?}", upstream.requests());
}

/// HT-5.5
async fn answers_failure_with_an_error_to_act_on(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let reply = app.call_name("crm__fail", json!({})).await.is(200);
    assert_eq!(reply.body["isError"], true);
    assert_eq!(reply.body["error"], json!({ "code": "UPSTREAM_ERROR", "status": 404, "service": "crm" }));
    let text = reply.body["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("HTTP 404 Not Found"), "{text}");
    let record = &audited(&app, "status=error", 1).await[0];
    assert_eq!((&record["code"], &record["tool"]), (&json!("UPSTREAM_ERROR"), &json!("crm__fail")));
}

/// HT-5.5
async fn answers_a_slow_or_dead_service_with_an_error(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    app.service(api("dead", &format!("http://{}", http::dead_address().await))).await;
    let slow = app.call("api://crm/slow?timeout=100", json!({ "ms": 60_000 })).await.is(200);
    assert_eq!((&slow.body["isError"], &slow.body["error"]["code"]), (&json!(true), &json!("TIMEOUT")));
    let dead = app.call("api://dead/ping", json!({})).await.is(200);
    assert_eq!((&dead.body["isError"], &dead.body["error"]["code"]), (&json!(true), &json!("UNAVAILABLE")));
    assert_eq!(dead.body["error"]["service"], "dead");
    let text = dead.body["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("cannot be connected to"), "{text}");
    let codes: Vec<_> =
        audited(&app, "status=error", 2).await.iter().map(|row| row["code"].clone()).collect();
    assert_eq!(codes, ["UNAVAILABLE", "TIMEOUT"], "newest first");
}

/// HT-5.6
async fn cancels_the_call_of_a_client_that_goes_away_and_audits_it(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let client = testkit::Client::clone(&app);
    let call = tokio::spawn(async move { client.call("api://crm/slow", json!({ "ms": 120_000 })).await });
    received(&upstream, 1).await;
    call.abort();
    let begun = std::time::Instant::now();
    let record = &audited(&app, "", 1).await[0];
    assert_eq!((&record["status"], &record["tool"]), (&json!("error"), &json!("crm__slow")));
    assert!(begun.elapsed() < Duration::from_secs(60), "the call did not run to its end");
    assert!(record["duration_us"].as_i64().unwrap() < 100_000_000, "{record}");
    app.call("api://crm/ping", json!({})).await.is(200);
}

/// Numbers that no type of ours holds, and white space, are the same in the last event as in the answer.
async fn tells_an_answer_as_an_event_as_it_is_written(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let written = "{\"n\": 12345678901234567890123, \r\n \"e\": 1E400, \"f\": 1.50}";
    let base64 = STANDARD.encode(written).replace('=', "%3D").replace('+', "%2B");
    let endpoint = format!("/raw?type=application/json&base64={base64}");
    let mut service = crm(&upstream);
    service["tools"] = json!([{ "id": "exact", "description": "Exact", "endpoint": endpoint }]);
    app.service(service).await;
    let body = json!({ "uri": "api://crm/exact", "arguments": {} });
    let plain = app.post("call", body.clone()).await.is(200).text;
    assert!(plain.contains("12345678901234567890123") && plain.contains("1E400"), "{plain}");
    let request = app.request(Method::POST, "call").header("accept", "text/event-stream").json(&body);
    let events = request.send().await.unwrap().text().await.unwrap();
    let end = events.split("event: end\n").nth(1).unwrap_or_else(|| panic!("{events}"));
    let data: Vec<_> = end.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(data, [plain.replace(['\r', '\n'], "")], "{events}");
}
