//! Where arguments and sign-ins go on the wire.

use super::*;
use proptest::prelude::*;
use tool::ErrorKind;

fn parameter(name: &str, position: &str) -> Value {
    json!({ "name": name, "position": position, "required": position == "path" })
}

/// HT-1.1, HT-1.4
#[tokio::test]
async fn puts_each_argument_where_its_position_says() {
    let server = Server::start().await;
    let parameters =
        ["path", "query", "header", "body"].map(|position| parameter(&format!("in-{position}"), position));
    let api = with_tool(
        &server,
        json!({ "endpoint": "/things/{in-path}?fixed=1", "method": "POST", "parameters": parameters }),
    );
    let arguments = json!({ "in-path": "p", "in-query": "q", "in-header": "h", "in-body": "b" });
    call(&*api, arguments).await.unwrap();
    let received = server.last();
    assert_eq!((received.method.as_str(), received.path.as_str()), ("POST", "/things/p"));
    assert_eq!(received.query, "fixed=1&in-query=q");
    assert_eq!(received.header("in-header"), Some("h"));
    assert_eq!(received.json(), json!({ "in-body": "b" }));
}

/// HT-1.2
#[tokio::test]
async fn takes_a_parameter_without_position_for_a_body_parameter() {
    let server = Server::start().await;
    let parameters = json!([{ "name": "a" }]);
    let api = with_tool(&server, json!({ "endpoint": "/x", "method": "PUT", "parameters": parameters }));
    call(&*api, json!({ "a": "1" })).await.unwrap();
    assert_eq!(server.last().json(), json!({ "a": "1" }));
}

/// HT-1.5, AP-2
#[tokio::test]
async fn builds_one_json_body_and_keeps_types() {
    let server = Server::start().await;
    let types = ["String", "Number", "Integer", "Boolean", "Object", "Array"];
    let parameters: Vec<_> =
        types.iter().map(|name| json!({ "name": name, "parameter_type": name })).collect();
    let api =
        with_tool(&server, json!({ "endpoint": "/orders", "method": "POST", "parameters": parameters }));
    let arguments = json!({
        "String": "7", "Number": 7.5, "Integer": 9_007_199_254_740_993_u64, "Boolean": false,
        "Object": { "b": [1, null], "a": {} }, "Array": [1, "2", [3]]
    });
    let output = call(&*api, arguments.clone()).await.unwrap();
    let received = server.last();
    assert_eq!(received.json(), arguments);
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert_eq!(data(&output)["method"], "POST");
    call(&*api, json!({})).await.unwrap();
    assert_eq!(server.last().body, "{}");
}

/// AP-1
#[tokio::test]
async fn makes_a_query_string_of_the_arguments_of_a_get() {
    let server = Server::start().await;
    let types = json!([
        { "name": "userId" }, { "name": "tags", "parameter_type": "Array" },
        { "name": "filter", "parameter_type": "Object" }, { "name": "n", "parameter_type": "Number" }
    ]);
    for method in ["GET", "DELETE"] {
        let api =
            with_tool(&server, json!({ "endpoint": "/profile", "method": method, "parameters": types }));
        let arguments = json!({ "userId": "U 001&x=é", "tags": ["a", 1], "filter": { "k": true }, "n": 1.5 });
        let output = call(&*api, arguments).await.unwrap();
        let received = server.last();
        let expected = "userId=U%20001%26x%3D%C3%A9&tags=a&tags=1&filter=%7B%22k%22%3Atrue%7D&n=1.5";
        assert_eq!(received.query, expected);
        assert_eq!((received.body.as_str(), received.header("content-type")), ("", None));
        assert_eq!(data(&output)["path"], "/profile");
    }
}

/// AP-1, AP-2
#[tokio::test]
async fn lets_the_uri_choose_the_method_where_it_is_open() {
    let server = Server::start().await;
    let open = json!({ "endpoint": "/x", "methods": ["POST"], "parameters": [{ "name": "a" }] });
    let api = with_tool(&server, open);
    call_with(&*api, "?method=POST", json!({ "a": "1" })).await.unwrap();
    assert_eq!((server.last().method.as_str(), server.last().json()), ("POST", json!({ "a": "1" })));
    call_with(&*api, "?method=GET", json!({ "a": "1" })).await.unwrap();
    assert_eq!((server.last().method.as_str(), server.last().query.as_str()), ("GET", "a=1"));
    let error = call_with(&*api, "?method=DELETE", json!({ "a": "1" })).await.unwrap_err();
    assert_eq!((error.kind(), error.problems()[0].code), (tool::ErrorKind::InvalidInput, "MethodNotOpen"));
    let closed = with_tool(&server, json!({ "endpoint": "/x" }));
    call_with(&*closed, "?method=GET", json!({})).await.unwrap();
    call_with(&*closed, "?method=POST", json!({})).await.unwrap_err();
    assert_eq!(server.requests().len(), 3);
}

/// HT-2.1, HT-2.2, AP-6
#[tokio::test]
async fn replaces_placeholders_with_path_arguments() {
    let server = Server::start().await;
    let parameters = [parameter("userId", "path"), parameter("orderId", "path")];
    let tool = json!({ "endpoint": "/users/{userId}/orders/{orderId}.json", "parameters": parameters });
    let api = with_settings(&server, json!({ "base_url": format!("{}/v1/", server.url()) }), tool);
    call(&*api, json!({ "userId": "U001", "orderId": "O001" })).await.unwrap();
    assert_eq!(server.last().path, "/v1/users/U001/orders/O001.json");
}

/// HT-2.5
#[tokio::test]
async fn sends_path_values_as_one_segment() {
    let server = Server::start().await;
    let tool = json!({ "endpoint": "/a/{v}/b", "parameters": [parameter("v", "path")] });
    let api = with_tool(&server, tool);
    for (value, segment) in [
        ("a/b c?&#%", "a%2Fb%20c%3F%26%23%25"),
        ("日本", "%E6%97%A5%E6%9C%AC"),
        ("...", "..."),
        ("a..b", "a..b"),
        ("a+b@c:d;e", "a%2Bb%40c%3Ad%3Be"),
    ] {
        call(&*api, json!({ "v": value })).await.unwrap();
        assert_eq!(server.last().path, format!("/a/{segment}/b"));
    }
}

/// HD-2
#[tokio::test]
async fn refuses_path_values_that_would_traverse() {
    let server = Server::start().await;
    let parameters = [parameter("a", "path"), parameter("b", "path")];
    let api = with_tool(&server, json!({ "endpoint": "/x/{a}{b}/y", "parameters": parameters }));
    for value in [
        "",
        ".",
        "..",
        "../x",
        "x/..",
        "a/../b",
        "..\\x",
        "%2e%2e",
        "%2E.",
        ".%2e",
        "%2e",
        "%252e%252e",
        "%2e%2e%2f",
        "..%2fx",
        "..;x",
        "%25252e.",
    ] {
        let error = error_of(&*api, json!({ "a": value, "b": "b" })).await;
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{value}");
        assert!(error.to_string().contains("'a'"), "{value}: {error}");
    }
    let error = error_of(&*api, json!({ "a": ".", "b": "." })).await;
    assert_eq!(error.problems().len(), 2);
    assert!(server.requests().is_empty());
}

/// HD-3
#[tokio::test]
async fn refuses_header_values_that_would_inject() {
    let server = Server::start().await;
    let api = with_tool(&server, json!({ "endpoint": "/x", "parameters": [parameter("X-A", "header")] }));
    let long = "x".repeat(8193);
    for value in ["a\r\nX-B: 1", "a\nb", "a\rb", "a\0b", "a\u{7f}b", "\u{85}", "tab\there", &long] {
        let error = error_of(&*api, json!({ "X-A": value })).await;
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{value:?}");
        assert!(error.to_string().contains("'X-A'"), "{error}");
    }
    assert!(server.requests().is_empty());
    call(&*api, json!({ "X-A": "plain é" })).await.unwrap();
    assert_eq!(server.last().header("x-a"), Some("plain é"));
}

#[tokio::test]
async fn fills_in_defaults_and_leaves_out_what_is_null() {
    let server = Server::start().await;
    let parameters = json!([
        { "name": "page", "parameter_type": "Integer", "default_value": 1, "position": "query" },
        { "name": "sort", "position": "query" }, { "name": "note", "position": "body" }
    ]);
    let api = with_tool(&server, json!({ "endpoint": "/x", "method": "POST", "parameters": parameters }));
    call(&*api, json!({ "sort": null, "note": null })).await.unwrap();
    assert_eq!(server.last().query, "page=1");
    assert_eq!(server.last().json(), json!({ "note": null }));
}

#[tokio::test]
async fn refuses_arguments_that_do_not_fit_and_names_all_of_them() {
    let server = Server::start().await;
    let parameters = json!([
        { "name": "must", "required": true }, { "name": "n", "parameter_type": "Integer" },
        { "name": "choice", "enum_values": ["a", "b"] }
    ]);
    let api = with_tool(&server, json!({ "endpoint": "/x", "parameters": parameters }));
    let error = error_of(&*api, json!({ "n": 1.5, "choice": "c", "extra": 1 })).await;
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("Missing required parameter 'must'"), "{error}");
    let paths: Vec<_> = error.problems().iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["n", "choice", "extra", "must"]);
    assert!(server.requests().is_empty());
}

/// AP-3
#[tokio::test]
async fn signs_with_an_api_key_in_a_header_or_in_the_query() {
    let server = Server::start().await;
    let tool = json!({ "endpoint": "/x?a=1" });
    let config =
        json!({ "auth_type": "apikey", "auth_config": { "header": "X-API-Key", "value": "secret" } });
    call(&*with_settings(&server, config, tool.clone()), json!({})).await.unwrap();
    assert_eq!(server.last().header("x-api-key"), Some("secret"));
    let config = json!({ "auth": { "type": "apikey", "header": "key", "value": "s&t", "in": "query" } });
    call(&*with_settings(&server, config, tool), json!({})).await.unwrap();
    assert_eq!(server.last().query, "a=1&key=s%26t");
}

/// AP-4
#[tokio::test]
async fn signs_with_a_bearer_token_or_a_password() {
    let server = Server::start().await;
    for (config, expected) in [
        (json!({ "auth_type": "bearer", "auth_config": { "token": "jwt_token" } }), "Bearer jwt_token"),
        (json!({ "auth": { "type": "bearer", "token": "jwt_token" } }), "Bearer jwt_token"),
        (
            json!({ "auth_type": "basic", "auth_config": { "username": "ada", "password": "pa:ss" } }),
            "Basic YWRhOnBhOnNz",
        ),
    ] {
        call(&*with_settings(&server, config, json!({ "endpoint": "/x" })), json!({})).await.unwrap();
        assert_eq!(server.last().header("authorization"), Some(expected));
    }
}

#[tokio::test]
async fn sends_default_headers_unless_the_tool_or_the_caller_says_otherwise() {
    let server = Server::start().await;
    let tool = json!({
        "endpoint": "/x", "headers": { "X-B": "tool", "X-C": "tool" },
        "parameters": [parameter("X-C", "header")]
    });
    let service = json!({ "default_headers": { "X-A": "service", "X-B": "service" } });
    let api = with_settings(&server, service, tool);
    call(&*api, json!({ "X-C": "caller" })).await.unwrap();
    let received = server.last();
    let sent = ["x-a", "x-b", "x-c"].map(|name| received.header(name).unwrap());
    assert_eq!(sent, ["service", "tool", "caller"]);
    assert!(received.header("user-agent").unwrap().starts_with("mcp-all-in-one/"));
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// HT-2.5, HD-2
#[test]
fn any_path_value_arrives_as_exactly_one_segment_or_is_refused() {
    let runtime = runtime();
    let server = runtime.block_on(Server::start());
    let api = with_tool(&server, json!({ "endpoint": "/a/{v}/b", "parameters": [parameter("v", "path")] }));
    let any = prop_oneof![any::<String>(), "[./%\\\\25eE2fF;?#&a]{0,12}"];
    proptest!(ProptestConfig::with_cases(256), |(value in any)| {
        let before = server.requests().len();
        match runtime.block_on(call(&*api, json!({ "v": value }))) {
            Ok(_) => {
                let path = server.last().path;
                let segment = path.strip_prefix("/a/").unwrap().strip_suffix("/b").unwrap();
                prop_assert!(!segment.contains('/') && !["", ".", ".."].contains(&segment));
                let decoded = percent_encoding::percent_decode_str(segment).decode_utf8().unwrap();
                prop_assert_eq!(decoded, value);
            }
            Err(error) => {
                prop_assert_eq!(error.kind(), ErrorKind::InvalidInput);
                prop_assert_eq!(server.requests().len(), before);
            }
        }
    });
}

/// HD-3
#[test]
fn no_header_value_ever_injects() {
    let runtime = runtime();
    let server = runtime.block_on(Server::start());
    let api = with_tool(&server, json!({ "endpoint": "/x", "parameters": [parameter("X-A", "header")] }));
    runtime.block_on(call(&*api, json!({ "X-A": "a" }))).unwrap();
    let names = |received: &testkit::http::Received| {
        received.headers.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    let expected = names(&server.last());
    let any = prop_oneof![any::<String>(), "[a\r\n: \t\0]{0,12}"];
    proptest!(ProptestConfig::with_cases(256), |(value in any)| {
        if runtime.block_on(call(&*api, json!({ "X-A": value }))).is_ok() {
            let received = server.last();
            prop_assert_eq!(names(&received), expected.clone());
            prop_assert_eq!(received.header("x-a").unwrap(), value.trim_matches([' ', '\t']));
        }
    });
}

#[test]
fn writes_whole_numbers_as_such() {
    for (value, text) in [
        (json!(5.0), "5"),
        (json!(1e3), "1000"),
        (json!(-0.0), "0"),
        (json!(-7.0), "-7"),
        (json!(1.5), "1.5"),
        (json!(1e300), "1e+300"),
        (json!(u64::MAX), "18446744073709551615"),
        (json!("5.0"), "5.0"),
        (json!(true), "true"),
    ] {
        assert_eq!(crate::shared::http_tools::text_of(&value), text);
    }
}

#[tokio::test]
async fn sends_the_key_of_a_step_unless_it_reads_or_has_that_header() {
    let server = Server::start().await;
    let outer = context(Duration::from_secs(20));
    let step = tool::Step { idempotency_key: Some("r1:ship[3].send".into()), ..Default::default() };
    let own = json!([{ "name": "Idempotency-Key", "position": "header" }]);
    for (method, parameters, arguments, sent) in [
        ("POST", json!([]), json!({}), Some("r1:ship[3].send")),
        ("DELETE", json!([]), json!({}), Some("r1:ship[3].send")),
        ("GET", json!([]), json!({}), None),
        ("HEAD", json!([]), json!({}), None),
        ("POST", own, json!({ "Idempotency-Key": "mine" }), Some("mine")),
    ] {
        let api = with_tool(&server, json!({ "endpoint": "/x", "method": method, "parameters": parameters }));
        let arguments = arguments.as_object().cloned().unwrap();
        let call = || conformance::call("it", arguments.clone());
        api.call(&outer.nested(step.clone()), call()).await.unwrap();
        assert_eq!(server.last().header("idempotency-key"), sent, "{method}");
        api.call(&outer, call()).await.unwrap();
        assert_eq!(server.last().header("idempotency-key"), sent.filter(|key| *key == "mine"), "{method}");
    }
}
