//! Agents as nodes of flows: they judge for guards, are handed over to, and are written in place.

use crate::world::{PATIENCE, agent, count, crm, until};
use serde_json::{Value, json};
use testkit::model::{Model, ReceivedRequest, Reply};
use testkit::{Backend, Client, TestApp, eventually, http, on_both_databases};

on_both_databases! {
    an_agent_judges_for_a_guard
    a_handoff_asks_for_a_reason_with_a_context
    an_agent_in_place_borrows_a_model_and_nothing_else
    an_agent_in_place_has_its_publisher_s_rights
    an_agent_in_place_is_checked_when_it_is_published
}

async fn publish(app: &Client, id: &str, text: &str) {
    app.post("flows", json!({ "id": id, "source": text })).await.is(201);
    app.post(&format!("flows/{id}/publish"), json!({})).await.is(200);
}

async fn run(app: &Client, flow: &str, inputs: Value) -> Value {
    let body = json!({ "inputs": inputs, "wait_seconds": 30 });
    app.post(&format!("flows/{flow}/runs"), body).await.is(200).body["output"].clone()
}

/// FL-15: an agent says in JSON whether a value passes; whatever else it says is no pass.
async fn an_agent_judges_for_a_guard(backend: Backend) {
    let replies = [
        r#"{"passed": true}"#,
        r#"{"passed": false, "findings": [{"path": "", "message": "rude"}], "value": "**"}"#,
        "It seems fine to me.",
    ];
    let model = Model::replies(replies.map(Reply::says).into()).await;
    let app = TestApp::start(backend).await;
    app.post("services", agent("judge", &model, json!({ "tools": [] }))).await.is(201);
    for (check, action, expected) in [
        ("moderation", "redact", json!("hello")),
        ("jailbreak", "redact", json!("**")),
        ("hallucination", "warn", json!("GUARD")),
    ] {
        let text = format!(
            "inputs: {{t: string}}\nnodes: {{g: {{guard: {{check: {check}, of: '${{t}}', by: 'agent://judge', action: {action}}}, next: ok, fail: f}}, ok: {{with: g.value}}, f: {{with: g.error.code}}}}"
        );
        publish(&app, check, &text).await;
        assert_eq!(run(&app, check, json!({ "t": "hello" })).await, expected, "{check}");
        let asked = model.asked().last().unwrap().text.clone();
        assert!(asked.contains(check) && asked.contains("hello") && asked.contains("passed"), "{asked}");
    }
    assert_eq!(model.asked().len(), 3);
}

/// A handoff asks the agent what its reason says, and gives the values of some names along.
async fn a_handoff_asks_for_a_reason_with_a_context(backend: Backend) {
    let model = Model::replies(vec![Reply::says("It is paid back.")]).await;
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    app.post("services", agent("billing", &model, json!({}))).await.is(201);
    let text = "inputs: {order: string}\nnodes: {h: {handoff: 'agent://billing', context: [order], reason: 'A refund is due'}}";
    publish(&app, "refund", text).await;
    assert_eq!(run(&app, "refund", json!({ "order": "O-77" })).await, "It is paid back.");
    let asked = model.asked()[0].text.clone();
    assert!(asked.contains("A refund is due") && asked.contains("O-77"), "{asked}");
}

/// SC-4: an agent that is written into a flow uses the model of one that is a service, with instructions, tools and an output
/// of its own; it keeps them while it waits for people, and what it names is not deleted.
async fn an_agent_in_place_borrows_a_model_and_nothing_else(backend: Backend) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    let model = Model::start(|_, asked| match asked.text.contains("\"tool_call_id\"") {
        false => Reply::calls(&[("crm__remove", json!({ "text": "it" }))]),
        true => Reply::says(r#"{"gone": "it"}"#),
    })
    .await;
    app.post("services", crm(&upstream)).await.is(201);
    let own = json!({ "instructions": "You are support.", "tools": ["api://crm/*"], "run_as": "agent" });
    app.post("services", agent("support", &model, own)).await.is(201);
    publish(&app, "tidy", &in_place("support", "[api://crm/remove]")).await;
    let body = json!({ "inputs": { "q": "Tidy up." }, "wait_seconds": 0 });
    let run = app.post("flows/tidy/runs", body).await.is(202).body["id"].as_str().unwrap().to_owned();
    let mut asked = Vec::new();
    eventually("somebody is asked", PATIENCE, async || {
        asked = app.get("approvals").await.is(200).items();
        !asked.is_empty()
    })
    .await;
    let approval = format!("approvals/{}", asked[0]["id"].as_str().unwrap());
    app.post(&approval, json!({ "decision": "approve" })).await.is(200);
    assert_eq!(until(&app, &run, "succeeded").await["output"], json!({ "gone": "it" }));
    assert_eq!((count(&upstream, "/remove"), model.asked().len()), (1, 2));
    for asked in model.asked() {
        assert!(
            asked.text.contains("Be kind.") && !asked.text.contains("You are support."),
            "{}",
            asked.text
        );
        assert_eq!(names(&asked), ["crm__remove"]);
    }
    for service in ["services/agent/support", "services/api/crm"] {
        app.delete(service).await.is_problem(409, "REFERENCED");
    }
    let steps = app.get(&format!("runs/{run}/steps")).await.is(200).items();
    assert_eq!(steps[0]["uri"], "agent://support", "{steps:?}");
    // By itself the service is as it was.
    app.post("agents/support/runs", json!({ "prompt": "Hello." })).await;
    assert!(model.asked()[2].text.contains("You are support."), "{}", model.asked()[2].text);
}

/// An agent in place reaches no more than whoever has published it, whatever the service that it borrows may.
async fn an_agent_in_place_has_its_publisher_s_rights(backend: Backend) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    let model = Model::replies(vec![Reply::says(r#"{"gone": null}"#)]).await;
    app.post("services", crm(&upstream)).await.is(201);
    app.post("services", agent("support", &model, json!({ "run_as": "agent" }))).await.is(201);
    let allow = json!(["agent://support", "flow://*", "api://crm/echo"]);
    let ann = app.with_key(json!({ "name": "ann", "role": "manager", "allow": allow })).await;
    ann.post("flows", json!({ "id": "no", "source": in_place("support", "[api://crm/remove]") }))
        .await
        .is(201);
    let refused = ann.post("flows/no/publish", json!({})).await.is_problem(422, "VALIDATION_FAILED");
    assert!(refused.text.contains("crm__remove"), "{}", refused.text);
    publish(&ann, "some", &in_place("agent://support", "['api://crm/*']")).await;
    assert_eq!(run(&app, "some", json!({ "q": "Hi" })).await, json!({ "gone": null }));
    assert_eq!(names(&model.asked()[0]), ["crm__echo"]);
    // Nobody defines an agent from outside.
    let given = json!({ "prompt": "Hi", "instructions": "Be rude.", "tools": ["api://crm/remove"] });
    app.post("agents/support/runs", given).await.is(422);
}

/// What is wrong with an agent in place is said before it runs.
async fn an_agent_in_place_is_checked_when_it_is_published(backend: Backend) {
    let app = TestApp::start(backend).await;
    for (wrong, code, named) in [
        ("{instructions: x}", "Syntax", "'model' is missing"),
        ("{model: nobody}", "UnknownTool", "nobody"),
        ("{model: 'api://crm/echo'}", "Syntax", "agent"),
        ("{model: a, instructions: 'Dear ${q}'}", "Syntax", "context"),
        ("{model: a, tools: ['api://[*']}", "Syntax", "api://[*"),
        ("{model: a, tools: x}", "Syntax", "list"),
        ("{model: a, output: {type: nothing}}", "Syntax", "nothing"),
        ("{model: a, api_key: x}", "Unknown", "api_key"),
    ] {
        let text =
            format!("inputs: {{q: string}}\nnodes: {{a: {{agent: {wrong}, args: {{prompt: '${{q}}'}}}}}}");
        let found = app.post("flows/validate", json!({ "source": text })).await.is(200);
        let errors = found.body["errors"].as_array().unwrap();
        let is_told = |error: &Value| {
            error["code"] == code && error["message"].as_str().is_some_and(|words| words.contains(named))
        };
        assert!(errors.iter().any(is_told), "{wrong}: {}", found.text);
    }
}

/// A flow with an agent of its own, which answers with data.
fn in_place(model: &str, tools: &str) -> String {
    format!(
        "inputs: {{q: string}}
nodes:
  a:
    agent:
      model: {model}
      instructions: Be kind.
      tools: {tools}
      output: {{type: object, properties: {{gone: {{type: [string, 'null']}}}}, required: [gone]}}
    args: {{prompt: '${{q}}'}}
"
    )
}

/// What the model was offered.
fn names(asked: &ReceivedRequest) -> Vec<&str> {
    let offered = asked.body["tools"].as_array().into_iter().flatten();
    offered.map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}
