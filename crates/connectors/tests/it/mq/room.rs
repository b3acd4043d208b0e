//! `_receive` takes no message that its caller does not get to see, at any broker.

use super::support::{Home, name, needed, run, run_with_room};
use serde_json::{Value, json};
use std::sync::Arc;
use tool::{Connector, ErrorKind};

const ROOM: usize = 10_000;

fn numbers(answer: &Value) -> Vec<i64> {
    let messages = answer["messages"].as_array().unwrap();
    messages.iter().map(|message| message["message"]["n"].as_i64().unwrap()).collect()
}

pub(super) async fn takes_only_what_fits(orders: &Arc<dyn Connector>) {
    let publish = async |n: i32, bytes: usize| {
        let message = json!({ "n": n, "pad": "x".repeat(bytes) });
        run(orders, "created", json!({ "message": message })).await.unwrap();
    };
    for n in 0..5 {
        publish(n, 3000).await;
    }
    let all = json!({ "max": 10 });
    for _ in 0..2 {
        let shown = run_with_room(orders, ROOM, "created_peek", all.clone()).await.unwrap();
        assert_eq!(numbers(&shown), [0, 1, 2]);
    }
    let first = run_with_room(orders, ROOM, "created_receive", all.clone()).await.unwrap();
    assert_eq!(numbers(&first), [0, 1, 2]);
    assert_eq!(numbers(&run(orders, "created_peek", all.clone()).await.unwrap()), [3, 4]);
    let second = run_with_room(orders, ROOM, "created_receive", all.clone()).await.unwrap();
    assert_eq!(numbers(&second), [3, 4]);
    publish(5, 2 * ROOM).await;
    for tool in ["created_receive", "created_peek", "created_receive"] {
        let error = run_with_room(orders, ROOM, tool, all.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream);
        assert!(error.message().contains("was left where it is"), "{error}");
    }
    assert_eq!(numbers(&run(orders, "created_receive", all.clone()).await.unwrap()), [5]);
    assert_eq!(run(orders, "created_receive", all).await.unwrap(), json!({ "messages": [] }));
}

/// MQ-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn takes_only_what_fits_from_our_own_queues() {
    let home = Home::new().await;
    let tools = json!([{ "id": "created", "peek": true, "receive": true }]);
    takes_only_what_fits(&home.open(json!({ "tools": tools }))).await;
}

/// MQ-11
#[cfg(feature = "rabbitmq")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn takes_only_what_fits_from_rabbitmq() {
    let home = Home::new().await;
    let tools = json!([{ "id": "created", "queue": name("room"), "peek": true, "receive": true }]);
    takes_only_what_fits(&home.service("rabbitmq", &needed("MCP_TEST_RABBITMQ_URL"), &tools)).await;
}

/// MQ-11
#[cfg(feature = "redis")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn takes_only_what_fits_from_redis() {
    let home = Home::new().await;
    let tools = json!([{ "id": "created", "stream": name("room"), "peek": true, "receive": true }]);
    takes_only_what_fits(&home.service("redis", &needed("MCP_TEST_REDIS_URL"), &tools)).await;
}

/// MQ-8: what is not as the tool says is marked where somebody looks at it or takes it.
#[tokio::test]
async fn marks_what_is_not_of_its_schema() {
    let home = Home::new().await;
    let orders = home.open(json!({ "tools": [
        { "id": "anything", "queue": "orders" },
        { "id": "order", "queue": "orders", "peek": true, "receive": true,
          "message_schema": { "type": "object", "required": ["orderId"] } },
        { "id": "text", "queue": "orders", "format": "text", "peek": true },
    ] }));
    for message in [json!({ "orderId": "O1" }), json!({ "n": 2 })] {
        run(&orders, "anything", json!({ "message": message })).await.unwrap();
    }
    for tool in ["order_peek", "order_receive"] {
        let found = run(&orders, tool, json!({ "max": 2 })).await.unwrap();
        let [good, bad] = &found["messages"].as_array().unwrap()[..] else { panic!("{found}") };
        assert_eq!((&good["message"]["orderId"], good.get("problem")), (&json!("O1"), None));
        let problem = bad["problem"].as_str().unwrap();
        assert!(problem.contains("not of its schema") && bad["message"]["n"] == 2, "{bad}");
    }
}
