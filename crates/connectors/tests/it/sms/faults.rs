//! Gateways that break.

use super::support::{VENDORS, call, cx, open, open_in, settings, somebody};
use crate::mq::support::Home;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use testkit::conformance;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tool::ErrorKind;

/// A server that answers every request with the same bytes, or not at all. It counts requests.
async fn scripted(answer: Option<&'static str>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let counted = counted.clone();
            tokio::spawn(async move {
                let mut buffer = vec![0; 65536];
                while client.read(&mut buffer).await.is_ok_and(|read| read > 0) {
                    counted.fetch_add(1, Ordering::SeqCst);
                    match answer {
                        Some(answer) => {
                            let _ = client.write_all(answer.as_bytes()).await;
                            let _ = client.shutdown().await;
                            return;
                        }
                        None => std::future::pending().await,
                    }
                }
            });
        }
    });
    (address, requests)
}

fn at(endpoint: &str, vendor: &str) -> Value {
    let mut settings = settings(vendor);
    settings["endpoint"] = json!(endpoint);
    settings
}

fn message() -> Value {
    json!({ "to": somebody(), "params": ["1", "5"] })
}

fn answering(status: &str, body: &str) -> &'static str {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nContent-Type: application/json\r\n\r\n{body}")
        .leak()
}

/// An answer that does not say whether a message was sent is no refusal, and its key is used up.
#[tokio::test]
async fn an_answer_that_is_not_clear_leaves_doubt() {
    let home = Home::new().await;
    let unclear = r#"{"Code":"InternalError","Message":"The request processing has failed due to some unknown error."}"#;
    let late = r#"{"Response":{"Error":{"Code":"InternalError.Timeout","Message":"late"},"RequestId":"r"}}"#;
    for (vendor, answer) in [
        ("aliyun", answering("500 Internal Server Error", unclear)),
        ("aliyun", answering("503 Service Unavailable", r#"{"Code":"Strange","Message":"x"}"#)),
        ("aliyun", answering("200 OK", "{}")),
        ("aliyun", answering("200 OK", "[]")),
        ("aliyun", answering("200 OK", "null")),
        ("tencent", answering("200 OK", late)),
        ("twilio", answering("500 Internal Server Error", r#"{"code":20500,"message":"x"}"#)),
        ("twilio", answering("201 Created", "{}")),
        ("huawei", answering("200 OK", r#"{"code":"000000","description":"Success","result":[]}"#)),
    ] {
        let (endpoint, requests) = scripted(Some(answer)).await;
        let service = open_in(&at(&endpoint, vendor), &home.env);
        let mut arguments = message();
        arguments["idempotencyKey"] = json!(tool::new_id::<String>());
        for _ in 0..2 {
            let (result, is_error, _) = call(&service, "verification_code", arguments.clone()).await.unwrap();
            assert!(
                is_error && result["recipients"][0]["status"] == "unknown",
                "{vendor} {answer}: {result}"
            );
            assert_eq!(result["recipients"][0]["to"], arguments["to"]);
        }
        assert_eq!(requests.load(Ordering::SeqCst), 1, "{vendor} {answer}");
    }
}

/// Somebody between who lets nothing through has sent nothing, so that the key can be used again.
#[tokio::test]
async fn a_request_that_was_not_let_through_can_be_made_again() {
    let home = Home::new().await;
    for status in ["429 Too Many Requests", "401 Unauthorized", "403 Forbidden"] {
        let (endpoint, requests) = scripted(Some(answering(status, "<html>no</html>"))).await;
        let mut settings = at(&endpoint, "aliyun");
        settings["retry"] = json!({ "max_attempts": 1 });
        let service = open_in(&settings, &home.env);
        let mut arguments = message();
        arguments["idempotencyKey"] = json!(tool::new_id::<String>());
        for made in 1..=2 {
            let error = call(&service, "verification_code", arguments.clone()).await.unwrap_err();
            assert!(!error.message().contains("may have been"), "{error}");
            assert_eq!(requests.load(Ordering::SeqCst), made, "{status}");
        }
    }
}

/// 429 means the same in whatever words.
#[tokio::test]
async fn too_many_requests_are_told_in_any_words() {
    let home = Home::new().await;
    for vendor in VENDORS {
        let answer = answering("429 Too Many Requests\r\nRetry-After: 7", r#"{"message":"slow"}"#);
        let (endpoint, requests) = scripted(Some(answer)).await;
        let mut settings = at(&endpoint, vendor);
        settings["retry"] = json!({ "max_attempts": 1 });
        let service = open_in(&settings, &home.env);
        let mut arguments = message();
        arguments["idempotencyKey"] = json!(tool::new_id::<String>());
        for made in 1..=2 {
            let error = call(&service, "verification_code", arguments.clone()).await.unwrap_err();
            assert!(error.is_retryable(), "{vendor}: {error}");
            assert_eq!(error.retry_after(), Some(Duration::from_secs(7)), "{vendor}: {error}");
            assert_eq!(requests.load(Ordering::SeqCst), made, "{vendor}");
        }
    }
}

/// SM-7: whatever a vendor quotes of a message, callers and records get none of it.
#[tokio::test]
async fn the_vendors_words_show_neither_numbers_nor_values() {
    let to = somebody();
    let said = format!("{to}, +86{to} and 86-{to}: code secret-482913 is not 'secret-4829'");
    for (vendor, status, body) in [
        ("aliyun", "200 OK", json!({ "Code": "isv.MOBILE_NUMBER_ILLEGAL", "Message": said })),
        (
            "tencent",
            "200 OK",
            json!({ "Response": { "Error": { "Code": "FailedOperation.x", "Message": said } } }),
        ),
        (
            "tencent",
            "200 OK",
            json!({ "Response": { "SendStatusSet": [{ "PhoneNumber": format!("+86{to}"), "Code": "x", "Message": said }] } }),
        ),
        ("huawei", "200 OK", json!({ "code": "E000510", "description": said })),
        ("twilio", "400 Bad Request", json!({ "code": 21211, "message": said })),
    ] {
        let (endpoint, _) = scripted(Some(answering(status, &body.to_string()))).await;
        let arguments = json!({ "to": to, "params": ["secret-482913", "5"] });
        let sent = call(&open(&at(&endpoint, vendor)), "verification_code", arguments).await;
        let (result, is_error, failure) = sent.unwrap();
        let words = result["recipients"][0]["message"].as_str().unwrap();
        assert!(is_error && words.contains(&to[7..]), "{vendor}: {result}");
        assert!(!words.contains(&to) && !words.contains("secret"), "{vendor}: {words}");
        assert!(!failure.contains(&to) && !failure.contains("secret"), "{vendor}: {failure}");
    }
}

/// F23: 200 with an error code.
#[tokio::test]
async fn an_error_code_with_status_200_has_failed() {
    let body = r#"{"Code":"isv.AMOUNT_NOT_ENOUGH","Message":"no money"}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nContent-Type: application/json\r\n\r\n{body}",
        body.len()
    );
    let (endpoint, _) = scripted(Some(answer.leak())).await;
    let (result, is_error, failure) =
        call(&open(&at(&endpoint, "aliyun")), "verification_code", message()).await.unwrap();
    assert!(is_error && result["status"] == "failed", "{result}");
    assert_eq!(result["recipients"][0]["code"], "isv.AMOUNT_NOT_ENOUGH");
    assert!(failure.contains("isv.AMOUNT_NOT_ENOUGH"), "{failure}");
}

/// F23: HTML with status 502.
#[tokio::test]
async fn an_answer_of_somebody_between_is_unavailable_and_not_repeated() {
    for vendor in VENDORS {
        let answer = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 15\r\nContent-Type: text/html\r\n\r\n<h1>Sorry.</h1>";
        let (endpoint, requests) = scripted(Some(answer)).await;
        let error = call(&open(&at(&endpoint, vendor)), "verification_code", message()).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Unavailable && !error.is_retryable(), "{vendor}: {error:?}");
        assert!(error.message().contains("may have been sent"), "{error}");
        assert_eq!(requests.load(Ordering::SeqCst), 1, "{vendor}");
    }
}

/// F23: the gateway hangs after the request.
#[tokio::test]
async fn a_gateway_that_hangs_is_a_time_out_that_says_what_may_have_happened() {
    for vendor in VENDORS {
        let (endpoint, requests) = scripted(None).await;
        let mut settings = at(&endpoint, vendor);
        settings["timeout_ms"] = json!(500);
        let error = call(&open(&settings), "verification_code", message()).await.unwrap_err();
        assert!(
            error.kind() == ErrorKind::Timeout && error.message().contains("may have been sent"),
            "{vendor}: {error:?}"
        );
        assert_eq!(requests.load(Ordering::SeqCst), 1, "{vendor}");
    }
}

/// F23: the connection breaks after the request.
#[tokio::test]
async fn a_connection_that_breaks_after_the_request_is_not_repeated() {
    let (endpoint, requests) = scripted(Some("")).await;
    let error = call(&open(&at(&endpoint, "tencent")), "verification_code", message()).await.unwrap_err();
    assert!(
        error.kind() == ErrorKind::Unavailable && error.message().contains("may have been sent"),
        "{error:?}"
    );
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}

/// F26
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_wait_their_turn_until_their_deadline() {
    let (endpoint, _) = scripted(None).await;
    let mut settings = at(&endpoint, "aliyun");
    settings["max_concurrent_calls"] = json!(2);
    let service = open(&settings);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let service = service.clone();
        calls.spawn(async move {
            let arguments = message().as_object().cloned().unwrap();
            let cx = conformance::context(Duration::from_millis(500));
            conformance::bind_and_call(&*service, &cx, conformance::call("verification_code", arguments))
                .await
        });
    }
    let ended = calls.join_all().await;
    assert!(ended.iter().all(|ended| ended.as_ref().is_err_and(|error| error.kind() == ErrorKind::Timeout)));
}

/// F27
#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_refused() {
    for vendor in VENDORS {
        let mut settings = at("https://localhost:1", vendor);
        settings["allow_private_network"] = json!(false);
        let service = open(&settings);
        for error in [
            call(&service, "verification_code", message()).await.unwrap_err(),
            service.health(&cx()).await.unwrap_err(),
        ] {
            assert!(
                error.kind() == ErrorKind::Denied && error.message().contains("allow_private_network"),
                "{vendor}: {error:?}"
            );
        }
    }
}
