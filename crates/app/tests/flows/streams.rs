//! Runs as they go on: events that are numbered, and that nobody misses.

use crate::world::{PATIENCE, publish, run, start, until};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send;
use testkit::{Backend, TestApp, on_both_databases};

on_both_databases! {
    a_stream_of_events_goes_on_where_it_broke_off
    a_stream_of_events_ends_with_its_key
    a_stream_of_as_many_events_as_are_read_at_once_ends_once
}

fn ids(text: &str) -> Vec<u64> {
    text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
}

/// FL-30: whoever comes back with the id of the last event misses none.
async fn a_stream_of_events_goes_on_where_it_broke_off(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = "nodes: {a: {with: '1', next: b}, b: {wait: {signal: go}, next: c}, c: {with: '3'}}";
    publish(&app, app.database(), "three", text).await;
    let id = start(&app, "three", json!({})).await;
    until(&app, &id, &["waiting"]).await;
    let path = format!("runs/{id}/events");
    let live = tokio::spawn({
        let (client, path) = (app.as_key(app.key().unwrap()), path.clone());
        async move { client.get(&path).await.is(200).text }
    });
    app.post(&format!("runs/{id}/signals/go"), json!({})).await.is(202);
    let whole = live.await.unwrap();
    let all = ids(&whole);
    assert_eq!(all, (1..=u64::try_from(all.len()).unwrap()).collect::<Vec<_>>(), "{whole}");
    for name in ["run", "step", "progress", "end"] {
        assert!(whole.contains(&format!("event: {name}\n")), "{name} in {whole}");
    }
    let last = whole.lines().rfind(|line| line.starts_with("data: ")).unwrap();
    let last: Value = serde_json::from_str(&last["data: ".len()..]).unwrap();
    assert_eq!((&last["state"], &last["output"]), (&json!("succeeded"), &json!(3)));
    let request = app.request(Method::GET, &path).header("last-event-id", "3");
    assert_eq!(ids(&send(request).await.is(200).text), all[3..]);
    let request = app.request(Method::GET, &path).header("last-event-id", all.last().unwrap().to_string());
    send(request).await.is(204);
    let request = app.request(Method::GET, &path).header("last-event-id", "x");
    send(request).await.is_problem(400, "BAD_REQUEST");
    assert_eq!(run(&app, "three", json!({})).await.status, 202);
}

/// FL-32: whoever has lost the key hears nothing more of the run.
async fn a_stream_of_events_ends_with_its_key(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "waits", "nodes: {a: {wait: {signal: go}}}").await;
    let id = start(&app, "waits", json!({})).await;
    until(&app, &id, &["waiting"]).await;
    let key = app.post("keys", json!({ "name": "ann", "role": "viewer" })).await.is(201);
    let path = format!("runs/{id}/events");
    let mut stream = app.as_key(key.string("key")).request(Method::GET, &path).send().await.unwrap();
    assert!(stream.chunk().await.unwrap().is_some(), "what there is of the run");
    app.delete(&format!("keys/{}", key.string("id"))).await.is(204);
    let ended = async { while stream.chunk().await.ok().flatten().is_some() {} };
    tokio::time::timeout(PATIENCE, ended).await.expect("the stream ends");
    assert_eq!(app.get(&format!("runs/{id}")).await.is(200).body["state"], "waiting");
}

/// FL-30: the journal is read in pages of 200.
async fn a_stream_of_as_many_events_as_are_read_at_once_ends_once(backend: Backend) {
    let app = TestApp::start(backend).await;
    // Beside these there are the beginning and the end.
    let nodes: Vec<_> = (0..198).map(|number| format!("n{number}: {{with: '1'}}")).collect();
    let text = format!("nodes: {{{}}}\noutput: ${{n7}}", nodes.join(", "));
    publish(&app, app.database(), "wide", &text).await;
    let id = run(&app, "wide", json!({})).await.is(200).string("id");
    for last in ["0", "1", "199"] {
        let request = app.request(Method::GET, &format!("runs/{id}/events")).header("last-event-id", last);
        let events = send(request).await.is(200).text;
        assert_eq!(ids(&events), (last.parse::<u64>().unwrap() + 1..=200).collect::<Vec<_>>());
        assert_eq!(events.matches("event: end").count(), 1, "behind {last}");
        assert!(events.contains(r#""output":1"#), "behind {last}");
    }
}
