//! Edges at work: parallel starts, joins, branches, failures.

use super::world::{Reply, World};
use super::{failed, output, run, succeeded};
use flow::engine::{Fact, Failure};
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;

fn slow(seconds: u64) -> [Reply; 1] {
    [Reply::Slow(Duration::from_secs(seconds), json!(seconds))]
}

/// FL-7: nodes that no edge names start at once.
#[tokio::test(start_paused = true)]
async fn start_nodes_run_in_parallel() {
    let world = World::default();
    world.replies("api://x/slow", slow(10));
    let begun = tokio::time::Instant::now();
    let text = "nodes: {a: {exec: 'api://x/slow'}, b: {exec: 'api://x/slow'}, c: {exec: 'api://x/slow'}}";
    assert_eq!(succeeded(run(text, json!({}), &world).await), json!({"a": 10, "b": 10, "c": 10}));
    assert_eq!(world.most_at_work.load(Ordering::SeqCst), 3);
    assert_eq!(begun.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn no_more_than_64_nodes_are_at_work() {
    let world = World::default();
    let nodes: Vec<_> = (0..150).map(|node| format!("n{node}: {{exec: 'api://x/y'}}")).collect();
    succeeded(run(&format!("nodes: {{{}}}", nodes.join(", ")), json!({}), &world).await);
    assert_eq!(world.most_at_work.load(Ordering::SeqCst), 64);
    assert_eq!(world.keys().len(), 150);
}

/// FL-8: a join runs once, also after a branch that died.
#[tokio::test(start_paused = true)]
async fn a_join_runs_once() {
    for (n, wanted) in [(1, json!([1, null])), (5, json!([null, 2]))] {
        let text = "
inputs: {n: int}
nodes:
  big: {when: n > 3, then: b, else: a}
  a: {exec: 'api://x/y', with: '1', next: join}
  b: {with: '2', next: join}
  join: {with: '[a, b]'}
";
        assert_eq!(output(text, json!({"n": n})).await, wanted);
    }
}

#[tokio::test(start_paused = true)]
async fn a_join_of_any_runs_with_the_first() {
    let world = World::default();
    world.replies("api://x/slow", slow(60));
    let text = "
nodes:
  fast: {exec: 'api://x/fast', args: {v: 1}, next: join}
  slow: {exec: 'api://x/slow', next: join}
  join: {with: '[fast, slow]', join: any}
";
    assert_eq!(succeeded(run(text, json!({}), &world).await), json!([{"v": 1}, null]));
}

#[tokio::test(start_paused = true)]
async fn a_switch_takes_the_first_that_is_true() {
    for (n, wanted) in [(1, "one"), (2, "two"), (9, "other")] {
        let text = "
inputs: {n: int}
nodes:
  s: {case: [{when: n == 1, then: a}, {when: 'n in [1, 2]', then: b}], else: c}
  a: {with: '\"one\"'}
  b: {with: '\"two\"'}
  c: {with: '\"other\"'}
";
        assert_eq!(output(text, json!({"n": n})).await, json!(wanted));
    }
}

/// FL-9: `fail` takes the failure, with what is known about it.
#[tokio::test(start_paused = true)]
async fn fail_takes_a_failure_with_its_error() {
    let world = World::default();
    let failure = Failure {
        status: Some(502),
        service: Some("x".into()),
        ..Failure::new("UPSTREAM_ERROR", "it broke")
    };
    world.replies("api://x/y", [Reply::Fail(failure)]);
    let text = "nodes: {a: {exec: 'api://x/y', fail: f, next: never}, never: {with: 1}, f: {with: '[a.error.code, a.error.status, a.error.service, a.error.attempts, never]'}}";
    let output = succeeded(run(text, json!({}), &world).await);
    assert_eq!(output, json!(["UPSTREAM_ERROR", 502, "x", 1, null]));
}

/// UR-2: in a draft, a malformed URI fails its node.
#[tokio::test(start_paused = true)]
async fn a_malformed_uri_leads_to_the_fail_node() {
    let text = "nodes: {a: {exec: 'api//x', fail: f}, f: {with: 'a.error.code'}}";
    assert_eq!(output(text, json!({})).await, json!("INVALID_URI"));
}

/// FL-10: a failure that nothing takes cancels what else is at work.
#[tokio::test(start_paused = true)]
async fn an_unhandled_failure_cancels_its_siblings() {
    let world = World::default();
    world.replies("api://x/bad", [Reply::Fail(Failure::new("NOT_FOUND", "no such thing"))]);
    world.replies("api://x/never", [Reply::Never]);
    let start = world.start("nodes: {a: {exec: 'api://x/bad'}, b: {exec: 'api://x/never'}, c: {wait: 1h, next: d}, d: {exec: 'api://x/y'}}", json!({}));
    let (code, _) = failed(start.run().await);
    assert_eq!(code, "NOT_FOUND");
    assert!(!world.keys().contains(&"r1:d".to_owned()));
    let cancelled =
        start.records().into_iter().filter(|record| matches!(record.fact, Fact::Cancelled { .. }));
    assert_eq!(cancelled.map(|record| record.path).collect::<Vec<_>>(), ["b", "c"]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let Some(flow::engine::Ending::Failed { error }) = start.ending() else { panic!("it failed") };
    assert_eq!(error.node.as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn the_fail_of_the_flow_takes_what_nothing_else_took() {
    let world = World::default();
    world.replies("api://x/bad", [Reply::Fail(Failure::new("NOT_FOUND", "no such thing"))]);
    let text = "
fail: sorry
nodes:
  a: {exec: 'api://x/bad', next: after}
  w: {wait: 1h, next: after}
  after: {exec: 'api://x/y'}
  sorry: {exec: 'api://mail/send', args: {code: '${run.error.code}', node: '${run.error.node}'}, next: end}
  end: {with: '[sorry.code, sorry.node, after]'}
";
    assert_eq!(succeeded(run(text, json!({}), &world).await), json!(["NOT_FOUND", "a", null]));
    assert_eq!(world.keys(), ["r1:a", "r1:sorry"]);
    // A failure of the handler is the run's; without one the handler does not run at all.
    let (code, _) = failed(run(&text.replace("api://mail/send", "api://x/bad"), json!({}), &world).await);
    assert_eq!(code, "NOT_FOUND");
    let fine = output(
        &text.replace("api://x/bad", "api://x/good").replace("'[sorry.code, sorry.node, after]'", "'1'"),
        json!({}),
    )
    .await;
    assert_eq!(fine, json!({}));
}

#[tokio::test(start_paused = true)]
async fn throw_and_return_end_the_run() {
    let text = "inputs: {n: int}\nnodes: {c: {when: n > 1, then: r, else: t}, w: {wait: 1h}, r: {return: {n: '${n}'}}, t: {throw: {code: TOO_SMALL, message: '${n} is too small'}}}";
    let world = World::default();
    assert_eq!(succeeded(run(text, json!({"n": 2}), &world).await), json!({"n": 2}));
    assert_eq!(
        failed(run(text, json!({"n": 1}), &world).await),
        ("TOO_SMALL".to_owned(), "1 is too small".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn only_passes_a_node_by() {
    let text = "nodes: {a: {exec: 'api://x/y', only: 'false', next: b}, b: {with: '[a, c]'}, c: {approval: {title: T}, only: 'null', then: d}, d: {with: 1, next: b}}";
    assert_eq!(output(text, json!({})).await, json!([null, null]));
}

#[tokio::test(start_paused = true)]
async fn vars_are_written_in_order() {
    let text = "
vars: {n: 1, list: []}
nodes:
  a: {exec: 'api://x/y', args: {v: 5}, sets: {n: '${n + a.v}', list: '${list + [n]}'}, with: 'a.v * 2', next: b}
  b: {sets: 'n = n * 10, list = list + [n]', next: c}
output: ['${n}', '${list}', '${a}']
";
    let text = text.replace(", next: c", "");
    assert_eq!(output(&text, json!({})).await, json!([60, [6, 60], 10]));
}

/// FL-17: an expression that is wrong or does too much fails its node, where it stands.
#[tokio::test(start_paused = true)]
async fn an_expression_fails_its_node() {
    let world = World::default();
    let text = "nodes:\n  a: {with: {x: '${run.nope}'}}";
    let (code, message) = failed(run(text, json!({}), &world).await);
    assert_eq!(code, "EXPRESSION");
    assert!(message.contains("nodes.a.with.x") && message.contains("line 2, column"), "{message}");
    let text = "nodes: {a: {with: '[1,2,3,4,5,6,7,8].map(a, [1,2,3,4,5,6,7,8].map(b, [1,2,3,4,5,6,7,8].map(c, [1,2,3,4,5,6,7,8].map(d, [1,2,3,4,5,6,7,8].map(e, [1,2,3,4,5,6,7,8]))))) '}}";
    assert_eq!(failed(run(text, json!({}), &world).await).0, "LIMIT");
}

/// FL-9: the flow's `fail` takes its timeout, too, and has time for it.
#[tokio::test(start_paused = true)]
async fn the_flows_fail_takes_its_timeout() {
    let text =
        "timeout: 1s\nfail: late\nnodes: {w: {wait: 1h}, late: {with: '[run.error.code, type(1) == int]'}}";
    assert_eq!(output(text, json!({})).await, json!(["TIMEOUT", true]));
}

/// FL-9: behind the flow's `fail` nothing begins that only what failed or was stopped leads to, however far behind; what the handler
/// leads to does.
#[tokio::test(start_paused = true)]
async fn nothing_begins_beside_the_handler_of_the_flow() {
    let world = World::default();
    world.replies("api://x/bad", [Reply::Fail(Failure::new("NOT_FOUND", "gone"))]);
    let text = "
fail: h
nodes:
  a: {with: '1', next: [j, k, both]}
  b: {wait: 1s, next: c}
  c: {exec: 'api://x/bad', next: [j, both]}
  j: {exec: 'api://x/j', next: [k, both]}
  k: {exec: 'api://x/k', next: l}
  l: {exec: 'api://x/l'}
  h: {exec: 'api://x/h', next: both}
  both: {exec: 'api://x/both'}
";
    succeeded(run(text, json!({}), &world).await);
    assert_eq!(world.keys(), ["r1:c", "r1:h", "r1:both"]);
}

/// FL-9: a node that is ready in the same moment does not begin either.
#[tokio::test(start_paused = true)]
async fn what_is_ready_when_the_handler_takes_over_comes_behind_it() {
    let world = World::default();
    let text = "
fail: h
nodes:
  w: {wait: 1s, next: [t, x]}
  t: {throw: {code: T, message: t}}
  x: {exec: 'api://x/x'}
  h: {wait: 1s, next: x}
";
    let start = world.start(text, json!({}));
    succeeded(start.run().await);
    assert_eq!(world.keys(), ["r1:x"]);
    let handled = start.records().iter().position(|record| record.path == "h" && is_success(&record.fact));
    let called = start.records().iter().position(|record| record.path == "x");
    assert!(handled.unwrap() < called.unwrap());
}

fn is_success(fact: &Fact) -> bool {
    matches!(fact, Fact::Succeeded { .. })
}
