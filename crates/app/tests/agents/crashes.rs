//! Processes that are killed while their agents are at work.

use crate::clients::{send, session};
use crate::world::{PATIENCE, agent, begin, count, crm, ended, slow, until};
use serde_json::json;
use std::time::Duration;
use testkit::model::{Model, Reply};
use testkit::process::{self, Server};
use testkit::{Backend, Client, Database, eventually, http, on_both_databases};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_mcp-all-in-one");

on_both_databases! {
    a_run_goes_on_after_its_process_was_killed
    approvals_outlive_the_process
    a_flow_finds_the_run_of_its_agent_again
    a_question_to_a_legacy_client_ends_with_the_process
}

pub(crate) fn serve(database: &Database) -> Server {
    let mut command = process::serve(BINARY, database, &database.data_dir());
    command.arg("--allow-private-network");
    Server::start(command)
}

/// A server of the binary with the agent `a`, which may use `crm` without asking, and its admin's key.
pub(crate) async fn serve_agent(
    database: &Database,
    upstream: &http::Server,
    model: &Model,
) -> (Server, Client, String) {
    let server = serve(database);
    let (admin, key) = (server.admin(), server.admin_key().unwrap().to_owned());
    admin.post("services", crm(upstream)).await.is(201);
    admin.post("services", agent("a", model, json!({ "approval": "never" }))).await.is(201);
    (server, admin, key)
}

/// AG-15: after kill -9 the run goes on behind its last entry. A call that says it only reads is made again; one that
/// may not be repeated is not, and the model hears that nobody knows what came of it; what had ended is not done again.
async fn a_run_goes_on_after_its_process_was_killed(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let model = Model::start(|number, asked| match number {
        0 => Reply::calls(&[("crm__echo", json!({}))]),
        1 => Reply::calls(&[("crm__send", json!({})), ("slow__read", json!({}))]),
        // The model itself is interrupted, too.
        2 => Reply::Late(Duration::from_secs(60), Box::new(Reply::says("too late"))),
        _ if asked.text.contains("outcome is unknown") => Reply::says("Nobody knows."),
        _ => Reply::says("It is sent."),
    })
    .await;
    let mut server = serve(&database);
    let (admin, key) = (server.admin(), server.admin_key().unwrap().to_owned());
    admin.post("services", crm(&upstream)).await.is(201);
    admin.post("services", slow(&upstream)).await.is(201);
    let tools = json!(["api://crm/*", "svc://slow/read"]);
    admin.post("services", agent("a", &model, json!({ "approval": "never", "tools": tools }))).await.is(201);
    let run = begin(&admin, "a", "Send it.").await;
    eventually("both calls are under way", PATIENCE, async || {
        count(&upstream, "/slow/4000") == 1 && count(&upstream, "/slow/4001") == 1
    })
    .await;
    server.kill();
    server = serve(&database);
    eventually("the model is asked again", PATIENCE, async || model.asked().len() == 3).await;
    server.kill();
    server = serve(&database);
    let answer = ended(&server.client(&key), "a", &run).await;
    assert_eq!(answer["structuredContent"]["answer"], "Nobody knows.", "{answer}");
    let counts = ["/echo", "/slow/4000", "/slow/4001"].map(|path| count(&upstream, path));
    assert_eq!(counts, [1, 2, 1], "what may not be repeated is made once");
    let requests = upstream.requests();
    let sent = requests.iter().find(|request| request.path == "/slow/4001").unwrap();
    assert_eq!(sent.header("idempotency-key"), Some(format!("{run}:a[2].0").as_str()));
    assert_eq!(answer["structuredContent"]["usage"]["tool_calls"], 3, "{answer}");
    a_call_of_unknown_outcome_is_recorded(&server.client(&key), &run).await;
}

/// AG-21: what was called has its record, also where nobody has lived to write it.
async fn a_call_of_unknown_outcome_is_recorded(admin: &testkit::Client, run: &str) {
    let mut records = Vec::new();
    eventually("the call has its record", PATIENCE, async || {
        records = admin.get(&format!("audit?run={run}&tool=crm__send")).await.is(200).items();
        !records.is_empty()
    })
    .await;
    let told: Vec<_> =
        records.iter().map(|record| json!([record["status"], record["agent"], record["step"]])).collect();
    assert_eq!(told, [json!(["error", "a", 2])], "{records:?}");
    assert!(records[0]["message"].as_str().unwrap().contains("interrupted"), "{records:?}");
}

/// AG-13, AG-15: what waits for people when the process dies still waits behind it.
async fn approvals_outlive_the_process(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let model =
        Model::replies(vec![Reply::calls(&[("crm__remove", json!({}))]), Reply::says("It is gone.")]).await;
    let mut server = serve(&database);
    let (admin, key) = (server.admin(), server.admin_key().unwrap().to_owned());
    admin.post("services", crm(&upstream)).await.is(201);
    admin.post("services", agent("a", &model, json!({}))).await.is(201);
    let waiting = admin.post("agents/a/runs", json!({ "prompt": "Remove it." })).await.is(202).body;
    let told = &waiting["structuredContent"];
    let (run, approval) = (told["run"].as_str().unwrap(), told["approvals"][0]["id"].as_str().unwrap());
    server.kill();
    server = serve(&database);
    let admin = server.client(&key);
    until(&admin, run, "waiting").await;
    admin.post(&format!("approvals/{approval}"), json!({ "decision": "approve" })).await.is(200);
    let answer = ended(&admin, "a", run).await;
    assert_eq!(answer["structuredContent"]["answer"], "It is gone.", "{answer}");
    assert_eq!((count(&upstream, "/remove"), model.asked().len()), (1, 2));
}

/// AG-15, F10: a flow whose process is killed while its agent is at work finds the run of the agent again: what may not be
/// repeated is not, and the flow ends with what the agent answers.
async fn a_flow_finds_the_run_of_its_agent_again(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let model = Model::start(|number, asked| match number {
        0 => Reply::calls(&[("crm__send", json!({}))]),
        _ if asked.text.contains("outcome is unknown") => Reply::says("Nobody knows."),
        _ => Reply::says("It is sent."),
    })
    .await;
    let (mut server, admin, key) = serve_agent(&database, &upstream, &model).await;
    let source = "nodes:\n  think: {agent: a, args: {prompt: Send it.}}\noutput: {said: \"${think}\"}";
    admin.post("flows", json!({ "id": "f", "source": source })).await.is(201);
    admin.post("flows/f/publish", json!({})).await.is(200);
    let run = admin.post("flows/f/runs", json!({})).await.is(202).string("id");
    eventually("the call is under way", PATIENCE, async || count(&upstream, "/slow/4001") == 1).await;
    server.kill();
    server = serve(&database);
    let admin = server.client(&key);
    let ended = until(&admin, &run, "succeeded").await;
    assert_eq!(ended["output"], json!({ "said": "Nobody knows." }), "{ended}");
    assert_eq!((count(&upstream, "/slow/4001"), model.asked().len()), (1, 2), "it is made once");
    assert_eq!(admin.get("runs?agent=a").await.is(200).items().len(), 1, "it is one run of the agent");
}

/// AG-13, F10: a legacy client is asked while its call is held, and nothing of that is kept: when the process dies meanwhile,
/// what was asked is not done, what was done is not done again, and no run is left that could.
async fn a_question_to_a_legacy_client_ends_with_the_process(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let wants = [("crm__echo", json!({})), ("crm__remove", json!({}))];
    let model = Model::replies(vec![Reply::calls(&wants), Reply::says("It is gone.")]).await;
    let mut server = serve(&database);
    let (admin, key) = (server.admin(), server.admin_key().unwrap().to_owned());
    admin.post("services", crm(&upstream)).await.is(201);
    admin.post("services", agent("a", &model, json!({}))).await.is(201);
    let params = json!({ "name": "a__ask", "arguments": { "prompt": "Remove it." } });
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
    let mut stream = send(&admin, &session(&admin).await, &call).await;
    let mut heard = String::new();
    while !heard.contains("elicitation/create") {
        heard.push_str(&String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()));
    }
    server.kill();
    server = serve(&database);
    let admin = server.client(&key);
    for left in ["runs", "approvals"] {
        assert_eq!(admin.get(left).await.is(200).body["total"], 0, "{left}");
    }
    assert_eq!((count(&upstream, "/echo"), count(&upstream, "/remove")), (1, 0));
    assert_eq!(model.asked().len(), 1, "the model is not asked either");
}
