//! Rights that change while a run is under way: the next step has those of its moment.

use crate::world::{PATIENCE, agent, begin, count, crm, until};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::model::{Model, Reply};
use testkit::{Backend, Client, TestApp, client, eventually, http};

/// An agent whose model takes its time, and then wants to call something.
async fn slow_agent(app: &TestApp, id: &str) -> Model {
    let late = Duration::from_millis(1500);
    let model = Model::start(move |_, asked| match asked.text.contains("\"tool_call_id\"") {
        false => Reply::Late(late, Box::new(Reply::calls(&[("crm__echo", json!({}))]))),
        true => Reply::says("Gone."),
    })
    .await;
    app.post("services", agent(id, &model, json!({}))).await.is(201);
    model
}

/// What becomes of a call that is waited for and of a run that goes on by itself, when this happens while the model of each
/// thinks.
async fn changed(
    app: &TestApp,
    who: &Client,
    id: &str,
    model: &Model,
    change: (Method, &str, Value),
) -> [Value; 2] {
    let asked = who.clone();
    let path = format!("agents/{id}/runs");
    let waited_for = tokio::spawn(async move { asked.post(&path, json!({ "prompt": "Go." })).await });
    let run = begin(who, id, "Go.").await;
    eventually("both models think", PATIENCE, async || model.asked().len() == 2).await;
    let (method, path, body) = change;
    let reply = client::send_json(app.request(method, path), &body).await;
    assert!(reply.status < 300, "{}", reply.text);
    let answer = waited_for.await.unwrap().body;
    let mut view = Value::Null;
    eventually("the run ends", PATIENCE, async || {
        view = app.get(&format!("runs/{run}")).await.is(200).body;
        view["ended_at"].is_string()
    })
    .await;
    [answer["structuredContent"].clone(), view]
}

/// F11, AG-6: a key that is deleted, disabled or may call less, and an agent that is gone or switched off, end the run at its
/// next step: no tool is called, and no model is asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_is_lost_during_a_run_is_lost_at_the_next_step() {
    let (app, upstream) = (TestApp::start(Backend::Sqlite).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let changes = [
        (Method::DELETE, "keys/KEY", json!({})),
        (Method::PATCH, "keys/KEY", json!({ "status": "disabled" })),
        (Method::PATCH, "keys/KEY", json!({ "role": "viewer" })),
        (Method::PATCH, "keys/KEY", json!({ "allow": ["agent://*"] })),
        (Method::POST, "services/agent/AGENT/disable", json!({})),
        (Method::DELETE, "services/agent/AGENT", json!({})),
    ];
    for (at, (method, path, body)) in changes.into_iter().enumerate() {
        let id = format!("a{at}");
        let model = slow_agent(&app, &id).await;
        let key = app.post("keys", json!({ "name": id, "role": "caller" })).await.is(201);
        let path = path.replace("KEY", &key.string("id")).replace("AGENT", &id);
        let who = app.as_key(key.string("key"));
        let ended = changed(&app, &who, &id, &model, (method, &path, body.clone())).await;
        for told in &ended {
            let code = told["error"]["code"].as_str().unwrap_or_default();
            let expected = ["FORBIDDEN", "SERVICE_DISABLED", "NOT_FOUND", "TOOL_NOT_FOUND"];
            assert!(told["state"] == "failed" && expected.contains(&code), "{path} {body}: {told}");
        }
        assert_eq!((count(&upstream, "/echo"), model.asked().len()), (0, 2), "{path} {body}");
    }
}

/// F11: a tool that is taken from the agent during a run is not called, and not told to the model any more; others are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_an_agent_has_lost_is_not_called() {
    let (app, upstream) = (TestApp::start(Backend::Sqlite).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let model = slow_agent(&app, "a").await;
    let config = agent("a", &model, json!({ "tools": ["api://crm/remove"] }))["config"].clone();
    let patch = (Method::PATCH, "services/agent/a", json!({ "config": config }));
    let [answer, run] = changed(&app, &app, "a", &model, patch).await;
    assert_eq!((&answer["answer"], &run["output"]["answer"]), (&json!("Gone."), &json!("Gone.")), "{run}");
    assert_eq!((count(&upstream, "/echo"), model.asked().len()), (0, 4));
    let told = &model.asked()[3];
    let names: Vec<_> =
        told.body["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["crm__remove"]);
    assert!(told.text.contains("has no tool 'crm__echo' any more"), "{}", told.text);
}

/// AG-6: inside a flow the flow's rights stand for those of whoever started it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_s_agent_goes_on_with_the_flow_s_rights() {
    let (app, upstream) = (TestApp::start(Backend::Sqlite).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let model = slow_agent(&app, "a").await;
    let source = "nodes:\n  think: {agent: a, args: {prompt: Go.}}\noutput: {said: \"${think}\"}";
    app.post("flows", json!({ "id": "f", "source": source })).await.is(201);
    app.post("flows/f/publish", json!({})).await.is(200);
    let key = app.post("keys", json!({ "name": "k", "role": "caller", "allow": ["flow://f"] })).await.is(201);
    let run = app.as_key(key.string("key")).post("flows/f/runs", json!({})).await.is(202).string("id");
    eventually("the model thinks", PATIENCE, async || model.asked().len() == 1).await;
    app.patch(&format!("keys/{}", key.string("id")), json!({ "allow": ["api://none/x"] })).await.is(200);
    let ended = until(&app, &run, "succeeded").await;
    assert_eq!((&ended["output"]["said"], count(&upstream, "/echo")), (&json!("Gone."), 1), "{ended}");
}

/// SC-4, AG-2: an agent that hands over to a service or is bound to its tools is a reference to it, which keeps it from being
/// deleted by mistake. One that fits many goes on without it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_are_references_to_what_they_name() {
    let (app, upstream) = (TestApp::start(Backend::Sqlite).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let model = Model::replies(vec![Reply::says("ok")]).await;
    app.post("services", agent("b", &model, json!({ "tools": ["api://*"] }))).await.is(201);
    let handoffs = json!([{ "to": "agent://b", "when": "always" }]);
    app.post("services", agent("a", &model, json!({ "handoffs": handoffs }))).await.is(201);
    for (service, uri) in [("agent/b", "agent://b"), ("api/crm", "api://crm/*")] {
        let found = app.get(&format!("services/{service}/references")).await.is(200).items();
        let told: Vec<_> = found.iter().map(|one| (&one["type"], &one["id"], &one["uri"])).collect();
        assert_eq!(told, [(&json!("agent"), &json!("a"), &json!(uri))], "{service}");
        let refused = app.delete(&format!("services/{service}")).await.is_problem(409, "REFERENCED");
        assert!(refused.text.contains("agent a"), "{}", refused.text);
        app.delete(&format!("services/{service}?force=true")).await.is(204);
    }
    app.delete("services/agent/a").await.is(204);
}

/// AG-5, AG-15: a run that is kept is one call of its caller's, as a plain one is, however often it is taken up: its tools count
/// by themselves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_kept_is_one_call() {
    let (app, upstream) = (TestApp::start(Backend::Sqlite).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let model = Model::replies(vec![Reply::says("Done.")]).await;
    app.post("services", agent("a", &model, json!({ "tools": [] }))).await.is(201);
    for more in [json!({}), json!({ "conversation": "new" }), json!({ "wait_seconds": 0 })] {
        let key = json!({ "name": "k", "role": "caller", "limits": { "calls_per_minute": 1 } });
        let who = app.with_key(key).await;
        let mut body = json!({ "prompt": "Go." });
        body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let told = who.post("agents/a/runs", body).await.body["structuredContent"].clone();
        let run = told["run"].as_str().unwrap();
        match told["state"].as_str() {
            Some("succeeded") => {}
            _ => drop(until(&who, run, "succeeded").await),
        }
        who.post("agents/a/runs", json!({ "prompt": "Go." })).await.is(429);
    }
}
