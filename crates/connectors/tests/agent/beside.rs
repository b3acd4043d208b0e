//! Handoffs that do not stand alone: calls beside them, and rules that refuse them.

use crate::world::*;
use serde_json::{Value, json};
use testkit::model::{Model, Reply};

fn hello() -> Value {
    json!({ "prompt": "My invoice is wrong." })
}

/// AG-11: what the model calls in the answer that hands over is called before, and the next agent reads what came of it.
#[tokio::test]
async fn what_is_called_beside_a_handoff_is_called_first() {
    let calls =
        [("crm__send", json!({ "text": "o1" })), ("handoff_to_b", json!({ "reason": "the rest is yours" }))];
    let first = Model::replies(vec![Reply::calls(&calls)]).await;
    let second = Model::replies(vec![Reply::says("It was sent.")]).await;
    let more = json!({ "handoffs": [{ "to": "agent://b", "when": "always" }], "tools": ["api://crm/*"] });
    let world = World::with(vec![("a", agent(&first, more)), ("b", agent(&second, json!({})))]).await;
    let result = world.ask("a", hello()).await.unwrap();
    let told = &result["structuredContent"];
    assert_eq!((&told["agent"], &told["usage"]["tool_calls"]), (&json!("b"), &json!(1)), "{result}");
    assert_eq!(world.api.requests().len(), 1);
    let read = &second.asked()[0].text;
    assert!(read.contains("crm__send answers") && read.contains("text=o1"), "{read}");
    let records = world.records().await;
    assert_eq!(records.iter().filter(|record| record.tool == "crm__send").count(), 1);
}

/// AG-18, AG-20: what the rules of the next agent refuse fails the run of the agent that was asked, in both places alike.
#[tokio::test]
async fn a_handoff_that_a_rule_refuses_fails_the_run() {
    let model = Model::replies(vec![Reply::calls(&[("handoff_to_b", json!({ "reason": "yours" }))])]).await;
    let more = json!({ "handoffs": [{ "to": "agent://b", "when": "always" }] });
    let rules = json!({ "guardrails": { "input": [{ "pattern": "invoice" }] } });
    let world = World::with(vec![("a", agent(&model, more)), ("b", agent(&model, rules))]).await;
    let error = world.failure(&context(tool::Caller::local()), "a", hello()).await;
    assert_eq!(
        (&error["code"], &error["reason"], &error["service"]),
        (&json!("UPSTREAM_ERROR"), &json!("GUARDRAIL"), &json!("a"))
    );
}
