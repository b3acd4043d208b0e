//! Requests to instances that are written down.

use super::*;

#[tokio::test]
async fn takes_turns_among_the_instances() {
    let servers = [Server::start().await, Server::start().await, Server::start().await];
    let service = open(settings_of(static_of(&servers.each_ref()))).unwrap();
    for _ in 0..9 {
        call(&*service).await.unwrap();
    }
    for server in &servers {
        assert_eq!((server.requests().len(), server.connections()), (3, 1));
        assert_eq!(server.last().header("host"), Some(server.address().to_string().as_str()));
    }
    service.health(&context(Duration::from_secs(5))).await.unwrap();
}

#[tokio::test]
async fn asks_up_to_two_others_when_one_cannot_be_connected_to() {
    let server = Server::start().await;
    let (first, second) = (dead_address().await.to_string(), dead_address().await.to_string());
    let endpoints = json!([first, second, server.address().to_string()]);
    let service = open(settings_of(json!({ "type": "static", "endpoints": endpoints }))).unwrap();
    for _ in 0..3 {
        call(&*service).await.unwrap();
    }
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn tools_say_what_their_methods_promise() {
    let settings = settings_of(json!({ "type": "static", "endpoints": ["a.test:1"] }));
    let tools = json!([
        { "id": "reads", "endpoint": "/x" },
        { "id": "replaces", "endpoint": "/x", "method": "PUT" },
        { "id": "adds", "endpoint": "/x", "method": "POST", "methods": ["GET"] },
    ]);
    let service = open(with(settings, &json!({ "tools": tools }))).unwrap();
    let mut hints = Vec::new();
    for tool in service.tools(&context(Duration::from_secs(5))).await.unwrap() {
        let annotations: Value = serde_json::from_str(tool.field("annotations").unwrap().get()).unwrap();
        let hint = |name: &str| annotations[name].as_bool().unwrap();
        let name = tool.name().to_owned();
        hints.push((name, hint("readOnlyHint"), hint("destructiveHint"), hint("idempotentHint")));
    }
    let expected =
        [("adds", false, true, false), ("reads", true, false, true), ("replaces", false, true, true)];
    assert_eq!(
        hints,
        expected.map(|(name, reads, destroys, repeats)| (name.to_owned(), reads, destroys, repeats))
    );
}

/// SV-11: what was sent to an instance and would be done twice goes to no other, and is nothing to try again.
#[tokio::test]
async fn a_lost_answer_says_that_it_may_have_happened() {
    let servers = [Server::start().await, Server::start().await];
    for (method, is_said, is_retryable) in [("GET", false, true), ("PUT", true, true), ("POST", true, false)]
    {
        let tool = json!({ "tools": [{ "id": "it", "endpoint": "/drop", "method": method }] });
        let service = open(with(settings_of(static_of(&servers.each_ref())), &tool)).unwrap();
        let error = error_of(&*service).await;
        assert_eq!(error.kind(), tool::ErrorKind::Unavailable, "{error:?}");
        assert_eq!(error.message().ends_with("; it may have happened"), is_said, "{method}: {error}");
        assert_eq!(error.is_retryable(), is_retryable, "{method}: {error}");
    }
    assert_eq!(servers.iter().map(|server| server.requests().len()).sum::<usize>(), 3);
}
