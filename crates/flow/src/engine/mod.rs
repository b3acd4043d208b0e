//! The engine: a run is what its journal says. The machine decides what comes next and does nothing itself; the driver
//! commits its records, makes its calls, and tells it what came of them.

mod apply;
mod begin;
mod call;
mod containers;
mod drive;
mod end;
mod formats;
mod frame;
mod frames;
mod guard;
mod history;
mod pii;
mod ports;
mod record;
mod result;
mod scope;
mod steps;
mod wake;

pub use call::check_value;
pub use drive::{Stop, drive};
pub(crate) use history::downstream;
pub use history::{copied, decided};
pub use ports::{Answer, Call, Calls, Clock, Journal, Lost, Parking};
pub use record::{Decision, Ending, Fact, Failure, Record, Waiting};
pub use steps::{Step, StepState, steps};

use crate::document::{Flow, Trouble};
use crate::limits;
use chrono::{DateTime, Utc};
use expression::{Limits, Setting};
use frame::{Frame, FrameId, Spot, State};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const ROOT: FrameId = 0;

/// Whose run it is, and of what.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// The run's id.
    pub run: String,
    /// The flow's id.
    pub flow: String,
    /// `None` for a draft.
    pub version: Option<u32>,
    /// As they were given; defaults are added when the run begins.
    pub inputs: Map<String, Value>,
    /// What expressions see as `trigger`.
    pub trigger: Value,
    /// What expressions see as `tenantId`.
    pub tenant: String,
    /// What expressions see as `buCode`.
    pub bu_code: Option<String>,
    /// Parameters that publishing bound to names, by the path of the node in the document and the parameter.
    pub bound: Vec<crate::check::Bound>,
}

/// One run of a flow. Everything it knows comes from records; it has no clock and calls nobody.
#[derive(Debug)]
pub struct Machine {
    flow: Arc<Flow>,
    run: String,
    bound: Vec<crate::check::Bound>,
    inputs: Map<String, Value>,
    vars: Map<String, Value>,
    /// `run`, `trigger`, `tenantId`, `buCode`.
    given: Map<String, Value>,
    frames: BTreeMap<FrameId, Frame>,
    prefixes: BTreeMap<String, FrameId>,
    next_frame: FrameId,
    /// Nodes that began and have not ended.
    active: BTreeSet<Spot>,
    /// Frames in which something may have become possible.
    dirty: BTreeSet<FrameId>,
    /// Frames with nodes that found no room.
    starved: BTreeSet<FrameId>,
    /// Calls of a process that is gone, which may not be made twice.
    interrupted: Vec<Spot>,
    /// How children ended whose parents do not wait for them yet.
    early: BTreeMap<Spot, Result<Value, Failure>>,
    signals: Vec<(String, Option<Value>, Value)>,
    begun_at: Option<DateTime<Utc>>,
    is_caught: bool,
    is_paused: bool,
    /// Our process is to let go of the run.
    is_held: bool,
    is_cancelling: bool,
    returned: Option<Value>,
    ending: Option<Ending>,
    steps: usize,
    bytes: usize,
    handoffs: usize,
    passes: usize,
    out: Vec<Record>,
    now: DateTime<Utc>,
}

impl Machine {
    /// The run as its journal left it; an empty journal is a run that has not begun.
    #[must_use]
    pub fn new(flow: Arc<Flow>, start: Start, records: &[Record]) -> Self {
        let run = json!({"id": start.run, "flow": start.flow, "version": start.version});
        let given =
            json!({"run": run, "trigger": start.trigger, "tenantId": start.tenant, "buCode": start.bu_code});
        let mut machine = Self {
            run: start.run,
            bound: start.bound,
            inputs: start.inputs,
            vars: Map::new(),
            given: if let Value::Object(given) = given { given } else { Map::new() },
            frames: BTreeMap::from([(ROOT, Frame::new(None, String::new(), Arc::clone(&flow.block)))]),
            prefixes: BTreeMap::from([(String::new(), ROOT)]),
            flow,
            next_frame: ROOT + 1,
            active: BTreeSet::new(),
            dirty: BTreeSet::new(),
            starved: BTreeSet::new(),
            interrupted: Vec::new(),
            early: BTreeMap::new(),
            signals: Vec::new(),
            begun_at: None,
            is_caught: false,
            is_paused: false,
            is_held: false,
            is_cancelling: false,
            returned: None,
            ending: None,
            steps: 0,
            bytes: 0,
            handoffs: 0,
            passes: 0,
            out: Vec::new(),
            now: DateTime::UNIX_EPOCH,
        };
        for record in history::effective(&machine.flow, records) {
            machine.apply(record);
        }
        machine.interrupted = machine.unrepeatable();
        machine.dirty = machine.frames.keys().copied().collect();
        machine
    }

    /// Takes note of what others wrote into the journal.
    pub fn learn(&mut self, records: &[Record]) {
        records.iter().for_each(|record| self.apply(record));
    }

    /// Everything that follows by now, to be committed before anything is done about it.
    pub fn advance(&mut self, now: DateTime<Utc>) -> Vec<Record> {
        self.now = now;
        if self.ending.is_none() {
            self.proceed();
        }
        std::mem::take(&mut self.out)
    }

    fn proceed(&mut self) {
        if self.begun_at.is_none() && !self.begin_run() {
            return;
        }
        if self.is_cancelling {
            return self.end_run(Ending::Cancelled);
        }
        for spot in std::mem::take(&mut self.interrupted) {
            // One that failed may have ended the others.
            if matches!(self.state(spot), Some(State::Calling(_))) {
                let message = "the process ended during the call, which may not be made twice";
                self.fail(spot, Failure::new("INTERRUPTED", message));
            }
        }
        self.wake();
        while self.ending.is_none() {
            let Some(frame) = self.dirty.pop_first() else { break };
            self.step(frame);
        }
    }

    /// Begins nothing new from now on; unlike a pause, this is not part of the run.
    pub fn hold(&mut self) {
        self.is_held = true;
    }

    /// How the run ended, once it has.
    #[must_use]
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// Somebody wants the run to end.
    #[must_use]
    pub fn is_cancelling(&self) -> bool {
        self.is_cancelling && self.ending.is_none()
    }

    /// Makes a record true, and part of what is to be committed.
    fn emit(&mut self, path: String, attempt: u32, fact: Fact) {
        let record = Record { at: self.now, path, attempt, fact };
        self.apply(&record);
        self.out.push(record);
    }

    fn emit_at(&mut self, spot: Spot, fact: Fact) {
        self.emit(self.path(spot), 1, fact);
    }

    /// The path of a node, e.g. `ship[3].send`.
    fn path(&self, (frame, node): Spot) -> String {
        let frame = &self.frames[&frame];
        format!("{}{}", frame.prefix, frame.block.nodes[node].id)
    }

    fn state(&self, (frame, node): Spot) -> Option<&State> {
        self.frames.get(&frame).map(|frame| &frame.states[node])
    }

    fn setting(&self) -> Setting {
        let limits = Limits { built_bytes: limits::VALUE_BYTES, ..Limits::default() };
        Setting { now: self.now, limits }
    }
}

/// What an expression could not do, as the failure of its node.
#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
pub(crate) fn expression_failure(trouble: Trouble) -> Failure {
    let Trouble { path, place, message, is_limit } = &trouble;
    let code = if *is_limit { "LIMIT" } else { "EXPRESSION" };
    Failure::new(code, format!("{path}: {message} (line {}, column {})", place.line, place.column))
}
