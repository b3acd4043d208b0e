//! Signing in with tokens that we sign ourselves.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use testkit::certificates::Authority;
use tool::{Caller, Context, Identity, KeyId};

const KEY: &str = "s3cr3t-value";

#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn jwt(more: Value) -> Value {
    let mut auth = json!({ "type": "jwt", "algorithm": "HS256", "key": KEY });
    auth.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    json!({ "auth": auth })
}

/// The header and the claims of the token that a request carried.
fn parts(received: &testkit::http::Received) -> (Value, Value) {
    let token = received.header("authorization").unwrap().strip_prefix("Bearer ").unwrap();
    let parts: Vec<_> = token.split('.').collect();
    assert_eq!(parts.len(), 3, "{token}");
    let read = |part: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
    assert!(!URL_SAFE_NO_PAD.decode(parts[2]).unwrap().is_empty());
    (read(parts[0]), read(parts[1]))
}

#[tokio::test]
async fn sends_a_token_that_says_what_it_is_told_to() {
    let server = Server::start().await;
    let more = json!({ "key_id": "k1", "issuer": "gateway", "audience": "loyalty", "ttl_s": 60,
                       "claims": { "sub": "service", "roles": ["a"] } });
    call(&*with_settings(&server, jwt(more), json!({ "endpoint": "/x" })), json!({})).await.unwrap();
    let (header, claims) = parts(&server.last());
    assert_eq!(header, json!({ "alg": "HS256", "typ": "JWT", "kid": "k1" }));
    let named = ["iss", "aud", "sub"].map(|name| claims[name].as_str().unwrap());
    assert_eq!((named, &claims["roles"]), (["gateway", "loyalty", "service"], &json!(["a"])));
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 60);
    assert_eq!(claims.get("tenant_id"), None, "callers are named only where that is wanted");
    let client = Authority::new().identity("client");
    let elliptic = jwt(json!({ "algorithm": "ES256", "key": client.key }));
    call(&*with_settings(&server, elliptic, json!({ "endpoint": "/x" })), json!({})).await.unwrap();
    assert_eq!(parts(&server.last()).0, json!({ "alg": "ES256", "typ": "JWT" }));
}

#[tokio::test]
async fn keeps_a_token_and_mints_another_before_it_ends_or_when_it_is_refused() {
    let server = Server::start().await;
    let api = with_settings(&server, jwt(json!({ "ttl_s": 1 })), json!({ "endpoint": "/x" }));
    let mut tokens = Vec::new();
    for pause in [0, 0, 900] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        call(&*api, json!({})).await.unwrap();
        tokens.push(server.last().header("authorization").unwrap().to_owned());
    }
    assert!(tokens[0] == tokens[1] && tokens[1] != tokens[2], "{tokens:?}");
    let flaky = json!({ "endpoint": "/flaky/1?key=k&status=401", "method": "POST" });
    call(&*with_settings(&server, jwt(json!({})), flaky), json!({})).await.unwrap();
    let sent = server.requests();
    let [.., refused, repeated] = &sent[..] else { panic!("there were calls") };
    assert_ne!(refused.header("authorization"), repeated.header("authorization"));
    let hopeless = json!({ "endpoint": "/status/401" });
    let before = server.requests().len();
    let error = error_of(&*with_settings(&server, jwt(json!({})), hopeless), json!({})).await;
    assert_eq!(server.requests().len() - before, 2, "repeated once");
    let token = server.last().header("authorization").unwrap()["Bearer ".len()..].to_owned();
    let text = format!("{error:?} {}", error.full_message());
    assert!(!text.contains(KEY) && !text.contains(&token), "{text}");
}

async fn call_as(connector: &dyn Connector, key: &str) {
    let caller = Caller { identity: Identity::Key(key.parse::<KeyId>().unwrap()), ..Caller::local() };
    let cx = Context { caller: Arc::new(caller), ..context(Duration::from_secs(20)) };
    bind_and_call(connector, &cx, conformance::call("it", Map::new())).await.unwrap();
}

#[tokio::test]
async fn names_each_caller_to_the_service_and_no_other() {
    let server = Server::start().await;
    let api = with_settings(&server, jwt(json!({ "caller_claims": true })), json!({ "endpoint": "/x" }));
    for key in ["k1", "k2", "k1"] {
        call_as(&*api, key).await;
        let (_, claims) = parts(&server.last());
        assert_eq!(claims["caller"], format!("key:{key}"));
        assert_eq!(claims["tenant_id"], tool::TenantId::default_tenant().as_str());
    }
    let sent: Vec<_> = server.requests().iter().map(|one| parts(one).1["jti"].clone()).collect();
    assert!(sent[0] == sent[2] && sent[0] != sent[1], "{sent:?}");
}

#[test]
fn refuses_settings_that_make_no_token_without_repeating_the_key() {
    let pem = Authority::new().identity("client").key;
    for (more, path, code) in [
        (json!({ "algorithm": "none" }), "auth.algorithm", "NotAllowed"),
        (json!({ "algorithm": null }), "auth.algorithm", "Required"),
        (json!({ "key": "" }), "auth.key", "Required"),
        (json!({ "key": pem }), "auth.key", "InvalidKey"),
        (json!({ "algorithm": "RS256" }), "auth.key", "InvalidKey"),
        (json!({ "algorithm": "RS256", "key": pem }), "auth.key", "InvalidKey"),
        (json!({ "algorithm": "EdDSA", "key": pem }), "auth.key", "InvalidKey"),
        (json!({ "ttl_s": 0 }), "auth.ttl_s", "TooSmall"),
        (json!({ "ttl_s": 100_000 }), "auth.ttl_s", "TooLarge"),
        (json!({ "claims": { "exp": 1 } }), "auth.claims.exp", "Ambiguous"),
        (json!({ "issuer": "a", "claims": { "iss": "b" } }), "auth.claims.iss", "Ambiguous"),
        (json!({ "caller_claims": true, "claims": { "caller": "b" } }), "auth.claims.caller", "Ambiguous"),
        (json!({ "scope": "a" }), "auth.scope", "Unused"),
        (json!({ "type": "bearer", "token": "t" }), "auth.algorithm", "Unused"),
    ] {
        let mut settings = jwt(more.clone());
        settings["base_url"] = "https://api.example.com".into();
        let error = open(settings).err().unwrap_or_else(|| panic!("{more} must be refused"));
        let found: Vec<_> = error.problems().iter().map(|one| (one.path.as_str(), one.code)).collect();
        assert!(found.contains(&(path, code)), "{more}: {found:?}");
        let text = format!("{error:?}");
        assert!(!text.contains(KEY) && !text.contains("PRIVATE KEY"), "{text}");
    }
}
