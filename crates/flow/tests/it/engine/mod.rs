//! Runs over a journal in memory and tools that are functions.

mod blocks;
mod bounds;
mod calls;
mod children;
mod crashes;
mod edges;
mod people;
mod types;
mod world;

use flow::engine::{Ending, Fact};
use serde_json::{Value, json};
use world::World;

/// What a flow gives for some inputs, with tools that repeat their arguments unless the world says otherwise.
async fn run(text: &str, inputs: Value, world: &World) -> Ending {
    world.start(text, inputs).run().await
}

async fn output(text: &str, inputs: Value) -> Value {
    succeeded(run(text, inputs, &World::default()).await)
}

fn succeeded(ending: Ending) -> Value {
    match ending {
        Ending::Succeeded { output } => output,
        other => panic!("the run ended otherwise: {other:?}"),
    }
}

/// Code and message of a failed run.
fn failed(ending: Ending) -> (String, String) {
    match ending {
        Ending::Failed { error } => (error.code, error.message),
        other => panic!("the run ended otherwise: {other:?}"),
    }
}

/// FL-1: runs a flow and gives its result.
#[tokio::test(start_paused = true)]
async fn runs_the_example_of_the_contract() {
    let world = World::default();
    world.answers(
        "api://shop/order?timeout=5000",
        json!({"total": 10, "lines": [{"sku": "a"}, {"sku": "b"}]}),
    );
    let output = succeeded(run(crate::documents::ORDER_INTAKE, json!({"orderId": "O-1"}), &world).await);
    assert_eq!(output, json!({"id": "O-1", "lines": 2}));
    assert_eq!(world.keys(), ["r1:order", "r1:ship[0].send", "r1:ship[1].send"]);
}

/// FL-6: the origin's spelling runs.
#[tokio::test(start_paused = true)]
async fn runs_the_dialect_of_the_origin() {
    let text = "
flow:
  desp: Adds up
  args: {in: {name: string, prices: 'decimal[]'}, out: {text: string, total: decimal, count: int}}
  vars: |
    count = 0
    greeting = 'Hello ' + name
  node:
    say: {exec: 'api://texts/echo', args: 'text = greeting, name', sets: 'count = count + 1', next: 'sum, more'}
    sum: {with: 'total = SUM(prices), count', next: end}
    more: {sets: 'count = count + 1', next: end}
    end: {with: '...sum, text = `${say.text}`'}
";
    let output = output(text, json!({"name": "Ann", "prices": [1.5, 2]})).await;
    assert_eq!(output["text"], "Hello Ann");
    assert_eq!(output["total"], 3.5);
}

#[tokio::test(start_paused = true)]
async fn results_are_cut_to_what_the_flow_returns_and_checked() {
    let text = "
returns: {a: int, list: 'Line[]', free: any}
types: {Line: {sku: string}}
nodes: {n: {with: {a: 1, b: 2, list: [{sku: x, price: 3}], free: {c: 4}}}}
";
    assert_eq!(output(text, json!({})).await, json!({"a": 1, "list": [{"sku": "x"}], "free": {"c": 4}}));
    let wrong = text.replace("a: 1", "a: text");
    let (code, message) = failed(run(&wrong, json!({}), &World::default()).await);
    assert_eq!(code, "VALIDATION_FAILED");
    assert!(message.contains("'a'"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn inputs_get_defaults_and_are_checked() {
    let text = "
inputs: {a: int, b: 'int = a + 1', c: 'string?', d: {type: integer, maximum: 5, default: 3}}
nodes: {n: {with: '[a, b, c, d]'}}
";
    assert_eq!(output(text, json!({"a": 1})).await, json!([1, 2, null, 3]));
    let (code, message) = failed(run(text, json!({"d": 9, "e": 1}), &World::default()).await);
    assert_eq!(code, "VALIDATION_FAILED");
    for name in ["'a'", "'d'", "'e'"] {
        assert!(message.contains(name), "{message}");
    }
}

/// FL-3: names of the surroundings are seen, and explicit arguments win.
#[tokio::test(start_paused = true)]
async fn names_of_the_surroundings_are_seen() {
    let text = "nodes: {n: {with: '[tenantId, buCode, run.id, run.version, trigger.kind]'}}";
    assert_eq!(output(text, json!({})).await, json!(["t1", "b1", "r1", 1, "test"]));
}

#[tokio::test(start_paused = true)]
async fn steps_tell_what_happened() {
    let world = World::default();
    let run = world.start(
        "nodes: {a: {exec: 'api://x/y', args: {p: 1}, next: b}, b: {when: 'false', then: c}, c: {with: 1}, d: {only: 'false', with: 2}}",
        json!({}),
    );
    run.run().await;
    let steps = run.steps();
    let seen: Vec<_> = steps.iter().map(|step| (&*step.path, step.kind, step.state)).collect();
    use flow::engine::StepState::{Skipped, Succeeded};
    assert_eq!(seen, [("a", "tool", Succeeded), ("d", "mapping", Skipped), ("b", "condition", Succeeded)]);
    assert_eq!(steps[0].arguments.clone().map(Value::Object), Some(json!({"p": 1})));
    assert_eq!(steps[0].idempotency_key, "r1:a");
    assert!(matches!(run.records().last().unwrap().fact, Fact::Ended(_)));
}

/// Whoever drives many runs does so in tasks.
#[tokio::test(start_paused = true)]
async fn runs_are_driven_in_tasks() {
    let world = World::default();
    let starts: Vec<_> =
        (0..3).map(|_| world.start("nodes: {a: {exec: 'api://x/y', args: {v: 1}}}", json!({}))).collect();
    let tasks = starts.into_iter().map(|start| tokio::spawn(async move { start.run().await }));
    for task in tasks.collect::<Vec<_>>() {
        assert_eq!(succeeded(task.await.unwrap()), json!({"v": 1}));
    }
}
