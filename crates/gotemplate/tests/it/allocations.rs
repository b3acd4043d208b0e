//! What a render takes from the allocator.

use gotemplate::{Options, Template};
use serde_json::{Value, json};

const ORDER: &str = "Order ID: {{ .orderId }}\nStatus: {{ .status }}\nItems:\n\
    {{- range $index, $item := .items }}\n{{ $index }} {{ $item.name }}: ${{ .price }}\
    {{ if gt .quantity 1 }} x{{ .quantity }}{{ end }}\n{{- end }}\n\
    {{ range $key, $value := .labels }}{{ $key }}={{ $value }} {{ end }}{{ with .address }}{{ .city }}{{ end }}";

fn order(items: usize) -> Value {
    let item =
        |n: usize| json!({ "name": format!("Product {n}"), "price": n as f64 / 4.0, "quantity": n % 3 });
    json!({
        "orderId": "ORD-1", "status": "shipped", "address": { "city": "Shanghai" },
        "labels": { "z": 1, "a": 2, "m": 3 },
        "items": (0..items).map(item).collect::<Vec<_>>(),
    })
}

/// HT-6.1 HT-6.5
#[test]
fn a_second_render_allocates_its_output_and_nothing_else() {
    let template = Template::compile("order", ORDER, &Options::default()).unwrap();
    for items in [0, 3, 1000] {
        let data = order(items);
        let expected = template.render(&data).unwrap();
        let mut output = String::new();
        let spent = allocation_counter::measure(|| output = template.render(&data).unwrap());
        assert_eq!(output, expected);
        assert_eq!(spent.count_total, 1, "{items} items");
        assert_eq!(spent.bytes_total, expected.len() as u64, "{items} items");
    }
}

/// HT-6.1
#[test]
fn a_clone_shares_the_compiled_template() {
    let template = Template::compile("order", ORDER, &Options::default()).unwrap();
    let spent = allocation_counter::measure(|| drop(template.clone()));
    assert_eq!(spent.count_total, 0);
}

fn is_shareable<T: Send + Sync + Clone + 'static>() {}

#[test]
fn a_template_can_be_shared_between_threads() {
    is_shareable::<Template>();
    is_shareable::<gotemplate::Error>();
}
