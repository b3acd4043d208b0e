//! Tools as a resource: names, status, owners, versions, dry runs and trials.

use crate::setup::crm;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send_json;
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    lists_filters_changes_and_deletes_tools
    calls_only_active_tools
    keeps_every_version_and_rolls_back
    finds_every_problem_of_a_tool_at_once
    shows_what_a_tool_would_do_without_saving_it
    shows_the_request_the_answer_and_the_result_of_a_trial
    lets_callers_manage_their_own_tools_only
    finds_no_tool_of_another_tenant
    wins_its_name_over_a_services_tool
}

fn tool(name: &str, url: &str) -> Value {
    json!({ "name": name, "type": "http", "description": format!("Says {name}"), "config": { "HTTP": { "endpoint": url } } })
}

async fn lists_filters_changes_and_deletes_tools(backend: Backend) {
    let app = TestApp::start(backend).await;
    let url = "https://api.example.com/x";
    let id = app.post("tools", tool("alpha", url)).await.is(201).string("id");
    let mut beta = tool("beta", url);
    beta["status"] = json!("testing");
    app.post("tools", beta).await.is(201);
    app.post("tools", json!({ "name": "gamma", "type": "uri", "uri": "api://a/b", "alias": "G", "metadata": { "team": 1 } })).await.is(201);
    for (query, expected) in [
        ("", json!(["alpha", "beta", "gamma"])),
        ("?type=uri", json!(["gamma"])),
        ("?status=testing", json!(["beta"])),
        ("?q=SAYS", json!(["alpha", "beta"])),
        ("?limit=1&page=2", json!(["beta"])),
    ] {
        let items = app.get(&format!("tools{query}")).await.is(200).items();
        let names: Vec<_> = items.iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(json!(names), expected, "{query}");
    }
    app.get("tools?status=sleeping").await.is_problem(400, "BAD_REQUEST");
    app.post("tools", tool("alpha", url)).await.is_problem(409, "CONFLICT");

    let path = format!("tools/{id}");
    let changed =
        app.patch(&path, json!({ "name": "omega", "description": null, "version": 1 })).await.is(200);
    assert_eq!(
        (&changed.body["name"], &changed.body["description"], &changed.body["version"]),
        (&json!("omega"), &json!(null), &json!(2))
    );
    assert_eq!(app.tool_names().await, ["omega"]);
    app.patch(&path, json!({ "name": "gamma" })).await.is_problem(409, "CONFLICT");
    app.patch(&path, json!({ "alias": "x", "version": 1 })).await.is_problem(409, "CONFLICT");
    app.patch(&path, json!({ "type": "uri" })).await.is_problem(422, "VALIDATION_FAILED");
    app.patch(&path, json!({ "config": { "HTTP": { "endpoint": "x" } } }))
        .await
        .is_problem(422, "VALIDATION_FAILED");
    assert_eq!(app.get(&path).await.is(200).body, changed.body, "a refused change changes nothing");
    app.delete(&path).await.is(204);
    app.get(&path).await.is_problem(404, "NOT_FOUND");
    app.delete(&path).await.is_problem(404, "NOT_FOUND");
    app.get("tools/a%2Fb").await.is_problem(404, "NOT_FOUND");
}

async fn calls_only_active_tools(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let mut draft = tool("t", &format!("{}/x", upstream.url()));
    draft["status"] = json!("testing");
    let path = format!("tools/{}", app.post("tools", draft).await.is(201).string("id"));
    for status in ["testing", "inactive"] {
        app.patch(&path, json!({ "status": status })).await.is(200);
        assert!(app.tool_names().await.is_empty());
        app.call_name("t", json!({})).await.is_problem(409, "TOOL_DISABLED");
        app.call("tool://t/call", json!({})).await.is_problem(409, "TOOL_DISABLED");
    }
    assert!(upstream.requests().is_empty());
    app.post(&format!("{path}/test"), json!({})).await.is(200);
    app.patch(&path, json!({ "status": "active" })).await.is(200);
    assert_eq!(app.tool_names().await, ["t"]);
    app.call_name("t", json!({})).await.is(200);
    assert_eq!(upstream.requests().len(), 2);
}

async fn keeps_every_version_and_rolls_back(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let url = |end: &str| format!("{}/{end}", upstream.url());
    let path = format!("tools/{}", app.post("tools", tool("t", &url("one"))).await.is(201).string("id"));
    app.patch(&path, json!({ "config": { "HTTP": { "endpoint": url("two") } }, "description": "Two" }))
        .await
        .is(200);
    app.patch(&path, json!({ "status": "inactive" })).await.is(200);
    let versions = app.get(&format!("{path}/versions")).await.is(200);
    let seen: Vec<_> = versions
        .items()
        .iter()
        .map(|one| (one["version"].clone(), one["config"]["HTTP"]["endpoint"].clone(), one["status"].clone()))
        .collect();
    let expected = [(3, url("two"), "inactive"), (2, url("two"), "active"), (1, url("one"), "active")]
        .map(|(version, url, status)| (json!(version), json!(url), json!(status)));
    assert_eq!(seen, expected);
    assert!(versions.items()[0]["changed_by"].is_string() && versions.items()[0]["at"].is_string());

    let back = app.post(&format!("{path}/rollback"), json!({ "version": 1 })).await.is(200);
    assert_eq!((&back.body["version"], &back.body["status"]), (&json!(4), &json!("inactive")));
    assert_eq!(back.body["description"], "Says t");
    app.patch(&path, json!({ "status": "active" })).await.is(200);
    app.call_name("t", json!({})).await.is(200);
    assert_eq!(upstream.last().path, "/one");
    app.post(&format!("{path}/rollback"), json!({ "version": 9 })).await.is_problem(404, "NOT_FOUND");
    app.post(&format!("{path}/rollback"), json!({})).await.is_problem(422, "VALIDATION_FAILED");
}

/// HT-7.5, HT-1.3
async fn finds_every_problem_of_a_tool_at_once(backend: Backend) {
    let app = TestApp::start(backend).await;
    let validate = async |draft: Value| {
        let reply = app.post("tools/validate", draft).await.is(200);
        let mut found: Vec<_> = reply.body["errors"].as_array().unwrap().clone();
        found.sort_by_key(|error| error["path"].to_string());
        found
    };
    let codes = |found: &[Value]| -> Vec<(String, String)> {
        let text = |error: &Value, field: &str| error[field].as_str().unwrap().to_owned();
        found.iter().map(|error| (text(error, "path"), text(error, "code"))).collect()
    };
    let http = |more: Value| {
        let mut http = json!({ "endpoint": "https://x.example/{x}", "parameters": [{ "name": "q", "position": "cookie" }] });
        http.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        json!({ "name": "t", "type": "http", "config": { "HTTP": http } })
    };
    let right = validate(http(json!({}))).await;
    assert_eq!(right.len(), 2, "{right:?}");
    for (wrong, path) in [
        (json!({ "timeout_seconds": "5" }), "config.HTTP.timeout_seconds"),
        (json!({ "max_result_bytes": -1 }), "config.HTTP.max_result_bytes"),
        (json!({ "headers": { "X-A": 1 } }), "config.HTTP.headers.X-A"),
    ] {
        let mut found = validate(http(wrong)).await;
        let at = found.iter().position(|error| error["path"] == path).expect(path);
        found.remove(at);
        assert_eq!(found, right, "the rest is told in the same words: {path}");
    }
    let uri = json!({ "name": "t", "type": "uri", "uri": "api://da/p?timeout=abc&max-attempts=0",
        "max_result_bytes": -1, "rename": { "a": 5 }, "response_template": "{{", "select": "a[" });
    let expected = [
        ("max_result_bytes", "TooSmall"),
        ("rename.a", "WrongType"),
        ("response_template", "TemplateSyntaxError"),
        ("select", "SelectSyntaxError"),
        ("uri", "InvalidUri"),
        ("uri", "InvalidUri"),
    ];
    let expected = expected.map(|(path, code)| (path.to_owned(), code.to_owned()));
    assert_eq!(codes(&validate(uri).await), expected);
}

async fn shows_what_a_tool_would_do_without_saving_it(backend: Backend) {
    let app = TestApp::start(backend).await;
    let mut draft = json!({ "name": "t", "type": "http", "config": { "HTTP": {
        "endpoint": "https://api.example.com/{id}",
        "parameters": [{ "name": "id", "parameter_type": "Integer", "required": true, "position": "path" }],
        "response_template": "{{ range .items }}{{ .name }} {{ end }}"
    } } });
    draft["sample_response"] = json!({ "items": [{ "name": "a" }, { "name": "b" }] });
    let reply = app.post("tools/validate", draft.clone()).await.is(200);
    assert_eq!((&reply.body["valid"], &reply.body["errors"]), (&json!(true), &json!([])));
    assert_eq!(reply.body["inputSchema"]["properties"]["id"]["type"], "integer");
    assert_eq!(reply.body["rendered"], "a b ");
    draft["config"]["HTTP"]["response_template"] = json!("{{ index .items 9 }}");
    let reply = app.post("tools/validate", draft.clone()).await.is(200);
    assert_eq!(reply.body["errors"][0]["code"], "TemplateRenderError", "{}", reply.text);
    let message = reply.body["errors"][0]["message"].as_str().unwrap();
    assert!(!message.contains("The answer was") && message == message.trim_end(), "{message:?}");
    assert_eq!(app.get("tools").await.is(200).body["total"], 0);
    draft.as_object_mut().unwrap().remove("sample_response");
    let id = app.post("tools", draft.clone()).await.is(201).string("id");
    let reply = app.post("tools/validate", draft.clone()).await.is(200);
    assert_eq!((&reply.body["valid"], &reply.body["errors"][0]["path"]), (&json!(false), &json!("name")));
    draft["id"] = json!(id);
    assert_eq!(app.post("tools/validate", draft).await.is(200).body["valid"], true);
    let uri = json!({ "name": "u", "type": "uri", "uri": "api://nobody/x", "select": "a", "sample_response": { "a": 7 } });
    let reply = app.post("tools/validate", uri).await.is(200);
    assert_eq!(
        (&reply.body["valid"], &reply.body["inputSchema"], &reply.body["rendered"]),
        (&json!(true), &json!(null), &json!("7"))
    );
}

async fn shows_the_request_the_answer_and_the_result_of_a_trial(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let mut draft = json!({ "name": "t", "type": "http", "status": "testing", "config": { "HTTP": {
        "endpoint": format!("{}/things/{{id}}", upstream.url()), "method": "PUT",
        "headers": { "X-Api-Key": "hunter2", "X-Plain": "yes" },
        "parameters": [{ "name": "id", "required": true, "position": "path" }, { "name": "n", "parameter_type": "Integer" },
            { "name": "password" }],
        "response_template": "{{ .method }} {{ .path }}"
    } } });
    let path = format!("tools/{}/test", app.post("tools", draft.clone()).await.is(201).string("id"));
    let reply =
        app.post(&path, json!({ "arguments": { "id": "a b", "n": 7, "password": "hunter2" } })).await.is(200);
    let request = &reply.body["request"];
    assert_eq!(
        (&request["method"], &request["url"]),
        (&json!("PUT"), &json!(format!("{}/things/a%20b", upstream.url())))
    );
    assert_eq!(
        (&request["headers"]["x-api-key"], &request["headers"]["x-plain"]),
        (&json!("***"), &json!("yes"))
    );
    assert_eq!(request["body"], r#"{"n":7,"password":"***"}"#);
    assert_eq!(
        (&reply.body["raw"]["status"], &reply.body["raw"]["body"]["method"]),
        (&json!(200), &json!("PUT"))
    );
    assert_eq!(reply.body["result"]["content"][0]["text"], "PUT /things/a%20b");
    app.post(&path, json!({ "arguments": {} })).await.is_problem(422, "VALIDATION_FAILED");
    draft["name"] = json!("fails");
    draft["config"]["HTTP"]["endpoint"] =
        json!(format!("{}/status/500?x={{id}}", upstream.url()).replace("?x={id}", "/{id}"));
    let path = format!("tools/{}/test", app.post("tools", draft).await.is(201).string("id"));
    let reply = app.post(&path, json!({ "arguments": { "id": "1" } })).await.is(200);
    assert_eq!((&reply.body["raw"]["status"], &reply.body["result"]["isError"]), (&json!(500), &json!(true)));
    assert_eq!(reply.body["raw"]["body"]["path"], "/status/500/1", "the answer as it came");
    assert!(!reply.text.contains("hunter2"), "{}", reply.text);
}

async fn lets_callers_manage_their_own_tools_only(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let url = format!("{}/x", upstream.url());
    let key = |name: &str, role: &str| json!({ "name": name, "role": role });
    let (ada, eve) = (app.with_key(key("ada", "caller")).await, app.with_key(key("eve", "caller")).await);
    let (manager, viewer) = (app.with_key(key("m", "manager")).await, app.with_key(key("v", "viewer")).await);
    let path = format!("tools/{}", ada.post("tools", tool("adas", &url)).await.is(201).string("id"));
    for (method, end, body) in requests_about_a_tool() {
        let reply = send_json(eve.request(method.clone(), &format!("{path}{end}")), &body).await;
        reply.is_problem(404, "NOT_FOUND");
        let reply = send_json(viewer.request(method.clone(), &format!("{path}{end}")), &body).await;
        assert_eq!(reply.status, if method == Method::GET { 200 } else { 403 }, "{method} {end}");
    }
    assert_eq!(eve.get("tools").await.is(200).body["total"], 0);
    assert_eq!(ada.get("tools").await.is(200).body["total"], 1);
    assert_eq!(manager.get("tools").await.is(200).body["total"], 1);
    eve.call_name("adas", json!({})).await.is(200);
    ada.patch(&path, json!({ "alias": "mine" })).await.is(200);
    manager.patch(&path, json!({ "alias": "ours" })).await.is(200);
    // A caller cannot stand in for a service's tool, nor get around an allow-list.
    ada.post("tools", tool("crm__ping", &url)).await.is_problem(409, "CONFLICT");
    ada.patch(&path, json!({ "name": "crm__ping" })).await.is_problem(409, "CONFLICT");
    // Nor for one that is switched off, or not there yet.
    app.post("services/api/crm/disable", json!({})).await.is(200);
    for name in ["crm__ping", "later__pay"] {
        ada.post("tools", tool(name, &url)).await.is_problem(403, "FORBIDDEN");
        ada.patch(&path, json!({ "name": name })).await.is_problem(403, "FORBIDDEN");
    }
    manager.post("tools", tool("later__pay", &url)).await.is(201);
    app.post("services/api/crm/enable", json!({})).await.is(200);
    let listed = app.with_key(json!({ "name": "l", "role": "caller", "allow": ["find_*"] })).await;
    let around = json!({ "name": "find_ping", "type": "uri", "uri": "api://crm/ping" });
    listed.post("tools", around).await.is_problem(403, "FORBIDDEN");
    let reader = app.with_key(json!({ "name": "r", "role": "caller", "scopes": ["read", "call"] })).await;
    reader.post("tools", tool("r", &url)).await.is_problem(403, "FORBIDDEN");
    viewer.post("tools/validate", tool("r", &url)).await.is_problem(403, "FORBIDDEN");
    ada.delete(&path).await.is(204);
}

/// Method, end of the path and body of all that can be asked about one Tool.
fn requests_about_a_tool() -> [(Method, &'static str, Value); 6] {
    [
        (Method::GET, "", json!(null)),
        (Method::PATCH, "", json!({ "alias": "x" })),
        (Method::POST, "/test", json!({})),
        (Method::GET, "/versions", json!(null)),
        (Method::POST, "/rollback", json!({ "version": 1 })),
        (Method::DELETE, "", json!(null)),
    ]
}

/// HT-4.4
async fn finds_no_tool_of_another_tenant(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let (acme, umbrella) = (app.with_tenant("acme").await, app.with_tenant("umbrella").await);
    let url = format!("{}/x", upstream.url());
    let path = format!("tools/{}", acme.post("tools", tool("t", &url)).await.is(201).string("id"));
    for (method, end, body) in requests_about_a_tool() {
        send_json(umbrella.request(method, &format!("{path}{end}")), &body)
            .await
            .is_problem(404, "NOT_FOUND");
    }
    umbrella.call_name("t", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    umbrella.call("tool://t/call", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    assert!(umbrella.tool_names().await.is_empty());
    assert_eq!(umbrella.get("tools").await.is(200).body["total"], 0);
    umbrella.post("tools", tool("t", &format!("{}/theirs", upstream.url()))).await.is(201);
    umbrella.call_name("t", json!({})).await.is(200);
    assert_eq!(upstream.last().path, "/theirs");
    acme.call_name("t", json!({})).await.is(200);
    assert_eq!(upstream.last().path, "/x");
    app.delete("tenants/acme").await.is(204);
    umbrella.call_name("t", json!({})).await.is(200);
}

async fn wins_its_name_over_a_services_tool(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let path = format!(
        "tools/{}",
        app.post("tools", tool("crm__ping", &format!("{}/own", upstream.url()))).await.is(201).string("id")
    );
    app.call_name("crm__ping", json!({})).await.is(200);
    assert_eq!(upstream.last().path, "/own");
    app.call("api://crm/ping", json!({})).await.is(200);
    assert_eq!(upstream.last().path, "/ping");
    assert_eq!(app.tool_names().await.len(), 5, "both are listed");
    app.delete(&path).await.is(204);
    app.call_name("crm__ping", json!({})).await.is(200);
    assert_eq!(upstream.last().path, "/ping");
}

/// What the guide shows can be made as it stands.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_examples_of_the_guide_are_valid() {
    let guide = include_str!("../../../../docs/guides/tools.md");
    let examples: Vec<Value> = guide
        .split("```json\n")
        .skip(1)
        .map(|rest| serde_json::from_str(rest.split("```").next().unwrap()).unwrap())
        .collect();
    assert_eq!(examples.len(), 2);
    let app = TestApp::start(Backend::Sqlite).await;
    for example in examples {
        let reply = app.post("tools/validate", example.clone()).await.is(200);
        assert_eq!(reply.body["errors"], json!([]));
        app.post("tools", example).await.is(201);
    }
}
