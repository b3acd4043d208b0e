//! Browsers sign in by a cookie that is of no use to pages of others.

use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::client::{Reply, send, send_json};
use testkit::{Backend, Client, TestApp, on_both_databases};

on_both_databases! {
    a_page_that_was_drawn_for_somebody_else_changes_nothing
    streams_end_with_the_session_that_opened_them
}

/// A browser that has signed in: what it sends with requests of a page of ours.
struct Browser {
    client: Client,
    cookie: String,
}

impl Browser {
    async fn sign_in(client: &Client, body: Value) -> (Self, Reply) {
        let reply = client.as_nobody().post("auth/session", body).await.is(200);
        let set = reply.header("set-cookie").unwrap().to_owned();
        let cookie = set.split(';').next().unwrap().to_owned();
        (Self { client: client.as_nobody(), cookie }, reply)
    }

    async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> Reply {
        let request = self.client.request(method, path).header("cookie", &self.cookie);
        send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
    }

    /// A stream, which the console reads as it comes.
    async fn follow(&self, path: &str) -> reqwest::Response {
        let request = self.client.request(Method::GET, path).header("cookie", &self.cookie);
        let answer = request.header("sec-fetch-site", "same-origin").send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        answer
    }

    async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, &[("sec-fetch-site", "same-origin")]).await
    }
}

/// UI-13
#[tokio::test]
async fn a_browser_signs_in_by_a_cookie_that_no_script_can_read() {
    let app = TestApp::start(Backend::Sqlite).await;
    let key = app.key().unwrap().to_owned();
    let (browser, reply) = Browser::sign_in(&app, json!({ "key": key })).await;
    let set = reply.header("set-cookie").unwrap();
    assert!(
        set.starts_with("aio_") && set.contains("; Path=/api/v1; Max-Age=43200; HttpOnly; SameSite=Strict")
    );
    assert!(!set.contains("Secure") && !set.contains(&key), "{set}");
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(reply.body["role"], "admin");
    assert!(reply.body["may"].as_array().unwrap().contains(&json!("administer")), "{}", reply.text);

    let me = browser.get("auth/me").await.is(200);
    assert_eq!((&me.body["kind"], &me.body["expires_at"]), (&json!("key"), &reply.body["expires_at"]));
    // What a page of ours changes is on record as whoever signed in.
    let tenant = browser.client.request(Method::POST, "tenants").header("cookie", &browser.cookie);
    let tenant = tenant.header("sec-fetch-site", "same-origin");
    send_json(tenant, &json!({ "id": "acme", "name": "Acme" })).await.is(201);
    let record = app.get("audit?kind=management&tool=POST%20/api/v1/tenants").await.is(200);
    assert_eq!(record.items()[0]["caller"], me.body["id"], "{}", record.text);

    let over_tls = app.as_nobody().request(Method::POST, "auth/session").header("x-forwarded-proto", "https");
    let over_tls = send_json(over_tls, &json!({ "key": key })).await.is(200);
    assert!(over_tls.header("set-cookie").unwrap().ends_with("; Secure"));
    let left =
        browser.send(Method::DELETE, "auth/session", &[("sec-fetch-site", "same-origin")]).await.is(204);
    assert!(left.header("set-cookie").unwrap().contains("=; Path=/api/v1; Max-Age=0;"));
}

/// UI-13
#[tokio::test]
async fn a_session_that_was_signed_out_is_over_for_whoever_kept_its_cookie() {
    let app = TestApp::start(Backend::Sqlite).await;
    let (browser, _) = Browser::sign_in(&app, json!({ "key": app.key() })).await;
    let (other, _) = Browser::sign_in(&app, json!({ "key": app.key() })).await;
    // A page of others signs nobody out.
    browser.send(Method::DELETE, "auth/session", &[("sec-fetch-site", "cross-site")]).await;
    browser.get("auth/me").await.is(200);
    let own_page = [("sec-fetch-site", "same-origin")];
    browser.send(Method::DELETE, "auth/session", &own_page).await.is(204);
    browser.get("auth/me").await.is(401);
    browser.send(Method::DELETE, "auth/session", &own_page).await.is(204);
    other.get("auth/me").await.is(200);
    // On whichever replica.
    let replica = app.replica("another").await;
    for (cookie, status) in [(browser.cookie, 401), (other.cookie, 200)] {
        let there = Browser { client: replica.as_nobody(), cookie };
        there.get("auth/me").await.is(status);
    }
}

/// UI-13
#[tokio::test]
async fn the_cookie_counts_for_pages_of_this_server_and_for_rest_alone() {
    let app = TestApp::start_with(Backend::Sqlite, |settings| {
        settings.server.cors_origins = vec!["https://friend.example".parse().unwrap()];
    })
    .await;
    let (browser, _) = Browser::sign_in(&app, json!({ "key": app.key() })).await;
    let own = format!("http://{}", app.address());
    for (headers, status) in [
        (&[("sec-fetch-site", "same-origin")][..], 200),
        (&[("origin", own.as_str())], 200),
        (&[], 401),
        // Over plain HTTP browsers say neither, so that the console names itself.
        (&[("x-console", "-")], 200),
        (&[("x-console", "-"), ("origin", "https://friend.example")], 401),
        (&[("x-console", "-"), ("sec-fetch-site", "cross-site")], 401),
        (&[("sec-fetch-site", "none")], 401),
        (&[("sec-fetch-site", "same-site")], 401),
        (&[("sec-fetch-site", "cross-site"), ("origin", own.as_str())], 401),
        (&[("origin", "https://friend.example"), ("sec-fetch-site", "cross-site")], 401),
        (&[("origin", "https://friend.example")], 401),
        (&[("origin", "null")], 401),
    ] {
        for (method, path) in [(Method::GET, "auth/me"), (Method::POST, "auth/session-code")] {
            let reply = browser.send(method.clone(), path, headers).await;
            assert_eq!(reply.status, status, "{method} {headers:?}: {}", reply.text);
        }
    }
    for path in ["/mcp", "/tools/by-table/x", "/servers/x/mcp"] {
        let reply = browser.send(Method::GET, path, &[("sec-fetch-site", "same-origin")]).await;
        assert_eq!(reply.status, 401, "{path}: {}", reply.text);
    }
    // Neither is it a key, nor is a key a cookie.
    let token = browser.cookie.split_once('=').unwrap().1.to_owned();
    app.as_key(token).get("auth/me").await.is_problem(401, "UNAUTHENTICATED");
    let name = browser.cookie.split('=').next().unwrap();
    for forged in [app.key().unwrap(), "", "a.b.c"] {
        let forged = Browser { client: app.as_nobody(), cookie: format!("{name}={forged}") };
        forged.get("auth/me").await.is_problem(401, "UNAUTHENTICATED");
    }
}

/// UI-13
#[tokio::test]
async fn a_session_dies_with_its_key_or_its_user() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let app = TestApp::start(backend).await;
        let made = app.post("keys", json!({ "name": "page", "role": "viewer" })).await.is(201);
        let (browser, me) = Browser::sign_in(&app, json!({ "key": made.string("key") })).await;
        assert_eq!(me.body["may"], json!(["read"]));
        browser.get("services").await.is(200);
        app.patch(&format!("keys/{}", made.string("id")), json!({ "status": "disabled" })).await.is(200);
        browser.get("services").await.is_problem(401, "UNAUTHENTICATED");

        let user = json!({ "username": "ada", "password": "correct horse", "role": "manager" });
        let user = app.post("users", user).await.is(201);
        let login = json!({ "username": "ada", "password": "correct horse" });
        let (browser, me) = Browser::sign_in(&app, login.clone()).await;
        assert_eq!((&me.body["kind"], &me.body["name"]), (&json!("user"), &json!("ada")));
        browser.get("keys").await.is(200);
        app.patch(&format!("users/{}", user.string("id")), json!({ "password": "wrong horse now" }))
            .await
            .is(200);
        browser.get("keys").await.is_problem(401, "UNAUTHENTICATED");
        app.as_nobody().post("auth/session", login).await.is_problem(401, "UNAUTHENTICATED");
    }
}

/// UI-13
#[tokio::test]
async fn a_code_signs_in_once_on_whichever_replica() {
    let app = TestApp::start(Backend::Postgres).await;
    let other = app.replica("other").await;
    let code = app.post("auth/session-code", json!({})).await.is(200).string("code");
    // A code is no session, and no key.
    app.as_key(code.as_str()).get("auth/me").await.is_problem(401, "UNAUTHENTICATED");
    let (one, two) = (app.as_nobody(), other.as_nobody());
    let body = json!({ "code": code });
    let both = tokio::join!(one.post("auth/session", body.clone()), two.post("auth/session", body));
    let mut statuses = [both.0.status, both.1.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 401]);
    for body in [json!({}), json!({ "key": "a", "code": "b" }), json!({ "username": "a" })] {
        let reply = app.as_nobody().post("auth/session", body).await.is_problem(422, "VALIDATION_FAILED");
        assert!(reply.text.contains("'username' and 'password'"), "{}", reply.text);
    }
}

/// UI-13: another tab has signed in as somebody else, and this one still shows what was there before.
async fn a_page_that_was_drawn_for_somebody_else_changes_nothing(backend: Backend) {
    let app = TestApp::start(backend).await;
    let acme = app.with_tenant("acme").await;
    let (_, before) = Browser::sign_in(&app, json!({ "key": app.key() })).await;
    let (browser, now) = Browser::sign_in(&app, json!({ "key": acme.key() })).await;
    let of = |me: &Reply| format!("{}/{}", me.string("tenant"), me.string("id"));
    let (before, now) = (of(&before), of(&now));
    let create = async |page: &str| {
        let request = browser.client.request(Method::POST, "tables").header("cookie", &browser.cookie);
        let request = request.header("sec-fetch-site", "same-origin").header("x-console", page);
        send_json(request, &json!({ "name": "drawn", "data": {} })).await
    };
    let refused = create(&before).await.is_problem(409, "OTHER_SESSION");
    assert!(refused.text.contains("in the tenant acme"), "{}", refused.text);
    for text in [before.as_str(), "", "acme/", "%", "acme"] {
        let headers = [("sec-fetch-site", "same-origin"), ("x-console", text)];
        browser.send(Method::GET, "auth/me", &headers).await.is_problem(409, "OTHER_SESSION");
    }
    assert_eq!(acme.get("tables").await.is(200).body["total"], 0);
    create(&now).await.is(201);
    create(&now.replace('/', "%2F")).await.is(201);
    // Whoever shows a key says by it who they are.
    let own = app.request(Method::GET, "auth/me").header("x-console", &now);
    send(own).await.is(200);
}

const WAITS: &str = "name: Waits\nnodes:\n  ok: {approval: {title: \"Ship it?\"}}\n";

/// UI-13, UI-12: on the replica where somebody signs out, and on others within as long as streams are alive.
async fn streams_end_with_the_session_that_opened_them(backend: Backend) {
    let app = TestApp::start(backend).await;
    app.post("flows", json!({ "id": "waits", "source": WAITS })).await.is(201);
    let run = json!({ "version": "draft", "inputs": {}, "wait_seconds": 0 });
    let run = app.post("flows/waits/runs", run).await.string("id");
    let (leaves, _) = Browser::sign_in(&app, json!({ "key": app.key() })).await;
    let (stays, _) = Browser::sign_in(&app, json!({ "key": app.key() })).await;
    let replica = app.replica("another").await;
    let there = Browser { client: replica.as_nobody(), cookie: leaves.cookie.clone() };
    let of_run = format!("runs/{run}/events");
    let mut here = vec![leaves.follow("events").await, leaves.follow(&of_run).await];
    let mut elsewhere = there.follow("events").await;
    let mut other = stays.follow("events").await;
    let own_page = [("sec-fetch-site", "same-origin")];
    leaves.send(Method::DELETE, "auth/session", &own_page).await.is(204);
    for stream in &mut here {
        assert!(ends_within(stream, Duration::from_secs(5)).await, "{}", stream.url());
    }
    assert!(ends_within(&mut elsewhere, Duration::from_secs(40)).await);
    assert!(!ends_within(&mut other, Duration::from_secs(1)).await);
}

async fn ends_within(stream: &mut reqwest::Response, time: Duration) -> bool {
    let end = async { while stream.chunk().await.is_ok_and(|piece| piece.is_some()) {} };
    tokio::time::timeout(time, end).await.is_ok()
}
