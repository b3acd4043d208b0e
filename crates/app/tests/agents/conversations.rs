//! Conversations: kept for their caller and agent alone, sealed, bounded, and for a while.

use crate::world::{agent, begin_in, crm, ended, until};
use serde_json::{Value, json};
use std::time::Duration;
use store::conversations::NewConversation;
use store::runs::{Inserted, NewRun, Refusal};
use testkit::model::{Model, Reply};
use testkit::{Backend, Client, TestApp, http, on_both_databases};

on_both_databases! {
    what_was_said_is_known_in_the_next_turn
    a_conversation_is_there_for_its_caller_and_agent_alone
    a_conversation_has_one_run_at_a_time
    conversations_are_bounded_sealed_and_end
    nothing_that_a_run_is_given_or_says_is_on_record_as_a_change
    a_failed_run_of_a_conversation_is_tried_again_much_later
    what_an_earlier_turn_has_read_is_not_trusted_in_a_later_one
    what_is_too_long_is_left_out_with_a_warning
    no_conversation_begins_without_its_run
}

/// An agent that says how many messages its model was told, and what the last prompt was.
async fn world(backend: Backend, more: Value) -> (TestApp, http::Server, Model) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let model = Model::start(|_, asked| {
        let messages = asked.body["messages"].as_array().unwrap();
        let last = messages.last().unwrap()["content"].as_str().unwrap_or_default().to_owned();
        Reply::says(&format!("{} after {} messages", last, messages.len()))
    })
    .await;
    app.post("services", agent("a", &model, more)).await.is(201);
    (app, upstream, model)
}

async fn say(client: &Client, conversation: &str, prompt: &str) -> Value {
    let body = json!({ "prompt": prompt, "conversation": conversation });
    client.post("agents/a/runs", body).await.is(200).body["structuredContent"].clone()
}

/// AG-14: what was asked and answered is told to the model in the next turn, and shown to whoever's it is.
async fn what_was_said_is_known_in_the_next_turn(backend: Backend) {
    let (app, _upstream, model) = world(backend, json!({})).await;
    let first = say(&app, "new", "one").await;
    let id = first["conversation"].as_str().unwrap().to_owned();
    assert_eq!(first["answer"], "one after 2 messages", "{first}");
    let second = say(&app, &id, "two").await;
    assert_eq!((&second["answer"], &second["conversation"]), (&json!("two after 4 messages"), &json!(id)));
    let told = model.asked().last().unwrap().text.clone();
    assert!(told.contains("one after 2 messages"), "{told}");
    // A run that goes on by itself is a turn, too.
    let run = begin_in(&app, "a", &id, "three").await;
    let third = ended(&app, "a", &run).await;
    assert_eq!(third["structuredContent"]["answer"], "three after 6 messages", "{third}");
    let whole = app.get(&format!("conversations/{id}")).await.is(200).body;
    let said: Vec<_> = whole["items"].as_array().unwrap().iter().map(|turn| &turn["prompt"]).collect();
    assert_eq!(said, ["one", "two", "three"], "{whole}");
    let listed = app.get("conversations?agent=a").await.is(200).items();
    assert_eq!((listed.len(), &listed[0]["turns"]), (1, &json!(3)));
    app.delete(&format!("conversations/{id}")).await.is(204);
    app.get(&format!("conversations/{id}")).await.is(404);
    app.post("agents/a/runs", json!({ "prompt": "x", "conversation": id })).await.is(404);
}

/// AG-14: other callers, agents and tenants find no such conversation; managers may read and delete it.
async fn a_conversation_is_there_for_its_caller_and_agent_alone(backend: Backend) {
    let (app, _upstream, model) = world(backend, json!({})).await;
    app.post("services", agent("b", &model, json!({}))).await.is(201);
    let key = |name: &str, role: &str| json!({ "name": name, "role": role });
    let (ada, bob) = (app.with_key(key("ada", "caller")).await, app.with_key(key("bob", "caller")).await);
    let viewer = app.with_key(key("vic", "viewer")).await;
    let id = say(&ada, "new", "one").await["conversation"].as_str().unwrap().to_owned();
    let path = format!("conversations/{id}");
    let other = app.with_tenant("other").await;
    for client in [&bob, &viewer, &other] {
        client.get(&path).await.is(404);
        client.delete(&path).await.is(404);
        assert!(client.get("conversations").await.is(200).items().is_empty());
    }
    let body = json!({ "prompt": "x", "conversation": id });
    bob.post("agents/a/runs", body.clone()).await.is_problem(404, "NOT_FOUND");
    // Not even a manager goes on with it, nor its caller with another agent.
    app.post("agents/a/runs", body.clone()).await.is(404);
    ada.post("agents/b/runs", body).await.is(404);
    assert_eq!(say(&ada, &id, "two").await["answer"], "two after 4 messages");
    assert_eq!(app.get(&path).await.is(200).body["caller"], "ada");
    app.delete(&path).await.is(204);
    ada.get(&path).await.is(404);
}

/// AG-14: a conversation that a run uses is not there for another one until the run has ended.
async fn a_conversation_has_one_run_at_a_time(backend: Backend) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let model = Model::replies(vec![Reply::calls(&[("crm__remove", json!({}))]), Reply::says("Done.")]).await;
    app.post("services", agent("a", &model, json!({}))).await.is(201);
    let body = json!({ "prompt": "Remove it.", "conversation": "new" });
    let waiting = app.post("agents/a/runs", body).await.is(202).body["structuredContent"].clone();
    let (run, id) = (waiting["run"].as_str().unwrap(), waiting["conversation"].as_str().unwrap());
    app.post("agents/a/runs", json!({ "prompt": "x", "conversation": id })).await.is(429);
    let approval = waiting["approvals"][0]["id"].as_str().unwrap();
    app.post(&format!("approvals/{approval}"), json!({ "decision": "approve" })).await.is(200);
    until(&app, run, "succeeded").await;
    assert_eq!(say(&app, id, "x").await["answer"], "Done.");
}

/// AG-14: only so many turns are kept, nothing that was said stands in the database as it is, and a conversation that nobody
/// has used for its time is gone.
async fn conversations_are_bounded_sealed_and_end(backend: Backend) {
    let (app, _upstream, _model) = world(backend, json!({ "conversations": { "max_turns": 2 } })).await;
    let id = say(&app, "new", "hunter2-one").await["conversation"].as_str().unwrap().to_owned();
    for prompt in ["two", "three"] {
        say(&app, &id, prompt).await;
    }
    assert_eq!(say(&app, &id, "four").await["answer"], "four after 6 messages");
    let store = store_of(&app).await;
    let tenant = tool::TenantId::default_tenant();
    let copy = store.conversations().turns(&tenant, &id, usize::MAX).await.unwrap();
    assert_eq!(copy.0.len(), 2);
    for table in ["conversations", "conversation_turns", "runs", "run_data", "run_journal", "run_waits"] {
        let mut connection = app.database().connect().await;
        let sql = sqlx::AssertSqlSafe(format!("SELECT * FROM {table}"));
        let rows = sqlx::query(sql).fetch_all(&mut connection).await.unwrap();
        assert!(table == "run_waits" || !rows.is_empty(), "{table} is looked at");
        for row in rows {
            let texts =
                (0..sqlx::Row::len(&row)).filter_map(|at| sqlx::Row::try_get::<String, _>(&row, at).ok());
            assert!(texts.into_iter().all(|text| !text.contains("hunter2")), "{table}");
        }
    }
    let brief = "brief".to_owned();
    let new = NewConversation {
        id: brief.clone(),
        agent: "a".into(),
        caller: "key/x".into(),
        caller_name: "x".into(),
        time: Duration::from_millis(1),
    };
    store.conversations().create(&tenant, &new).await.unwrap();
    testkit::eventually("its time is over", Duration::from_secs(5), async || {
        store.conversations().get(&tenant, &brief).await.is_err()
    })
    .await;
    store.conversations().sweep().await.unwrap();
    store.close().await;
    app.post("agents/a/runs", json!({ "prompt": "x", "conversation": brief })).await.is(404);
}

/// AG-14: who started, decided and ended a run is on record, and never what it was given, asks or answers.
async fn nothing_that_a_run_is_given_or_says_is_on_record_as_a_change(backend: Backend) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let model = Model::replies(vec![
        Reply::says("hunter2 answers"),
        Reply::calls(&[("crm__remove", json!({ "text": "hunter2 removed" }))]),
        Reply::says("hunter2 is gone"),
    ])
    .await;
    app.post("services", agent("a", &model, json!({}))).await.is(201);
    let id = say(&app, "new", "hunter2 asks").await["conversation"].as_str().unwrap().to_owned();
    app.delete(&format!("conversations/{id}")).await.is(204);
    let body = json!({ "prompt": "hunter2 again", "conversation": "new" });
    let waiting = app.post("agents/a/runs", body).await.is(202).body["structuredContent"].clone();
    let (run, approval) = (waiting["run"].as_str().unwrap(), waiting["approvals"][0]["id"].as_str().unwrap());
    app.post(&format!("approvals/{approval}"), json!({ "decision": "approve", "comment": "hunter2 yes" }))
        .await
        .is(200);
    until(&app, run, "succeeded").await;
    let source = "inputs: {word: string}\nnodes:\n  w: {wait: {signal: go}}\noutput: {said: \"${word}\"}";
    app.post("flows", json!({ "id": "f", "source": source })).await.is(201);
    app.post("flows/f/publish", json!({})).await.is(200);
    let begun = app.post("flows/f/runs", json!({ "inputs": { "word": "hunter2 flows" } })).await.is(202);
    let of_flow = begun.string("id");
    app.post(&format!("runs/{of_flow}/signals/nobody"), json!({ "data": "hunter2 signals" })).await.is(202);
    app.post(&format!("runs/{of_flow}/cancel"), json!({})).await.is(200);
    app.post(&format!("runs/{of_flow}/replay"), json!({})).await.is(202);
    let records = app.get("audit?kind=management&limit=100").await.is(200);
    assert!(!records.text.contains("hunter2"), "{}", records.text);
    for (action, name, expected) in [
        ("POST /api/v1/agents/a/runs".to_owned(), "run", run),
        (format!("POST /api/v1/approvals/{approval}"), "id", run),
        ("POST /api/v1/flows/f/runs".to_owned(), "id", &of_flow),
    ] {
        let items = records.items();
        let found = items.iter().find(|record| record["tool"] == *action);
        let after = &found.unwrap_or_else(|| panic!("no {action} in {}", records.text))["arguments"]["after"];
        assert_eq!(after[name], expected, "{action}: {after}");
    }
}

async fn store_of(app: &TestApp) -> store::Store {
    let url = app.database().url().map(tool::Secret::new);
    app::wiring::connect_store(app.data_dir(), url, None).await.unwrap_or_else(|why| panic!("{why:?}"))
}

/// AG-15: a run that failed goes on when it is tried again, also when what is over was cleaned up meanwhile.
async fn a_failed_run_of_a_conversation_is_tried_again_much_later(backend: Backend) {
    let app = TestApp::start(backend).await;
    let model = Model::replies(vec![Reply::error(401, "no"), Reply::says("Now it is.")]).await;
    app.post("services", agent("a", &model, json!({ "tools": [] }))).await.is(201);
    let failed = say(&app, "new", "one").await;
    assert_eq!(failed["state"], "failed", "{failed}");
    let store = store_of(&app).await;
    let long = Duration::from_secs(3600);
    store.runs().sweep(store::runs::Retention { succeeded: long, failed: long }).await.unwrap();
    store.close().await;
    let run = failed["run"].as_str().unwrap();
    app.post(&format!("runs/{run}/retry"), json!({})).await.is(200);
    let ended = until(&app, run, "succeeded").await;
    assert_eq!(ended["output"]["answer"], "Now it is.", "{ended}");
}

/// AG-13, AG-14, F12: what was read in one turn is in all that come behind it, so that `after_untrusted` asks there, too.
async fn what_an_earlier_turn_has_read_is_not_trusted_in_a_later_one(backend: Backend) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let model = Model::start(|_, asked| {
        let messages = asked.body["messages"].as_array().unwrap();
        match messages.last().unwrap()["content"].as_str().unwrap_or_default() {
            "read" | "send" => Reply::calls(&[("crm__echo", json!({ "text": "x" }))]),
            _ => Reply::says("Fine."),
        }
    })
    .await;
    let trusting = |is_trusted: bool| {
        let tools = json!([{ "uri": "api://crm/echo", "trusted": is_trusted }]);
        json!({ "approval": "after_untrusted", "tools": tools })
    };
    app.post("services", agent("a", &model, trusting(false))).await.is(201);
    let id = say(&app, "new", "read").await["conversation"].as_str().unwrap().to_owned();
    // A turn between them that reads nothing makes nothing good.
    assert_eq!(say(&app, &id, "hello").await["answer"], "Fine.");
    let send = json!({ "prompt": "send", "conversation": id });
    let waiting = app.post("agents/a/runs", send).await.is(202).body;
    assert_eq!(waiting["structuredContent"]["state"], "waiting", "{waiting}");
    app.post("services", agent("b", &model, trusting(true))).await.is(201);
    let mut id = "new".to_owned();
    for _ in 0..2 {
        let body = json!({ "prompt": "read", "conversation": id });
        let told = app.post("agents/b/runs", body).await.is(200).body["structuredContent"].clone();
        id = told["conversation"].as_str().unwrap().to_owned();
    }
}

/// AG-14: a conversation that is too long for what is told of it, or for its model, goes on without its oldest whole turns, and
/// says so; so does one of which some are kept no more.
async fn what_is_too_long_is_left_out_with_a_warning(backend: Backend) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    // A small window: no more than three messages beside the instructions.
    let model = Model::start(|_, asked| match asked.body["messages"].as_array().unwrap().len() {
        0..=4 => Reply::says("Fine."),
        _ => Reply::error(400, "This model's maximum context length is 8 tokens"),
    })
    .await;
    app.post("services", agent("a", &model, json!({}))).await.is(201);
    let id = say(&app, "new", "1").await["conversation"].as_str().unwrap().to_owned();
    let mut warned = Vec::new();
    for prompt in ["2", "3", "4"] {
        let told = say(&app, &id, prompt).await;
        assert_eq!(told["answer"], "Fine.", "{told}");
        warned.push(told["warnings"].clone());
    }
    let left_out = |count: usize| json!([format!("{count} older turns of the conversation are left out")]);
    assert_eq!(warned, [json!([]), left_out(1), left_out(2)]);
    let told = model.asked().last().unwrap().text.clone();
    assert!(!told.contains("\"1\"") && !told.contains("\"2\"") && told.contains("\"3\""), "{told}");
    // As much as is told at all: 256 KiB.
    let (_, _upstream, wide) = (&app, upstream, Model::start(|_, _| Reply::says(&"y".repeat(1000))).await);
    app.post("services", agent("w", &wide, json!({ "conversations": { "max_turns": 3 } }))).await.is(201);
    let long = "x".repeat(100 * 1024);
    let mut id = "new".to_owned();
    let mut warned = Vec::new();
    for prompt in [long.as_str(), &long, &long, "short", "short"] {
        let body = json!({ "prompt": prompt, "conversation": id });
        let told = app.post("agents/w/runs", body).await.is(200).body["structuredContent"].clone();
        id = told["conversation"].as_str().unwrap().to_owned();
        warned.push(told["warnings"].clone());
    }
    // Of three long ones two are told; then the first is kept no more, either.
    assert_eq!(warned, [json!([]), json!([]), json!([]), left_out(1), left_out(1)]);
}

/// AG-14: a run that is not accepted, or that was there before, begins no conversation.
async fn no_conversation_begins_without_its_run(backend: Backend) {
    let (app, _upstream, _model) = world(backend, json!({})).await;
    let source = "nodes:\n  think: {agent: a, args: {prompt: Hello., conversation: new}}";
    app.post("flows", json!({ "id": "f", "source": source })).await.is(201);
    app.post("flows/f/publish", json!({})).await.is(200);
    let run = app.post("flows/f/runs", json!({})).await.is(202).string("id");
    until(&app, &run, "succeeded").await;
    assert_eq!(app.get("conversations").await.is(200).items().len(), 1);
    let store = store_of(&app).await;
    let tenant = tool::TenantId::default_tenant();
    let conversation = |id: &str| NewConversation {
        id: id.to_owned(),
        agent: "a".into(),
        caller: "key/x".into(),
        caller_name: "x".into(),
        time: Duration::from_secs(60),
    };
    let new = |id: &str, key: Option<&str>| NewRun {
        id: None,
        flow: "agent://a".into(),
        agent: Some("a".into()),
        version: None,
        source: None,
        inputs: "{}".into(),
        is_secret: true,
        origin: "{}".into(),
        caller: "{}".into(),
        parent: None,
        slots: None,
        dedupe: key.map(|key| (key.to_owned(), Duration::from_secs(60))),
        conversation: Some(conversation(id)),
        records: Vec::new(),
    };
    let refused = store.runs().insert(&tenant, &new("full", None), 0).await.unwrap();
    assert!(matches!(refused, Inserted::Refused(Refusal::QueueFull)), "{refused:?}");
    store.runs().insert(&tenant, &new("one", Some("k")), 10).await.unwrap();
    let known = store.runs().insert(&tenant, &new("two", Some("k")), 10).await.unwrap();
    assert!(matches!(known, Inserted::Known(_)), "{known:?}");
    for (id, is_there) in [("full", false), ("one", true), ("two", false)] {
        assert_eq!(store.conversations().get(&tenant, id).await.is_ok(), is_there, "{id}");
    }
    store.close().await;
}
