//! Copies share what did not change, and large documents behave like small ones.

use document::{Change, Node, Pointer};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn change(change: &Value) -> Change {
    serde_json::from_value(change.clone()).unwrap()
}

#[test]
fn appends_to_a_large_list_without_copying_it() {
    let rows: Vec<Value> = (0..50_000).map(|n| json!({ "id": n, "name": format!("row {n}") })).collect();
    let old = Node::from(&json!({ "rows": rows }));
    let add = change(&json!({ "op": "append", "at": "/rows", "values": [{ "id": "new" }] }));
    let begun = Instant::now();
    let mut new = old.clone();
    for _ in 0..1000 {
        add.apply(&mut new).unwrap();
    }
    // Copying 50,000 items a thousand times would take much longer.
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    let count = |node: &Node| node.as_object().unwrap().get("rows").unwrap().as_array().unwrap().len();
    assert_eq!((count(&old), count(&new)), (50_000, 51_000));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<i64>().prop_map(Value::from),
        "[a-c/~]{0,2}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 200, 80, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..80).prop_map(Value::from),
            prop::collection::vec(("[a-z/~]{0,3}", inner), 0..80)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What the plain tree of serde_json would do is the reference.
    #[test]
    fn behaves_like_a_plain_tree(value in any_json(), names in prop::collection::vec("[a-z/~]{0,3}", 0..50)) {
        let node = Node::from(&value);
        prop_assert_eq!(node.to_json(), value.to_string());
        prop_assert_eq!(Node::parse(&value.to_string()).unwrap(), node);
        let mut plain = json!({ "it": value });
        let mut tree = Node::from(&plain);
        for (at, name) in names.iter().enumerate() {
            let place = Pointer::default().join("it");
            let entry = |key: &str| Change::Put { at: place.clone(), entries: vec![(key.to_owned(), Node::from(&json!(at)))] };
            match plain.get_mut("it").unwrap() {
                Value::Object(fields) if at % 3 == 2 && fields.contains_key(name) => {
                    fields.shift_remove(name);
                    Change::Remove { at: place, keys: vec![name.clone()] }.apply(&mut tree).unwrap();
                }
                Value::Object(fields) => {
                    fields.insert(name.clone(), json!(at));
                    entry(name).apply(&mut tree).unwrap();
                }
                Value::Array(items) if at % 3 == 2 && !items.is_empty() => {
                    let gone = at % items.len();
                    items.remove(gone);
                    Change::Remove { at: place, keys: vec![gone.to_string()] }.apply(&mut tree).unwrap();
                }
                Value::Array(items) => {
                    items.push(json!(name));
                    Change::Append { at: place, values: vec![name.as_str().into()] }.apply(&mut tree).unwrap();
                }
                _ => prop_assert!(entry(name).apply(&mut tree).is_err()),
            }
        }
        prop_assert_eq!(tree.to_json(), plain.to_string());
    }
}
