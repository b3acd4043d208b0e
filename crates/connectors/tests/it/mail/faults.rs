//! Mail servers that break, and people between us and them.

use super::meddler::{Meddler, Meddling};
use super::support::{
    arrival, arrived, call, call_in, mail, merge, open, plain, secure, somebody, split, variable,
};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::conformance::context;
use testkit::eventually;
use tokio::task::JoinSet;
use tool::ErrorKind;

async fn meddled(meddling: Meddling) -> Meddler {
    Meddler::start(&variable("MCP_TEST_EXIM_URL"), meddling).await
}

/// ML-10: F20.
#[tokio::test]
async fn an_answer_that_is_lost_after_the_final_dot_is_unknown_and_nothing_is_repeated() {
    let meddler = meddled(Meddling::LoseLastAnswer).await;
    let service = open(&plain(&meddler.address()));
    let to = somebody("lost");
    let (result, is_error) = call(&service, "send", mail(to.as_str())).await.unwrap();
    assert!(is_error);
    assert_eq!(result["recipients"][0]["status"], "unknown", "{result}");
    assert!(result["recipients"][0]["message"].as_str().unwrap().contains("may have been sent"), "{result}");
    arrival(&to).await;
    assert_eq!((arrived(&to).len(), meddler.connections()), (1, 1));
}

/// ML-10: F20, where the answer does not come at all.
#[tokio::test]
async fn nobody_knows_of_a_mail_whose_server_hangs_at_the_end() {
    let meddler = meddled(Meddling::HoldLastAnswer).await;
    let service = open(&plain(&meddler.address()));
    let (alone, to) = (somebody("hang"), [somebody("hang"), somebody("hang")]);
    let cx = context(Duration::from_secs(5));
    let (result, is_error) = call_in(&service, &cx, "send", mail(alone.as_str())).await.unwrap();
    let told = &result["recipients"][0];
    assert!(is_error && told["status"] == "unknown" && told["to"] == alone.as_str(), "{result}");
    assert!(result["messageId"].is_string() && told["messageId"] == result["messageId"], "{result}");
    let cx = context(Duration::from_secs(5));
    let (result, _) = call_in(&service, &cx, "send", mail(json!(to))).await.unwrap();
    assert!(
        result["recipients"].as_array().unwrap().iter().all(|told| told["status"] == "unknown"),
        "{result}"
    );
    eventually("all connections are closed", Duration::from_secs(5), async || meddler.open() == 0).await;
}

/// F21
#[tokio::test]
async fn a_connection_that_has_rested_for_too_long_is_replaced_and_the_mail_sent_once() {
    let meddler = meddled(Meddling::SayGoodbye).await;
    let service = open(&plain(&meddler.address()));
    let people = [somebody("rest"), somebody("rest")];
    for person in &people {
        let (result, _) = call(&service, "send", mail(person.as_str())).await.unwrap();
        assert_eq!(result["status"], "sent", "{result}");
    }
    for person in &people {
        arrival(person).await;
        assert_eq!(arrived(person).len(), 1);
    }
    assert_eq!(meddler.connections(), 2);
}

/// F21, by the server itself: it ends connections that rest for five seconds.
#[tokio::test]
async fn a_connection_that_the_server_has_closed_is_replaced() {
    let meddler = meddled(Meddling::Nothing).await;
    let service = open(&plain(&meddler.address()));
    call(&service, "send", mail(somebody("rest"))).await.unwrap();
    eventually("the server hangs up", Duration::from_secs(20), async || meddler.open() == 0).await;
    let to = somebody("rest");
    let (result, _) = call(&service, "send", mail(to.as_str())).await.unwrap();
    assert_eq!(result["status"], "sent", "{result}");
    arrival(&to).await;
    assert_eq!((arrived(&to).len(), meddler.connections()), (1, 2));
}

/// A server that does not want what a message says is still in the midst of it.
#[tokio::test]
async fn the_message_behind_one_that_was_not_wanted_goes_out_on_the_same_connection() {
    let meddler = meddled(Meddling::RefuseData).await;
    let service = open(&plain(&meddler.address()));
    let (result, is_error) = call(&service, "send", mail(somebody("unwanted"))).await.unwrap();
    assert!(is_error && result["recipients"][0]["status"] == "deferred", "{result}");
    let to = somebody("behind");
    let (result, _) = call(&service, "send", mail(to.as_str())).await.unwrap();
    assert_eq!(result["status"], "sent", "{result}");
    arrival(&to).await;
    assert_eq!(meddler.connections(), 1);
}

/// ML-9: F22.
#[tokio::test]
async fn without_the_encryption_that_is_configured_neither_password_nor_mail_leave() {
    for meddling in [Meddling::TakeOutStarttls, Meddling::SpeakBeforeEncryption] {
        let meddler = meddled(meddling).await;
        let (host, port) = split(&meddler.address());
        let mut settings = secure();
        merge(&mut settings, &json!({ "smtp_host": host, "smtp_port": port }));
        let service = open(&settings);
        let error = call(&service, "send", mail(somebody("stripped"))).await.unwrap_err();
        assert!(
            error.kind() == ErrorKind::Unavailable && error.message().contains("nothing was sent"),
            "{error}"
        );
        let said = meddler.said();
        assert!(!said.contains("AUTH") && !said.contains("MAIL") && said.contains("EHLO"), "{said}");
    }
}

/// ML-9
#[tokio::test]
async fn a_server_that_nobody_vouches_for_gets_nothing() {
    let mut settings = secure();
    let stranger = testkit::certificates::Authority::new().pem();
    merge(&mut settings, &json!({ "tls": { "ca": stranger } }));
    let error = call(&open(&settings), "send", mail(somebody("stranger"))).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.message().contains("'tls.ca'"), "{error}");
}

/// F26
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_callers_share_a_few_connections() {
    let meddler = meddled(Meddling::Nothing).await;
    let mut settings = plain(&meddler.address());
    merge(&mut settings, &json!({ "pool_size": 10, "timeout_ms": 120_000 }));
    let service = open(&settings);
    let mut calls = JoinSet::new();
    for _ in 0..500 {
        let service = service.clone();
        calls.spawn(async move {
            let cx = context(Duration::from_secs(120));
            call_in(&service, &cx, "send", mail(somebody("crowd")))
                .await
                .map(|(result, _)| result["status"] == "sent")
        });
    }
    let ended = calls.join_all().await;
    assert!(
        ended.iter().all(|ended| matches!(ended, Ok(true))),
        "{:?}",
        ended.iter().find(|ended| ended.is_err())
    );
    assert!(
        meddler.open() <= 10 && meddler.connections() <= 20,
        "{} of {}",
        meddler.open(),
        meddler.connections()
    );
}

/// F26: a server that does nothing lets callers go at their deadline, and others are not concerned.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_of_a_server_that_hangs_end_at_their_deadline() {
    let meddler = meddled(Meddling::HoldLastAnswer).await;
    let mut settings = plain(&meddler.address());
    merge(&mut settings, &json!({ "pool_size": 2 }));
    let (slow, other) = (open(&settings), open(&plain(&variable("MCP_TEST_EXIM_URL"))));
    let mut calls = JoinSet::new();
    let mut begin = |time: Duration| {
        let slow = slow.clone();
        calls.spawn(async move {
            let begun = Instant::now();
            let ended = call_in(&slow, &context(time), "send", mail(somebody("stuck"))).await;
            (ended, begun.elapsed())
        });
    };
    (0..2).for_each(|_| begin(Duration::from_secs(8)));
    eventually("all connections are in use", Duration::from_secs(8), async || meddler.connections() == 2)
        .await;
    (0..18).for_each(|_| begin(Duration::from_secs(1)));
    let (result, _) = call(&other, "send", mail(somebody("free"))).await.unwrap();
    assert_eq!(result["status"], "sent");
    let ended = calls.join_all().await;
    let errors = || ended.iter().filter_map(|(ended, took)| Some((ended.as_ref().err()?, took)));
    assert!(errors().all(|(error, _)| error.kind() == ErrorKind::Timeout), "{ended:?}");
    let told = errors().filter(|(error, _)| error.message().contains("pool_size"));
    assert_eq!(
        told.filter(|(_, took)| **took < Duration::from_secs(4)).count(),
        18,
        "those in the queue are told so"
    );
}

/// F27: every connection is checked after its name was resolved.
#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_refused() {
    for host in ["localhost", "127.0.0.1"] {
        let mut settings = plain(&variable("MCP_TEST_EXIM_URL"));
        merge(&mut settings, &json!({ "smtp_host": host, "allow_private_network": false }));
        let service = open(&settings);
        for error in [
            call(&service, "send", mail(somebody("guard"))).await.unwrap_err(),
            service.health(&super::support::cx()).await.unwrap_err(),
        ] {
            assert!(
                error.kind() == ErrorKind::Denied && error.message().contains("allow_private_network"),
                "{error}"
            );
        }
    }
}

/// F28
#[tokio::test]
async fn calls_under_way_end_on_old_settings_and_leave_no_connection_behind() {
    let meddler = meddled(Meddling::Nothing).await;
    let service = open(&plain(&meddler.address()));
    let to = somebody("old");
    let work = {
        let (service, to) = (service.clone(), to.clone());
        tokio::spawn(async move { call(&service, "send", mail(to.as_str())).await.unwrap().0 })
    };
    eventually("it is under way", Duration::from_secs(10), async || meddler.connections() > 0).await;
    assert!(Arc::strong_count(&service) >= 1);
    drop(service);
    assert_eq!(work.await.unwrap()["status"], "sent");
    arrival(&to).await;
    eventually("all connections are closed", Duration::from_secs(5), async || meddler.open() == 0).await;
}
