//! Services that lose their connection or want a key, behind the binary.

use crate::pipe::Pipe;
use crate::stdio::service;
use serde_json::json;
use testkit::mcp::http::{Behaviour, Server};

/// MC-4: a call that finds its server dead is answered by a new one; a server that cannot be started
/// again is named.
#[test]
fn a_call_that_finds_the_connection_broken_makes_it_anew() {
    let mut client = Pipe::start(&json!({ "s": { "command": service() } }));
    client.hello("2025-06-18");
    let first = client.text("s__pid", json!({}));
    let signal = |signal: &str| {
        let output = std::process::Command::new("kill").args([signal, &first]).output().unwrap();
        output.status.success()
    };
    assert!(signal("-9"));
    // Until it is gone it may still take the call, and whatever may have been taken is not repeated.
    let begun = std::time::Instant::now();
    while signal("-0") {
        assert!(begun.elapsed() < std::time::Duration::from_secs(10), "it does not die");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let second = client.text("s__pid", json!({}));
    assert!(second != first && second.parse::<u32>().is_ok(), "{second}");
}

/// MC-5: the key of the settings is what a server sees, over Streamable HTTP.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signs_in_with_the_key_of_the_settings() {
    let key = Some("Bearer right-key".to_owned());
    let server = Server::start(Behaviour { key, ..Behaviour::default() }).await;
    let url = server.url();
    let text = tokio::task::spawn_blocking(move || {
        let right = json!({ "type": "http", "url": url, "api_key": "right-key" });
        let wrong = json!({ "type": "http", "url": url, "api_key": "wrong-key" });
        let mut client = Pipe::start(&json!({ "right": right, "wrong": wrong }));
        client.hello("2025-06-18");
        let refused = client.call("wrong__echo", json!({ "text": "x" }));
        assert!(refused["error"]["data"]["service"] == "wrong", "{refused}");
        assert!(!refused.to_string().contains("wrong-key"), "{refused}");
        client.text("right__echo", json!({ "text": "in" }))
    });
    assert_eq!(text.await.unwrap(), "in");
}
