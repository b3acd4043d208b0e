//! Behaviour at the public edge: the language, its functions, its limits, its errors, and crate `cel` as the oracle.

mod errors;
mod functions;
mod hostile;
mod language;
mod oracle;
mod properties;
mod published;
mod templates;

use expression::{Error, Expression, Setting};
use serde_json::{Map, Value, json};

/// The values that the tables of cases speak of.
fn scope() -> Map<String, Value> {
    let values = json!({
        "order": {"id": "O-1", "total": 1200, "paid": true, "note": null, "lines": [
            {"sku": "a", "price": 10, "count": 2}, {"sku": "b", "price": 2.5, "count": 4}, {"sku": "a", "price": 1, "count": 1}
        ]},
        "n": 7, "x": 2.5, "big": 9_223_372_036_854_775_807_u64, "huge": 18_446_744_073_709_551_615_u64,
        "text": "Grüße, 世界", "empty": [], "nothing": null, "yes": true, "tags": ["red", "green"],
        "when": "2026-07-28T10:30:00Z"
    });
    let Value::Object(scope) = values else { unreachable!("an object was written") };
    scope
}

fn setting() -> Setting {
    let now = "2026-03-31T23:05:09Z".parse().expect("a time");
    Setting { now, ..Setting::default() }
}

fn evaluate(text: &str) -> Result<Value, Error> {
    Expression::parse(text)?.evaluate(&scope(), &setting())
}

/// Compares every case and names all that are wrong.
fn check(cases: &[(&str, Value)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(text, wanted)| match evaluate(text) {
            Ok(value) if value == *wanted => None,
            Ok(value) => Some(format!("{text} gives {value}, not {wanted}")),
            Err(error) => Some(format!("{text} fails: {error}")),
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
