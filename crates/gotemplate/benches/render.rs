//! Rendering an order against hand-written Rust and two other engines, all in one run.

#![expect(clippy::print_stdout, reason = "the benchmark's result is what it prints")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use gotemplate::{Options, Template};
use serde_json::{Value, json};

const ORDER: &str = "Order ID: {{ .orderId }}\nStatus: {{ .status }}\nItems:\n\
    {{- range $index, $item := .items }}\n- {{ .name }}: ${{ .price }}\
    {{ if gt .quantity 1 }} x{{ .quantity }}{{ end }}\n{{- end }}\n";

const HANDLEBARS: &str = "Order ID: {{ orderId }}\nStatus: {{ status }}\nItems:\
    {{#each items}}\n- {{ name }}: ${{ price }}{{#if (gt quantity 1)}} x{{ quantity }}{{/if}}{{/each}}\n";

const MINIJINJA: &str = "Order ID: {{ orderId }}\nStatus: {{ status }}\nItems:\n\
    {%- for item in items %}\n- {{ item.name }}: ${{ item.price }}\
    {% if item.quantity > 1 %} x{{ item.quantity }}{% endif %}\n{%- endfor %}\n";

fn order(items: usize) -> Value {
    let items: Vec<Value> = (0..items)
        .map(|n| {
            let cents = (n * 7919 + 1299) % 100_000 / 2 * 2 + 1;
            json!({ "name": format!("Product {n}"), "price": cents as f64 / 100.0, "quantity": n % 4 + 1 })
        })
        .collect();
    json!({ "orderId": "ORD-2024-001", "status": "shipped", "items": items })
}

/// What a person would write who wants exactly this output.
fn by_hand(data: &Value) -> String {
    let items = data.get("items").and_then(Value::as_array);
    let mut out = String::with_capacity(64 + 32 * items.map_or(0, Vec::len));
    out.push_str("Order ID: ");
    value(&mut out, data.get("orderId"));
    out.push_str("\nStatus: ");
    value(&mut out, data.get("status"));
    out.push_str("\nItems:");
    for item in items.into_iter().flatten() {
        out.push_str("\n- ");
        value(&mut out, item.get("name"));
        out.push_str(": $");
        value(&mut out, item.get("price"));
        let quantity = item.get("quantity");
        if quantity.and_then(Value::as_f64).is_some_and(|quantity| quantity > 1.0) {
            out.push_str(" x");
            value(&mut out, quantity);
        }
    }
    out.push('\n');
    out
}

fn value(out: &mut String, value: Option<&Value>) {
    match value {
        None | Some(Value::Null) => out.push_str("<no value>"),
        Some(Value::String(text)) => out.push_str(text),
        Some(Value::Number(number)) => write_number(out, number),
        Some(other) => write!(out, "{other}").expect("a string takes everything"),
    }
}

fn write_number(out: &mut String, number: &serde_json::Number) {
    // The fastest formatters there are, so that the floor is one.
    if let Some(int) = number.as_i64() {
        out.push_str(itoa::Buffer::new().format(int));
    } else if let Some(float) = number.as_f64() {
        out.push_str(zmij::Buffer::new().format(float));
    }
}

/// The shortest time of one call, over several rounds.
fn time<T>(mut call: impl FnMut() -> T) -> Duration {
    let started = Instant::now();
    black_box(call());
    let once = started.elapsed().max(Duration::from_nanos(100));
    let calls = u32::try_from((Duration::from_millis(20).as_nanos() / once.as_nanos()).clamp(5, 200_000))
        .expect("the number is clamped");
    (0..15)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..calls {
                black_box(call());
            }
            started.elapsed() / calls
        })
        .min()
        .unwrap_or_default()
}

fn compare(items: usize) {
    let data = order(items);
    let template = Template::compile("order", ORDER, &Options::default()).expect("the template compiles");
    let mut handlebars = handlebars::Handlebars::new();
    handlebars.register_escape_fn(handlebars::no_escape);
    handlebars.register_template_string("order", HANDLEBARS).expect("the template compiles");
    let mut jinja = minijinja::Environment::new();
    jinja.set_keep_trailing_newline(true);
    jinja.add_template("order", MINIJINJA).expect("the template compiles");
    let jinja = jinja.get_template("order").expect("the template is there");

    let wanted = by_hand(&data);
    assert_eq!(template.render(&data).expect("it renders"), wanted);
    // The others write a whole float with its ".0".
    assert_eq!(handlebars.render("order", &data).expect("it renders").replace(".0\n", "\n"), wanted);
    assert_eq!(jinja.render(&data).expect("it renders").replace(".0\n", "\n"), wanted);

    let floor = time(|| by_hand(black_box(&data)));
    let ours = time(|| template.render(black_box(&data)));
    let theirs = time(|| handlebars.render("order", black_box(&data)));
    let others = time(|| jinja.render(black_box(&data)));
    let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
    println!("order with {items} items, {} bytes", wanted.len());
    println!("  by hand     {floor:>12.2?}   1.00x");
    println!("  gotemplate  {ours:>12.2?}   {:.2}x the floor (target <= 2.00)", ratio(ours, floor));
    for (name, took) in [("handlebars", theirs), ("minijinja ", others)] {
        let faster = ratio(took, ours);
        println!(
            "  {name}  {took:>12.2?}   {:.2}x the floor; ours is {faster:.1}x faster (target >= 4.0)",
            ratio(took, floor)
        );
    }
}

fn main() {
    compare(3);
    compare(1000);
    let compile = time(|| Template::compile("order", black_box(ORDER), &Options::default()));
    println!("compile       {compile:>12.2?}   (target <= 10 µs)");
    let simple = Template::compile("simple", "Hello {{ .name }}!", &Options::default()).expect("it compiles");
    let data = json!({ "name": "Ada" });
    println!("simple render {:>12.2?}   (target < 1 ms)", time(|| simple.render(black_box(&data))));
}
