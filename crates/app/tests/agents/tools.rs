//! Agents with many tools: the model finds them instead of being told of all.

use serde_json::{Value, json};
use testkit::model::{Model, ReceivedRequest, Reply};
use testkit::{Backend, TestApp, http};

/// A service with so many tools, of which the last one knows parcels.
fn wide(upstream: &http::Server, count: usize) -> Value {
    let parameter = |name: &str| json!({ "name": name, "position": "query" });
    let tool = |at: usize| {
        let does = if at + 1 == count { "Ships a parcel to a customer." } else { "Counts things." };
        json!({ "id": format!("t{at}"), "description": does, "endpoint": format!("/t{at}"), "method": "GET",
            "parameters": [parameter("to"), parameter("customer")] })
    };
    let tools: Vec<_> = (0..count).map(tool).collect();
    json!({ "type": "api", "id": "wide", "config": { "base_url": upstream.url() }, "tools": tools })
}

fn agent(model: &Model, tools: &Value) -> Value {
    json!({ "type": "agent", "id": "clerk", "config": {
        "provider": "openai", "base_url": model.url(), "model": "m-1", "tools": tools } })
}

fn told(asked: &ReceivedRequest) -> Vec<&str> {
    let tools = asked.body["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

/// What the model reads last.
fn read(asked: &ReceivedRequest) -> &str {
    asked.body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap()
}

async fn start(count: usize, tools: Value, replies: Vec<Reply>) -> (TestApp, Model, http::Server) {
    let (upstream, model) = (http::Server::start().await, Model::replies(replies).await);
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(wide(&upstream, count)).await;
    app.service(agent(&model, &tools)).await;
    (app, model, upstream)
}

async fn ask(app: &TestApp) -> Value {
    app.post("agents/clerk/runs", json!({ "prompt": "Ship it." })).await.is(200).body
}

/// AG-2, AG-5, AG-7, TS-2, TS-3, TS-4: above 40 tools the model gets `find_tools` and `call_tool` over those of the agent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_with_many_tools_finds_and_calls_them() {
    let call = |name: &str, arguments: Value| Reply::calls(&[(name, arguments)]);
    let through = |arguments: Value| call("call_tool", json!({ "name": "ship", "arguments": arguments }));
    let replies = vec![
        call("find_tools", json!({ "query": "ship parcels", "limit": 1 })),
        through(json!({ "to": "Ada", "customer": "theirs" })),
        call("call_tool", json!({ "name": "wide__t999", "arguments": {} })),
        call("wide__t1", json!({ "to": "Bob" })),
        Reply::says("Shipped."),
    ];
    let ship = json!({ "uri": "api://wide/t59", "as": "ship", "preset": { "customer": "c-7" } });
    let (app, model, upstream) = start(60, json!([ship, "api://wide/*"]), replies).await;
    let answer = ask(&app).await;
    assert_eq!(answer["structuredContent"]["answer"], "Shipped.", "{answer}");
    let asked = model.asked();
    assert!(asked.iter().all(|asked| told(asked) == ["find_tools", "call_tool"]), "{:?}", told(&asked[0]));
    let found: Value = serde_json::from_str(read(&asked[1])).unwrap();
    assert_eq!((&found["tools"][0]["name"], &found["total"]), (&json!("ship"), &json!(1)), "{found}");
    let properties = found["tools"][0]["inputSchema"]["properties"].as_object().unwrap();
    assert!(
        properties.contains_key("to") && !properties.contains_key("customer"),
        "presets are hidden: {found}"
    );
    let requests = upstream.requests();
    let queries: Vec<_> =
        requests.iter().map(|request| (request.path.as_str(), request.query.as_str())).collect();
    assert_eq!(queries, [("/t59", "to=Ada&customer=c-7"), ("/t1", "to=Bob")]);
    let nearest = read(&asked[3]);
    assert!(nearest.contains("there is no tool 'wide__t999'") && nearest.contains("find_tools"), "{nearest}");
    assert!(nearest.len() < 500, "not all names are told: {nearest}");
    let run = answer["structuredContent"]["run"].as_str().unwrap();
    let records = app.get(&format!("audit?run={run}")).await.is(200).items();
    assert_eq!(records.len(), 5, "{records:#?}");
    let found = records.iter().find(|record| record["tool"] == "find_tools").unwrap();
    assert_eq!(
        (&found["status"], &found["arguments"]["query"]),
        (&json!("ok"), &json!("ship parcels")),
        "{found}"
    );
    assert_eq!((&found["agent"], &found["step"]), (&json!("clerk"), &json!(1)), "{found}");
    let refused = records.iter().find(|record| record["tool"] == "wide__t999").unwrap();
    assert_eq!(refused["status"], "refused", "{refused}");
}

/// AG-2: up to 40 tools the model is told of each, and there is nothing to find them with.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_with_few_tools_is_told_of_all() {
    let find = Reply::calls(&[("find_tools", json!({ "query": "parcels" }))]);
    let (app, model, _upstream) = start(40, json!(["api://wide/*"]), vec![find, Reply::says("No.")]).await;
    ask(&app).await;
    let asked = model.asked();
    assert_eq!(told(&asked[0]).len(), 40);
    assert!(read(&asked[1]).contains("there is no tool 'find_tools'"), "{}", read(&asked[1]));
}

/// A model that searches for the same again and again is stopped like one that calls the same (AG-10).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searching_without_end_is_a_loop() {
    let find = Reply::calls(&[("find_tools", json!({ "query": "parcels" }))]);
    let (app, model, _upstream) = start(41, json!(["api://wide/*"]), vec![find]).await;
    let answer = ask(&app).await;
    assert_eq!(answer["structuredContent"]["error"]["reason"], "LOOP", "{answer}");
    assert_eq!(model.asked().len(), 5);
}

/// The two names are kept for finding tools.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_tool_of_an_agent_has_a_reserved_name() {
    let model = Model::replies(vec![Reply::says("Yes.")]).await;
    let app = TestApp::start(Backend::Sqlite).await;
    let settings = agent(&model, &json!([{ "uri": "api://wide/t1", "as": "call_tool" }]));
    let refused = app.post("services", settings).await.is(422);
    assert!(refused.text.contains("ReservedName"), "{}", refused.text);
}

/// AG-1, AG-4: a real model, whole and streamed. What it says is its own affair.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_model_answers_whole_and_streamed() {
    let url = std::env::var("MCP_TEST_SMOLLM_URL");
    let url = url.expect("MCP_TEST_SMOLLM_URL is not set; run this with make test-model");
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(json!({ "type": "agent", "id": "clerk", "config": {
        "provider": "openai", "base_url": url, "model": "smollm2", "temperature": 0.0, "max_output_tokens": 8,
        "timeout_ms": 240_000, "limits": { "time_ms": 280_000 }, "instructions": "You are polite." } }))
        .await;
    let whole = ask(&app).await["structuredContent"].clone();
    assert_eq!(whole["state"], "succeeded", "{whole}");
    let used = |name: &str| whole["usage"][name].as_u64().unwrap();
    assert!(used("input_tokens") > 10 && (1..=8).contains(&used("output_tokens")), "{whole}");
    let request =
        app.request(reqwest::Method::POST, "agents/clerk/runs").header("accept", "text/event-stream");
    let streamed = testkit::client::send_json(request, &json!({ "prompt": "Ship it." })).await;
    let end = streamed.text.rsplit("data: ").next().unwrap();
    let end: Value = serde_json::from_str(end.trim()).unwrap();
    assert_eq!(end["structuredContent"]["answer"], whole["answer"], "{end}");
    assert!(streamed.text.contains("event: text"), "{}", streamed.text);
}
