//! Runs as streams of events: how they end, and that whoever comes back elsewhere hears the rest.

use crate::records::world;
use crate::world::{begin, until};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::TestApp;
use testkit::model::Reply;

/// The events of a stream, as name, number and data.
async fn heard(request: reqwest::RequestBuilder) -> Vec<(String, Option<u64>, Value)> {
    let text = request.send().await.unwrap().text().await.unwrap();
    let event = |block: &str| {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        let data = serde_json::from_str(field("data: ")?).ok()?;
        Some((field("event: ")?.to_owned(), field("id: ").and_then(|id| id.parse().ok()), data))
    };
    text.split("\n\n").filter_map(event).collect()
}

fn streamed(app: &TestApp, body: &Value) -> reqwest::RequestBuilder {
    app.request(Method::POST, "agents/a/runs").header("accept", "text/event-stream").json(body)
}

/// AG-16: a stream ends when its time is up or the run asks somebody, with where it stands; and whoever comes back behind it
/// hears the rest under the numbers that follow.
#[tokio::test]
async fn a_stream_ends_where_its_run_waits_and_goes_on_elsewhere() {
    let replies = vec![Reply::calls(&[("crm__remove", json!({ "text": "it" }))]), Reply::says("It is gone.")];
    for more in [json!({}), json!({ "wait_seconds": 30 })] {
        let (app, _upstream, _model) = world(replies.clone(), json!({})).await;
        let mut ask = more.clone();
        ask["prompt"] = "Remove it.".into();
        let events = heard(streamed(&app, &ask)).await;
        let (name, last, end) = events.last().unwrap().clone();
        let content = &end["structuredContent"];
        assert_eq!((name.as_str(), &content["state"]), ("end", &json!("waiting")), "{more}: {events:?}");
        assert_eq!(events[0].0, "run", "{more}: {events:?}");
        let numbers: Vec<_> = events.iter().filter_map(|(_, number, _)| *number).collect();
        assert!(numbers[0] == 1 && numbers.is_sorted(), "{more}: {events:?}");
        let asked = events.iter().any(|(name, _, data)| name == "step" && data["kind"] == "approval");
        assert!(asked, "{more}: {events:?}");
        let approval = content["approvals"][0]["id"].as_str().unwrap();
        app.post(&format!("approvals/{approval}"), json!({ "decision": "approve" })).await.is(200);
        let run = content["run"].as_str().unwrap();
        until(&app, run, "succeeded").await;
        let follow = |seen: u64| {
            let follow = app.request(Method::GET, &format!("runs/{run}/events"));
            follow.header("last-event-id", seen.to_string())
        };
        let (all, rest) = (heard(follow(0)).await, heard(follow(last.unwrap())).await);
        assert_eq!(all[..numbers.len() - 1], events[..events.len() - 1], "{more}");
        let behind: Vec<_> = all.into_iter().filter(|(_, number, _)| *number > last).collect();
        assert_eq!(rest, behind, "{more}");
        assert_eq!(rest.last().unwrap().2["structuredContent"]["answer"], "It is gone.");
    }
    let late = Reply::Late(Duration::from_secs(60), Box::new(Reply::says("Never.")));
    let (app, _upstream, _model) = world(vec![late], json!({})).await;
    let events = heard(streamed(&app, &json!({ "prompt": "When?", "wait_seconds": 1 }))).await;
    let (name, number, end) = events.last().unwrap();
    assert_eq!((name.as_str(), &end["structuredContent"]["state"]), ("end", &json!("running")), "{events:?}");
    assert_ne!(*number, Some(0));
}

/// AG-16: a piece of a text stands under the number before its record, so that whoever lost the rest gets all of it.
#[tokio::test]
async fn whoever_comes_back_in_the_midst_of_a_text_reads_all_of_it() {
    let (app, _upstream, _model) = world(vec![Reply::says("It is twelve.")], json!({})).await;
    let events = heard(streamed(&app, &json!({ "prompt": "When?", "conversation": "new" }))).await;
    let end = events.last().unwrap();
    let told: Vec<_> = events.iter().map(|(name, number, _)| (name.as_str(), *number)).collect();
    let text = told.iter().find(|(name, _)| *name == "text").unwrap().1.unwrap();
    assert_eq!((told[1], text), (("step", Some(2)), 2), "{events:?}");
    assert_eq!((end.0.as_str(), end.1), ("end", Some(4)), "{events:?}");
    let run = end.2["structuredContent"]["run"].as_str().unwrap();
    let follow = app.request(Method::GET, &format!("runs/{run}/events"));
    let rest = heard(follow.header("last-event-id", text.to_string())).await;
    let names: Vec<_> = rest.iter().map(|(name, number, _)| (name.as_str(), *number)).collect();
    assert_eq!(names, [("text", Some(3)), ("end", Some(4))], "{rest:?}");
    assert_eq!(rest[0].2["text"], "It is twelve.");
}

/// AG-15, AG-16: a run that was tried again ends once, whoever reads its events.
#[tokio::test]
async fn a_run_that_was_tried_again_has_one_end() {
    let replies = vec![Reply::error(401, "no"), Reply::says("It is twelve.")];
    let (app, _upstream, _model) = world(replies, json!({})).await;
    let run = begin(&app, "a", "When?").await;
    until(&app, &run, "failed").await;
    app.post(&format!("runs/{run}/retry"), json!({})).await.is(200);
    until(&app, &run, "succeeded").await;
    let events = heard(app.request(Method::GET, &format!("runs/{run}/events"))).await;
    let ends: Vec<_> = (0..events.len()).filter(|at| events[*at].0 == "end").collect();
    assert_eq!(ends, [events.len() - 1], "{events:?}");
    assert_eq!(events.last().unwrap().2["structuredContent"]["answer"], "It is twelve.");
}

/// AG-16, AG-18: what has to be checked is told once it is, in every stream.
#[tokio::test]
async fn a_text_is_told_once_it_is_checked() {
    let rules = json!({ "guardrails": { "output": [{ "max_chars": 1000 }] } });
    let schema = json!({ "output_schema": { "type": "object" } });
    for settings in [rules, schema] {
        let (app, _upstream, _model) = world(vec![Reply::says("{\"a\": 1}")], settings).await;
        for more in [json!({}), json!({ "conversation": "new" }), json!({ "wait_seconds": 30 })] {
            let mut ask = more.clone();
            ask["prompt"] = "When?".into();
            let events = heard(streamed(&app, &ask)).await;
            let told: Vec<_> = events.iter().map(|(name, number, _)| (name.as_str(), *number)).collect();
            let expected = [("run", Some(1)), ("step", Some(2)), ("text", Some(3)), ("end", Some(4))];
            assert_eq!(told, expected, "{more}: {events:?}");
            assert_eq!(events[2].2["text"], "{\"a\": 1}");
        }
    }
}
