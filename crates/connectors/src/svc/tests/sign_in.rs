//! How the connector signs in to instances.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::collections::HashSet;
use testkit::certificates::Authority;
use tool::{Caller, Context, Identity, KeyId};

fn jwt(more: &Value) -> Value {
    let auth =
        json!({ "type": "jwt", "algorithm": "HS256", "key": "s3cr3t-of-the-service", "issuer": "gateway" });
    json!({ "auth": with(auth, more) })
}

fn tokens(server: &Server) -> Vec<String> {
    let token = |received: testkit::http::Received| received.header("authorization").unwrap().to_owned();
    server.requests().into_iter().map(token).collect()
}

/// SV-13: one token for many callers; another in time; and one more when it is refused, with which the call is repeated.
#[tokio::test]
async fn mints_one_token_for_many_callers_and_another_in_time() {
    let servers = [Server::start().await, Server::start().await];
    let discovery = static_of(&servers.each_ref());
    let connector = open(with(settings_of(discovery.clone()), &jwt(&json!({ "ttl_s": 2 })))).unwrap();
    let calls = futures::future::join_all((0..40).map(|_| call(&*connector))).await;
    assert!(calls.iter().all(Result::is_ok));
    let sent: HashSet<_> = servers.iter().flat_map(tokens).collect();
    assert_eq!(sent.len(), 1, "{sent:?}");
    // Four fifths of two seconds.
    tokio::time::sleep(Duration::from_millis(1700)).await;
    call(&*connector).await.unwrap();
    call(&*connector).await.unwrap();
    let sent: HashSet<_> = servers.iter().flat_map(tokens).collect();
    assert_eq!(sent.len(), 2, "{sent:?}");
}

/// SV-13.
#[tokio::test]
async fn repeats_a_call_once_with_another_token_when_the_first_is_refused() {
    let server = Server::start().await;
    let refused_once =
        json!({ "tools": [{ "id": "it", "endpoint": "/flaky/1?key=a&status=401", "method": "POST" }] });
    let settings = with(with(settings_of(static_of(&[&server])), &jwt(&json!({}))), &refused_once);
    call(&*open(settings.clone()).unwrap()).await.unwrap();
    let sent = tokens(&server);
    assert!(sent.len() == 2 && sent[0] != sent[1], "{sent:?}");
    let always = json!({ "tools": [{ "id": "it", "endpoint": "/status/401", "method": "POST" }] });
    let error = error_of(&*open(with(settings, &always)).unwrap()).await;
    assert_eq!((error.status(), server.requests().len()), (Some(401), 4));
}

/// Refused credentials name their setting, and health fails until a call succeeds.
#[tokio::test]
async fn refused_credentials_fail_health_until_a_call_succeeds() {
    let server = Server::start().await;
    let tools =
        json!({ "tools": [{ "id": "it", "endpoint": "/status/401" }, { "id": "ok", "endpoint": "/x" }] });
    let plain = with(settings_of(static_of(&[&server])), &tools);
    let signed = with(plain.clone(), &json!({ "auth": { "type": "bearer", "token": "s3cr3t" } }));
    let connector = open(signed.clone()).unwrap();
    connector.health(&context(SOON)).await.unwrap();
    let error = error_of(&*connector).await;
    assert!(!error.is_about_credentials() && error.message().contains("credentials in 'auth'"), "{error}");
    let health = connector.health(&context(SOON)).await.unwrap_err();
    assert!(health.is_about_credentials() && health.message().contains("'auth'"), "{health}");
    assert!(connector.trouble().unwrap().contains("HTTP 401"));
    call_with(&*connector, "ok", json!({})).await.unwrap();
    connector.health(&context(SOON)).await.unwrap();
    assert_eq!(connector.trouble(), None);
    // Nobody's own credentials were refused.
    let connector = open(plain).unwrap();
    assert!(!error_of(&*connector).await.is_about_credentials());
    connector.health(&context(SOON)).await.unwrap();
}

/// SV-2: tokens say for whom a call is, where that is wanted.
#[tokio::test]
async fn names_the_caller_in_the_token() {
    let server = Server::start().await;
    let settings = with(settings_of(static_of(&[&server])), &jwt(&json!({ "caller_claims": true })));
    let connector = open(settings).unwrap();
    let caller = Caller { identity: Identity::Key("k1".parse::<KeyId>().unwrap()), ..Caller::local() };
    let cx = Context { caller: Arc::new(caller), ..context(Duration::from_secs(20)) };
    bind_and_call(&*connector, &cx, conformance::call("it", Map::new())).await.unwrap();
    let token = tokens(&server).remove(0);
    let claims = token.split('.').nth(1).unwrap();
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
    assert_eq!((&claims["iss"], &claims["caller"]), (&json!("gateway"), &json!("key:k1")));
    assert_eq!(claims["tenant_id"], json!(cx.tenant.to_string()));
}

/// SV-2: instances that ask for a certificate get ours, and are known by the name in theirs.
#[tokio::test]
async fn shows_its_certificate_and_knows_instances_by_their_name() {
    let authority = Authority::new();
    let client = authority.identity("gateway.internal");
    let server = Server::start_tls(authority.server_that_asks_for_certificates()).await;
    let secure = |tls: Value| {
        let settings = settings_of(static_of(&[&server]));
        open(with(settings, &json!({ "scheme": "https", "tls": tls }))).unwrap()
    };
    let ours = json!({ "certificate": client.certificate, "key": client.key, "ca": authority.pem() });
    call(&*secure(ours.clone())).await.unwrap();
    assert_eq!(server.last().header("host"), Some(server.address().to_string().as_str()));
    let error = error_of(&*secure(json!({ "ca": authority.pem() }))).await;
    assert_eq!(error.kind(), tool::ErrorKind::Unavailable, "{error:?}");
    let error = error_of(&*secure(with(ours, &json!({ "server_name": "other.internal" })))).await;
    assert_eq!(error.kind(), tool::ErrorKind::Unavailable, "another name: {error:?}");
    assert_eq!(server.requests().len(), 1);
    // The certificate is for an address; the instance is found by a name.
    let discovery =
        json!({ "type": "static", "endpoints": [format!("localhost:{}", server.address().port())] });
    let more = json!({
        "scheme": "https", "allow_private_network": true,
        "tls": { "certificate": client.certificate, "key": client.key, "ca": authority.pem(), "server_name": "127.0.0.1" }
    });
    call(&*open(with(settings_of(discovery), &more)).unwrap()).await.unwrap();
    assert_eq!(server.last().header("host"), Some("127.0.0.1"));
}
