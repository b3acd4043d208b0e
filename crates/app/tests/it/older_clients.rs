//! Strict clients of older versions, and services whose definitions and answers they would not take as they are.

use crate::pipe::Pipe;
use crate::stdio::service;
use serde_json::{Value, json};

const OLDER: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}"#;

/// A service with the answers to these methods, by its arguments.
fn start(arguments: &[&str], option: &str, text: &str) -> (Pipe, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("said.json");
    std::fs::write(&file, text.replace('\n', "")).unwrap();
    let mut all: Vec<_> = arguments.iter().map(|argument| json!(argument)).collect();
    all.extend([json!(option), json!(file)]);
    let services = json!({ "s": { "command": service(), "args": all }, "other": { "command": service() } });
    (Pipe::start(&services), folder)
}

/// The answer to a call of the tool `rest`, whose service says this.
fn rest(pipe: &mut Pipe, result: &str, meta: &str) -> Value {
    let arguments = json!({ "rest": format!(r#","result":{result}"#) });
    let answer =
        pipe.ask_raw("tools/call", &format!(r#"{{"name":"s__rest","arguments":{arguments}{meta}}}"#));
    serde_json::from_str::<Value>(&answer).unwrap()["result"].clone()
}

fn tool<'a>(listed: &'a Value, name: &str) -> &'a Value {
    let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    tools.iter().find(|tool| tool["name"] == name).unwrap_or(&Value::Null)
}

/// MC-2, MC-3: what need not be an object since 2026-07-28 is the field of one before, in definitions as in answers.
#[test]
fn what_is_no_object_is_the_field_of_one_for_older_clients() {
    let schema = json!({ "type": "array", "items": { "type": "string" } });
    let definitions = json!([
        { "name": "rest", "inputSchema": { "type": "object" }, "outputSchema": schema },
        { "name": "echo", "inputSchema": { "type": "object", "properties": { "text": true } } },
    ]);
    let said =
        r#"{"resultType":"complete","content":[{"type":"text","text":"[\"a\"]"}],"structuredContent":["a"]}"#;
    for version in OLDER {
        let (mut pipe, _folder) = start(&["--modern"], "--definitions", &definitions.to_string());
        pipe.hello(version);
        let listed = pipe.ask("tools/list", json!({}));
        let expected =
            json!({ "type": "object", "properties": { "result": schema }, "required": ["result"] });
        assert_eq!(tool(&listed, "s__rest")["outputSchema"], expected, "{version}");
        assert_eq!(tool(&listed, "s__echo")["inputSchema"]["properties"], json!({ "text": {} }), "{version}");
        let result = rest(&mut pipe, said, "");
        assert_eq!(result["structuredContent"], json!({ "result": ["a"] }), "{version}: {result}");
        assert_eq!(result["content"][0]["text"], "[\"a\"]", "{version}");
    }
    let (mut pipe, _folder) = start(&["--modern"], "--definitions", &definitions.to_string());
    let listed: Value = serde_json::from_str(&pipe.ask_raw("tools/list", &format!("{{{MODERN}}}"))).unwrap();
    assert_eq!(tool(&listed, "s__rest")["outputSchema"], schema);
    assert_eq!(tool(&listed, "s__echo")["inputSchema"]["properties"], json!({ "text": true }));
    assert_eq!(rest(&mut pipe, said, &format!(",{MODERN}"))["structuredContent"], json!(["a"]));
}

/// MC-3: nobody has promised it, so that it is found in the text alone.
#[test]
fn older_clients_get_no_structure_but_objects() {
    let definitions = r#"[{"name":"rest","inputSchema":{"type":"object"}}]"#;
    let (mut pipe, _folder) = start(&["--modern"], "--definitions", definitions);
    pipe.hello("2025-11-25");
    for structured in ["[1]", "null", "7", "\"x\""] {
        let result = format!(
            r#"{{"resultType":"complete","structuredContent":{structured},"content":[{{"type":"text","text":"t"}}],"x":1.50}}"#
        );
        let got = rest(&mut pipe, &result, "");
        assert_eq!((got.get("structuredContent"), &got["content"][0]["text"]), (None, &json!("t")), "{got}");
        if structured == "null" {
            continue; // without content that is no result
        }
        let alone = format!(r#"{{"resultType":"complete","structuredContent":{structured}}}"#);
        let got = rest(&mut pipe, &alone, "");
        assert_eq!(
            (got.get("structuredContent"), &got["content"][0]["text"]),
            (None, &json!(structured)),
            "{got}"
        );
    }
    let same = r#"{"resultType":"complete","content":[{"type":"text","text":"\"structuredContent\":[1]"}],"structuredContent":{"structuredContent":[1.50]}}"#;
    let params = json!({ "name": "s__rest", "arguments": { "rest": format!(r#","result":{same}"#) } });
    let answer = pipe.ask_raw("tools/call", &params.to_string());
    assert!(answer.contains(r#""structuredContent":{"structuredContent":[1.50]}"#), "{answer}");
}

/// MC-3: blocks that came with later versions are texts for those who do not know them.
#[test]
fn older_clients_get_texts_for_blocks_that_they_do_not_have() {
    let definitions = r#"[{"name":"rest","inputSchema":{"type":"object"}}]"#;
    let said = r#"{"content":[{"type":"resource_link","uri":"a:b","name":"B"},{"type":"audio","data":"AP8=","mimeType":"audio/wav"},{"type":"text","text":"t"}]}"#;
    let audio = "(audio left out, which this version of MCP does not have: audio/wav, 2 bytes)";
    for (version, link_is, audio_is) in [
        ("2024-11-05", "text", "text"),
        ("2025-03-26", "text", "audio"),
        ("2025-06-18", "resource_link", "audio"),
        ("2025-11-25", "resource_link", "audio"),
    ] {
        let (mut pipe, _folder) = start(&[], "--definitions", definitions);
        pipe.hello(version);
        let blocks = rest(&mut pipe, said, "")["content"].clone();
        assert_eq!(
            (&blocks[0]["type"], &blocks[1]["type"]),
            (&json!(link_is), &json!(audio_is)),
            "{version}"
        );
        assert_eq!(blocks[2], json!({ "type": "text", "text": "t" }));
        if link_is == "text" {
            assert_eq!(blocks[0]["text"], "B: a:b");
        }
        if audio_is == "text" {
            assert_eq!(blocks[1]["text"], audio);
        }
    }
}

/// MC-2, PX-10: a definition that is not as MCP has it takes no tools of others from strict clients.
#[test]
fn definitions_are_put_into_their_form() {
    let definitions = r#"[
        {"name":"fine","x":1.50,"inputSchema":{"z":1e2,"type":"object"}},
        {"name":"fields","title":null,"annotations":null,"outputSchema":null,"_meta":"x","icons":{},"execution":"x","inputSchema":{}},
        {"name":"schema","inputSchema":{"type":"object","properties":null,"required":null}},
        {"name":"array","inputSchema":{"type":"array"}},
        {"name":"number","description":5,"inputSchema":{"type":"object"}}]"#;
    let (mut pipe, _folder) = start(&[], "--definitions", definitions);
    pipe.hello("2025-11-25");
    let listed = pipe.ask_raw("tools/list", "{}");
    let object = r#""inputSchema":{"type":"object"}"#;
    for expected in [
        r#"{"name":"s__fine","description":"[s] ","x":1.50,"inputSchema":{"z":1e2,"type":"object"}}"#
            .to_owned(),
        format!(r#"{{"name":"s__fields","description":"[s] ",{object}}}"#),
        format!(r#"{{"name":"s__schema","description":"[s] ",{object}}}"#),
    ] {
        assert!(listed.contains(&expected), "{expected}: {listed}");
    }
    assert!(listed.contains("other__echo"), "{listed}");
    assert!(!listed.contains("s__array") && !listed.contains("s__number"), "{listed}");
    assert!(
        pipe.call("s__fields", json!({}))["error"]["message"].is_string(),
        "its service has no such tool"
    );
}

/// MC-2: the same for prompts, resources and templates.
#[test]
fn prompts_and_resources_are_put_into_their_form() {
    let lists = r#"{
        "prompts/list":{"prompts":[{"name":"p","arguments":"notalist","description":7},{"name":"q","x":1.50,"arguments":[{"name":"a"}]}]},
        "resources/list":{"resources":[{"uri":"x:y","name":5,"size":"big"},{"uri":"x:z","name":"z","size":7}]},
        "resources/templates/list":{"resourceTemplates":[{"uriTemplate":"x:{a}","name":"t","annotations":null}]},
        "prompts/get":{"messages":[{"role":"user","content":{"type":"audio","data":"AP8=","mimeType":"audio/wav"}}]}}"#;
    let (mut pipe, _folder) = start(&[], "--lists", lists);
    pipe.hello("2024-11-05");
    let prompts = pipe.ask_raw("prompts/list", "{}");
    let expected = r#"{"prompts":[{"name":"s__p"},{"name":"s__q","x":1.50,"arguments":[{"name":"a"}]}]}"#;
    assert!(prompts.contains(expected), "{prompts}");
    let resources = pipe.ask_raw("resources/list", "{}");
    let expected = r#"{"resources":[{"uri":"x:y","name":"x:y"},{"uri":"x:z","name":"z","size":7}]}"#;
    assert!(resources.contains(expected), "{resources}");
    let templates = pipe.ask_raw("resources/templates/list", "{}");
    assert!(templates.contains(r#"[{"uriTemplate":"x:{a}","name":"t"}]"#), "{templates}");
    let got = pipe.ask("prompts/get", json!({ "name": "s__p" }));
    assert_eq!(got["result"]["messages"][0]["content"]["type"], "text", "{got}");
}
