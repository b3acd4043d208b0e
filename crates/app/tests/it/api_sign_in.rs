//! How services sign in, seen from both doors: keys, tokens of a real OAuth2 provider, certificates, callers' headers.

use crate::setup::{BothDoors, api};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;
use testkit::certificates::Authority;
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    signs_in_with_keys_and_tokens_at_both_doors
    shows_a_certificate_and_keeps_its_key_to_itself
    hands_on_what_the_caller_brings_but_not_what_signed_it_in
}

/// The service `crm` at `base_url` with more settings.
#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn service(id: &str, base_url: &str, more: Value) -> Value {
    let mut service = api(id, base_url);
    for (name, value) in more.as_object().cloned().unwrap_or_default() {
        service["config"][name] = value;
    }
    service
}

/// AP-3, AP-4
async fn signs_in_with_keys_and_tokens_at_both_doors(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    for (id, config, header, sent) in [
        (
            "key",
            json!({ "auth_type": "apikey", "auth_config": { "header": "X-API-Key", "value": "hunter2" } }),
            "x-api-key",
            "hunter2",
        ),
        (
            "bearer",
            json!({ "auth_type": "bearer", "auth_config": { "token": "hunter2" } }),
            "authorization",
            "Bearer hunter2",
        ),
        (
            "nested",
            json!({ "auth": { "type": "bearer", "token": "hunter2" } }),
            "authorization",
            "Bearer hunter2",
        ),
        (
            "basic",
            json!({ "auth": { "type": "basic", "username": "ada", "password": "hunter2" } }),
            "authorization",
            "Basic YWRhOmh1bnRlcjI=",
        ),
    ] {
        let made = app.post("services", service(id, &upstream.url(), config)).await.is(201);
        assert!(!made.text.contains("hunter2"), "{}", made.text);
        let doors = BothDoors::open(&app).await;
        doors.call(&format!("{id}__ping"), json!({})).await;
        for request in upstream.requests().iter().rev().take(2) {
            assert_eq!(request.header(header), Some(sent), "{id}");
        }
        let failed = doors.call(&format!("{id}__fail"), json!({})).await;
        assert!(!failed.to_string().contains("hunter2"), "{failed}");
    }
    let audit = app.get("audit?limit=1000").await.is(200);
    assert!(!audit.text.contains("hunter2") && !audit.text.contains("YWRhOmh1"), "{}", audit.text);
}

/// The provider in `oidc_provider.mjs`; it ends when dropped.
struct Provider {
    process: Child,
    url: String,
}

impl Provider {
    fn start() -> Self {
        let folder = std::env::var_os("MCP_TEST_SERVERS")
            .expect("MCP_TEST_SERVERS is not set; run the tests with scripts/mcp-servers run CMD");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/oidc_provider.mjs");
        let mut command = testkit::process::sheltered("node");
        command.arg(script).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.stderr(Stdio::null()).spawn().expect("node runs");
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port: u16 = line.trim().parse().expect("the provider prints its port");
        Self { process, url: format!("http://127.0.0.1:{port}") }
    }

    #[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
    fn service(&self, id: &str, auth: Value) -> Value {
        let mut config =
            json!({ "type": "oauth2", "token_url": format!("{}/token", self.url), "client_secret": SECRET });
        config.as_object_mut().unwrap().extend(auth.as_object().cloned().unwrap());
        json!({
            "type": "api", "id": id, "config": { "base_url": format!("{}/api", self.url), "auth": config },
            "tools": [{ "id": "who", "endpoint": "/who" }]
        })
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const SECRET: &str = "a secret: 100% /odd+?&=";

/// AP-5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signs_in_at_a_real_oauth2_provider() {
    let provider = Provider::start();
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(provider.service("basic", json!({ "client_id": "basic", "scope": "orders" }))).await;
    app.service(
        provider.service(
            "post",
            json!({ "client_id": "post", "token_endpoint_auth_method": "client_secret_post" }),
        ),
    )
    .await;
    app.service(provider.service("wrong", json!({ "client_id": "basic", "client_secret": "hunter2-wrong" })))
        .await;
    let doors = BothDoors::open(&app).await;

    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let client = testkit::Client::clone(&app);
        calls.spawn(async move { client.call_name("basic__who", json!({})).await.is(200).body });
    }
    while let Some(result) = calls.join_next().await {
        let result = result.unwrap();
        let expected = json!({ "client": "basic", "scope": "orders", "granted": 1 });
        assert_eq!(result["structuredContent"], expected, "one token for all: {result}");
    }
    let begun = std::time::Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        let result = app.call_name("basic__who", json!({})).await.is(200).body;
        assert_eq!(result["isError"], false, "renewed in time: {result}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let result = doors.call("basic__who", json!({})).await;
    let granted = result["structuredContent"]["granted"].as_i64().unwrap();
    assert!((3..=6).contains(&granted), "tokens of 2 s over 5 s: {granted}");
    let posted = app.call_name("post__who", json!({})).await.is(200).body;
    assert_eq!(posted["structuredContent"]["client"], "post", "{posted}");

    let refused = doors.call("wrong__who", json!({})).await;
    assert_eq!((&refused["isError"], &refused["error"]["service"]), (&json!(true), &json!("wrong")));
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("api://wrong") && text.contains("refused the client 'basic'"), "{text}");
    assert!(text.contains("invalid_client"), "{text}");
    for path in ["audit?limit=1000", "services/api/wrong"] {
        let reply = app.get(path).await.is(200);
        assert!(!reply.text.contains("hunter2") && !reply.text.contains(SECRET), "{}", reply.text);
    }
}

async fn shows_a_certificate_and_keeps_its_key_to_itself(backend: Backend) {
    let authority = Authority::new();
    let upstream = http::Server::start_tls(authority.server_that_asks_for_certificates()).await;
    let app = TestApp::start(backend).await;
    let client = authority.identity("client");
    let base_url = format!("https://{}", upstream.address());
    let tls = json!({ "certificate": client.certificate, "key": client.key, "ca": authority.pem() });
    app.service(service("mine", &base_url, json!({ "tls": tls }))).await;
    app.service(service("other", &base_url, json!({ "tls": { "ca": authority.pem() } }))).await;
    let doors = BothDoors::open(&app).await;
    assert_eq!(doors.call("mine__ping", json!({})).await["structuredContent"]["path"], "/ping");
    // Whether the server's refusal arrives before the request is written is chance.
    let call = json!({ "name": "other__ping", "arguments": {} });
    let rest = app.post("mcp/tools/call", call.clone()).await.is(200).body;
    assert_eq!(rest["error"]["code"], "UNAVAILABLE");
    let mcp = doors.mcp("tools/call", call).await;
    for refused in [&rest, &mcp["result"]] {
        let said = refused["content"][0]["text"].as_str().unwrap();
        assert!(refused["isError"] == true && said.contains("it wants a client certificate"), "{refused}");
    }
    let shown = app.get("services/api/mine").await.is(200);
    assert_eq!(shown.body["config"]["tls"]["key"], "***");
    assert!(!shown.text.contains("PRIVATE KEY"), "{}", shown.text);
    // Sent back with its mask, the key stays.
    let config = shown.body["config"].clone();
    app.patch("services/api/mine", json!({ "config": config })).await.is(200);
    doors.call("mine__ping", json!({})).await;
    let wrong =
        service("wrong", &base_url, json!({ "tls": { "certificate": client.certificate, "key": "x" } }));
    let refused = app.post("services", wrong).await.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(refused.errors(), [("config.tls.key", "InvalidPem")]);
}

async fn hands_on_what_the_caller_brings_but_not_what_signed_it_in(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let passed = json!({ "pass_headers": ["Authorization", "X-User", "X-API-Key"] });
    app.service(service("passing", &upstream.url(), passed)).await;
    app.service(service("closed", &upstream.url(), json!({}))).await;
    let doors = BothDoors::open(&app).await;
    let brought = [("x-user", "hunter2-user"), ("x-more", "m")];
    doors.call_with("passing__ping", json!({}), &brought).await;
    for request in upstream.requests() {
        assert_eq!((request.header("x-user"), request.header("x-more")), (Some("hunter2-user"), None));
        assert_eq!(request.header("authorization"), None, "our own key stays here");
    }
    doors.call_with("closed__ping", json!({}), &brought).await;
    assert_eq!(upstream.last().header("x-user"), None);
    let failed = doors.call_with("passing__fail", json!({}), &brought).await;
    assert!(!failed.to_string().contains("hunter2-user"), "{failed}");

    let key = app.post("keys", json!({ "name": "k", "role": "caller" })).await.is(201).string("key");
    let body = json!({ "name": "passing__ping" });
    let request = app.as_nobody().request(reqwest::Method::POST, "mcp/tools/call");
    let request = request.header("x-api-key", &key).header("authorization", "Bearer hunter2-upstream");
    testkit::client::send_json(request, &body).await.is(200);
    assert_eq!(upstream.last().header("authorization"), Some("Bearer hunter2-upstream"));
    assert_eq!(upstream.last().header("x-api-key"), None, "the key that signed in stays here");
    let audit = app.get("audit?limit=1000").await.is(200);
    assert!(!audit.text.contains("hunter2"), "{}", audit.text);
    for (name, code) in
        [("Host", "ForbiddenHeader"), ("Cookie", "ForbiddenHeader"), ("a b", "InvalidHeaderName")]
    {
        let bad = service("bad", &upstream.url(), json!({ "pass_headers": [name] }));
        let reply = app.post("services", bad).await.is_problem(422, "VALIDATION_FAILED");
        assert_eq!(reply.errors(), [("config.pass_headers[0]", code)]);
    }
}
