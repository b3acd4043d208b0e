//! Brokers behind TLS: nothing is said before it is known who listens.

use super::support::{Home, cx, name, needed, run};
use serde_json::{Value, json};
use testkit::certificates::Authority;
use testkit::tls_proxy::TlsProxy;
use tool::ErrorKind;

/// Publishes and reads behind TLS whose authority we know; another's is refused.
async fn speaks_tls(broker: &str, url: &str, place: &str) {
    let (plain, host) = url.split_once('@').unwrap();
    let (host, rest) =
        host.split_once('/').map_or((host, String::new()), |(host, rest)| (host, format!("/{rest}")));
    let authority = Authority::new();
    let proxy = TlsProxy::start(authority.server(), host).await;
    let (scheme, user) = plain.split_once("://").unwrap();
    let url = format!("{scheme}s://{user}@{}{rest}", proxy.address());
    let (home, place_name) = (Home::new().await, name("tls"));
    let open = |tls: Value| {
        home.open(
            json!({ "broker": broker, "connection_string": url, "allow_private_network": true, "tls": tls,
            "tools": [{ "id": "created", place: place_name, "receive": true }],
            "retry": { "max_attempts": 1 }, "timeout_ms": 10_000 }),
        )
    };
    let orders = open(json!({ "ca": authority.pem() }));
    orders.health(&cx()).await.unwrap();
    let sent = run(&orders, "created", json!({ "message": { "n": 1 } })).await.unwrap();
    let taken = run(&orders, "created_receive", json!({ "waitMs": 5000 })).await.unwrap();
    assert_eq!(taken["messages"][0]["messageId"], sent["messageId"], "{taken}");
    for tls in [json!({}), json!({ "ca": Authority::new().pem() })] {
        let refused = open(tls).health(&cx()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused:?}");
        assert!(!format!("{refused:?}").contains("tester-password"), "{refused:?}");
    }
}

/// MQ-4
#[cfg(feature = "redis")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn speaks_tls_with_redis() {
    speaks_tls("redis", &needed("MCP_TEST_REDIS_URL"), "stream").await;
}

/// MQ-4
#[cfg(feature = "rabbitmq")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn speaks_tls_with_rabbitmq() {
    speaks_tls("rabbitmq", &needed("MCP_TEST_RABBITMQ_URL"), "queue").await;
}
