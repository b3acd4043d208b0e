//! Proxies of RocketMQ that do as they like; a real one is tried in `tests/it/mq/rocketmq.rs`.

use super::calls::{
    QueryRouteResponse, SendRequest, SendResponse, SendResult, Settings as ClientSettings, TelemetryCommand,
};
use super::failure::OK;
use super::proto::{Address, Broker, Endpoints, MessageQueue, Resource, Status};
use crate::mq::Settings;
use crate::shared::grpc::test_server::{Exchange, Server};
use h2::Reason;
use prost::Message;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::conformance::{bind_and_call, call, context};
use testkit::recorder::Recorder;
use tool::{Connector, Env, Error, ErrorKind, Kind, Outcome, Start, Subscription};

/// What a proxy does when a message is sent.
#[derive(Clone, Copy)]
enum Sending {
    Says(i32),
    Breaks,
}

fn status(code: i32) -> Option<Status> {
    Some(Status { code, message: "said\nso".to_owned() })
}

/// A proxy that names this address as that of its broker, its own where it is none.
async fn proxy(
    named: Option<(&'static str, i32)>,
    sending: Sending,
    sent: Arc<Mutex<Vec<SendRequest>>>,
) -> Server {
    Server::start(move |exchange| {
        let sent = sent.clone();
        async move { serve(exchange, named, sending, &sent).await }
    })
    .await
}

async fn serve(
    mut exchange: Exchange,
    named: Option<(&'static str, i32)>,
    sending: Sending,
    sent: &Mutex<Vec<SendRequest>>,
) {
    let message = exchange.message().await.unwrap();
    match exchange.path.rsplit_once('/').unwrap().1 {
        "QueryRoute" => {
            let asked = super::calls::QueryRouteRequest::decode(message).unwrap();
            let own = || asked.endpoints.clone().unwrap().addresses;
            let addresses = match named {
                Some((host, port)) => vec![Address { host: host.to_owned(), port }],
                None => own(),
            };
            let broker =
                Broker { name: "a".to_owned(), id: 0, endpoints: Some(Endpoints { scheme: 1, addresses }) };
            let topic = Resource::named("orders");
            let queue =
                MessageQueue { topic, permission: 4, broker: Some(broker), ..MessageQueue::default() };
            let answer = QueryRouteResponse { status: status(OK), message_queues: vec![queue] };
            exchange.answer(&answer.encode_to_vec());
        }
        "Telemetry" => {
            let settings = Some(ClientSettings::default());
            let mut answering = exchange.begin();
            answering.send(&TelemetryCommand { status: status(OK), settings }.encode_to_vec());
            answering.cancelled().await;
        }
        "SendMessage" => {
            sent.lock().unwrap().push(SendRequest::decode(message).unwrap());
            let Sending::Says(code) = sending else { return exchange.reset(Reason::INTERNAL_ERROR) };
            let entries = vec![SendResult { status: status(code) }];
            exchange.answer(&SendResponse { status: status(OK), entries }.encode_to_vec());
        }
        _ => exchange.answer(&super::calls::PlainResponse { status: status(OK) }.encode_to_vec()),
    }
}

fn open(server: &Server, more: &Value) -> Arc<dyn Connector> {
    let mut settings = json!({ "broker": "rocketmq", "connection_string": server.address.to_string(),
        "allow_private_network": true, "tools": [{ "id": "created", "topic": "orders" }],
        "retry": { "max_attempts": 1 }, "circuit_breaker": { "failures": 0 } });
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Kind::of::<Settings>().open(settings, &Env::default()).unwrap()
}

async fn publish(service: &Arc<dyn Connector>) -> Result<Value, Error> {
    let arguments = json!({ "message": 1, "key": "k" }).as_object().cloned().unwrap();
    match bind_and_call(&**service, &context(Duration::from_secs(20)), call("created", arguments)).await? {
        Outcome::Done(output) => Ok(serde_json::from_str(&output.data().unwrap()).unwrap()),
        other => panic!("{other:?}"),
    }
}

/// Fault F27: a proxy may be allowed, and name a broker that is not.
#[tokio::test]
async fn a_broker_that_a_route_names_is_checked_like_every_address() {
    let inner = proxy(None, Sending::Says(OK), Arc::default()).await;
    let inner_port = i32::from(inner.address.port());
    for (host, port) in [("10.1.2.3", 8081), ("169.254.169.254", 80), ("127.0.0.2", inner_port)] {
        let outer = proxy(Some((host, port)), Sending::Says(OK), Arc::default()).await;
        let service = open(&outer, &json!({ "allow_private_network": ["127.0.0.1/32"] }));
        service.health(&context(Duration::from_secs(20))).await.unwrap();
        let error = publish(&service).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{host}: {error:?}");
        assert!(error.message().contains("allow_private_network"), "{error}");
    }
    assert_eq!(inner.opened.load(Ordering::SeqCst), 0);
}

/// MQ-1
#[tokio::test]
async fn what_is_not_confirmed_is_not_told_as_sent() {
    for (sending, kind, words) in [
        (Sending::Breaks, ErrorKind::Unavailable, "may have been published"),
        (Sending::Says(50_401), ErrorKind::Unavailable, "may have been published"),
        (Sending::Says(40_402), ErrorKind::Missing, "orders"),
        (Sending::Says(40_300), ErrorKind::Upstream, "'username'"),
        (Sending::Says(41_301), ErrorKind::InvalidInput, "'message'"),
        (Sending::Says(40_000), ErrorKind::Upstream, "said so"),
        (Sending::Says(0), ErrorKind::Upstream, "code 0"),
    ] {
        let sent = Arc::new(Mutex::default());
        let server = proxy(None, sending, Arc::clone(&sent)).await;
        let error =
            publish(&open(&server, &json!({ "retry": { "max_attempts": 3, "initial_delay_ms": 1 } })))
                .await
                .unwrap_err();
        assert_eq!(error.kind(), kind, "{error:?}");
        assert!(error.message().contains(words), "{error}");
        assert_eq!(sent.lock().unwrap().len(), 1, "it is sent once");
    }
}

#[tokio::test]
async fn signs_every_call_and_keeps_the_secret() {
    let server = proxy(None, Sending::Says(OK), Arc::default()).await;
    let service = open(&server, &json!({ "username": "tester", "password": "top-secret" }));
    let sent = publish(&service).await.unwrap();
    assert_eq!(sent["destination"], json!("orders"));
    let seen = server.seen();
    assert!(seen.len() >= 3, "route, session and message: {seen:?}");
    for headers in seen {
        let signed = headers["authorization"].to_str().unwrap();
        assert!(
            signed.starts_with("MQv2-HMAC-SHA1 Credential=tester, SignedHeaders=x-mq-date-time"),
            "{signed}"
        );
        assert!(!format!("{headers:?}").contains("top-secret"));
    }
}

#[tokio::test]
async fn says_that_the_credentials_are_refused() {
    let server = proxy(None, Sending::Says(40_100), Arc::default()).await;
    let error = publish(&open(&server, &json!({}))).await.unwrap_err();
    assert!(error.is_about_credentials() && error.message().contains("'password'"), "{error:?}");
}

#[test]
fn refuses_settings_that_cannot_be_meant() {
    let open = |changes: Value| {
        let mut settings = json!({ "broker": "rocketmq", "connection_string": "h:8081", "tools": [] });
        settings.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let opened = Kind::of::<Settings>().open(settings, &Env::default());
        opened
            .err()
            .map(|error| error.problems().iter().map(|problem| problem.path.clone()).collect::<Vec<_>>())
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    assert_eq!(open(json!({})), None);
    assert_eq!(open(json!({ "tools": [{ "id": "dead", "topic": "%DLQ%group" }] })), None);
    for (changes, field) in [
        (json!({ "connection_string": null }), "connection_string"),
        (json!({ "connection_string": "http://h:8081" }), "connection_string"),
        (json!({ "username": "key" }), "password"),
        (json!({ "password": "secret" }), "username"),
        (json!({ "username": "a, b", "password": "secret" }), "username"),
        (json!({ "username": "key", "password": "" }), "password"),
        (json!({ "sasl": "PLAIN" }), "sasl"),
        (json!({ "tools": [{ "id": "a", "topic": "no.topic" }] }), "tools[0].topic"),
        (json!({ "tools": [{ "id": "no.topic" }] }), "tools[0].topic"),
        (json!({ "tools": [{ "id": "a", "topic": "x".repeat(128) }] }), "tools[0].topic"),
        (json!({ "tools": [{ "id": "a", "queue": "q" }] }), "tools[0].queue"),
    ] {
        assert_eq!(open(changes.clone()).unwrap_or_default(), [field], "{changes}");
    }
}

#[tokio::test]
async fn a_beginning_that_rocketmq_does_not_know_is_refused_and_not_ignored() {
    let proxy = proxy(None, Sending::Says(OK), Arc::default()).await;
    let service = open(&proxy, &json!({}));
    let wanted = Subscription { from: Start::Earliest, ..Subscription::new("created", "group") };
    let listened = service
        .triggers()
        .unwrap()
        .listen(&context(Duration::from_secs(20)), wanted, Recorder::taking())
        .await;
    let error = listened.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
    assert!(error.message().contains("'from'"), "{error}");
}
