//! Calls of real servers.

use super::{needed, open, run, run_in};
use crate::on_every_grpc_server;
use serde_json::json;
use std::time::{Duration, Instant};
use testkit::conformance::context;
use testkit::eventually;
use tool::{ErrorKind, Events};

on_every_grpc_server! {
    calls_methods_and_tells_their_answers
    brings_back_what_went_in
    streams_messages
    tells_the_time_that_is_left_and_metadata
    tells_how_calls_failed
    is_well
}

/// Requirement SV-1: the seed's example, and others.
async fn calls_methods_and_tells_their_answers(address: String) {
    let service = open(&address, &json!({}));
    let expected = json!({ "customers": [
        { "id": "1", "displayName": "Ada", "tier": "TIER_GOLD" },
        { "id": "9007199254740993", "displayName": "Zoë", "tier": "TIER_SILVER" },
    ] });
    assert_eq!(run(&service, "customers_list", &json!({})).await.unwrap(), expected);
    let one = run(&service, "customers_list", &json!({ "page_size": 1 })).await.unwrap();
    assert_eq!(one["customers"].as_array().unwrap().len(), 1);
    let found = run(&service, "customers_get", &json!({ "id": "9007199254740993" })).await.unwrap();
    assert_eq!(found["displayName"], "Zoë");
    assert_eq!(
        run(&service, "customers_upper", &json!({ "value": "grüße" })).await.unwrap(),
        json!({ "value": "GRÜSSE" })
    );
    let created = json!({ "id": "7", "displayName": "", "tier": "TIER_UNKNOWN" });
    assert_eq!(run(&service, "customers_create", &json!({ "id": 7 })).await.unwrap(), created);
}

/// Requirement SV-6, as another library reads and writes it.
async fn brings_back_what_went_in(address: String) {
    let service = open(&address, &json!({ "emit_defaults": false }));
    let value = json!({
        "aDouble": 1.5, "aFloat": "-Infinity", "anInt32": -2_147_483_648_i64, "anInt64": "-9223372036854775808",
        "aUint32": 4_294_967_295_u64, "aUint64": "18446744073709551615", "aSint32": 7, "aSint64": "-7", "aFixed32": 9,
        "aFixed64": "10", "aSfixed32": -11, "aSfixed64": "-12", "aBool": true, "aString": "Grüße 🦀",
        "someBytes": "AP8Q", "tier": "TIER_GOLD", "tiers": ["TIER_SILVER", "TIER_UNKNOWN"],
        "counts": { "a": "9007199254740993" }, "others": { "-5": { "aBool": true } }, "answers": { "true": "yes" },
        "many": ["1", "18446744073709551615"], "number": "-1", "at": "2026-11-16T08:00:00.000000001Z",
        "lasting": "-1.500s", "mask": "displayName,address.city", "wrappedString": "", "wrappedInt64": "5",
        "wrappedBool": false, "wrappedDouble": 2.5, "nothing": {}, "child": { "child": { "aString": "deep" } },
        "children": [{}, { "aBool": true }],
        "detail": { "@type": "type.googleapis.com/loyalty.v1.Customer", "id": "5", "displayName": "Ada" }
    });
    assert_eq!(run(&service, "customers_echo", &value).await.unwrap(), value);
}

/// Requirement SV-7.
async fn streams_messages(address: String) {
    let service = open(&address, &json!({ "max_messages": 50 }));
    let (events, mut heard) = Events::channel(100);
    let mut cx = context(Duration::from_secs(20));
    cx.events = events;
    let answer = run_in(&cx, &service, "customers_watch", &json!({ "count": 5 })).await.unwrap();
    assert_eq!((answer["messages"].as_array().unwrap().len(), &answer["complete"]), (5, &json!(true)));
    assert_eq!(answer["messages"][4]["number"], "5");
    assert_eq!(std::iter::from_fn(|| heard.take()).count(), 5);
    let answer = run(&service, "customers_watch", &json!({ "count": 10_000 })).await.unwrap();
    assert_eq!((answer["messages"].as_array().unwrap().len(), &answer["complete"]), (50, &json!(false)));
    let begun = Instant::now();
    let cx = context(Duration::from_secs(3));
    let answer =
        run_in(&cx, &service, "customers_watch", &json!({ "count": 1000, "pauseMs": 100 })).await.unwrap();
    assert!(answer["complete"] == false && !answer["messages"].as_array().unwrap().is_empty(), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(10));
    let error = run(&service, "customers_watch", &json!({ "count": 2, "fail": true })).await.unwrap_err();
    assert_eq!((error.kind(), error.service_code()), (ErrorKind::Upstream, Some("INTERNAL")));
    assert!(error.message().contains("after 2 messages") && error.message().contains("it broke"), "{error}");
}

/// Requirement SV-8: the time left; and metadata, text and bytes.
async fn tells_the_time_that_is_left_and_metadata(address: String) {
    let service = open(&address, &json!({ "metadata": { "x-team": "crm", "trace-bin": "AQL/" } }));
    let cx = context(Duration::from_secs(7));
    let told = run_in(&cx, &service, "customers_metadata", &json!({})).await.unwrap();
    assert_eq!(
        (&told["metadata"]["x-team"], &told["metadata"]["trace-bin"]),
        (&json!("crm"), &json!("0102ff"))
    );
    let left: i64 = told["leftMs"].as_str().unwrap().parse().unwrap();
    assert!((1..=7_000).contains(&left), "{left}");
}

/// Requirement SV-1: statuses, as servers send them.
async fn tells_how_calls_failed(address: String) {
    let service =
        open(&address, &json!({ "circuit_breaker": { "failures": 0 }, "outlier": { "failures": 100 } }));
    let error = run(&service, "customers_get", &json!({ "id": 2 })).await.unwrap_err();
    assert_eq!((error.kind(), error.service_code()), (ErrorKind::Missing, Some("NOT_FOUND")));
    assert!(error.message().contains("there is no customer 2"), "{error}");
    for (code, kind, name) in [
        (3, ErrorKind::Upstream, "INVALID_ARGUMENT"),
        (8, ErrorKind::Upstream, "RESOURCE_EXHAUSTED"),
        (14, ErrorKind::Unavailable, "UNAVAILABLE"),
        (16, ErrorKind::Upstream, "UNAUTHENTICATED"),
    ] {
        let arguments = json!({ "code": code, "message": "zu früh: 100 %" });
        let error = run(&service, "customers_fail", &arguments).await.unwrap_err();
        assert_eq!((error.kind(), error.service_code()), (kind, Some(name)));
        assert!(error.message().contains("zu früh: 100 %"), "{error}");
    }
}

/// One has `grpc.health.v1`, the other has not; both are up.
async fn is_well(address: String) {
    open(&address, &json!({})).health(&context(Duration::from_secs(20))).await.unwrap();
}

/// Requirement SV-8: gRPC's own library tells its server that the caller has gone, by a cancel and by the end of its time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server_hears_that_the_caller_has_gone() {
    let service = open(&needed("MCP_TEST_GRPC_PYTHON_URL"), &json!({}));
    // Numbers of this test's own, by which the server names streams that were left.
    let own = 100_000 + std::process::id() % 100_000 * 10;
    let left = async |number: u32| {
        let told = run(&service, "customers_metadata", &json!({})).await.unwrap();
        told["metadata"]["left"].as_str().unwrap().split(' ').any(|left| left == number.to_string())
    };
    let cx = context(Duration::from_secs(60));
    let (events, mut heard) = Events::channel(100);
    let cx = tool::Context { events, ..cx };
    let cancel = async {
        eventually("the stream has begun", Duration::from_secs(20), async || heard.take().is_some()).await;
        assert!(!left(own).await, "it goes on");
        cx.cancel.cancel();
    };
    let slow = json!({ "count": own, "pauseMs": 50 });
    let (result, ()) = tokio::join!(run_in(&cx, &service, "customers_watch", &slow), cancel);
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
    eventually("the server hears of the cancel", Duration::from_secs(20), async || left(own).await).await;
    let slow = json!({ "count": own + 1, "pauseMs": 50 });
    let late = run_in(&context(Duration::from_millis(500)), &service, "customers_watch", &slow).await;
    assert_eq!(late.unwrap()["complete"], false);
    eventually("the server hears of the end", Duration::from_secs(20), async || left(own + 1).await).await;
}
