//! Agents that hand over, and agents inside one another.

use crate::world::*;
use serde_json::{Value, json};
use testkit::model::{Model, Reply};

fn hello() -> Value {
    json!({ "prompt": "My invoice is wrong." })
}

/// AG-3, AG-11: the same run goes on with the other agent, which knows why and what was said.
#[tokio::test]
async fn another_agent_goes_on_with_reason_and_history() {
    let first = Model::replies(vec![
        Reply::calls(&[("crm__echo", json!({ "text": "looked-up" }))]),
        Reply::calls(&[("handoff_to_billing", json!({ "reason": "an invoice", "message": "be kind" }))]),
    ])
    .await;
    let second = Model::replies(vec![Reply::says("I am billing.")]).await;
    let handoffs = json!([{ "to": "agent://billing", "when": "invoices" }]);
    let support = agent(&first, json!({ "handoffs": handoffs, "tools": ["api://crm/echo"] }));
    let world = World::with(vec![("support", support), ("billing", agent(&second, json!({})))]).await;
    let result = world.ask("support", hello()).await.unwrap();
    let told = &result["structuredContent"];
    assert_eq!((&told["answer"], &told["agent"]), (&json!("I am billing."), &json!("billing")));
    assert_eq!(told["handoffs"], json!([{ "from": "support", "to": "billing", "reason": "an invoice" }]));
    assert_eq!((&told["usage"]["model_calls"], &told["usage"]["tool_calls"]), (&json!(3), &json!(1)));
    let read = &second.asked()[0].text;
    for part in ["My invoice is wrong.", "an invoice", "be kind", "looked-up"] {
        assert!(read.contains(part), "{part}: {read}");
    }
    let records = world.records().await;
    assert!(records.iter().all(|record| record.run_id.as_deref() == told["run"].as_str()));
}

/// AG-10, AG-11: handing back is allowed, up to the limit.
#[tokio::test]
async fn handing_back_is_allowed_up_to_the_limit() {
    let to = |id: &str| Reply::calls(&[(format!("handoff_to_{id}").as_str(), json!({ "reason": "yours" }))]);
    let (first, second) = (Model::replies(vec![to("b")]).await, Model::replies(vec![to("a")]).await);
    let handoffs = |id: &str| json!({ "handoffs": [{ "to": format!("agent://{id}"), "when": "always" }] });
    let world =
        World::with(vec![("a", agent(&first, handoffs("b"))), ("b", agent(&second, handoffs("a")))]).await;
    let result = world.ask("a", hello()).await.unwrap();
    let told = &result["structuredContent"];
    assert_eq!(told["error"]["reason"], "HANDOFF_LIMIT", "{result}");
    assert_eq!(told["handoffs"].as_array().unwrap().len(), 5);
}

/// AG-11: a handoff that the caller may not make is not offered.
#[tokio::test]
async fn a_handoff_needs_the_caller_s_right() {
    let model = Model::replies(vec![
        Reply::calls(&[("handoff_to_b", json!({ "reason": "please" }))]),
        Reply::says("I do it myself."),
    ])
    .await;
    let handoffs = json!({ "handoffs": [{ "to": "agent://b", "when": "always" }] });
    let world = World::with(vec![("a", agent(&model, handoffs)), ("b", agent(&model, json!({})))]).await;
    let result = world.ask_as(&context(key(&["agent://a"])), "a", hello()).await.unwrap();
    let told = &result["structuredContent"];
    assert_eq!((&told["agent"], &told["answer"]), (&json!("a"), &json!("I do it myself.")));
    assert!(model.asked()[0].body.get("tools").is_none());
}

/// AG-11: an agent inside another is a tool like any other, but not one that is at work already.
#[tokio::test]
async fn agents_inside_one_another_go_in_no_circle() {
    let outer = Model::replies(vec![
        Reply::calls(&[("b__ask", json!({ "prompt": "What do you think?" }))]),
        Reply::says("b agrees."),
    ])
    .await;
    let inner = Model::replies(vec![
        Reply::calls(&[("a__ask", json!({ "prompt": "And you?" }))]),
        Reply::says("I agree."),
    ])
    .await;
    let (a, b) = (json!({ "tools": ["agent://b"] }), json!({ "tools": ["agent://a", "api://crm/echo"] }));
    let world = World::with(vec![("a", agent(&outer, a)), ("b", agent(&inner, b))]).await;
    let result = world.ask("a", hello()).await.unwrap();
    assert_eq!(result["structuredContent"]["answer"], "b agrees.");
    assert_eq!(result["structuredContent"]["usage"]["model_calls"], 4, "all count for one run");
    assert!(inner.asked()[1].text.contains("no tool 'a__ask'"), "{}", inner.asked()[1].text);
    assert!(outer.asked()[1].text.contains("I agree."));
    assert_eq!(outer.asked().len(), 2);
}

/// AG-18: what is masked stays so for the next model, and the caller is told the real reason.
#[tokio::test]
async fn masked_values_stay_masked_when_another_agent_goes_on() {
    let first = Model::replies(vec![Reply::calls(&[(
        "handoff_to_b",
        json!({ "reason": "[MAIL_1] waits", "message": "write to [MAIL_1]" }),
    )])])
    .await;
    let second = Model::replies(vec![Reply::says("done, [MAIL_1]")]).await;
    let more = json!({ "handoffs": [{ "to": "agent://b", "when": "always" }],
        "guardrails": { "input": [{ "pii": ["mail"], "action": "mask" }] } });
    let world = World::with(vec![("a", agent(&first, more)), ("b", agent(&second, json!({})))]).await;
    let result = world.ask("a", json!({ "prompt": "Write to ada@mail.test" })).await.unwrap();
    let read = &second.asked()[0].text;
    assert!(read.contains("[MAIL_1] waits") && !read.contains("ada@"), "{read}");
    let told = &result["structuredContent"];
    assert_eq!(told["handoffs"][0]["reason"], "ada@mail.test waits");
    assert_eq!(told["answer"], "done, ada@mail.test");
}
