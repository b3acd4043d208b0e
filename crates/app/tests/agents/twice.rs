//! Things that are said twice: what is shown, judged and recorded is what is sent, or nothing is.

use crate::clients::{capable, session};
use crate::world::{agent, count, crm};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::model::{Model, Reply};
use testkit::{Backend, Client, TestApp, http};

const MODERN: &str = "2026-07-28";

async fn world(replies: Vec<Reply>, more: Value) -> (TestApp, http::Server, Model) {
    let (app, upstream) = (TestApp::start(Backend::Sqlite).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let model = Model::replies(replies).await;
    app.post("services", agent("a", &model, more)).await.is(201);
    (app, upstream, model)
}

async fn post(client: &Client, path: &str, body: &str) -> (u16, Value) {
    let request = client.request(Method::POST, path).header("content-type", "application/json");
    let answer = request.body(body.to_owned()).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

/// HT-5.2, AG-13: `POST /call`, and a flow's or an agent's run, with an argument that stands twice is refused by its name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_that_stand_twice_are_refused_over_rest() {
    let (app, upstream, model) = world(vec![Reply::says("x")], json!({})).await;
    for (path, body, field) in [
        ("call", r#"{"uri":"api://crm/echo","arguments":{"text":"a","text":"b"}}"#, "text"),
        ("call", r#"{"uri":"api://crm/echo","arguments":{"text":[{"x":1,"\u0078":2}]}}"#, "text[0].x"),
        ("mcp/tools/call", r#"{"name":"crm__echo","arguments":{"text":5,"text":"b"}}"#, "text"),
        ("agents/a/runs", r#"{"prompt":"x","context":{"c":1,"c":2}}"#, "context.c"),
        ("flows/f/runs", r#"{"inputs":{"c":1,"c":2}}"#, "inputs.c"),
        ("flows/f/runs", r#"{"inputs":{"d":{"c":1,"c":2}}}"#, "inputs.d.c"),
    ] {
        let (status, problem) = post(&app, path, body).await;
        assert_eq!((status, &problem["errors"][0]["path"]), (422, &json!(field)), "{path}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains("given twice"), "{problem}");
    }
    assert!(upstream.requests().is_empty() && model.asked().is_empty());
    assert_eq!(post(&app, "call", r#"{"uri":"api://crm/echo","arguments":{"text":"a"}}"#).await.0, 200);
}

/// HT-5.2: no member of a message's params that decides may stand there twice, nor an argument of the tool.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn params_that_stand_twice_are_refused_over_mcp() {
    let (app, upstream, _model) = world(vec![Reply::says("x")], json!({})).await;
    let session = session(&app).await;
    let meta = capable().to_string();
    for (members, name) in [
        (r#""name":"crm__echo","name":"crm__remove","arguments":{}"#, "crm__remove"),
        (r#""name":"crm__remove","name":"crm__echo","arguments":{}"#, "crm__echo"),
        (r#""name":"crm__echo","arguments":{"text":"1"},"arguments":{"text":"2"}"#, "crm__echo"),
        (r#""name":"crm__echo","arguments":{"text":"1","text":"2"}"#, "crm__echo"),
        (
            r#""name":"call_tool","arguments":{"name":"crm__echo","name":"crm__remove","arguments":{}}"#,
            "call_tool",
        ),
        (
            r#""name":"call_tool","arguments":{"name":"crm__echo","arguments":{"text":"1","text":"2"}}"#,
            "call_tool",
        ),
    ] {
        let body = |meta: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{members}{meta}}}}}"#)
        };
        let door = if name == "call_tool" { "/mcp?tools=search" } else { "/mcp" };
        let request = |body: String| {
            let request =
                app.request(Method::POST, door).header("accept", "application/json, text/event-stream");
            request.header("content-type", "application/json").body(body)
        };
        let modern = request(body(&format!(r#","_meta":{meta}"#))).header("mcp-protocol-version", MODERN);
        let modern = modern.header("mcp-method", "tools/call").header("mcp-name", name);
        let legacy = request(body("")).header("mcp-session-id", &session);
        for request in [modern, legacy] {
            let said = request.send().await.unwrap().text().await.unwrap();
            assert!(said.contains("given twice"), "{members}: {said}");
        }
    }
    assert_eq!((count(&upstream, "/echo"), count(&upstream, "/remove")), (0, 0));
}

/// AG-13: what the model writes twice is shown to nobody, and nothing of it is sent; it may write it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_model_says_twice_waits_for_no_approval() {
    let twice =
        Reply::Says(String::new(), vec![("crm__remove".into(), r#"{"text":"prod","text":"tmp"}"#.into())]);
    let (app, upstream, model) = world(vec![twice, Reply::says("Sorry.")], json!({})).await;
    let answer = app.post("agents/a/runs", json!({ "prompt": "Remove it." })).await.is(200).body;
    assert_eq!(answer["structuredContent"]["answer"], "Sorry.", "{answer}");
    assert!(model.asked()[1].text.contains("'text' is given twice"), "{}", model.asked()[1].text);
    assert_eq!(count(&upstream, "/remove"), 0);
    let refused = app.get("audit?tool=crm__remove").await.is(200).items();
    assert!(refused.iter().all(|record| record["status"] == "refused"), "{refused:#?}");
}

/// AG-13: what waits for a yes is shown with the digits that are sent behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_shows_the_digits_that_are_sent() {
    let exact = vec![("shop__remove".to_owned(), r#"{"n":12345678901234567890123}"#.to_owned())];
    let (app, upstream) = (TestApp::start(Backend::Sqlite).await, http::Server::start().await);
    let number = json!({ "name": "n", "parameter_type": "Number", "position": "query" });
    let shop = json!({ "type": "api", "id": "shop", "config": { "base_url": upstream.url() },
        "tools": [{ "id": "remove", "method": "DELETE", "endpoint": "/remove", "parameters": [number] }] });
    app.post("services", shop).await.is(201);
    let model = Model::replies(vec![Reply::Says(String::new(), exact), Reply::says("Gone.")]).await;
    app.post("services", agent("a", &model, json!({ "tools": ["api://shop/remove"] }))).await.is(201);
    let waiting = app.post("agents/a/runs", json!({ "prompt": "Remove it." })).await.is(202).body;
    let told = &waiting["structuredContent"];
    assert_eq!(told["approvals"][0]["arguments"], json!({ "n": "12345678901234567890123" }), "{waiting}");
    let id = told["approvals"][0]["id"].as_str().unwrap();
    app.post(&format!("approvals/{id}"), json!({ "decision": "approve" })).await.is(200);
    crate::world::ended(&app, "a", told["run"].as_str().unwrap()).await;
    let removed = upstream.requests().into_iter().find(|request| request.path == "/remove").unwrap();
    assert_eq!(removed.query, "n=12345678901234567890123");
}
