//! Models that misbehave, or lead elsewhere, and answers that do not fit.

use crate::heard::{ask, world};
use crate::world::agent;
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::model::{Model, Reply};
use testkit::{Backend, TestApp};

/// How the run of an ask has failed.
async fn reason(app: &TestApp) -> Value {
    let answer = ask(app, json!({ "prompt": "Go." })).await;
    assert_eq!(answer["isError"], true, "{answer}");
    answer["structuredContent"]["error"]["reason"].clone()
}

/// AG-12: an answer fits the schema, or the model hears why it does not, or there is none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_fits_its_schema_or_there_is_none() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let more = json!({ "output_schema": schema, "output_retries": 1 });
    let replies = vec![Reply::says("one"), Reply::says("{\"n\":1}")];
    let (app, _upstream, model) = world(replies, more.clone()).await;
    let answer = ask(&app, json!({ "prompt": "Go." })).await;
    assert_eq!(answer["structuredContent"]["output"], json!({ "n": 1 }), "{answer}");
    assert!(model.asked()[1].text.contains("Your answer does not fit"), "{}", model.asked()[1].text);
    let (app, _upstream, model) = world(vec![Reply::says("{\"n\":\"one\"}")], more).await;
    assert_eq!(reason(&app).await, "OUTPUT_INVALID");
    assert_eq!(model.asked().len(), 2);
}

/// F2: `Retry-After` is kept within the time; beyond it nothing is waited for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_asks_for_time_gets_as_much_as_there_is() {
    let limited = |seconds: &str| Reply::Raw(429, vec![("retry-after", seconds.to_owned())], b"{}".to_vec());
    let retry = json!({ "retry": { "max_attempts": 3 } });
    let (app, _upstream, model) = world(vec![limited("1"), Reply::says("Now.")], retry.clone()).await;
    let begun = Instant::now();
    let told = ask(&app, json!({ "prompt": "Go." })).await["structuredContent"].clone();
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!((&told["answer"], &told["usage"]["model_calls"]), (&json!("Now."), &json!(1)), "{told}");
    assert_eq!(model.asked().len(), 2);
    let (app, _upstream, model) = world(vec![limited("600")], retry).await;
    assert_eq!(reason(&app).await, "MODEL_RATE_LIMITED");
    assert_eq!(model.asked().len(), 1);
}

/// F3: a stream that is cut behind some text is told once, and fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_cut_is_told_once() {
    let replies = vec![Reply::Cut("Half an ans".into()), Reply::says("whole")];
    let (app, _upstream, model) = world(replies, json!({ "retry": { "max_attempts": 3 } })).await;
    let ask = app.request(Method::POST, "agents/a/runs").header("accept", "text/event-stream");
    let told = ask.json(&json!({ "prompt": "Go." })).send().await.unwrap().text().await.unwrap();
    let texts: Vec<_> = told.split("\n\n").filter(|event| event.contains("event: text")).collect();
    assert!(texts.concat().contains("Half an ans") && !told.contains("whole"), "{told}");
    assert!(told.contains("MODEL_UNREACHABLE"), "{told}");
    assert_eq!(model.asked().len(), 1);
}

/// F4: what is no answer is never an empty success.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_answer_is_said_to_be_none() {
    let bodies = ["<html>sorry</html>", "{\"choices\":[{\"mess", "{\"choices\":\"x\"}", ""];
    let replies = bodies.map(|body| Reply::Raw(200, Vec::new(), body.as_bytes().to_vec()));
    let (app, _upstream, model) = world(replies.to_vec(), json!({})).await;
    for body in bodies {
        assert_eq!(reason(&app).await, "BAD_MODEL_ANSWER", "{body}");
    }
    assert_eq!(model.asked().len(), bodies.len());
}

/// F13: neither where a provider redirects to, nor what its address leads to inside, gets anything, the key least of all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_leads_nowhere_else() {
    let target = Model::replies(vec![Reply::says("mine")]).await;
    let moved = Reply::Raw(307, vec![("location", target.url())], Vec::new());
    let (app, _upstream, model) = world(vec![moved], json!({ "api_key": "sk-hunter2hunter2" })).await;
    assert_eq!(reason(&app).await, "MODEL_UNREACHABLE");
    assert_eq!(model.asked().len(), 1);
    for address in [target.url(), target.url().replace("127.0.0.1", "localhost")] {
        let more = json!({ "base_url": address, "api_key": "sk-hunter2hunter2" });
        let app =
            TestApp::start_with(Backend::Sqlite, |settings| settings.allow_private_network = false).await;
        app.post("services", agent("a", &target, more)).await.is(201);
        let refused = app.post("agents/a/runs", json!({ "prompt": "Go." })).await;
        assert!(refused.status >= 400 || refused.body["isError"] == true, "{}", refused.text);
    }
    assert!(target.asked().is_empty());
}

/// AG-4: `ollama` is spoken to as OpenAI is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ollama_is_spoken_to_as_openai_is() {
    let (app, _upstream, model) = world(vec![Reply::says("Here.")], json!({ "provider": "ollama" })).await;
    assert_eq!(ask(&app, json!({ "prompt": "Go." })).await["structuredContent"]["answer"], "Here.");
    assert_eq!(model.asked()[0].path, "/v1/chat/completions");
}
