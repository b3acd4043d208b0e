//! What the console tells of calls: why one failed, what was sent, and calls in numbers that are the audit's own.

use crate::setup::{api, audited, crm};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send_json;
use testkit::{Backend, Client, Reply, TestApp, http, on_both_databases};

on_both_databases! {
    an_inspected_call_tells_what_was_sent_and_where_the_time_went
    a_failed_call_can_be_inspected_later
    keeps_nothing_when_that_is_switched_off
    those_who_only_call_see_their_own_calls
    finds_calls_by_code_door_and_request
    sums_of_stats_are_those_of_the_audit
    shows_the_busiest_and_what_flows_between_them
    counts_for_each_what_it_may_know_of
}

async fn inspect(client: &Client, uri: &str, arguments: Value) -> Reply {
    let request = client.request(Method::POST, "call?inspect=true");
    send_json(request, &json!({ "uri": uri, "arguments": arguments })).await
}

fn steps(inspection: &Value) -> Vec<&str> {
    inspection["steps"].as_array().unwrap().iter().map(|step| step["name"].as_str().unwrap()).collect()
}

/// UI-4
async fn an_inspected_call_tells_what_was_sent_and_where_the_time_went(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let arguments = json!({ "userId": "ada", "access_token": "hunter22" });
    let reply = inspect(&app, "api://crm/get_order", arguments).await.is(200);
    let inspection = &reply.body["inspection"];
    assert_eq!(steps(inspection), ["resolve", "admit", "bind", "call", "shape"]);
    assert_eq!((&inspection["request"]["method"], &inspection["status"]), (&json!("GET"), &json!(200)));
    let url = inspection["request"]["url"].as_str().unwrap();
    assert!(url.contains("/users/ada/orders") && !url.contains("hunter22"), "{url}");
    assert_eq!(inspection["attempts"].as_array().unwrap().len(), 1);
    assert!(inspection["raw"].is_object(), "{inspection}");
    let row = app.get(&format!("audit/{}", inspection["audit_id"].as_str().unwrap())).await.is(200);
    assert_eq!((&row.body["tool"], &row.body["status"]), (&json!("crm__get_order"), &json!("ok")));
    assert_eq!(row.body["inspection"]["request"]["method"], "GET");
    // What a shape keeps from callers is not told to them.
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    let told = inspect(&caller, "api://crm/ping", json!({})).await.is(200);
    let told = &told.body["inspection"];
    assert_eq!((&told["raw"], &told["request"], steps(told).len()), (&Value::Null, &Value::Null, 5));
    assert!(app.call("api://crm/ping", json!({})).await.is(200).body.get("inspection").is_none());
}

/// UI-4
async fn a_failed_call_can_be_inspected_later(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let acme = app.with_tenant("acme").await;
    let me = acme.get("auth/me").await.is(200).string("name");
    acme.post("services", crm(&upstream)).await.is(201);
    let mut dead = api("dead", "http://127.0.0.1:1");
    dead["config"]["retry"] = json!({ "max_attempts": 2, "initial_delay_ms": 1, "max_delay_ms": 1 });
    acme.post("services", dead).await.is(201);
    acme.call("api://crm/fail", json!({})).await.is(200);
    acme.call("api://dead/ping", json!({})).await.is(200);
    acme.call("api://crm/get_order", json!({ "access_token": "hunter22" })).await.is(422);
    let rows = audited(&acme, "", 3).await;
    let of =
        |tool: &str| rows.iter().find(|row| row["tool"] == tool).unwrap()["id"].as_str().unwrap().to_owned();

    let failed = acme.get(&format!("audit/{}", of("crm__fail"))).await.is(200);
    assert_eq!(
        (&failed.body["caller_name"], &failed.body["inspection"]["status"]),
        (&json!(me), &json!(404))
    );
    assert_eq!(steps(&failed.body["inspection"]).last(), Some(&"call"));
    let last = failed.body["inspection"]["steps"].as_array().unwrap().last().unwrap();
    assert!(last["error"].as_str().unwrap().contains("404"), "{last}");

    let dead = acme.get(&format!("audit/{}", of("dead__ping"))).await.is(200);
    assert_eq!(dead.body["code"], "UNAVAILABLE");
    assert_eq!(dead.body["inspection"]["attempts"].as_array().unwrap().len(), 2, "{}", dead.text);
    assert!(
        dead.body["message"].as_str().unwrap().to_lowercase().contains("refused"),
        "the whole cause: {}",
        dead.text
    );

    let refused = acme.get(&format!("audit/{}", of("crm__get_order"))).await.is(200);
    assert_eq!(steps(&refused.body["inspection"]).last(), Some(&"bind"));
    assert!(!refused.text.contains("hunter22"), "{}", refused.text);
    assert_eq!(refused.body["inspection"]["request"]["arguments"]["access_token"], "***");
    app.get(&format!("audit/{}", of("dead__ping"))).await.is_problem(404, "NOT_FOUND");
    acme.get("audit/nothing").await.is_problem(404, "NOT_FOUND");
}

async fn keeps_nothing_when_that_is_switched_off(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start_with(backend, |settings| settings.kept_calls = 0).await;
    app.service(crm(&upstream)).await;
    app.call("api://crm/fail", json!({})).await.is(200);
    let id = audited(&app, "", 1).await[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(app.get(&format!("audit/{id}")).await.is(200).body["inspection"], Value::Null);
}

/// UI-18
async fn those_who_only_call_see_their_own_calls(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    let me = caller.get("auth/me").await.is(200).string("id");
    caller.call("api://crm/fail", json!({})).await.is(200);
    app.call("api://crm/ping", json!({})).await.is(200);
    let all = audited(&app, "", 2).await;
    let own = audited(&caller, "", 1).await;
    assert_eq!(own[0]["caller"], me);
    let of_admin = all.iter().find(|row| row["caller"] != me).unwrap()["id"].as_str().unwrap();
    caller.get(&format!("audit/{of_admin}")).await.is_problem(404, "NOT_FOUND");
    let seen = caller.get(&format!("audit/{}", own[0]["id"].as_str().unwrap())).await.is(200);
    assert_eq!(seen.body["inspection"], Value::Null, "what was sent is for managers");
    caller.get("audit?kind=management").await.is_problem(403, "FORBIDDEN");
    caller.get(&format!("audit?caller={of_admin}")).await.is_problem(403, "FORBIDDEN");
    let overview = caller.get("overview").await.is(200);
    assert_eq!(overview.body["failures"].as_array().unwrap().len(), 1);
    assert_eq!(overview.body["doors"][0]["calls"], 1, "{}", overview.text);
    let stats = caller.get("stats?by=tool&window=600&step=600").await.is(200);
    assert_eq!(stats.body["series"][0]["key"], "crm__fail", "{}", stats.text);
    assert_eq!(stats.body["series"].as_array().unwrap().len(), 1);
}

async fn finds_calls_by_code_door_and_request(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let request = app.request(Method::POST, "call").header("x-request-id", "request-9");
    send_json(request, &json!({ "uri": "api://crm/ping" })).await.is(200);
    app.call("api://crm/dance", json!({})).await.is(404);
    assert_eq!(audited(&app, "request_id=request-9", 1).await[0]["tool"], "crm__ping");
    assert_eq!(audited(&app, "code=TOOL_NOT_FOUND", 1).await[0]["status"], "refused");
    audited(&app, "door=rest", 2).await;
    audited(&app, "door=mcp", 0).await;
    audited(&app, "code=x%27%20OR%201=1", 0).await;
}

fn sum(series: &Value, field: &str) -> i64 {
    let one =
        |series: &Value| series[field].as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).sum::<i64>();
    series.as_array().unwrap().iter().map(one).sum()
}

async fn sums_of_stats_are_those_of_the_audit(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    for _ in 0..5 {
        app.call("api://crm/ping", json!({})).await.is(200);
    }
    app.call("api://crm/fail", json!({})).await.is(200);
    app.call("api://crm/dance", json!({})).await.is(404);
    let rows = audited(&app, "", 7).await;
    let bytes: i64 = rows.iter().map(|row| row["result_bytes"].as_i64().unwrap()).sum();
    for by in ["", "by=tool&", "by=service&", "by=door&", "by=caller&", "by=status&", "by=code&"] {
        let stats = app.get(&format!("stats?{by}window=3600&step=60")).await.is(200);
        let series = &stats.body["series"];
        let sums = ["calls", "errors", "refused", "bytes"].map(|field| sum(series, field));
        assert_eq!(sums, [7, 1, 1, bytes], "{by}: {}", stats.text);
        assert_eq!((series[0]["calls"].as_array().unwrap().len(), &stats.body["step_s"]), (60, &json!(60)));
    }
    let stats = app.get("stats?by=tool&window=3600&step=3600").await.is(200);
    let ping = &stats.body["series"][0];
    assert_eq!(ping["key"], "crm__ping");
    let times: Vec<_> = rows
        .iter()
        .filter(|row| row["tool"] == "crm__ping")
        .map(|row| row["duration_us"].as_f64().unwrap() / 1000.0)
        .collect();
    let (least, most) =
        (times.iter().copied().fold(f64::MAX, f64::min), times.iter().copied().fold(0.0, f64::max));
    let p95 = ping["p95_ms"].as_array().unwrap().last().unwrap().as_f64().unwrap();
    assert!(p95 >= least * 0.9 && p95 <= most * 1.1, "{p95} of {times:?}");
    for (query, field) in
        [("window=0", "window"), ("window=9999999", "window"), ("window=86400&step=1", "step")]
    {
        let refused = app.get(&format!("stats?{query}")).await.is_problem(422, "VALIDATION_FAILED");
        assert_eq!(refused.errors()[0].0, field);
    }
    app.get("stats?by=colour").await.is_problem(400, "BAD_REQUEST");
}

async fn shows_the_busiest_and_what_flows_between_them(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let acme = app.with_tenant("acme").await;
    acme.post("services", crm(&upstream)).await.is(201);
    let instance = acme.post("mcp", json!({ "name": "Shop" })).await.is(201).string("id");
    for _ in 0..3 {
        acme.call("api://crm/ping", json!({})).await.is(200);
    }
    acme.call("api://crm/fail", json!({})).await.is(200);
    let seen = acme.get("overview").await.is(200);
    assert_eq!(
        (&seen.body["counts"]["services"], &seen.body["counts"]["tools"], &seen.body["counts"]["doors"]),
        (&json!(1), &json!(4), &json!(1))
    );
    let [door, idle] = [0, 1].map(|at| &seen.body["doors"][at]);
    assert_eq!((&door["id"], &door["calls"], &door["errors"]), (&json!("rest"), &json!(4), &json!(1)));
    assert_eq!((&idle["id"], &idle["name"], &idle["calls"]), (&json!(instance), &json!("Shop"), &json!(0)));
    assert_eq!(seen.body["tools"][0]["id"], "crm__ping");
    let service = &seen.body["services"][0];
    assert_eq!(
        (&service["id"], &service["kind"], &service["health"]["state"]),
        (&json!("api/crm"), &json!("api"), &json!("ok"))
    );
    assert!(service["p95_ms"].as_f64().unwrap() > 0.0);
    let links = seen.body["links"].as_array().unwrap();
    let link = |from: &str, to: &str| {
        links.iter().find(|link| link["from"] == from && link["to"] == to).unwrap()["calls"].clone()
    };
    assert_eq!(
        [link("rest", "crm__ping"), link("crm__ping", "api/crm"), link("crm__fail", "api/crm")],
        [3, 3, 1]
    );
    assert_eq!(seen.body["failures"][0]["tool"], "crm__fail");
    assert_eq!(app.get("overview").await.is(200).body["links"], json!([]), "nothing of another tenant");
    acme.get("overview?window=1").await.is_problem(422, "VALIDATION_FAILED");
}

/// UI-18
async fn counts_for_each_what_it_may_know_of(backend: Backend) {
    let app = TestApp::start(backend).await;
    for flow in ["open", "closed", "drafted"] {
        app.post("flows", json!({ "id": flow, "source": "nodes: {a: {with: 1}}" })).await.is(201);
    }
    for flow in ["open", "closed"] {
        app.post(&format!("flows/{flow}/publish"), json!({})).await.is(200);
    }
    let flows = async |client: &Client| client.get("overview").await.is(200).body["counts"]["flows"].clone();
    let caller = app.with_key(json!({ "name": "c", "role": "caller", "allow": ["flow://open"] })).await;
    assert_eq!((flows(&app).await, flows(&caller).await), (json!(3), json!(1)));
}
