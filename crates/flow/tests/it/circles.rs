//! Edges that lead in circles or nowhere, and what is told beside them.

use super::Anything;
use flow::{Code, validate};
use std::fmt::Write as _;

/// FL-18: a circle, or an edge that leads nowhere, keeps nothing back that can be judged without it.
#[test]
fn a_circle_hides_nothing_that_can_be_judged_without_it() {
    use Code::{Cycle, NotUpstream, Race, UnknownNode, Unused};
    let text = "
inputs: {unused: int}
vars: {n: 0}
nodes:
  a: {with: c}
  c: {with: 1}
  e: {each: '[1] => i', limit: 2, nodes: {f: {sets: {n: '${n + 1}'}}}}
";
    let seen = |more: &str| -> Vec<_> {
        let mut text = text.to_owned();
        let _ = writeln!(text, "{more}");
        validate(&text, &Anything).problems.iter().map(|problem| problem.code).collect()
    };
    assert_eq!(seen(""), [Unused, NotUpstream, Race]);
    assert_eq!(
        seen("  x: {with: 1, next: y}\n  y: {with: 1, next: [x, z]}\n  z: {with: '[x, y]'}"),
        [Unused, NotUpstream, Race, Cycle]
    );
    assert_eq!(seen("  x: {with: 1, next: zz}"), [Unused, NotUpstream, Race, UnknownNode]);
    // What lies in the circle may name all of it: which edge is wrong nobody knows.
    assert_eq!(seen("  x: {with: y, next: y}\n  y: {with: x, next: x}"), [Unused, NotUpstream, Race, Cycle]);
}
