//! Checks of a flow: names, arguments, edges, and what is never used; all problems at once.

mod arguments;
mod declared;
mod graph;
mod names;
mod references;
mod scope;

pub use references::{Reference, references};

use crate::document::{self, Flow, Source};
use crate::problem::{Code, Problem, Problems};
use scope::Walk;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use tool::Uri;

/// What is known about tools while a flow is checked.
pub trait Tools {
    /// The tool that a URI leads to, for those who publish the flow.
    fn find(&self, uri: &Uri) -> Lookup;

    /// Whether what a trigger waits for is there, for those who publish the flow. Schedules and webhooks need nothing.
    fn find_source(&self, source: &Source) -> Lookup {
        match source {
            Source::Message { from, .. } | Source::File { from, .. } => self.find(from),
            Source::Schedule { .. } | Source::Webhook { .. } | Source::Table { .. } => Lookup::found(),
        }
    }
}

/// What is known about a tool.
#[derive(Debug, Clone)]
pub enum Lookup {
    /// It is there.
    Found {
        /// The JSON Schema of its arguments.
        input: Arc<Value>,
    },
    /// It is not, for this reason.
    Missing(String),
    /// Its service cannot say at the moment.
    Unchecked(String),
}

impl Lookup {
    /// It is there, and takes anything.
    #[must_use]
    pub fn found() -> Self {
        Self::Found { input: Arc::default() }
    }
}

/// A parameter that takes its value from a name because the author left it out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The node's path in the document, e.g. `nodes.ship.nodes.send`.
    pub node: String,
    /// Of the tool.
    pub parameter: String,
    /// Of an input, a var, a node, a local, `tenantId` or `buCode`.
    pub name: String,
}

/// A text that was checked.
#[derive(Debug)]
pub struct Validation {
    /// What can be run; also with some problems, as drafts are.
    pub flow: Option<Flow>,
    /// Errors and warnings, in the order of the text.
    pub problems: Vec<Problem>,
    /// What is bound by name.
    pub bound: Vec<Bound>,
    /// The tools that it names, also where nodes are missing or edges lead in a circle.
    pub references: Vec<Reference>,
}

impl Validation {
    /// The flow can be published.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.problems.iter().any(Problem::is_error)
    }
}

/// Reads and checks a text.
#[must_use]
pub fn validate(text: &str, tools: &dyn Tools) -> Validation {
    let document::ParsedFlow { flow, sketch, problems } = document::read(text);
    let mut all = Problems::default();
    all.extend(problems);
    let (mut bound, mut named) = (Vec::new(), Vec::new());
    if let Some(looked_at) = flow.as_ref().or(sketch.as_ref()) {
        let mut walk = Walk::new(looked_at, tools);
        walk.flow();
        (bound, named) = (walk.bound, references(looked_at));
        all.extend(walk.problems.into_sorted());
    }
    Validation { flow, problems: all.into_sorted(), bound, references: named }
}

impl Walk<'_> {
    /// Everything about a flow.
    fn flow(&mut self) {
        self.declarations();
        self.block(&self.flow.block);
        self.surroundings();
        // A node that cannot be read may use what nothing else does.
        if self.flow.block.is_readable() {
            self.unused();
        }
    }

    /// What is declared and never used.
    fn unused(&mut self) {
        let inputs =
            self.flow.inputs.iter().map(|input| ("input", input.name.as_str(), input.origin.start()));
        let vars = self.flow.vars.iter().map(|(key, _)| ("var", key.name.as_str(), key.at));
        let unused: Vec<_> = inputs.chain(vars).filter(|(_, name, _)| !self.used.contains(*name)).collect();
        for (kind, name, at) in unused {
            let message = format!("the {kind} '{name}' is never used");
            self.problems.add(Problem::warning(Code::Unused, &format!("{kind}s.{name}"), at, message));
        }
    }
}
