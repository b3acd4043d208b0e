//! What messages are called: by their callers, and by the steps of flows that publish them.

use super::support::{Home, cx, run, run_within};
#[cfg(feature = "redis")]
use super::support::{name, needed};
use serde_json::{Value, json};
use std::sync::Arc;
use tool::{Caller, Context, Env, ErrorKind, Step};
#[cfg(feature = "redis")]
use {
    std::time::Duration,
    store::DueCall,
    testkit::conformance::bind_and_call,
    tool::{Arguments, Call},
};

fn somebody_else() -> Context {
    Context { caller: Arc::new(Caller::system()), ..cx() }
}

fn step(key: &str) -> Context {
    cx().nested(Step { idempotency_key: Some(key.into()), ..Step::default() })
}

/// MQ-10: a step's key is the id of its message, unless one is given; one that is too long for an id is shortened.
#[tokio::test]
async fn a_step_of_a_flow_names_its_message() {
    let home = Home::new().await;
    let settings = json!({ "tools": [{ "id": "created", "peek": true }] });
    let id = async |env: &Env, key: &str, arguments: Value| {
        let orders = connectors::find("mq").unwrap().open(settings.clone(), env).unwrap();
        let sent = run_within(&orders, &step(key), "created", arguments).await.unwrap();
        sent["messageId"].as_str().unwrap().to_owned()
    };
    let message = || json!({ "message": 1 });
    // Also where nobody remembers keys.
    for env in [&home.env, &Env { once: None, ..home.env.clone() }] {
        for _ in 0..2 {
            assert_eq!(id(env, "r1:ship[3].send", message()).await, "r1:ship[3].send");
        }
        let (long, longer) = ("x".repeat(129), "x".repeat(130));
        let short = id(env, &long, message()).await;
        assert_eq!(
            (short.len(), &short),
            (64, &id(env, &long, message()).await),
            "the same for every attempt"
        );
        assert_ne!(short, id(env, &longer, message()).await);
    }
    let given = json!({ "message": 1, "messageId": "mine" });
    assert_eq!(id(&home.env, "r2:a", given).await, "mine");
}

/// A service whose broker holds nothing back, and is not there.
#[cfg(feature = "redis")]
fn away(env: &Env) -> Arc<dyn tool::Connector> {
    let settings = json!({
        "broker": "redis", "connection_string": "redis://127.0.0.1:1", "allow_private_network": true,
        "retry": { "max_attempts": 1 }, "circuit_breaker": { "failures": 0 },
        "tools": [{ "id": "created", "stream": "orders" }],
    });
    connectors::find("mq").unwrap().open(settings, env).unwrap()
}

/// What is due for the service, once it is so much.
#[cfg(feature = "redis")]
async fn due(home: &Home, many: usize) -> Vec<DueCall> {
    let due = async || home.queues.later().due(&home.env.tenant, "mq://orders").await.unwrap();
    testkit::eventually("calls are due", Duration::from_secs(10), async || due().await.len() == many).await;
    due().await
}

#[cfg(feature = "redis")]
fn later(message: i32) -> Value {
    json!({ "message": message, "messageId": "m-1", "delay": 1 })
}

/// MQ-2, MQ-10: what is confirmed is sent, whatever waits under the same id already.
#[cfg(feature = "redis")]
#[tokio::test]
async fn no_delayed_message_is_lost_behind_another_under_its_id() {
    let home = Home::new().await;
    let orders = away(&home.env);
    run(&orders, "created", later(1)).await.unwrap();
    assert_eq!(run(&orders, "created", later(1)).await.unwrap()["duplicate"], true);
    let refused = run_within(&orders, &somebody_else(), "created", later(2)).await.unwrap_err();
    assert_eq!((refused.kind(), refused.parameter()), (ErrorKind::InvalidInput, Some("messageId")));
    assert_eq!(due(&home, 1).await.len(), 1);
    // A day later nobody remembers the key, and the first one still waits.
    let tomorrow = Home::new().await;
    let orders = away(&Env { once: tomorrow.env.once.clone(), ..home.env.clone() });
    let kept = run(&orders, "created", later(2)).await;
    assert!(kept.is_ok_and(|kept| kept.get("duplicate").is_none()));
    let calls = due(&home, 2).await;
    let messages: Vec<Value> = calls
        .iter()
        .map(|call| serde_json::from_str::<Value>(call.arguments.get()).unwrap()["message"].clone())
        .collect();
    assert!(messages.contains(&json!(1)) && messages.contains(&json!(2)), "{messages:?}");
    // One that was given up stands in nobody's way.
    for call in &calls {
        home.queues.later().give_up(call, "there is no such tool").await.unwrap();
    }
    let overmorrow = Home::new().await;
    let orders = away(&Env { once: overmorrow.env.once.clone(), ..home.env.clone() });
    run(&orders, "created", later(1)).await.unwrap();
    assert_eq!(due(&home, 1).await.len(), 1);
}

/// MQ-2: what is taken with a delay is not refused when its time has come.
#[cfg(feature = "redis")]
#[tokio::test]
async fn a_delayed_message_has_as_many_headers_as_any_other() {
    let home = Home::new().await;
    let orders = away(&home.env);
    let headers = |many: usize| {
        (0..many).map(|number| (format!("h{number}"), json!("x"))).collect::<serde_json::Map<_, _>>()
    };
    let message = |many: usize| json!({ "message": 1, "delay": 1, "headers": headers(many) });
    run(&orders, "created", message(50)).await.unwrap();
    let refused = run(&orders, "created", message(51)).await.unwrap_err();
    assert_eq!((refused.kind(), refused.parameter()), (ErrorKind::InvalidInput, Some("headers")));
    let kept = due(&home, 1).await.remove(0);
    let cx = Context::system(home.env.tenant.clone(), Duration::from_secs(10));
    let call = Call::new("created", Arguments::from_raw(kept.arguments).unwrap());
    let error = bind_and_call(&*orders, &cx, call).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "only the broker keeps it from being sent: {error}");
}

/// MQ-6, MQ-10: readers know a message by its id, so that no second one is confirmed under it, whoever publishes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_id_is_one_message_whoever_publishes() {
    let home = Home::new().await;
    let embedded = home.open(json!({ "tools": [{ "id": "created" }] }));
    #[cfg(all(feature = "redis", feature = "rabbitmq"))]
    let brokers = [
        embedded,
        home.service(
            "redis",
            &needed("MCP_TEST_REDIS_URL"),
            &json!([{ "id": "redis", "stream": name("orders") }]),
        ),
        home.service(
            "rabbitmq",
            &needed("MCP_TEST_RABBITMQ_URL"),
            &json!([{ "id": "rabbit", "queue": name("orders") }]),
        ),
    ];
    #[cfg(not(all(feature = "redis", feature = "rabbitmq")))]
    let brokers = [embedded];
    for (orders, tool) in brokers.iter().zip(["created", "redis", "rabbit"]) {
        let message = |secret: &str| json!({ "message": secret, "messageId": "m-1" });
        let first = run(orders, tool, message("the first")).await.unwrap();
        assert_eq!(first["messageId"], "m-1");
        // Also with a message that is the same: whether it is, is not theirs to know.
        for said in ["the first", "the second"] {
            let error = run_within(orders, &somebody_else(), tool, message(said)).await.unwrap_err();
            assert_eq!(
                (error.kind(), error.parameter()),
                (ErrorKind::InvalidInput, Some("messageId")),
                "{tool}"
            );
            assert!(!error.message().contains("the first"), "{error}");
        }
        assert_eq!(run(orders, tool, message("the first")).await.unwrap()["duplicate"], true, "{tool}");
    }
}

/// MQ-10: whoever comes with an id while another process publishes it gets what comes of that.
#[cfg(feature = "redis")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_at_once_in_two_processes_get_one_result() {
    let home = Home::new().await;
    let tools = json!([{ "id": "created", "stream": name("orders") }]);
    let processes = [(); 2].map(|()| home.service("redis", &needed("MCP_TEST_REDIS_URL"), &tools));
    for round in 0..20 {
        let arguments = json!({ "message": 1, "messageId": format!("m-{round}") });
        let calls = processes.iter().map(|orders| run(orders, "created", arguments.clone()));
        let results = futures::future::try_join_all(calls).await.unwrap();
        assert_eq!(results[0]["position"], results[1]["position"], "{results:?}");
        assert_eq!(results.iter().filter(|result| result["duplicate"] == true).count(), 1, "{results:?}");
    }
}
