//! Calls of one message, to servers that answer rightly, wrongly, late or not at all.

use super::server::{Exchange, Server};
use super::{EVERYTHING, LOYALTY};
use crate::svc::Settings;
use base64::Engine;
use h2::Reason;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use testkit::conformance::{bind_and_call, call, context};
use testkit::eventually;
use tool::{Connector, Context, Env, Error, ErrorKind, Kind, Outcome, Output};

/// A service over some instances, with more settings.
pub(super) fn open(servers: &[&Server], more: &Value) -> Arc<dyn Connector> {
    let endpoints: Vec<_> = servers.iter().map(|server| server.address.to_string()).collect();
    let mut settings = json!({
        "protocol": "grpc", "discovery": { "type": "static", "endpoints": endpoints }, "allow_private_network": true,
        "schema": { "protos": { "everything.proto": EVERYTHING, "loyalty.proto": LOYALTY } },
        "retry": { "initial_delay_ms": 1, "max_delay_ms": 5 }, "emit_defaults": false
    });
    for (key, value) in more.as_object().unwrap() {
        settings[key] = value.clone();
    }
    Kind::of::<Settings>().open(settings, &Env::default()).unwrap()
}

pub(super) async fn run_in(
    cx: &Context,
    service: &Arc<dyn Connector>,
    tool: &str,
    arguments: &Value,
) -> Result<Value, Error> {
    let arguments: Map<_, _> = arguments.as_object().unwrap().clone();
    match bind_and_call(&**service, cx, call(tool, arguments)).await? {
        Outcome::Done(output) => Ok(data(&output)),
        other => panic!("{other:?}"),
    }
}

fn data(output: &Output) -> Value {
    serde_json::from_str(&output.data().unwrap()).unwrap()
}

pub(super) async fn run(service: &Arc<dyn Connector>, tool: &str, arguments: &Value) -> Result<Value, Error> {
    run_in(&context(Duration::from_secs(20)), service, tool, arguments).await
}

pub(super) async fn wait_for(is_so: impl Fn() -> bool) {
    eventually("what the test waits for", Duration::from_secs(10), async || is_so()).await;
}

/// Gives back what it gets.
pub(super) async fn echo(mut exchange: Exchange) {
    let message = exchange.message().await.unwrap();
    exchange.answer(&message);
}

/// Requirement SV-1.
#[tokio::test]
async fn calls_a_method_and_tells_its_answer() {
    let server = Server::start(echo).await;
    let service = open(&[&server], &json!({ "metadata": { "x-team": "crm", "trace-bin": "AQI" } }));
    let value = json!({ "anInt64": "5", "child": { "tier": "TIER_GOLD" } });
    assert_eq!(run(&service, "customers_echo", &value).await.unwrap(), value);
    assert_eq!(
        run(&service, "customers_upper", &json!({ "value": "x" })).await.unwrap(),
        json!({ "value": "x" })
    );
    assert_eq!(server.opened.load(Ordering::SeqCst), 1, "calls share a connection");
    let headers = &server.seen()[0];
    for (name, value) in
        [("content-type", "application/grpc"), ("te", "trailers"), ("x-team", "crm"), ("trace-bin", "AQI")]
    {
        assert_eq!(headers[name], value);
    }
    let error = run(&service, "customers_nope", &json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

/// Requirement SV-1: servers that compress all they send are understood, within the same limit; what is compressed in
/// another way is refused by name.
#[tokio::test]
async fn reads_what_is_compressed_with_gzip() {
    let server = Server::start(|mut exchange| async move {
        let message = exchange.message().await.unwrap();
        // Customer {id = 1: the way}
        let way = message.get(1).copied().unwrap_or_default();
        let large = [&message[..], &[0x12, 0x80, 0x80, 0x80, 0x01], &[b'x'; 2 * 1024 * 1024]].concat();
        let plain = if way == 2 { &large } else { &message[..] };
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut gzip, plain).unwrap();
        let mut framed = crate::shared::grpc::frame::framed(&gzip.finish().unwrap()).to_vec();
        framed[0] = 1;
        let coding: &[_] = match way {
            3 => &[("grpc-encoding", "br")],
            4 => &[],
            _ => &[("grpc-encoding", "gzip")],
        };
        let mut answering = exchange.begin_with(coding);
        match way {
            5 => answering.raw(vec![1, 0, 0, 0, 2, 7, 7]),
            6 => answering.raw(vec![9, 0, 0, 0, 0]),
            _ => answering.raw(framed),
        }
        answering.end(&[("grpc-status", "0")]);
    })
    .await;
    let service = open(&[&server], &json!({ "max_response_bytes": 1024 * 1024 }));
    let ask = async |way: &str| run(&service, "customers_create", &json!({ "id": way })).await;
    assert_eq!(ask("1").await.unwrap(), json!({ "id": "1" }));
    assert_eq!(server.seen()[0]["grpc-accept-encoding"], "identity,gzip");
    for (way, words) in [
        ("2", "more than the 1048576"),
        ("3", "grpc-encoding"),
        ("4", "no grpc-encoding"),
        ("5", "no gzip"),
        ("6", "no gRPC"),
    ] {
        let error = ask(way).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream, "{way}");
        assert!(error.message().contains(words), "{way}: {error}");
    }
}

/// Requirement SV-1: what each status means.
#[tokio::test]
async fn tells_statuses_apart() {
    let server = Server::start(|mut exchange| async move {
        let message = exchange.message().await.unwrap();
        // FailRequest {code = 1: varint}
        let code = message.get(1).copied().unwrap_or_default().to_string();
        exchange.fail(&[("grpc-status", &code), ("grpc-message", "sorry%3A%20%F0%9F%A6%80")]);
    })
    .await;
    let service =
        open(&[&server], &json!({ "circuit_breaker": { "failures": 0 }, "outlier": { "failures": 100 } }));
    for (code, kind, name, is_retryable) in [
        (1, ErrorKind::Upstream, "CANCELLED", false),
        (3, ErrorKind::Upstream, "INVALID_ARGUMENT", false),
        (4, ErrorKind::Timeout, "DEADLINE_EXCEEDED", false),
        (5, ErrorKind::Missing, "NOT_FOUND", false),
        (8, ErrorKind::Upstream, "RESOURCE_EXHAUSTED", true),
        (12, ErrorKind::Upstream, "UNIMPLEMENTED", false),
        (14, ErrorKind::Unavailable, "UNAVAILABLE", false),
        (16, ErrorKind::Upstream, "UNAUTHENTICATED", false),
        (99, ErrorKind::Upstream, "UNKNOWN", false),
    ] {
        let error = run(&service, "customers_fail", &json!({ "code": code })).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.service_code(), error.is_retryable()),
            (kind, Some(name), is_retryable)
        );
        assert_eq!(error.grpc_status(), Some(name));
        assert!(error.message().contains(&format!("{name}: sorry: 🦀")), "{error}");
    }
}

/// Details of a status are told, within bounds; what is broken in them is no matter.
#[tokio::test]
async fn tells_details_and_when_to_come_back() {
    let server = Server::start(|mut exchange| async move {
        let message = exchange.message().await.unwrap();
        let details = match message.get(1) {
            Some(1) => "%%%not base64%%%".to_owned(),
            _ => base64::engine::general_purpose::STANDARD.encode(rich_status()),
        };
        let long = "x".repeat(5_000);
        exchange.fail(&[
            ("grpc-status", "8"),
            ("grpc-message", &long),
            ("grpc-status-details-bin", &details),
        ]);
    })
    .await;
    let service = open(&[&server], &json!({}));
    let error = run(&service, "customers_fail", &json!({ "code": 2 })).await.unwrap_err();
    assert!(error.message().contains("name: too short; QUOTA"), "{error}");
    assert!(error.message().len() < 2_000);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
    let error = run(&service, "customers_fail", &json!({ "code": 1 })).await.unwrap_err();
    assert_eq!((error.service_code(), error.retry_after()), (Some("RESOURCE_EXHAUSTED"), None));
}

/// `google.rpc.Status` with a BadRequest, an ErrorInfo and a RetryInfo.
fn rich_status() -> Vec<u8> {
    let field = |number: u8, content: &[u8]| [&[number << 3 | 2, content.len() as u8], content].concat();
    let any = |name: &str, value: &[u8]| {
        let url = format!("type.googleapis.com/google.rpc.{name}");
        field(3, &[field(1, url.as_bytes()), field(2, value)].concat())
    };
    let violation = field(1, &[field(1, b"name"), field(2, b"too short")].concat());
    [
        any("BadRequest", &violation),
        any("ErrorInfo", &field(1, b"QUOTA")),
        any("RetryInfo", &field(1, &[0x08, 7])),
        any("DebugInfo", &field(2, b"a secret stack")),
    ]
    .concat()
}

/// Requirement SV-1: answers that are none are errors, whatever they are.
#[tokio::test]
async fn bears_servers_that_speak_wrongly() {
    let server = Server::start(|mut exchange| async move {
        let message = exchange.message().await.unwrap();
        match message.get(1).copied().unwrap_or_default() {
            1 => exchange.only_headers(404, &[("content-type", "text/html")]),
            2 => exchange.begin().close(),
            3 => {
                let mut answering = exchange.begin();
                answering.raw(&b"<html>no gRPC here</html>"[..]);
                answering.close();
            }
            4 => {
                let mut answering = exchange.begin();
                answering.raw(&b"\x00\xff\xff\xff\xff"[..]);
                answering.cancelled().await;
            }
            5 => exchange.begin().end(&[("grpc-status", "0")]),
            6 => {
                let mut answering = exchange.begin();
                answering.raw(&b"\x00\x00\x00\x00\x09half"[..]);
                answering.end(&[("grpc-status", "0")]);
            }
            7 => {
                let mut answering = exchange.begin();
                answering.send(b"");
                answering.send(b"");
                answering.end(&[("grpc-status", "0")]);
            }
            8 => exchange.begin().end(&[("grpc-status", "none")]),
            9 => exchange.reset(Reason::INTERNAL_ERROR),
            _ => exchange.only_headers(503, &[]),
        }
    })
    .await;
    let service =
        open(&[&server], &json!({ "circuit_breaker": { "failures": 0 }, "outlier": { "failures": 100 } }));
    for (case, words) in [
        (1, "HTTP 404 without a gRPC status"),
        (2, "without a status"),
        (3, "no gRPC at all"),
        (4, "4294967295 bytes, more than"),
        (5, "it is empty"),
        (6, "without a status"),
        (7, "more than one message"),
        (8, "UNKNOWN"),
        (9, "reset the call (INTERNAL_ERROR); it may have happened"),
        (10, "HTTP 503"),
    ] {
        let error = run(&service, "customers_fail", &json!({ "code": case })).await.unwrap_err();
        assert!(error.message().contains(words), "{case}: {error}");
    }
    assert_eq!(server.seen().len(), 10, "none of them is repeated");
}

/// Requirement SV-8: the server is told how much time is left, and the call ends with the caller.
#[tokio::test(flavor = "multi_thread")]
async fn ends_with_its_caller_at_the_server_too() {
    let ended = Arc::new(AtomicUsize::new(0));
    let counter = ended.clone();
    let server = Server::start(move |mut exchange| {
        let counter = counter.clone();
        async move {
            exchange.message().await;
            exchange.cancelled().await;
            counter.fetch_add(1, Ordering::SeqCst);
        }
    })
    .await;
    let service = open(&[&server], &json!({}));
    let cx = context(Duration::from_secs(20));
    let cancel = async {
        wait_for(|| server.seen().len() == 1).await;
        cx.cancel.cancel();
    };
    let none = json!({});
    let (result, ()) = tokio::join!(run_in(&cx, &service, "customers_create", &none), cancel);
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
    wait_for(|| ended.load(Ordering::SeqCst) == 1).await;
    let left = timeout_of(&server, 0);
    assert!((Duration::from_secs(15)..=Duration::from_secs(20)).contains(&left), "{left:?}");
    let begun = Instant::now();
    let error = run_in(&context(Duration::from_millis(200)), &service, "customers_create", &json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(begun.elapsed() < Duration::from_secs(5) && timeout_of(&server, 1) <= Duration::from_millis(200));
    wait_for(|| ended.load(Ordering::SeqCst) == 2).await;
}

fn timeout_of(server: &Server, call: usize) -> Duration {
    let text = server.seen()[call]["grpc-timeout"].to_str().unwrap().to_owned();
    let (number, unit) = text.split_at(text.len() - 1);
    let number = number.parse().unwrap();
    match unit {
        "u" => Duration::from_micros(number),
        "m" => Duration::from_millis(number),
        "S" => Duration::from_secs(number),
        _ => panic!("{text}"),
    }
}

/// Only what is idempotent, or surely did not happen, is asked for again.
#[tokio::test]
async fn repeats_only_what_may_be_repeated() {
    let server = Server::start(|mut exchange| async move {
        exchange.message().await;
        exchange.fail(&[("grpc-status", "14")]);
    })
    .await;
    let service =
        open(&[&server], &json!({ "circuit_breaker": { "failures": 0 }, "outlier": { "failures": 100 } }));
    let error = run(&service, "customers_create", &json!({})).await.unwrap_err();
    assert_eq!(server.seen().len(), 1);
    assert!(!error.is_retryable() && error.message().ends_with("; it may have happened"), "{error:?}");
    let error = run(&service, "customers_list", &json!({})).await.unwrap_err();
    assert_eq!(server.seen().len(), 4, "three attempts at what has no side effects");
    assert!(error.is_retryable() && !error.message().contains("may have happened"), "{error:?}");
    let tools = json!([{ "id": "add", "rpc": "loyalty.v1.Customers/Create", "idempotent": true }]);
    let service = open(&[&server], &json!({ "tools": tools, "circuit_breaker": { "failures": 0 } }));
    run(&service, "add", &json!({})).await.unwrap_err();
    assert_eq!(server.seen().len(), 7, "three attempts at what its tool says is idempotent");
}

/// Requirement SV-13: one more token after UNAUTHENTICATED, and one more only.
#[tokio::test]
async fn signs_in_again_once() {
    let server = Server::start(|mut exchange| async move {
        let message = exchange.message().await.unwrap();
        let token = exchange.headers["authorization"].to_str().unwrap().to_owned();
        match message.is_empty() {
            true => exchange.fail(&[("grpc-status", "16"), ("grpc-message", &token)]),
            false => exchange.answer(&message),
        }
    })
    .await;
    let auth = json!({ "type": "jwt", "algorithm": "HS256", "key": "0123456789abcdef0123456789abcdef" });
    let service = open(&[&server], &json!({ "auth": auth }));
    let error = run(&service, "customers_create", &json!({})).await.unwrap_err();
    assert!(
        error.is_about_credentials() && error.message().contains("check the credentials in 'auth'"),
        "{error}"
    );
    let tokens: Vec<_> = server.seen().iter().map(|headers| headers["authorization"].clone()).collect();
    assert!(tokens.len() == 2 && tokens[0] != tokens[1], "minted anew, and once");
    for token in &tokens {
        let token = token.to_str().unwrap().trim_start_matches("Bearer ");
        assert!(!format!("{error:?}").contains(token), "no token in an error");
    }
    run(&service, "customers_create", &json!({ "id": "1" })).await.unwrap();
    run(&service, "customers_create", &json!({ "id": "2" })).await.unwrap();
    let seen = server.seen();
    assert_eq!(seen[2]["authorization"], seen[3]["authorization"], "a good token is kept");
}
