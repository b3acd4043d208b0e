//! What the words of clients mean, one by one.

use super::*;
use serde_json::json;

fn settings(entry: &Value) -> Value {
    let understood = Understood::of(entry.as_object().unwrap());
    assert!(understood.problems.is_empty() && understood.unknown.is_empty(), "{understood:?}");
    Value::Object(understood.settings)
}

#[test]
fn honours_every_setting_that_the_schema_lists() {
    assert!(SETTINGS.len() > 20, "{:?}", *SETTINGS);
    for name in SETTINGS.iter().filter(|name| !WORDS.iter().any(|(word, _)| word == name)) {
        let understood = Understood::of(json!({ name.as_str(): 7 }).as_object().unwrap());
        assert_eq!(understood.settings.get(name), Some(&json!(7)), "{name}");
    }
}

#[test]
fn understands_the_words_of_all() {
    for (entry, wanted) in [
        (
            json!({ "type": "local", "command": ["a", "b"], "args": ["c"] }),
            json!({ "type": "stdio", "command": "a", "args": ["b", "c"] }),
        ),
        (
            json!({ "type": "remote", "url": "u", "tools": ["x"] }),
            json!({ "url": "u", "includeTools": ["x"] }),
        ),
        (
            json!({ "command": { "path": "a", "args": ["b"], "env": { "C": 1 } } }),
            json!({ "command": "a", "args": ["b"], "env": { "C": "1" } }),
        ),
        (
            json!({ "cmd": "a", "envs": { "A": null, "B": false }, "env_keys": ["K"], "available_tools": [] }),
            json!({ "command": "a", "env": { "B": "false", "K": "${K}" } }),
        ),
        (
            json!({ "uri": "u", "type": "streamable_http", "requestOptions": { "headers": { "A": "b" } } }),
            json!({ "url": "u", "type": "http", "headers": { "A": "b" } }),
        ),
        (
            json!({ "url": "u", "bearer_token_env_var": "T", "env_http_headers": { "H": "V" } }),
            json!({ "url": "u", "headers": { "Authorization": "Bearer ${T}", "H": "${V}" } }),
        ),
        (
            json!({ "url": "u", "bearer_token_env_var": "T", "http_headers": { "authorization": "x", "H": "v" } }),
            json!({ "url": "u", "headers": { "Authorization": "Bearer ${T}", "H": "v" } }),
        ),
        (
            json!({ "url": "u", "http_headers": { "authorization": "x", "H": "v" }, "bearer_token_env_var": "T" }),
            json!({ "url": "u", "headers": { "H": "v", "Authorization": "Bearer ${T}" } }),
        ),
        (
            json!({ "command": "a", "timeout": { "startup": 1, "request": 2 } }),
            json!({ "command": "a", "start_timeout": 1, "timeout": 2 }),
        ),
        (
            json!({ "transport": { "type": "stdio", "command": "a" }, "env": null }),
            json!({ "type": "stdio", "command": "a" }),
        ),
    ] {
        assert_eq!(settings(&entry), wanted, "{entry}");
    }
}

#[test]
fn names_what_is_wrong_and_what_nobody_knows() {
    let entry = json!({ "command": "a", "disabled": "true", "envFile": 7, "wobble": 1, "uri": "u", "url": "v", "_note": 1 });
    let understood = Understood::of(entry.as_object().unwrap());
    assert_eq!(
        understood.problems,
        [
            "'disabled' must be true or false, not a string",
            "'envFile' must be the path of a file, not a number"
        ]
    );
    assert_eq!(understood.unknown, ["wobble", "uri beside url"]);
    assert!(!Understood::of(json!({ "type": "builtin" }).as_object().unwrap()).problems.is_empty());
}
