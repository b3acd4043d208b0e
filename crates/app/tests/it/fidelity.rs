//! Through us as without us: arguments, answers and definitions of MCP services as they were written.

use crate::pipe::Pipe;
use crate::stdio::service;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A service on stdio with these tools; the folder holds their definitions.
fn offering(definitions: &str) -> (Value, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("definitions.json");
    std::fs::write(&file, definitions.replace('\n', "")).unwrap();
    (json!({ "s": { "command": service(), "args": ["--definitions", file] } }), folder)
}

fn start(definitions: &str) -> (Pipe, tempfile::TempDir) {
    let (services, folder) = offering(definitions);
    let mut pipe = Pipe::start(&services);
    pipe.hello("2025-11-25");
    (pipe, folder)
}

/// One whose answer goes on as the caller says.
const REST: &str = r#"[{"name":"rest","inputSchema":{"type":"object"}}]"#;

/// The answer to a call, as it is written, whose service has gone on like this after the id.
fn rest(pipe: &mut Pipe, rest: &str) -> String {
    pipe.ask_raw("tools/call", &json!({ "name": "s__rest", "arguments": { "rest": rest } }).to_string())
}

#[test]
fn adds_no_defaults_to_arguments_of_mcp_services() {
    let schema = r#"{"type":"object","properties":{"name":{"type":"string","default":null},"list":{"type":"array","minItems":1,"default":[]},"n":{"type":"integer","default":7}},"oneOf":[{"required":["a"]},{"not":{"required":["n"]}}]}"#;
    let (mut pipe, _folder) = start(&format!(r#"[{{"name":"params","inputSchema":{schema}}}]"#));
    for arguments in
        ["{}", r#"{"big":123456789012345678901234, "e": 1e2,"f":1.50}"#, r#"{"name":"x","list":[ 0.10 ]}"#]
    {
        let params = format!(r#"{{"name":"s__params","arguments":{arguments}}}"#);
        let answer: Value = serde_json::from_str(&pipe.ask_raw("tools/call", &params)).unwrap();
        let seen = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(seen.contains(&format!("\"arguments\":{arguments}")), "{seen}");
        assert!(!seen.contains("null") && !seen.contains("\"n\""), "{seen}");
    }
}

#[test]
fn relays_half_a_surrogate_pair_in_results_errors_and_prompts() {
    let (mut pipe, _folder) = start(REST);
    for result in [
        r#"{"content":[{"type":"text","text":"cut \ud83d"}]}"#,
        r#"{"content":[{"type":"text","text":"cut \ud83d"}],"isError":false}"#,
        r#"{"isError":true,"content":[{"type":"text","text":"\udE00 cut"}]}"#,
        r#"{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":"\uD83Dx\ude00"}}"#,
    ] {
        let answer = rest(&mut pipe, &format!(r#","result":{result}"#));
        assert!(answer.contains(&format!("\"result\":{result}")), "{answer}");
    }
    let error = r#"{"code":-31001,"message":"cut","data":{"a":"\ud83d"}}"#;
    let answer = rest(&mut pipe, &format!(r#","error":{error}"#));
    assert!(answer.contains(&format!("\"error\":{error}")), "{answer}");
    let answer = rest(&mut pipe, r#","error":{"code":-31001,"message":"cut \ud83d"}"#);
    assert!(answer.contains("-31001") && answer.contains("cut \u{fffd}"), "{answer}");
}

#[test]
fn lists_tools_with_half_a_surrogate_pair_and_cleans_them_all_the_same() {
    let definitions = r#"[
        {"name":"cut","description":"an emoji \ud83d","inputSchema":{"type":"object","properties":{"a":{"description":"\ud83d"}}}},
        {"name":"hides","description":"\ud83d\u200b","title":"\ud83d\u200bx","inputSchema":{"type":"object"}}]"#;
    let (mut pipe, _folder) = start(definitions);
    let listed = pipe.ask_raw("tools/list", "{}");
    assert!(listed.contains("s__cut") && listed.contains("[s] an emoji \u{fffd}"), "{listed}");
    assert!(listed.contains(r#"{"description":"\ud83d"}"#), "the rest stays: {listed}");
    assert!(listed.contains("s__hides") && !listed.contains("200b"), "{listed}");
    assert!(!listed.contains('\u{200b}'), "{listed}");
}

#[test]
fn keeps_the_spelling_of_the_data_of_errors() {
    let (mut pipe, _folder) = start(REST);
    let error = r#"{"code":-31000,"message":"no","data":{"b": 1.0,"a":[123456789012345678901234, 1E2],"t":"\u0041"}}"#;
    let answer = rest(&mut pipe, &format!(r#","error":{error}"#));
    assert!(answer.contains(&format!("\"error\":{error}")), "{answer}");
}

#[test]
fn an_answer_that_is_none_fails_at_once() {
    let (mut pipe, _folder) = start(REST);
    let begun = Instant::now();
    for (said, why) in [
        (r#","result":null"#, "no tool result"),
        ("", "neither result nor error"),
        (r#","result":{"content":[{"type":"text","text":"ÿ"}]}"#, "UTF-8"),
        (r#","error":null"#, "neither result nor error"),
    ] {
        let answer = rest(&mut pipe, said);
        assert!(answer.contains(why), "{said}: {answer}");
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "none waited for its time-out of 300 s");
    // The connection is good for others.
    let answer = rest(&mut pipe, r#","result":{"content":[]}"#);
    assert!(answer.contains(r#""result":{"content":[]}"#), "{answer}");
}

#[test]
fn does_not_list_tools_that_work_as_tasks_only() {
    let definitions = r#"[
        {"name":"a","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},
        {"name":"b","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},
        {"name":"c","inputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"}}]"#;
    let (mut pipe, _folder) = start(definitions);
    assert_eq!(pipe.names(), ["s__a", "s__c"]);
}
