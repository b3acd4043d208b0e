//! Settling of edges, alone and over random graphs.

use flow::settle::{Edge, Exit, Graph, Join, Port, Standing, settle};
use proptest::prelude::*;

fn next(to: usize) -> Edge {
    Edge { to, port: Port::Next }
}

fn graph(joins: Vec<Join>, edges: Vec<Vec<Edge>>) -> Graph {
    Graph::new(joins, edges, None).unwrap()
}

/// FL-8: a join after a branch runs once, and does not wait for the branch that died.
#[test]
fn a_join_after_a_dead_branch_runs() {
    let branch = |to, branch| Edge { to, port: Port::Branch(branch) };
    // 0 chooses 1 or 2; both lead to 3.
    let graph = graph(
        vec![Join::All; 4],
        vec![vec![branch(1, 0), branch(2, 1)], vec![next(3)], vec![next(3)], vec![]],
    );
    let mut exits = vec![None; 4];
    assert_eq!(
        settle(&graph, &exits, false),
        [Standing::Ready, Standing::Blocked, Standing::Blocked, Standing::Blocked]
    );
    exits[0] = Some(Exit::NextAnd(0));
    assert_eq!(
        settle(&graph, &exits, false),
        [Standing::Ended, Standing::Ready, Standing::Skipped, Standing::Blocked]
    );
    exits[1] = Some(Exit::Next);
    assert_eq!(
        settle(&graph, &exits, false),
        [Standing::Ended, Standing::Ended, Standing::Skipped, Standing::Ready]
    );
}

#[test]
fn a_join_of_some_runs_when_so_many_are_taken_and_is_skipped_when_they_cannot_be() {
    let edges = vec![vec![next(3)], vec![next(3)], vec![next(3)], vec![]];
    let of = |join| graph(vec![Join::All, Join::All, Join::All, join], edges.clone());
    let stands = |join, exits: [Option<Exit>; 4]| settle(&of(join), &exits, false)[3];
    let (yes, no) = (Some(Exit::Next), Some(Exit::Nowhere));
    assert_eq!(stands(Join::Count(1), [yes, None, None, None]), Standing::Ready);
    assert_eq!(stands(Join::Count(2), [yes, None, None, None]), Standing::Blocked);
    assert_eq!(stands(Join::Count(2), [yes, no, yes, None]), Standing::Ready);
    assert_eq!(stands(Join::Count(2), [no, None, no, None]), Standing::Skipped);
    assert_eq!(stands(Join::Count(9), [yes, yes, yes, None]), Standing::Ready);
    assert_eq!(stands(Join::All, [yes, no, None, None]), Standing::Blocked);
    assert_eq!(stands(Join::All, [no, no, no, None]), Standing::Skipped);
}

/// FL-9: a failure takes `fail` and nothing else.
#[test]
fn a_failure_takes_its_edge() {
    let fail = Edge { to: 2, port: Port::Fail };
    let graph = graph(vec![Join::All; 3], vec![vec![next(1), fail], vec![], vec![]]);
    let standings = settle(&graph, &[Some(Exit::Fail), None, None], false);
    assert_eq!(standings, [Standing::Ended, Standing::Skipped, Standing::Ready]);
}

#[test]
fn the_handler_of_a_flow_runs_only_when_it_is_given_a_failure() {
    let graph = Graph::new(vec![Join::All; 3], vec![vec![], vec![next(2)], vec![]], Some(1)).unwrap();
    let exits = [Some(Exit::Nowhere), None, None];
    assert_eq!(settle(&graph, &exits, false), [Standing::Ended, Standing::Skipped, Standing::Skipped]);
    assert_eq!(settle(&graph, &exits, true), [Standing::Ended, Standing::Ready, Standing::Blocked]);
}

#[test]
fn circles_are_named() {
    let circle = Graph::new(
        vec![Join::All; 4],
        vec![vec![next(1)], vec![next(2)], vec![next(1), next(3)], vec![]],
        None,
    );
    let mut nodes = circle.unwrap_err();
    nodes.sort_unstable();
    assert_eq!(nodes, [1, 2]);
}

/// Edges lead to nodes of a higher number, so there are no circles.
fn graphs() -> impl Strategy<Value = (Graph, Vec<Exit>, Vec<usize>)> {
    (2..20usize).prop_flat_map(|count| {
        let port = prop_oneof![Just(Port::Next), (0..3usize).prop_map(Port::Branch), Just(Port::Fail)];
        let join = prop_oneof![3 => Just(Join::All), 1 => (1..4usize).prop_map(Join::Count)];
        let exit = prop_oneof![
            4 => Just(Exit::Next),
            2 => (0..3usize).prop_map(Exit::NextAnd),
            1 => (0..3usize).prop_map(Exit::Branch),
            1 => Just(Exit::Fail),
            1 => Just(Exit::Nowhere),
        ];
        let edges = prop::collection::vec((0..count, 0..count, port), 0..count * 3);
        let (joins, exits) = (prop::collection::vec(join, count), prop::collection::vec(exit, count));
        (edges, joins, exits, prop::collection::vec(any::<prop::sample::Index>(), count), prop::bool::ANY)
            .prop_map(move |(pairs, joins, exits, turns, has_handler)| {
                let mut edges = vec![Vec::new(); count];
                for (a, b, port) in pairs.into_iter().filter(|(a, b, _)| a != b) {
                    edges[a.min(b)].push(Edge { to: a.max(b), port });
                }
                let handler = has_handler.then_some(count - 1);
                let turns = turns.into_iter().map(|turn| turn.index(count)).collect();
                (Graph::new(joins, edges, handler).expect("no circles"), exits, turns)
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// FL-8, and "every run ends": whatever the order in which ready nodes end, all end or are skipped, each runs once,
    /// and nothing that was ready or skipped changes its mind.
    #[test]
    fn random_graphs_settle((graph, ends, turns) in graphs()) {
        let mut exits = vec![None; graph.len()];
        let mut before = settle(&graph, &exits, false);
        let mut ran = 0;
        while let Some(node) = pick(&before, turns.get(ran).copied().unwrap_or(0)) {
            prop_assert!(exits[node].is_none(), "node {node} runs twice");
            exits[node] = Some(ends[node]);
            ran += 1;
            prop_assert!(ran <= graph.len());
            let now = settle(&graph, &exits, false);
            for (node, (was, is)) in before.iter().zip(&now).enumerate() {
                let is_fine = match was {
                    Standing::Blocked => *is != Standing::Ended,
                    Standing::Ready => matches!(is, Standing::Ready | Standing::Ended),
                    Standing::Skipped | Standing::Ended => is == was,
                };
                prop_assert!(is_fine, "node {node} was {was:?} and is {is:?}");
            }
            before = now;
        }
        prop_assert!(before.iter().all(|standing| matches!(standing, Standing::Ended | Standing::Skipped)), "{before:?} hangs");
    }

    /// The order in which nodes end decides nothing but when.
    #[test]
    fn order_makes_no_difference((graph, ends, turns) in graphs()) {
        let run = |turns: &[usize]| {
            let mut exits = vec![None; graph.len()];
            let mut step = 0;
            while let Some(node) = pick(&settle(&graph, &exits, false), turns.get(step).copied().unwrap_or(0)) {
                exits[node] = Some(ends[node]);
                step += 1;
            }
            exits
        };
        prop_assert_eq!(run(&turns), run(&[]));
    }
}

fn pick(standings: &[Standing], turn: usize) -> Option<usize> {
    let ready: Vec<_> = (0..standings.len()).filter(|node| standings[*node] == Standing::Ready).collect();
    ready.get(turn % ready.len().max(1)).copied()
}
