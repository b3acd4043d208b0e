//! Changes of tables as events: what a trigger watches, and nothing else.

use super::{flow, problems};
use document::{Change, Node, Pointer};
use flow::{Code, TableChange};
use serde_json::{Value, json};

/// What a trigger with these fields makes of a change of this document.
fn event(trigger: &str, before: &Value, change: &Change) -> Option<Value> {
    let flow = flow(&format!("nodes: {{a: {{with: 1}}}}\ntriggers: [{{type: table, table: t1{trigger}}}]"));
    let before = Node::from(before);
    let mut after = before.clone();
    change.apply(&mut after).unwrap();
    let change =
        TableChange { table: "t1", version: 7, change: Some(change), before: &before, after: &after };
    flow.triggers[0].source.event_of(&change).map(|event| event["change"].clone())
}

fn node(value: &Value) -> Node {
    Node::from(value)
}

fn at(text: &str) -> Pointer {
    text.parse().unwrap()
}

#[test]
fn an_event_lists_what_was_added_changed_and_removed() {
    let before = json!({ "orders": [{ "id": 1 }, { "id": 2 }], "title": "x" });
    let add = Change::Append { at: at("/orders"), values: vec![node(&json!({ "id": 3 }))] };
    let entry = json!({ "on": "add", "path": "/orders/2", "after": { "id": 3 } });
    let whole = json!({ "table": "t1", "version": 7, "entries": [entry], "truncated": false });
    assert_eq!(event("", &before, &add), Some(whole));
    let entries = |trigger: &str, change: &Change| {
        event(trigger, &before, change).map(|event| event["entries"].clone())
    };
    let put = Change::Put { at: at("/orders/0"), entries: vec![("paid".into(), node(&json!(true)))] };
    let expected = json!([{ "on": "add", "path": "/orders/0/paid", "after": true }]);
    assert_eq!(entries("", &put), Some(expected));
    let remove = Change::Remove { at: at("/orders"), keys: vec!["0".into()] };
    assert_eq!(
        entries("", &remove),
        Some(json!([{ "on": "remove", "path": "/orders/0", "before": { "id": 1 } }]))
    );
    let rename = Change::Put { at: at(""), entries: vec![("title".into(), node(&json!("y")))] };
    let expected = json!([{ "on": "change", "path": "/title", "before": "x", "after": "y" }]);
    assert_eq!(entries("", &rename), Some(expected));
}

#[test]
fn only_what_is_watched_is_told() {
    let before = json!({ "orders": [1, 2], "other": 1 });
    let append = Change::Append { at: at("/orders"), values: vec![node(&json!(3))] };
    let is_told = |trigger: &str, change: &Change| event(trigger, &before, change).is_some();
    assert!(is_told(", json_path: /orders, on: add", &append));
    assert!(is_told(", on: [add, remove]", &append));
    assert!(!is_told(", json_path: /orders, on: [change, remove]", &append));
    assert!(!is_told(", json_path: /other", &append));
    assert!(!is_told(", json_path: /orders/0", &append), "the first one is as it was");
    let other = Change::Put { at: at(""), entries: vec![("other".into(), node(&json!(2)))] };
    assert!(!is_told(", json_path: /orders", &other));
    assert!(!is_told(", json_path: /othe", &other), "a name is not the beginning of another");
    // A document that is replaced differs only where it does.
    let set = Change::Set { value: node(&json!({ "orders": [1, 5, 9], "other": 1 })) };
    let entries = event(", json_path: /orders", &before, &set).unwrap()["entries"].clone();
    let expected = json!([
        { "on": "change", "path": "/orders/1", "before": 2, "after": 5 },
        { "on": "add", "path": "/orders/2", "after": 9 },
    ]);
    assert_eq!(entries, expected);
    assert!(!is_told(", json_path: /other", &set));
    let list = Change::Put { at: at(""), entries: vec![("orders".into(), node(&json!([1, 2])))] };
    assert!(!is_told(", json_path: /orders", &list), "the same again is no change");
}

#[test]
fn large_changes_are_cut() {
    let before = json!({ "rows": [] });
    let values = (0..3000).map(|n| node(&json!(n))).collect();
    let change = event("", &before, &Change::Append { at: at("/rows"), values }).unwrap();
    assert_eq!((change["entries"].as_array().unwrap().len(), &change["truncated"]), (1000, &json!(true)));
    let values = vec![node(&json!("x".repeat(400_000))), node(&json!("y".repeat(400_000)))];
    let change = event("", &before, &Change::Append { at: at("/rows"), values }).unwrap();
    assert_eq!((change["entries"].as_array().unwrap().len(), &change["truncated"]), (1, &json!(true)));
}

#[test]
fn a_pointer_that_is_none_is_told_to_the_author() {
    let found = problems("nodes: {a: {with: 1}}\ntriggers:\n- {type: table, table: t, json_path: orders}\n");
    assert_eq!((found[0].code, found[0].line), (Code::Syntax, 3), "{found:?}");
}
