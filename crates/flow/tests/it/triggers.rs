//! Triggers: what documents say of them, and what events become.

use super::{codes, flow, problems};
use chrono::Utc;
use expression::{Limits, Setting};
use flow::{CatchUp, Code, Overlap, Source, WebhookAuth};
use serde_json::{Map, Value, json};

#[test]
fn every_type_is_read() {
    let flow = flow(
        "
nodes: {a: {with: 1}}
timezone: Europe/Berlin
triggers:
  - {type: schedule, cron: '0 8 * * mon-fri', timezone: Asia/Tokyo, catch_up: last, overlap: skip}
  - {type: webhook, name: github, auth: hmac, header: X-Hub-Signature-256, prefix: 'sha256=', tolerance: 5m}
  - {type: message, from: 'mq://svc/orders', limit: 10, dedupe: trigger.message.id}
  - {type: table, table: orders, json_path: '/lines', on: [add, change]}
  - {type: file, from: 'oss://svc', prefix: in/, every: 5m}
",
    );
    let names: Vec<_> = flow.triggers.iter().map(|trigger| trigger.name.as_str()).collect();
    assert_eq!(names, ["schedule_1", "github", "message_3", "table_4", "file_5"]);
    assert!(matches!(
        &flow.triggers[0].source,
        Source::Schedule { cron, catch_up: CatchUp::Last, overlap: Overlap::Skip, timezone: Some(_) } if cron.to_string() == "0 8 * * mon-fri"
    ));
    assert_eq!(flow.zone_of(&flow.triggers[0]).name(), "Asia/Tokyo");
    assert_eq!(flow.zone_of(&flow.triggers[1]).name(), "Europe/Berlin");
    assert!(matches!(&flow.triggers[1].source, Source::Webhook { auth: WebhookAuth::Hmac, .. }));
    assert!(matches!(&flow.triggers[4].source, Source::File { from, .. } if from.service() == "svc"));
}

#[test]
fn what_is_wrong_with_triggers_is_told() {
    let found = problems(
        "nodes: {a: {with: 1}}
timezone: Mars/Olympus
triggers:
  - {type: schedule, cron: '61 * * * *', timezone: Nowhere}
  - {type: webhook, auth: hmac}
  - {type: message, from: 'mq//svc'}
  - {type: carrier}
  - {cron: '* * * * *'}
  - {type: webhook, name: x, secret: y}
  - {type: webhook, name: x}
",
    );
    let wanted = [
        (Code::Unknown, 2, 11),
        (Code::Syntax, 4, 28),
        (Code::Unknown, 4, 52),
        (Code::Syntax, 5, 5),
        (Code::Syntax, 6, 27),
        (Code::Unknown, 7, 12),
        (Code::Syntax, 8, 5),
        (Code::Unknown, 9, 30),
        (Code::Duplicate, 10, 5),
    ];
    assert_eq!(codes(&found), wanted, "{found:#?}");
}

#[test]
fn events_become_inputs_by_expression_or_by_name() {
    let flow = flow(
        "
inputs: {id: string, body: any, note: 'string?'}
concurrency: {limit: 1, key: 'order ${id}'}
nodes: {a: {with: '[id, body, note]'}}
triggers:
  - {type: webhook, name: named}
  - {type: webhook, name: mapped, inputs: {id: '${trigger.body.order.id}'}, dedupe: trigger.body.order.id}
  - {type: webhook, name: wrong, inputs: '${trigger.body.id}'}
",
    );
    let event = json!({"body": {"id": "O-1", "order": {"id": 7}, "more": 1}, "headers": {"note": "x"}});
    let setting = Setting::default();
    let [named, mapped, wrong] = &flow.triggers[..] else { panic!("three triggers") };
    let inputs = named.inputs(&flow, &event, &setting).unwrap();
    assert_eq!(json!(inputs), json!({"id": "O-1", "body": event["body"]}));
    let same = json!({"body": {"id": "O-1", "body": "inner"}});
    assert_eq!(named.inputs(&flow, &same, &setting).unwrap()["body"], same["body"]);
    assert_eq!(flow.concurrency_key(&inputs, &setting), Ok(Some("\"order O-1\"".to_owned())));
    assert_eq!(named.dedupe_key(&event, &setting), Ok(None));
    assert_eq!(json!(mapped.inputs(&flow, &event, &setting).unwrap()), json!({"id": 7}));
    assert_eq!(mapped.dedupe_key(&event, &setting), Ok(Some("7".to_owned())));
    assert_eq!(wrong.inputs(&flow, &event, &setting).unwrap_err().code, "EXPRESSION");
    assert_eq!(mapped.inputs(&flow, &json!({}), &setting).unwrap_err().code, "EXPRESSION");
}

/// FL-24: values that expressions find equal share the limit.
#[test]
fn equal_values_are_one_key_of_concurrency() {
    let flow = flow("inputs: {k: any}\nconcurrency: {limit: 1, key: '${k}'}\nnodes: {a: {with: '${k}'}}");
    let setting = Setting { now: Utc::now(), limits: Limits::default() };
    let key = |value: Value| {
        let inputs = Map::from_iter([("k".to_owned(), value)]);
        flow.concurrency_key(&inputs, &setting).unwrap()
    };
    assert_eq!(key(json!(1)), key(json!(1.0)));
    assert_eq!(key(json!({ "a": [2] })), key(json!({ "a": [2.0] })));
    assert_ne!(key(json!(1)), key(json!(1.5)));
    assert_ne!(key(json!(1)), key(json!("1")));
}
