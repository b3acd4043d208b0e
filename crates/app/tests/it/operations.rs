//! For those who run the server: health, metrics, the OpenAPI document, browsers.

use crate::setup::crm;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::HashSet;
use testkit::client::send;
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! { is_alive_and_ready counts_lists_and_calls_by_their_end }

async fn is_alive_and_ready(backend: Backend) {
    let app = TestApp::start(backend).await;
    assert_eq!(app.as_nobody().get("/healthz").await.is(200).body, json!({ "status": "ok" }));
    assert_eq!(app.as_nobody().get("/readyz").await.is(200).body, json!({ "status": "ready" }));
}

/// The value of the first line of the metrics that begins with `name` and holds all `labels`.
fn value(text: &str, name: &str, labels: &[&str]) -> f64 {
    let line = text.lines().find(|line| {
        let is_it = line.starts_with(name) && line[name.len()..].starts_with(['{', ' ']);
        is_it && labels.iter().all(|label| line.contains(label))
    });
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_default()
}

/// HD-8
async fn counts_lists_and_calls_by_their_end(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let metrics = async || app.as_nobody().get("/metrics").await.is(200);
    let before = metrics().await;
    assert!(before.header("content-type").unwrap().starts_with("text/plain"));
    app.get("mcp/tools").await.is(200);
    for _ in 0..3 {
        app.call("api://crm/ping", json!({})).await.is(200);
    }
    app.call("api://crm/fail", json!({})).await.is(200);
    app.call("api://crm/get_order", json!({})).await.is_problem(422, "VALIDATION_FAILED");
    app.call_name("nothing", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    let after = metrics().await;
    let grown =
        |name: &str, labels: &[&str]| value(&after.text, name, labels) - value(&before.text, name, labels);
    let of_crm = |status| ["tenant=\"default\"", "type=\"api\"", "service=\"crm\"", status];
    assert_eq!(grown("mcp_all_in_one_calls_total", &of_crm("status=\"ok\"")), 3.0, "{}", after.text);
    assert_eq!(grown("mcp_all_in_one_calls_total", &of_crm("status=\"error\"")), 1.0);
    assert_eq!(grown("mcp_all_in_one_calls_refused_total", &[]), 2.0);
    assert_eq!(grown("mcp_all_in_one_lists_total", &[]), 1.0);
    assert_eq!(grown("mcp_all_in_one_call_seconds_count", &["service=\"crm\""]), 4.0);
    assert_eq!(grown("mcp_all_in_one_bind_seconds_count", &[]), 4.0);
    assert_eq!(grown("mcp_all_in_one_api_request_seconds_count", &[]), 4.0);
    for name in [
        "calls_total",
        "calls_refused_total",
        "lists_total",
        "call_seconds",
        "bind_seconds",
        "api_request_seconds",
    ] {
        assert!(after.text.contains(&format!("# HELP mcp_all_in_one_{name} ")), "{name}: {}", after.text);
    }
}

/// HD-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_what_templates_cost() {
    let upstream = http::Server::start().await;
    let app = TestApp::start(Backend::Sqlite).await;
    let metrics = async || app.get("/metrics").await.is(200).text;
    let mut service = crm(&upstream);
    service["tools"][1]["response_template"] = json!("{{ .method }} it was");
    app.service(service).await;
    let before = metrics().await;
    for _ in 0..3 {
        let reply = app.call("api://crm/ping", json!({})).await.is(200);
        assert_eq!(reply.body["content"][0]["text"], "GET it was");
    }
    let after = metrics().await;
    let grown = |name: &str| value(&after, name, &[]) - value(&before, name, &[]);
    assert_eq!(grown("mcp_all_in_one_template_cache_hits_total"), 3.0, "{after}");
    assert_eq!(grown("mcp_all_in_one_template_render_seconds_count"), 3.0);
    assert_eq!(grown("mcp_all_in_one_template_compilations_total"), 0.0, "compiled when it was saved");
    let change = json!({ "response_template": "{{ .path }}" });
    app.patch("services/api/crm/tools/ping", change).await.is(200);
    assert!(value(&metrics().await, "mcp_all_in_one_template_compilations_total", &[]) > 0.0);
    assert_eq!(app.call("api://crm/ping", json!({})).await.body["content"][0]["text"], "/ping");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn describes_itself_in_openapi() {
    let app = TestApp::start(Backend::Sqlite).await;
    let document = app.as_nobody().get("/api/openapi.json").await.is(200).body;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let operations: Vec<&Value> = document["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|item| item.as_object().unwrap().values())
        .filter(|operation| operation["responses"].is_object())
        .collect();
    let ids: HashSet<_> =
        operations.iter().map(|operation| operation["operationId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), operations.len(), "operation ids are unique");
    assert!(operations.len() >= 30);
    for path in [
        "/auth/login",
        "/auth/logout",
        "/tenants",
        "/tenants/{id}",
        "/users",
        "/users/{id}",
        "/keys",
        "/keys/{id}",
        "/service-types",
        "/services",
        "/services/{type}/{id}",
        "/services/{type}/{id}/enable",
        "/services/{type}/{id}/tools/{tool}",
        "/call",
        "/mcp/tools",
        "/mcp/tools/call",
        "/audit",
        "/audit/export",
    ] {
        assert!(document["paths"][format!("/api/v1{path}")].is_object(), "{path}");
    }
    let page = send(app.as_nobody().request(Method::GET, "/api/docs/")).await.is(200);
    assert!(page.header("content-type").unwrap().starts_with("text/html"));
    assert!(page.text.contains("<html"), "{}", page.text);
    app.as_nobody().get("/api/docs").await.is(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lets_no_web_page_in_unless_configured() {
    const ORIGIN: &str = "https://console.example.com";
    let ask = async |app: &TestApp, origin: &str| {
        let preflight = app.as_nobody().request(Method::OPTIONS, "services").header("origin", origin);
        let preflight = preflight
            .header("access-control-request-method", "PATCH")
            .header("access-control-request-headers", "authorization,content-type");
        let request = app.request(Method::GET, "services").header("origin", origin);
        (send(preflight).await, send(request).await)
    };
    let allowed = |reply: &testkit::Reply| reply.header("access-control-allow-origin").map(str::to_owned);
    let closed = TestApp::start(Backend::Sqlite).await;
    let (preflight, reply) = ask(&closed, ORIGIN).await;
    assert_eq!((allowed(&preflight), allowed(&reply)), (None, None));
    let open = TestApp::start_with(Backend::Sqlite, |settings| {
        settings.server.cors_origins = vec![ORIGIN.parse().unwrap()];
    });
    let open = open.await;
    let (preflight, reply) = ask(&open, ORIGIN).await;
    assert_eq!((allowed(&preflight).as_deref(), allowed(&reply).as_deref()), (Some(ORIGIN), Some(ORIGIN)));
    assert_eq!(preflight.status, 200, "{}", preflight.text);
    assert!(preflight.header("access-control-allow-methods").unwrap().contains("PATCH"));
    let headers = preflight.header("access-control-allow-headers").unwrap();
    assert!(headers.contains("authorization") && headers.contains("content-type"), "{headers}");
    let (preflight, reply) = ask(&open, "https://evil.example.com").await;
    assert_eq!((allowed(&preflight), allowed(&reply)), (None, None));
}

/// A page that shows ours in a frame could make people press its buttons.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lets_no_page_put_ours_into_a_frame() {
    let app = TestApp::start(Backend::Sqlite).await;
    let paths =
        ["/api/docs", "/api/docs/", "/api/openapi.json", "/healthz", "/nothing", "services", "/metrics"];
    for path in paths {
        for client in [app.as_nobody(), app.as_key(app.key().unwrap())] {
            let reply = client.get(path).await;
            assert_eq!(reply.header("x-frame-options"), Some("DENY"), "{path}");
            let policy = reply.header("content-security-policy").unwrap_or_default();
            assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
            assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configured_web_page_may_use_the_mcp_door() {
    const ORIGIN: &str = "https://console.example.com";
    let app = TestApp::start_with(Backend::Sqlite, |settings| {
        settings.server.cors_origins = vec![ORIGIN.parse().unwrap()];
    })
    .await;
    for method in ["POST", "GET", "DELETE"] {
        let wanted = [
            "authorization",
            "content-type",
            "accept",
            "last-event-id",
            "mcp-method",
            "mcp-name",
            "mcp-param-region",
            "mcp-protocol-version",
            "mcp-session-id",
            "traceparent",
            "x-api-key",
            "x-request-id",
        ];
        let preflight = app.as_nobody().request(Method::OPTIONS, "/mcp").header("origin", ORIGIN);
        let preflight = preflight
            .header("access-control-request-method", method)
            .header("access-control-request-headers", wanted.join(","));
        let reply = send(preflight).await.is(200);
        assert_eq!(reply.header("access-control-allow-origin"), Some(ORIGIN));
        assert!(reply.header("access-control-allow-methods").unwrap().contains(method));
        assert!(reply.header("access-control-max-age").is_some());
        let allowed = reply.header("access-control-allow-headers").unwrap().to_ascii_lowercase();
        let allowed: HashSet<_> = allowed.split(',').map(str::trim).collect();
        let missing: Vec<_> = wanted.iter().filter(|name| !allowed.contains(*name)).collect();
        assert!(missing.is_empty(), "{missing:?} are not in {allowed:?}");
    }
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "page", "version": "1" } } });
    let ask = |client: &testkit::Client| {
        let request = client.request(Method::POST, "/mcp").header("origin", ORIGIN);
        request.header("accept", "application/json, text/event-stream").json(&hello)
    };
    let reply = send(ask(&app)).await.is(200);
    assert!(reply.header("mcp-session-id").is_some());
    let refused = send(ask(&app.as_nobody())).await.is(401);
    for reply in [&reply, &refused] {
        assert_eq!(reply.header("access-control-allow-origin"), Some(ORIGIN));
        let exposed = reply.header("access-control-expose-headers").unwrap().to_ascii_lowercase();
        for name in
            ["mcp-session-id", "mcp-protocol-version", "www-authenticate", "retry-after", "x-request-id"]
        {
            assert!(exposed.contains(name), "{name} is not in {exposed}");
        }
    }
}

/// A number that nothing can change any more only costs, and names what somebody wanted gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgets_the_numbers_of_what_was_deleted() {
    let upstream = http::Server::start().await;
    let app = TestApp::start(Backend::Sqlite).await;
    let manager = app.with_tenant("gone").await;
    let mut service = crm(&upstream);
    for (client, id) in [(&manager, "kept"), (&manager, "shortlived"), (&*app, "kept")] {
        service["id"] = json!(id);
        client.post("services", service.clone()).await.is(201);
        client.call(&format!("api://{id}/ping"), json!({})).await.is(200);
    }
    let metrics = async || app.as_nobody().get("/metrics").await.is(200).text;
    let calls = "mcp_all_in_one_calls_total";
    let of = |tenant, service| [format!("tenant=\"{tenant}\""), format!("service=\"{service}\"")];
    let count = |text: &str, tenant, service| {
        let [tenant, service] = of(tenant, service);
        value(text, calls, &[&tenant, &service, "status=\"ok\""])
    };
    let before = metrics().await;
    for (tenant, service) in [("gone", "kept"), ("gone", "shortlived"), ("default", "kept")] {
        assert_eq!(count(&before, tenant, service), 1.0, "{before}");
    }
    manager.delete("services/api/shortlived").await.is(204);
    let after = metrics().await;
    assert!(!after.contains("shortlived"), "{after}");
    assert_eq!((count(&after, "gone", "kept"), count(&after, "default", "kept")), (1.0, 1.0));
    app.delete("tenants/gone").await.is(204);
    let after = metrics().await;
    assert!(!after.contains("tenant=\"gone\""), "{after}");
    assert_eq!(count(&after, "default", "kept"), 1.0);
    // What is made again begins anew.
    app.delete("services/api/kept").await.is(204);
    app.service(service).await;
    app.call("api://kept/ping", json!({})).await.is(200);
    assert_eq!(count(&metrics().await, "default", "kept"), 1.0);
}
