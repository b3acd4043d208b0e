//! Whose rights count.

use crate::world::*;
use serde_json::{Value, json};
use testkit::model::{Model, Reply};
use tool::ErrorKind;

fn hello() -> Value {
    json!({ "prompt": "Do it." })
}

/// AG-5: the model is offered exactly what the caller may call; with nothing left, nothing is sent.
#[tokio::test]
async fn the_model_sees_what_its_caller_may_call() {
    let model = Model::replies(vec![
        Reply::calls(&[("crm__remove", json!({})), ("crm__echo", json!({}))]),
        Reply::says("done"),
    ])
    .await;
    let settings =
        agent(&model, json!({ "tools": ["api://crm/echo", "api://crm/remove"], "approval": "never" }));
    let world = World::with(vec![("a", settings)]).await;
    let error = world.ask_as(&context(key(&["agent://a"])), "a", hello()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(model.asked().is_empty(), "nothing is sent");
    let cx = context(key(&["agent://a", "api://crm/echo"]));
    let result = world.ask_as(&cx, "a", hello()).await.unwrap();
    let offered = &model.asked()[0].body["tools"];
    assert_eq!(offered.as_array().unwrap().len(), 1, "{offered}");
    assert_eq!(offered[0]["function"]["name"], "crm__echo");
    assert_eq!(result["structuredContent"]["warnings"].as_array().unwrap().len(), 1);
    assert!(
        world.api.requests().iter().all(|request| request.method == "GET"),
        "what is not offered is not called"
    );
}

/// AG-6: with the saver's rights, callers reach the agent's tools through the agent alone.
#[tokio::test]
async fn an_agent_s_own_rights_hold_for_its_tools_alone() {
    let model = Model::replies(vec![
        Reply::calls(&[("crm__echo", json!({})), ("crm__remove", json!({}))]),
        Reply::says("done"),
    ])
    .await;
    let settings = agent(&model, json!({ "tools": ["api://crm/echo"], "run_as": "agent" }));
    let world = World::with(vec![("a", settings)]).await;
    let cx = context(key(&["agent://a"]));
    let result = world.ask_as(&cx, "a", hello()).await.unwrap();
    assert_eq!(result["isError"], false);
    assert_eq!(world.api.requests().len(), 1);
    let records = world.records().await;
    let echo = records.iter().find(|record| record.tool == "crm__echo").unwrap();
    assert_eq!(echo.caller, cx.caller.identity.id(), "the audit is the caller's");
}

#[tokio::test]
async fn nobody_else_may_ask_at_all() {
    let model = Model::replies(vec![Reply::says("x")]).await;
    let world = World::with(vec![("a", agent(&model, json!({})))]).await;
    let error = world.ask_as(&context(key(&["api://crm/*"])), "a", hello()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(model.asked().is_empty());
}
