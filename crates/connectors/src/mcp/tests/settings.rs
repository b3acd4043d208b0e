//! What may be written, and that everything wrong with it is said at once.

use super::*;

fn problems(settings: Value) -> Vec<(String, &'static str)> {
    let Err(error) = open(settings) else { return Vec::new() };
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    error.problems().iter().map(|problem| (problem.path.clone(), problem.code)).collect()
}

#[test]
fn takes_every_way_to_write_a_server() {
    for settings in [
        json!({ "command": "npx", "args": ["-y", "x"], "env": { "A": "b" }, "cwd": "/" }),
        json!({ "type": "stdio", "command": "npx" }),
        json!({ "url": "https://a.example/mcp" }),
        json!({ "type": "streamable-http", "httpUrl": "https://a.example/mcp" }),
        json!({ "type": "streamableHttp", "serverUrl": "https://a.example/mcp?key=1" }),
        json!({ "type": "sse", "url": "https://a.example/sse", "reconnectInterval": 1000, "maxRetries": 5 }),
        json!({ "type": "ws", "url": "wss://a.example/ws" }),
        json!({ "url": "ws://a.example/ws", "auth_type": "none" }),
        json!({ "url": "https://a.example", "auth_type": "apikey", "api_key": "k" }),
    ] {
        assert_eq!(problems(settings.clone()), [], "{settings}");
    }
}

#[test]
fn says_everything_that_is_wrong_at_once() {
    assert_eq!(problems(json!({})), [("command".to_owned(), "Required")]);
    assert_eq!(problems(json!({ "command": "a", "url": "http://b" })), [("url".to_owned(), "Ambiguous")]);
    let found = problems(json!({
        "url": "ftp://a", "env": { "A": "b" }, "headers": { "Host": "x", "a b": "c", "D": "e\nf" },
        "allow_private_network": ["ten"], "auth_type": "bearer"
    }));
    let expected = [
        ("allow_private_network[0]", "InvalidRange"),
        ("env", "Unused"),
        ("headers.D", "InvalidHeaderValue"),
        ("headers.Host", "ForbiddenHeader"),
        ("headers.a b", "InvalidHeaderName"),
        ("api_key", "Required"),
        ("url", "InvalidUrl"),
    ];
    assert_eq!(found, expected.map(|(path, code)| (path.to_owned(), code)));
    let found = problems(json!({ "command": " ", "type": "http", "api_key": "k", "env": { "a=b": "" } }));
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(problems(json!({ "type": "ws", "url": "http://a" })).len(), 1);
}

#[test]
fn only_a_command_is_privileged() {
    let kind = Kind::of::<Settings>();
    assert!(kind.privileged(&json!({ "command": "rm" })).is_some());
    assert!(kind.privileged(&json!({ "url": "https://a.example/mcp" })).is_none());
    assert!(kind.privileged(&json!({ "command": null, "url": "https://a.example/mcp" })).is_none());
}

#[test]
fn takes_certificates_for_a_url_that_are_whole() {
    let client = testkit::certificates::Authority::new().identity("client");
    let at_url = |tls: Value| problems(json!({ "url": "https://a.example/mcp", "tls": tls }));
    assert_eq!(at_url(json!({ "certificate": client.certificate, "key": client.key })), []);
    assert_eq!(at_url(json!({ "certificate": client.certificate })), [("tls.key".to_owned(), "Required")]);
    assert_eq!(at_url(json!({ "ca": "no pem" })), [("tls.ca".to_owned(), "InvalidPem")]);
    let local = json!({ "command": "npx", "tls": {} });
    assert_eq!(problems(local), [("tls".to_owned(), "Unused")]);
}
