//! What a message is called that a step of a flow publishes.

use super::support::{Home, cx, run_within};
use serde_json::{Value, json};
use tool::{Context, Env, Step};

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
