//! What models and settings say goes on as it was written.

use crate::world::*;
use serde_json::json;
use serde_json::value::RawValue;
use testkit::model::{Model, Reply};
use tool::Caller;

/// AG-4, AG-17: the digits that the client's model writes are those that are sent.
#[tokio::test]
async fn the_digits_of_a_clients_model_stay() {
    let answers = vec![
        r#"{"content":[{"type":"tool_use","id":"u1","name":"crm__count","input":{"n":12345678901234567890123}}]}"#,
        r#"{"content":{"type":"text","text":"Done."}}"#,
    ];
    let world = World::with(vec![("a", json!({ "provider": "client", "tools": ["api://crm/count"] }))]).await;
    let answers = answers.into_iter().map(|text| RawValue::from_string(text.to_owned()).unwrap());
    let mut cx = context(Caller::local());
    cx.client = Some(Answering::in_words(&json!({ "sampling": { "tools": {} } }), answers.collect()));
    let result = world.ask_as(&cx, "a", json!({ "prompt": "What is the time?" })).await.unwrap();
    assert_eq!(result["structuredContent"]["answer"], "Done.", "{result}");
    assert_eq!(world.api.last().query, "n=12345678901234567890123");
}

/// AG-4: a part of Gemini's configuration leaves the rest of it as the settings have it.
#[tokio::test]
async fn a_part_of_the_configuration_leaves_the_rest() {
    let model = Model::replies(vec![Reply::says("yes")]).await;
    let more = json!({ "provider": "gemini", "temperature": 0.5, "max_output_tokens": 77,
        "extra": { "generationConfig": { "topP": 0.5 } } });
    let world = World::with(vec![("a", agent(&model, more))]).await;
    world.ask("a", json!({ "prompt": "What is the time?" })).await.unwrap();
    let expected = json!({ "maxOutputTokens": 77, "temperature": 0.5, "topP": 0.5 });
    assert_eq!(model.asked()[0].body["generationConfig"], expected);
}
