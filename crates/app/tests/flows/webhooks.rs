//! Webhooks as they are published, with the secrets that publishing shows, signed by another program.

use crate::world::{publish_over_rest, until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use chrono::Utc;
use reqwest::Method;
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;
use testkit::client::send;
use testkit::process::sheltered;
use testkit::{Backend, Reply, TestApp, on_both_databases};

on_both_databases! {
    what_a_trigger_is_told_apart_by_is_kept_as_a_digest
    a_webhook_takes_what_its_secret_proves
    a_standard_webhook_takes_nothing_old
}

/// `openssl dgst -sha256 -mac HMAC`, in base64.
fn signed(key: &[u8], message: &str) -> String {
    let hex = key.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    let mut openssl = sheltered("openssl")
        .args(["dgst", "-sha256", "-mac", "HMAC", "-macopt", &format!("hexkey:{hex}"), "-binary"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    openssl.stdin.take().unwrap().write_all(message.as_bytes()).unwrap();
    BASE64.encode(openssl.wait_with_output().unwrap().stdout)
}

async fn post(app: &TestApp, path: &str, body: &str, headers: &[(&str, String)]) -> Reply {
    let mut request = app.as_nobody().request(Method::POST, path).body(body.to_owned());
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    send(request).await
}

/// Publishes a flow with a webhook of this kind, and gives the path and the secret that are shown.
async fn published(app: &TestApp, auth: &str) -> (String, String) {
    let text = format!(
        "triggers: [{{type: webhook, name: hook, {auth}}}]\ninputs: {{body: any}}\nnodes: {{a: {{with: body.n}}}}"
    );
    let flow = auth.split([' ', ',']).nth(1).unwrap();
    let published = publish_over_rest(app, flow, &text).await;
    let hook = &published.body["webhooks"][0];
    let path = hook["path"].as_str().unwrap();
    (path[path.find("/hooks/").unwrap()..].to_owned(), hook["secret"].as_str().unwrap().to_owned())
}

const BODY: &str = r#"{"n":7}"#;

async fn is_taken(app: &TestApp, reply: Reply) {
    let run = reply.is(202).string("run_id");
    assert_eq!(until(app, &run, &["succeeded", "failed"]).await["output"], 7);
}

/// FL-28: whoever has the token, or signs the body with the secret, starts a run; nobody else does.
async fn a_webhook_takes_what_its_secret_proves(backend: Backend) {
    let app = TestApp::start(backend).await;
    let (path, secret) = published(&app, "auth: token").await;
    is_taken(&app, post(&app, &path, BODY, &[("authorization", format!("Bearer {secret}"))]).await).await;
    for wrong in [format!("Bearer {secret}x"), secret.clone(), "Bearer ".into()] {
        post(&app, &path, BODY, &[("authorization", wrong)]).await.is_problem(401, "UNAUTHENTICATED");
    }
    post(&app, &path, BODY, &[]).await.is_problem(401, "UNAUTHENTICATED");
    // As long as a key may be that REST takes.
    let with_key = |key: String| [("authorization", format!("Bearer {secret}")), ("idempotency-key", key)];
    for length in [0, 513, 60_000] {
        let refused = post(&app, &path, BODY, &with_key("k".repeat(length))).await;
        assert!(refused.is_problem(422, "VALIDATION_FAILED").text.contains("1 to 512 bytes"));
    }
    assert_eq!(app.get("runs?flow=token").await.is(200).body["total"], 1);
    is_taken(&app, post(&app, &path, BODY, &with_key("k".repeat(512))).await).await;

    let (path, secret) = published(&app, "auth: hmac, header: x-signature").await;
    let signature = signed(secret.as_bytes(), BODY);
    is_taken(&app, post(&app, &path, BODY, &[("x-signature", signature.clone())]).await).await;
    post(&app, &path, r#"{"n":8}"#, &[("x-signature", signature)]).await.is_problem(401, "UNAUTHENTICATED");
    assert_eq!(app.get("runs?flow=hmac").await.is(200).body["total"], 1);
}

/// FL-28: a signature of Standard Webhooks is too old after its tolerance, and of no use for another id or time.
async fn a_standard_webhook_takes_nothing_old(backend: Backend) {
    let app = TestApp::start(backend).await;
    let (path, secret) = published(&app, "auth: standard, tolerance: 2m").await;
    let key = BASE64.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let headers = |id: &str, seconds: i64| {
        let at = Utc::now().timestamp() + seconds;
        let signature = format!("v1,{}", signed(&key, &format!("{id}.{at}.{BODY}")));
        [
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", at.to_string()),
            ("webhook-signature", signature),
        ]
    };
    let right = headers("m-1", 0);
    is_taken(&app, post(&app, &path, BODY, &right).await).await;
    let again = post(&app, &path, BODY, &right).await.is(202);
    assert_eq!(again.body["deduplicated"], json!(true), "{}", again.text);
    is_taken(&app, post(&app, &path, BODY, &headers("m-2", -60)).await).await;
    for (at, value) in [(0, "m-3"), (1, "1700000000"), (1, "soon"), (2, "v1,AAAA"), (2, "v2,x")] {
        let mut wrong = headers("m-4", 0);
        wrong[at].1 = value.to_owned();
        post(&app, &path, BODY, &wrong).await.is_problem(401, "UNAUTHENTICATED");
    }
    for seconds in [-300, 300] {
        post(&app, &path, BODY, &headers("m-5", seconds)).await.is_problem(401, "UNAUTHENTICATED");
    }
    post(&app, &path, BODY, &right[..2]).await.is_problem(401, "UNAUTHENTICATED");
    assert_eq!(app.get("runs?flow=standard").await.is(200).body["total"], 2);
    // A secret that was changed proves nothing any more.
    let rotated = app.post("flows/standard/triggers/hook/rotate-secret", json!({})).await.is(200);
    assert_ne!(rotated.string("secret"), secret);
    post(&app, &path, BODY, &headers("m-6", 0)).await.is_problem(401, "UNAUTHENTICATED");
}

/// FL-28, FL-32: what `dedupe` gives may be what nobody is to read; it is kept in a form that says nothing.
async fn what_a_trigger_is_told_apart_by_is_kept_as_a_digest(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = "triggers: [{type: webhook, name: hook, dedupe: trigger.body.card}]\nnodes: {a: {with: '1'}}";
    publish_over_rest(&app, "paid", text).await;
    let fire = async |card: &str| {
        let event = json!({ "event": { "body": { "card": card } } });
        app.post("flows/paid/triggers/hook/fire", event).await.is(202).string("id")
    };
    let (one, same, other) = (fire("4111-1111").await, fire("4111-1111").await, fire("4222-2222").await);
    assert!(one == same && one != other);
    let mut connection = app.database().connect().await;
    let keys = sqlx::query("SELECT key FROM run_dedupe").fetch_all(&mut connection).await.unwrap();
    let keys: Vec<String> = keys.iter().map(|row| sqlx::Row::get(row, 0)).collect();
    assert_eq!(keys.len(), 2, "{keys:?}");
    assert!(keys.iter().all(|key| key.starts_with("webhook/hook/") && !key.contains("4111")), "{keys:?}");
}
