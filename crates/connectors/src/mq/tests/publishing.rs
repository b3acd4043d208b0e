//! Publishing, looking and taking, on queues of our own.

use super::{Home, call, call_in, call_raw, cx, problems, service, settings};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tool::{Caller, Context, Env, ErrorKind, Step};

/// MQ-1, MQ-11
#[tokio::test]
async fn publishes_shows_and_takes() {
    let home = Home::new().await;
    let orders = service(settings(), &home.env());
    let sent = json!({ "orderId": "O001", "total": 9_007_199_254_740_993_i64, "note": "中\u{0} \"x\"" });
    let arguments = json!({ "message": sent, "key": "O001", "headers": { "Trace": "t1" } });
    let result = call(&orders, "created", arguments).await.unwrap();
    assert!(result["messageId"].as_str().is_some_and(|id| id.len() == 36), "{result}");
    assert_eq!((&result["destination"], &result["position"]), (&json!("created"), &json!("1")));
    assert!(result["availableAt"].as_str().unwrap().ends_with('Z'));
    for _ in 0..2 {
        let shown = call(&orders, "created_peek", json!({})).await.unwrap();
        let message = &shown["messages"][0];
        assert_eq!((&message["message"], &message["messageId"]), (&sent, &result["messageId"]));
        assert_eq!((&message["key"], &message["headers"]), (&json!("O001"), &json!({ "trace": "t1" })));
    }
    let taken = call(&orders, "created_receive", json!({ "max": 5 })).await.unwrap();
    assert_eq!(taken["messages"].as_array().unwrap().len(), 1);
    let begin = Instant::now();
    let taken = call(&orders, "created_receive", json!({ "waitMs": 300 })).await.unwrap();
    assert_eq!(taken, json!({ "messages": [] }));
    assert!(begin.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn receives_what_comes_while_it_waits() {
    let home = Home::new().await;
    let orders = service(settings(), &home.env());
    let replica = service(settings(), &home.replica().await);
    let begin = Instant::now();
    let late = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        call(&replica, "created", json!({ "message": 1 })).await.unwrap();
    };
    let (taken, ()) = tokio::join!(call(&orders, "created_receive", json!({ "waitMs": 20_000 })), late);
    assert_eq!(taken.unwrap()["messages"][0]["message"], json!(1));
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

/// A message is what its publisher wrote, with every digit.
#[tokio::test]
async fn messages_keep_their_digits() {
    let home = Home::new().await;
    let orders = service(settings(), &home.env());
    let exact = r#"{"id":12345678901234567890123,"price":1.10,"d":0.12345678901234567890}"#;
    call_raw(&orders, "created", &format!(r#"{{"\u006dessage": {exact} }}"#)).await;
    for tool in ["created_peek", "created_receive"] {
        let shown = call_raw(&orders, tool, "{}").await;
        assert!(shown.contains(exact), "{tool}: {shown}");
    }
}

/// MQ-2
#[tokio::test]
async fn holds_a_message_back_for_its_delay() {
    let home = Home::new().await;
    let orders = service(settings(), &home.env());
    let begin = Instant::now();
    call(&orders, "created", json!({ "message": {}, "delay": 600 })).await.unwrap();
    assert_eq!(call(&orders, "created_peek", json!({})).await.unwrap(), json!({ "messages": [] }));
    let taken = call(&orders, "created_receive", json!({ "waitMs": 10_000 })).await.unwrap();
    assert_eq!(taken["messages"].as_array().unwrap().len(), 1);
    let waited = begin.elapsed();
    assert!((Duration::from_millis(600)..Duration::from_secs(3)).contains(&waited), "{waited:?}");
    let refused = call(&orders, "created", json!({ "message": {}, "delay": 2_592_000_001_u64 })).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidInput);
}

/// MQ-10
#[tokio::test]
async fn publishes_once_for_one_id() {
    let home = Home::new().await;
    let orders = service(settings(), &home.env());
    let first = call(&orders, "created", json!({ "message": 1, "messageId": "m-1" })).await.unwrap();
    assert_eq!((&first["messageId"], &first["duplicate"]), (&json!("m-1"), &Value::Null));
    for connector in [&orders, &service(settings(), &home.replica().await)] {
        let second = call(connector, "created", json!({ "messageId": "m-1", "message": 1 })).await.unwrap();
        assert_eq!((&second["duplicate"], &second["position"]), (&json!(true), &first["position"]));
        // Another message under the same id would be lost without a word.
        let other =
            call(connector, "created", json!({ "message": 2, "messageId": "m-1" })).await.unwrap_err();
        assert_eq!((other.kind(), other.parameter()), (ErrorKind::InvalidInput, Some("messageId")));
    }
    let nested = cx().nested(Step { idempotency_key: Some("step-1".into()), ..Step::default() });
    for _ in 0..2 {
        call_in(&orders, &nested, "created", json!({ "message": 3 })).await.unwrap();
    }
    let shown = call(&orders, "created_peek", json!({})).await.unwrap();
    let shown: Vec<_> =
        shown["messages"].as_array().unwrap().iter().map(|one| one["message"].clone()).collect();
    assert_eq!(shown, [json!(1), json!(3)]);
}

/// MQ-10: whoever comes with an id while it is published gets what comes of that, in this process and another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_at_once_with_one_id_all_get_its_result() {
    let home = Home::new().await;
    let processes = [service(settings(), &home.env()), service(settings(), &home.replica().await)];
    for round in 0..5 {
        let arguments = json!({ "message": 1, "messageId": format!("m-{round}") });
        let calls = (0..8).map(|number| call(&processes[number % 2], "created", arguments.clone()));
        let results = futures::future::join_all(calls).await;
        let results: Vec<_> = results.into_iter().map(Result::unwrap).collect();
        let first: Vec<_> = results.iter().filter(|result| result["duplicate"] != true).collect();
        assert_eq!(first.len(), 1, "{results:?}");
        assert!(results.iter().all(|result| result["position"] == first[0]["position"]), "{results:?}");
    }
}

/// MQ-10: an id stands for one message of one caller; another one is told no more than that it is taken.
#[tokio::test]
async fn nobody_learns_what_came_of_somebody_elses_id() {
    let home = Home::new().await;
    let orders = service(settings(), &home.env());
    let arguments = json!({ "message": "the first", "messageId": "m-1" });
    call(&orders, "created", arguments.clone()).await.unwrap();
    let somebody_else = Context { caller: Arc::new(Caller::system()), ..cx() };
    for message in ["the first", "the second"] {
        let arguments = json!({ "message": message, "messageId": "m-1" });
        let error = call_in(&orders, &somebody_else, "created", arguments).await.unwrap_err();
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("messageId")));
        assert!(error.message().contains("'m-1'") && !error.message().contains(message), "{error}");
    }
    let shown = call(&orders, "created_peek", json!({})).await.unwrap();
    assert_eq!(shown["messages"].as_array().unwrap().len(), 1);
}

/// MQ-10: only `messageId` names a message, and only it publishes once.
#[tokio::test]
async fn headers_of_ours_are_not_the_callers() {
    let home = Home::new().await;
    let orders = service(settings(), &home.env());
    for name in ["message-id", "Message-Key", "message"] {
        let error = call(&orders, "created", json!({ "message": 1, "headers": { name: "m" } })).await;
        assert_eq!(error.unwrap_err().parameter(), Some("headers"), "{name}");
    }
    let again =
        json!({ "message": 1, "headers": { "X-Attempt": "9", "x-dead-reason": "old", "trace": "t" } });
    call(&orders, "created", again).await.unwrap();
    let shown = call(&orders, "created_peek", json!({})).await.unwrap();
    assert_eq!(shown["messages"][0]["headers"], json!({ "trace": "t" }));
}

/// MQ-10: our own queues end the key with the message, so that a key without an end is one whose message is not there.
#[tokio::test]
async fn a_process_that_was_killed_leaves_no_doubt() {
    let home = Home::new().await;
    let env = home.env();
    let once = env.once.clone().unwrap();
    let orders = service(settings(), &env);
    once.begin(&env.tenant, "mq/orders/created", "id/m-1", "").await.unwrap();
    let arguments = json!({ "message": 1, "messageId": "m-1" });
    let first = call(&orders, "created", arguments.clone()).await.unwrap();
    let second = call(&orders, "created", arguments).await.unwrap();
    assert_eq!((&first["duplicate"], &second["duplicate"]), (&Value::Null, &json!(true)));
    assert_eq!((&first["position"], &first["availableAt"]), (&second["position"], &second["availableAt"]));
    let shown = call(&orders, "created_peek", json!({})).await.unwrap();
    assert_eq!(shown["messages"].as_array().unwrap().len(), 1);
    let without = Env { once: None, ..home.env() };
    let error =
        call(&service(settings(), &without), "created", json!({ "message": 1, "messageId": "m" })).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn takes_messages_of_its_format_and_schema_only() {
    let home = Home::new().await;
    let schema = json!({ "type": "object", "required": ["id"], "properties": { "id": { "$ref": "#/$defs/id" } },
                         "$defs": { "id": { "type": "integer" } } });
    let settings = json!({ "max_message_bytes": 20, "tools": [
        { "id": "typed", "message_schema": schema, "key": "id", "peek": true },
        { "id": "words", "format": "text", "peek": true },
        { "id": "bytes", "format": "base64", "peek": true },
        { "id": "deep", "key": "a.b" },
    ] });
    let service = service(settings, &home.env());
    for (tool, message, is_taken) in [
        ("typed", json!({ "id": 7 }), true),
        ("typed", json!({ "id": "7" }), false),
        ("typed", json!({}), false),
        ("words", json!("hé\nllo"), true),
        ("words", json!({ "a": 1 }), false),
        ("words", json!("x".repeat(21)), false),
        ("bytes", json!("AP/+"), true),
        ("bytes", json!("no base64"), false),
        ("deep", json!({ "a": { "b": [] } }), false),
        ("deep", json!({ "a": 1 }), true),
    ] {
        let result = call(&service, tool, json!({ "message": message })).await;
        assert_eq!(result.is_ok(), is_taken, "{tool} {message}: {result:?}");
        if let Err(error) = result {
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error:?}");
            assert!(error.to_string().contains("message"), "{error}");
        }
    }
    let key = json!({ "message": { "id": 7 }, "key": "mine" });
    assert_eq!(call(&service, "typed", key).await.unwrap_err().kind(), ErrorKind::InvalidInput, "preset");
    for (tool, message, key) in [
        ("typed", json!({ "id": 7 }), json!("7")),
        ("words", json!("hé\nllo"), Value::Null),
        ("bytes", json!("AP/+"), Value::Null),
    ] {
        let shown = call(&service, &format!("{tool}_peek"), json!({})).await.unwrap();
        assert_eq!((&shown["messages"][0]["message"], &shown["messages"][0]["key"]), (&message, &key));
    }
}

#[tokio::test]
async fn refuses_hostile_arguments() {
    let home = Home::new().await;
    let orders = service(settings(), &home.env());
    let many: serde_json::Map<_, _> = (0..51).map(|number| (format!("h{number}"), json!("x"))).collect();
    for (arguments, parameter) in [
        (json!({ "message": 1, "messageId": "x".repeat(129) }), "messageId"),
        (json!({ "message": 1, "messageId": "a\u{0}b" }), "messageId"),
        (json!({ "message": 1, "messageId": "" }), "messageId"),
        (json!({ "message": 1, "key": "a\nb" }), "key"),
        (json!({ "message": 1, "headers": { "a": 1 } }), "headers"),
        (json!({ "message": 1, "headers": { "a\r\nb": "x" } }), "headers"),
        (json!({ "message": 1, "headers": { "a": "x\r\ny" } }), "headers"),
        (json!({ "message": 1, "headers": { "a": "x".repeat(1001) } }), "headers"),
        (json!({ "message": 1, "headers": many }), "headers"),
        (json!({ "message": 1, "headers": { "X-A": "1", "x-a": "2" } }), "headers"),
        (json!({ "message": 1, "delay": -1 }), "delay"),
        (json!({ "message": 1, "delay": 1.5 }), "delay"),
        (json!({ "message": "x".repeat(1024 * 1024) }), "message"),
        (json!({ "message": 1, "queue": "another" }), "queue"),
        (json!({}), "message"),
    ] {
        let error = call(&orders, "created", arguments).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error:?}");
        assert!(error.to_string().contains(parameter), "{parameter}: {error}");
    }
    for (tool, arguments) in
        [("created_peek", json!({ "max": 101 })), ("created_receive", json!({ "waitMs": 20_001 }))]
    {
        assert_eq!(call(&orders, tool, arguments).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

#[tokio::test]
async fn keeps_tenants_and_services_apart() {
    let home = Home::new().await;
    let orders = service(settings(), &home.env());
    call(&orders, "created", json!({ "message": 1, "messageId": "m" })).await.unwrap();
    let others = [
        Env { tenant: "other".parse().unwrap(), ..home.env() },
        Env { service: Some("other-orders".to_owned()), ..home.env() },
    ];
    for env in others {
        let cx = tool::Context { tenant: env.tenant.clone(), ..cx() };
        let other = service(settings(), &env);
        let shown = call_in(&other, &cx, "created_receive", json!({ "max": 100 })).await.unwrap();
        assert_eq!(shown, json!({ "messages": [] }));
        let sent = call_in(&other, &cx, "created", json!({ "message": 2, "messageId": "m" })).await.unwrap();
        assert_eq!(sent["duplicate"], Value::Null, "ids are its own");
    }
    let shown = call(&orders, "created_peek", json!({})).await.unwrap();
    assert_eq!(shown["messages"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn without_a_server_nothing_is_queued() {
    let orders = service(settings(), &Env::default());
    for (tool, arguments) in [("created", json!({ "message": 1 })), ("created_peek", json!({}))] {
        assert_eq!(call(&orders, tool, arguments).await.unwrap_err().kind(), ErrorKind::Unsupported);
    }
    assert_eq!(orders.health(&cx()).await.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn an_exchange_keeps_nothing_to_look_at() {
    if cfg!(feature = "rabbitmq") {
        let found = problems(json!({ "broker": "rabbitmq", "connection_string": "amqp://h",
            "tools": [{ "id": "a", "exchange": "x", "peek": true }, { "id": "b", "routing_key": "r" }] }));
        let paths: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["tools[0].peek", "tools[1].exchange"]);
    }
}
