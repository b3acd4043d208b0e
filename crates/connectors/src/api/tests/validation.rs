//! What is refused when a service is saved, and in which words.

use super::*;
use tool::{ErrorKind, Problem};

fn problems(settings: Value) -> Vec<Problem> {
    let error = open(settings).err().expect("the settings must be refused");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    error.problems().to_vec()
}

/// Path and code of every problem of a service with this one tool.
#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
pub(super) fn tool_problems(tool: Value) -> Vec<(String, &'static str)> {
    let settings = json!({ "base_url": "https://api.example.com", "tools": [tool] });
    problems(settings).into_iter().map(|problem| (problem.path, problem.code)).collect()
}

fn is_fine(settings: Value) -> bool {
    open(settings).is_ok()
}

/// HT-1.3
#[test]
fn rejects_unknown_positions_naming_the_parameter_and_the_allowed_values() {
    let found = problems(json!({ "base_url": "https://api.example.com", "tools": [{
        "id": "a", "endpoint": "/a",
        "parameters": [{ "name": "x" }, { "name": "userId", "position": "cookie" }]
    }] }));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (found[0].path.as_str(), found[0].code),
        ("tools[0].parameters[1].position", "InvalidPosition")
    );
    let message = "parameter 'userId' has the position 'cookie'; \
                   allowed are path, query, header, body, form, whole_body";
    assert_eq!(found[0].message, message);
}

/// HT-2.3, HT-7.1
#[test]
fn rejects_a_placeholder_without_a_path_parameter() {
    let endpoint = "tools[0].endpoint".to_owned();
    assert_eq!(
        tool_problems(json!({ "id": "a", "endpoint": "/users/{userId}/{other}" })),
        [(endpoint.clone(), "PathParameterMissing"), (endpoint, "PathParameterMissing")]
    );
    let parameters = json!([{ "name": "userId", "required": true, "position": "query" }]);
    assert_eq!(
        tool_problems(json!({ "id": "a", "endpoint": "/users/{userId}", "parameters": parameters })),
        [("tools[0].parameters[0].position".to_owned(), "ParameterPositionMismatch")]
    );
}

/// HT-2.4, HT-7.1
#[test]
fn rejects_a_path_parameter_without_a_placeholder_or_a_sure_value() {
    let tool = |parameter: Value| json!({ "id": "a", "endpoint": "/u/{a}", "parameters": [parameter] });
    let parameters = json!([
        { "name": "a", "required": true, "position": "path" },
        { "name": "b", "required": true, "position": "path" }
    ]);
    assert_eq!(
        tool_problems(json!({ "id": "a", "endpoint": "/u/{a}", "parameters": parameters })),
        [("tools[0].parameters[1].position".to_owned(), "PathParameterInvalid")]
    );
    assert_eq!(
        tool_problems(tool(json!({ "name": "a", "position": "path" }))),
        [("tools[0].parameters[0].required".to_owned(), "PathParameterInvalid")]
    );
    let object = json!({ "name": "a", "position": "path", "required": true, "parameter_type": "Object" });
    assert_eq!(
        tool_problems(tool(object)),
        [("tools[0].parameters[0].parameter_type".to_owned(), "PathParameterInvalid")]
    );
    let with_default = tool(json!({ "name": "a", "position": "path", "default_value": "x" }));
    assert!(is_fine(json!({ "base_url": "https://api.example.com", "tools": [with_default] })));
}

/// HT-7.4
#[test]
fn rejects_header_parameters_that_are_no_header_names_or_belong_to_the_connection() {
    for (name, code) in [
        ("X Y", "InvalidHeaderName"),
        ("X:Y", "InvalidHeaderName"),
        ("Ü", "InvalidHeaderName"),
        ("a\r\nb", "InvalidName"),
        ("Host", "ForbiddenHeader"),
        ("content-length", "ForbiddenHeader"),
        ("Transfer-Encoding", "ForbiddenHeader"),
        ("Connection", "ForbiddenHeader"),
    ] {
        let parameters = json!([{ "name": name, "position": "header" }]);
        let found = tool_problems(json!({ "id": "a", "endpoint": "/a", "parameters": parameters }));
        assert_eq!(found[0], ("tools[0].parameters[0].name".to_owned(), code), "{name:?}");
    }
}

/// HT-7.5
#[test]
fn reports_every_problem_at_once() {
    let found = problems(json!({
        "base_url": "ftp://example.com",
        "auth_type": "bearer",
        "default_headers": { "X-A": "a\nb", "Host": "x" },
        "timeout_ms": 0,
        "retry": { "initial_delay_ms": 5, "max_delay_ms": 1 },
        "allow_private_network": ["ten"],
        "tools": [
            { "id": "a/b", "endpoint": "/x/{y", "method": "FETCH", "parameters": [
                { "name": "n", "parameter_type": "Integer", "default_value": "1", "enum_values": [1, "2"] },
                { "name": "n", "position": "cookie" },
                { "name": "n", "parameter_type": "Text" }
            ] },
            { "id": "c", "endpoint": "/c", "headers": { "bad name": "" } },
            { "id": "c", "endpoint": "https://other.example.com/c", "parameters": [{ "name": "n" }, { "name": "n" }] }
        ]
    }));
    let found: Vec<_> = found.iter().map(|problem| (problem.path.as_str(), problem.code)).collect();
    for expected in [
        ("base_url", "InvalidUrl"),
        ("auth_config.token", "Required"),
        ("default_headers.X-A", "InvalidHeaderValue"),
        ("default_headers.Host", "ForbiddenHeader"),
        ("timeout_ms", "TooSmall"),
        ("retry.initial_delay_ms", "TooLarge"),
        ("allow_private_network[0]", "InvalidRange"),
        ("tools[0].id", "InvalidId"),
        ("tools[0].endpoint", "InvalidEndpoint"),
        ("tools[0].method", "InvalidMethod"),
        ("tools[0].parameters[0].default_value", "WrongType"),
        ("tools[0].parameters[0].enum_values[1]", "WrongType"),
        ("tools[0].parameters[1].position", "InvalidPosition"),
        ("tools[0].parameters[1].name", "DuplicateParameter"),
        ("tools[0].parameters[2].parameter_type", "InvalidType"),
        ("tools[0].parameters[2].name", "DuplicateParameter"),
        ("tools[1].headers.bad name", "InvalidHeaderName"),
        ("tools[2].id", "DuplicateTool"),
        ("tools[2].endpoint", "InvalidEndpoint"),
        ("tools[2].parameters[1].name", "DuplicateParameter"),
    ] {
        assert_eq!(found.iter().filter(|one| **one == expected).count(), 1, "{expected:?} in {found:?}");
    }
    assert_eq!(found.len(), 20, "{found:?}");
}

#[test]
fn rejects_addresses_that_are_more_or_less_than_a_base() {
    for base_url in [
        "",
        "example.com",
        "/path",
        "http://",
        "http:///x",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://user:pass@example.com",
        "http://user@example.com",
        "http://example.com/#x",
        "http://example.com/?a=1",
        "http://exa mple.com",
        "http://example.com\\@evil.com",
        "http://example.com:99999",
        "http://[::1",
        "http://example.com/\n",
    ] {
        let found = problems(json!({ "base_url": base_url }));
        assert_eq!((found[0].path.as_str(), found[0].code), ("base_url", "InvalidUrl"), "{base_url}");
    }
}

#[test]
fn rejects_endpoints_that_leave_the_base() {
    for endpoint in [
        "//evil.com/x",
        "http://evil.com",
        "https:evil",
        "/a/../b",
        "/a/%2e%2E/b",
        "/./a",
        "/a b",
        "/a#b",
        "\\\\evil",
        "/a\n",
        "/{}",
        "/{a",
        "/a}",
        "/{a{b}}",
        "/a?b={c}",
    ] {
        let found = tool_problems(json!({ "id": "a", "endpoint": endpoint }));
        assert_eq!(found, [("tools[0].endpoint".to_owned(), "InvalidEndpoint")], "{endpoint}");
    }
    for endpoint in ["", "a", "/", "/a:b", "/a/b.json?x=1", "/é", "/a..b"] {
        let tools = json!([{ "id": "a", "endpoint": endpoint }]);
        assert!(is_fine(json!({ "base_url": "https://api.example.com", "tools": tools })), "{endpoint}");
    }
}

#[test]
fn rejects_sign_ins_that_are_incomplete_or_contradict_themselves() {
    for (more, path, code) in [
        (json!({ "auth_type": "apikey" }), "auth_config.value", "Required"),
        (json!({ "auth_type": "bearer", "auth_config": { "token": "" } }), "auth_config.token", "Required"),
        (json!({ "auth": { "type": "basic", "password": "x" } }), "auth.username", "Required"),
        (json!({ "auth_type": "none", "auth_config": { "token": "x" } }), "auth_config.token", "Unused"),
        (json!({ "auth_type": "none", "auth": { "type": "none" } }), "auth", "Ambiguous"),
        (
            json!({ "auth_type": "none", "auth_config": { "type": "bearer" } }),
            "auth_config.type",
            "Ambiguous",
        ),
        (
            json!({ "auth_type": "bearer", "auth_config": { "token": "a\nb" } }),
            "auth_config.token",
            "InvalidHeaderValue",
        ),
        (
            json!({ "auth_type": "apikey", "auth_config": { "header": "a b", "value": "x" } }),
            "auth_config.header",
            "InvalidHeaderName",
        ),
        (json!({ "auth_type": "kerberos" }), "auth_type", "NotAllowed"),
        (json!({ "auth_type": "oauth2" }), "auth_config.token_url", "Required"),
        (
            json!({ "auth": { "type": "oauth2", "token_url": "ftp://x", "client_id": "c", "client_secret": "s" } }),
            "auth.token_url",
            "InvalidUrl",
        ),
        (json!({ "auth": { "type": "bearer", "token": "t", "scope": "x" } }), "auth.scope", "Unused"),
        (json!({ "auth": { "type": "bearer", "tokn": "x" } }), "auth.tokn", "Unknown"),
    ] {
        let mut settings = more.clone();
        settings["base_url"] = "https://api.example.com".into();
        let found = problems(settings);
        assert_eq!((found[0].path.as_str(), found[0].code), (path, code), "{more}");
    }
}

/// HT-7.5
#[test]
fn checks_the_rest_also_behind_an_unknown_word() {
    let found = problems(json!({
        "base_url": "https://api.example.com", "redirects": "never", "tls": { "ca": "x" },
        "auth": { "type": "kerberos", "token": "t" },
        "tools": [{ "id": "t", "endpoint": "/{a}", "method": "POST", "form_encoding": "brew",
            "parameters": [{ "name": "f", "position": "form", "file": { "encoding": "hex" } }] }]
    }));
    let mut found: Vec<_> = found.iter().map(|problem| (problem.path.as_str(), problem.code)).collect();
    found.sort_unstable();
    let expected = [
        ("auth.type", "NotAllowed"),
        ("redirects", "NotAllowed"),
        ("tls.ca", "InvalidPem"),
        ("tools[0].endpoint", "PathParameterMissing"),
        ("tools[0].form_encoding", "NotAllowed"),
        ("tools[0].parameters[0].file.encoding", "NotAllowed"),
    ];
    assert_eq!(found, expected);
}

/// HT-7.5, HT-1.3
#[test]
fn checks_the_rest_also_beside_a_value_of_the_wrong_type() {
    let tool = json!({
        "id": "t", "endpoint": "/{x}", "method": 5, "max_result_bytes": -1, "error_template": "{{",
        "headers": { "X-A": 1, "bad name": "" },
        "parameters": [
            { "name": "q", "position": "cookie" },
            { "name": "q", "position": "query", "required": "yes" },
            { "name": "f", "parameter_type": 7, "default_value": 1 }
        ]
    });
    let found = problems(json!({
        "base_url": "ftp://x", "timeout_ms": "5", "tools": [tool],
        "retry": { "initial_delay_ms": 90_000, "max_delay_ms": "long" },
        "auth_type": 5, "auth_config": { "token": 5 }
    }));
    let position = found.iter().find(|problem| problem.path == "tools[0].parameters[0].position").unwrap();
    assert_eq!(
        position.message,
        "parameter 'q' has the position 'cookie'; allowed are path, query, header, body, form, whole_body"
    );
    let mut found: Vec<_> = found.iter().map(|problem| (problem.path.as_str(), problem.code)).collect();
    found.sort_unstable();
    let expected = [
        ("auth_config.token", "WrongType"),
        ("auth_type", "WrongType"),
        ("base_url", "InvalidUrl"),
        ("retry.max_delay_ms", "WrongType"),
        ("timeout_ms", "WrongType"),
        ("tools[0].endpoint", "PathParameterMissing"),
        ("tools[0].error_template", "TemplateSyntaxError"),
        ("tools[0].headers.X-A", "WrongType"),
        ("tools[0].headers.bad name", "InvalidHeaderName"),
        ("tools[0].max_result_bytes", "TooSmall"),
        ("tools[0].method", "WrongType"),
        ("tools[0].parameters[0].position", "InvalidPosition"),
        ("tools[0].parameters[1].name", "DuplicateParameter"),
        ("tools[0].parameters[1].required", "WrongType"),
        ("tools[0].parameters[2].parameter_type", "WrongType"),
    ];
    assert_eq!(found, expected);
}

/// HT-7.5
#[test]
fn invents_no_problem_where_a_value_cannot_be_read() {
    let path = json!([{ "name": "x", "position": "path", "required": true }]);
    for (tool, expected) in [
        (json!({ "id": "t", "parameters": path }), ("tools[0].endpoint", "Required")),
        (json!({ "id": "t", "endpoint": 5, "parameters": path }), ("tools[0].endpoint", "WrongType")),
        (json!({ "id": "t", "endpoint": "/{x}", "parameters": 5 }), ("tools[0].parameters", "WrongType")),
        (
            json!({ "id": "t", "endpoint": "/{x}", "parameters": [5] }),
            ("tools[0].parameters[0]", "WrongType"),
        ),
        (
            json!({ "id": "t", "endpoint": "/{x}", "parameters": [{ "position": "path", "required": true }] }),
            ("tools[0].parameters[0].name", "Required"),
        ),
        (
            json!({ "id": "t", "endpoint": "/{x}", "parameters": [{ "name": "x", "position": 5 }] }),
            ("tools[0].parameters[0].position", "WrongType"),
        ),
        (
            json!({ "id": "t", "endpoint": "/", "parameters": [{ "name": "x", "enum_values": 5, "default_value": "a" }] }),
            ("tools[0].parameters[0].enum_values", "WrongType"),
        ),
        (
            json!({ "id": "t", "endpoint": "/", "method": 5, "parameters": [{ "name": "x", "position": "whole_body" }] }),
            ("tools[0].method", "WrongType"),
        ),
    ] {
        let found = tool_problems(tool.clone());
        assert_eq!(found, [(expected.0.to_owned(), expected.1)], "{tool}");
    }
    let found = problems(json!({ "base_url": "https://api.example.com", "tools": 5 }));
    assert_eq!(found.len(), 1, "{found:?}");
}

/// HD-5
#[test]
fn tells_line_and_column_of_a_wrong_error_template() {
    let found = problems(json!({ "base_url": "https://api.example.com", "tools": [
        { "id": "t", "endpoint": "/{", "error_template": "ok\n{{ if }}" }
    ] }));
    let template = found.iter().find(|problem| problem.path == "tools[0].error_template").unwrap();
    assert_eq!(template.code, "TemplateSyntaxError");
    assert!(template.message.contains("error_template:2:"), "{}", template.message);
    assert!(found.iter().any(|problem| problem.code == "InvalidEndpoint"), "every problem at once");
}

#[test]
fn takes_null_for_no_sign_in() {
    assert!(is_fine(
        json!({ "base_url": "https://api.example.com", "auth_type": "none", "auth_config": null })
    ));
}

#[test]
fn keeps_the_sign_in_out_of_the_callers_hands() {
    let tool = |position: &str, name: &str| json!([{ "id": "a", "endpoint": "/a", "parameters": [{ "name": name, "position": position }] }]);
    let found = problems(json!({
        "base_url": "https://api.example.com", "auth": { "type": "bearer", "token": "t" },
        "tools": tool("header", "authorization")
    }));
    assert_eq!(found[0].code, "ReservedParameter");
    let in_query = json!({ "type": "apikey", "header": "key", "value": "t", "in": "query" });
    let found = problems(json!({
        "base_url": "https://api.example.com", "auth": in_query, "tools": tool("body", "key")
    }));
    assert_eq!(found[0].code, "ReservedParameter");
}

#[test]
fn never_shows_a_secret_of_settings_that_are_refused() {
    let error = open(json!({
        "base_url": "ftp://x", "auth_type": "bearer", "auth_config": { "token": "s3cr3t\nvalue" }
    }))
    .err()
    .unwrap();
    assert!(!format!("{error:?}").contains("s3cr3t"), "{error:?}");
}
