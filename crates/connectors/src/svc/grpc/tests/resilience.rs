//! Instances that hang, break and come back, found by a registry, over gRPC.

use super::calls::{echo, open, run};
use super::server::{Exchange, Server};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::conformance::{bind_and_call, call, context};
use testkit::registry::{Consul, ConsulService};
use testkit::tcp_proxy::TcpProxy;
use tool::{Connector, ErrorKind, Outcome};

async fn fail(mut exchange: Exchange) {
    exchange.message().await;
    exchange.fail(&[("grpc-status", "14")]);
}

async fn hang(mut exchange: Exchange) {
    exchange.message().await;
    exchange.cancelled().await;
}

/// The whole result of a call, with its remarks.
async fn result_of(service: &Arc<dyn Connector>, tool: &str) -> Value {
    let cx = context(Duration::from_secs(20));
    let outcome = bind_and_call(&**service, &cx, call(tool, serde_json::Map::new())).await.unwrap();
    let Outcome::Done(output) = outcome else { panic!("it is not done") };
    serde_json::from_str(&output.to_result()).unwrap()
}

/// SV-1, SV-3: gRPC instances from Consul; they come and go, and calls follow.
#[tokio::test]
async fn calls_the_instances_that_consul_names() {
    let (one, two) = (Server::start(echo).await, Server::start(echo).await);
    let consul = Consul::start().await;
    consul.register(ConsulService::new("one", "loyalty", one.address));
    let discovery = json!({ "type": "consul", "address": consul.url(), "service_name": "loyalty" });
    let service = open(&[], &json!({ "discovery": discovery, "refresh_ms": 200 }));
    let value = json!({ "id": "1" });
    assert_eq!(run(&service, "customers_create", &value).await.unwrap(), value);
    assert_eq!((one.seen().len(), two.seen().len()), (1, 0));
    consul.register(ConsulService::new("two", "loyalty", two.address));
    consul.deregister("one");
    testkit::eventually("the other is asked", Duration::from_secs(10), async || {
        run(&service, "customers_create", &value).await.unwrap();
        !two.seen().is_empty()
    })
    .await;
    let before = one.seen().len();
    for _ in 0..4 {
        run(&service, "customers_create", &value).await.unwrap();
    }
    assert_eq!(one.seen().len(), before, "who has left is asked no more");
}

/// SV-4: while the breaker is open the fallback answers, marked as such, and the tool promises no more than that keeps.
#[tokio::test]
async fn answers_with_the_fallback_while_the_service_is_left_alone() {
    let server = Server::start(fail).await;
    let tools = json!([
        { "id": "create", "rpc": "loyalty.v1.Customers/Create", "fallback": { "id": {}, "note": "later" } },
        { "id": "get", "rpc": "loyalty.v1.Customers/Get", "fallback": { "id": "0" } },
        { "id": "list", "rpc": "loyalty.v1.Customers/List", "fallback": [] },
        { "id": "watch", "rpc": "loyalty.v1.Customers/Watch" },
    ]);
    let more = json!({
        "tools": tools, "circuit_breaker": { "failures": 2, "open_ms": 60_000 }, "outlier": { "failures": 100 },
        "fallback": { "messages": [], "complete": false },
    });
    let service = open(&[&server], &more);
    for _ in 0..2 {
        assert_eq!(run(&service, "create", &json!({})).await.unwrap_err().kind(), ErrorKind::Unavailable);
    }
    let begun = Instant::now();
    for (tool, expected) in [
        ("create", json!({ "id": {}, "note": "later" })),
        ("get", json!({ "id": "0" })),
        ("watch", json!({ "messages": [], "complete": false })),
    ] {
        let result = result_of(&service, tool).await;
        assert_eq!(result["structuredContent"], expected, "{tool}");
        let remark = result["content"][1]["text"].as_str().unwrap();
        assert!(remark.starts_with("fallback: the service failed 2 times in a row"), "{result}");
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(server.seen().len(), 2, "nobody was asked");
    let mut promised = Vec::new();
    for tool in service.tools(&context(Duration::from_secs(5))).await.unwrap() {
        let schema =
            tool.field("outputSchema").map(|schema| serde_json::from_str::<Value>(schema.get()).unwrap());
        promised.push((tool.name().to_owned(), schema.map(|schema| schema["properties"].is_object())));
    }
    // The words of the message, any object, no promise at all.
    let expected = [("create", Some(false)), ("get", Some(true)), ("list", None), ("watch", Some(true))];
    assert_eq!(promised, expected.map(|(name, promise)| (name.to_owned(), promise)));
}

/// F3, SV-11: one of three takes calls and never answers. Its calls end by their time-out, five eject it, and then the
/// others serve: one behind a way that swallows everything, and one whose server holds the call for ever.
#[tokio::test]
async fn leaves_an_instance_alone_that_never_answers() {
    let (one, two, holding) =
        (Server::start(echo).await, Server::start(echo).await, Server::start(hang).await);
    let swallowing = TcpProxy::start(one.address.to_string()).await;
    swallowing.stall();
    for silent in [swallowing.address().to_string(), holding.address.to_string()] {
        let endpoints = [one.address.to_string(), two.address.to_string(), silent];
        let service = open(
            &[],
            &json!({
                "discovery": { "type": "static", "endpoints": endpoints }, "timeout_ms": 200,
                "circuit_breaker": { "failures": 0 }, "retry": { "max_attempts": 1 },
            }),
        );
        let mut failures = Vec::new();
        for _ in 0..15 {
            failures.extend(run(&service, "customers_create", &json!({})).await.err());
        }
        assert_eq!(failures.len(), 5, "{failures:?}");
        assert!(failures.iter().all(|error| error.kind() == ErrorKind::Timeout), "{failures:?}");
        let is_told =
            |error: &tool::Error| error.message().contains("may have happened") && !error.is_retryable();
        assert!(failures.iter().all(is_told), "{failures:?}");
        let mut good = 0;
        for _ in 0..200 {
            good += usize::from(run(&service, "customers_create", &json!({})).await.is_ok());
        }
        assert!(good >= 198, "{good} of 200");
    }
}

/// SV-4: a service that is down before it ever said what it has is answered for by the fallback of the tools that the
/// settings name; when it is there, the tools are what it says.
#[tokio::test]
async fn stands_in_for_a_service_that_was_never_there() {
    let server = Server::start(super::reflection::describe_or_echo).await;
    let consul = Consul::start().await;
    consul.register(ConsulService::new("dead", "loyalty", testkit::http::dead_address().await));
    let service = |tools: Value| {
        let discovery = json!({ "type": "consul", "address": consul.url(), "service_name": "loyalty" });
        let more = json!({
            "discovery": discovery, "refresh_ms": 100, "schema": { "reflection": true },
            "circuit_breaker": { "failures": 2, "open_ms": 300 }, "outlier": { "failures": 100 }, "tools": tools,
            "retry": { "max_attempts": 1 },
        });
        open(&[], &more)
    };
    let create = json!({ "id": "create", "rpc": "loyalty.v1.Customers/Create", "fallback": { "id": "0" } });
    let cx = context(Duration::from_secs(20));
    let get = json!({ "id": "get", "rpc": "loyalty.v1.Customers/Get" });
    let service = service(json!([create, get]));
    let mut changes = service.changes().unwrap();
    assert_eq!(service.tools(&cx).await.unwrap_err().kind(), ErrorKind::Unavailable);
    let names: Vec<_> = service.named_tools().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["create", "get"]);
    for _ in 0..2 {
        assert_eq!(run(&service, "create", &json!({})).await.unwrap_err().kind(), ErrorKind::Unavailable);
    }
    let begun = Instant::now();
    let result = result_of(&service, "create").await;
    assert_eq!(result["structuredContent"], json!({ "id": "0" }), "{result}");
    assert!(result["content"].to_string().contains("fallback"), "{result}");
    assert!(begun.elapsed() < Duration::from_millis(250));
    assert!(!changes.has_changed().unwrap());
    consul.register(ConsulService::new("alive", "loyalty", server.address));
    consul.deregister("dead");
    testkit::eventually("the service answers itself", Duration::from_secs(10), async || {
        run(&service, "create", &json!({ "id": "5" }))
            .await
            .is_ok_and(|answer| answer == json!({ "id": "5" }))
    })
    .await;
    assert!(changes.has_changed().unwrap(), "whoever was told of the stand-ins asks again");
    changes.mark_unchanged();
    assert_eq!(service.tools(&cx).await.unwrap().len(), 2);
}
