//! What those hear who listen while an agent works.

use crate::world::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::model::{Model, Reply};
use tool::{Caller, Event};

/// F3: what stands behind the end of a stream is no part of the answer.
#[tokio::test]
async fn nothing_is_read_behind_the_end_of_a_stream() {
    let chunk = |delta: Value, stop: Value| {
        format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": stop }] }))
    };
    let stream = [
        chunk(json!({ "content": "hello" }), Value::Null),
        chunk(json!({}), json!("stop")),
        "data: [DONE]\n\n".to_owned(),
        chunk(json!({ "content": " and more" }), Value::Null),
    ];
    let headers = vec![("content-type", "text/event-stream".to_owned())];
    let model = Model::replies(vec![Reply::Raw(200, headers, stream.concat().into_bytes())]).await;
    let world = World::with(vec![("a", agent(&model, json!({})))]).await;
    let (cx, _heard) = heard(context(Caller::local()));
    let result = world.ask_as(&cx, "a", json!({ "prompt": "Say it." })).await.unwrap();
    assert_eq!(result["structuredContent"]["answer"], "hello", "{result}");
}

/// AG-16: progress is told four times a second at the most, and what came last is told in the end.
#[tokio::test]
async fn progress_is_told_no_faster_than_it_can_be_shown() {
    let call = |n: usize| Reply::calls(&[("crm__echo", json!({ "text": n.to_string() }))]);
    let last = Reply::Late(Duration::from_secs(2), Box::new(Reply::says("Done.")));
    let model = Model::replies((0..6).map(call).chain([last]).collect()).await;
    let more = json!({ "tools": ["api://crm/echo"], "timeout_ms": 30_000 });
    let world = World::with(vec![("a", agent(&model, more))]).await;
    let (cx, mut events) = heard(context(Caller::local()));
    let listening = tokio::spawn(async move {
        let mut told = Vec::new();
        while let Ok(event) = tokio::time::timeout(Duration::from_secs(4), events.next()).await {
            if let Event::Progress { message, .. } = event {
                told.push((Instant::now(), message.unwrap_or_default()));
            }
        }
        told
    });
    world.ask_as(&cx, "a", json!({ "prompt": "Go." })).await.unwrap();
    let told = listening.await.unwrap();
    for (first, _) in &told {
        let within =
            told.iter().filter(|(at, _)| at >= first && at.duration_since(*first).as_millis() < 1000);
        assert!(within.count() <= 4, "{told:?}");
    }
    assert!(told.iter().skip(4).any(|(_, message)| message == "thinks"), "the last of all waits: {told:?}");
}
