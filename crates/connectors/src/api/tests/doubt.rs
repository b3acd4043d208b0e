//! Requests that were sent and have no answer: what callers are told, and whether anybody may try again.

use super::*;
use tool::ErrorKind;

const SENTENCE: &str = "; it may have happened";

async fn failure(server: &Server, tool: Value) -> Error {
    let once = json!({ "retry": { "max_attempts": 1 }, "timeout_ms": 150 });
    let error = error_of(&*with_settings(server, once, tool), json!({})).await;
    assert!(error.message().matches("may have happened").count() <= 1, "{error}");
    error
}

/// AP-7: a lost answer says so; what would be done twice is nothing to try again, by a flow or anybody else.
#[tokio::test]
async fn a_lost_answer_says_that_it_may_have_happened() {
    let server = Server::start().await;
    for endpoint in ["/drop", "/slow/5000", "/status/502", "/status/504"] {
        for (tool, is_said, is_retryable) in [
            (json!({ "method": "GET" }), false, true),
            (json!({ "method": "PUT" }), true, true),
            (json!({ "method": "DELETE" }), true, true),
            (json!({ "method": "POST" }), true, false),
            (json!({ "method": "PATCH" }), true, false),
            (json!({ "method": "POST", "idempotent": true }), true, true),
            (json!({ "method": "GET", "idempotent": false }), true, false),
        ] {
            let mut tool = tool;
            tool["endpoint"] = endpoint.into();
            let error = failure(&server, tool.clone()).await;
            let told = (error.message().ends_with(SENTENCE), error.is_retryable());
            assert_eq!(told, (is_said, is_retryable), "{tool}: {error}");
        }
    }
}

/// AP-7: what was surely not done is not in doubt, whatever it is.
#[tokio::test]
async fn what_was_not_sent_or_not_taken_may_be_tried_again() {
    let server = Server::start().await;
    let dead =
        json!({ "base_url": format!("http://{}", dead_address().await), "retry": { "max_attempts": 1 } });
    let api = with_settings(&server, dead, json!({ "endpoint": "/", "method": "POST" }));
    let error = error_of(&*api, json!({})).await;
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
    assert!(!error.message().contains("may have happened"), "{error}");
    for (endpoint, wait) in [
        ("/status/429", None),
        ("/status/429?retry-after=7", Some(7)),
        ("/status/503", None),
        ("/status/503?retry-after=2", Some(2)),
        ("/status/502?retry-after=3", Some(3)),
    ] {
        let error = failure(&server, json!({ "endpoint": endpoint, "method": "POST" })).await;
        assert!(
            error.is_retryable() && !error.message().contains("may have happened"),
            "{endpoint}: {error}"
        );
        assert_eq!(error.retry_after().map(|wait| wait.as_secs()), wait, "{endpoint}");
    }
    let error = failure(&server, json!({ "endpoint": "/status/400", "method": "POST" })).await;
    assert!(!error.is_retryable() && !error.message().contains("may have happened"), "{error}");
}

/// AP-7: who waited for a turn and got none has sent nothing.
#[tokio::test]
async fn a_call_that_got_no_turn_did_not_happen() {
    let server = Server::start().await;
    let narrow = json!({ "max_concurrent_calls": 1, "retry": { "max_attempts": 1 } });
    let api = with_settings(&server, narrow, json!({ "endpoint": "/slow/2000", "method": "POST" }));
    let first = tokio::spawn({
        let api = api.clone();
        async move { call(&*api, json!({})).await.map(drop) }
    });
    testkit::eventually("the first is under way", Duration::from_secs(10), async || {
        server.requests().len() == 1
    })
    .await;
    let cx = context(Duration::from_millis(200));
    let late = bind_and_call(&*api, &cx, conformance::call("it", Map::new())).await.unwrap_err();
    assert_eq!((late.kind(), late.is_retryable()), (ErrorKind::Timeout, true), "{late:?}");
    assert!(!late.message().contains("may have happened"), "{late}");
    first.await.unwrap().unwrap();
}
