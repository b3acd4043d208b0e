//! A service that cannot be used says why, and its callers hear that.

use crate::pipe::Pipe;
use crate::setup::example;
use serde_json::{Value, json};

#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn service(words: &str, env: Value) -> Value {
    json!({ "command": example("mcp_test_server"), "args": ["--refuse", words], "env": env })
}

/// PX-5
#[test]
fn a_caller_hears_what_a_service_says_that_refuses_the_handshake() {
    let key = "set FOO_API_KEY to a key from https://foo.example/keys";
    let plain = "please set FOO_REGION";
    let mut client = Pipe::start(&json!({
        "key": service(key, json!({})),
        "variable": service(key, json!({ "FOO_API_KEY": "${NO_SUCH_VARIABLE_HERE:-}" })),
        "plain": service(plain, json!({}))
    }));
    client.hello("2025-06-18");
    client.names();
    for (name, words) in [("key", key), ("variable", key), ("plain", plain)] {
        // The first call finds the failure of the start, the next ones the pause before the next start.
        for _ in 0..2 {
            let answer = client.call(&format!("{name}__echo"), json!({}));
            let said = match answer["error"]["message"].as_str() {
                Some(message) => message.to_owned(),
                None => answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
            };
            assert!(said.contains(words), "{name}: {answer}");
        }
    }
    let refused = client.call("variable__echo", json!({}));
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    assert_eq!(refused["error"]["data"]["service"], "variable", "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("NO_SUCH_VARIABLE_HERE"), "{refused}");
}
