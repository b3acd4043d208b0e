//! Instances and services that fail, hang, and come back.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use testkit::tcp_proxy::TcpProxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tool::ErrorKind;

fn endpoints(addresses: &[std::net::SocketAddr]) -> Value {
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    json!({ "type": "static", "endpoints": addresses })
}

/// F3 and SV-11: one of three takes connections and never answers. Five of its calls end by their time-out, then the others serve.
#[tokio::test]
async fn leaves_an_instance_alone_that_never_answers() {
    let (one, two) = (Server::start().await, Server::start().await);
    let silent = TcpProxy::start(one.address().to_string()).await;
    silent.stall();
    let more = json!({ "timeout_ms": 200, "circuit_breaker": { "failures": 0 } });
    let discovery = endpoints(&[one.address(), two.address(), silent.address()]);
    let connector = open(with(settings_of(discovery), &more)).unwrap();
    let mut failures = Vec::new();
    for _ in 0..15 {
        failures.extend(call(&*connector).await.err());
    }
    assert_eq!(failures.len(), 5, "{failures:?}");
    assert!(failures.iter().all(|error| error.kind() == ErrorKind::Timeout), "{failures:?}");
    let mut good = 0;
    for _ in 0..200 {
        good += usize::from(call(&*connector).await.is_ok());
    }
    assert!(good >= 198, "{good} of 200");
}

/// A caller who has no time says nothing about the instance, nor about the service.
#[tokio::test]
async fn does_not_blame_an_instance_for_the_callers_time() {
    let server = Server::start().await;
    let more = json!({
        "circuit_breaker": { "failures": 2 }, "outlier": { "failures": 1, "max_ejected_percent": 100 },
        "tools": [{ "id": "it", "endpoint": "/slow/300" }]
    });
    let connector = open(with(settings_of(static_of(&[&server, &server])), &more)).unwrap();
    for _ in 0..4 {
        let error = call_uri(&*connector, "svc://service/it?timeout=50", json!({})).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
    }
    call(&*connector).await.unwrap();
}

/// F4 and SV-4: all instances go, the breaker opens, the fallback answers in milliseconds, one call at a time tries, and
/// a good one closes it.
#[tokio::test]
async fn answers_with_the_fallback_until_the_service_is_back() {
    let server = Server::start().await;
    let proxies = [
        TcpProxy::start(server.address().to_string()).await,
        TcpProxy::start(server.address().to_string()).await,
    ];
    let more = json!({
        "circuit_breaker": { "failures": 3, "open_ms": 300 }, "fallback": { "from": "service" },
        "tools": [
            { "id": "it", "endpoint": "/slow/100" },
            { "id": "own", "endpoint": "/x", "fallback": ["tool"] },
            { "id": "none", "endpoint": "/x", "fallback": null }
        ]
    });
    let discovery = endpoints(&[proxies[0].address(), proxies[1].address()]);
    let connector = open(with(settings_of(discovery), &more)).unwrap();
    call(&*connector).await.unwrap();
    proxies.iter().for_each(TcpProxy::cut);
    for _ in 0..3 {
        assert_eq!(error_of(&*connector).await.kind(), ErrorKind::Unavailable);
    }
    let begun = Instant::now();
    for (tool, expected) in [
        ("it", json!({ "from": "service" })),
        ("own", json!(["tool"])),
        ("none", json!({ "from": "service" })),
    ] {
        let output = call_with(&*connector, tool, json!({})).await.unwrap();
        assert_eq!(data(&output), expected);
        assert!(output.is_unshaped(), "its shape is for answers of the service");
        let whole: Value = serde_json::from_str(&output.to_result()).unwrap();
        let remark = whole["content"][1]["text"].as_str().unwrap();
        assert!(remark.starts_with("fallback: the service failed 3 times in a row"), "{whole}");
    }
    assert!(begun.elapsed() < Duration::from_millis(100), "{:?}", begun.elapsed());
    proxies.iter().for_each(TcpProxy::restore);
    tokio::time::sleep(Duration::from_millis(320)).await;
    let before = server.requests().len();
    let calls = futures::future::join_all((0..20).map(|_| call(&*connector))).await;
    let real =
        calls.iter().filter(|output| data(output.as_ref().unwrap()) != json!({ "from": "service" })).count();
    assert_eq!(
        (real, server.requests().len() - before),
        (1, 1),
        "one call tries, the others have the fallback"
    );
    let output = call(&*connector).await.unwrap();
    assert_ne!(data(&output), json!({ "from": "service" }));
}

/// SV-4: without a fallback the error says so, and when to come back.
#[tokio::test]
async fn says_that_the_circuit_is_open_where_there_is_no_fallback() {
    let server = Server::start().await;
    let more =
        json!({ "circuit_breaker": { "failures": 2 }, "tools": [{ "id": "it", "endpoint": "/status/500" }] });
    let connector = open(with(settings_of(static_of(&[&server])), &more)).unwrap();
    for _ in 0..2 {
        assert_eq!(error_of(&*connector).await.status(), Some(500));
    }
    let error = error_of(&*connector).await;
    assert_eq!(error.kind(), ErrorKind::CircuitOpen);
    assert!(error.retry_after().is_some() && error.is_retryable());
    assert_eq!(server.requests().len(), 2);
    let refused =
        json!({ "circuit_breaker": { "failures": 1 }, "tools": [{ "id": "it", "endpoint": "/status/404" }] });
    let connector = open(with(settings_of(static_of(&[&server])), &refused)).unwrap();
    for _ in 0..3 {
        assert_eq!(
            error_of(&*connector).await.status(),
            Some(404),
            "a bad request is not the service's fault"
        );
    }
}

/// F26: many callers, few places, a slow service. They wait for their turn until their deadline; another service does not.
#[tokio::test]
async fn callers_wait_for_their_turn() {
    let (slow, quick) = (Server::start().await, Server::start().await);
    let more = json!({ "max_concurrent_calls": 10, "tools": [{ "id": "it", "endpoint": "/slow/50" }] });
    let connector = open(with(settings_of(static_of(&[&slow])), &more)).unwrap();
    let other = open(settings_of(static_of(&[&quick]))).unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..500 {
        let connector = connector.clone();
        calls.spawn(async move { call(&*connector).await.map(|_| ()) });
    }
    let begun = Instant::now();
    call(&*other).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2));
    let results = calls.join_all().await;
    assert!(results.iter().all(Result::is_ok), "{:?}", results.iter().find(|result| result.is_err()));
    assert_eq!(slow.connections(), 10);
}

/// F28: a service whose settings change while calls run. They end on the old settings, and leave no connection behind.
#[tokio::test]
async fn calls_in_flight_end_on_the_old_settings_and_nothing_stays_open() {
    let counting = Counting::start().await;
    let settings = settings_of(endpoints(&[counting.address]));
    for _ in 0..5 {
        let old = open(settings.clone()).unwrap();
        let calls: Vec<_> = (0..4)
            .map(|_| {
                let old = old.clone();
                tokio::spawn(async move { call(&*old).await.map(|_| ()) })
            })
            .collect();
        eventually("calls run", SOON, async || counting.open() >= 4).await;
        drop(old);
        let new = open(settings.clone()).unwrap();
        call(&*new).await.unwrap();
        for call in calls {
            call.await.unwrap().unwrap();
        }
    }
    eventually("all connections are closed", SOON, async || counting.open() == 0).await;
}

/// A server that answers slowly and counts the connections that are open.
struct Counting {
    address: std::net::SocketAddr,
    open: Arc<AtomicUsize>,
}

impl Counting {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, open) = (listener.local_addr().unwrap(), Arc::<AtomicUsize>::default());
        let count = open.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let count = count.clone();
                tokio::spawn(async move {
                    count.fetch_add(1, Ordering::SeqCst);
                    let mut buffer = [0; 4096];
                    while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
                        let _ = stream.write_all(answer).await;
                    }
                    count.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, open }
    }

    fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}
