//! Expressions that make much out of little: they end by their budget, and nobody else waits for them.

use crate::tables::table;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use testkit::{Backend, Client, TestApp, http};

/// Counts through lists of twenty, five deep: much work in few words, and hardly any memory.
fn counting() -> String {
    let digits: Vec<_> = (0..20).map(|n| n.to_string()).collect();
    let list = format!("`[{}]`", digits.join(","));
    let mut query = "@".to_owned();
    for _ in 0..5 {
        query = format!("length(map(&{query}, {list}))");
    }
    query
}

/// Starts `calls` of which each takes long, and asks the server something else meanwhile.
async fn others_are_served_meanwhile(app: &TestApp, calls: Vec<(String, Value)>) -> Vec<Value> {
    let ended = Arc::new(AtomicUsize::new(0));
    let start = |(uri, arguments): (String, Value)| {
        let (client, ended): (Client, _) = ((**app).clone(), ended.clone());
        tokio::spawn(async move {
            let reply = client.call(&uri, arguments).await;
            ended.fetch_add(1, Ordering::SeqCst);
            reply.body
        })
    };
    let running: Vec<_> = calls.into_iter().map(start).collect();
    for _ in 0..3 {
        app.get("tools").await.is(200);
    }
    assert_eq!(ended.load(Ordering::SeqCst), 0, "the others had to wait until a long call was through");
    let mut replies = Vec::new();
    for call in running {
        replies.push(call.await.unwrap());
    }
    replies
}

#[tokio::test]
async fn a_query_that_takes_long_holds_up_nobody() {
    let app = TestApp::start(Backend::Sqlite).await;
    let id = table(&app, json!([1, 2, 3])).await;
    let call = (format!("table://{id}/query_data"), json!({ "query": counting() }));
    for reply in others_are_served_meanwhile(&app, vec![call; 3]).await {
        assert_eq!(reply["structuredContent"]["data"], 20, "{reply}");
    }
}

#[tokio::test]
async fn a_shape_that_takes_long_holds_up_nobody() {
    let upstream = http::Server::start().await;
    let app = TestApp::start(Backend::Sqlite).await;
    let loops = "{{ range until 99 }}{{ range until 99 }}{{ $x := printf \"%0100d\" . }}{{ $x := upper $x }}{{ end }}{{ end }}";
    let tool = |id: &str, field: &str, text: &str| json!({ "id": id, "method": "GET", "endpoint": "/x", field: text });
    app.service(json!({ "type": "api", "id": "slow", "name": "slow", "config": { "base_url": upstream.url() },
        "tools": [tool("picked", "select", &counting()), tool("told", "response_template", &loops.repeat(8))] }))
        .await;
    let call = |tool: &str| (format!("api://slow/{tool}"), json!({}));
    for reply in others_are_served_meanwhile(&app, vec![call("picked"); 3]).await {
        assert_eq!(reply["content"][0]["text"], "20", "{reply}");
    }
    for reply in others_are_served_meanwhile(&app, vec![call("told"); 3]).await {
        assert_eq!(reply["isError"], true, "{reply}");
    }
}
