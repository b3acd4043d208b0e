//! What answers without a key answers nobody's web page: a name that is pointed at this machine is no way in.

use reqwest::Method;
use serde_json::json;
use testkit::client::{send, send_json};
use testkit::{Backend, TestApp};

#[tokio::test]
async fn answers_without_a_key_only_under_names_of_this_machine() {
    let app = TestApp::start(Backend::Sqlite).await;
    let nobody = app.as_nobody();
    let port = app.address().port();
    for path in ["/metrics", "/healthz", "/readyz", "/api/openapi.json", "/api/docs/"] {
        let get = |header: &'static str, value: String| {
            let request = nobody.request(Method::GET, path).header(header, value);
            async move { send(request).await }
        };
        for own in [
            format!("localhost:{port}"),
            format!("127.0.0.1:{port}"),
            format!("[::1]:{port}"),
            "localhost".into(),
        ] {
            get("host", own).await.is(200);
        }
        for rebound in
            [format!("evil.example:{port}"), "localhost.evil.example".into(), "127.0.0.1.evil.example".into()]
        {
            let refused = get("host", rebound).await.is_problem(403, "FORBIDDEN");
            assert!(refused.text.contains("--cors-origin"), "{}", refused.text);
        }
        for origin in
            ["http://evil.example".to_owned(), format!("http://localhost:{}", port ^ 1), "null".into()]
        {
            get("origin", origin).await.is_problem(403, "FORBIDDEN");
        }
        get("origin", format!("http://127.0.0.1:{port}")).await.is(200);
    }
    let login = json!({ "tenant": "default", "username": "a", "password": "b" });
    let request = nobody.request(Method::POST, "auth/login").header("origin", "http://evil.example");
    send_json(request, &login).await.is_problem(403, "FORBIDDEN");
    // Whoever has a key may call us what they like.
    send(app.request(Method::GET, "/metrics").header("host", "gateway.example")).await.is(200);
}

#[tokio::test]
async fn answers_without_a_key_under_names_that_were_allowed() {
    let app = TestApp::start_with(Backend::Sqlite, |settings| {
        settings.server.cors_origins = vec!["https://gateway.example".parse().unwrap()];
    })
    .await;
    let nobody = app.as_nobody();
    for path in ["/healthz", "/api/openapi.json"] {
        send(nobody.request(Method::GET, path).header("host", "gateway.example")).await.is(200);
        send(nobody.request(Method::GET, path).header("origin", "https://gateway.example")).await.is(200);
    }
}
