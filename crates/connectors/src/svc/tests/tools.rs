//! What is said of tools that cannot be called.

use super::settings::problems;
use super::*;

/// What is missing in a tool depends on the protocol.
#[test]
fn a_tool_without_an_address_is_told_which_one_it_needs() {
    let of = |protocol: &str, tool: Value| {
        let good = settings_of(json!({ "type": "static", "endpoints": ["a:1"] }));
        problems(&with(good, &json!({ "protocol": protocol, "tools": [tool] })))
    };
    assert_eq!(of("http", json!({ "id": "a" }))[0].0, "tools[0].endpoint");
    let found = of("grpc", json!({ "id": "a" }));
    assert!(found[0].0 == "tools[0].rpc" && found[0].1.contains("has an 'rpc'"), "{found:?}");
    let found = of("grpc", json!({ "id": "a", "rpc": "a.B/C", "method": "GET" }));
    assert!(found.iter().any(|(_, why)| why.contains("fallback")), "{found:?}");
}
