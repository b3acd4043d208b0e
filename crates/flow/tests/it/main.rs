//! Behaviour at the public edge: documents, checks, settling, runs, schedules, triggers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops and says so")]

mod checks;
mod circles;
mod deciders;
mod documents;
mod engine;
mod reference;
mod refusals;
mod schedules;
mod settling;
mod table_changes;
mod triggers;
mod types;
mod versions;
mod webhooks;

use flow::{Code, Flow, Lookup, Problem, Tools};
use tool::Uri;

/// Every tool is there, and takes anything.
struct Anything;

impl Tools for Anything {
    fn find(&self, _: &Uri) -> Lookup {
        Lookup::found()
    }
}

/// The flow of a text that is right.
fn flow(text: &str) -> Flow {
    let reading = flow::read(text);
    assert!(reading.problems.is_empty(), "{:#?}", reading.problems);
    reading.flow.expect("a flow without problems")
}

fn problems(text: &str) -> Vec<Problem> {
    flow::read(text).problems
}

/// Code and place of every problem.
fn codes(problems: &[Problem]) -> Vec<(Code, usize, usize)> {
    problems.iter().map(|problem| (problem.code, problem.line, problem.column)).collect()
}
