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

/// A number that no type of ours holds is no reason to leave a tool out.
#[test]
fn the_command_line_lists_tools_with_any_number() {
    let odd = r#"[{"name":"odd","description":"Odd","inputSchema":{"type":"object","properties":{"n":{"maximum":1e400}}}},{"name":"even","inputSchema":{"type":"object"}}]"#;
    let (services, _folder) = offering(odd);
    let ada = crate::mcp_json::Person::new();
    ada.write(&json!({ "mcpServers": services }).to_string());
    let file = ada.file();
    let file = file.to_str().unwrap();
    ada.run(&["tools", "--mcp-config", file]).is(0).has("s__odd").has("Odd").has("s__even");
    ada.run(&["tools", "--json", "--mcp-config", file]).is(0).has("1e400").has("s__even");
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
        (r#","result":null"#, "'s' cannot be used: the service's answer is no tool result"),
        (r#","result":[]"#, "no tool result"),
        (r#","result":{}"#, "no tool result"),
        (r#","result":{"isError":false}"#, "no tool result"),
        ("", "neither result nor error"),
        (r#","result":{"content":[{"type":"text","text":"ÿ"}]}"#, "UTF-8"),
        (r#","error":null"#, "neither result nor error"),
        (r#","result":{"content":[]},"result":{"content":[]}"#, "has a member twice"),
        (",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"one\ntwo\"}]}", "cut off"),
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
fn a_byte_order_mark_before_an_answer_is_skipped() {
    let mut pipe = Pipe::start(&json!({ "s": { "command": service(), "args": ["--bom"] } }));
    pipe.hello("2025-11-25");
    assert_eq!(pipe.text("s__echo", json!({ "text": "heard" })), "heard");
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

/// A picture of so many bytes, in base64.
fn picture(size: usize) -> Value {
    json!({ "type": "image", "mimeType": "image/png", "data": "A".repeat(size) })
}

#[test]
fn cuts_nothing_of_mcp_services_unless_told_to() {
    let (mut pipe, _folder) = start(REST);
    let data = "A".repeat(900_000);
    for result in [
        json!({ "content": [picture(3_000_000)] }),
        json!({ "content": [{ "type": "text", "text": "a\n".repeat(1_000_000) }] }),
        json!({ "content": [picture(900_000)], "structuredContent": { "data": data } }),
    ] {
        let answer = rest(&mut pipe, &format!(r#","result":{result}"#));
        assert!(answer.contains(&format!("\"result\":{result}")), "{}", &answer[..answer.len().min(500)]);
    }
}

/// A service whose tool promises `rows` and `total`, behind a budget.
fn start_with_budget(bytes: &str) -> (Pipe, tempfile::TempDir) {
    let schema = r#"{"type":"object","required":["rows"],"properties":{"rows":{"type":"array","minItems":2,"items":{"type":"object"}},"note":{"type":"string"}}}"#;
    let (services, folder) = offering(&format!(
        r#"[{{"name":"rest","inputSchema":{{"type":"object"}},"outputSchema":{schema}}},{{"name":"params","inputSchema":{{"type":"object"}}}}]"#
    ));
    let mut pipe = Pipe::start_with(&services, |command| {
        command.args(["--max-result-bytes", bytes]);
    });
    pipe.hello("2025-11-25");
    (pipe, folder)
}

fn result_of(pipe: &mut Pipe, result: &Value) -> Value {
    let answer = rest(pipe, &format!(r#","result":{result}"#));
    serde_json::from_str::<Value>(&answer).unwrap()["result"].clone()
}

#[test]
fn a_budget_keeps_structured_content_valid_or_makes_the_call_an_error() {
    let (mut pipe, _folder) = start_with_budget("2000");
    let rows: Vec<_> = (0..200).map(|n| json!({ "n": n, "text": "0123456789" })).collect();
    let data = json!({ "rows": rows, "note": "all" });
    let text = json!([{ "type": "text", "text": data.to_string() }]);
    let cut = result_of(&mut pipe, &json!({ "content": text, "structuredContent": data }));
    let kept = cut["structuredContent"]["rows"].as_array().unwrap().len();
    assert!((10..100).contains(&kept) && cut["isError"] != true, "{cut}");
    assert_eq!(
        (&cut["structuredContent"]["rows"][1]["n"], &cut["structuredContent"]["note"]),
        (&json!(1), &json!("all"))
    );
    assert!(cut.to_string().contains(&format!("'/rows' shows the first {kept} of 200 items")), "{cut}");

    let long = json!({ "rows": [{}, {}], "note": "x".repeat(5000) });
    let one = json!({ "rows": [{ "a": "x".repeat(1500) }, { "a": "x".repeat(1500) }] });
    for data in [long, one] {
        let refused = result_of(&mut pipe, &json!({ "content": [], "structuredContent": data }));
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(refused.get("structuredContent").is_none(), "{refused}");
        let said = refused["content"][0]["text"].as_str().unwrap();
        assert!(said.contains("2000 bytes") && said.contains("--max-result-bytes"), "{said}");
    }
}

#[test]
fn a_budget_never_drops_a_picture_in_silence() {
    let (mut pipe, _folder) = start_with_budget("2000");
    let data = json!({ "rows": [{}, {}] });
    for result in [
        json!({ "content": [picture(3000)], "structuredContent": data }),
        json!({ "content": [{ "type": "text", "text": "look" }, picture(3000)], "structuredContent": data }),
    ] {
        let refused = result_of(&mut pipe, &result);
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(refused.to_string().contains("image of 30"), "{refused}");
        assert!(!refused.to_string().contains("AAAA"), "{refused}");
    }
    let small = json!({ "content": [picture(300)], "structuredContent": data });
    assert_eq!(result_of(&mut pipe, &small), small);
}
