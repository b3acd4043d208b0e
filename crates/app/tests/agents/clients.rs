//! Agents for MCP clients of both eras: a person is asked before something is destroyed, and steps are told.

use reqwest::{Method, Response};
use serde_json::{Value, json};
use testkit::model::{Model, Reply};
use testkit::{Backend, Client, TestApp, http};

const ACCEPT: &str = "application/json, text/event-stream";
pub(crate) const MODERN: &str = "2026-07-28";
/// A door in search mode.
const SEARCHED: &str = "/mcp?tools=search";

/// What a modern client says of itself that can ask its person.
pub(crate) fn capable() -> Value {
    json!({ "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" } })
}

/// Sends a call of a tool as a modern client does, and gives the response.
pub(crate) async fn post(app: &TestApp, tool: &str, body: Value) -> Value {
    let door = if tool == "call_tool" { SEARCHED } else { "/mcp" };
    let request = app.request(Method::POST, door).header("accept", ACCEPT);
    let request = request.header("mcp-protocol-version", MODERN).header("mcp-method", "tools/call");
    let response = request.header("mcp-name", tool).json(&body).send().await.unwrap();
    last_message(&response.text().await.unwrap())
}

/// Begins a session of a legacy client that can ask its person.
pub(crate) async fn session(app: &Client) -> String {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "t", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let request = app.request(Method::POST, "/mcp").header("accept", ACCEPT);
    let hello = request.json(&hello).send().await.unwrap();
    hello.headers()["mcp-session-id"].to_str().unwrap().to_owned()
}

/// Sends a message within a session.
pub(crate) async fn send(app: &Client, session: &str, body: &Value) -> Response {
    let door = if body["params"]["name"] == "call_tool" { SEARCHED } else { "/mcp" };
    let request = app.request(Method::POST, door).header("accept", ACCEPT).header("mcp-session-id", session);
    request.json(body).send().await.unwrap()
}

/// An agent that wants to remove something, and then says so.
async fn world() -> (TestApp, http::Server, Model) {
    let app = TestApp::start(Backend::Sqlite).await;
    let api = http::Server::start().await;
    let service = json!({ "type": "api", "id": "crm", "config": { "base_url": api.url() },
        "tools": [{ "id": "remove", "endpoint": "/remove", "method": "DELETE" }] });
    app.post("services", service).await.is(201);
    let model = Model::start(|number, _| match number % 2 {
        0 => Reply::calls(&[("crm__remove", json!({}))]),
        _ => Reply::says("It is gone."),
    })
    .await;
    let config =
        json!({ "provider": "openai", "base_url": model.url(), "model": "m", "tools": ["api://crm/remove"] });
    app.post("services", json!({ "type": "agent", "id": "a", "config": config })).await.is(201);
    (app, api, model)
}

fn call(id: u64, more: &Value) -> Value {
    let mut params = json!({ "name": "a__ask", "arguments": { "prompt": "Remove it." } });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

/// Calls a tool as a modern client that is asked once, and approves; nothing is done before.
pub(crate) async fn approve_as_modern(
    app: &TestApp,
    tool: &str,
    ask: impl Fn(u64, &Value) -> Value,
) -> Value {
    let asked = post(app, tool, ask(1, &json!({ "_meta": capable() }))).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let requests = asked["result"]["inputRequests"].as_object().unwrap();
    let message = requests.values().next().unwrap()["params"]["message"].as_str().unwrap();
    assert!(message.contains("api://"), "{message}");
    let yes = json!({ "action": "accept", "content": { "decision": "approve" } });
    let answers: Value = requests.keys().map(|name| (name.clone(), yes.clone())).collect();
    let state = &asked["result"]["requestState"];
    let more = json!({ "_meta": capable(), "inputResponses": answers, "requestState": state });
    post(app, tool, ask(2, &more)).await
}

/// Calls a tool as a client with a handshake that is asked once while the call runs; all that it hears.
pub(crate) async fn answer_as_legacy(app: &TestApp, call: &Value, answer: &Value) -> Vec<Value> {
    let session = session(app).await;
    let mut stream = send(app, &session, call).await;
    let (mut heard, mut is_answered) = (String::new(), false);
    while let Some(chunk) = stream.chunk().await.unwrap() {
        heard.push_str(&String::from_utf8_lossy(&chunk));
        let question = messages(&heard).into_iter().find(|message| message["method"] == "elicitation/create");
        if let Some(question) = question.filter(|_| !is_answered) {
            is_answered = true;
            let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer });
            send(app, &session, &answer).await;
        }
    }
    assert!(is_answered, "{heard}");
    messages(&heard)
}

/// AG-13: a client of 2026-07-28 gets the question as a result, and repeats its request with the answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_modern_client_is_asked_before_something_is_destroyed() {
    let (app, api, _model) = world().await;
    let done = approve_as_modern(&app, "a__ask", |id, more| {
        assert!(api.requests().is_empty(), "nothing is done before");
        call(id, more)
    })
    .await;
    assert_eq!(done["result"]["structuredContent"]["answer"], "It is gone.", "{done}");
    assert_eq!(api.requests().len(), 1);
}

/// AG-13: a client with a handshake is asked while its call runs, and hears of the steps.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_legacy_client_is_asked_while_its_call_runs() {
    let (app, api, _model) = world().await;
    let more = json!({ "_meta": { "progressToken": "p" } });
    let no = json!({ "action": "accept", "content": { "decision": "reject", "comment": "not today" } });
    let all = answer_as_legacy(&app, &call(2, &more), &no).await;
    assert_eq!(all.last().unwrap()["result"]["structuredContent"]["answer"], "It is gone.", "{all:?}");
    assert!(api.requests().is_empty(), "what was rejected is not done");
    let progress = all.iter().filter(|message| message["method"] == "notifications/progress");
    let words: Vec<_> = progress.filter_map(|message| message["params"]["message"].as_str()).collect();
    assert!(
        words.contains(&"thinks") && words.contains(&"asks whether it may call crm__remove"),
        "{words:?}"
    );
}

/// TS-4: what a tool asks its client comes through `call_tool`, too, in both eras.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_come_through_call_tool_in_both_eras() {
    let (app, api, _model) = world().await;
    let through = |id: u64, more: &Value| {
        let mut call = call(id, more);
        let meant = json!({ "name": "a__ask", "arguments": call["params"]["arguments"] });
        call["params"]["name"] = "call_tool".into();
        call["params"]["arguments"] = meant;
        call
    };
    let done = approve_as_modern(&app, "call_tool", through).await;
    assert_eq!(done["result"]["structuredContent"]["answer"], "It is gone.", "{done}");
    let yes = json!({ "action": "accept", "content": { "decision": "approve" } });
    let all = answer_as_legacy(&app, &through(2, &json!({})), &yes).await;
    assert_eq!(all.last().unwrap()["result"]["structuredContent"]["answer"], "It is gone.", "{all:?}");
    assert_eq!(api.requests().len(), 2);
    let records = app.get("audit?tool=a__ask").await.is(200).items();
    // One for each ask, also where the client has come back with answers.
    assert_eq!(records.len(), 2, "{records:?}");
    assert!(records.iter().all(|record| record["via"] == "call_tool"), "{records:?}");
}

/// AG-20: a run that fails at its first model call is told with code, reason and agent, in both eras.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_fails_at_once_is_told_with_its_reason() {
    let app = TestApp::start(Backend::Sqlite).await;
    let model = Model::replies(vec![Reply::error(401, "no")]).await;
    let config = json!({ "provider": "openai", "base_url": model.url(), "model": "m" });
    app.post("services", json!({ "type": "agent", "id": "a", "config": config })).await.is(201);
    let modern = post(&app, "a__ask", call(1, &json!({ "_meta": capable() }))).await;
    let stream = send(&app, &session(&app).await, &call(2, &json!({}))).await;
    let legacy = last_message(&stream.text().await.unwrap());
    for answer in [modern, legacy] {
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{answer}");
        let error = &result["structuredContent"]["error"];
        let words = [&error["code"], &error["reason"], &error["service"]];
        assert_eq!(words, [&json!("UNAVAILABLE"), &json!("MODEL_AUTH"), &json!("a")], "{answer}");
    }
}

/// AG-16: a client that asks for progress hears which tool is called, and the end of what is written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_tells_of_calls_and_of_what_is_written() {
    let app = TestApp::start(Backend::Sqlite).await;
    let api = http::Server::start().await;
    let service = json!({ "type": "api", "id": "crm", "config": { "base_url": api.url() },
        "tools": [{ "id": "echo", "endpoint": "/echo" }] });
    app.post("services", service).await.is(201);
    let model =
        Model::replies(vec![Reply::calls(&[("crm__echo", json!({}))]), Reply::says(&"word ".repeat(100))])
            .await;
    let config =
        json!({ "provider": "openai", "base_url": model.url(), "model": "m", "tools": ["api://crm/echo"] });
    app.post("services", json!({ "type": "agent", "id": "a", "config": config })).await.is(201);
    let more = json!({ "_meta": { "progressToken": "p" } });
    let stream = send(&app, &session(&app).await, &call(2, &more)).await;
    let all = messages(&stream.text().await.unwrap());
    let words: Vec<_> = all.iter().filter_map(|message| message["params"]["message"].as_str()).collect();
    assert!(words.contains(&"calls crm__echo"), "{words:?}");
    let written =
        words.iter().find(|words| words.starts_with("writes: ")).unwrap_or_else(|| panic!("{words:?}"));
    assert!(written.chars().count() <= "writes: ".len() + 200, "{written}");
}

/// The messages of a stream of events that have arrived as a whole.
pub(crate) fn messages(stream: &str) -> Vec<Value> {
    let lines = stream.lines().filter_map(|line| line.strip_prefix("data:"));
    lines.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
}

/// The response, which comes alone or at the end of a stream.
pub(crate) fn last_message(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|_| messages(body).pop().unwrap_or_default())
}
