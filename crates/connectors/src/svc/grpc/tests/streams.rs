//! Server streams: whole, cut by a limit, broken, and told while they come.

use super::calls::{open, run, run_in};
use super::server::Server;
use h2::Reason;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::conformance::context;
use tool::{ErrorKind, Event, Events};

/// Sends as many events as the request's `count` says, then ends in the way that `pause_ms` says.
async fn server() -> Server {
    Server::start(|mut exchange| async move {
        let request = exchange.message().await.unwrap();
        let field =
            |tag: u8| request.chunks(2).find(|field| field[0] == tag << 3).map_or(0, |field| field[1]);
        let (count, way) = (field(1), field(2));
        let mut answering = exchange.begin();
        for number in 1..=count {
            answering.send(&[0x08, number]);
        }
        match way {
            0 => answering.end(&[("grpc-status", "0")]),
            1 => {
                // All that was sent is on its way before the reset.
                tokio::time::sleep(Duration::from_millis(100)).await;
                answering.reset(Reason::INTERNAL_ERROR);
            }
            2 => answering.end(&[("grpc-status", "14"), ("grpc-message", "restarting")]),
            3 => drop(answering.cancelled().await),
            4 => answering.close(),
            _ => answering.end(&[("grpc-status", "4")]),
        }
    })
    .await
}

fn numbers(answer: &Value) -> Vec<&str> {
    answer["messages"].as_array().unwrap().iter().map(|message| message["number"].as_str().unwrap()).collect()
}

/// Requirement SV-7: messages, `complete`, and progress meanwhile.
#[tokio::test]
async fn answers_with_all_messages_and_tells_them_meanwhile() {
    let server = server().await;
    let service = open(&[&server], &json!({}));
    let (events, mut heard) = Events::channel(16);
    let mut cx = context(Duration::from_secs(20));
    cx.events = events;
    let answer = run_in(&cx, &service, "customers_watch", &json!({ "count": 3 })).await.unwrap();
    assert_eq!((numbers(&answer), &answer["complete"]), (vec!["1", "2", "3"], &json!(true)));
    for number in 1..=3 {
        let Some(Event::Progress { progress, message, .. }) = heard.take() else { panic!("no progress") };
        assert_eq!((progress, message), (f64::from(number), Some(format!("{{\"number\":\"{number}\"}}"))));
    }
    let empty = run(&service, "customers_watch", &json!({})).await.unwrap();
    assert_eq!(empty, json!({ "messages": [], "complete": true }));
}

/// Requirement SV-7: a limit cuts a stream without an error, and ends it at the server.
#[tokio::test]
async fn a_limit_cuts_a_stream_without_an_error() {
    let server = server().await;
    let service = open(&[&server], &json!({ "max_messages": 2 }));
    let answer = run(&service, "customers_watch", &json!({ "count": 5, "pauseMs": 3 })).await.unwrap();
    assert_eq!((numbers(&answer), &answer["complete"]), (vec!["1", "2"], &json!(false)));
    let service = open(&[&server], &json!({ "timeout_ms": 1_500 }));
    for (count, way) in [(4, 3), (0, 3)] {
        let begun = Instant::now();
        let answer =
            run(&service, "customers_watch", &json!({ "count": count, "pauseMs": way })).await.unwrap();
        assert_eq!((numbers(&answer).len(), &answer["complete"]), (count, &json!(false)), "{way}");
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}

/// Fault F5: a stream that breaks is an error that says how much came, and is not repeated.
#[tokio::test]
async fn a_broken_stream_says_how_many_messages_came() {
    let server = server().await;
    let service =
        open(&[&server], &json!({ "circuit_breaker": { "failures": 0 }, "outlier": { "failures": 100 } }));
    for (way, words, code) in [
        (5, "broke after 3 messages: the service answered DEADLINE_EXCEEDED", Some("DEADLINE_EXCEEDED")),
        (1, "broke after 3 messages: the service reset the call", None),
        (2, "broke after 3 messages: the service answered UNAVAILABLE: restarting", Some("UNAVAILABLE")),
        (4, "broke after 3 messages: the service ended the call without a status", None),
    ] {
        let before = server.seen().len();
        let error =
            run(&service, "customers_watch", &json!({ "count": 3, "pauseMs": way })).await.unwrap_err();
        assert_eq!((error.kind(), error.service_code()), (ErrorKind::Upstream, code), "{error:?}");
        assert!(error.message().contains(words), "{error}");
        assert!(!error.is_retryable());
        assert_eq!(server.seen().len(), before + 1);
    }
}

/// Requirement SV-7: as many messages as are wanted are all there are, or not, whenever the end comes.
#[tokio::test]
async fn says_whether_the_last_message_was_the_last() {
    let server = Server::start(|mut exchange| async move {
        let request = exchange.message().await.unwrap();
        let mut answering = exchange.begin();
        for number in 1..=request[1] {
            answering.send(&[0x08, number]);
        }
        // The end comes when the messages have been read for long.
        tokio::time::sleep(Duration::from_millis(150)).await;
        answering.end(&[("grpc-status", "0")]);
    })
    .await;
    let service = open(&[&server], &json!({ "max_messages": 3 }));
    for (count, is_complete) in [(2, true), (3, true), (4, false)] {
        let answer = run(&service, "customers_watch", &json!({ "count": count })).await.unwrap();
        assert_eq!((numbers(&answer).len(), &answer["complete"]), (count.min(3), &json!(is_complete)));
    }
}

/// Requirement SV-7: what the size of an answer cuts is not complete; nobody else has to cut it then.
#[tokio::test]
async fn size_cuts_a_stream_before_anybody_else_does() {
    let server = server().await;
    let tool = json!({ "id": "w", "rpc": "loyalty.v1.Customers/Watch", "max_result_bytes": 1_000 });
    let service = open(&[&server], &json!({ "tools": [tool] }));
    let answer = run(&service, "w", &json!({ "count": 100 })).await.unwrap();
    assert_eq!(answer["complete"], false);
    let text = answer.to_string();
    assert!(text.len() + serde_json::to_string(&text).unwrap().len() < 1_000 && numbers(&answer).len() > 5);
}

/// Fault F3, for streams: an instance that says nothing, or one word and then nothing, is left alone.
#[tokio::test]
async fn an_instance_whose_streams_hang_is_left_alone() {
    for first_word in [false, true] {
        let hanging = Server::start(move |mut exchange| async move {
            let mut answering = exchange.begin();
            if first_word {
                answering.send(&[0x08, 1]);
            }
            answering.cancelled().await;
        })
        .await;
        let good = server().await;
        let more = json!({ "timeout_ms": 300, "outlier": { "failures": 2, "eject_ms": 60_000 } });
        let service = open(&[&hanging, &good], &more);
        for _ in 0..8 {
            run(&service, "customers_watch", &json!({ "count": 2 })).await.unwrap();
        }
        assert_eq!(hanging.seen().len(), 2, "{first_word}");
    }
}
