//! Faults of models, tools and callers, at the program's public edge.

use crate::clients::{MODERN, capable, send, session};
use crate::world::{PATIENCE, agent, begin, count, crm, until};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::http::dead_address;
use testkit::model::{Model, ReceivedRequest, Reply};
use testkit::process::{self, Server};
use testkit::{Backend, Database, TestApp, eventually, http, proc};

/// As soon as what nobody waits for has to end.
const SOON: Duration = Duration::from_secs(1);

async fn world(
    script: impl Fn(usize, &ReceivedRequest) -> Reply + Send + Sync + 'static,
    more: Value,
) -> (TestApp, http::Server, Model) {
    let (app, upstream) = (TestApp::start(Backend::Sqlite).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let model = Model::start(script).await;
    app.post("services", agent("a", &model, more)).await.is(201);
    (app, upstream, model)
}

async fn ask(app: &TestApp, id: &str) -> Value {
    app.post(&format!("agents/{id}/runs"), json!({ "prompt": "Go." })).await.is(200).body
}

/// F1, AG-20: a model that is not there is named after three attempts, `test` agrees, and other agents answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_is_not_there_is_told_by_the_ask_and_by_the_test() {
    let (app, _upstream, _model) = world(|_, _| Reply::says("I am here."), json!({})).await;
    let gone = json!({ "provider": "openai", "base_url": format!("http://{}", dead_address().await), "model": "m",
        "retry": { "initial_delay_ms": 1, "max_delay_ms": 5 } });
    app.post("services", json!({ "type": "agent", "id": "gone", "config": gone })).await.is(201);
    let answer = ask(&app, "gone").await;
    for error in [&answer["error"], &answer["structuredContent"]["error"]] {
        let words = [&error["code"], &error["reason"], &error["service"]];
        assert_eq!(words, [&json!("UNAVAILABLE"), &json!("MODEL_UNREACHABLE"), &json!("gone")], "{answer}");
    }
    let tested = app.post("services/agent/gone/test", json!({})).await.is(200).body;
    assert_eq!((&tested["ok"], &tested["error"]["code"]), (&json!(false), &json!("UNAVAILABLE")), "{tested}");
    assert_eq!(ask(&app, "a").await["structuredContent"]["answer"], "I am here.");
}

/// F5: an answer without end, as one line or as calls, costs neither memory, nor time of a processor, nor the process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_answer_costs_little() {
    let database = Database::create(Backend::Sqlite).await;
    let mut command = process::serve(env!("CARGO_BIN_EXE_mcp-all-in-one"), &database, &database.data_dir());
    command.arg("--allow-private-network");
    let server = Server::start(command);
    let admin = server.admin();
    let call = json!({ "index": 0, "id": "c", "function": { "name": "x", "arguments": "{}" } });
    let calls =
        format!("data: {}\n\n", json!({ "choices": [{ "delta": { "tool_calls": vec![call; 1000] } }] }));
    let wants = vec![r#"{"function":{"name":"a"}}"#; 319_000].join(",");
    let whole =
        format!(r#"{{"choices":[{{"message":{{"content":null,"tool_calls":[{wants}]}}}}]}}"#).into_bytes();
    for (id, reply, reason) in [
        ("line", Reply::Endless(vec![b'x'; 65_536]), "BAD_MODEL_ANSWER"),
        ("calls", Reply::Endless(calls.into_bytes()), "BAD_MODEL_ANSWER"),
        ("whole", Reply::Raw(200, Vec::new(), whole), "TOOL_LIMIT"),
    ] {
        let model = Model::replies(vec![reply]).await;
        admin.post("services", agent(id, &model, json!({ "tools": [] }))).await.is(201);
        let (before, worked_before) = (proc::resident_kib(server.id()), proc::worked(server.id()));
        let answer = admin.post(&format!("agents/{id}/runs"), json!({ "prompt": "Go." })).await.is(200).body;
        assert_eq!(answer["error"]["reason"], reason, "{answer}");
        let grown = proc::resident_kib(server.id()).saturating_sub(before);
        assert!(grown < 64 * 1024, "'{id}' took {grown} KiB");
        let worked = proc::worked(server.id()).saturating_sub(worked_before);
        assert!(worked < Duration::from_secs(2), "'{id}' took {worked:?} of a processor");
    }
}

/// F6: what another tenant has is no tool of this one, and the audit has the refusal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_of_another_tenant_is_none() {
    let script = |number, _: &ReceivedRequest| match number {
        0 => Reply::calls(&[("theirs__echo", json!({})), ("find_tools", json!({}))]),
        _ => Reply::says("There is none."),
    };
    let (app, upstream, model) = world(script, json!({ "tools": ["api://crm/*", "api://theirs/*"] })).await;
    let acme = app.with_tenant("acme").await;
    let mut theirs = crm(&upstream);
    theirs["id"] = "theirs".into();
    acme.post("services", theirs).await.is(201);
    let answer = ask(&app, "a").await;
    assert_eq!(answer["structuredContent"]["answer"], "There is none.", "{answer}");
    let heard = &model.asked()[1].text;
    assert!(heard.contains("no tool 'theirs__echo'") && heard.contains("no tool 'find_tools'"), "{heard}");
    assert!(upstream.requests().is_empty());
    let run = answer["structuredContent"]["run"].as_str().unwrap();
    let records = app.get(&format!("audit?run={run}&status=refused")).await.is(200).items();
    assert_eq!(records.len(), 2, "{records:?}");
    assert!(acme.get("audit?status=refused").await.is(200).items().is_empty());
}

/// F8: a tool that hangs is told as late, and the run goes on; the time of the run ends what still hangs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_hangs_is_told_and_the_run_ends_in_time() {
    let script = |number, _: &ReceivedRequest| match number % 2 {
        0 => Reply::calls(&[("crm__wait", json!({}))]),
        _ => Reply::says("It hangs."),
    };
    let (app, upstream, model) = world(script, json!({ "tools": ["api://crm/wait?timeout=300"] })).await;
    let answer = ask(&app, "a").await;
    assert_eq!(answer["structuredContent"]["answer"], "It hangs.", "{answer}");
    assert!(model.asked()[1].text.contains("the tool failed"), "{}", model.asked()[1].text);
    app.post(
        "services",
        agent("b", &model, json!({ "tools": ["api://crm/wait"], "limits": { "time_ms": 500 } })),
    )
    .await
    .is(201);
    let begun = Instant::now();
    assert_eq!(ask(&app, "b").await["error"]["reason"], "TIME_LIMIT");
    assert!(begun.elapsed() < Duration::from_millis(2500), "{:?}", begun.elapsed());
    assert_eq!(count(&upstream, "/slow/4002"), 2);
}

/// F8: what still hangs when the time of a run is over, or when it is cancelled, is given up within a second: nobody
/// waits at the service any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_hangs_is_given_up_with_its_run() {
    let script = |_, _: &ReceivedRequest| Reply::calls(&[("stuck__it", json!({}))]);
    let (app, _upstream, model) = world(script, json!({})).await;
    let late = Reply::Late(Duration::from_secs(60), Box::new(Reply::says("late")));
    let stuck = Model::replies(vec![late]).await;
    let service = json!({ "type": "api", "id": "stuck", "tools": [{ "id": "it", "endpoint": "/it" }],
        "config": { "base_url": stuck.url(), "retry": { "max_attempts": 1 } } });
    app.post("services", service).await.is(201);
    for (id, limits) in [("short", json!({ "time_ms": 800 })), ("long", json!({}))] {
        let more = json!({ "tools": ["api://stuck/it"], "limits": limits });
        app.post("services", agent(id, &model, more)).await.is(201);
    }
    assert_eq!(ask(&app, "short").await["error"]["reason"], "TIME_LIMIT");
    eventually("the call is given up", SOON, async || stuck.given_up() == 1).await;
    let run = begin(&app, "long", "Go.").await;
    eventually("the call is under way", PATIENCE, async || stuck.asked().len() == 2).await;
    app.post(&format!("runs/{run}/cancel"), json!({})).await.is(200);
    eventually("the call is given up", SOON, async || stuck.given_up() == 2).await;
    until(&app, &run, "cancelled").await;
}

/// F9: a caller who goes away, in the words of each door, ends the run, and with it the model's connection; one record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_who_goes_away_ends_the_run_at_every_door() {
    let late = |_, _: &ReceivedRequest| Reply::Late(Duration::from_secs(60), Box::new(Reply::says("late")));
    let (app, _upstream, model) = world(late, json!({})).await;
    let under_way = async |number: usize| {
        eventually("the model is asked", PATIENCE, async || model.asked().len() == number).await;
    };
    let ended = async |number: usize| {
        eventually("the model's connection ends", SOON, async || model.given_up() == number).await;
        let mut records = Vec::new();
        eventually("the audit has it", PATIENCE, async || {
            records = app.get("audit?tool=a__ask").await.is(200).items();
            records.len() == number
        })
        .await;
        assert!(
            records.iter().all(|record| record["message"] == "the caller cancelled the call"),
            "{records:#?}"
        );
    };
    let call = |id: u64, meta: Value| {
        let params = json!({ "name": "a__ask", "arguments": { "prompt": "Go." }, "_meta": meta });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let session = session(&app).await;
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    // The answer to the call begins with its end.
    let taken_back = async {
        under_way(1).await;
        send(&app, &session, &cancel).await;
        ended(1).await;
    };
    let sent = call(7, json!({}));
    tokio::join!(send(&app, &session, &sent), taken_back);
    let request = app.request(Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
    let request = request.header("mcp-protocol-version", MODERN).header("mcp-method", "tools/call");
    let request = request.header("mcp-name", "a__ask").json(&call(8, capable()));
    let closed = tokio::spawn(async move { request.send().await.unwrap().text().await });
    under_way(2).await;
    closed.abort();
    ended(2).await;
    let request = app.request(Method::POST, "agents/a/runs").json(&json!({ "prompt": "Go." }));
    let closed = tokio::spawn(async move { request.send().await });
    under_way(3).await;
    closed.abort();
    ended(3).await;
}

/// F11: a tool that is deleted during the run is not there at the next step.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_deleted_during_a_run_is_gone_at_the_next_step() {
    let soon = Duration::from_millis(1500);
    let script = move |number, _: &ReceivedRequest| match number {
        0 => {
            Reply::Late(soon, Box::new(Reply::calls(&[("crm__echo", json!({})), ("keep__echo", json!({}))])))
        }
        _ => Reply::says("Gone."),
    };
    let (app, upstream, model) =
        world(script, json!({ "tools": ["api://crm/echo", "api://keep/echo"] })).await;
    let mut keep = crm(&upstream);
    keep["id"] = "keep".into();
    app.post("services", keep).await.is(201);
    let run = begin(&app, "a", "Go.").await;
    eventually("the model is asked", PATIENCE, async || !model.asked().is_empty()).await;
    app.delete("services/api/crm?force=true").await.is(204);
    let ended = until(&app, &run, "succeeded").await;
    assert_eq!(ended["output"]["answer"], "Gone.", "{ended}");
    assert_eq!(count(&upstream, "/echo"), 1, "only what is still there is called");
    let offered = model.asked()[1].body["tools"].to_string();
    assert!(!offered.contains("crm__echo") && offered.contains("keep__echo"), "{offered}");
}

/// AG-6: with the saver's rights a tool gets nothing of the caller's headers; with the caller's it does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_of_the_caller_reach_tools_with_the_caller_s_rights_alone() {
    let (app, upstream) = (TestApp::start(Backend::Sqlite).await, http::Server::start().await);
    let service = json!({ "type": "api", "id": "crm", "tools": [{ "id": "echo", "endpoint": "/echo" }],
        "config": { "base_url": upstream.url(), "pass_headers": ["X-User"] } });
    app.post("services", service).await.is(201);
    for (run_as, expected) in [("caller", Some("ada")), ("agent", None)] {
        let model = Model::replies(vec![Reply::calls(&[("crm__echo", json!({}))]), Reply::says("ok")]).await;
        app.post("services", agent(run_as, &model, json!({ "tools": ["api://crm/echo"], "run_as": run_as })))
            .await
            .is(201);
        let request = app.request(Method::POST, &format!("agents/{run_as}/runs")).header("x-user", "ada");
        testkit::client::send_json(request, &json!({ "prompt": "Go." })).await.is(200);
        assert_eq!(upstream.last().header("x-user"), expected, "{run_as}");
    }
}

/// AG-21: runs, tokens and cost are counted for whoever watches the program.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_tokens_and_cost_are_metrics() {
    let script =
        |number, _: &ReceivedRequest| if number == 0 { Reply::says("ok") } else { Reply::error(401, "no") };
    let price = json!({ "input": 100_000.0, "output": 0.0 });
    let (app, _upstream, _model) = world(script, json!({ "price": price })).await;
    ask(&app, "a").await;
    ask(&app, "a").await;
    let metrics = app.get("/metrics").await.is(200).text;
    for line in [
        "mcp_all_in_one_agent_runs_total{state=\"succeeded\"} 1",
        "mcp_all_in_one_agent_runs_total{state=\"failed\"} 1",
        "mcp_all_in_one_agent_tokens_total{kind=\"input\"} 10",
        "mcp_all_in_one_agent_tokens_total{kind=\"output\"} 5",
        "mcp_all_in_one_agent_cost_usd 1",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

/// AG-21: a plain call that becomes a run which waits is one run, counted when it has ended, with what it has used once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_waits_is_counted_once() {
    let script = |number, _: &ReceivedRequest| match number {
        0 => Reply::calls(&[("crm__remove", json!({}))]),
        _ => Reply::says("It is gone."),
    };
    let (app, _upstream, _model) = world(script, json!({})).await;
    let waiting = app.post("agents/a/runs", json!({ "prompt": "Go." })).await.is(202).body;
    let told = &waiting["structuredContent"];
    let metrics = app.get("/metrics").await.is(200).text;
    assert!(!metrics.contains("agent_runs_total{"), "it has not ended: {metrics}");
    let approval = format!("approvals/{}", told["approvals"][0]["id"].as_str().unwrap());
    app.post(&approval, json!({ "decision": "approve" })).await.is(200);
    until(&app, told["run"].as_str().unwrap(), "succeeded").await;
    let metrics = app.get("/metrics").await.is(200).text;
    for line in [
        "mcp_all_in_one_agent_runs_total{state=\"succeeded\"} 1",
        "mcp_all_in_one_agent_tokens_total{kind=\"input\"} 20",
        "mcp_all_in_one_agent_tokens_total{kind=\"output\"} 10",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}
