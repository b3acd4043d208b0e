//! Who may call what: lists and calls follow one rule.

use crate::support::*;
use serde_json::json;
use tool::{Caller, ErrorKind, Identity, KeyId, Limits, Pattern, Role, Scope};

fn key(role: Role) -> Caller {
    Caller { identity: Identity::Key(KeyId::generate()), name: "ci".into(), role, ..Caller::local() }
}

/// HD-7
#[tokio::test]
async fn what_is_listed_is_exactly_what_can_be_called() {
    let world = World::with(vec![service("m", json!({})), service("n", json!({}))]).await;
    let all = world.gateway.list(&context());
    let callers = [
        key(Role::Admin),
        key(Role::Manager),
        key(Role::Caller),
        key(Role::Viewer),
        Caller { scopes: vec![Scope::Read], ..key(Role::Admin) },
        Caller { scopes: vec![Scope::Call], ..key(Role::Caller) },
        Caller { allow: vec![Pattern("m__s*".into())], ..key(Role::Caller) },
        Caller { allow: vec![Pattern("memory://n/*".into())], ..key(Role::Caller) },
        Caller { allow: vec![Pattern("nothing".into())], ..key(Role::Caller) },
    ];
    for caller in callers {
        let cx = context_of(caller);
        let listed: Vec<_> = world.gateway.list(&cx).iter().map(|route| route.name.clone()).collect();
        for route in all.iter().filter(|route| !["sleep", "stubborn"].contains(&route.tool.name())) {
            let result = world.call_as(&cx, &route.name, json!({ "query": "x" })).await;
            let is_denied = result.is_err_and(|error| error.kind() == ErrorKind::Denied);
            assert_eq!(is_denied, !listed.contains(&route.name), "{} for {:?}", route.name, cx.caller);
        }
    }
}

#[tokio::test]
async fn a_keys_limit_holds_for_that_key_alone() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let limits = Limits { calls_per_minute: Some(1), concurrent_calls: None };
    let limited = context_of(Caller { limits, ..key(Role::Caller) });
    assert!(world.call_as(&limited, "m__say", json!({})).await.is_ok());
    let error = world.call_as(&limited, "m__say", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    let other = context_of(Caller { limits, ..key(Role::Caller) });
    assert!(world.call_as(&other, "m__say", json!({})).await.is_ok());
}

#[tokio::test]
async fn a_place_is_free_again_when_its_call_ends() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let limits = Limits { calls_per_minute: None, concurrent_calls: Some(1) };
    let cx = context_of(Caller { limits, ..key(Role::Caller) });
    let gateway = world.gateway.clone();
    let first = {
        let cx = cx.clone();
        tokio::spawn(
            async move { gateway.call(&cx, request("memory://m/sleep?timeout=300", &json!({}))).await },
        )
    };
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let error = world.call_as(&cx, "m__say", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert!(first.await.unwrap().is_err());
    assert!(world.call_as(&cx, "m__say", json!({})).await.is_ok());
}
