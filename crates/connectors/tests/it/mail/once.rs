//! Mail that is sent once.

use super::meddler::{Meddler, Meddling};
use super::support::{arrival, arrived, call, mail, merge, open_in, plain, secure, somebody, variable};
use crate::mq::support::Home;
use serde_json::json;
use tool::ErrorKind;

/// ML-10
#[tokio::test]
async fn sends_once_for_one_key() {
    let home = Home::new().await;
    let service = open_in(&plain(&variable("MCP_TEST_EXIM_URL")), &home.env);
    let to = somebody("once");
    let mut arguments = mail(to.as_str());
    merge(&mut arguments, &json!({ "idempotencyKey": "order-1" }));
    let (first, _) = call(&service, "send", arguments.clone()).await.unwrap();
    let (second, _) = call(&service, "send", arguments.clone()).await.unwrap();
    assert_eq!(second["duplicate"], true);
    assert_eq!(first["messageId"], second["messageId"]);
    arrival(&to).await;
    // Another replica, and another address under the same key: the first one's answer would drop that mail without a word,
    // and tell whom the first one went to.
    let replica = open_in(&plain(&variable("MCP_TEST_EXIM_URL")), &home.env);
    let other = somebody("other");
    arguments["to"] = json!(other);
    let error = call(&replica, "send", arguments).await.unwrap_err();
    assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("idempotencyKey")));
    assert!(!error.message().contains(&to), "{error}");
    assert_eq!((arrived(&to).len(), arrived(&other).len()), (1, 0));
}

/// ML-10
#[tokio::test]
async fn a_key_whose_mail_nobody_took_can_be_used_again() {
    let home = Home::new().await;
    let service = open_in(&plain(&variable("MCP_TEST_EXIM_URL")), &home.env);
    let mut arguments = mail(somebody("deferred"));
    merge(&mut arguments, &json!({ "idempotencyKey": "order-2" }));
    let (result, is_error) = call(&service, "send", arguments.clone()).await.unwrap();
    assert!(is_error && result["recipients"][0]["status"] == "deferred", "{result}");
    let to = somebody("later");
    arguments["to"] = json!(to);
    let (result, _) = call(&service, "send", arguments).await.unwrap();
    assert!(result["status"] == "sent" && result["duplicate"].is_null(), "{result}");
}

/// ML-10: what surely did not leave may be asked for again.
#[tokio::test]
async fn a_key_whose_mail_did_not_leave_can_be_used_again() {
    let home = Home::new().await;
    let mut settings = secure();
    merge(&mut settings, &json!({ "password": "wrong" }));
    let locked_out = open_in(&settings, &home.env);
    let to = somebody("again");
    let mut arguments = mail(to.as_str());
    merge(&mut arguments, &json!({ "idempotencyKey": "order-4" }));
    for _ in 0..2 {
        let error = call(&locked_out, "send", arguments.clone()).await.unwrap_err();
        assert!(!error.message().contains("may have been"), "{error}");
    }
    let mut attached = arguments.clone();
    attached["attachments"] = json!([{ "name": "a.txt", "contentUrl": "http://127.0.0.1:1/gone" }]);
    call(&locked_out, "send", attached).await.unwrap_err();
    let (result, _) = call(&open_in(&secure(), &home.env), "send", arguments).await.unwrap();
    assert!(result["status"] == "sent" && result["duplicate"].is_null(), "{result}");
    arrival(&to).await;
}

/// ML-10: F20, with a key.
#[tokio::test]
async fn what_may_have_been_taken_is_kept_as_that() {
    let home = Home::new().await;
    let meddler = Meddler::start(&variable("MCP_TEST_EXIM_URL"), Meddling::LoseLastAnswer).await;
    let service = open_in(&plain(&meddler.address()), &home.env);
    let to = somebody("doubt");
    let mut arguments = mail(to.as_str());
    merge(&mut arguments, &json!({ "idempotencyKey": "order-3" }));
    let (first, _) = call(&service, "send", arguments.clone()).await.unwrap();
    assert_eq!(first["recipients"][0]["status"], "unknown", "{first}");
    let (second, _) = call(&service, "send", arguments).await.unwrap();
    assert_eq!((&second["duplicate"], &second["recipients"][0]["status"]), (&json!(true), &json!("unknown")));
    arrival(&to).await;
    assert_eq!((arrived(&to).len(), meddler.connections()), (1, 1));
}

/// ML-10
#[tokio::test]
async fn a_key_needs_somebody_who_remembers_it() {
    let service = open_in(&plain(&variable("MCP_TEST_EXIM_URL")), &tool::Env::default());
    let mut arguments = mail(somebody("nobody"));
    merge(&mut arguments, &json!({ "idempotencyKey": "k" }));
    let error = call(&service, "send", arguments).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}
