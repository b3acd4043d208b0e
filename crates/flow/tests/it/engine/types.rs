//! Runs of flows whose types lead to themselves or explode: they fail, and the process goes on.

use super::world::World;
use crate::problems;
use flow::Code;
use flow::engine::Ending;
use serde_json::json;

/// FL-17: a type that is nothing but itself is refused, and a run of such a text fails and harms nobody.
#[tokio::test(start_paused = true)]
async fn types_in_circles_are_refused() {
    for types in [
        "{A: A}",
        "{A: 'B?', B: 'A?'}",
        "{A: {anyOf: [{$ref: '#/$defs/A'}, {type: 'null'}]}}",
        "{A: 'B', B: {allOf: [{$ref: '#/$defs/A'}]}}",
    ] {
        for place in ["inputs: {a: A}", "returns: A"] {
            let text = format!("types: {types}\n{place}\nnodes: {{n: {{with: {{a: 1}}}}}}");
            let found = problems(&text);
            assert_eq!(crate::codes(&found), [(Code::Syntax, 1, 8)], "{text}: {found:?}");
            assert!(found[0].message.contains("leads back to itself"), "{found:?}");
            let world = World::default();
            let ending = world.start(&text, json!({"a": {"a": 1}})).run().await;
            let Ending::Failed { error } = ending else { panic!("{text}: {ending:?}") };
            assert_eq!(error.code, "VALIDATION_FAILED");
        }
    }
    let tree = "types: {Tree: {value: int, parts: 'Tree[]?', next: 'Tree?'}}\ninputs: {t: Tree}\nreturns: Tree\nnodes: {n: {with: '${t}'}}";
    assert!(problems(tree).is_empty(), "{:?}", problems(tree));
    let world = World::default();
    let ending = world.start(tree, json!({"t": {"value": 1, "parts": [{"value": 2}]}})).run().await;
    assert!(matches!(ending, Ending::Succeeded { .. }), "{ending:?}");
}

/// FL-17: a few lines of types that ask the same again and again end the run, not the process.
#[tokio::test(start_paused = true)]
async fn types_that_explode_fail_the_run() {
    let types: Vec<_> = (0..60)
        .map(|at| format!("T{at}: {{allOf: [{{$ref: '#/$defs/T{0}'}}, {{$ref: '#/$defs/T{0}'}}]}}", at + 1))
        .collect();
    let text = format!(
        "types: {{{}, T60: int}}\ninputs: {{a: T0}}\nnodes: {{n: {{with: '${{a}}'}}}}",
        types.join(", ")
    );
    let world = World::default();
    let ending = world.start(&text, json!({"a": 1})).run().await;
    let Ending::Failed { error } = ending else { panic!("{ending:?}") };
    assert!(error.code == "VALIDATION_FAILED" && error.message.contains("asks more"), "{error:?}");
}

/// FL-17: what would be rounded without a word is refused by its name, in inputs and in documents.
#[tokio::test(start_paused = true)]
async fn whole_numbers_beyond_64_bits_are_refused() {
    let text = "inputs: {order: any, weight: 'number?'}\nnodes: {n: {with: order, only: weight == weight}}";
    let world = World::default();
    for order in ["18446744073709551616", "[{\"id\": -18446744073709551617}]"] {
        let order: serde_json::Value = serde_json::from_str(order).unwrap();
        let ending = world.start(text, json!({ "order": order })).run().await;
        let Ending::Failed { error } = ending else { panic!("{ending:?}") };
        assert!(error.code == "VALIDATION_FAILED" && error.message.contains("'order'"), "{error:?}");
    }
    let most = json!({ "order": [u64::MAX, i64::MIN, 1.5], "weight": 1e30 });
    let ending = world.start(text, most.clone()).run().await;
    assert_eq!(ending, Ending::Succeeded { output: most["order"].clone() });
    let found = problems("nodes:\n  n: {with: {id: 18446744073709551616}}");
    assert_eq!(crate::codes(&found), [(Code::Syntax, 2, 18)], "{found:?}");
    assert!(found[0].message.contains("in quotes"), "{found:?}");
    assert!(
        problems("nodes: {n: {with: {id: '18446744073709551616', max: 18446744073709551615}}}").is_empty()
    );
}
