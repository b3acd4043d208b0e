//! Whatever is configured and whatever is called with: no panic, no way out of the path, no header
//! that nobody asked for, and no request to a forbidden address.

use super::*;
use fetch::Url;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tool::ErrorKind;

/// The same cases every time, so that a failure on one machine is one on all.
fn config(cases: u32) -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(20_261_115);
    ProptestConfig { rng_seed, failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Texts that attacks are made of, and any others.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[./%\\\\25eE2fF;?#&a]{0,12}",
        "[a\r\n: \t\0\"]{0,12}",
        Just("../../etc/passwd".to_owned()),
        Just("a\r\nX-Evil: 1".to_owned()),
        Just("http://169.254.169.254/".to_owned()),
        Just("{{ range . }}".to_owned()),
        Just("{id}".to_owned()),
    ]
}

/// Any JSON, not too large.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((text(), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A sane service in which some fields are replaced by anything.
fn settings() -> impl Strategy<Value = Value> {
    const PLACES: [&str; 26] = [
        "/base_url",
        "/auth",
        "/auth/type",
        "/auth/token_url",
        "/auth/client_secret",
        "/default_headers",
        "/pass_headers",
        "/tls",
        "/redirects",
        "/retry",
        "/circuit_breaker",
        "/allow_private_network",
        "/max_response_bytes",
        "/tools",
        "/tools/0/id",
        "/tools/0/endpoint",
        "/tools/0/method",
        "/tools/0/headers",
        "/tools/0/form_encoding",
        "/tools/0/error_template",
        "/tools/0/parameters",
        "/tools/0/parameters/0/name",
        "/tools/0/parameters/0/position",
        "/tools/0/parameters/1/style",
        "/tools/0/parameters/1/file",
        "/tools/0/parameters/1/default_value",
    ];
    let change = (proptest::sample::select(&PLACES[..]), json_value());
    proptest::collection::vec(change, 0..4).prop_map(|changes| {
        let mut settings = json!({
            "base_url": "http://127.0.0.1:1/base", "retry": { "max_attempts": 1 }, "timeout_ms": 500,
            "default_headers": {}, "pass_headers": ["X-User"], "redirects": "any", "circuit_breaker": {},
            "auth": { "type": "oauth2", "token_url": "http://127.0.0.1:1/token", "client_id": "c", "client_secret": "s" },
            "tls": null, "allow_private_network": false, "max_response_bytes": 1000,
            "tools": [{
                "id": "it", "endpoint": "/things/{id}", "method": "POST", "headers": {}, "form_encoding": "multipart",
                "error_template": "{{ .status }}",
                "parameters": [
                    { "name": "id", "position": "path", "required": true },
                    { "name": "data", "parameter_type": "Object", "position": "form", "style": "brackets",
                      "file": null, "default_value": null }
                ]
            }]
        });
        for (place, value) in changes {
            if let Some(field) = settings.pointer_mut(place) {
                *field = value;
            }
        }
        settings
    })
}

/// Any settings are opened or refused with problems that say where; what opens can be called with
/// anything, and nothing of it reaches the loopback, which is all that answers here.
#[test]
fn any_settings_and_arguments_end_well_and_at_home() {
    let runtime = runtime();
    proptest!(config(250), |(settings in settings(), id in json_value(), data in json_value())| {
        let api = match open(settings) {
            Ok(api) => api,
            Err(error) => {
                prop_assert_eq!(error.kind(), ErrorKind::InvalidConfig);
                prop_assert!(!error.problems().is_empty(), "{:?}", error);
                return Ok(());
            }
        };
        let arguments = json!({ "id": id, "data": data });
        let seen = tool::Inspection::on();
        let cx = tool::Context { inspection: seen.clone(), ..context(Duration::from_millis(400)) };
        let arguments = arguments.as_object().cloned().unwrap();
        let call = Call { tool: "it".into(), arguments: arguments.into(), options: Default::default(), extras: Default::default(), max_answer_bytes: usize::MAX };
        let result = runtime.block_on(api.call(&cx, call));
        prop_assert!(result.is_err(), "nobody may be reached from here: {:?}", result.map(|_| ()));
        if let Some(url) = seen.exchange().request.map(|request| request["url"].as_str().unwrap().to_owned()) {
            let path = Url::parse(&url).unwrap().path().to_owned();
            prop_assert!(!path.split('/').any(|segment| [".", ".."].contains(&segment)), "{}", url);
        }
    });
}

/// Whatever the arguments, the request stays below its endpoint and says nothing of its own accord.
#[test]
fn any_arguments_stay_in_their_places() {
    let runtime = runtime();
    let server = runtime.block_on(Server::start());
    for (position, method, encoding) in [
        ("query", "GET", None),
        ("body", "POST", None),
        ("form", "POST", None),
        ("form", "PUT", Some("multipart")),
    ] {
        let api = with_tool(
            &server,
            json!({
                "endpoint": "/base/{id}/end", "method": method, "form_encoding": encoding, "parameters": [
                    { "name": "id", "position": "path", "required": true },
                    { "name": "X-Note", "position": "header" },
                    { "name": "data", "parameter_type": "Object", "position": position, "style": "brackets" }
                ]
            }),
        );
        runtime.block_on(call(&*api, json!({ "id": "a", "X-Note": "n", "data": { "k": "v" } }))).unwrap();
        let names = |received: &testkit::http::Received| {
            received.headers.iter().map(|(name, _)| name.clone()).collect::<std::collections::BTreeSet<_>>()
        };
        let expected = names(&server.last());
        proptest!(config(120), |(id in text(), note in text(), key in text(), data in json_value())| {
            let before = server.requests().len();
            let arguments = json!({ "id": id, "X-Note": note, "data": { key: data } });
            match runtime.block_on(call(&*api, arguments)) {
                Ok(_) => {
                    let received = server.last();
                    let segments: Vec<_> = received.path.split('/').collect();
                    prop_assert_eq!(segments.len(), 4, "{}", received.path);
                    prop_assert_eq!((segments[1], segments[3]), ("base", "end"));
                    prop_assert_eq!(names(&received), expected.clone());
                    prop_assert_eq!(received.headers.len(), expected.len());
                    prop_assert!(received.method == method && !received.path.contains(".."));
                }
                Err(error) => {
                    prop_assert_eq!(error.kind(), ErrorKind::InvalidInput, "{:?}", error);
                    prop_assert_eq!(server.requests().len(), before, "nothing was sent");
                }
            }
        });
    }
}

/// However a host is written, and wherever redirects and token endpoints point.
#[test]
fn nothing_reaches_an_address_that_is_not_allowed() {
    let runtime = runtime();
    let server = runtime.block_on(Server::start());
    let port = server.address().port();
    let hosts = proptest::sample::select(vec![
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "017700000001",
        "localhost",
        "LocalHost.",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "[::]",
        "127.0.0.1.",
        "①②⑦.0.0.1",
        "[64:ff9b::7f00:1]",
    ]);
    proptest!(config(40), |(host in hosts, path in "[a-z]{0,5}", is_token in any::<bool>())| {
        let target = format!("http://{host}:{port}/{path}");
        let mut settings = json!({ "retry": { "max_attempts": 1 }, "tools": [{ "id": "it", "endpoint": "/x" }] });
        if is_token {
            settings["base_url"] = "http://api.invalid".into();
            settings["auth"] = json!({ "type": "oauth2", "token_url": target, "client_id": "c", "client_secret": "s" });
        } else {
            settings["base_url"] = target.into();
        }
        let Ok(api) = open(settings) else { return Ok(()) };
        let error = runtime.block_on(error_of(&*api, json!({})));
        prop_assert!(matches!(error.kind(), ErrorKind::Denied | ErrorKind::Unavailable), "{:?}", error);
    });
    assert_eq!((server.connections(), server.requests().len()), (0, 0));
}
