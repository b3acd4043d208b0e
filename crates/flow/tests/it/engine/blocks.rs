//! Nodes with nodes inside.

use super::world::{Reply, World};
use super::{failed, output, run, succeeded};
use flow::engine::Failure;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// FL-11: results stand in the order of the items, and no more are at work than the limit says.
#[tokio::test(start_paused = true)]
async fn each_keeps_order_and_limit() {
    let world = World::default();
    let times = (0..10).map(|n| Reply::Slow(Duration::from_secs(10 - n), json!(n)));
    world.replies("api://x/slow", times);
    let text = "nodes: {e: {each: '[1,2,3,4,5,6,7,8,9,10] => x, i', limit: 4, nodes: {a: {exec: 'api://x/slow', args: {i: '${i}'}, next: b}, b: {with: '[x, i, a]'}}}}";
    let output = succeeded(run(text, json!({}), &world).await);
    let wanted: Vec<_> = (0..10).map(|n| json!([n + 1, n, n])).collect();
    assert_eq!(output, json!(wanted));
    assert_eq!(world.most_at_work.load(Ordering::SeqCst), 4);
    assert_eq!(world.keys()[3], "r1:e[3].a");
}

#[tokio::test(start_paused = true)]
async fn each_takes_objects_and_null_and_refuses_the_rest() {
    for (list, wanted) in
        [("{'a': 1, 'b': 2}", json!([["a", 1], ["b", 2]])), ("null", json!([])), ("[]", json!([]))]
    {
        let text =
            format!("nodes: {{e: {{each: \"{list} => x\", nodes: {{n: {{with: '[x.key, x.val]'}}}}}}}}");
        assert_eq!(output(&text, json!({})).await, wanted);
    }
    let text = "nodes: {e: {each: '5 => x', nodes: {n: {with: 'x'}}}}";
    assert_eq!(failed(run(text, json!({}), &World::default()).await).0, "EXPRESSION");
}

#[tokio::test(start_paused = true)]
async fn each_stops_at_a_failure_or_collects_it() {
    let world = World::default();
    let bad = || Reply::Fail(Failure::new("NOT_FOUND", "gone"));
    let text = |on_error: &str| {
        format!(
            "nodes: {{e: {{each: '[1,2,3] => x', on_error: {on_error}, nodes: {{a: {{exec: 'api://x/y', next: b}}, b: {{with: x}}, c: {{with: 7}}}}}}}}"
        )
    };
    world.replies("api://x/y", [Reply::Value(json!(1)), bad(), Reply::Value(json!(3))]);
    let output = succeeded(run(&text("collect"), json!({}), &world).await);
    assert_eq!(output[0], json!({"b": 1, "c": 7}));
    assert_eq!(output[1]["error"]["code"], "NOT_FOUND");
    assert_eq!(output[1]["error"]["node"], "e[1].a");
    assert_eq!(output[2], json!({"b": 3, "c": 7}));
    world.replies("api://x/y", [Reply::Value(json!(1)), bad(), Reply::Value(json!(3))]);
    assert_eq!(failed(run(&text("stop"), json!({}), &world).await).0, "NOT_FOUND");
}

/// FL-12: a loop ends when its condition does, and at `max`.
#[tokio::test(start_paused = true)]
async fn loops_end() {
    let text = "nodes: {l: {vars: {i: 0, sum: 0}, when: i < 4, nodes: {a: {exec: 'api://x/y', args: {i: '${i}'}, sets: {sum: '${sum + a.i}', i: '${i + 1}'}}}, with: '[i, sum]'}}";
    assert_eq!(output(text, json!({})).await, json!([4, 6]));
    assert_eq!(output(&text.replace("i < 4", "true, max: 7"), json!({})).await, json!([7, 21]));
    assert_eq!(output(&text.replace("i < 4", "false"), json!({})).await, json!([0, 0]));
    let world = World::default();
    succeeded(run(text, json!({}), &world).await);
    assert_eq!(world.keys(), ["r1:l[0].a", "r1:l[1].a", "r1:l[2].a", "r1:l[3].a"]);
}

#[tokio::test(start_paused = true)]
async fn a_block_is_one_node_of_branches() {
    let world = World::default();
    world.replies("api://x/slow", [Reply::Slow(Duration::from_secs(60), json!("slow"))]);
    let text = "nodes: {b: {nodes: {p: {exec: 'api://x/fast', with: '1', next: p2}, p2: {with: p + 1}, q: {exec: 'api://x/slow'}}, join: all, next: after}, after: {with: b}}";
    assert_eq!(succeeded(run(text, json!({}), &world).await), json!({"p2": 2, "q": "slow"}));
    let first = text.replace("join: all", "join: any");
    let begun = tokio::time::Instant::now();
    assert_eq!(succeeded(run(&first, json!({}), &world).await), json!({"p2": 2}));
    assert!(begun.elapsed().as_secs() < 5);
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(world.keys()[0], "r1:b.p");
}

#[tokio::test(start_paused = true)]
async fn a_failure_inside_is_taken_outside() {
    let text = "nodes: {b: {nodes: {i: {each: '[1] => x', nodes: {t: {throw: {code: NO, message: no}}}}, w: {wait: 1h}}, fail: f}, f: {with: '[b.error.code, b.error.node]'}}";
    assert_eq!(output(text, json!({})).await, json!(["NO", "b.i[0].t"]));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_covers_everything_inside() {
    let world = World::default();
    world.replies("api://x/never", [Reply::Never]);
    let text = "nodes: {b: {timeout: 5s, nodes: {e: {each: '[1,2] => x', limit: 2, nodes: {a: {exec: 'api://x/never'}}}}, fail: f}, f: {with: b.error.code}}";
    let begun = tokio::time::Instant::now();
    assert_eq!(succeeded(run(text, json!({}), &world).await), json!("TIMEOUT"));
    assert_eq!(begun.elapsed().as_secs(), 5);
    let whole = "timeout: 3s\nnodes: {a: {exec: 'api://x/never'}}";
    assert_eq!(failed(run(whole, json!({}), &world).await).0, "TIMEOUT");
}
