//! HTTP tools through REST and through the MCP door: the same tools, results and refusals.

use crate::setup::{BothDoors, PATIENCE, audited, crm};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    sends_and_shapes_the_same_through_both_doors
    refuses_the_same_through_both_doors
    compiles_once_and_renders_fast_at_both_doors
    answers_failures_and_hostile_templates_at_both_doors
    lists_what_each_tenant_may_use_and_tells_its_clients_of_changes
    writes_an_audit_record_for_every_call_at_both_doors
}

#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn http_tool(name: &str, http: Value) -> Value {
    json!({ "name": name, "type": "http", "description": "A test", "config": { "HTTP": http } })
}

/// HD-1, HT-1.1, HT-1.2, HT-1.4, HT-1.5, HT-2.1, HT-2.2, HT-2.5, HT-3.1, HT-3.2, HT-3.3, HT-3.4, HT-3.5, HT-3.6,
/// HT-4.2, HT-4.3, HT-5.1, HT-5.3, HT-5.4, HD-6
async fn sends_and_shapes_the_same_through_both_doors(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let mut tool = json!({
        "endpoint": format!("{}/things/{{id}}", upstream.url()), "method": "POST", "headers": { "X-Fixed": "1" },
        "parameters": [
            { "name": "id", "parameter_type": "String", "description": "Which", "required": true, "position": "path" },
            { "name": "q", "position": "query" }, { "name": "X-Trace", "position": "header" },
            { "name": "n", "parameter_type": "Integer", "default_value": 1, "enum_values": [1, 7] },
            { "name": "deep", "parameter_type": "Object", "position": "body" },
            { "name": "list", "parameter_type": "Array" }
        ],
        "timeout_seconds": 30, "retry_count": 3, "response_template": null
    });
    app.post("tools", http_tool("raw", tool.clone())).await.is(201);
    tool["response_template"] = "{{ .body.n }}{{- range $index, $item := .body.list }} {{ $index }}:{{ $item }}{{ end }}{{- if .body.deep }} deep{{ end }}".into();
    app.post("tools", http_tool("told", tool)).await.is(201);
    let doors = BothDoors::open(&app).await;
    assert_eq!(doors.names().await, ["raw", "told"]);
    let listed = doors.mcp("tools/list", json!({})).await["result"]["tools"][0].clone();
    assert_eq!(
        listed["inputSchema"]["properties"]["id"],
        json!({ "type": "string", "description": "Which" })
    );
    assert_eq!(
        listed["inputSchema"]["properties"]["n"],
        json!({ "type": "integer", "default": 1, "enum": [1, 7] })
    );
    assert_eq!(listed["inputSchema"]["required"], json!(["id"]));

    let arguments = json!({ "id": "a/b c?&#%日", "q": "x y", "X-Trace": "t", "n": 7, "deep": { "a": [1.5, null] }, "list": ["p", "q"] });
    let raw = doors.call("raw", arguments.clone()).await;
    assert_eq!(
        raw["structuredContent"]["body"],
        json!({ "n": 7, "deep": { "a": [1.5, null] }, "list": ["p", "q"] })
    );
    let text: Value = serde_json::from_str(raw["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, raw["structuredContent"]);
    let told = doors.call("told", arguments).await;
    assert_eq!(told["content"], json!([{ "type": "text", "text": "7 0:p 1:q deep" }]));
    let requests = upstream.requests();
    assert_eq!(requests.len(), 4);
    for got in requests {
        assert_eq!(
            (got.path.as_str(), got.query.as_str()),
            ("/things/a%2Fb%20c%3F%26%23%25%E6%97%A5", "q=x%20y")
        );
        assert_eq!((got.header("x-trace"), got.header("x-fixed")), (Some("t"), Some("1")));
        assert_eq!(got.json(), json!({ "n": 7, "deep": { "a": [1.5, null] }, "list": ["p", "q"] }));
    }
    let optional = doors.call("raw", json!({ "id": "x", "q": null, "deep": null })).await;
    assert_eq!(
        optional["structuredContent"]["body"],
        json!({ "n": 1, "deep": null }),
        "null for optional ones"
    );
    assert_eq!(optional["structuredContent"]["query"], "");
}

/// HT-5.2, HD-2, HD-3
async fn refuses_the_same_through_both_doors(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let tool = json!({ "endpoint": format!("{}/files/{{name}}", upstream.url()), "parameters": [
        { "name": "name", "required": true, "position": "path" }, { "name": "X-Note", "position": "header" },
        { "name": "n", "parameter_type": "Integer", "position": "query" }
    ] });
    app.post("tools", http_tool("file", tool)).await.is(201);
    let doors = BothDoors::open(&app).await;
    for (arguments, word) in [
        (json!({}), "'name'"),
        (json!({ "name": null }), "name"),
        (json!({ "name": "a", "n": "x" }), "'n'"),
        (json!({ "name": "a", "other": 1 }), "'other'"),
        (json!({ "name": ".." }), "'name'"),
        (json!({ "name": "%2e%2e/etc" }), "'name'"),
        (json!({ "name": "a", "X-Note": "a\r\nX-Evil: 1" }), "'X-Note'"),
        (json!({ "name": "a", "X-Note": "x".repeat(9_000) }), "'X-Note'"),
    ] {
        let said = doors.refuse("file", arguments.clone()).await;
        assert!(said.contains(word), "{arguments}: {said}");
    }
    let unknown = doors.mcp("tools/call", json!({ "name": "nobody" })).await;
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    app.call_name("nobody", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    assert!(upstream.requests().is_empty(), "nothing was sent");
}

fn value(metrics: &str, name: &str) -> f64 {
    let lines = metrics.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

/// How many templates were rendered so quickly.
fn within_a_millisecond(metrics: &str) -> f64 {
    let quick = metrics.lines().filter(|line| line.contains("le=\"0.001\"")).collect::<Vec<_>>().join("\n");
    value(&quick, "mcp_all_in_one_template_render_seconds_bucket")
}

/// HT-6.1, HT-6.2, HT-6.3, HT-6.4, HT-6.5, HD-8
async fn compiles_once_and_renders_fast_at_both_doors(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let tool = |template: &str| json!({ "endpoint": format!("{}/x", upstream.url()), "response_template": template });
    let made = app.post("tools", http_tool("t", tool("one {{ .path }}"))).await.is(201);
    let doors = BothDoors::open(&app).await;
    let metrics = async || app.get("/metrics").await.is(200).text;
    let before = metrics().await;
    for _ in 0..5 {
        assert_eq!(doors.call("t", json!({})).await["content"][0]["text"], "one /x");
    }
    doors.names().await;
    let after = metrics().await;
    let grown = |name: &str| value(&after, name) - value(&before, name);
    assert_eq!(grown("mcp_all_in_one_template_compilations_total"), 0.0, "compiled when it was saved");
    assert_eq!(grown("mcp_all_in_one_template_cache_hits_total"), 10.0);
    assert_eq!(grown("mcp_all_in_one_template_render_seconds_count"), 10.0);
    // Not all of them: a machine with other work may pause any one.
    let quick = within_a_millisecond(&after) - within_a_millisecond(&before);
    assert!(quick >= 5.0, "only {quick} of ten took less than a millisecond");
    assert_eq!(grown("mcp_all_in_one_calls_total"), 10.0);
    assert_eq!(grown("mcp_all_in_one_bind_seconds_count"), 10.0);
    assert_eq!(grown("mcp_all_in_one_lists_total"), 2.0);
    let change = json!({ "config": { "HTTP": tool("two {{ .path }}") } });
    app.patch(&format!("tools/{}", made.string("id")), change).await.is(200);
    assert_eq!(doors.call("t", json!({})).await["content"][0]["text"], "two /x");
    assert!(
        value(&metrics().await, "mcp_all_in_one_template_compilations_total")
            > value(&after, "mcp_all_in_one_template_compilations_total")
    );
}

/// HT-3.7, HT-5.5, HD-4
async fn answers_failures_and_hostile_templates_at_both_doors(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let tool = |path: &str, template: &str| json!({ "endpoint": format!("{}{path}", upstream.url()), "response_template": template, "retry_count": 0 });
    let loops = "{{ range $a := .body.list }}{{ range $b := $.body.list }}{{ range $c := $.body.list }}{{ range $d := $.body.list }}x{{ end }}{{ end }}{{ end }}{{ end }}";
    let mut hostile = tool("/x", loops);
    hostile["method"] = "POST".into();
    hostile["parameters"] = json!([{ "name": "list", "parameter_type": "Array" }]);
    app.post("tools", http_tool("hostile", hostile)).await.is(201);
    app.post("tools", http_tool("broken", tool("/x", "{{ index .headers.list 3 }}"))).await.is(201);
    app.post("tools", http_tool("missing", tool("/status/404", ""))).await.is(201);
    app.post("tools", http_tool("empty", tool("/empty", "{{ .a }}"))).await.is(201);
    let deep = format!("{}{}", "{{ if . }}".repeat(5_000), "{{ end }}".repeat(5_000));
    let refused =
        app.post("tools", http_tool("deep", tool("/x", &deep))).await.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(refused.errors(), [("config.HTTP.response_template", "TemplateSyntaxError")]);

    let doors = BothDoors::open(&app).await;
    let begun = Instant::now();
    let hostile = doors.call("hostile", json!({ "list": vec!["x"; 300] })).await;
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(hostile["isError"], true);
    assert!(hostile["content"][0]["text"].as_str().unwrap().contains("response_template:1:"), "{hostile}");
    let broken = doors.call("broken", json!({})).await;
    assert_eq!(broken["isError"], true);
    assert!(broken["content"][0]["text"].as_str().unwrap().contains("response_template:1:"), "{broken}");
    assert!(
        broken["content"][1]["text"].as_str().unwrap().contains("\"path\":\"/x\""),
        "with the raw answer"
    );
    assert_eq!(broken["error"]["code"], "UPSTREAM_ERROR", "{broken}");
    let audited = app.get("audit?tool=broken").await.is(200).body;
    assert_eq!(audited["items"][0]["code"], "UPSTREAM_ERROR", "{audited}");
    assert!(audited["items"][0]["message"].as_str().unwrap().contains("response_template:1:"), "{audited}");
    let empty = doors.call("empty", json!({})).await;
    let done = json!([{ "type": "text", "text": "HTTP 204, no content" }]);
    assert_eq!((&empty["isError"], &empty["content"]), (&json!(false), &done), "there is nothing to shape");
    let missing = doors.call("missing", json!({})).await;
    assert_eq!((&missing["isError"], &missing["error"]["status"]), (&json!(true), &json!(404)));
    let text = missing["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("HTTP 404 Not Found") && text.contains("/status/404"), "{text}");
}

/// HT-4.1, HT-4.4, HD-7
async fn lists_what_each_tenant_may_use_and_tells_its_clients_of_changes(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let (acme, umbrella) = (app.with_tenant("acme").await, app.with_tenant("umbrella").await);
    let (ours, theirs) = (BothDoors::open(&acme).await, BothDoors::open(&umbrella).await);
    let (mut our_events, mut their_events) = (ours.listen().await, theirs.listen().await);
    let mut heard = async |what: &str| {
        let event = tokio::time::timeout(PATIENCE, our_events.chunk()).await;
        let event = event.unwrap_or_else(|_| panic!("nobody was told of {what}")).unwrap().unwrap();
        let event = String::from_utf8(event.to_vec()).unwrap();
        assert!(event.contains("notifications/tools/list_changed"), "{what}: {event}");
    };
    let endpoint = json!({ "endpoint": format!("{}/x", upstream.url()) });
    let made = acme.post("tools", http_tool("t", endpoint)).await.is(201);
    let path = format!("tools/{}", made.string("id"));
    heard("a new tool").await;
    assert_eq!((ours.names().await, theirs.names().await), (vec!["t".to_owned()], Vec::new()));
    ours.call("t", json!({})).await;
    umbrella.call_name("t", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    assert_eq!(theirs.mcp("tools/call", json!({ "name": "t" })).await["error"]["code"], -32601);

    acme.patch(&path, json!({ "description": "Better words" })).await.is(200);
    heard("another description").await;
    let sent = upstream.requests().len();
    for status in ["testing", "inactive"] {
        acme.patch(&path, json!({ "status": "active" })).await.is(200);
        ours.names().await;
        acme.patch(&path, json!({ "status": status })).await.is(200);
        assert!(ours.names().await.is_empty(), "{status}");
        acme.call_name("t", json!({})).await.is_problem(409, "TOOL_DISABLED");
        let refused = ours.mcp("tools/call", json!({ "name": "t" })).await;
        assert!(refused["error"]["message"].as_str().unwrap().contains('t'), "{refused}");
        assert_eq!(refused["error"]["code"], -32603, "{refused}");
    }
    heard("its status").await;
    assert_eq!(upstream.requests().len(), sent, "nothing was sent");
    acme.patch(&path, json!({ "status": "active" })).await.is(200);
    acme.delete(&path).await.is(204);
    heard("its end").await;
    assert!(ours.names().await.is_empty());
    let silence = tokio::time::timeout(Duration::from_millis(300), their_events.chunk()).await;
    assert!(silence.is_err(), "another tenant hears nothing");
    assert_eq!(acme.as_nobody().post("mcp/tools/call", json!({ "name": "t" })).await.status, 401);
    assert_eq!(acme.as_nobody().post("/mcp", json!({})).await.status, 401);
}

/// HT-5.6, HD-7
async fn writes_an_audit_record_for_every_call_at_both_doors(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let caller = app.with_key(json!({ "name": "ada", "role": "caller", "allow": ["crm__get_order"] })).await;
    let doors = BothDoors::open(&caller).await;
    assert_eq!(doors.names().await, ["crm__get_order"]);
    let trace = [("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")];
    let arguments = json!({ "userId": "u1", "access_token": "hunter2" });
    doors.call_with("crm__get_order", arguments, &trace).await;
    caller.call_name("crm__ping", json!({})).await.is_problem(403, "FORBIDDEN");
    assert!(doors.mcp("tools/call", json!({ "name": "crm__ping" })).await["error"].is_object());
    for record in audited(&app, "tool=crm__get_order", 2).await {
        assert_eq!(
            (&record["tenant"], &record["caller_kind"]),
            (&json!("default"), &json!("key")),
            "{record}"
        );
        assert!(["rest", "mcp"].contains(&record["door"].as_str().unwrap()), "{record}");
        assert_eq!(record["trace_id"], "0af7651916cd43dd8448eb211c80319c", "{record}");
        assert!(record["duration_us"].is_number() && record["status"] == "ok", "{record}");
        assert_eq!(record["arguments"]["userId"], "u1", "{record}");
        assert!(!record.to_string().contains("hunter2"), "{record}");
    }
    audited(&app, "tool=crm__ping", 2).await;
    assert_eq!(upstream.requests().len(), 2);
}
