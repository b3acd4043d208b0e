//! What the console hears: changes, health and calls as they happen, whoever makes them.

use crate::setup::{PATIENCE, crm};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::client::send;
use testkit::{Backend, Client, TestApp, http, on_both_databases};

on_both_databases! {
    tells_what_others_change_within_two_seconds
    tells_each_who_listens_only_what_it_may_know
    a_listener_that_was_away_is_told_to_read_everything_again
    tells_where_runs_stand
    tells_how_things_are_and_what_to_do
}

/// An open stream of events.
struct Events {
    body: reqwest::Response,
    text: String,
}

impl Events {
    async fn open(client: &Client, query: &str, last: Option<&str>) -> Self {
        let mut request = client.request(Method::GET, &format!("events?{query}"));
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        Self { body: answer, text: String::new() }
    }

    /// The next event: name, id and data; nothing when the stream has ended.
    async fn next(&mut self) -> Option<(String, String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    event
                        .lines()
                        .find_map(|line| line.strip_prefix(name))
                        .unwrap_or_default()
                        .trim()
                        .to_owned()
                };
                let found = (field("event:"), field("id:"), field("data:"));
                self.text = rest.to_owned();
                if !found.0.is_empty() {
                    return Some((found.0, found.1, serde_json::from_str(&found.2).unwrap()));
                }
                continue;
            }
            let piece = tokio::time::timeout(PATIENCE, self.body.chunk()).await.expect("an event").ok()??;
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    async fn until(&mut self, name: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let (event, _, data) = self.next().await.expect("the stream goes on");
            if event == name && is_it(&data) {
                return data;
            }
        }
    }
}

/// UI-12
async fn tells_what_others_change_within_two_seconds(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let acme = app.with_tenant("acme").await;
    // One stream each: which of two comes first is not promised.
    let mut of_health = Events::open(&acme, "topics=health", None).await;
    let mut of_stats = Events::open(&acme, "topics=stats", None).await;
    let mut events = Events::open(&acme, "topics=changed,call", None).await;
    acme.post("services", crm(&upstream)).await.is(201);
    let begun = Instant::now();
    let changed = events.until("changed", |data| data["kind"] == "services").await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert!(changed["revision"].as_i64().unwrap() > 0);
    let health = of_health.until("health", |data| data["id"] == "crm").await;
    assert_eq!((&health["type"], &health["health"]["state"]), (&json!("api"), &json!("ok")));
    acme.post("services/api/crm/disable", json!({})).await.is(200);
    events.until("changed", |data| data["id"] == "api/crm").await;
    acme.post("services/api/crm/enable", json!({})).await.is(200);
    acme.call("api://crm/fail", json!({})).await.is(200);
    let call = events.until("call", |_| true).await;
    assert_eq!((&call["tool"], &call["status"]), (&json!("crm__fail"), &json!("error")));
    acme.get(&format!("audit/{}", call["id"].as_str().unwrap())).await.is(200);
    let stats = of_stats.until("stats", |_| true).await;
    assert_eq!((&stats["calls"], &stats["errors"]), (&json!(1), &json!(1)));
    // More than anybody can read is counted.
    for _ in 0..60 {
        acme.call("api://crm/ping", json!({})).await.is(200);
    }
    let mut told = 0;
    let skipped = loop {
        let (event, _, data) = events.next().await.unwrap();
        match event.as_str() {
            "call" => told += 1,
            "skipped" => break data["n"].as_i64().unwrap(),
            _ => {}
        }
    };
    assert!(told >= 20 && skipped > 0 && told + skipped <= 60, "{told} and {skipped}");
}

/// UI-18
async fn tells_each_who_listens_only_what_it_may_know(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let key = app.post("keys", json!({ "name": "c", "role": "caller" })).await.is(201);
    let caller = app.as_key(key.string("key"));
    let other = app.with_tenant("other").await;
    let mut of_other = Events::open(&other, "topics=call,changed", None).await;
    let mut events = Events::open(&caller, "topics=call", None).await;
    let mut of_changes = Events::open(&caller, "topics=changed", None).await;
    app.call("api://crm/fail", json!({})).await.is(200);
    app.post("services/api/crm/disable", json!({})).await.is(200);
    app.post("services/api/crm/enable", json!({})).await.is(200);
    caller.call("api://crm/ping", json!({})).await.is(200);
    let call = events.until("call", |_| true).await;
    assert_eq!(call["tool"], "crm__ping", "the admin's call is not told");
    let changed = of_changes.until("changed", |_| true).await;
    assert_eq!(changed["id"], Value::Null, "{changed}");
    // A flow that is not on somebody's list has no name for them.
    let narrow = app.with_key(json!({ "name": "v", "role": "viewer", "allow": ["crm__ping"] })).await;
    let mut of_narrow = Events::open(&narrow, "topics=changed", None).await;
    app.post("flows", json!({ "id": "hidden", "source": "nodes: {a: {with: 1}}" })).await.is(201);
    app.post("flows/hidden/publish", json!({})).await.is(200);
    for _ in 0..2 {
        let changed = of_narrow.until("changed", |data| data["kind"] == "flows").await;
        assert_eq!(changed["id"], Value::Null, "{changed}");
    }
    // Whoever loses the key hears nothing more.
    app.delete(&format!("keys/{}", key.string("id"))).await.is(204);
    while events.next().await.is_some() {}
    other.post("services", crm(&upstream)).await.is(201);
    let (event, _, data) = of_other.next().await.unwrap();
    assert_eq!(
        (event.as_str(), &data["kind"]),
        ("changed", &json!("services")),
        "nothing of the default tenant: {data}"
    );
    send(app.as_nobody().request(Method::GET, "events")).await.is_problem(401, "UNAUTHENTICATED");
    app.get("events?topics=gossip").await.is_problem(400, "BAD_REQUEST");
}

async fn a_listener_that_was_away_is_told_to_read_everything_again(backend: Backend) {
    let app = TestApp::start(backend).await;
    let revision = app.get("catalog").await.is(200).body["revision"].as_i64().unwrap();
    let mut behind = Events::open(&app, "topics=changed", Some(&(revision - 1).to_string())).await;
    let (event, id, data) = behind.next().await.unwrap();
    assert_eq!((event.as_str(), id, &data["revision"]), ("reset", revision.to_string(), &json!(revision)));
    let mut level = Events::open(&app, "topics=changed", Some(&revision.to_string())).await;
    app.post("mcp", json!({ "name": "Shop" })).await.is(201);
    let (event, id, data) = level.next().await.unwrap();
    assert_eq!((event.as_str(), &data["kind"]), ("changed", &json!("mcp")), "{data}");
    // It may be told before what changed is loaded: whoever comes back with that id is told to read everything again.
    assert!(id.parse::<i64>().unwrap() >= revision);
}

/// UI-18: everybody's runs to those who look after the tenant, to callers their own.
async fn tells_where_runs_stand(backend: Backend) {
    let app = TestApp::start(backend).await;
    app.post("flows", json!({ "id": "short", "source": "nodes: {a: {with: 1}}" })).await.is(201);
    app.post("flows/short/publish", json!({})).await.is(200);
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    let mut events = Events::open(&app, "topics=run", None).await;
    let mut of_caller = Events::open(&caller, "topics=run,index", None).await;
    // The first look tells nothing: a run is followed from the next one on.
    let mut of_stats = Events::open(&app, "topics=stats", None).await;
    app.call("flow://short", json!({})).await.is(200);
    of_stats.until("stats", |_| true).await;
    let first = app.post("flows/short/runs", json!({ "wait_seconds": 20 })).await.is(200).string("id");
    let told = events.until("run", |run| run["id"] == first.as_str() && run["state"] == "succeeded").await;
    assert_eq!(told["flow"], "short");
    let own = caller.post("flows/short/runs", json!({ "wait_seconds": 20 })).await.is(200).string("id");
    let told = of_caller.until("run", |_| true).await;
    assert_eq!(told["id"], own.as_str(), "nothing of the admin's");
}

async fn tells_how_things_are_and_what_to_do(backend: Backend) {
    let app = TestApp::start(backend).await;
    app.post("tools", json!({ "name": "lost", "type": "uri", "uri": "api://nowhere/ping" })).await.is(201);
    let told = app.get("doctor").await.is(200);
    let check = |id: &str| {
        told.body["checks"].as_array().unwrap().iter().find(|check| check["id"] == id).cloned().unwrap()
    };
    assert_eq!(check("database")["state"], "ok");
    assert_eq!(check("access")["state"], "ok");
    assert_eq!(check("tool lost")["state"], "failed", "{}", told.text);
    assert!(check("tool lost")["advice"].is_string());
    assert_eq!(told.body["checks"][0]["state"], "failed", "what is wrong comes first");
    assert!(["sqlite", "postgres"].contains(&told.body["database"].as_str().unwrap()));
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    caller.get("doctor").await.is_problem(403, "FORBIDDEN");
    let source = "nodes:\n  a:\n    with: 1\n    next: b\n  b:\n    with: 2\n";
    let checked = app.post("flows/validate", json!({ "source": source })).await.is(200);
    assert_eq!(
        checked.body["graph"]["edges"],
        json!([{ "from": "a", "to": "b", "kind": "next" }]),
        "{}",
        checked.text
    );
    assert_eq!(
        checked.body["graph"]["nodes"][1],
        json!({ "id": "b", "kind": "mapping", "uri": null, "line": 5 })
    );
    let broken = app.post("flows/validate", json!({ "source": "nodes: [" })).await.is(200);
    assert_eq!(broken.body["graph"], Value::Null);
}

/// UI-12: whoever hears nothing for longer than that has lost the server, and can say so.
#[tokio::test]
async fn says_that_it_is_alive_while_nothing_happens() {
    let app = TestApp::start(Backend::Sqlite).await;
    let mut events = Events::open(&app, "topics=index", None).await;
    let (name, id, data) = events.next().await.unwrap();
    assert_eq!((name.as_str(), id.as_str(), data), ("alive", "", json!({})));
}
