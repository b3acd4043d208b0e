//! Values that grow without end: lists and objects in one another.

use super::world::World;
use super::{failed, run, succeeded};
use flow::limits::VALUE_LEVELS;
use serde_json::{Value, json};

/// So many lists in one another.
fn nested(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| json!([inner]))
}

/// FL-17: a value that wraps itself again and again is refused long before it could harm anybody who reads it.
#[tokio::test(start_paused = true)]
async fn a_value_that_wraps_itself_fails_its_node() {
    let text = "
inputs: {n: int}
vars: {v: []}
nodes:
  l: {vars: {i: 0}, when: i < n, max: 100000, nodes: {s: {sets: {v: '${[v]}', i: '${i + 1}'}}}}
output: '${v}'
";
    let world = World::default();
    let (code, message) = failed(run(text, json!({ "n": 500 }), &world).await);
    assert_eq!(code, "LIMIT");
    assert!(message.contains("64 levels"), "{message}");
    let deepest = succeeded(run(text, json!({ "n": VALUE_LEVELS - 1 }), &world).await);
    assert!(serde_json::from_str::<Value>(&deepest.to_string()).is_ok());
}

/// FL-17: wherever a value comes from, it is no deeper.
#[tokio::test(start_paused = true)]
async fn no_value_is_deeper_wherever_it_comes_from() {
    let world = World::default();
    world.answers("api://deep/answer", nested(VALUE_LEVELS + 1));
    world.answers("api://deep/most", nested(VALUE_LEVELS));
    let deep = json!({ "text": nested(VALUE_LEVELS + 1).to_string(), "most": nested(VALUE_LEVELS) });
    let given = "inputs: {text: string, most: any}\n";
    for nodes in [
        "a: {exec: 'api://deep/answer'}",
        "a: {with: 'fromJson(text)'}",
        "a: {with: ['${most}']}",
        "a: {with: {x: {y: '${most}'}}}",
        "a: {with: '[most] + [1]'}",
        "a: {with: '[1].map(x, most)'}",
        "a: {with: '{\"x\": most}'}",
        "a: {exec: 'api://deep/most', next: b}, b: {with: '${[a]}'}",
        "a: {each: '[1] => x', nodes: {b: {exec: 'api://deep/most'}}}",
        "a: {nodes: {b: {exec: 'api://deep/most'}}}",
        "a: {return: ['${most}']}",
        "a: {exec: 'api://x/y', args: {v: ['${most}']}}",
    ] {
        let (code, message) = failed(run(&format!("{given}nodes: {{{nodes}}}"), deep.clone(), &world).await);
        assert_eq!(code, "LIMIT", "{nodes}: {message}");
        assert!(message.contains("64 levels"), "{nodes}: {message}");
    }
    let refused = run("inputs: {v: any}\nnodes: {a: {with: '1'}}", json!({ "v": nested(65) }), &world).await;
    assert_eq!(failed(refused).0, "LIMIT");
}
