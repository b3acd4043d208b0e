//! Calls: keys, attempts, time, children, what publishing bound, cancelling.

use super::world::{Reply, World};
use super::{failed, output, run, succeeded};
use flow::Bound;
use flow::engine::{Ending, Fact, Failure, Stop};
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

fn retryable() -> Reply {
    Reply::Fail(Failure { is_retryable: true, ..Failure::new("UNAVAILABLE", "away") })
}

/// FL-20: every attempt has the same key; FL-13: pauses grow and are kept over restarts.
#[tokio::test(start_paused = true)]
async fn attempts_share_a_key_and_pause_between() {
    let world = World::default();
    world.replies("api://x/y", [retryable(), retryable(), Reply::Value(json!("ok"))]);
    let begun = tokio::time::Instant::now();
    assert_eq!(
        succeeded(run("nodes: {a: {exec: 'api://x/y', retry: 3}}", json!({}), &world).await),
        json!("ok")
    );
    assert_eq!(world.keys(), ["r1:a", "r1:a", "r1:a"]);
    let attempts: Vec<_> = world.calls.lock().unwrap().iter().map(|call| call.attempt).collect();
    assert_eq!(attempts, [1, 2, 3]);
    assert_eq!(begun.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_is_tried_again_is_the_authors_choice() {
    let fatal = || Reply::Fail(Failure::new("NOT_FOUND", "gone"));
    for (retry, replies, calls) in [
        ("3", vec![fatal()], 1),
        ("3", vec![retryable()], 3),
        ("{attempts: 2, on: any}", vec![fatal()], 2),
        ("{attempts: 4, on: [NOT_FOUND]}", vec![fatal(), fatal(), retryable()], 3),
        ("{attempts: 9, delay: 4s, factor: 1}, timeout: 10s", vec![retryable()], 3),
    ] {
        let world = World::default();
        world.replies("api://x/y", replies);
        let text = format!(
            "nodes: {{a: {{exec: 'api://x/y', retry: {retry}, fail: f}}, f: {{with: a.error.attempts}}}}"
        );
        assert_eq!(succeeded(run(&text, json!({}), &world).await), json!(calls), "{retry}");
        assert_eq!(world.keys().len(), calls, "{retry}");
    }
}

/// FL-13: with `retry: 3` what may pass is tried again, and what would be the same again is not; a call that is made at most
/// once is made again only where it surely was not made.
#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again() {
    let answered = |status| Failure { status: Some(status), ..Failure::new("UPSTREAM_ERROR", "no") };
    let tried = async |failure: Failure, more: &str| {
        let world = World::default();
        world.replies("api://x/y", [Reply::Fail(failure)]);
        let text = format!("nodes: {{a: {{exec: 'api://x/y', retry: 3{more}}}}}");
        failed(run(&text, json!({}), &world).await);
        world.keys().len()
    };
    for status in [408, 425, 429, 500, 501, 502, 503, 504] {
        assert_eq!(tried(answered(status), "").await, 3, "{status}");
        assert_eq!(tried(answered(status), ", delivery: at_least_once").await, 3, "{status}");
        assert_eq!(tried(answered(status), ", delivery: at_most_once").await, 1, "{status}");
    }
    for status in [400, 401, 403, 404, 409, 422] {
        assert_eq!(tried(answered(status), "").await, 1, "{status}");
    }
    let unsure = || {
        serde_json::from_value(json!({ "code": "TIMEOUT", "message": "late", "is_in_doubt": true })).unwrap()
    };
    assert_eq!(tried(unsure(), "").await, 3);
    assert_eq!(tried(unsure(), ", delivery: at_most_once").await, 1);
    let unsent = || Failure { is_retryable: true, ..Failure::new("UNAVAILABLE", "nobody listens") };
    assert_eq!(tried(unsent(), ", delivery: at_most_once").await, 3);
    assert_eq!(tried(Failure::new("TIMEOUT", "a flow threw it"), "").await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_cancelled() {
    let world = World::default();
    world.replies("api://x/y", [Reply::Never]);
    let text = "nodes: {a: {exec: 'api://x/y', timeout: 2s, fail: f}, f: {exec: 'api://x/z', args: {c: '${a.error.code}'}, with: f.c}}";
    assert_eq!(succeeded(run(text, json!({}), &world).await), json!("TIMEOUT"));
    assert_eq!(world.cancelled.load(Ordering::SeqCst), 1);
}

/// FL-16: what publishing bound by name is given, unless the author gave it or it is not there.
#[tokio::test(start_paused = true)]
async fn bound_parameters_are_given() {
    let world = World::default();
    let bound = |parameter: &str, name: &str| Bound {
        node: "nodes.a".to_owned(),
        parameter: parameter.to_owned(),
        name: name.to_owned(),
    };
    let start = world.start(
        "inputs: {id: int, other: 'int?'}\nnodes: {a: {exec: 'api://x/y', args: {given: 1}}}",
        json!({"id": 7}),
    );
    let start = start.bind(vec![
        bound("id", "id"),
        bound("given", "id"),
        bound("other", "other"),
        bound("tenantId", "tenantId"),
    ]);
    assert_eq!(succeeded(start.run().await), json!({"given": 1, "id": 7, "tenantId": "t1"}));
}

/// A sub-flow that takes long runs by itself: the run of the parent is given back meanwhile.
#[tokio::test(start_paused = true)]
async fn a_child_parks_its_parent() {
    let world = World::default();
    world.replies("flow://child", [Reply::Child("r2".to_owned())]);
    let start = world
        .start("nodes: {a: {flow: child, args: {x: 1}, fail: f}, f: {with: a.error.message}}", json!({}));
    assert_eq!(start.drive().await, Ok(Stop::Parked));
    start.tell("a", Fact::ChildEnded(Ok(json!({"done": true}))));
    assert_eq!(succeeded(start.run().await), json!({"done": true}));

    let start = world.start("nodes: {a: {flow: child, fail: f}, f: {with: a.error.message}}", json!({}));
    assert_eq!(start.drive().await, Ok(Stop::Parked));
    start.tell("a", Fact::ChildEnded(Err(Failure::new("NO", "it went wrong"))));
    assert_eq!(succeeded(start.run().await), json!("it went wrong"));
}

/// FL-13: a child that failed is called again as `retry` says, also when the run was taken up from its journal meanwhile.
#[tokio::test(start_paused = true)]
async fn a_child_that_failed_is_tried_again() {
    let world = World::default();
    world.replies("flow://child", [Reply::Child("r2".to_owned()), Reply::Child("r3".to_owned())]);
    let text = "nodes: {a: {flow: child, retry: {attempts: 2, delay: 1s, on: any}}}";
    let start = world.start(text, json!({}));
    assert_eq!(start.drive().await, Ok(Stop::Parked));
    start.tell("a", Fact::ChildEnded(Err(Failure::new("NO", "it went wrong"))));
    assert_eq!(start.drive().await, Ok(Stop::Parked), "it waits to be tried again");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(start.drive().await, Ok(Stop::Parked), "it waits for the second child");
    assert_eq!(world.calls.lock().unwrap().iter().map(|call| call.attempt).collect::<Vec<_>>(), [1, 2]);
    start.tell("a", Fact::ChildEnded(Ok(json!("done"))));
    assert_eq!(succeeded(start.run().await), json!("done"));
}

/// A child that ends before its parent waits for it is not waited for for ever, also when the parent is taken up again.
#[tokio::test(start_paused = true)]
async fn a_child_that_ends_at_once_is_not_missed() {
    for is_cut in [false, true] {
        let world = World::default();
        world.replies(
            "flow://child",
            [Reply::Slow(Duration::from_secs(1), json!(0)), Reply::Child("r2".to_owned())],
        );
        let start = world.start("nodes: {s: {exec: 'flow://child', next: a}, a: {flow: child}}", json!({}));
        if is_cut {
            start.journal.cuts.lock().unwrap().push((3, true));
        }
        world.before_child(&start, "a", json!({"done": true}));
        assert_eq!(succeeded(start.run().await), json!({"done": true}));
    }
}

/// FL-22: cancelling reaches calls and children.
#[tokio::test(start_paused = true)]
async fn cancel_reaches_calls_and_children() {
    let world = World::default();
    world.replies("api://x/never", [Reply::Never]);
    world.replies("flow://child", [Reply::Child("r2".to_owned())]);
    let start = world.start("nodes: {a: {exec: 'api://x/never'}, b: {flow: child}, c: {nodes: {d: {wait: 1d}}, next: e}, e: {exec: 'api://x/y'}}", json!({}));
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        start.tell("", Fact::Cancel);
    };
    let begun = tokio::time::Instant::now();
    let (stop, ()) = tokio::join!(start.drive(), cancel);
    assert_eq!(stop, Ok(Stop::Ended));
    assert!(begun.elapsed().as_secs() < 5);
    assert_eq!(start.ending(), Some(Ending::Cancelled));
    assert_eq!(world.cancelled.load(Ordering::SeqCst), 1);
    let cancelled: Vec<_> = start
        .records()
        .into_iter()
        .filter_map(|record| match record.fact {
            Fact::Cancelled { child } => Some((record.path, child)),
            _ => None,
        })
        .collect();
    let none = |path: &str| (path.to_owned(), None);
    assert_eq!(cancelled, [none("a"), ("b".to_owned(), Some("r2".to_owned())), none("c.d"), none("c")]);
}

#[tokio::test(start_paused = true)]
async fn pause_starts_nothing_new() {
    let world = World::default();
    world.replies("api://x/slow", [Reply::Slow(Duration::from_secs(5), json!(1))]);
    let start = world.start(
        "nodes: {a: {exec: 'api://x/slow', next: b}, b: {exec: 'api://x/y', args: {v: '${a}'}}}",
        json!({}),
    );
    let pause = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        start.tell("", Fact::Pause);
    };
    let (stop, ()) = tokio::join!(start.drive(), pause);
    assert_eq!(stop, Ok(Stop::Parked));
    assert_eq!(world.keys(), ["r1:a"]);
    assert_eq!(start.drive().await, Ok(Stop::Parked));
    start.tell("", Fact::Resume);
    assert_eq!(succeeded(start.run().await), json!({"v": 1}));
}

/// FL-23: retry runs what failed again, and nothing else.
#[tokio::test(start_paused = true)]
async fn retry_runs_failed_nodes_again() {
    let world = World::default();
    let bad = || Reply::Fail(Failure::new("NOT_FOUND", "gone"));
    world.replies("api://x/y", [Reply::Value(json!(1)), bad(), Reply::Value(json!(2))]);
    let text = "fail: sorry\nnodes: {first: {exec: 'api://x/one', next: e}, e: {each: '[1,2,3] => x', nodes: {a: {exec: 'api://x/y'}}}, sorry: {exec: 'api://x/sorry', next: t}, t: {throw: {code: SORRY, message: s}}}";
    let start = world.start(text, json!({}));
    assert_eq!(failed(start.run().await).0, "SORRY");
    start.tell("", Fact::Retry);
    assert_eq!(succeeded(start.run().await), json!([1, 2, 2]));
    assert_eq!(world.keys(), ["r1:first", "r1:e[0].a", "r1:e[1].a", "r1:sorry", "r1:e[1].a", "r1:e[2].a"]);
}

/// FL-23: a retry has all its time again.
#[tokio::test(start_paused = true)]
async fn a_retry_begins_its_time_anew() {
    let world = World::default();
    world.replies("api://x/y", [Reply::Never, Reply::Slow(Duration::from_secs(2), json!("late"))]);
    let start =
        world.start("timeout: 10s\nnodes: {b: {timeout: 5s, nodes: {a: {exec: 'api://x/y'}}}}", json!({}));
    assert_eq!(failed(start.run().await).0, "TIMEOUT");
    tokio::time::sleep(Duration::from_secs(60)).await;
    start.tell("", Fact::Retry);
    assert_eq!(succeeded(start.run().await), json!({"a": "late"}));
}

/// FL-23: a replay begins with what ended before the node it goes on from.
#[tokio::test(start_paused = true)]
async fn replay_copies_what_came_before() {
    let world = World::default();
    let text = "inputs: {n: int}\nvars: {k: 0}\nnodes: {a: {exec: 'api://x/a', args: {v: '${n}'}, sets: {k: '${k + 5}'}, next: b}, b: {exec: 'api://x/b', next: c}, c: {with: '[a.v, n, k]'}, d: {exec: 'api://x/d'}}\noutput: '${c}'";
    let first = world.start(text, json!({"n": 1}));
    assert_eq!(succeeded(first.run().await), json!([1, 1, 5]));
    let again = world.start(text, json!({"n": 2}));
    let copied = flow::engine::copied(&first.flow, &first.records(), "b").unwrap();
    again.journal.records.lock().unwrap().extend(copied);
    assert_eq!(succeeded(again.run().await), json!([1, 2, 5]));
    assert_eq!(world.keys().into_iter().skip(3).collect::<Vec<_>>(), ["r1:b"]);
    assert!(flow::engine::copied(&first.flow, &[], "nope").is_none());
}

/// FL-23: what nodes wrote inside of each, loops and blocks is there for a replay, also of those that failed in the end, and in
/// the order in which it was written.
#[tokio::test(start_paused = true)]
async fn replay_brings_along_what_was_written_inside() {
    let world = World::default();
    world.replies("api://x/bad", [Reply::Fail(Failure::new("NOT_FOUND", "gone"))]);
    let text = "
vars: {n: 0, last: none, seen: []}
nodes:
  e: {each: '[1,2,3] => x', nodes: {p: {exec: 'api://x/p', sets: {n: '${n + x}', last: e}}}, next: l}
  l: {vars: {i: 0}, when: i < 2, nodes: {q: {with: i, sets: {i: '${i + 1}', seen: '${seen + [i]}'}}}, next: f}
  f: {nodes: {r: {with: '1', sets: {n: '${n * 10}'}, next: s}, s: {exec: 'api://x/bad'}}, fail: t, next: t}
  t: {with: '2', sets: {last: t}, next: b}
  b: {exec: 'api://x/b', next: c}
  c: {with: '[n, last, seen]'}
";
    let first = world.start(text, json!({}));
    let wanted = json!([60, "t", [1, 2]]);
    assert_eq!(succeeded(first.run().await), wanted);
    for (from, calls) in [("b", 1), ("c", 0)] {
        let before = world.keys().len();
        let again = world.start(text, json!({}));
        let copied = flow::engine::copied(&first.flow, &first.records(), from).unwrap();
        again.journal.records.lock().unwrap().extend(copied);
        assert_eq!(succeeded(again.run().await), wanted, "from {from}");
        assert_eq!(world.keys().len() - before, calls, "from {from}");
        // What was brought along is there for another replay, too.
        let third = world.start(text, json!({}));
        let copied = flow::engine::copied(&again.flow, &again.records(), "c").unwrap();
        third.journal.records.lock().unwrap().extend(copied);
        assert_eq!(succeeded(third.run().await), wanted, "from {from}, then c");
        // What is done again writes again, and nothing of it is there before.
        let fourth = world.start(text, json!({}));
        let copied = flow::engine::copied(&again.flow, &again.records(), "l").unwrap();
        fourth.journal.records.lock().unwrap().extend(copied);
        assert_eq!(succeeded(fourth.run().await), wanted, "from {from}, then l");
    }
}

#[tokio::test(start_paused = true)]
async fn handoffs_are_counted_and_give_context() {
    let world = World::default();
    let text = "vars: {i: 0, topic: money}\nnodes: {l: {when: i < 9, nodes: {h: {handoff: 'agent://b', context: [topic], reason: 'no ${i}', sets: {i: '${i + 1}'}}}}}";
    let (code, _) = failed(run(text, json!({}), &world).await);
    assert_eq!((code.as_str(), world.keys().len()), ("LIMIT", 5));
    let arguments = world.calls.lock().unwrap()[1].arguments.clone();
    assert_eq!(json!(arguments), json!({"context": {"topic": "money"}, "prompt": "no 1"}));
    let asked = "nodes: {h: {handoff: 'agent://b', args: {prompt: Refund it}, reason: money}}";
    run(asked, json!({}), &world).await;
    let arguments = world.calls.lock().unwrap().last().unwrap().arguments.clone();
    assert_eq!(json!(arguments), json!({"context": {"reason": "money"}, "prompt": "Refund it"}));
}

/// A handoff that fails is one, too.
#[tokio::test(start_paused = true)]
async fn handoffs_that_fail_are_counted() {
    let world = World::default();
    world.replies("agent://b", [Reply::Fail(Failure::new("UPSTREAM", "no"))]);
    let text = "vars: {i: 0}\nnodes: {l: {when: i < 9, nodes: {h: {handoff: 'agent://b', reason: x, fail: n}, n: {sets: {i: '${i + 1}'}}}}}";
    succeeded(run(text, json!({}), &world).await);
    assert_eq!(world.keys().len(), 5);
}

/// What is spread into `sets` writes declared vars alone: no input, no node, nothing of ours.
#[tokio::test(start_paused = true)]
async fn spread_sets_write_declared_vars_alone() {
    let text = "inputs: {x: any}\nvars: {v: 0}\nnodes: {a: {sets: '...x', next: b, fail: f}, b: {with: v}, f: {with: a.error}}";
    assert_eq!(output(text, json!({"x": {"v": 5}})).await, json!(5));
    for name in ["x", "a", "tenantId", "run", "other"] {
        let failed = output(text, json!({"x": {"v": 5, name: 1}})).await;
        assert_eq!(failed["code"], "EXPRESSION", "{name}");
        assert!(failed["message"].as_str().unwrap().contains(&format!("'{name}'")), "{failed}");
    }
    let looped = "nodes: {l: {vars: {i: 0}, when: i < 3, nodes: {a: {with: {i: '${i + 1}'}, next: b}, b: {sets: '...a'}}, with: i}}";
    assert_eq!(output(looped, json!({})).await, json!(3));
}

#[tokio::test(start_paused = true)]
async fn runs_have_limits() {
    let world = World::default();
    let text = "vars: {t: '${\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}'}\nnodes: {l: {when: 'true', max: 100000, nodes: {a: {with: '1'}}}}";
    let (code, message) = failed(run(text, json!({}), &world).await);
    assert_eq!(code, "LIMIT");
    assert!(message.contains("50000 steps"), "{message}");
    world.answers("api://x/y", json!("x".repeat(2 * 1024 * 1024)));
    assert_eq!(failed(run("nodes: {a: {exec: 'api://x/y'}}", json!({}), &world).await).0, "LIMIT");
}

/// A small document cannot make much of a large value.
#[tokio::test(start_paused = true)]
async fn many_copies_of_a_large_value_are_too_much() {
    let world = World::default();
    let copies: Vec<_> = (0..1000).map(|n| format!("c{n}: '${{t}}'")).collect();
    let copies = copies.join(", ");
    for text in [
        format!("inputs: {{t: string}}\nnodes: {{a: {{with: {{{copies}}}}}}}"),
        format!("inputs: {{t: string}}\nnodes: {{a: {{exec: 'api://x/y', args: {{{copies}}}}}}}"),
        format!(
            "inputs: {{t: string}}\nvars: {{{}}}\nnodes: {{a: {{with: '1'}}}}",
            &copies[..copies.find(", c499").unwrap()]
        ),
        format!(
            "inputs: {{t: string}}\nvars: {{v: 1}}\nnodes: {{a: {{with: '1', sets: 'v = [{}]'}}}}",
            vec!["t"; 1000].join(", ")
        ),
    ] {
        let begun = std::time::Instant::now();
        assert_eq!(failed(run(&text, json!({"t": "x".repeat(400_000)}), &world).await).0, "LIMIT");
        assert!(begun.elapsed().as_secs() < 10);
    }
    assert!(world.keys().is_empty());
}

/// The fault SIGTERM: what ends in time is recorded, nothing new begins, and whoever has the run next goes on.
#[tokio::test(start_paused = true)]
async fn a_driver_that_is_stopped_keeps_what_ends_in_time() {
    let world = World::default();
    world.replies("api://x/slow", [Reply::Slow(Duration::from_secs(3), json!(1))]);
    let start = world.start(
        "nodes: {a: {exec: 'api://x/slow', delivery: at_most_once, next: b}, b: {exec: 'api://x/y', args: {v: '${a}'}}}",
        json!({}),
    );
    let stop = CancellationToken::new();
    let stopping = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        stop.cancel();
    };
    let (stopped, ()) = tokio::join!(start.drive_until(&stop), stopping);
    assert_eq!(stopped, Ok(Stop::Stopped));
    assert_eq!(world.keys(), ["r1:a"]);
    assert_eq!(succeeded(start.run().await), json!({"v": 1}));
    assert_eq!(world.keys(), ["r1:a", "r1:b"]);
}
