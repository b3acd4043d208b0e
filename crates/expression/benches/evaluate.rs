//! Filter and map over 1,000 objects, beside the crate `cel`; prints ratios.

use cel::{Context, Program};
use expression::{Expression, Setting};
use serde_json::{Map, Value, json};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// As many times as fast as the crate.
const TARGET: f64 = 3.0;

/// The best of several rounds: the least disturbed one.
fn best(mut run: impl FnMut()) -> Duration {
    (0..200)
        .map(|_| {
            let begun = Instant::now();
            run();
            begun.elapsed()
        })
        .min()
        .unwrap_or_default()
}

#[expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
fn main() {
    let items: Vec<Value> =
        (0..1000).map(|n| json!({"sku": format!("item-{n}"), "price": n, "open": n % 3 == 0})).collect();
    let Value::Object(scope) = json!({"items": items, "limit": 500}) else { return };
    for text in [
        "items.filter(i, i.open && i.price > 500.0).map(i, i.sku)",
        "items.map(i, i.sku + '!')",
        "items.exists(i, i.sku == 'item-999')",
        "items[10].price > 5.0",
    ] {
        let (ours, theirs) = (ours(text, &scope), theirs(text, &scope));
        let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
        let verdict = if ratio >= TARGET { "met" } else { "MISSED" };
        println!("{text}: {ours:?}, crate cel {theirs:?}, {ratio:.1}x (target {TARGET}: {verdict})");
    }
}

fn ours(text: &str, scope: &Map<String, Value>) -> Duration {
    let expression = Expression::parse(text).expect("the text is an expression");
    let setting = Setting::default();
    best(|| drop(black_box(expression.evaluate(scope, &setting).expect("it has a value"))))
}

/// The values are handed over once: only what `cel` does per evaluation is measured, with its answer as JSON.
fn theirs(text: &str, scope: &Map<String, Value>) -> Duration {
    let program = Program::compile(text).expect("the text is an expression");
    let mut context = Context::default();
    for (name, value) in scope {
        context.add_variable(name.as_str(), value.clone()).expect("a JSON value");
    }
    best(|| drop(black_box(program.execute(&context).expect("it has a value").json().expect("as JSON"))))
}
