//! Agents for MCP clients of both eras: a person is asked before something is destroyed, and steps are told.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::model::{Model, Reply};
use testkit::{Backend, TestApp, http};

const ACCEPT: &str = "application/json, text/event-stream";
const MODERN: &str = "2026-07-28";

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

/// AG-13: a client of 2026-07-28 gets the question as a result, and repeats its request with the answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_modern_client_is_asked_before_something_is_destroyed() {
    let (app, api, _model) = world().await;
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" } });
    let post = async |body: Value| -> Value {
        let request = app.request(Method::POST, "/mcp").header("accept", ACCEPT);
        let request = request.header("mcp-protocol-version", MODERN).header("mcp-method", "tools/call");
        let response = request.header("mcp-name", "a__ask").json(&body).send().await.unwrap();
        last_message(&response.text().await.unwrap())
    };
    let asked = post(call(1, &json!({ "_meta": meta }))).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let (name, question) = asked["result"]["inputRequests"].as_object().unwrap().iter().next().unwrap();
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.contains("api://crm/remove"), "{message}");
    assert!(api.requests().is_empty(), "nothing is done before");
    let yes = json!({ name: { "action": "accept", "content": { "decision": "approve" } } });
    let more =
        json!({ "_meta": meta, "inputResponses": yes, "requestState": asked["result"]["requestState"] });
    let done = post(call(2, &more)).await;
    assert_eq!(done["result"]["structuredContent"]["answer"], "It is gone.", "{done}");
    assert_eq!(api.requests().len(), 1);
}

/// AG-13: a client with a handshake is asked while its call runs, and hears of the steps.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_legacy_client_is_asked_while_its_call_runs() {
    let (app, api, _model) = world().await;
    let post = |session: Option<&str>| {
        let request = app.request(Method::POST, "/mcp").header("accept", ACCEPT);
        match session {
            Some(session) => request.header("mcp-session-id", session),
            None => request,
        }
    };
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "t", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let hello = post(None).json(&hello).send().await.unwrap();
    let session = hello.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let more = json!({ "_meta": { "progressToken": "p" } });
    let mut stream = post(Some(&session)).json(&call(2, &more)).send().await.unwrap();
    let (mut heard, mut is_answered) = (String::new(), false);
    while let Some(chunk) = stream.chunk().await.unwrap() {
        heard.push_str(&String::from_utf8_lossy(&chunk));
        let question = messages(&heard).into_iter().find(|message| message["method"] == "elicitation/create");
        if let Some(question) = question.filter(|_| !is_answered) {
            is_answered = true;
            let no =
                json!({ "action": "accept", "content": { "decision": "reject", "comment": "not today" } });
            let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": no });
            post(Some(&session)).json(&answer).send().await.unwrap();
        }
    }
    let all = messages(&heard);
    assert!(is_answered, "{heard}");
    assert_eq!(all.last().unwrap()["result"]["structuredContent"]["answer"], "It is gone.", "{heard}");
    assert!(api.requests().is_empty(), "what was rejected is not done");
    let progress = all.iter().filter(|message| message["method"] == "notifications/progress");
    let words: Vec<_> = progress.filter_map(|message| message["params"]["message"].as_str()).collect();
    assert!(
        words.contains(&"thinks") && words.contains(&"asks whether it may call crm__remove"),
        "{words:?}"
    );
}

/// The messages of a stream of events that have arrived as a whole.
fn messages(stream: &str) -> Vec<Value> {
    let lines = stream.lines().filter_map(|line| line.strip_prefix("data:"));
    lines.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
}

/// The response, which comes alone or at the end of a stream.
fn last_message(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|_| messages(body).pop().unwrap_or_default())
}
