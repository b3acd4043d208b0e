//! Requests that must never leave: to our own network, or to where a redirect points.

use super::*;
use tool::ErrorKind;

fn at(base_url: &str, more: &Value) -> Arc<dyn Connector> {
    let mut settings = json!({ "base_url": base_url, "tools": [{ "id": "it", "endpoint": "/x" }] });
    for (name, value) in more.as_object().cloned().unwrap_or_default() {
        settings[name] = value;
    }
    open(settings).unwrap()
}

#[tokio::test]
async fn refuses_loopback_however_it_is_written() {
    let server = Server::start().await;
    let port = server.address().port();
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "localhost",
        "LOCALHOST",
        "[::ffff:127.0.0.1]",
        "[::1]",
        "0.0.0.0",
    ] {
        let api = at(&format!("http://{host}:{port}"), &json!({}));
        for error in [
            error_of(&*api, json!({})).await,
            api.health(&context(Duration::from_secs(5))).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Denied, "{host}: {error:?}");
            assert!(error.to_string().contains("\"allow_private_network\": true"), "{error}");
            assert!(!error.is_retryable());
        }
    }
    assert_eq!((server.requests().len(), server.connections()), (0, 0));
}

#[tokio::test]
async fn lets_a_service_or_the_process_open_its_network() {
    let server = Server::start().await;
    let by_name = format!("http://localhost:{}", server.address().port());
    for more in
        [json!({ "allow_private_network": true }), json!({ "allow_private_network": ["127.0.0.0/8"] })]
    {
        call(&*at(&server.url(), &more), json!({})).await.unwrap();
        call(&*at(&by_name, &more), json!({})).await.unwrap();
    }
    let elsewhere = json!({ "allow_private_network": ["10.0.0.0/8"] });
    assert_eq!(error_of(&*at(&server.url(), &elsewhere), json!({})).await.kind(), ErrorKind::Denied);
    let settings = json!({ "base_url": server.url(), "tools": [{ "id": "it", "endpoint": "/x" }] });
    let env = Env { allow_private_network: true, ..Env::default() };
    call(&*Kind::of::<Settings>().open(settings, &env).unwrap(), json!({})).await.unwrap();
}

#[tokio::test]
async fn follows_redirects_at_the_same_place() {
    let server = Server::start().await;
    let auth = json!({ "auth": { "type": "bearer", "token": "t" } });
    let parameters = json!([{ "name": "a" }]);
    for (status, method, expected) in [
        ("302", "GET", ("GET", "")),
        ("302", "POST", ("GET", "")),
        ("303", "PUT", ("GET", "")),
        ("307", "POST", ("POST", "{\"a\":\"1\"}")),
        ("308", "PUT", ("PUT", "{\"a\":\"1\"}")),
    ] {
        let endpoint = format!("/redirect?to=/target&status={status}");
        let tool = json!({ "endpoint": endpoint, "method": method, "parameters": parameters });
        call(&*with_settings(&server, auth.clone(), tool), json!({ "a": "1" })).await.unwrap();
        let received = server.last();
        assert_eq!(received.path, "/target");
        assert_eq!((received.method.as_str(), received.body.as_str()), expected, "{status} {method}");
        assert_eq!(received.header("authorization"), Some("Bearer t"));
    }
}

#[tokio::test]
async fn does_not_follow_redirects_to_another_place() {
    let server = Server::start().await;
    let other = Server::start().await;
    for target in [
        format!("{}/stolen", other.url()),
        format!("http://localhost:{}/", server.address().port()),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "//example.com/".to_owned(),
        format!("https://127.0.0.1:{}/", server.address().port()),
        "file:///etc/passwd".to_owned(),
        "http://[".to_owned(),
    ] {
        let escaped = percent_encoding::utf8_percent_encode(&target, percent_encoding::NON_ALPHANUMERIC);
        let api = with_tool(&server, json!({ "endpoint": format!("/redirect?to={escaped}") }));
        let error = error_of(&*api, json!({})).await;
        assert_eq!(error.kind(), ErrorKind::Upstream, "{target}: {error:?}");
        assert!(error.to_string().contains("redirected to"), "{target}: {error}");
    }
    assert_eq!((other.connections(), server.connections()), (0, 7));
}

#[tokio::test]
async fn stops_following_in_circles() {
    let server = Server::start().await;
    let api = with_tool(&server, json!({ "endpoint": "/redirect?to=/redirect%3Fto%3D/redirect" }));
    call(&*api, json!({})).await.unwrap();
    let api = with_tool(&server, json!({ "endpoint": "/redirect?to=" }));
    let error = error_of(&*api, json!({})).await;
    assert!(error.to_string().contains("more than 5 times"), "{error}");
}

#[tokio::test]
async fn follows_to_another_place_when_told_without_anything_secret() {
    let server = Server::start().await;
    let other = Server::start().await;
    let service = json!({
        "redirects": "any", "default_headers": { "Accept": "a/b", "X-Internal": "i" },
        "auth": { "type": "bearer", "token": "t" }, "retry": { "max_attempts": 1 }
    });
    let to = |url: &str| {
        format!(
            "/redirect?to={}",
            percent_encoding::utf8_percent_encode(url, percent_encoding::NON_ALPHANUMERIC)
        )
    };
    let target = to(&format!("{}/elsewhere", other.url()));
    call(&*with_settings(&server, service.clone(), json!({ "endpoint": target })), json!({})).await.unwrap();
    let received = other.last();
    assert_eq!((received.path.as_str(), received.header("accept")), ("/elsewhere", Some("a/b")));
    assert_eq!((received.header("authorization"), received.header("x-internal")), (None, None));
    // A body, a forbidden address and another protocol are not followed.
    let post = json!({ "endpoint": format!("{target}&status=307"), "method": "POST", "parameters": [{ "name": "a" }] });
    let error = error_of(&*with_settings(&server, service.clone(), post), json!({ "a": "1" })).await;
    assert!(error.to_string().contains("which is not followed"), "{error}");
    for (url, kind) in [
        ("http://169.254.169.254/latest/meta-data", ErrorKind::Denied),
        ("http://localhost:1/", ErrorKind::Denied),
        ("http://[::1]/", ErrorKind::Denied),
        ("file:///etc/passwd", ErrorKind::Upstream),
    ] {
        // 127.0.0.1 alone is allowed; `localhost` may also be ::1, and port 1 is closed.
        let error =
            error_of(&*with_settings(&server, service.clone(), json!({ "endpoint": to(url) })), json!({}))
                .await;
        let is_closed = url.contains("localhost") && error.kind() == ErrorKind::Unavailable;
        assert!(error.kind() == kind || is_closed, "{url}: {error:?}");
    }
    assert_eq!(other.requests().len(), 1);
}

#[tokio::test]
async fn follows_no_redirect_when_told() {
    let server = Server::start().await;
    let api =
        with_settings(&server, json!({ "redirects": "none" }), json!({ "endpoint": "/redirect?to=/target" }));
    let error = error_of(&*api, json!({})).await;
    assert_eq!(error.status(), Some(302));
    assert_eq!(server.requests().len(), 1);
}
