//! Questions to a modern client: all at once, sealed with their run, and answered at any process.

use crate::crashes::serve;
use crate::world::{agent, count, crm};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::model::{Model, Reply};
use testkit::{Backend, Client, Database, TestApp, http, on_both_databases};

on_both_databases! {
    all_questions_come_at_once_and_outlive_the_process
    a_state_is_good_for_its_call_and_its_caller_alone
    the_client_s_own_model_answers_after_a_restart
    nobody_answers_for_the_model_of_another_caller
    the_client_s_own_model_cannot_repeat_itself_for_ever
}

const MODERN: &str = "2026-07-28";

/// A client of 2026-07-28 that can do this.
pub(crate) struct Modern<'a> {
    pub(crate) client: &'a Client,
    pub(crate) capabilities: Value,
}

impl Modern<'_> {
    /// The result of a call of an agent, with what is repeated of an earlier one.
    async fn ask(&self, agent: &str, arguments: &Value, again: Value) -> Value {
        let name = format!("{agent}__ask");
        let mut params = json!({ "name": name, "arguments": arguments });
        params.as_object_mut().unwrap().extend(again.as_object().unwrap().clone());
        self.request("tools/call", &name, params).await
    }

    /// What is answered to a request, which names this.
    async fn request(&self, method: &str, name: &str, mut params: Value) -> Value {
        params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" } });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = self.client.request(Method::POST, "/mcp");
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("mcp-protocol-version", MODERN).header("mcp-method", method);
        let text = request.header("mcp-name", name).json(&body).send().await.unwrap().text().await.unwrap();
        let last = text.lines().filter_map(|line| line.strip_prefix("data:")).next_back();
        serde_json::from_str(last.unwrap_or(&text)).unwrap()
    }
}

/// The names of the questions, in their order.
fn questions(asked: &Value) -> Vec<(String, Value)> {
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let questions = asked["result"]["inputRequests"].as_object().unwrap();
    questions.iter().map(|(name, question)| (name.clone(), question.clone())).collect()
}

fn again(asked: &Value, answers: impl Into<Value>) -> Value {
    json!({ "requestState": asked["result"]["requestState"], "inputResponses": answers.into() })
}

fn decided(decision: &str) -> Value {
    json!({ "action": "accept", "content": { "decision": decision, "comment": "not today" } })
}

fn removes() -> Value {
    json!({ "prompt": "Remove both." })
}

/// A model that wants to remove two things, and then tells what it has heard.
async fn model() -> Model {
    Model::start(|_, asked| match asked.text.contains("\"tool_call_id\"") {
        false => {
            Reply::calls(&[("crm__remove", json!({ "text": "a" })), ("crm__remove", json!({ "text": "b" }))])
        }
        true if asked.text.contains("denied") && asked.text.contains("not today") => {
            Reply::says("One is gone.")
        }
        true if asked.text.contains("in time") => Reply::says("Nobody came."),
        true => Reply::says("Both are gone."),
    })
    .await
}

/// AG-13, AG-15: the questions of all calls are one `input_required`; its state is good after a kill at the next process,
/// for exactly these calls, once.
async fn all_questions_come_at_once_and_outlive_the_process(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let model = model().await;
    let mut server = serve(&database);
    let (admin, key) = (server.admin(), server.admin_key().unwrap().to_owned());
    admin.post("services", crm(&upstream)).await.is(201);
    admin.post("services", agent("a", &model, json!({}))).await.is(201);
    let capabilities = json!({ "elicitation": {} });
    let client = Modern { client: &admin, capabilities: capabilities.clone() };
    let asked = client.ask("a", &removes(), json!({})).await;
    let names = questions(&asked);
    let messages: Vec<_> =
        names.iter().map(|(_, question)| question["params"]["message"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2, "{asked}");
    assert!(messages[0].contains(r#"api://crm/remove with {"text":"a"}"#), "{messages:?}");
    assert!(messages[1].contains(r#"api://crm/remove with {"text":"b"}"#), "{messages:?}");
    server.kill();
    server = serve(&database);
    let admin = server.client(&key);
    let client = Modern { client: &admin, capabilities };
    // Whoever answers one of them is asked for the other.
    let first = json!({ &names[0].0: decided("approve") });
    let rest = client.ask("a", &removes(), again(&asked, first)).await;
    assert_eq!(questions(&rest).iter().map(|(name, _)| name).collect::<Vec<_>>(), [&names[1].0], "{rest}");
    assert_eq!(count(&upstream, "/remove"), 0, "nothing is done before all is decided");
    let no = again(&rest, json!({ &names[1].0: decided("reject") }));
    for _ in 0..2 {
        let done = client.ask("a", &removes(), no.clone()).await;
        assert_eq!(done["result"]["structuredContent"]["answer"], "One is gone.", "{done}");
    }
    // A yes that comes late changes nothing any more.
    let late = again(&rest, json!({ &names[1].0: decided("approve") }));
    let done = client.ask("a", &removes(), late).await;
    assert_eq!(done["result"]["structuredContent"]["answer"], "One is gone.", "{done}");
    assert_eq!((count(&upstream, "/remove"), model.asked().len()), (1, 2));
}

/// AG-13: a state that is changed, or comes with another caller, agent or arguments, or answers what was not asked, is
/// refused; `approval_ttl_s` counts although the call is answered.
async fn a_state_is_good_for_its_call_and_its_caller_alone(backend: Backend) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let model = model().await;
    for (id, more) in [("a", json!({})), ("b", json!({})), ("late", json!({ "approval_ttl_s": 1 }))] {
        app.post("services", agent(id, &model, more)).await.is(201);
    }
    let (ada, bob) = (
        app.with_key(json!({ "name": "ada", "role": "caller" })).await,
        app.with_key(json!({ "name": "bob", "role": "caller" })).await,
    );
    let capabilities = json!({ "elicitation": {} });
    let modern = |client| Modern { client, capabilities: capabilities.clone() };
    let asked = modern(&ada).ask("a", &removes(), json!({})).await;
    let names = questions(&asked);
    let yes = json!({ &names[0].0: decided("approve"), &names[1].0: decided("approve") });
    let good = again(&asked, yes.clone());
    let mut changed = good.clone();
    let state = changed["requestState"].as_str().unwrap();
    changed["requestState"] = format!("{}{}", &state[1..], &state[..1]).into();
    let mut invented = good.clone();
    invented["inputResponses"]["other"] = decided("approve");
    let other = json!({ "prompt": "Remove everything." });
    for (refused, named) in [
        (modern(&ada).ask("a", &removes(), changed).await, "requestState"),
        (modern(&bob).ask("a", &removes(), good.clone()).await, "requestState"),
        (modern(&ada).ask("b", &removes(), good.clone()).await, "requestState"),
        (modern(&ada).ask("a", &other, good.clone()).await, "requestState"),
        (modern(&ada).ask("a", &removes(), json!({ "requestState": 7 })).await, "requestState"),
        (modern(&ada).ask("a", &removes(), invented).await, "inputResponses"),
    ] {
        assert!(refused["result"]["structuredContent"]["answer"].is_null(), "{refused}");
        assert!(refused.to_string().contains(named), "{refused}");
    }
    // Of answers with one that is refused none counts.
    let asked = modern(&ada).ask("a", &removes(), again(&asked, json!({}))).await;
    assert_eq!(questions(&asked).len(), 2, "{asked}");
    assert_eq!(count(&upstream, "/remove"), 0);
    let done = modern(&ada).ask("a", &removes(), good).await;
    assert_eq!(done["result"]["structuredContent"]["answer"], "Both are gone.", "{done}");
    assert_eq!(count(&upstream, "/remove"), 2);
    // The approvals of this one end before they are answered.
    let asked = modern(&ada).ask("late", &removes(), json!({})).await;
    let names = questions(&asked);
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    let yes = json!({ &names[0].0: decided("approve"), &names[1].0: decided("approve") });
    let done = modern(&ada).ask("late", &removes(), again(&asked, yes)).await;
    assert_eq!(done["result"]["structuredContent"]["answer"], "Nobody came.", "{done}");
    assert_eq!(count(&upstream, "/remove"), 2);
}

/// AG-13, AG-17: with a modern client's own model the run has a journal: each of its questions is the outcome of a call,
/// and answered at any process; what a person has to approve waits, too, and conversations are kept.
async fn the_client_s_own_model_answers_after_a_restart(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let mut server = serve(&database);
    let (admin, key) = (server.admin(), server.admin_key().unwrap().to_owned());
    admin.post("services", crm(&upstream)).await.is(201);
    let config = json!({ "provider": "client", "tools": ["api://crm/*"] });
    admin.post("services", json!({ "type": "agent", "id": "a", "config": config })).await.is(201);
    let able = json!({ "sampling": { "tools": {} }, "elicitation": {} });
    let said = |text: &str| json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": text } });
    let wants = json!({ "role": "assistant", "model": "m", "stopReason": "toolUse", "content":
        [{ "type": "tool_use", "id": "1", "name": "crm__remove", "input": { "text": "a" } }] });
    let prompt = json!({ "prompt": "Remove it.", "conversation": "new" });
    let client = Modern { client: &admin, capabilities: able.clone() };
    let asked = client.ask("a", &prompt, json!({})).await;
    let [(name, question)] = &questions(&asked)[..] else { panic!("{asked}") };
    assert_eq!(question["method"], "sampling/createMessage", "{asked}");
    assert_eq!(question["params"]["messages"][0]["content"]["text"], "Remove it.", "{asked}");
    server.kill();
    server = serve(&database);
    let admin = server.client(&key);
    let client = Modern { client: &admin, capabilities: able.clone() };
    let asked = client.ask("a", &prompt, again(&asked, json!({ name: wants }))).await;
    let [(name, question)] = &questions(&asked)[..] else { panic!("{asked}") };
    assert_eq!((&question["method"], count(&upstream, "/remove")), (&json!("elicitation/create"), 0));
    let asked = client.ask("a", &prompt, again(&asked, json!({ name: decided("approve") }))).await;
    let [(name, question)] = &questions(&asked)[..] else { panic!("{asked}") };
    assert!(question["params"]["messages"].to_string().contains("tool_result"), "{asked}");
    assert_eq!(count(&upstream, "/remove"), 1);
    let done = client.ask("a", &prompt, again(&asked, json!({ name: said("It is gone.") }))).await;
    let told = &done["result"]["structuredContent"];
    assert_eq!(
        (&told["answer"], &told["usage"]["input_tokens"]),
        (&json!("It is gone."), &Value::Null),
        "{done}"
    );
    assert!(told["conversation"].is_string(), "{done}");
    a_client_without_a_person(&admin, &upstream, &wants, &said("Gone, too.")).await;
    // Without a model nothing begins.
    let nobody = Modern { client: &admin, capabilities: json!({ "elicitation": {} }) };
    let refused = nobody.ask("a", &prompt, json!({})).await;
    assert!(refused.to_string().contains("'sampling'"), "{refused}");
}

/// A client whose person cannot be asked is told that the run waits, and for what.
async fn a_client_without_a_person(admin: &Client, upstream: &http::Server, wants: &Value, says: &Value) {
    let mute = Modern { client: admin, capabilities: json!({ "sampling": { "tools": {} } }) };
    let prompt = json!({ "prompt": "Remove it." });
    let asked = mute.ask("a", &prompt, json!({})).await;
    let name = &questions(&asked)[0].0;
    let waits = mute.ask("a", &prompt, again(&asked, json!({ name: wants }))).await;
    let told = &waits["result"]["structuredContent"];
    assert_eq!(
        (&told["state"], &told["approvals"][0]["tool"]),
        (&json!("waiting"), &json!("crm__remove")),
        "{waits}"
    );
    let approval = told["approvals"][0]["id"].as_str().unwrap();
    admin.post(&format!("approvals/{approval}"), json!({ "decision": "approve" })).await.is(200);
    let run = json!({ "run": told["run"] });
    let asked = mute.ask("a", &run, json!({})).await;
    let name = &questions(&asked)[0].0;
    let done = mute.ask("a", &run, again(&asked, json!({ name: says }))).await;
    assert_eq!(done["result"]["structuredContent"]["answer"], "Gone, too.", "{done}");
    assert_eq!(count(upstream, "/remove"), 2);
}

/// AG-17: what the model of a caller's program is asked is shown to that caller, and answered by it, alone: a manager
/// who may look at the run is refused aloud.
async fn nobody_answers_for_the_model_of_another_caller(backend: Backend) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let config = json!({ "provider": "client", "tools": ["api://crm/*"], "approval": "never" });
    app.post("services", json!({ "type": "agent", "id": "a", "config": config })).await.is(201);
    let ada = app.with_key(json!({ "name": "ada", "role": "caller" })).await;
    let bob = app.with_key(json!({ "name": "bob", "role": "manager" })).await;
    let capabilities = json!({ "sampling": { "tools": {} }, "elicitation": {},
        "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let modern = |client| Modern { client, capabilities: capabilities.clone() };
    let (ada, bob) = (modern(&ada), modern(&bob));
    let prompt = json!({ "prompt": "My salary is 4711.", "conversation": "new" });
    let asked = ada.ask("a", &prompt, json!({})).await;
    let [(name, _)] = &questions(&asked)[..] else { panic!("{asked}") };
    let run = app.get("runs?agent=a").await.is(200).items()[0]["id"].as_str().unwrap().to_owned();
    let seen = bob.ask("a", &json!({ "run": run }), json!({})).await;
    assert_eq!(seen["result"]["structuredContent"]["state"], "waiting", "{seen}");
    let task = bob.request("tasks/get", &run, json!({ "taskId": run })).await;
    assert_eq!(task["result"]["status"], "working", "{task}");
    assert!(!format!("{seen}{task}").contains("4711"), "{seen} {task}");
    let wants = json!([{ "type": "tool_use", "id": "1", "name": "crm__remove", "input": { "text": "a" } }]);
    let content = json!({ "role": "assistant", "model": "m", "stopReason": "toolUse", "content": wants });
    let answer =
        json!({ "taskId": run, "inputResponses": { name: { "action": "accept", "content": content } } });
    let refused = bob.request("tasks/update", &run, answer).await;
    let message = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{refused}"));
    assert!(message.contains("bob may not answer") && message.contains("ada's own program"), "{message}");
    let says = json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "Noted." } });
    let done = ada.ask("a", &prompt, again(&asked, json!({ name: says }))).await;
    assert_eq!(done["result"]["structuredContent"]["answer"], "Noted.", "{done}");
    assert_eq!(count(&upstream, "/remove"), 0, "what others say for the model is not done");
}

/// F7, AG-11: a call that the client's own model repeats is counted over all calls of the agent, each of which takes the run up
/// again.
async fn the_client_s_own_model_cannot_repeat_itself_for_ever(backend: Backend) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let config = json!({ "provider": "client", "tools": ["api://crm/*"] });
    app.post("services", json!({ "type": "agent", "id": "a", "config": config })).await.is(201);
    let client = Modern { client: &app, capabilities: json!({ "sampling": { "tools": {} } }) };
    let wants = json!({ "role": "assistant", "model": "m", "stopReason": "toolUse", "content":
        [{ "type": "tool_use", "id": "1", "name": "crm__echo", "input": {} }] });
    let prompt = json!({ "prompt": "Go." });
    let mut told = client.ask("a", &prompt, json!({})).await;
    for _ in 0..5 {
        let name = questions(&told)[0].0.clone();
        told = client.ask("a", &prompt, again(&told, json!({ name: wants }))).await;
    }
    assert_eq!(told["result"]["structuredContent"]["error"]["reason"], "LOOP", "{told}");
    assert_eq!(count(&upstream, "/echo"), 3);
}
