//! Services: created, changed, switched and deleted over REST, and what calls see of it.

use crate::setup::{api, crm, received};
use serde_json::{Value, json};
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    makes_a_service_that_is_usable_at_once
    refuses_a_bad_service_with_every_problem_at_once
    disables_and_enables_a_service
    applies_an_update_at_once_and_lets_calls_in_flight_finish_with_the_old_settings
    refuses_the_second_of_two_writers_on_one_row
    lists_filters_and_deletes_services
    tests_whether_a_service_can_be_reached
    is_failing_from_the_call_that_does_not_reach_it_to_the_next_that_does
}

/// SC-1
async fn makes_a_service_that_is_usable_at_once(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let reply = app.post("services", crm(&upstream)).await.is(201);
    for (field, expected) in
        [("type", json!("api")), ("id", json!("crm")), ("enabled", json!(true)), ("status", json!("enabled"))]
    {
        assert_eq!(reply.body[field], expected, "{field}");
    }
    app.call("api://crm/ping", json!({})).await.is(200);
    app.call_name("crm__ping", json!({})).await.is(200);
    assert_eq!(upstream.requests().len(), 2);
    assert_eq!(app.get("services/api/crm").await.is(200).body, reply.body);
    let stored = app.replica("second").await;
    stored.call("api://crm/ping", json!({})).await.is(200);
    app.post("services", crm(&upstream)).await.is_problem(409, "CONFLICT");
}

/// SC-1
async fn refuses_a_bad_service_with_every_problem_at_once(backend: Backend) {
    let app = TestApp::start(backend).await;
    let reply = app.post("services", json!({
        "type": "api", "id": "bad",
        "config": { "base_url": "ftp://x", "timeout_ms": 0, "colour": "red", "auth_type": "magic" },
        "tools": [{ "id": "a", "endpoint": "/{x}", "method": "BREW", "parameters": [{ "name": "y", "position": "moon" }] }]
    }));
    let reply = reply.await.is_problem(422, "VALIDATION_FAILED");
    let paths: Vec<_> = reply.errors().into_iter().map(|(path, _)| path).collect();
    for path in ["config.timeout_ms", "config.colour", "config.auth_type", "tools[0].method"] {
        assert!(paths.contains(&path), "{path} is not in {}", reply.text);
    }
    for error in reply.body["errors"].as_array().unwrap() {
        assert!(["path", "code", "message"].iter().all(|field| error[field].is_string()), "{error}");
    }
    let reply = app.post("services", json!({
        "type": "api", "id": "no good", "name": "", "config": { "base_url": "ftp://x", "timeout_ms": "5" },
        "tools": [{ "id": "a b", "endpoint": "/{x}", "response_template": "{{" }, { "endpoint": "/{y}" }]
    }));
    let reply = reply.await.is_problem(422, "VALIDATION_FAILED");
    let mut found = reply.errors();
    found.sort_unstable();
    let expected = [
        ("config.base_url", "InvalidUrl"),
        ("config.timeout_ms", "WrongType"),
        ("id", "Invalid"),
        ("name", "Invalid"),
        ("tools[0].endpoint", "PathParameterMissing"),
        ("tools[0].id", "Invalid"),
        ("tools[0].response_template", "TemplateSyntaxError"),
        ("tools[1].endpoint", "PathParameterMissing"),
        ("tools[1].id", "Invalid"),
    ];
    assert_eq!(found, expected, "{}", reply.text);
    let unknown = app.post("services", json!({ "type": "pigeon", "id": "x" })).await;
    let unknown = unknown.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(unknown.errors(), [("type", "UnknownType")]);
    for id in ["", "a/b", ".hidden", "mit leer", &"x".repeat(65)] {
        let mut service = api("x", "https://api.example.com");
        service["id"] = json!(id);
        let reply = app.post("services", service).await.is_problem(422, "VALIDATION_FAILED");
        assert_eq!(reply.errors(), [("id", "Invalid")], "{id}");
    }
    assert_eq!(app.get("services").await.is(200).body["total"], 0);
}

/// SC-2
async fn disables_and_enables_a_service(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    app.service(api("other", &upstream.url())).await;
    let reply = app.post("services/api/crm/disable", json!({})).await.is(200);
    assert_eq!((&reply.body["enabled"], &reply.body["status"]), (&json!(false), &json!("disabled")));
    for tool in ["ping", "get_order", "fail"] {
        let reply = app.call(&format!("api://crm/{tool}"), json!({})).await;
        let reply = reply.is_problem(409, "SERVICE_DISABLED");
        assert!(reply.string("detail").contains("api://crm"), "{}", reply.text);
        let reply = app.call_name(&format!("crm__{tool}"), json!({})).await;
        reply.is_problem(409, "SERVICE_DISABLED");
    }
    assert!(upstream.requests().is_empty());
    let names = app.tool_names().await;
    assert!(names.iter().all(|name| name.starts_with("other__")) && names.len() == 4, "{names:?}");
    app.call("api://other/ping", json!({})).await.is(200);

    app.post("services/api/crm/enable", json!({})).await.is(200);
    assert_eq!(app.tool_names().await.len(), 8);
    app.call("api://crm/ping", json!({})).await.is(200);
    app.call_name("crm__ping", json!({})).await.is(200);
    app.post("services/api/nobody/disable", json!({})).await.is_problem(404, "NOT_FOUND");
}

/// SC-3
async fn applies_an_update_at_once_and_lets_calls_in_flight_finish_with_the_old_settings(backend: Backend) {
    let (old, new) = (http::Server::start().await, http::Server::start().await);
    let app = TestApp::start(backend).await;
    app.service(crm(&old)).await;
    let in_flight = {
        let client = testkit::Client::clone(&app);
        tokio::spawn(async move { client.call("api://crm/slow", json!({ "ms": 3000 })).await })
    };
    received(&old, 1).await;
    let config = json!({ "base_url": new.url(), "default_headers": { "x-edition": "2" } });
    app.patch("services/api/crm", json!({ "config": config })).await.is(200);
    app.call("api://crm/ping", json!({})).await.is(200);
    assert_eq!(new.last().header("x-edition"), Some("2"));
    assert!(!in_flight.is_finished(), "the update did not wait for the call");
    let reply = in_flight.await.unwrap().is(200);
    assert_eq!(reply.body["isError"], false, "{}", reply.text);
    assert_eq!(reply.body["structuredContent"]["headers"]["host"], old.address().to_string());
    assert_eq!((old.requests().len(), new.requests().len()), (1, 1));
}

async fn refuses_the_second_of_two_writers_on_one_row(backend: Backend) {
    let app = TestApp::start(backend).await;
    app.service(api("crm", "https://api.example.com")).await;
    app.with_tenant("acme").await;
    let user = app.post("users", json!({ "username": "ada", "password": "correct horse" })).await.is(201);
    let key = app.post("keys", json!({ "name": "k" })).await.is(201);
    let door = app.post("mcp", json!({ "name": "d" })).await.is(201);
    let rows = [
        ("services/api/crm".to_owned(), "name"),
        ("tenants/acme".to_owned(), "name"),
        (format!("users/{}", user.string("id")), "display_name"),
        (format!("keys/{}", key.string("id")), "name"),
        (format!("mcp/id/{}", door.string("id")), "name"),
        ("services/api/crm/tools/get_order".to_owned(), "description"),
    ];
    for (path, field) in rows {
        let version = app.get(&path).await.is(200).body["version"].clone();
        let change = |text: &str| json!({ field: text, "version": version });
        let first = app.patch(&path, change("first")).await.is(200);
        assert_ne!(first.body["version"], version, "{path}");
        app.patch(&path, change("second")).await.is_problem(409, "CONFLICT");
        assert_eq!(app.get(&path).await.body[field], "first", "{path}");
        app.patch(&path, json!({ field: "third", "version": first.body["version"] })).await.is(200);
    }
}

async fn lists_filters_and_deletes_services(backend: Backend) {
    let app = TestApp::start(backend).await;
    for id in ["a", "b", "c"] {
        app.service(api(id, "https://api.example.com")).await;
    }
    app.post("services/api/b/disable", json!({})).await.is(200);
    let ids = async |query: &str| -> Vec<Value> {
        let reply = app.get(&format!("services{query}")).await.is(200);
        reply.items().into_iter().map(|item| item["id"].clone()).collect()
    };
    assert_eq!(ids("").await, ["a", "b", "c"]);
    assert_eq!(ids("?enabled=false").await, ["b"]);
    assert_eq!(ids("?type=mail").await, Vec::<Value>::new());
    assert_eq!(ids("?page=2&limit=2").await, ["c"]);
    let page = app.get("services?page=2&limit=2").await.body;
    assert_eq!((&page["page"], &page["limit"], &page["total"]), (&json!(2), &json!(2), &json!(3)));
    for query in ["?page=0", "?limit=0", "?limit=1001", "?page=x"] {
        app.get(&format!("services{query}")).await.is_problem(400, "BAD_REQUEST");
    }
    assert_eq!(app.get("services/api/a/references").await.is(200).body["total"], 0);
    app.delete("services/api/a?force=true").await.is(204);
    app.delete("services/api/a").await.is_problem(404, "NOT_FOUND");
    assert_eq!(ids("").await, ["b", "c"]);
    app.call("api://a/ping", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
}

async fn tests_whether_a_service_can_be_reached(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    app.service(api("dead", &format!("http://{}", http::dead_address().await))).await;
    let reply = app.post("services/api/crm/test", json!({})).await.is(200);
    assert_eq!(reply.body["ok"], true, "{}", reply.text);
    let reply = app.post("services/api/dead/test", json!({})).await.is(200);
    assert_eq!((&reply.body["ok"], &reply.body["error"]["code"]), (&json!(false), &json!("UNAVAILABLE")));
}

async fn is_failing_from_the_call_that_does_not_reach_it_to_the_next_that_does(backend: Backend) {
    let (upstream, app) = (http::Server::start().await, TestApp::start(backend).await);
    let dead = format!("http://{}", http::dead_address().await);
    app.service(api("crm", &dead)).await;
    let health = async || app.get("services/api/crm").await.is(200).body["health"].clone();
    app.call("api://crm/get_order", json!({ "nobody": 3 })).await;
    assert_eq!(health().await["state"], "ok", "it was not called: the arguments are wrong");
    app.call("api://crm/get_order", json!({ "userId": "u1" })).await.is(200);
    let seen = health().await;
    assert_eq!(seen["state"], "failing");
    assert!(!seen["error"].as_str().unwrap().contains("u1"), "{seen}");
    app.patch("services/api/crm", json!({ "config": { "base_url": dead, "timeout_ms": 5000 } }))
        .await
        .is(200);
    app.post("services/api/crm/test", json!({})).await.is(200);
    assert_eq!(health().await["state"], "failing");
    app.patch("services/api/crm", json!({ "config": { "base_url": upstream.url() } })).await.is(200);
    app.call("api://crm/get_order", json!({ "userId": "u1" })).await.is(200);
    assert_eq!(health().await["state"], "ok");
}

/// What others could read on its way is said when a service is saved and tested; what it does not have, when it is called.
#[tokio::test]
async fn says_what_is_worth_a_word_of_a_database() {
    let app = TestApp::start(Backend::Sqlite).await;
    let config = |query: &str| json!({ "config": { "db_type": "postgresql", "connection_string": format!("postgres://u:s3cr3t@192.0.2.1/d{query}"), "timeout_ms": 500 } });
    let mut body = config("");
    (body["type"], body["id"]) = (json!("db"), json!("far"));
    let made = app.post("services", body).await.is(201);
    let says = |warnings: &Value| {
        warnings.as_array().into_iter().flatten().any(|text| text.as_str().unwrap().contains("verify-full"))
    };
    assert!(says(&made.body["warnings"]) && !made.text.contains("s3cr3t"), "{}", made.text);
    let tested = app.post("services/db/far/test", json!({})).await.is(200);
    assert!(says(&tested.body["warnings"]), "{}", tested.text);
    let changed = app.patch("services/db/far", config("?sslmode=verify-full")).await.is(200);
    assert!(!says(&changed.body["warnings"]), "{}", changed.text);
    let own = json!({ "type": "db", "id": "lt", "config": { "db_type": "sqlite", "table": "gone" } });
    app.post("services", own).await.is(201);
    let reply = app.call("db://lt/list", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    assert!(reply.text.contains("no table 'gone'"), "{}", reply.text);
    let tested = app.post("services/db/lt/test", json!({})).await.is(200);
    assert_eq!(tested.body["ok"], false, "{}", tested.text);
}

#[tokio::test]
async fn describes_every_type_of_service() {
    let app = TestApp::start(Backend::Sqlite).await;
    let types = app.get("service-types").await.is(200).items();
    let api = types.iter().find(|kind| kind["type"] == "api").unwrap();
    assert!(api["settings_schema"]["properties"]["base_url"].is_object());
    assert!(api["settings_schema"]["properties"]["tools"].is_null(), "tools stand beside config");
    assert_eq!(api["has_user_tools"], true);
    let schema = &api["tool_schema"];
    let target = schema["$ref"].as_str().map_or("", |target| target.trim_start_matches('#'));
    let tool = schema.pointer(target).unwrap();
    assert!(tool["properties"]["endpoint"].is_object(), "{schema}");
    let fixed = |kind: &str| types.iter().find(|found| found["type"] == kind).unwrap()["fixed_tools"].clone();
    assert_eq!(fixed("api"), json!([]));
    assert_eq!(fixed("db"), json!(["describe", "query", "tables"]));
    assert_eq!(fixed("oss"), json!(["copy", "delete", "list", "load", "presign", "save", "stat"]));
    assert_eq!(
        (fixed("mail"), fixed("sms"), fixed("agent")),
        (json!(["send"]), json!(["send"]), json!(["ask"]))
    );
    let text = api["settings_schema"].to_string();
    assert!(text.contains("\"writeOnly\":true"), "secrets are marked: {text}");
}
