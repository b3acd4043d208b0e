//! A flow as the engine runs it: every name of a node is a number, every expression is parsed.

use super::data::{Data, Field, Formula, Key};
use super::in_place::InPlace;
use super::origin::Origin;
use super::trigger::Trigger;
use super::types::Declared;
use crate::settle::{Graph, Join};
use crate::source::Place;
use chrono_tz::Tz;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tool::Uri;

/// A flow.
#[derive(Debug, Clone)]
pub struct Flow {
    /// As the document says; the doors may give another.
    pub id: Option<String>,
    /// For people.
    pub name: Option<String>,
    /// For people and models.
    pub description: Option<String>,
    /// What it takes.
    pub inputs: Vec<Declared>,
    /// What it gives, as a JSON Schema; types of the document are `#/$defs/…`.
    pub returns: Option<Value>,
    /// The document's types, as JSON Schemas.
    pub types: serde_json::Map<String, Value>,
    pub(crate) vars: Vec<(Key, Data)>,
    pub(crate) block: Arc<Block>,
    pub(crate) output: Option<Data>,
    /// How long a run may take.
    pub timeout: Option<Duration>,
    /// How many runs at once.
    pub concurrency: Option<Concurrency>,
    /// The zone of its schedules and of people's times.
    pub timezone: Option<Tz>,
    /// What starts it.
    pub triggers: Vec<Trigger>,
}

/// How many runs of one key there are at once.
#[derive(Debug, Clone)]
pub struct Concurrency {
    /// So many.
    pub limit: usize,
    /// Runs whose values of this differ do not count against one another.
    pub key: Option<Data>,
    /// What happens to one more.
    pub overflow: Overflow,
}

/// What happens to a run that finds no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// It waits.
    #[default]
    Queue,
    /// It is refused.
    Refuse,
    /// It takes the place of the oldest.
    Replace,
}

/// Nodes and the edges between them.
#[derive(Debug)]
pub struct Block {
    pub(crate) nodes: Vec<Node>,
    pub(crate) graph: Graph,
    /// By node: it cannot be read, or edges of it lead nowhere or in a circle and are left out.
    pub(crate) torn: Vec<bool>,
    /// Every node of it can be read.
    pub(crate) is_read: bool,
}

impl Block {
    /// It has all its edges, and so have the blocks inside.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_torn() && self.nodes.iter().filter_map(Node::block).all(|block| block.is_whole())
    }

    /// All its nodes can be read, and so can those of the blocks inside.
    pub(crate) fn is_readable(&self) -> bool {
        self.is_read && self.nodes.iter().filter_map(Node::block).all(|block| block.is_readable())
    }

    /// It lacks edges, or what nodes do.
    pub(crate) fn is_torn(&self) -> bool {
        self.torn.contains(&true)
    }

    /// The number of a node.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.id == id)
    }
}

/// One step of a flow.
#[derive(Debug)]
pub struct Node {
    pub(crate) id: String,
    pub(crate) path: String,
    pub(crate) at: Place,
    pub(crate) only: Option<Formula>,
    pub(crate) sets: Vec<Field>,
    pub(crate) with: Option<Data>,
    pub(crate) has_fail: bool,
    pub(crate) retry: Retry,
    pub(crate) timeout: Option<Duration>,
    pub(crate) is_at_most_once: bool,
    pub(crate) action: Action,
}

/// What a node does.
#[derive(Debug)]
pub(crate) enum Action {
    Call(Call),
    Map,
    Condition(Formula),
    Switch(Vec<Formula>),
    Wait(Wait),
    Each(Each),
    Loop(Loop),
    Block { block: Arc<Block>, join: Join },
    Approval(Box<Approval>),
    Guard(Guard),
    Return(Data),
    Throw { code: Data, message: Data },
}

/// A call of a tool, a flow or an agent.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) target: Target,
    /// What the agent at the target is to be for this call.
    pub(crate) in_place: Option<Box<InPlace>>,
    pub(crate) args: Data,
    pub(crate) binds: bool,
    pub(crate) is_handoff: bool,
    pub(crate) origin: Origin,
}

/// Where a call leads. The reason stands where the text is no URI: a draft with it can be run, and the node fails.
#[derive(Debug)]
pub(crate) struct Target(pub(crate) Result<Uri, String>);

#[derive(Debug)]
pub(crate) enum Wait {
    For(Duration),
    Until(Formula),
    Signal { name: String, key: Option<Data> },
}

#[derive(Debug)]
pub(crate) struct Each {
    pub(crate) list: Formula,
    pub(crate) item: String,
    pub(crate) index: Option<String>,
    pub(crate) limit: usize,
    pub(crate) collects_errors: bool,
    pub(crate) block: Arc<Block>,
}

#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) vars: Vec<(Key, Data)>,
    pub(crate) when: Option<Formula>,
    pub(crate) max: usize,
    pub(crate) block: Arc<Block>,
}

#[derive(Debug)]
pub(crate) struct Approval {
    pub(crate) title: Data,
    /// What the one who decides fills in, as a JSON Schema.
    pub(crate) fields: Option<Value>,
    pub(crate) by: Data,
    pub(crate) timeout: Option<Duration>,
    pub(crate) on_timeout: OnTimeout,
    pub(crate) has_else: bool,
    pub(crate) notify: Option<Call>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum OnTimeout {
    #[default]
    Reject,
    Approve,
    Fail,
}

#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) check: Check,
    pub(crate) of: Data,
    pub(crate) action: GuardAction,
}

#[derive(Debug)]
pub(crate) enum Check {
    Pii,
    Schema(Value),
    Custom(Formula),
    /// An agent judges.
    Asked {
        name: String,
        call: Box<Call>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum GuardAction {
    #[default]
    Block,
    Redact,
    Warn,
}

/// How often a call is tried.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Retry {
    pub(crate) attempts: u32,
    pub(crate) delay: Duration,
    pub(crate) factor: f64,
    pub(crate) max_delay: Duration,
    pub(crate) on: RetryOn,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RetryOn {
    Retryable,
    Any,
    Codes(Vec<String>),
}

impl Default for Retry {
    fn default() -> Self {
        let (delay, max_delay) = (Duration::from_secs(1), Duration::from_secs(60));
        Self { attempts: 1, delay, factor: 2.0, max_delay, on: RetryOn::Retryable }
    }
}

impl Retry {
    /// How long to wait behind the attempt of that number, the first being 1.
    pub(crate) fn pause(&self, attempt: u32) -> Duration {
        let factor = self.factor.powi(i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX));
        let seconds = self.delay.as_secs_f64() * factor;
        Duration::try_from_secs_f64(seconds).unwrap_or(self.max_delay).min(self.max_delay)
    }
}

impl Node {
    /// The blocks inside.
    pub(crate) fn block(&self) -> Option<&Arc<Block>> {
        match &self.action {
            Action::Each(each) => Some(&each.block),
            Action::Loop(looped) => Some(&looped.block),
            Action::Block { block, .. } => Some(block),
            _ => None,
        }
    }

    /// The word for its kind in steps and messages.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.action {
            Action::Call(call) if call.is_handoff => "handoff",
            Action::Call(Call { target: Target(Ok(uri)), .. }) => match uri.scheme() {
                "flow" => "flow",
                "agent" => "agent",
                _ => "tool",
            },
            Action::Call(_) => "tool",
            Action::Map => "mapping",
            Action::Condition(_) => "condition",
            Action::Switch(_) => "switch",
            Action::Wait(_) => "wait",
            Action::Each(_) => "each",
            Action::Loop(_) => "loop",
            Action::Block { .. } => "block",
            Action::Approval(_) => "approval",
            Action::Guard(_) => "guard",
            Action::Return(_) | Action::Throw { .. } => "end",
        }
    }
}
