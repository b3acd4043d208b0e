//! The audit: a record of every call, found by filters, taken out as CSV and JSONL.

use crate::setup::{audited, crm};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send_json;
use testkit::{Backend, TestApp, http, on_both_databases};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

on_both_databases! {
    shows_a_call_as_soon_as_it_has_ended
    records_who_called_what_with_which_outcome
    records_refused_calls_too
    records_calls_that_never_became_one
    filters_the_list
    exports_csv_and_json_lines
}

/// HT-5.6
async fn records_who_called_what_with_which_outcome(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let acme = app.with_tenant("acme").await;
    acme.post("services", crm(&upstream)).await.is(201);
    let me = acme.get("auth/me").await.is(200).string("id");
    let request = acme.request(Method::POST, "call");
    let request = request.header("traceparent", format!("00-{TRACE}-00f067aa0ba902b7-01"));
    let request = request.header("x-request-id", "request-7");
    let arguments = json!({ "userId": "ada", "access_token": "hunter2" });
    send_json(request, &json!({ "uri": "api://crm/get_order", "arguments": arguments })).await.is(200);
    assert!(upstream.last().query.contains("hunter2"), "the service gets it");
    let record = audited(&acme, "", 1).await.remove(0);
    for (field, expected) in [
        ("tenant", json!("acme")),
        ("caller", json!(me)),
        ("caller_kind", json!("key")),
        ("door", json!("rest")),
        ("tool", json!("crm__get_order")),
        ("uri", json!("api://crm/get_order")),
        ("service", json!("crm")),
        ("arguments", json!({ "userId": "ada", "access_token": "***" })),
        ("status", json!("ok")),
        ("code", Value::Null),
        ("trace_id", json!(TRACE)),
        ("request_id", json!("request-7")),
    ] {
        assert_eq!(record[field], expected, "{field} of {record}");
    }
    assert!(record["duration_us"].as_i64().unwrap() > 0);
    assert!(record["result_bytes"].as_i64().unwrap() > 0);
    assert!(record["at"].as_str().unwrap().ends_with('Z'));
    // Whoever sends no trace has the id of the request.
    let plain = json!({ "uri": "api://crm/get_order", "arguments": { "userId": "bob" } });
    acme.post("call", plain).await.is(200);
    let record = audited(&acme, "", 2).await.remove(0);
    assert_eq!(record["trace_id"], record["request_id"].as_str().unwrap().replace('-', ""), "{record}");
}

/// HT-5.6
async fn records_refused_calls_too(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let viewer = app.with_key(json!({ "name": "viewer", "role": "viewer" })).await;
    app.call("api://crm/get_order", json!({})).await.is_problem(422, "VALIDATION_FAILED");
    app.call("api://crm/dance", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    viewer.call("api://crm/ping", json!({})).await.is_problem(403, "FORBIDDEN");
    app.post("services/api/crm/disable", json!({})).await.is(200);
    app.call("api://crm/ping", json!({})).await.is_problem(409, "SERVICE_DISABLED");
    let mut codes: Vec<_> =
        audited(&app, "status=refused", 4).await.into_iter().map(|row| row["code"].clone()).collect();
    codes.sort_by_key(ToString::to_string);
    assert_eq!(codes, ["FORBIDDEN", "SERVICE_DISABLED", "TOOL_NOT_FOUND", "VALIDATION_FAILED"]);
}

/// HT-5.6
async fn records_calls_that_never_became_one(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    app.call("no uri at all", json!({})).await.is_problem(400, "INVALID_URI");
    app.call(&"x".repeat(10_000), json!({})).await.is_problem(400, "INVALID_URI");
    app.call("api://crm/ping", json!([1])).await.is_problem(422, "VALIDATION_FAILED");
    // What PostgreSQL cannot keep must not keep the rest from being kept.
    app.call_name("nul\0name", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    let long = app.call_name(&noise(100_000), json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    assert!(long.text.len() < 2000, "an answer does not repeat whatever it was sent: {}", long.text.len());
    app.call("api://crm/get_order", json!({ "userId": "nul\0value" })).await;
    app.call("api://crm/ping", json!({})).await.is(200);
    let records = audited(&app, "", 7).await;
    let tools: Vec<_> = records.iter().rev().map(|record| record["tool"].as_str().unwrap()).collect();
    assert_eq!(tools[0], "no uri at all");
    assert!(tools[1].starts_with("xxx") && tools[1].len() < 1000, "{}", tools[1].len());
    assert_eq!(tools[2], "api://crm/ping");
    assert!(tools[3].starts_with("nul"));
    assert!(tools[4].len() < 1000, "{}", tools[4].len());
    assert_eq!((tools[5], tools[6]), ("crm__get_order", "crm__ping"));
    assert!(records.iter().skip(2).all(|record| record["status"] == "refused"), "{records:?}");
}

async fn filters_the_list(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let other = app.with_key(json!({ "name": "other" })).await;
    let other_id = other.get("auth/me").await.string("id");
    app.call("api://crm/ping", json!({})).await.is(200);
    app.call("api://crm/fail", json!({})).await.is(200);
    other.call("api://crm/ping", json!({})).await.is(200);
    let all = audited(&app, "", 3).await;
    audited(&app, "tool=crm__ping", 2).await;
    audited(&app, "service=crm&status=error", 1).await;
    audited(&app, &format!("caller={other_id}"), 1).await;
    audited(&app, "service=none", 0).await;
    let oldest = all[2]["at"].as_str().unwrap();
    audited(&app, &format!("from={oldest}"), 3).await;
    audited(&app, "to=2020-01-01T00:00:00Z", 0).await;
    audited(&app, "from=2020-01-01T00:00:00%2B01:00&to=2099-01-01T00:00:00Z", 3).await;
    let page = app.get("audit?page=2&limit=2").await.is(200);
    assert_eq!((page.items().len(), &page.body["total"]), (1, &json!(3)));
    app.get("audit?from=yesterday").await.is_problem(422, "VALIDATION_FAILED");
    audited(&other, "", 1).await;
    other.get("audit/export").await.is_problem(403, "FORBIDDEN");
}

async fn exports_csv_and_json_lines(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    app.call("api://crm/get_order", json!({ "userId": "=1+1, \"x\"" })).await.is(200);
    app.call("api://crm/fail", json!({})).await.is(200);
    audited(&app, "", 2).await;
    let csv = app.get("audit/export?format=csv").await.is(200);
    assert!(csv.header("content-type").unwrap().starts_with("text/csv"));
    assert!(csv.header("content-disposition").unwrap().contains("audit.csv"));
    let lines: Vec<_> = csv.text.split("\r\n").collect();
    assert!(lines[0].starts_with("id,at,tenant,caller,"), "{}", lines[0]);
    assert_eq!(lines.len(), 4, "a head, two records, an end: {}", csv.text);
    assert!(lines[1].contains(r#""{""userId"":""=1+1, \""x\""""}""#), "{}", lines[1]);

    let jsonl = app.get("audit/export?format=jsonl").await.is(200);
    let records: Vec<Value> = jsonl.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let tools: Vec<_> = records.iter().map(|record| record["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["crm__get_order", "crm__fail"], "oldest first");
    let failed = app.get("audit/export?status=error").await.is(200);
    assert_eq!(failed.text.lines().count(), 1);
    app.get("audit/export?format=pdf").await.is_problem(400, "BAD_REQUEST");
}

/// Text that no database can compress into an index.
fn noise(length: usize) -> String {
    let mut state = 1_u64;
    let letters = (0..length).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + u8::try_from((state >> 33) % 26).unwrap())
    });
    letters.collect()
}

/// HT-5.6
async fn shows_a_call_as_soon_as_it_has_ended(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    for total in 1..10 {
        app.call("api://crm/ping", json!({})).await.is(200);
        assert_eq!(app.get("audit").await.is(200).body["total"], total);
    }
    let lines = app.get("audit/export?format=jsonl").await.is(200).text.lines().count();
    assert_eq!(lines, 9);
}
