//! Crashes: the process ends before or behind any write, and another goes on from the journal.

use super::world::{Reply, Run, World};
use flow::engine::{Ending, Fact, Failure, Record, Stop};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Every kind of node that writes, most of them inside of others.
const EVERYTHING: &str = "
vars: {n: 0}
fail: sorry
nodes:
  a: {exec: 'api://x/a', args: {v: 1}, sets: {n: '${n + 1}'}, next: [e, once]}
  once: {exec: 'api://x/once', delivery: at_most_once, args: {v: 2}, next: l, fail: l}
  e: {each: '[1,2,3,4,5] => x, i', limit: 2, on_error: collect, nodes: {p: {exec: 'api://x/flaky', args: {x: '${x}'}, retry: 3, next: q}, q: {when: x > 2, then: r, else: s}, r: {with: '[x, p]'}, s: {exec: 'api://x/s', args: {x: '${x}'}}}, next: j}
  l: {vars: {k: 0}, when: k < 3, nodes: {m: {exec: 'api://x/m', args: {k: '${k}'}, sets: {k: '${k + 1}'}}}, with: '${k}', next: j}
  j: {nodes: {u: {exec: 'api://x/u', args: {w: 1}}, w: {wait: 5s}, c: {each: '[1] => y', nodes: {bad: {exec: 'api://x/bad', fail: ok}, ok: {with: bad.error.code}}}}, next: t}
  t: {throw: {code: NO, message: no}}
  sorry: {exec: 'api://x/sorry', args: {code: '${run.error.code}', n: '${n}', e: '${e}', l: '${l}', j: '${j}'}}
";

/// Blocks in blocks in blocks, with vars of several loops, and an end from deep inside.
const NESTED: &str = "
vars: {log: []}
nodes:
  outer:
    each: '[1,2,3] => x'
    limit: 2
    nodes:
      l:
        vars: {i: 0}
        when: i < x
        nodes:
          inner:
            each: '[10,20] => y'
            limit: 2
            nodes:
              call: {exec: 'api://x/a', args: {v: '${x * y + i}'}, next: pick}
              pick: {case: [{when: call.v > 40, then: big}], else: small}
              big: {nodes: {p: {exec: 'api://x/b', args: {v: 1}}, q: {wait: 3s}, r: {exec: 'api://x/c', args: {v: 2}, next: r2}, r2: {with: r.v + 1}}, join: 2}
              small: {wait: 100}
          count: {join: all, sets: {i: '${i + 1}'}, with: i, next: done}
          done: {exec: 'api://x/d', args: {i: '${i}'}}
        with: '[i, x]'
  once: {exec: 'api://x/once', delivery: at_most_once, next: w, fail: w}
  w: {wait: 20s, next: e}
  e: {each: '[1,2,3] => z', nodes: {c: {exec: 'api://x/e', args: {z: '${z}'}, next: t}, t: {when: z == 2, then: r}, r: {return: {z: '${z}', w: '${w}'}}}}
";

fn world() -> World {
    let world = World::default();
    let flaky = Failure { is_retryable: true, ..Failure::new("UNAVAILABLE", "away") };
    world.replies("api://x/flaky", [Reply::Value(json!(0)), Reply::Fail(flaky), Reply::Value(json!(0))]);
    world.replies("api://x/bad", [Reply::Fail(Failure::new("NOT_FOUND", "gone"))]);
    world
}

/// What a run without accidents gives, and how many writes it takes.
async fn undisturbed(text: &str) -> (Ending, usize) {
    let run = world().start(text, json!({}));
    let ending = run.run().await;
    (ending, run.journal.writes.load(Ordering::SeqCst))
}

async fn cut_at(text: &str, write: usize, counts: bool) -> Run {
    let run = world().start(text, json!({}));
    run.journal.cuts.lock().unwrap().push((write, counts));
    run.run().await;
    run
}

/// The output without what the journal may say differently after an accident: that the one call was interrupted.
fn check(run: &Run, wanted: &Value, write: usize) {
    let Some(Ending::Succeeded { output }) = run.ending() else {
        panic!("cut at {write}: {:?}", run.ending())
    };
    assert_eq!(&output, wanted, "cut at {write}");
    let mut counts: HashMap<String, usize> = HashMap::new();
    run.world.keys().into_iter().for_each(|key| *counts.entry(key).or_default() += 1);
    assert_eq!(counts["r1:once"], 1, "cut at {write}: called twice");
    let mut ended: HashMap<String, usize> = HashMap::new();
    for record in run.records().into_iter().filter(|record| {
        matches!(
            record.fact,
            Fact::Succeeded { .. } | Fact::Failed { .. } | Fact::Skipped | Fact::Cancelled { .. }
        )
    }) {
        *ended.entry(record.path).or_default() += 1;
    }
    assert!(ended.values().all(|count| *count == 1), "cut at {write}: {ended:?}");
}

/// FL-19, FL-20, FL-21: whatever write is the last of a process, the run ends the same, every outcome is
/// recorded once, and a call that may not be made twice is not.
#[tokio::test(start_paused = true)]
async fn a_crash_at_any_write_changes_nothing() {
    survives(EVERYTHING).await;
}

/// The same, deep inside.
#[tokio::test(start_paused = true)]
async fn a_crash_inside_of_blocks_changes_nothing() {
    survives(NESTED).await;
}

async fn survives(text: &str) {
    let (ending, writes) = undisturbed(text).await;
    let Ending::Succeeded { output } = ending else { panic!("{ending:?}") };
    assert!(writes > 15, "only {writes} writes");
    for write in 1..=writes {
        for counts in [false, true] {
            // Before the write that counts the call was not made; behind it, it may have been.
            let run = cut_at(text, write, counts).await;
            if was_interrupted(&run) {
                assert!(run.world.keys().iter().filter(|key| *key == "r1:once").count() <= 1);
                assert!(matches!(run.ending(), Some(Ending::Succeeded { .. })));
            } else {
                check(&run, &output, write);
            }
        }
    }
}

/// FL-19: a call that may not be made twice fails, and its `fail` is taken.
#[tokio::test(start_paused = true)]
async fn an_interrupted_call_that_may_not_be_repeated_fails() {
    let text = "nodes: {a: {exec: 'api://x/y', delivery: at_most_once, retry: {attempts: 5, on: any}, fail: f}, f: {with: a.error.code}}";
    let run = World::default().start(text, json!({}));
    run.journal.cuts.lock().unwrap().push((2, false));
    assert_eq!(run.run().await, Ending::Succeeded { output: json!("INTERRUPTED") });
    assert_eq!(run.world.keys(), ["r1:a"]);
    // At least once is what everything else is: called again with the same key.
    let run = World::default().start(&text.replace("at_most_once", "at_least_once"), json!({}));
    run.journal.cuts.lock().unwrap().push((2, false));
    assert_eq!(run.run().await, Ending::Succeeded { output: json!({}) });
    assert_eq!(run.world.keys(), ["r1:a", "r1:a"]);
}

/// FL-19: of several calls that may not be repeated one fails; what its failure has ended begins nothing any more.
#[tokio::test(start_paused = true)]
async fn what_an_interrupted_call_has_ended_does_not_go_on() {
    let once = "exec: 'api://x/once', delivery: at_most_once";
    let text = format!(
        "nodes: {{a: {{{once}}}, b: {{{once}, fail: c}}, c: {{exec: 'api://x/y'}}, h: {{exec: 'api://x/h'}}}}\nfail: h"
    );
    let items = format!(
        "nodes: {{e: {{each: '[1, 2] => i', limit: 2, nodes: {{b: {{{once}}}}}}}, h: {{exec: 'api://x/h'}}}}\nfail: h"
    );
    for text in [text, items] {
        let run = World::default().start(&text, json!({}));
        run.journal.cuts.lock().unwrap().push((2, false));
        assert!(matches!(run.run().await, Ending::Succeeded { .. }), "{text}");
        let keys = run.world.keys();
        assert!(keys.contains(&"r1:h".to_owned()) && !keys.contains(&"r1:c".to_owned()), "{keys:?}");
    }
}

/// One commit for each tool node, and pure nodes ride along.
#[tokio::test(start_paused = true)]
async fn a_tool_node_takes_one_commit() {
    let nodes: Vec<_> = (0..20)
        .map(|n| format!("n{n}: {{exec: 'api://x/y', next: p{n}}}, p{n}: {{with: '1', next: n{}}}", n + 1))
        .collect();
    let run =
        World::default().start(&format!("nodes: {{{}, n20: {{with: '1'}}}}", nodes.join(", ")), json!({}));
    run.run().await;
    assert_eq!(run.journal.writes.load(Ordering::SeqCst), 21);
}

/// A flow of random nodes and edges.
fn flows() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec![
        "exec: 'api://x/y', args: {v: 1}",
        "exec: 'api://x/bad'",
        "exec: 'api://x/bad', delivery: at_most_once",
        "exec: 'api://x/once', delivery: at_most_once",
        "exec: 'api://x/y', only: 'false'",
        "with: '1'",
        "wait: 1s",
        "when: 'true', then: THEN, else: ELSE",
        "when: 'false', then: THEN, else: ELSE",
        "case: [{when: 'false', then: THEN}], else: ELSE",
        "each: '[1,2,3] => x', limit: 2, nodes: {i: {exec: 'api://x/y'}, k: {wait: 2s}}",
        "each: '[1,2] => x', on_error: collect, nodes: {i: {exec: 'api://x/bad'}}",
        "vars: {c: 0}, when: c < 2, nodes: {i: {exec: 'api://x/y', sets: {c: '${c + 1}'}}}",
        "nodes: {i: {exec: 'api://x/y'}, k: {exec: 'api://x/y', next: m}, m: {with: '1'}}",
        "nodes: {i: {exec: 'api://x/y'}, k: {wait: 1h}}, join: any",
        "nodes: {i: {exec: 'api://x/bad'}, k: {wait: 1h}}",
        "throw: {code: T, message: t}",
        "return: 1",
    ]);
    let node = (kind, prop::collection::vec(any::<prop::sample::Index>(), 5), 0..8u8);
    let handler = (0..3u8, any::<prop::sample::Index>());
    (prop::collection::vec(node, 2..9), handler).prop_map(|(nodes, (handler, pick))| {
        let count = nodes.len();
        // The flow's `fail` is none, a node of its own that leads to another, or any node.
        let picked = format!("n{}", pick.index(count + 1));
        let handler = match handler {
            0 => String::new(),
            1 => format!("  h: {{exec: 'api://x/h', next: {picked}}}\nfail: h\n"),
            _ => format!("fail: {picked}\n"),
        };
        // Edges lead forward only; the last node has none.
        let lines = nodes.into_iter().enumerate().map(|(at, (kind, picks, flags))| {
            let later = |pick: usize| format!("n{}", at + 1 + picks[pick].index((count - at).max(1)));
            let mut line = kind.replace("THEN", &later(0)).replace("ELSE", &later(1));
            if flags & 1 != 0 {
                line += &format!(", next: [{}, {}]", later(2), later(3));
            }
            if flags & 2 != 0 {
                line += &format!(", fail: {}", later(4));
            }
            if flags & 4 != 0 && !line.contains("join") {
                line += ", join: any";
            }
            format!("  n{at}: {{{line}}}\n")
        });
        let lines: String = lines.collect();
        format!("nodes:\n{lines}  n{count}: {{with: '1'}}\n{handler}")
    })
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    /// FL-8, FL-19: every run of a random flow ends; cut off at up to three writes it ends the same way, unless an
    /// accident hit a call that may not be repeated.
    #[test]
    fn random_flows_end_and_survive(text in flows(), cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..4)) {
        block_on(async {
            let whole = world().start(&text, json!({}));
            let ending = whole.run().await;
            let writes = whole.journal.writes.load(Ordering::SeqCst);
            let hurt = world().start(&text, json!({}));
            let cuts = cuts.iter().map(|(cut, counts)| (cut.index(writes) + 1, *counts));
            hurt.journal.cuts.lock().unwrap().extend(cuts);
            let other = hurt.run().await;
            prop_assert!(was_interrupted(&hurt) || other == ending, "{text}\n{ending:?}\n{other:?}");
            let mut calls: HashMap<(String, u32), usize> = HashMap::new();
            for call in hurt.world.calls.lock().unwrap().iter().filter(|call| call.target == "api://x/once") {
                *calls.entry((call.key.clone(), call.attempt)).or_default() += 1;
            }
            prop_assert!(calls.values().all(|count| *count == 1), "{text}: {calls:?}");
            for run in [&whole, &hurt] {
                prop_assert_eq!(beside_the_handler(&text, run), Vec::<String>::new(), "{}", text);
            }
            Ok(())
        })?;
    }

    /// FL-22: whenever somebody cancels a random flow, it ends, and nothing begins any more.
    #[test]
    fn random_flows_are_cancelled(text in flows(), milliseconds in 0..3000u64) {
        block_on(async {
            let run = world().start(&text, json!({}));
            let cancel = async {
                tokio::time::sleep(Duration::from_millis(milliseconds)).await;
                run.tell("", Fact::Cancel);
            };
            let ((), ()) = tokio::join!(async { while run.drive().await == Ok(Stop::Parked) { tokio::time::sleep(Duration::from_millis(100)).await; } }, cancel);
            prop_assert!(run.ending().is_some());
            let records = run.records();
            let cancelled = records.iter().position(|record| record.fact == Fact::Cancel).unwrap();
            let begins = |record: &&Record| matches!(record.fact, Fact::Called { .. } | Fact::Again | Fact::Entered { .. });
            // What was decided in the same moment may still be written.
            let late = records[cancelled..].iter().filter(begins).filter(|record| record.at > records[cancelled].at).count();
            prop_assert_eq!(late, 0, "{}", text);
            Ok(())
        })?;
    }
}

fn was_interrupted(run: &Run) -> bool {
    let is_interruption =
        |record: &Record| matches!(&record.fact, Fact::Failed { error, .. } if error.code == "INTERRUPTED");
    run.records().iter().any(is_interruption)
}

/// What began behind the flow's `fail` although that does not lead there.
fn beside_the_handler(text: &str, run: &Run) -> Vec<String> {
    let edges = flow::picture(&run.flow).edges;
    let mut led: HashSet<String> =
        text.lines().filter_map(|line| line.strip_prefix("fail: ")).map(str::to_owned).collect();
    while let Some(edge) = edges.iter().find(|edge| led.contains(&edge.from) && !led.contains(&edge.to)) {
        led.insert(edge.to.clone());
    }
    let records = run.records();
    let behind = records.iter().skip_while(|record| !matches!(record.fact, Fact::Caught { .. }));
    let begun = behind.filter(|record| {
        matches!(record.fact, Fact::Called { .. } | Fact::Again | Fact::Entered { .. } | Fact::Waiting(_))
    });
    let top = |record: &Record| record.path.split(['.', '[']).next().unwrap_or_default().to_owned();
    begun.map(top).filter(|node| !led.contains(node)).collect()
}
