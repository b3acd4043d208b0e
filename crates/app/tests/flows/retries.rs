//! What `retry` of a node tries again, and under which key.

use crate::world::{publish, run, shop};
use serde_json::json;
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    a_call_is_tried_again_under_the_same_key
    a_call_that_may_have_happened_is_made_again_unless_it_is_made_at_most_once
}

/// FL-20: every attempt has the same idempotency key.
async fn a_call_is_tried_again_under_the_same_key(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let text = "
inputs: {key: string}
nodes:
  try: {exec: 'api://shop/flaky', args: {key: '${key}'}, retry: {attempts: 3, delay: 100}}
";
    publish(&app, app.database(), "tried", text).await;
    let ended = run(&app, "tried", json!({ "key": format!("{backend:?}") })).await.is(200);
    assert_eq!(ended.body["state"], "succeeded", "{}", ended.text);
    let requests = upstream.requests();
    assert_eq!(requests.len(), 2);
    let keys: Vec<_> = requests.iter().map(|request| request.header("idempotency-key").unwrap()).collect();
    assert_eq!(keys, vec![format!("{}:try", ended.string("id")); 2]);
    let steps = app.get(&format!("runs/{}/steps", ended.string("id"))).await.is(200).items();
    assert_eq!((steps.len(), &steps[0]["attempt"]), (1, &json!(2)));
}

/// FL-20, AP-7: `retry` repeats what may pass, a lost answer among it, under one key. At most once, a lost answer to a POST
/// is not asked for again; one to a GET is.
async fn a_call_that_may_have_happened_is_made_again_unless_it_is_made_at_most_once(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let config = json!({ "base_url": upstream.url(), "retry": { "max_attempts": 1 } });
    let tools = json!([
        { "id": "pay", "method": "POST", "endpoint": "/drop" }, { "id": "look", "endpoint": "/drop" },
        { "id": "fails", "method": "POST", "endpoint": "/status/500" }, { "id": "waits", "endpoint": "/status/408" },
        { "id": "wrong", "endpoint": "/status/400" }
    ]);
    app.service(json!({ "type": "api", "id": "bank", "config": config, "tools": tools })).await;
    for (flow, (tool, more, asked)) in [
        ("pay", "", 3),
        ("pay", ", delivery: at_most_once", 1),
        ("look", ", delivery: at_most_once", 3),
        ("fails", "", 3),
        ("fails", ", delivery: at_most_once", 1),
        ("waits", "", 3),
        ("wrong", "", 1),
    ]
    .into_iter()
    .enumerate()
    {
        let flow = format!("tried{flow}");
        let text =
            format!("nodes: {{a: {{exec: 'api://bank/{tool}', retry: {{attempts: 3, delay: 50}}{more}}}}}");
        publish(&app, app.database(), &flow, &text).await;
        let before = upstream.requests().len();
        let ended = run(&app, &flow, json!({})).await.is(200);
        assert_eq!(ended.body["state"], "failed", "{}", ended.text);
        let requests = upstream.requests().split_off(before);
        assert_eq!(requests.len(), asked, "{tool}{more}");
        let keys: Vec<_> = requests.iter().filter_map(|request| request.header("idempotency-key")).collect();
        assert!(keys.windows(2).all(|keys| keys[0] == keys[1]), "{keys:?}");
        assert_eq!(ended.text.contains("it may have happened"), tool == "pay", "{}", ended.text);
    }
}
