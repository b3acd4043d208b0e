//! Connections: to whom they go, how long they stay, and what is done without one.

use super::calls::{echo, open, run, run_in, wait_for};
use super::server::Server;
use h2::Reason;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use testkit::conformance::context;
use tool::ErrorKind;

/// A stream that was refused was not looked at: another instance takes the call, whatever it does.
#[tokio::test]
async fn goes_to_another_instance_when_one_refuses_or_is_down() {
    let refusing = Server::start(|mut exchange| async move { exchange.reset(Reason::REFUSED_STREAM) }).await;
    let serving = Server::start(echo).await;
    let gone = Server::start(echo).await;
    let service = open(&[&refusing, &gone, &serving], &json!({}));
    drop(gone);
    for _ in 0..6 {
        run(&service, "customers_create", &json!({ "id": "1" })).await.unwrap();
    }
    assert!(!refusing.seen().is_empty());
    assert_eq!(serving.seen().len(), 6);
}

/// Fault F27: addresses that are not public are refused unless the settings open them.
#[tokio::test]
async fn dials_only_where_it_may() {
    let server = Server::start(echo).await;
    let port = server.address.port();
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        let endpoints = json!({ "type": "static", "endpoints": [format!("{host}:{port}")] });
        let service = open(&[], &json!({ "discovery": endpoints, "allow_private_network": false }));
        let error = run(&service, "customers_create", &json!({})).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{host}: {error}");
        assert!(error.message().contains("allow_private_network"), "{error}");
    }
    assert_eq!(server.opened.load(Ordering::SeqCst), 0);
}

/// Fault F28: calls under way end on the old settings, and no connection is left behind.
#[tokio::test(flavor = "multi_thread")]
async fn leaves_no_connection_when_it_is_replaced() {
    let server = Server::start(|mut exchange| async move {
        let message = exchange.message().await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        exchange.answer(&message);
    })
    .await;
    let mut under_way = Vec::new();
    for round in 0..10 {
        let service = open(&[&server], &json!({}));
        let cx = context(Duration::from_secs(20));
        under_way.push(tokio::spawn(async move {
            run_in(&cx, &service, "customers_create", &json!({ "id": "7" })).await
        }));
        wait_for(|| server.seen().len() == round + 1).await;
    }
    for call in under_way {
        assert_eq!(call.await.unwrap().unwrap(), json!({ "id": "7" }));
    }
    wait_for(|| server.open.load(Ordering::SeqCst) == 0).await;
    assert_eq!(server.opened.load(Ordering::SeqCst), 10);
}

/// A way that swallows everything is not used for ever.
#[tokio::test]
async fn makes_a_new_connection_when_one_is_silent() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let server = Server::start(move |mut exchange| {
        let is_first = counter.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            let message = exchange.message().await.unwrap();
            match is_first {
                true => exchange.cancelled().await,
                false => exchange.answer(&message),
            }
        }
    })
    .await;
    let service = open(&[&server], &json!({ "timeout_ms": 1_000 }));
    assert_eq!(run(&service, "customers_create", &json!({})).await.unwrap_err().kind(), ErrorKind::Timeout);
    run(&service, "customers_create", &json!({})).await.unwrap();
    assert_eq!(server.opened.load(Ordering::SeqCst), 2);
}

/// Health: what the server says of itself, and up where it says nothing.
#[tokio::test]
async fn asks_servers_for_their_health() {
    for (answer, is_well) in [(Some(&b"\x08\x01"[..]), true), (Some(b"\x08\x02"), false), (None, true)] {
        let server = Server::start(move |mut exchange| async move {
            assert_eq!(exchange.path, "/grpc.health.v1.Health/Check");
            match answer {
                Some(answer) => exchange.answer(answer),
                None => exchange.fail(&[("grpc-status", "12")]),
            }
        })
        .await;
        let health = open(&[&server], &json!({})).health(&context(Duration::from_secs(5))).await;
        assert_eq!(health.is_ok(), is_well, "{health:?}");
    }
    let gone = Server::start(echo).await;
    let service = open(&[&gone], &json!({}));
    drop(gone);
    let error = service.health(&context(Duration::from_secs(5))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}
