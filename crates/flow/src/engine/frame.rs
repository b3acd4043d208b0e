//! What is at work in a run: blocks that were entered, and where each of their nodes stands.

use super::record::{Decision, Failure, Waiting};
use crate::document::Block;
use crate::settle::Exit;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of a frame.
pub(super) type FrameId = usize;

/// A node of a frame.
pub(super) type Spot = (FrameId, usize);

/// A block that was entered: the flow's own, one item of an each, one pass of a loop.
#[derive(Debug)]
pub(super) struct Frame {
    /// The node that it belongs to, and which item or pass it is.
    pub(super) parent: Option<(Spot, usize)>,
    /// What the paths of its nodes begin with.
    pub(super) prefix: String,
    pub(super) block: Arc<Block>,
    pub(super) exits: Vec<Option<Exit>>,
    /// What the nodes' names stand for.
    pub(super) values: Vec<Value>,
    pub(super) states: Vec<State>,
    /// When each node began.
    pub(super) since: Vec<Option<DateTime<Utc>>>,
    /// What failed in it and was not taken by an edge.
    pub(super) failure: Option<Failure>,
    /// The item of an each, and its number.
    pub(super) locals: Vec<(String, Value)>,
}

impl Frame {
    pub(super) fn new(parent: Option<(Spot, usize)>, prefix: String, block: Arc<Block>) -> Self {
        let count = block.nodes.len();
        let mut states = Vec::with_capacity(count);
        states.resize_with(count, || State::Idle);
        let (exits, values, since) = (vec![None; count], vec![Value::Null; count], vec![None; count]);
        Self { parent, prefix, block, exits, values, states, since, failure: None, locals: Vec::new() }
    }
}

/// Where a node stands.
#[derive(Debug)]
pub(super) enum State {
    Idle,
    Calling(Calling),
    Parked(Box<Parked>),
    Each(Items),
    Loop(Passes),
    Block,
    Ended,
}

impl State {
    /// It is at work by itself, and not by nodes inside.
    pub(super) fn is_leaf(&self) -> bool {
        matches!(self, Self::Calling(_) | Self::Parked(_))
    }
}

/// A call that was made, or is to be made again.
#[derive(Debug, Clone)]
pub(super) struct Calling {
    pub(super) target: Value,
    pub(super) arguments: Map<String, Value>,
    pub(super) attempt: u32,
}

/// A node that waits.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) reason: Waiting,
    /// What is to be tried again.
    pub(super) call: Option<Calling>,
    pub(super) decision: Option<Decision>,
    pub(super) child: Option<Result<Value, Failure>>,
}

/// The items of an each.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) items: Vec<Value>,
    /// The first that was not begun.
    pub(super) next: usize,
    pub(super) open: BTreeMap<usize, FrameId>,
    pub(super) results: Vec<Option<Value>>,
    /// How many have no result yet.
    pub(super) left: usize,
}

/// The passes of a loop.
#[derive(Debug)]
pub(super) struct Passes {
    pub(super) vars: Map<String, Value>,
    /// How many were begun.
    pub(super) count: usize,
}
