//! What is wrong with settings is told before anybody is called.

use super::{EVERYTHING, LOYALTY};
use crate::svc::Settings;
use serde_json::{Value, json};
use tool::{Env, ErrorKind, Kind};

fn problems(more: &Value) -> Vec<String> {
    let mut settings = json!({
        "protocol": "grpc", "discovery": { "type": "static", "endpoints": ["a.example:1"] },
        "schema": { "protos": { "everything.proto": EVERYTHING, "loyalty.proto": LOYALTY } }
    });
    for (key, value) in more.as_object().unwrap() {
        settings[key] = value.clone();
    }
    match Kind::of::<Settings>().open(settings, &Env::default()) {
        Ok(_) => Vec::new(),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidConfig);
            error.problems().iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect()
        }
    }
}

#[test]
fn says_what_is_wrong_and_where() {
    assert_eq!(problems(&json!({})), [""; 0]);
    for (more, words) in [
        (json!({ "schema": { "reflection": true, "descriptor_set": "" } }), "schema: schema takes one of"),
        (json!({ "schema": { "descriptor_set": "%" } }), "schema: schema.descriptor_set is no base64"),
        (json!({ "schema": { "protos": { "a.proto": "message" } } }), "'a.proto' cannot be compiled"),
        (
            json!({ "tools": [{ "id": "a", "endpoint": "/x" }] }),
            "tools[0].rpc: a tool of a gRPC service has an 'rpc'",
        ),
        (json!({ "tools": [{ "id": "a", "rpc": "List" }] }), "tools[0].rpc: 'List' is no method"),
        (
            json!({ "tools": [{ "id": "a", "rpc": "a.B/C" }] }),
            "the method 'a.B/C', which the service does not have",
        ),
        (
            json!({ "tools": [{ "id": "a b", "rpc": "loyalty.v1.Customers/Get" }] }),
            "tools[0].id: 'a b' is no tool id",
        ),
        (
            json!({ "metadata": { "grpc-timeout": "1S" } }),
            "metadata.grpc-timeout: the key 'grpc-timeout' belongs to gRPC",
        ),
        (json!({ "metadata": { "x-bin": "%" } }), "metadata.x-bin: the value of 'x-bin' must be base64"),
        (json!({ "metadata": { "x": "grün" } }), "metadata.x: the value of 'x' must be printable ASCII"),
        (
            json!({ "metadata": { "x": "a\nb" } }),
            "metadata.x: the value of the header 'x' holds control characters",
        ),
        (
            json!({ "auth": { "type": "apikey", "value": "k", "in": "query" } }),
            "auth.in: gRPC has no query string",
        ),
    ] {
        let found = problems(&more);
        assert!(found.iter().any(|problem| problem.contains(words)), "{more}: {found:?}");
    }
    let both = json!({ "include": ["x"], "tools": [{ "id": "a", "rpc": "loyalty.v1.Customers/Get" }] });
    assert_eq!(
        problems(&both),
        ["include: 'include' is for services without 'tools'; leave one of the two out"]
    );
}
