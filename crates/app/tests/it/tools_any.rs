//! Any config and any arguments at the public edge: a clear answer, never a mistake of ours, and no request
//! to where none may go.

use crate::setup::BothDoors;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use testkit::{Backend, TestApp, http};

/// Values that break things.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[./%25eE2fF;?#&a{}]{0,12}".prop_map(Value::from),
        Just(json!("a\r\nX-Evil: 1")),
        Just(json!("../../etc/passwd")),
        Just(json!("{{ range . }}{{ . }}{{ end }}")),
        Just(json!("{{ template \"x\" }}")),
        Just(json!("http://169.254.169.254/{id}")),
        Just(json!("brackets")),
        Just(json!("form")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[a-z_]{0,8}|\\PC{0,4}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

const PLACES: [&str; 16] = [
    "/description",
    "/status",
    "/config",
    "/config/HTTP/endpoint",
    "/config/HTTP/method",
    "/config/HTTP/headers",
    "/config/HTTP/parameters",
    "/config/HTTP/parameters/0/name",
    "/config/HTTP/parameters/0/position",
    "/config/HTTP/parameters/1/default_value",
    "/config/HTTP/parameters/1/style",
    "/config/HTTP/timeout_seconds",
    "/config/HTTP/retry_count",
    "/config/HTTP/response_template",
    "/config/HTTP/error_template",
    "/config/HTTP/select",
];

/// HT-7.5, HD-2, HD-3, HD-4
#[test]
fn any_tool_is_validated_and_called_without_a_mistake_of_ours() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let upstream = runtime.block_on(http::Server::start());
    let app = runtime
        .block_on(TestApp::start_with(Backend::Sqlite, |settings| settings.allow_private_network = false));
    let doors = runtime.block_on(BothDoors::open(&app));
    let changes = proptest::collection::vec((proptest::sample::select(&PLACES[..]), value()), 0..3);
    let config = ProptestConfig {
        rng_seed: RngSeed::Fixed(20_261_115),
        failure_persistence: None,
        ..ProptestConfig::with_cases(120)
    };
    proptest!(config, |(changes in changes, id in value(), data in value())| {
        let mut tool = json!({
            "name": "t", "type": "http", "description": "d", "status": "active",
            "config": { "HTTP": {
                "endpoint": format!("{}/things/{{id}}", upstream.url()), "method": "POST", "headers": {},
                "parameters": [
                    { "name": "id", "position": "path", "required": true },
                    { "name": "data", "parameter_type": "Object", "position": "form", "style": "brackets", "default_value": null }
                ],
                "timeout_seconds": 1, "retry_count": 0,
                "response_template": "{{ .x }}", "error_template": "{{ .status }}", "select": "a"
            } }
        });
        for (place, value) in changes {
            if let Some(field) = tool.pointer_mut(place) {
                *field = value;
            }
        }
        runtime.block_on(async {
            let mut sampled = tool.clone();
            sampled["sample_response"] = data.clone();
            let checked = app.post("tools/validate", sampled).await;
            assert!(matches!(checked.status, 200 | 400 | 422), "{tool}: {}", checked.text);
            let made = app.post("tools", tool.clone()).await;
            assert!(matches!(made.status, 201 | 400 | 422), "{tool}: {}", made.text);
            if made.status != 201 {
                return;
            }
            let params = json!({ "name": "t", "arguments": { "id": id, "data": data } });
            let called = app.post("mcp/tools/call", params.clone()).await;
            assert!(called.status < 500 && called.body["isError"] != false, "{tool} {params}: {}", called.text);
            let mcp = doors.mcp("tools/call", params).await;
            assert!(mcp["result"]["isError"] == true || mcp["error"].is_object(), "{tool}: {mcp}");
            app.delete(&format!("tools/{}", made.string("id"))).await.is(204);
        });
    });
    assert_eq!((upstream.connections(), upstream.requests().len()), (0, 0), "loopback is not allowed");
}
