//! HTTP tools without a service: the same requests, and problems with paths into their `config`.

use super::*;
use proptest::prelude::*;
use tool::InlineTool;

#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn open_inline(http: Value) -> tool::Result<Arc<dyn Connector>> {
    let inline = Kind::of::<Settings>().inline.unwrap();
    let tool = InlineTool {
        tool_type: "http".into(),
        name: "it".into(),
        description: "A test.".into(),
        config: json!({ "HTTP": http }),
    };
    (inline.open)(tool, &Env { allow_private_network: true, ..Env::default() })
}

fn problems(http: Value) -> Vec<(String, &'static str)> {
    let error = open_inline(http).err().expect("the config must be refused");
    error.problems().iter().map(|problem| (problem.path.clone(), problem.code)).collect()
}

/// HT-7.5, HT-1.3
#[test]
fn reports_every_problem_also_beside_a_wrong_type() {
    let http = json!({
        "endpoint": "https://x.example/{x}", "timeout_seconds": "5",
        "parameters": [{ "name": "q", "position": "cookie" }]
    });
    assert_eq!(
        problems(http),
        [
            ("HTTP.timeout_seconds".to_owned(), "WrongType"),
            ("HTTP.parameters[0].position".to_owned(), "InvalidPosition"),
            ("HTTP.endpoint".to_owned(), "PathParameterMissing"),
        ]
    );
    let http = json!({ "parameters": [{ "name": "q", "position": "cookie" }] });
    assert_eq!(
        problems(http),
        [
            ("HTTP.endpoint".to_owned(), "Required"),
            ("HTTP.parameters[0].position".to_owned(), "InvalidPosition"),
        ]
    );
}

/// HD-1
#[tokio::test]
async fn sends_what_a_service_would_send() {
    let server = Server::start().await;
    let tool = json!({ "method": "POST", "headers": { "X-Fixed": "1" }, "parameters": [
        { "name": "id", "required": true, "position": "path" }, { "name": "n", "parameter_type": "Integer" }
    ] });
    let mut in_service = tool.clone();
    in_service["endpoint"] = "/a/{id}?x=1".into();
    let mut alone = tool;
    alone["endpoint"] = format!("{}/a/{{id}}?x=1", server.url()).into();
    for connector in [with_tool(&server, in_service), open_inline(alone).unwrap()] {
        call(&*connector, json!({ "id": "b c", "n": 1 })).await.unwrap();
    }
    let requests = server.requests();
    assert_eq!(requests[0], requests[1]);
    assert_eq!((requests[0].path.as_str(), requests[0].query.as_str()), ("/a/b%20c", "x=1"));
}

#[tokio::test]
async fn repeats_as_often_as_it_says() {
    for (retries, expected) in [(json!(0), 1), (json!(1), 2)] {
        let server = Server::start().await;
        let connector =
            open_inline(json!({ "endpoint": format!("{}/drop", server.url()), "retry_count": retries }));
        call(&*connector.unwrap(), json!({})).await.unwrap_err();
        assert_eq!(server.requests().len(), expected);
    }
}

/// HT-7.5
#[test]
fn reports_problems_with_paths_into_the_config() {
    let found = problems(json!({
        "endpoint": "ftp://x/{a}", "timeout_seconds": 0, "retry_count": 11, "colour": 1,
        "headers": { "Host": "x" }, "allow_private_network": ["nonsense"],
        "parameters": [{ "name": "b", "position": "path", "required": true }]
    }));
    for expected in [
        ("HTTP.endpoint", "InvalidUrl"),
        ("HTTP.endpoint", "PathParameterMissing"),
        ("HTTP.parameters[0].position", "PathParameterInvalid"),
        ("HTTP.timeout_seconds", "TooSmall"),
        ("HTTP.retry_count", "TooLarge"),
        ("HTTP.colour", "Unknown"),
        ("HTTP.headers.Host", "ForbiddenHeader"),
        ("HTTP.allow_private_network[0]", "InvalidRange"),
    ] {
        assert!(found.contains(&(expected.0.into(), expected.1)), "{expected:?} in {found:?}");
    }
    assert_eq!(problems(json!({})), [("HTTP.endpoint".to_owned(), "Required")]);
    // Behind the question mark as before it.
    for endpoint in ["http://127.0.0.1:9/a\\b", "http://127.0.0.1:9?x=1\\"] {
        assert_eq!(problems(json!({ "endpoint": endpoint })).len(), 1, "{endpoint}");
    }
}

/// HT-1.2
#[test]
fn writes_out_the_position_that_was_left_out() {
    let mut config =
        json!({ "HTTP": { "parameters": [{ "name": "a" }, { "name": "b", "position": "query" }, 7] } });
    let inline = Kind::of::<Settings>().inline.unwrap();
    (inline.complete)(&mut config);
    assert_eq!(config["HTTP"]["parameters"][0]["position"], "body");
    assert_eq!(config["HTTP"]["parameters"][1]["position"], "query");
    for mut odd in [json!(null), json!({ "HTTP": 7 }), json!([])] {
        (inline.complete)(&mut odd);
    }
}

/// Pieces that addresses and attacks on them are made of.
fn endpoints() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("http://127.0.0.1:9".to_owned()),
        Just("https://".to_owned()),
        Just("{a}".to_owned()),
        Just("/..".to_owned()),
        Just("/%2e%2e".to_owned()),
        Just("?x=1".to_owned()),
        Just("#".to_owned()),
        Just("@".to_owned()),
        Just("\r\nHost: evil".to_owned()),
        Just("\\".to_owned()),
        "\\PC{0,6}",
        "[a-z/]{0,6}"
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn arguments() -> impl Strategy<Value = Value> {
    prop_oneof![
        "\\PC{0,12}".prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(null)),
        Just(json!([[]])),
        Just(json!("../x\r\n"))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever is thrown at it: no panic, and no request that leaves its host or its path.
    #[test]
    fn survives_any_config_and_stays_where_it_belongs(endpoint in endpoints(), value in arguments(), header in "\\PC{0,8}", position in "path|query|header|body|form|moon", method in "GET|POST|PUT|DELETE", style in "repeat|brackets|json|pipe|odd") {
        let http = json!({
            "endpoint": endpoint, "retry_count": 0, "headers": { header: "x" }, "method": method,
            "parameters": [{ "name": "a", "position": position, "required": true, "style": style }]
        });
        let Ok(connector) = open_inline(http) else { return Ok(()) };
        let cx = context(Duration::from_secs(5));
        cx.cancel.cancel();
        let seen = tool::Inspection::on();
        let cx = tool::Context { inspection: seen.clone(), ..cx };
        let arguments = json!({ "a": value }).as_object().cloned().unwrap();
        let call = Call { tool: "it".into(), arguments: arguments.into(), options: Default::default(), extras: Default::default(), max_answer_bytes: usize::MAX };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _ = runtime.block_on(connector.call(&cx, call));
        if let Some(request) = seen.exchange().request {
            let url = request["url"].as_str().unwrap();
            prop_assert!(!url.contains(['\r', '\n', '\\', '#']) && !url.split(['?']).next().unwrap().contains("/.."), "{url}");
            let origin = endpoint.split_once("://").map(|(scheme, rest)| format!("{scheme}://{}", rest.split(['/', '?']).next().unwrap()));
            let expected = fetch::Url::parse(&origin.unwrap()).unwrap();
            let actual = fetch::Url::parse(url).unwrap();
            prop_assert_eq!(expected.origin(), actual.origin());
        }
    }
}
