//! Agents over REST: saved, listed, asked, followed, recorded, and asked by flows.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::model::{Model, Reply};
use testkit::{Backend, TestApp, http};

/// The service of an agent with this model.
fn agent(id: &str, model: &Model, more: Value) -> Value {
    let mut config =
        json!({ "provider": "openai", "base_url": model.url(), "api_key": "sk-hunter2", "model": "m-1" });
    let Value::Object(more) = more else { panic!("{more} is no object") };
    config.as_object_mut().unwrap().extend(more);
    json!({ "type": "agent", "id": id, "config": config })
}

async fn with_api(app: &TestApp) -> http::Server {
    let api = http::Server::start().await;
    let service = json!({ "type": "api", "id": "crm", "config": { "base_url": api.url() },
        "tools": [{ "id": "echo", "endpoint": "/echo" }] });
    app.post("services", service).await.is(201);
    api
}

/// AG-6: what is wrong with an agent is refused with its path when it is saved, and what is only odd is told.
#[tokio::test]
async fn saving_an_agent_says_what_is_wrong_with_it() {
    let app = TestApp::start(Backend::Sqlite).await;
    let _api = with_api(&app).await;
    let model = Model::replies(vec![Reply::says("x")]).await;
    for (more, path) in [
        (json!({ "handoffs": [{ "to": "agent://nobody", "when": "always" }] }), "config.handoffs[0].to"),
        (json!({ "tools": ["no address"] }), "config.tools[0]"),
        (json!({ "instructions": "{{ if }}" }), "config.instructions"),
        (json!({ "approval_by": "nobody" }), "config.approval_by"),
        (json!({ "approval_ttl_s": 0 }), "config.approval_ttl_s"),
        (json!({ "conversations": { "max_turns": 0 } }), "config.conversations.max_turns"),
    ] {
        let refused = app.post("services", agent("a", &model, more)).await.is(422);
        assert_eq!(refused.body["errors"][0]["path"], path, "{}", refused.body);
    }
    let saved = app
        .post("services", agent("a", &model, json!({ "tools": ["api://crm/echo", "mcp://Time/*"] })))
        .await;
    let saved = saved.is(201);
    assert_eq!(saved.body["warnings"], json!(["tools[1]: nothing fits 'mcp://Time/*' now"]));
    assert_eq!(saved.body["config"]["api_key"], "***");
    assert!(saved.body["config"]["tools"].is_array(), "{}", saved.body);
    // Whoever may not call a tool cannot let others call it.
    let key = json!({ "name": "m", "role": "manager", "scopes": ["manage", "read"] });
    let manager = app.with_key(key).await;
    let more = json!({ "tools": ["api://crm/echo", "api://crm/*"], "run_as": "agent" });
    let refused = manager.post("services", agent("b", &model, more.clone())).await.is(422);
    let paths: Vec<_> =
        refused.body["errors"].as_array().unwrap().iter().map(|error| &error["path"]).collect();
    assert_eq!(paths, ["config.tools[0]", "config.tools[1]"]);
    app.post("services", agent("b", &model, more)).await.is(201);
}

/// AG-6: whoever has an allow-list saves no agent at all, neither a new one nor another's with more tools.
#[tokio::test]
async fn nobody_with_an_allow_list_lets_an_agent_call_more() {
    let app = TestApp::start(Backend::Sqlite).await;
    let _api = with_api(&app).await;
    let model = Model::replies(vec![Reply::says("x")]).await;
    let key = json!({ "name": "m", "role": "manager", "allow": ["api://crm/*", "agent://*"] });
    let manager = app.with_key(key).await;
    let wide = agent("b", &model, json!({ "tools": ["*://*"], "run_as": "agent" }));
    manager.post("services", wide.clone()).await.is_problem(403, "FORBIDDEN");
    manager.post("services/validate", wide.clone()).await.is_problem(403, "FORBIDDEN");
    app.post("services", agent("b", &model, json!({ "tools": ["api://crm/echo"] }))).await.is(201);
    let changed = json!({ "config": wide["config"] });
    manager.patch("services/agent/b", changed).await.is_problem(403, "FORBIDDEN");
}

/// AG-1, AG-21: agents are listed and asked over REST, and the audit has the run.
#[tokio::test]
async fn agents_are_listed_asked_and_recorded() {
    let app = TestApp::start(Backend::Sqlite).await;
    let _api = with_api(&app).await;
    let model =
        Model::replies(vec![Reply::calls(&[("crm__echo", json!({}))]), Reply::says("It is twelve.")]).await;
    app.post("services", agent("a", &model, json!({ "tools": ["api://crm/*"], "description": "Knows" })))
        .await
        .is(201);
    let listed = app.get("agents").await.is(200);
    assert_eq!(
        listed.body["items"],
        json!([{ "id": "a", "description": "Knows", "tool": "a__ask", "uri": "agent://a" }])
    );
    let none = app.get("agents?page=2&limit=1").await.is(200).body;
    assert_eq!((&none["items"], &none["limit"], &none["total"]), (&json!([]), &json!(1), &json!(1)));
    app.get("agents?limit=0").await.is(400);
    let answer = app.post("agents/a/runs", json!({ "prompt": "When?", "wait_seconds": 30 })).await.is(200);
    let told = &answer.body["structuredContent"];
    assert_eq!((&told["answer"], &told["conversation"]), (&json!("It is twelve."), &Value::Null));
    let run = told["run"].as_str().unwrap();
    let audit = app.get(&format!("audit?run={run}")).await.is(200);
    let records = audit.body["items"].as_array().unwrap();
    assert_eq!(records.len(), 2, "{}", audit.body);
    let ask = records.iter().find(|record| record["tool"] == "a__ask").unwrap();
    assert_eq!(ask["usage"]["model_calls"], 2, "{ask}");
    let by_call = app
        .post("call", json!({ "uri": "agent://a/ask", "arguments": { "prompt": "And now?" } }))
        .await
        .is(200);
    assert_eq!(by_call.body["structuredContent"]["agent"], "a");
    app.post("agents/nobody/runs", json!({ "prompt": "x" })).await.is(404);
}

/// AG-20: a model that is down is named by its reason.
#[tokio::test]
async fn the_reason_of_a_failure_is_a_field() {
    let app = TestApp::start(Backend::Sqlite).await;
    let model = Model::replies(vec![Reply::error(401, "who is sk-hunter2?")]).await;
    app.post("services", agent("a", &model, json!({}))).await.is(201);
    let answer = app.post("agents/a/runs", json!({ "prompt": "x" })).await.is(200);
    assert_eq!(answer.body["error"]["code"], "UNAVAILABLE", "{}", answer.body);
    assert_eq!(
        (&answer.body["error"]["reason"], &answer.body["error"]["service"]),
        (&json!("MODEL_AUTH"), &json!("a"))
    );
    assert!(!answer.body.to_string().contains("hunter2"), "{}", answer.body);
    let tested = app.post("services/agent/a/test", json!({})).await;
    assert!(!tested.body.to_string().contains("hunter2"), "{}", tested.body);
}

/// The text and the steps of a run are events, numbered, and the last one is the whole answer.
#[tokio::test]
async fn a_run_can_be_followed() {
    let app = TestApp::start(Backend::Sqlite).await;
    let _api = with_api(&app).await;
    let reply = || [Reply::calls(&[("crm__echo", json!({}))]), Reply::says("It is twelve.")];
    let model = Model::replies([reply(), reply()].into_iter().flatten().collect()).await;
    app.post("services", agent("a", &model, json!({ "tools": ["api://crm/*"] }))).await.is(201);
    for (path, body) in [
        ("agents/a/runs", json!({ "prompt": "When?" })),
        ("call", json!({ "uri": "agent://a", "arguments": { "prompt": "When?" } })),
    ] {
        let request = app.request(Method::POST, path).header("accept", "text/event-stream").json(&body);
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let text = response.text().await.unwrap();
        let names: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
        assert_eq!((names[0], *names.last().unwrap()), ("run", "end"), "{text}");
        assert!(text.contains("\"kind\":\"tool\""), "{text}");
        let mut ids: Vec<usize> =
            text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
        assert_eq!(ids.len(), names.len(), "{text}");
        // The pieces of a text have the number of what came before; they tell all that stands under number 7.
        ids.dedup();
        assert_eq!(ids, [1, 2, 3, 4, 5, 6, 8], "{text}");
        let end = text.rsplit("data: ").next().unwrap();
        let end: Value = serde_json::from_str(end.trim()).unwrap();
        assert_eq!(end["structuredContent"]["answer"], "It is twelve.");
    }
    // What is refused is refused as ever.
    let request = app.request(Method::POST, "agents/nobody/runs").header("accept", "text/event-stream");
    let response = request.json(&json!({ "prompt": "x" })).send().await.unwrap();
    assert_eq!(response.status().as_u16(), 404);
}

/// A flow's node gets what the agent was asked for, and the reason where it fails.
#[tokio::test]
async fn a_flow_asks_an_agent() {
    let app = TestApp::start(Backend::Sqlite).await;
    let model = Model::replies(vec![Reply::says("{\"n\": 7}"), Reply::error(401, "no")]).await;
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    app.post("services", agent("a", &model, json!({ "output_schema": schema }))).await.is(201);
    let source = "nodes:\n  think: {agent: a, args: {prompt: Which number?}}\noutput: {n: \"${think.n}\"}";
    app.post("flows", json!({ "id": "f", "source": source })).await.is(201);
    app.post("flows/f/publish", json!({})).await.is(200);
    let run = app.post("flows/f/runs", json!({ "wait_seconds": 30 })).await.is(200);
    assert_eq!(run.body["output"], json!({ "n": 7 }), "{}", run.body);
    let run = app.post("flows/f/runs", json!({ "wait_seconds": 30 })).await.is(200);
    assert_eq!(run.body["error"]["reason"], "MODEL_AUTH", "{}", run.body);
}
