//! Dialects, attempts, faults: what becomes of a model call.

use crate::world::*;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use testkit::http::dead_address;
use testkit::model::{Model, Reply};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tool::{Caller, ErrorKind, Event};

fn hello() -> Value {
    json!({ "prompt": "What is the time?" })
}

/// AG-1, AG-2, AG-4: each dialect, whole and streamed, gives the same answer, calls and usage.
#[tokio::test]
async fn every_dialect_says_the_same_whole_and_streamed() {
    for provider in ["openai", "anthropic", "gemini"] {
        for is_streamed in [false, true] {
            let model = Model::replies(vec![
                Reply::calls(&[("crm__echo", json!({ "text": "größer" }))]),
                Reply::says("It is twelve."),
            ])
            .await;
            let settings = agent(&model, json!({ "provider": provider, "tools": ["api://crm/echo"] }));
            let world = World::with(vec![("a", settings)]).await;
            let mut cx = context(Caller::local());
            let listener = is_streamed.then(|| {
                let (with_events, rx) = heard(cx.clone());
                cx = with_events;
                rx
            });
            let result = world.ask_as(&cx, "a", hello()).await.unwrap();
            let told = &result["structuredContent"];
            assert_eq!(result["content"][0]["text"], "It is twelve.", "{provider} {is_streamed}");
            assert_eq!((&told["answer"], &told["stop"]), (&json!("It is twelve."), &json!("end")));
            assert_eq!((&told["agent"], &told["state"]), (&json!("a"), &json!("succeeded")));
            let usage = json!({ "input_tokens": 20, "output_tokens": 10, "cached_tokens": 0, "model_calls": 2,
                "tool_calls": 1, "cost_usd": null });
            assert_eq!(told["usage"], usage, "{provider} {is_streamed}");
            assert_eq!(world.api.last().query, "text=gr%C3%B6%C3%9Fer");
            let asked = model.asked();
            assert!(asked[1].text.contains("größer"), "the result reached the model");
            assert_eq!(
                asked[0].path.contains("treamGenerate") || asked[0].body["stream"] == true,
                is_streamed
            );
            if let Some(mut rx) = listener {
                let mut written = String::new();
                while let Some(event) = rx.take() {
                    if let Event::Content(content) = event {
                        let block: Value = serde_json::from_str(content.get()).unwrap();
                        written.push_str(block["text"].as_str().unwrap());
                    }
                }
                assert_eq!(written, "It is twelve.");
            }
        }
    }
}

/// AG-4: each provider gets its key, its path and the schema as it was written.
#[tokio::test]
async fn every_dialect_is_spoken_as_its_provider_wants_it() {
    for (provider, path, key) in [
        ("openai", "/v1/chat/completions", "authorization: bearer sk-hunter2hunter2"),
        ("anthropic", "/v1/messages", "x-api-key: sk-hunter2hunter2"),
        ("gemini", "/v1beta/models/m-1:generateContent", "x-goog-api-key: sk-hunter2hunter2"),
    ] {
        let model = Model::replies(vec![Reply::says("yes")]).await;
        let more = json!({ "provider": provider, "extra": { "seed": 7 }, "instructions": "Be {{ .agent }}.",
            "temperature": 0.5, "headers": { "X-Team": "t" } });
        let world = World::with(vec![("a", agent(&model, more))]).await;
        world.ask("a", hello()).await.unwrap();
        let asked = &model.asked()[0];
        assert_eq!(asked.path, path);
        assert!(asked.head.contains(key) && asked.head.contains("x-team: t"), "{}", asked.head);
        assert!(asked.text.contains("Be a.") && asked.text.contains("What is the time?"));
        assert_eq!(asked.body["seed"], 7);
    }
}

/// F1, AG-20: a closed port is tried three times, and named; the probe agrees.
#[tokio::test]
async fn a_model_that_is_not_there_is_named() {
    let model = Model::replies(vec![Reply::says("x")]).await;
    let mut settings = agent(&model, json!({}));
    settings["base_url"] = format!("http://{}", dead_address().await).into();
    let world = World::with(vec![("gone", settings), ("well", agent(&model, json!({})))]).await;
    let result = world.ask("gone", hello()).await.unwrap();
    let (told, message) = (&result["structuredContent"], &result["structuredContent"]["error"]["message"]);
    let expected = json!({ "code": "UNAVAILABLE", "reason": "MODEL_UNREACHABLE", "service": "gone", "message": message });
    assert_eq!((&result["isError"], &told["error"]), (&json!(true), &expected));
    assert_eq!((&told["state"], &told["usage"]["model_calls"]), (&json!("failed"), &json!(0)), "{told}");
    assert_eq!(world.ask("well", hello()).await.unwrap()["isError"], false);
}

/// F1: a model that hangs up is tried three times, and no more.
#[tokio::test]
async fn a_model_that_hangs_up_is_tried_three_times() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let unused = Model::replies(vec![Reply::says("x")]).await;
    let mut settings = agent(&unused, json!({}));
    settings["base_url"] = format!("http://{}", listener.local_addr().unwrap()).into();
    let tried = Arc::new(AtomicUsize::new(0));
    let count = tried.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 65_536]).await;
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let world = World::with(vec![("a", settings)]).await;
    assert_eq!(world.reason("a", hello()).await, "MODEL_UNREACHABLE");
    assert_eq!(tried.load(Ordering::Relaxed), 3);
}

/// F2: `Retry-After` is kept within the time, and beyond it nothing is waited for.
#[tokio::test]
async fn waits_as_long_as_the_provider_says_and_no_longer_than_it_can() {
    let limited = |seconds: &str| {
        Reply::Raw(
            429,
            vec![("retry-after", seconds.to_owned())],
            b"{\"error\":{\"message\":\"slow\"}}".to_vec(),
        )
    };
    let model = Model::replies(vec![limited("1"), Reply::says("now")]).await;
    let world = World::with(vec![("a", agent(&model, json!({})))]).await;
    let begun = Instant::now();
    let result = world.ask("a", hello()).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(result["structuredContent"]["usage"]["model_calls"], 1);
    for long in ["600", "99999999999999999999999"] {
        let model = Model::replies(vec![limited(long)]).await;
        let world = World::with(vec![("a", agent(&model, json!({})))]).await;
        assert_eq!(world.reason("a", hello()).await, "MODEL_RATE_LIMITED");
        assert_eq!(model.asked().len(), 1, "{long}");
    }
}

/// F3: what nobody has read yet is asked for again; what was told is not told twice.
#[tokio::test]
async fn a_stream_that_is_cut_is_never_told_twice() {
    let model = Model::replies(vec![Reply::Cut("Half an ans".into()), Reply::says("whole")]).await;
    let world = World::with(vec![("a", agent(&model, json!({})))]).await;
    let (cx, _rx) = heard(context(Caller::local()));
    let error = world.failure(&cx, "a", hello()).await;
    assert_eq!(error["reason"], "MODEL_UNREACHABLE");
    assert_eq!(model.asked().len(), 1, "no second text");
    let model = Model::replies(vec![Reply::Cut(String::new()), Reply::says("whole")]).await;
    let world = World::with(vec![("a", agent(&model, json!({})))]).await;
    let (cx, _rx) = heard(context(Caller::local()));
    assert_eq!(world.ask_as(&cx, "a", hello()).await.unwrap()["structuredContent"]["answer"], "whole");
}

/// A model whose first answer is this part of a stream, before the connection ends; the next one is whole. Where it is, and how often it was
/// asked.
async fn cut_in_the_middle(part: String) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (url, asked) = (format!("http://{}", listener.local_addr().unwrap()), Arc::new(AtomicUsize::new(0)));
    let count = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 65_536]).await;
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            let whole = format!("{}data: [DONE]\n\n", event(&json!({ "content": "Nothing was sent." })));
            let (text, end) = match count.fetch_add(1, Ordering::Relaxed) {
                0 => (part.as_str(), ""),
                _ => (whole.as_str(), "0\r\n\r\n"),
            };
            let answer = format!("{head}{:x}\r\n{text}\r\n{end}", text.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, asked)
}

fn event(delta: &Value) -> String {
    format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta }] }))
}

/// F3: a stream that is cut in the middle of a call's arguments makes no call of what has come; it is asked for again.
#[tokio::test]
async fn half_an_argument_makes_no_call() {
    // The second is JSON by itself, and yet perhaps not all of it.
    for half in ["{\"text\":\"ha", "{\"text\":\"half\"}"] {
        let call = json!({ "index": 0, "id": "c0", "function": { "name": "crm__send", "arguments": half } });
        let (url, asked) = cut_in_the_middle(event(&json!({ "tool_calls": [call] }))).await;
        let unused = Model::replies(vec![Reply::says("x")]).await;
        let mut settings = agent(&unused, json!({ "tools": ["api://crm/send"], "approval": "never" }));
        settings["base_url"] = url.into();
        let world = World::with(vec![("a", settings)]).await;
        let (cx, _rx) = heard(context(Caller::local()));
        let result = world.ask_as(&cx, "a", hello()).await.unwrap();
        assert_eq!(result["structuredContent"]["answer"], "Nothing was sent.", "{result}");
        assert!(world.api.requests().is_empty(), "{half}");
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }
}

/// F3: a stream of which nothing was told is asked for again, whatever came before the text.
#[tokio::test]
async fn a_stream_that_is_cut_before_its_text_is_asked_for_again() {
    let role = event(&json!({ "role": "assistant" }));
    for part in [role.clone(), role.repeat(3), ": ping\n\n".to_owned(), "event: ping\ndata: {".to_owned()] {
        let (url, asked) = cut_in_the_middle(part.clone()).await;
        let unused = Model::replies(vec![Reply::says("x")]).await;
        let mut settings = agent(&unused, json!({}));
        settings["base_url"] = url.into();
        let world = World::with(vec![("a", settings)]).await;
        let (cx, _rx) = heard(context(Caller::local()));
        let result = world.ask_as(&cx, "a", hello()).await.unwrap();
        assert_eq!(result["structuredContent"]["answer"], "Nothing was sent.", "{part}: {result}");
        assert_eq!(asked.load(Ordering::Relaxed), 2, "{part}");
    }
}

/// F4: what is no answer is never an empty success.
#[tokio::test]
async fn what_is_no_answer_is_said_to_be_none() {
    for body in [
        "<html>sorry</html>",
        "{\"choices\":[{\"mess",
        "{\"choices\":\"x\"}",
        "{\"choices\":[]}",
        "{}",
        "",
        "{\"choices\":[{\"message\":{\"content\":\"\"},\"finish_reason\":\"stop\"}]}",
        "{\"choices\":[{\"message\":{\"content\":\" \\u200b\\u2800\\n\\ufe0f\"},\"finish_reason\":\"stop\"}]}",
    ] {
        let model = Model::replies(vec![Reply::Raw(200, Vec::new(), body.as_bytes().to_vec())]).await;
        let world = World::with(vec![("a", agent(&model, json!({})))]).await;
        assert_eq!(world.reason("a", hello()).await, "BAD_MODEL_ANSWER", "{body}");
        let (cx, _rx) = heard(context(Caller::local()));
        let error = world.failure(&cx, "a", hello()).await;
        assert_eq!(error["reason"], "BAD_MODEL_ANSWER", "{body}: {error:?}");
        assert_eq!(model.asked().len(), 2, "{body}: nothing of it is asked for again");
    }
}

/// F5: an answer without end is refused at the limit.
#[tokio::test]
async fn an_endless_answer_is_refused_at_the_limit() {
    for bytes in [vec![b'x'; 65536], b"data: {\"choices\":[]}\n\n".repeat(1000)] {
        let model = Model::replies(vec![Reply::Endless(bytes)]).await;
        let world = World::with(vec![("a", agent(&model, json!({})))]).await;
        assert_eq!(world.reason("a", hello()).await, "BAD_MODEL_ANSWER");
        let (cx, _rx) = heard(context(Caller::local()));
        let error = world.failure(&cx, "a", hello()).await;
        assert_eq!(error["reason"], "BAD_MODEL_ANSWER");
    }
}

/// AG-20: every status has its reason, and the provider's words are masked.
#[tokio::test]
async fn every_refusal_of_a_provider_has_a_reason_and_no_key_in_it() {
    for (status, message, expected) in [
        (401, "bad key sk-hunter2hunter2", "MODEL_AUTH"),
        (403, "no", "MODEL_AUTH"),
        (400, "no such parameter", "MODEL_REFUSED"),
        (404, "no such model", "MODEL_REFUSED"),
        (413, "too large", "CONTEXT_TOO_LONG"),
        (400, "This model's maximum context length is 8 tokens", "CONTEXT_TOO_LONG"),
        (500, "oops", "MODEL_UNREACHABLE"),
        (503, "busy", "MODEL_UNREACHABLE"),
    ] {
        let model = Model::replies(vec![Reply::error(status, message)]).await;
        let world = World::with(vec![("a", agent(&model, json!({})))]).await;
        let result = world.ask("a", hello()).await.unwrap();
        let error = &result["structuredContent"]["error"];
        assert_eq!(
            (&error["reason"], &error["service"]),
            (&json!(expected), &json!("a")),
            "{status}: {result}"
        );
        assert!(!result.to_string().contains("hunter2"), "{result}");
        let attempts = if status >= 500 { 3 } else { 1 };
        assert_eq!(model.asked().len(), attempts, "{status}");
    }
}

/// AG-20: the next model answers when the first is down, and not when it refuses.
#[tokio::test]
async fn another_model_stands_in_for_one_that_is_down() {
    let down = Model::replies(vec![Reply::error(503, "busy")]).await;
    let other = Model::replies(vec![Reply::says("I stand in.")]).await;
    let fallback =
        json!([{ "provider": "anthropic", "base_url": other.url(), "api_key": "k2", "model": "m-2" }]);
    let world = World::with(vec![("a", agent(&down, json!({ "fallback": fallback })))]).await;
    let result = world.ask("a", hello()).await.unwrap();
    assert_eq!(result["structuredContent"]["answer"], "I stand in.");
    assert!(!other.asked()[0].head.contains("hunter2"), "the first provider's key stays there");
    let refusing = Model::replies(vec![Reply::error(401, "no")]).await;
    let world = World::with(vec![("a", agent(&refusing, json!({ "fallback": fallback })))]).await;
    assert_eq!(world.reason("a", hello()).await, "MODEL_AUTH");
}

/// F13: neither a redirect nor a private address gets anything, the key least of all.
#[tokio::test]
async fn nothing_is_sent_where_the_guard_does_not_allow_it() {
    let target = Model::replies(vec![Reply::says("mine")]).await;
    let moved = Reply::Raw(302, vec![("location", target.url())], Vec::new());
    let model = Model::replies(vec![moved]).await;
    let world = World::with(vec![("a", agent(&model, json!({})))]).await;
    assert_eq!(world.reason("a", hello()).await, "MODEL_UNREACHABLE");
    let guarded = agent(&target, json!({ "allow_private_network": false }));
    let named = target.url().replace("127.0.0.1", "localhost");
    let mut by_name = guarded.clone();
    by_name["base_url"] = named.into();
    let world = World::with(vec![("a", guarded), ("b", by_name)]).await;
    for agent in ["a", "b"] {
        let error = world.failure(&context(Caller::local()), agent, hello()).await;
        assert_eq!(error["reason"], "MODEL_UNREACHABLE");
        assert!(error["message"].as_str().unwrap().contains("is not public"), "{error}");
    }
    assert!(target.asked().is_empty());
}

/// A cut-off tool call is never run, and an answer that was cut says so.
#[tokio::test]
async fn a_call_that_was_cut_off_is_never_made() {
    let half = vec![("crm__echo".to_owned(), "{\"text\":\"ha".to_owned())];
    let model = Model::replies(vec![Reply::SaysHalf("I will".into(), half)]).await;
    let world = World::with(vec![("a", agent(&model, json!({ "tools": ["api://crm/*"] })))]).await;
    let result = world.ask("a", hello()).await.unwrap();
    assert_eq!(result["structuredContent"]["stop"], "length");
    assert!(world.api.requests().is_empty());
}

/// F9: the model's connection is closed soon after the caller has gone.
#[tokio::test]
async fn a_caller_who_goes_away_ends_the_model_call() {
    let model =
        Model::replies(vec![Reply::Late(Duration::from_secs(60), Box::new(Reply::says("late")))]).await;
    let world = World::with(vec![("a", agent(&model, json!({})))]).await;
    let cx = context(Caller::local());
    let cancel = async {
        testkit::eventually("the model is asked", Duration::from_secs(5), async || !model.asked().is_empty())
            .await;
        cx.cancel.cancel();
        Instant::now()
    };
    let (result, cancelled) = tokio::join!(world.ask_as(&cx, "a", hello()), cancel);
    assert!(cancelled.elapsed() < Duration::from_secs(1));
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
    testkit::eventually("the model's connection ends", Duration::from_secs(1), async || {
        model.given_up() == 1
    })
    .await;
    assert_eq!(world.records().await.len(), 1);
}

/// AG-17: the calling client's model answers, with tools only where it takes them.
#[tokio::test]
async fn the_model_of_the_calling_client_answers() {
    let answers = vec![
        json!({ "role": "assistant", "model": "c", "stopReason": "toolUse",
            "content": [{ "type": "tool_use", "id": "u1", "name": "crm__echo", "input": { "text": "hi" } }] }),
        json!({ "role": "assistant", "model": "c", "stopReason": "endTurn", "content": { "type": "text", "text": "Done." } }),
    ];
    let settings = json!({ "provider": "client", "tools": ["api://crm/echo"] });
    let world = World::with(vec![("a", settings)]).await;
    let client = Answering::new(&json!({ "sampling": { "tools": {} } }), answers);
    let mut cx = context(Caller::local());
    cx.client = Some(client.clone());
    let result = world.ask_as(&cx, "a", hello()).await.unwrap();
    let told = &result["structuredContent"];
    assert_eq!((&told["answer"], &told["usage"]["input_tokens"]), (&json!("Done."), &Value::Null));
    let asked = client.asked.lock().unwrap().clone();
    assert_eq!(asked[0]["tools"][0]["name"], "crm__echo");
    assert_eq!(asked[1]["messages"][2]["content"][0]["toolUseId"], "u1");
    for (client, ability) in [(None, "'sampling'"), (Some(json!({ "sampling": {} })), "'sampling.tools'")] {
        let mut cx = context(Caller::local());
        cx.client = client.map(|declared| Answering::new(&declared, Vec::new()) as _);
        let error = world.ask_as(&cx, "a", hello()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains(ability), "{error}");
    }
}
