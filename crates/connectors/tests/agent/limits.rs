//! Limits: each ends a run with its own reason, and not later than one step after it.

use crate::world::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::model::{Model, Reply};
use tool::Caller;

fn hello() -> Value {
    json!({ "prompt": "Go on and on." })
}

/// A model that calls something else each time.
async fn restless() -> Model {
    Model::start(|number, _| {
        Reply::Says(
            format!("thought {number}"),
            vec![("crm__echo".into(), json!({ "text": number.to_string() }).to_string())],
        )
    })
    .await
}

/// AG-10
#[tokio::test]
async fn each_limit_ends_the_run_with_its_reason() {
    let price = json!({ "input": 1_000_000.0, "output": 0.0 });
    for (limits, reason, model_calls) in [
        (json!({ "steps": 3 }), "STEP_LIMIT", 3),
        (json!({ "tool_calls": 2 }), "TOOL_LIMIT", 3),
        (json!({ "tokens": 40 }), "TOKEN_LIMIT", 3),
        (json!({ "cost_usd": 15.0 }), "COST_LIMIT", 2),
    ] {
        let model = restless().await;
        let more = json!({ "tools": ["api://crm/*"], "limits": limits, "price": price });
        let world = World::with(vec![("a", agent(&model, more))]).await;
        let result = world.ask("a", hello()).await.unwrap();
        let told = &result["structuredContent"];
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(
            told["error"],
            json!({ "code": "UPSTREAM_ERROR", "reason": reason, "service": "a",
            "message": told["error"]["message"] })
        );
        assert_eq!(told["usage"]["model_calls"], model_calls, "{reason}");
        assert_eq!(told["answer"], format!("thought {}", model_calls - 1), "the last text is carried");
        assert_eq!(told["state"], "failed");
    }
}

/// AG-10, F8: the time of a run ends a tool that hangs.
#[tokio::test]
async fn the_time_of_a_run_ends_what_hangs() {
    let model = Model::replies(vec![Reply::calls(&[("crm__hang", json!({}))]), Reply::says("done")]).await;
    let more = json!({ "tools": ["api://crm/*"], "limits": { "time_ms": 500 } });
    let world = World::with(vec![("a", agent(&model, more))]).await;
    let begun = Instant::now();
    assert_eq!(world.reason("a", hello()).await, "TIME_LIMIT");
    assert!(begun.elapsed() < Duration::from_millis(2000), "{:?}", begun.elapsed());
    // A slow model is ended in the same way.
    let model =
        Model::replies(vec![Reply::Late(Duration::from_secs(60), Box::new(Reply::says("late")))]).await;
    let world = World::with(vec![("a", agent(&model, json!({ "limits": { "time_ms": 300 } })))]).await;
    assert_eq!(world.reason("a", hello()).await, "TIME_LIMIT");
}

/// AG-10, F7: one call again and again is told once, then the run ends; the tool ran three times at most.
#[tokio::test]
async fn a_model_that_repeats_itself_is_stopped() {
    let model = Model::replies(vec![Reply::calls(&[("crm__echo", json!({ "text": "again" }))])]).await;
    let world = World::with(vec![("a", agent(&model, json!({ "tools": ["api://crm/echo"] })))]).await;
    assert_eq!(world.reason("a", hello()).await, "LOOP");
    assert_eq!(world.api.requests().len(), 3);
    assert!(model.asked()[4].text.contains("is not called again"));
    let fifty: Vec<_> = (0..50).map(|_| ("crm__echo", json!({ "text": "again" }))).collect();
    let model = Model::replies(vec![Reply::calls(&fifty)]).await;
    let world = World::with(vec![("a", agent(&model, json!({ "tools": ["api://crm/echo"] })))]).await;
    assert_eq!(world.reason("a", hello()).await, "LOOP");
    assert!(world.api.requests().len() <= 3, "{:?}", world.api.requests().len());
    let many: Vec<_> = (0..50).map(|n| ("crm__echo", json!({ "text": n.to_string() }))).collect();
    let model = Model::replies(vec![Reply::calls(&many)]).await;
    let world = World::with(vec![("a", agent(&model, json!({ "tools": ["api://crm/echo"] })))]).await;
    assert_eq!(world.reason("a", hello()).await, "TOOL_LIMIT");
    assert!(world.api.requests().is_empty());
}

/// AG-10: agents stand no deeper in one another than the first may, and that ends the run as every limit does.
#[tokio::test]
async fn agents_inside_one_another_end_at_the_depth_of_the_first() {
    let asks =
        |next: &str| vec![Reply::calls(&[(next, json!({ "prompt": "Go on." }))]), Reply::says("Done.")];
    let third = Model::replies(vec![Reply::says("Deep.")]).await;
    for (depth, reason) in [(2, json!("DEPTH_LIMIT")), (3, Value::Null)] {
        let (first, second) = (Model::replies(asks("b__ask")).await, Model::replies(asks("c__ask")).await);
        let a = agent(&first, json!({ "tools": ["agent://b"], "limits": { "depth": depth } }));
        let b = agent(&second, json!({ "tools": ["agent://c"] }));
        let world = World::with(vec![("a", a), ("b", b), ("c", agent(&third, json!({})))]).await;
        let result = world.ask("a", hello()).await.unwrap();
        assert_eq!(result["structuredContent"]["error"]["reason"], reason, "{depth}: {result}");
    }
    assert_eq!(third.asked().len(), 1);
}

/// AG-10: calls that are refused count like those that are made, before anything is made of them.
#[tokio::test]
async fn calls_that_are_refused_count_too() {
    let unknown: Vec<_> = (0..50).map(|_| ("nothing", json!({}))).collect();
    let model = Model::replies(vec![Reply::calls(&unknown)]).await;
    let world = World::with(vec![("a", agent(&model, json!({ "tools": ["api://crm/echo"] })))]).await;
    assert_eq!(world.reason("a", hello()).await, "TOOL_LIMIT");
    assert_eq!(world.records().await.len(), 1, "nothing but the ask is recorded");
    let model = Model::replies(vec![Reply::calls(&[("nothing", json!({}))])]).await;
    let world = World::with(vec![("a", agent(&model, json!({ "limits": { "tool_calls": 3 } })))]).await;
    assert_eq!(world.reason("a", hello()).await, "TOOL_LIMIT");
    assert_eq!(model.asked().len(), 4);
}

/// AG-10: neither the calls of one answer nor what was said in a run is without end.
#[tokio::test]
async fn what_is_said_in_a_run_is_bounded() {
    let many: Vec<_> = (0..2000).map(|_| ("nothing", json!({}))).collect();
    let limits = json!({ "limits": { "tool_calls": 10_000 } });
    for provider in ["openai", "anthropic", "gemini"] {
        let model = Model::replies(vec![Reply::calls(&many)]).await;
        let mut settings = agent(&model, limits.clone());
        settings["provider"] = provider.into();
        let world = World::with(vec![("a", settings)]).await;
        assert_eq!(world.reason("a", hello()).await, "TOOL_LIMIT", "{provider}");
        let (cx, _rx) = heard(context(Caller::local()));
        assert_eq!(world.failure(&cx, "a", hello()).await["reason"], "TOOL_LIMIT", "{provider}, streamed");
        assert!(world.api.requests().is_empty());
    }
    let long = "x".repeat(7 * 1024 * 1024);
    let model = Model::replies(vec![Reply::calls(&[("nothing", json!({ "x": long }))])]).await;
    let world = World::with(vec![("a", agent(&model, json!({})))]).await;
    assert_eq!(world.reason("a", hello()).await, "CONTEXT_TOO_LONG");
    assert_eq!(model.asked().len(), 3);
}

/// AG-10: a cost that nobody can tell ends a run that may cost only so much, and no count of a provider is too large.
#[tokio::test]
async fn usage_that_is_unknown_or_absurd_is_no_way_around_a_limit() {
    let price = json!({ "input": 1.0, "output": 1.0 });
    let calls = json!([{ "id": "c", "function": { "name": "crm__echo", "arguments": "{}" } }]);
    let silent = json!({ "choices": [{ "message": { "content": null, "tool_calls": calls } }] }).to_string();
    let model = Model::replies(vec![Reply::Raw(200, Vec::new(), silent.into_bytes())]).await;
    let more = json!({ "tools": ["api://crm/*"], "limits": { "cost_usd": 1.0 }, "price": price });
    let world = World::with(vec![("a", agent(&model, more))]).await;
    let result = world.ask("a", hello()).await.unwrap();
    let told = &result["structuredContent"];
    assert_eq!(
        (&told["error"]["reason"], &told["usage"]["input_tokens"]),
        (&json!("COST_LIMIT"), &Value::Null)
    );
    let most = u64::MAX;
    for (provider, answer) in [
        (
            "openai",
            json!({ "choices": [{ "message": { "content": "", "tool_calls": calls } }],
            "usage": { "prompt_tokens": most, "completion_tokens": most } }),
        ),
        (
            "anthropic",
            json!({ "content": [{ "type": "tool_use", "id": "c", "name": "crm__echo", "input": {} }],
            "usage": { "input_tokens": most, "cache_read_input_tokens": most, "cache_creation_input_tokens": most } }),
        ),
        (
            "gemini",
            json!({ "candidates": [{ "finishReason": "STOP",
            "content": { "parts": [{ "functionCall": { "name": "crm__echo", "args": {} } }] } }],
            "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": most, "thoughtsTokenCount": most } }),
        ),
    ] {
        let model = Model::replies(vec![Reply::Raw(200, Vec::new(), answer.to_string().into_bytes())]).await;
        let settings = agent(&model, json!({ "provider": provider, "tools": ["api://crm/*"] }));
        let world = World::with(vec![("a", settings)]).await;
        assert_eq!(world.reason("a", hello()).await, "TOKEN_LIMIT", "{provider}");
    }
}

/// AG-10: a run that may cost only so much reaches no agent of which nobody knows what it costs.
#[tokio::test]
async fn an_agent_without_a_price_is_no_way_around_what_a_run_may_cost() {
    let unpriced = Model::replies(vec![Reply::says("For nothing.")]).await;
    let outer =
        Model::replies(vec![Reply::calls(&[("in__ask", hello())]), Reply::says("It costs too much.")]).await;
    let more = json!({ "tools": ["agent://in"], "handoffs": [{ "to": "agent://in", "when": "always" }],
        "price": { "input": 1.0, "output": 1.0 }, "limits": { "cost_usd": 1.0 } });
    let inner = || ("in", agent(&unpriced, json!({})));
    let world = World::with(vec![("a", agent(&outer, more.clone())), inner()]).await;
    let result = world.ask("a", hello()).await.unwrap();
    assert_eq!(result["structuredContent"]["answer"], "It costs too much.", "{result}");
    assert!(outer.asked()[1].text.contains("give it a 'price'"), "{}", outer.asked()[1].text);
    let over = Model::replies(vec![Reply::calls(&[("handoff_to_in", json!({ "reason": "yours" }))])]).await;
    let world = World::with(vec![("a", agent(&over, more)), inner()]).await;
    let error = world.failure(&context(Caller::local()), "a", hello()).await;
    assert_eq!(error["reason"], "COST_LIMIT", "{error}");
    assert!(error["message"].as_str().unwrap().contains("'in'"), "{error}");
    assert!(unpriced.asked().is_empty());
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_refused_before_anything_is_sent() {
    let model = Model::replies(vec![Reply::says("x")]).await;
    let world = World::with(vec![("a", agent(&model, json!({ "limits": { "prompt_bytes": 100 } })))]).await;
    let asked = json!({ "prompt": "short", "context": "x".repeat(100) });
    let error = world.ask("a", asked).await.unwrap_err();
    assert_eq!((error.kind(), error.parameter()), (tool::ErrorKind::InvalidInput, Some("prompt")));
    assert!(model.asked().is_empty());
}

/// AG-10: limits are those of the whole run: where an agent inside reaches one, all of it ends.
#[tokio::test]
async fn a_limit_that_an_agent_inside_reaches_ends_the_run() {
    let calls = [("crm__echo", json!({ "text": "x" })), ("crm__echo", json!({ "text": "y" }))];
    let looping = [("crm__echo", json!({})), ("crm__echo", json!({})), ("crm__echo", json!({}))];
    for (calls, limits, reason) in [
        (calls.as_slice(), json!({ "tool_calls": 2 }), "TOOL_LIMIT"),
        (looping.as_slice(), json!({ "repeats": 1 }), "LOOP"),
    ] {
        let inner = Model::replies(vec![Reply::calls(calls)]).await;
        let outer = Model::replies(vec![
            Reply::calls(&[("b__ask", json!({ "prompt": "Go on." }))]),
            Reply::says("b has failed."),
        ])
        .await;
        let a = agent(&outer, json!({ "tools": ["agent://b"], "limits": limits }));
        let b = agent(&inner, json!({ "tools": ["api://crm/echo"] }));
        let world = World::with(vec![("a", a), ("b", b)]).await;
        let error = world.failure(&context(Caller::local()), "a", json!({ "prompt": "Go." })).await;
        assert_eq!((&error["reason"], &error["service"]), (&json!(reason), &json!("a")), "{error}");
    }
}

/// AG-4, AG-10: an answer that nobody can use costs what it costs.
#[tokio::test]
async fn an_answer_that_is_refused_counts() {
    let usage = json!({ "prompt_tokens": 1000, "completion_tokens": 500 });
    for (stop, message, reason) in [
        ("content_filter", json!({ "role": "assistant", "content": "half" }), "MODEL_REFUSED"),
        ("stop", json!({ "role": "assistant", "content": null, "refusal": "no" }), "MODEL_REFUSED"),
        ("stop", json!({ "role": "assistant", "content": "" }), "BAD_MODEL_ANSWER"),
    ] {
        let choice = json!({ "index": 0, "finish_reason": stop, "message": message });
        let body = json!({ "choices": [choice], "usage": usage }).to_string();
        let model = Model::replies(vec![Reply::Raw(200, Vec::new(), body.into_bytes())]).await;
        let priced = agent(&model, json!({ "price": { "input": 1000.0, "output": 1000.0 } }));
        let world = World::with(vec![("a", priced)]).await;
        let result = world.ask("a", json!({ "prompt": "Go." })).await.unwrap();
        let told = &result["structuredContent"];
        assert_eq!(told["error"]["reason"], reason, "{result}");
        let used = &told["usage"];
        assert_eq!((&used["model_calls"], &used["input_tokens"]), (&json!(1), &json!(1000)), "{result}");
        assert_eq!(used["cost_usd"], 1.5, "{result}");
    }
}
