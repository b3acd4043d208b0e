//! A scripted model that others wrote, in all three dialects.

use crate::world::*;
use serde_json::{Value, json};
use tool::Caller;

fn settings(provider: &str) -> Value {
    let url = std::env::var("MCP_TEST_AIMOCK_URL");
    let url = url.expect("MCP_TEST_AIMOCK_URL is not set; run the tests with scripts/servers run -- CMD");
    json!({ "provider": provider, "base_url": url, "api_key": "k", "model": "m-1", "allow_private_network": true,
        "tools": ["api://crm/echo"] })
}

/// AG-2, AG-4: tool calls and answers of a server that we did not write, whole and streamed.
#[tokio::test]
async fn every_dialect_of_a_foreign_server_is_understood() {
    for provider in ["openai", "anthropic", "gemini"] {
        for is_streamed in [false, true] {
            let world = World::with(vec![("a", settings(provider))]).await;
            let mut cx = context(Caller::local());
            let mut _listener = None;
            if is_streamed {
                let (with_events, rx) = heard(cx);
                (cx, _listener) = (with_events, Some(rx));
            }
            let result = world.ask_as(&cx, "a", json!({ "prompt": "echo please" })).await.unwrap();
            assert_eq!(
                result["structuredContent"]["answer"], "The echo came back.",
                "{provider} {is_streamed}"
            );
            assert_eq!(world.api.last().query, "text=from%20the%20mock");
            let result = world.ask_as(&cx, "a", json!({ "prompt": "say hello" })).await.unwrap();
            let hello = "Hello from the scripted model, in several chunks.";
            assert_eq!(result["content"][0]["text"], hello, "{provider} {is_streamed}");
        }
    }
}
