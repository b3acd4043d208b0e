//! Calls that somebody has to approve who is not there: the run waits, and goes on when it was decided.

use crate::world::{PATIENCE, agent, begin, count, crm, ended, until};
use serde_json::{Value, json};
use testkit::model::{Model, Reply};
use testkit::{Backend, Client, TestApp, eventually, http, on_both_databases};

on_both_databases! {
    a_run_waits_for_approval_and_does_what_was_approved
    a_manager_decides_and_never_the_caller
    nobody_decides_with_another_of_their_keys
    nobody_decides_as_a_user_they_have_made
    what_an_agent_asks_is_seen_by_its_caller_and_by_managers
    a_call_that_nobody_approves_in_time_is_not_made
    a_flow_waits_with_its_agent
    what_is_decided_while_another_call_runs_is_heard
    what_was_approved_is_not_spent_on_another_tool
}

/// An agent that wants to remove something, and then tells what the model has read last.
async fn world(backend: Backend, more: Value) -> (TestApp, http::Server, Model) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let model = Model::start(|_, asked| match asked.text.contains("\"tool_call_id\"") {
        false => {
            let calls = [("crm__echo", json!({})), ("crm__remove", json!({ "text": "it" }))];
            Reply::calls(&calls)
        }
        true if asked.text.contains("denied") => Reply::says("It stays."),
        true if asked.text.contains("in time") => Reply::says("Nobody came."),
        true => Reply::says("It is gone."),
    })
    .await;
    app.post("services", agent("a", &model, more)).await.is(201);
    (app, upstream, model)
}

async fn asked(client: &Client) -> Vec<Value> {
    client.get("approvals").await.is(200).items()
}

async fn decide(client: &Client, approval: &Value, decision: &str) -> testkit::Reply {
    let path = format!("approvals/{}", approval["id"].as_str().unwrap());
    client.post(&path, json!({ "decision": decision, "comment": "because" })).await
}

/// AG-13, AG-15: a plain call whose caller cannot be asked becomes a run that waits; what needs no approval is done before,
/// and once.
async fn a_run_waits_for_approval_and_does_what_was_approved(backend: Backend) {
    let (app, upstream, model) = world(backend, json!({})).await;
    let ada = app.with_key(json!({ "name": "ada", "role": "caller" })).await;
    let waiting = ada.post("agents/a/runs", json!({ "prompt": "Remove it." })).await.is(202).body;
    let told = &waiting["structuredContent"];
    assert_eq!(told["state"], "waiting", "{waiting}");
    let wanted = &told["approvals"][0];
    assert_eq!((&wanted["tool"], &wanted["uri"]), (&json!("crm__remove"), &json!("api://crm/remove")));
    assert_eq!(wanted["arguments"], json!({ "text": "it" }), "{waiting}");
    assert!(wanted["expires_at"].is_string(), "{waiting}");
    assert_eq!((count(&upstream, "/echo"), count(&upstream, "/remove")), (1, 0));
    let run = told["run"].as_str().unwrap();
    // Nobody else is asked, nor sees it.
    let bob = app.with_key(json!({ "name": "bob", "role": "caller" })).await;
    assert!(asked(&bob).await.is_empty());
    let refused = decide(&bob, wanted, "approve").await.is(404).body["detail"].clone();
    assert_eq!(refused, decide(&bob, &json!({ "id": "none" }), "approve").await.is(404).body["detail"]);
    assert_eq!(asked(&ada).await[0]["id"], wanted["id"]);
    decide(&ada, wanted, "approve").await.is(200);
    decide(&ada, wanted, "reject").await.is(409);
    let answer = ended(&ada, "a", run).await;
    assert_eq!(answer["structuredContent"]["answer"], "It is gone.", "{answer}");
    assert_eq!((count(&upstream, "/echo"), count(&upstream, "/remove")), (1, 1));
    assert_eq!(model.asked().len(), 2, "the model is asked once for each step");
}

/// AG-13: with `approval_by: manager` managers decide, and never whoever called, not even as a manager.
async fn a_manager_decides_and_never_the_caller(backend: Backend) {
    let (app, upstream, _model) = world(backend, json!({ "approval_by": "manager" })).await;
    let key = |name: &str, role: &str| json!({ "name": name, "role": role });
    let (ada, max) = (app.with_key(key("ada", "caller")).await, app.with_key(key("max", "manager")).await);
    for client in [&ada, &max] {
        let run = begin(client, "a", "Remove it.").await;
        until(client, &run, "waiting").await;
        let wanted = asked(&app).await.remove(0);
        assert_eq!(wanted["title"]["arguments"], json!({ "text": "it" }), "{wanted}");
        decide(client, &wanted, "approve").await.is(403);
        decide(&app, &wanted, "reject").await.is(200);
        let answer = ended(client, "a", &run).await;
        assert_eq!(answer["structuredContent"]["answer"], "It stays.", "{answer}");
    }
    assert_eq!(count(&upstream, "/remove"), 0);
}

/// A manager's key that this client makes, and its id.
async fn minted(by: &Client, name: &str) -> (Client, String) {
    let made = by.post("keys", json!({ "name": name, "role": "manager" })).await.is(201);
    (by.as_key(made.string("key")), made.string("id"))
}

/// AG-13: whoever called does not decide with another identity either: with a key that it has made, or that has made it, also
/// where the one between them is gone, or as the user behind it.
async fn nobody_decides_with_another_of_their_keys(backend: Backend) {
    let (app, upstream, _model) = world(backend, json!({ "approval_by": "manager" })).await;
    let key = |name: &str| json!({ "name": name, "role": "manager" });
    let (max, eve) = (app.with_key(key("max")).await, app.with_key(key("eve")).await);
    let (second, id) = minted(&max, "second").await;
    let (third, _) = minted(&second, "third").await;
    max.delete(&format!("keys/{id}")).await.is(204);
    let login = json!({ "tenant": "default", "username": "bob", "password": "a long pass phrase" });
    let mut user = login.clone();
    user["role"] = "manager".into();
    app.post("users", user).await.is(201);
    let bob = app.as_key(app.as_nobody().post("auth/login", login).await.is(200).string("token"));
    let (key_of_bob, _) = minted(&bob, "bob's").await;
    for (asks, decides) in [(&max, &third), (&third, &max), (&key_of_bob, &bob), (&bob, &key_of_bob)] {
        let run = begin(asks, "a", "Remove it.").await;
        until(asks, &run, "waiting").await;
        let wanted = asked(&eve).await.remove(0);
        decide(decides, &wanted, "approve").await.is(403);
        decide(&eve, &wanted, "reject").await.is(200);
        until(asks, &run, "succeeded").await;
    }
    assert_eq!(count(&upstream, "/remove"), 0);
}

/// AG-13: whoever makes a user is behind it, and behind its keys; whom an admin of the platform makes is somebody.
async fn nobody_decides_as_a_user_they_have_made(backend: Backend) {
    let (app, upstream, _model) = world(backend, json!({ "approval_by": "manager" })).await;
    let user = |name: &str| json!({ "tenant": "default", "username": name, "password": "a long pass phrase", "role": "manager" });
    let login = async |name: &str| {
        let mut login = user(name);
        login.as_object_mut().unwrap().remove("role");
        app.as_key(app.as_nobody().post("auth/login", login).await.is(200).string("token"))
    };
    for name in ["ada", "bob"] {
        app.post("users", user(name)).await.is(201);
    }
    let (ada, bob) = (login("ada").await, login("bob").await);
    ada.post("users", user("puppet")).await.is(201);
    let puppet = login("puppet").await;
    let (key_of_puppet, _) = minted(&puppet, "puppet's").await;
    for (asks, decides) in [(&ada, &puppet), (&puppet, &ada), (&ada, &key_of_puppet)] {
        let run = begin(asks, "a", "Remove it.").await;
        until(asks, &run, "waiting").await;
        let wanted = asked(&bob).await.remove(0);
        decide(decides, &wanted, "approve").await.is(403);
        decide(&bob, &wanted, "reject").await.is(200);
        until(asks, &run, "succeeded").await;
    }
    assert_eq!(count(&upstream, "/remove"), 0);
}

/// AG-13, AG-15: lists show of agents what is one's own, and managers all: what was said to an agent is nobody else's, not even
/// a viewer's, who sees the runs of flows.
async fn what_an_agent_asks_is_seen_by_its_caller_and_by_managers(backend: Backend) {
    let (app, _upstream, _model) = world(backend, json!({})).await;
    app.post("flows", json!({ "id": "f", "source": "nodes: {a: {with: 1}}" })).await.is(201);
    app.post("flows/f/publish", json!({})).await.is(200);
    let flow = app.post("flows/f/runs", json!({})).await.is(202).string("id");
    until(&app, &flow, "succeeded").await;
    let key = |name: &str, role: &str| json!({ "name": name, "role": role });
    let (ada, vic) = (app.with_key(key("ada", "caller")).await, app.with_key(key("vic", "viewer")).await);
    let run = begin(&ada, "a", "Remove it.").await;
    until(&ada, &run, "waiting").await;
    let runs = async |client: &Client| -> Vec<Value> {
        client.get("runs").await.is(200).items().into_iter().map(|run| run["agent"].clone()).collect()
    };
    for (client, expected, approvals) in
        [(&*app, vec![json!("a"), Value::Null], 1), (&ada, vec![json!("a")], 1), (&vic, vec![Value::Null], 0)]
    {
        assert_eq!(runs(client).await, expected);
        assert_eq!(asked(client).await.len(), approvals);
    }
    vic.get(&format!("runs/{run}")).await.is(404);
}

/// AG-13: what nobody has approved in time is told to the model, and not done.
async fn a_call_that_nobody_approves_in_time_is_not_made(backend: Backend) {
    let (app, upstream, _model) = world(backend, json!({ "approval_ttl_s": 1 })).await;
    let run = begin(&app, "a", "Remove it.").await;
    let ended = until(&app, &run, "succeeded").await;
    assert_eq!(ended["output"]["answer"], "Nobody came.", "{ended}");
    assert_eq!((count(&upstream, "/remove"), asked(&app).await.len()), (0, 0));
}

/// AG-13: an agent that waits has the run of its flow wait, which goes on with what the agent answers.
async fn a_flow_waits_with_its_agent(backend: Backend) {
    let (app, _upstream, _model) = world(backend, json!({})).await;
    let source = "nodes:\n  think: {agent: a, args: {prompt: Remove it.}}\noutput: {said: \"${think}\"}";
    app.post("flows", json!({ "id": "f", "source": source })).await.is(201);
    app.post("flows/f/publish", json!({})).await.is(200);
    let run = app.post("flows/f/runs", json!({})).await.is(202).string("id");
    until(&app, &run, "waiting").await;
    // The flow waits as soon as the agent has begun.
    eventually("somebody is asked", PATIENCE, async || asked(&app).await.len() == 1).await;
    let wanted = asked(&app).await.remove(0);
    decide(&app, &wanted, "approve").await.is(200);
    let ended = until(&app, &run, "succeeded").await;
    assert_eq!(ended["output"], json!({ "said": "It is gone." }), "{ended}");
}

/// AG-13: an agent inside another one asks for approval, and is answered while the outer one is still at another call: nobody sleeps
/// through the answer when that call ends.
async fn what_is_decided_while_another_call_runs_is_heard(backend: Backend) {
    let (app, upstream, _model) = world(backend, json!({})).await;
    let outer = Model::start(|_, asked| match asked.text.contains("\"tool_call_id\"") {
        false => Reply::calls(&[("a__ask", json!({ "prompt": "Remove it." })), ("crm__wait", json!({}))]),
        true => Reply::says("Both are done."),
    })
    .await;
    let tools = json!({ "tools": ["agent://a", "api://crm/wait"] });
    app.post("services", agent("outer", &outer, tools)).await.is(201);
    let run = begin(&app, "outer", "Remove it and wait.").await;
    eventually("somebody is asked", PATIENCE, async || asked(&app).await.len() == 1).await;
    assert_eq!(app.get(&format!("runs/{run}")).await.is(200).string("state"), "running");
    let wanted = asked(&app).await.remove(0);
    decide(&app, &wanted, "approve").await.is(200);
    let answer = ended(&app, "outer", &run).await;
    assert_eq!(answer["structuredContent"]["answer"], "Both are done.", "{answer}");
    assert_eq!((count(&upstream, "/remove"), count(&upstream, "/slow/4002")), (1, 1));
}

/// AG-13: an approval is one of the address that was shown: where the name leads elsewhere by now, nothing is called.
async fn what_was_approved_is_not_spent_on_another_tool(backend: Backend) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let model = Model::start(|_, asked| match asked.text.contains("\"tool_call_id\"") {
        false => Reply::calls(&[("act", json!({ "text": "it" }))]),
        true if asked.text.contains("is another tool by now") => Reply::says("It has changed."),
        true => Reply::says("It is done."),
    })
    .await;
    let bound = |tool: &str| {
        let tools = json!([{ "uri": format!("api://crm/{tool}"), "as": "act", "approval": "always" }]);
        agent("a", &model, json!({ "tools": tools }))
    };
    app.post("services", bound("echo")).await.is(201);
    let run = begin(&app, "a", "Do it.").await;
    until(&app, &run, "waiting").await;
    let wanted = asked(&app).await.remove(0);
    assert_eq!(wanted["title"]["uri"], "api://crm/echo", "{wanted}");
    app.patch("services/agent/a", json!({ "config": bound("remove")["config"] })).await.is(200);
    decide(&app, &wanted, "approve").await.is(200);
    let answer = ended(&app, "a", &run).await;
    assert_eq!(answer["structuredContent"]["answer"], "It has changed.", "{answer}");
    assert_eq!((count(&upstream, "/remove"), count(&upstream, "/echo")), (0, 0));
}
