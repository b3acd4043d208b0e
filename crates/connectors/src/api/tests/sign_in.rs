//! Signing in with tokens, certificates and what callers bring along.

use super::*;
use fetch::http::header::{HeaderMap, HeaderName, HeaderValue};
use testkit::certificates::Authority;
use tool::ErrorKind;

fn headers(pairs: &[(&'static str, &'static str)]) -> tool::CallerHeaders {
    let pair = |(name, value): &(&'static str, &'static str)| {
        (HeaderName::from_static(name), HeaderValue::from_static(value))
    };
    let headers = HeaderMap::from_iter(pairs.iter().map(pair));
    tool::CallerHeaders::new(headers.into(), HeaderName::from_static("x-api-key"))
}

#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn oauth2(server: &Server, token_path: &str, more: Value) -> Value {
    let mut auth = json!({
        "type": "oauth2", "token_url": format!("{}{token_path}", server.url()),
        "client_id": "client", "client_secret": "s3cr3t-value"
    });
    auth.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    json!({ "auth": auth })
}

fn token_requests(server: &Server) -> Vec<testkit::http::Received> {
    server.requests().into_iter().filter(|request| request.path.starts_with("/token")).collect()
}

/// AP-5
#[tokio::test]
async fn fetches_one_token_for_many_callers_and_keeps_it() {
    let server = Server::start().await;
    let api = with_settings(
        &server,
        oauth2(&server, "/token/3600?delay=200", json!({})),
        json!({ "endpoint": "/x" }),
    );
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let api = api.clone();
        calls.spawn(async move { data(&call(&*api, json!({})).await.unwrap())["headers"].clone() });
    }
    while let Some(headers) = calls.join_next().await {
        assert_eq!(headers.unwrap()["authorization"], "Bearer token-1");
    }
    call(&*api, json!({})).await.unwrap();
    let fetches = token_requests(&server);
    assert_eq!(fetches.len(), 1);
    assert_eq!(fetches[0].method, "POST");
    assert_eq!(fetches[0].body, "grant_type=client_credentials");
    assert_eq!(fetches[0].header("content-type"), Some("application/x-www-form-urlencoded"));
    // "client:s3cr3t-value", each half percent-encoded where need be.
    assert_eq!(fetches[0].header("authorization"), Some("Basic Y2xpZW50OnMzY3IzdC12YWx1ZQ=="));
}

/// AP-5
#[tokio::test]
async fn renews_a_token_before_it_expires_and_when_it_is_refused() {
    let server = Server::start().await;
    let tool =
        json!({ "endpoint": "/flaky/1?key=k&status=401", "method": "POST", "parameters": [{ "name": "a" }] });
    let api = with_settings(&server, oauth2(&server, "/token/2", json!({})), tool);
    let output = call(&*api, json!({ "a": "1" })).await.unwrap();
    assert_eq!(data(&output)["headers"]["authorization"], "Bearer token-2", "refused once, renewed once");
    assert_eq!(server.last().json(), json!({ "a": "1" }), "the body goes along");
    call(&*api, json!({})).await.unwrap();
    assert_eq!(token_requests(&server).len(), 2, "a good token is kept");
    tokio::time::sleep(Duration::from_millis(1_600)).await;
    let output = call(&*api, json!({})).await.unwrap();
    assert_eq!(data(&output)["headers"]["authorization"], "Bearer token-3", "a quarter of its life is left");
}

/// AP-5
#[tokio::test]
async fn asks_for_a_new_token_only_once_per_call() {
    let server = Server::start().await;
    let tool = json!({ "endpoint": "/status/401" });
    let api = with_settings(&server, oauth2(&server, "/token/3600", json!({})), tool);
    let error = error_of(&*api, json!({})).await;
    assert_eq!((error.kind(), error.status()), (ErrorKind::Upstream, Some(401)));
    assert!(!format!("{error:?}").contains("token-2"), "{error:?}");
    assert_eq!(token_requests(&server).len(), 2);
}

/// AP-5
#[tokio::test]
async fn sends_scope_audience_and_secret_as_told() {
    let server = Server::start().await;
    let more = json!({ "scope": "read write", "audience": "https://api", "token_endpoint_auth_method": "client_secret_post" });
    let nested = oauth2(&server, "/token/60", more.clone());
    let mut config = nested["auth"].clone();
    config.as_object_mut().unwrap().remove("type");
    for settings in [nested, json!({ "auth_type": "oauth2", "auth_config": config })] {
        call(&*with_settings(&server, settings, json!({ "endpoint": "/x" })), json!({})).await.unwrap();
        let fetch = token_requests(&server).pop().unwrap();
        assert_eq!(fetch.header("authorization"), None);
        let expected = "grant_type=client_credentials&scope=read%20write&audience=https%3A%2F%2Fapi&client_id=client&client_secret=s3cr3t-value";
        assert_eq!(fetch.body, expected);
    }
}

/// AP-5
#[tokio::test]
async fn says_why_there_is_no_token_without_the_secret() {
    let server = Server::start().await;
    let dead = dead_address().await;
    for (path, kind, words) in [
        ("/status/401", ErrorKind::Upstream, "refused the client 'client' with HTTP 401"),
        ("/status/500", ErrorKind::Upstream, "answered HTTP 500"),
        ("/text", ErrorKind::Upstream, "holds no 'access_token'"),
        ("/big/100000", ErrorKind::Upstream, "too long"),
        ("/redirect?to=/token/60", ErrorKind::Upstream, "answered HTTP 302"),
        ("/drop", ErrorKind::Unavailable, "the connection broke"),
    ] {
        let api = with_settings(&server, oauth2(&server, path, json!({})), json!({ "endpoint": "/x" }));
        let error = error_of(&*api, json!({})).await;
        assert_eq!(error.kind(), kind, "{path}: {error:?}");
        let text = format!("{error:?} {}", error.full_message());
        assert!(text.contains("token endpoint of '127.0.0.1'") && text.contains(words), "{path}: {text}");
        assert!(!text.contains("s3cr3t-value") && !text.contains("Y2xpZW50"), "{text}");
    }
    let gone = json!({ "token_url": format!("http://{dead}/token") });
    let api = with_settings(&server, oauth2(&server, "", gone), json!({ "endpoint": "/x" }));
    let error = error_of(&*api, json!({})).await;
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
    assert!(!server.requests().iter().any(|request| request.path == "/x"), "nothing is sent without a token");
}

/// AP-5
#[tokio::test]
async fn fetches_tokens_only_where_calls_may_go() {
    let server = Server::start().await;
    let mut settings = oauth2(&server, "/token/60", json!({}));
    for host in ["127.0.0.1", "localhost", "0x7f.1"] {
        let token_url = format!("http://{host}:{}/token/60", server.address().port());
        settings["auth"]["token_url"] = token_url.into();
        settings["base_url"] = "https://api.example.com".into();
        settings["allow_private_network"] = json!(false);
        let error =
            error_of(&*with_settings(&server, settings.clone(), json!({ "endpoint": "/x" })), json!({}))
                .await;
        assert_eq!(error.kind(), ErrorKind::Denied, "{host}: {error:?}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_caller_who_leaves_does_not_take_the_others_token_along() {
    let server = Server::start().await;
    let api = with_settings(
        &server,
        oauth2(&server, "/token/3600?delay=300", json!({})),
        json!({ "endpoint": "/x" }),
    );
    let (first, second) = (api.clone(), api.clone());
    let first = tokio::spawn(async move { call(&*first, json!({})).await.map(drop) });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let second = tokio::spawn(async move { call(&*second, json!({})).await.map(drop) });
    tokio::time::sleep(Duration::from_millis(50)).await;
    first.abort();
    second.await.unwrap().unwrap();
    assert_eq!(token_requests(&server).len(), 1);
}

fn tls(certificate: &str, key: &str, ca: &str) -> Value {
    json!({ "tls": { "certificate": certificate, "key": key, "ca": ca }, "retry": { "max_attempts": 1 } })
}

#[tokio::test]
async fn shows_its_certificate_and_believes_the_authority_it_is_told() {
    let authority = Authority::new();
    let server = Server::start_tls(authority.server_that_asks_for_certificates()).await;
    let base_url = format!("https://{}", server.address());
    let at_server = |mut more: Value| {
        more["base_url"] = base_url.clone().into();
        with_settings(&server, more, json!({ "endpoint": "/secured" }))
    };
    let client = authority.identity("client");
    let mine = tls(&client.certificate, &client.key, &authority.pem());
    assert_eq!(data(&call(&*at_server(mine), json!({})).await.unwrap())["path"], "/secured");
    let stranger = Authority::new().identity("client");
    for wrong in [
        json!({ "retry": { "max_attempts": 1 } }),
        json!({ "tls": { "ca": authority.pem() }, "retry": { "max_attempts": 1 } }),
        tls(&stranger.certificate, &stranger.key, &authority.pem()),
        tls(&client.certificate, &client.key, &Authority::new().pem()),
    ] {
        let error = error_of(&*at_server(wrong), json!({})).await;
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error:?}");
    }
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn refuses_certificates_that_are_none_or_do_not_belong_together() {
    let authority = Authority::new();
    let (one, other) = (authority.identity("one"), authority.identity("other"));
    for (tls, path) in [
        (json!({ "certificate": one.certificate }), "tls.key"),
        (json!({ "key": one.key }), "tls.certificate"),
        (json!({ "certificate": "no pem", "key": one.key }), "tls.certificate"),
        (json!({ "certificate": one.certificate, "key": "no pem" }), "tls.key"),
        (json!({ "certificate": one.certificate, "key": other.key }), "tls.key"),
        (json!({ "ca": "no pem" }), "tls.ca"),
        (json!({ "ca": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----" }), "tls.ca"),
    ] {
        let error = open(json!({ "base_url": "https://api.example.com", "tls": tls })).err().unwrap();
        assert_eq!(error.problems()[0].path, path, "{error:?}");
        assert!(!format!("{error:?}").contains("PRIVATE KEY"), "{error:?}");
    }
}

async fn call_as(connector: &dyn Connector, caller: tool::CallerHeaders) -> tool::Result<Output> {
    let cx = tool::Context { headers: caller, ..context(Duration::from_secs(20)) };
    let call = Call::new("it", Map::new().into());
    match connector.call(&cx, call).await? {
        Outcome::Done(output) => Ok(output),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn hands_on_the_callers_headers_it_lists_and_no_others() {
    let server = Server::start().await;
    let service = json!({ "pass_headers": ["X-User-Token", "Accept-Language"], "default_headers": { "Accept-Language": "en" } });
    let api = with_settings(&server, service.clone(), json!({ "endpoint": "/x" }));
    let caller =
        headers(&[("x-user-token", "callers-token"), ("x-other", "o"), ("cookie", "c"), ("host", "h")]);
    call_as(&*api, caller.clone()).await.unwrap();
    let received = server.last();
    assert_eq!(received.header("x-user-token"), Some("callers-token"));
    assert_eq!(received.header("accept-language"), Some("en"), "what the caller did not send stays");
    assert_eq!((received.header("x-other"), received.header("cookie")), (None, None));
    assert_eq!(received.header("host"), Some(server.address().to_string().as_str()));
    call_as(&*api, headers(&[("accept-language", "de")])).await.unwrap();
    assert_eq!(server.last().header("accept-language"), Some("de"));
    assert_eq!(server.last().header("x-user-token"), None);
    let failing = with_settings(&server, service, json!({ "endpoint": "/status/500" }));
    let error = call_as(&*failing, caller).await.unwrap_err();
    assert!(!format!("{error:?}").contains("callers-token"), "{error:?}");
}

#[test]
fn refuses_to_hand_on_what_is_meant_for_us_or_for_the_connection() {
    let found = |more: Value| {
        let mut settings = json!({ "base_url": "https://api.example.com" });
        settings.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let error = open(settings).err().expect("it must be refused");
        error.problems().iter().map(|problem| (problem.path.clone(), problem.code)).collect::<Vec<_>>()
    };
    for name in ["Host", "Connection", "Transfer-Encoding", "Cookie", "Mcp-Session-Id", "Content-Type"] {
        assert_eq!(
            found(json!({ "pass_headers": ["X-A", name] })),
            [("pass_headers[1]".into(), "ForbiddenHeader")]
        );
    }
    assert_eq!(found(json!({ "pass_headers": ["a b"] }))[0].1, "InvalidHeaderName");
    assert_eq!(found(json!({ "pass_headers": ["X-A", "x-a"] }))[0].1, "DuplicateHeader");
    let twice = json!({ "pass_headers": ["Authorization"], "auth": { "type": "bearer", "token": "t" } });
    assert_eq!(found(twice), [("pass_headers".into(), "Ambiguous")]);
    let parameter = json!({ "pass_headers": ["X-A"], "tools": [
        { "id": "t", "endpoint": "/", "parameters": [{ "name": "X-A", "position": "header" }] }
    ] });
    assert_eq!(found(parameter), [("tools[0].parameters[0].name".into(), "ReservedParameter")]);
}

/// Refused credentials of our own name their setting and fail health; what a caller handed on does neither.
#[tokio::test]
async fn refused_credentials_fail_health_until_a_call_succeeds() {
    let server = Server::start().await;
    let settings = json!({ "base_url": server.url(), "allow_private_network": true, "pass_headers": ["x-user"],
        "auth_type": "bearer", "auth_config": { "token": "s3cr3t" }, "retry": { "max_attempts": 1 },
        "tools": [{ "id": "no", "endpoint": "/status/401" }, { "id": "ok", "endpoint": "/x" }] });
    let api = tool::Kind::of::<crate::api::Settings>().open(settings, &Default::default()).unwrap();
    let run = async |tool: &str, brought: &[(&'static str, &'static str)]| {
        let cx = context(Duration::from_secs(20));
        let cx = tool::Context { headers: headers(brought), ..cx };
        api.call(&cx, tool::Call::new(tool, Default::default())).await.map(drop)
    };
    let cx = context(Duration::from_secs(20));
    assert!(!run("no", &[("x-user", "u")]).await.unwrap_err().is_about_credentials());
    api.health(&cx).await.unwrap();
    let error = run("no", &[]).await.unwrap_err();
    assert!(!error.is_about_credentials() && error.message().contains("'auth_config'"), "{error}");
    assert!(api.health(&cx).await.unwrap_err().is_about_credentials() && api.trouble().is_some());
    run("ok", &[]).await.unwrap();
    api.health(&cx).await.unwrap();
}
