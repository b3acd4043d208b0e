//! A journal as people see it: one step for each node that began.

use super::history;
use super::record::{Fact, Failure, Record};
use crate::document::Flow;
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// A node of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The number of its first record in what was given.
    pub seq: usize,
    /// E.g. `ship[3].send`.
    pub path: String,
    /// E.g. `tool` or `approval`.
    pub kind: &'static str,
    /// Where it stands.
    pub state: StepState,
    /// Which attempt, or how many there were.
    pub attempt: u32,
    /// What was called.
    pub uri: Option<Value>,
    /// With what.
    pub arguments: Option<Map<String, Value>>,
    /// What its name stands for.
    pub result: Option<Value>,
    /// Why it failed.
    pub error: Option<Failure>,
    /// The same for every attempt.
    pub idempotency_key: String,
    /// When it began.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum StepState {
    Running,
    Waiting,
    Succeeded,
    Failed,
    Skipped,
    Cancelled,
}

/// The steps of a run, in the order in which they began; without a flow they are all calls of tools.
#[must_use]
pub fn steps(flow: Option<&Flow>, run: &str, records: &[Record]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for (seq, record) in records.iter().enumerate().filter(|(_, record)| !record.path.is_empty()) {
        let Some(state) = state(&record.fact) else { continue };
        let number = *numbers.entry(&record.path).or_insert_with(|| {
            steps.push(begun(flow, run, seq, record));
            steps.len() - 1
        });
        steps[number].take(state, record);
    }
    steps
}

fn state(fact: &Fact) -> Option<StepState> {
    match fact {
        Fact::Called { .. } | Fact::Again | Fact::Entered { .. } | Fact::Pass(_) => Some(StepState::Running),
        Fact::Waiting(_) => Some(StepState::Waiting),
        Fact::Succeeded { .. } => Some(StepState::Succeeded),
        Fact::Failed { .. } => Some(StepState::Failed),
        Fact::Skipped => Some(StepState::Skipped),
        Fact::Cancelled { .. } => Some(StepState::Cancelled),
        _ => None,
    }
}

fn begun(flow: Option<&Flow>, run: &str, seq: usize, record: &Record) -> Step {
    Step {
        seq,
        path: record.path.clone(),
        kind: flow
            .and_then(|flow| history::find(&flow.block, &record.path))
            .map_or("tool", |node| node.kind()),
        state: StepState::Running,
        attempt: record.attempt,
        uri: None,
        arguments: None,
        result: None,
        error: None,
        idempotency_key: format!("{run}:{}", record.path),
        started_at: record.at,
        ended_at: None,
    }
}

impl Step {
    fn take(&mut self, state: StepState, record: &Record) {
        self.state = state;
        self.attempt = self.attempt.max(record.attempt);
        self.ended_at = (!matches!(state, StepState::Running | StepState::Waiting)).then_some(record.at);
        match &record.fact {
            Fact::Called { target, arguments } => {
                // Of an agent in place, the one whose model it uses.
                self.uri = Some(target.get("agent").unwrap_or(target).clone());
                self.arguments = Some(arguments.clone());
                self.error = None;
            }
            Fact::Succeeded { value, .. } => {
                self.result = Some(value.clone());
                self.error = None;
            }
            Fact::Failed { error, .. } => self.error = Some(error.clone()),
            _ => {}
        }
    }
}
