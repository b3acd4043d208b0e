//! What one kind of model does its own way, and what becomes of it.

use crate::world::*;
use async_trait::async_trait;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::sync::Arc;
use testkit::model::{Model, Reply};
use tool::{Ability, Caller, Client, Context, Error, Question, QuestionMode};

/// AG-4: a server that gives its calls no ids gets results that say which call they are of.
#[tokio::test]
async fn calls_without_ids_get_some() {
    let call = |text: &str| json!({ "type": "function", "function": { "name": "crm__echo", "arguments": json!({ "text": text }).to_string() } });
    let whole = json!({ "choices": [{ "finish_reason": "tool_calls",
        "message": { "role": "assistant", "tool_calls": [call("1"), call("2")] } }] });
    let event = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call("1"), call("2")] } }] });
    let event = format!("data: {event}\n\n");
    let streamed = format!("{event}data: [DONE]\n\n");
    for (is_streamed, answer) in [(false, whole.to_string()), (true, streamed)] {
        let reply = Reply::Raw(200, Vec::new(), answer.into_bytes());
        let model = Model::replies(vec![reply, Reply::says("done")]).await;
        let world = World::with(vec![("a", agent(&model, json!({ "tools": ["api://crm/echo"] })))]).await;
        let (with_events, _rx) = heard(context(Caller::local()));
        let cx = if is_streamed { with_events } else { context(Caller::local()) };
        world.ask_as(&cx, "a", json!({ "prompt": "What is the time?" })).await.unwrap();
        let asked = model.asked();
        let messages = asked[1].body["messages"].as_array().unwrap();
        let of_calls: Vec<_> =
            messages[2]["tool_calls"].as_array().unwrap().iter().map(|call| call["id"].clone()).collect();
        assert_eq!(of_calls, [json!("call-0"), json!("call-1")]);
        assert_eq!(
            [&messages[3]["tool_call_id"], &messages[4]["tool_call_id"]],
            [&of_calls[0], &of_calls[1]]
        );
    }
}

/// AG-4: a stream that numbers its calls wrongly or not at all, or repeats their names, has as many calls as it has ids.
#[tokio::test]
async fn streamed_calls_are_told_apart_by_their_ids() {
    let part = |more: Value, name: Option<&str>, arguments: &str| {
        let mut call = json!({ "type": "function", "function": { "arguments": arguments } });
        if let Some(name) = name {
            call["function"]["name"] = name.into();
        }
        let Value::Object(more) = more else { panic!("{more} is no object") };
        more.into_iter().for_each(|(field, value)| call[field] = value);
        let event = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] });
        format!("data: {event}\n\n")
    };
    let (echo, one, two) = (Some("crm__echo"), "{\"text\":\"1\"}", "{\"text\":\"2\"}");
    let always_0 = [
        part(json!({ "index": 0, "id": "a" }), echo, one),
        part(json!({ "index": 0, "id": "b" }), Some("crm__send"), two),
    ];
    let without_number = [
        part(json!({ "id": "a" }), echo, "{\"text\":"),
        part(json!({}), None, "\"1\"}"),
        part(json!({ "id": "b" }), Some("crm__send"), "{\"text\":"),
        part(json!({ "id": "b" }), Some("crm__send"), "\"2\"}"),
    ];
    let names_repeated = [
        part(json!({ "index": 0, "id": "a" }), echo, "{\"text\":"),
        part(json!({ "index": 1, "id": "b" }), Some("crm__send"), "{\"text\":"),
        part(json!({ "index": 0, "id": "" }), echo, "\"1\"}"),
        part(json!({ "index": 1 }), Some("crm__send"), "\"2\"}"),
    ];
    let name_behind_id = [
        part(json!({ "index": 0 }), echo, one),
        part(json!({ "index": 1, "id": "b" }), Some("crm__send"), two),
    ];
    for (parts, first) in [
        (always_0.concat(), "a"),
        (without_number.concat(), "a"),
        (names_repeated.concat(), "a"),
        (name_behind_id.concat(), "call-0"),
    ] {
        let reply = Reply::Raw(200, Vec::new(), format!("{parts}data: [DONE]\n\n").into_bytes());
        let model = Model::replies(vec![reply, Reply::says("done")]).await;
        let settings = agent(&model, json!({ "tools": ["api://crm/*"], "approval": "never" }));
        let world = World::with(vec![("a", settings)]).await;
        let (cx, _rx) = heard(context(Caller::local()));
        let result = world.ask_as(&cx, "a", json!({ "prompt": "Do both." })).await.unwrap();
        assert_eq!(result["structuredContent"]["answer"], "done", "{parts}: {result}");
        let asked = model.asked();
        let calls = asked[1].body["messages"][2]["tool_calls"].as_array().unwrap();
        let calls: Vec<_> = calls
            .iter()
            .map(|call| (&call["id"], &call["function"]["name"], &call["function"]["arguments"]))
            .collect();
        let expected = [
            (&json!(first), &json!("crm__echo"), &json!(one)),
            (&json!("b"), &json!("crm__send"), &json!(two)),
        ];
        assert_eq!(calls, expected, "{parts}");
    }
}

/// AG-4: what Anthropic's models think goes back as it came, before the calls that it led to.
#[tokio::test]
async fn signed_thoughts_go_back_unchanged() {
    let thought = json!({ "type": "thinking", "thinking": "Let me see…", "signature": "c2ln" });
    let hidden = json!({ "type": "redacted_thinking", "data": "b3BhcXVl" });
    let call = json!({ "type": "tool_use", "id": "t1", "name": "crm__echo", "input": { "text": "x" } });
    let whole = json!({ "type": "message", "stop_reason": "tool_use", "content": [thought, hidden, call] });
    let streamed: String = [
        json!({ "type": "message_start", "message": {} }),
        json!({ "type": "content_block_start", "index": 0,
            "content_block": { "type": "thinking", "thinking": "", "signature": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "Let me " } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "see…" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "signature_delta", "signature": "c2ln" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": hidden }),
        json!({ "type": "content_block_start", "index": 2, "content_block": call }),
        json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "input_json_delta", "partial_json": "{\"text\":\"x\"}" } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
        json!({ "type": "message_stop" }),
    ]
    .iter()
    .map(|event| format!("data: {event}\n\n"))
    .collect();
    for (is_streamed, answer) in [(false, whole.to_string()), (true, streamed)] {
        let reply = Reply::Raw(200, Vec::new(), answer.into_bytes());
        let model = Model::replies(vec![reply, Reply::says("done")]).await;
        let settings = agent(&model, json!({ "provider": "anthropic", "tools": ["api://crm/echo"] }));
        let world = World::with(vec![("a", settings)]).await;
        let (with_events, _rx) = heard(context(Caller::local()));
        let cx = if is_streamed { with_events } else { context(Caller::local()) };
        let result = world.ask_as(&cx, "a", json!({ "prompt": "What is the time?" })).await.unwrap();
        assert_eq!(result["structuredContent"]["answer"], "done", "{result}");
        let said = &model.asked()[1].body["messages"][1]["content"];
        assert_eq!(*said, json!([thought, hidden, call]), "{is_streamed}");
    }
}

/// A client whose model refuses.
#[derive(Debug)]
struct Refusing(Box<RawValue>);

#[async_trait]
impl Client for Refusing {
    fn capabilities(&self) -> &RawValue {
        &self.0
    }

    fn session(&self) -> &str {
        "s"
    }

    fn can(&self, ability: Ability) -> bool {
        ability == Ability::Sampling
    }

    fn question_mode(&self) -> QuestionMode {
        QuestionMode::DuringCall
    }

    async fn ask(&self, _: &Context, _: Question) -> tool::Result<Box<RawValue>> {
        let error =
            to_raw_value(&json!({ "code": -1, "message": "User rejected sampling request" })).unwrap();
        Err(Error::upstream("the client refused: User rejected sampling request").relaying(error))
    }
}

/// AG-17, AG-20: a client that answers with an error has refused.
#[tokio::test]
async fn an_error_of_the_clients_model_is_a_refusal() {
    let world = World::with(vec![("a", json!({ "provider": "client" }))]).await;
    let mut cx = context(Caller::local());
    cx.client = Some(Arc::new(Refusing(to_raw_value(&json!({ "sampling": {} })).unwrap())));
    let error = world.failure(&cx, "a", json!({ "prompt": "What is the time?" })).await;
    assert_eq!(error["reason"], "MODEL_REFUSED", "{error}");
    assert!(error["message"].as_str().unwrap().contains("User rejected"), "{error}");
}
