//! Faults around runs of agents: processes that die, databases that are away, and two that want the same at once.

use crate::crashes::{BINARY, serve, serve_agent};
use crate::world::{PATIENCE, agent, begin, count, crm, ended, until};
use serde_json::json;
use sqlx::{AnyConnection, Executor as _};
use std::sync::Arc;
use std::time::Duration;
use testkit::model::{Model, Reply};
use testkit::process::{self, Server};
use testkit::tcp_proxy::TcpProxy;
use testkit::{Backend, Database, TestApp, eventually, http, on_both_databases};
use tool::Secret;

on_both_databases! {
    a_result_that_was_not_written_down_is_unknown
    a_run_whose_caller_waited_is_interrupted_and_goes_on_when_it_is_tried_again
    two_processes_take_one_run_once
    two_asks_at_once_in_one_conversation_are_one
    a_call_under_way_ends_while_the_database_is_away
    a_run_stops_while_the_database_is_away
}

/// A model that has something sent, and then says whether it knows what came of it.
async fn sending() -> Model {
    Model::start(|_, asked| match asked.text.contains("\"tool_call_id\"") {
        false => Reply::calls(&[("crm__send", json!({}))]),
        true if asked.text.contains("outcome is unknown") => Reply::says("Nobody knows."),
        true => Reply::says("It is sent."),
    })
    .await
}

/// Nobody else writes in a journal until the connection lets go.
async fn locked(database: &Database) -> AnyConnection {
    let mut connection = database.connect().await;
    match database.backend() {
        Backend::Sqlite => drop(connection.execute("BEGIN IMMEDIATE").await.unwrap()),
        Backend::Postgres => {
            connection.execute("BEGIN").await.unwrap();
            connection.execute("LOCK TABLE run_journal IN EXCLUSIVE MODE").await.unwrap();
        }
    }
    connection
}

/// AG-15, F10: a process that dies between the result of a call and its record leaves a call that is not made again.
async fn a_result_that_was_not_written_down_is_unknown(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let model = sending().await;
    let (mut server, admin, key) = serve_agent(&database, &upstream, &model).await;
    let run = begin(&admin, "a", "Send it.").await;
    eventually("the call is under way", PATIENCE, async || count(&upstream, "/slow/4001") == 1).await;
    let mut lock = locked(&database).await;
    // The call takes four seconds: its result is there, and cannot be written down.
    tokio::time::sleep(Duration::from_millis(4800)).await;
    server.kill();
    lock.execute("ROLLBACK").await.unwrap();
    assert_eq!(model.asked().len(), 1, "nothing goes on before it is written down");
    server = serve(&database);
    let answer = ended(&server.client(&key), "a", &run).await;
    assert_eq!(answer["structuredContent"]["answer"], "Nobody knows.", "{answer}");
    assert_eq!(count(&upstream, "/slow/4001"), 1);
}

/// AG-15: a run whose caller waited for it ends with its process, with a reason; tried again, it goes on behind its last
/// entry.
async fn a_run_whose_caller_waited_is_interrupted_and_goes_on_when_it_is_tried_again(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let model = sending().await;
    let (mut server, admin, key) = serve_agent(&database, &upstream, &model).await;
    let body = json!({ "prompt": "Send it.", "conversation": "new" });
    let request = admin.request(reqwest::Method::POST, "agents/a/runs").json(&body);
    let waiting = tokio::spawn(async move { request.send().await.is_ok() });
    eventually("the call is under way", PATIENCE, async || count(&upstream, "/slow/4001") == 1).await;
    let run = admin.get("runs?agent=a").await.is(200).items()[0]["id"].as_str().unwrap().to_owned();
    server.kill();
    assert!(!waiting.await.unwrap(), "nobody answers any more");
    server = serve(&database);
    let admin = server.client(&key);
    let failed = until(&admin, &run, "failed").await;
    assert_eq!(
        (&failed["error"]["code"], &failed["error"]["reason"]),
        (&json!("UNAVAILABLE"), &json!("INTERRUPTED"))
    );
    assert_eq!((count(&upstream, "/slow/4001"), model.asked().len()), (1, 1), "nothing went on by itself");
    admin.post(&format!("runs/{run}/retry"), json!({})).await.is(200);
    let answer = ended(&admin, "a", &run).await;
    assert_eq!(answer["structuredContent"]["answer"], "Nobody knows.", "{answer}");
    assert_eq!((count(&upstream, "/slow/4001"), model.asked().len()), (1, 2));
}

/// AG-15, F14: two processes that look for work take each run once: one lease, one writer.
async fn two_processes_take_one_run_once(backend: Backend) {
    const RUNS: usize = 12;
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let model = Model::start(|_, asked| match asked.text.contains("\"tool_call_id\"") {
        false => Reply::calls(&[("crm__echo", json!({}))]),
        true => Reply::says("Done."),
    })
    .await;
    let first = serve(&database);
    let key = first.admin_key().unwrap().to_owned();
    let mut command = process::serve(BINARY, &database, &database.replica_data_dir("second"));
    command.arg("--allow-private-network");
    let second = Server::start(command);
    let clients = [first.client(&key), second.client(&key)];
    clients[0].post("services", crm(&upstream)).await.is(201);
    clients[0].post("services", agent("a", &model, json!({}))).await.is(201);
    eventually("the second knows the agent", PATIENCE, async || {
        !clients[1].get("agents").await.is(200).items().is_empty()
    })
    .await;
    let mut runs = Vec::new();
    for number in 0..RUNS {
        runs.push(begin(&clients[number % 2], "a", "Do it.").await);
    }
    for run in &runs {
        assert_eq!(ended(&clients[0], "a", run).await["structuredContent"]["answer"], "Done.");
    }
    assert_eq!((count(&upstream, "/echo"), model.asked().len()), (RUNS, 2 * RUNS));
}

/// AG-14, F14: of two asks in one conversation at the same time one is answered, and the other is `RATE_LIMITED`.
async fn two_asks_at_once_in_one_conversation_are_one(backend: Backend) {
    let app = TestApp::start(backend).await;
    let slow = Reply::Late(Duration::from_secs(2), Box::new(Reply::says("Slowly.")));
    let model = Model::replies(vec![Reply::says("Hello."), slow]).await;
    app.post("services", agent("a", &model, json!({ "tools": [] }))).await.is(201);
    let ask = async |conversation: &str| {
        app.post("agents/a/runs", json!({ "prompt": "x", "conversation": conversation })).await
    };
    let id = ask("new").await.is(200).body["structuredContent"]["conversation"].as_str().unwrap().to_owned();
    let (one, other) = tokio::join!(ask(&id), ask(&id));
    let (answered, refused) = if one.status == 200 { (one, other) } else { (other, one) };
    assert_eq!(answered.is(200).body["structuredContent"]["answer"], "Slowly.");
    refused.is_problem(429, "RATE_LIMITED");
    assert_eq!(model.asked().len(), 2);
    let turns = app.get(&format!("conversations/{id}")).await.is(200).items();
    assert_eq!(turns.len(), 2);
}

/// The database answers nobody, or takes nothing, for so long.
async fn is_away(database: &Database, proxy: Option<&TcpProxy>, time: Duration) {
    let Some(proxy) = proxy else {
        let mut lock = locked(database).await;
        tokio::time::sleep(time).await;
        lock.execute("ROLLBACK").await.unwrap();
        return;
    };
    proxy.cut();
    tokio::time::sleep(time).await;
    proxy.restore();
}

/// AG-15, F15: a call that is under way when the database goes comes to its end; then the run stops, and its caller hears
/// which run that is.
async fn a_call_under_way_ends_while_the_database_is_away(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Arc::new(Database::create(backend).await));
    let proxied = if backend == Backend::Postgres { Some(database.behind_proxy().await) } else { None };
    let (proxy, url) = proxied.unzip();
    let app = TestApp::start_on(&database, |settings| {
        settings.database = url.map(Secret::new).or(settings.database.take());
        settings.server.store_timeout = Duration::from_secs(2);
    })
    .await;
    let model = Model::replies(vec![
        Reply::calls(&[("crm__send", json!({}))]),
        Reply::calls(&[("crm__remove", json!({}))]),
        Reply::says("Done."),
    ])
    .await;
    app.post("services", crm(&upstream)).await.is(201);
    app.post("services", agent("a", &model, json!({ "approval": "never" }))).await.is(201);
    let asking = async { app.post("agents/a/runs", json!({ "prompt": "Go.", "conversation": "new" })).await };
    let outage = async {
        eventually("it is sent", PATIENCE, async || count(&upstream, "/slow/4001") == 1).await;
        // Longer than the call takes, and what follows it.
        is_away(&database, proxy.as_ref(), Duration::from_secs(7)).await;
    };
    let (answer, ()) = tokio::join!(asking, outage);
    let content = &answer.body["structuredContent"];
    // Whoever writes to SQLite waits for the lock, so that the run goes on as soon as it is free.
    let is_stopped = backend == Backend::Postgres;
    assert_eq!(answer.body["isError"], is_stopped, "{}", answer.body);
    let run = content["run"].as_str().unwrap_or_else(|| panic!("{}", answer.body)).to_owned();
    eventually("the database answers", PATIENCE, async || {
        app.get(&format!("runs/{run}")).await.status == 200
    })
    .await;
    if is_stopped {
        assert_eq!(content["error"]["code"], "UNAVAILABLE", "{}", answer.body);
        until(&app, &run, "failed").await;
        assert_eq!(count(&upstream, "/remove"), 0, "nothing begins that is not written down");
        app.post(&format!("runs/{run}/retry"), json!({})).await.is(200);
    }
    let mut sent = Vec::new();
    eventually("the call is recorded", PATIENCE, async || {
        sent = app.get("audit?tool=crm__send").await.is(200).items();
        !sent.is_empty()
    })
    .await;
    assert_eq!((sent.len(), &sent[0]["status"]), (1, &json!("ok")), "{sent:?}");
    until(&app, &run, "succeeded").await;
    assert_eq!((count(&upstream, "/slow/4001"), count(&upstream, "/remove")), (1, 1));
}

/// AG-15, F15: while the database is away a plain call ends as ever; a run with a journal makes no call that it cannot write
/// down, and ends well when the database is back.
async fn a_run_stops_while_the_database_is_away(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Arc::new(Database::create(backend).await));
    let proxied = if backend == Backend::Postgres { Some(database.behind_proxy().await) } else { None };
    let (proxy, url) = proxied.unzip();
    let app = TestApp::start_on(&database, |settings| {
        settings.database = url.map(Secret::new).or(settings.database.take());
        settings.server.store_timeout = Duration::from_secs(2);
    })
    .await;
    let model = Model::start(|_, asked| match asked.text.contains("\"tool_call_id\"") {
        false if asked.text.contains("Plainly") => Reply::calls(&[("crm__echo", json!({ "text": "plain" }))]),
        // The database goes while the model answers.
        false => Reply::Late(Duration::from_secs(2), Box::new(Reply::calls(&[("crm__remove", json!({}))]))),
        true => Reply::says("Done."),
    })
    .await;
    app.post("services", crm(&upstream)).await.is(201);
    app.post("services", agent("a", &model, json!({ "approval": "never" }))).await.is(201);
    let run = begin(&app, "a", "Remove it.").await;
    eventually("the model is asked", PATIENCE, async || model.asked().len() == 1).await;
    let lock = match &proxy {
        Some(proxy) => {
            proxy.cut();
            None
        }
        None => Some(locked(&database).await),
    };
    let plain = app.call("agent://a", json!({ "prompt": "Plainly." })).await.is(200).body;
    assert_eq!(plain["structuredContent"]["answer"], "Done.", "{plain}");
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(count(&upstream, "/remove"), 0, "nothing is done that is not written down");
    if let Some(proxy) = &proxy {
        proxy.restore();
    }
    if let Some(mut lock) = lock {
        lock.execute("ROLLBACK").await.unwrap();
    }
    let mut state = String::new();
    // Its lease has to end first.
    eventually("the run ends", 2 * PATIENCE, async || {
        let view = app.get(&format!("runs/{run}")).await;
        state = view.body["state"].as_str().unwrap_or_default().to_owned();
        if state == "failed" {
            assert_eq!(view.body["error"]["code"], "UNAVAILABLE", "{}", view.body);
            app.post(&format!("runs/{run}/retry"), json!({})).await.is(200);
        }
        state == "succeeded"
    })
    .await;
    assert_eq!((state.as_str(), count(&upstream, "/remove")), ("succeeded", 1));
}
