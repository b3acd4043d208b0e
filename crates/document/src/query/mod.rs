//! JMESPath: parsed by the `jmespath` crate, run here, over the shared tree and within a budget.
//!
//! The crate's own interpreter would need every document converted to its own tree, whose objects
//! have no order, and nothing would end a query that explodes.

mod eval;
mod functions;
mod make;
mod order;
mod plan;
mod words;

use crate::Node;
use plan::Plan;
use std::fmt;

/// The longest query, in bytes.
const MAX_LENGTH: usize = 4096;
/// With fewer of the characters that make the parser call itself, any stack is large enough.
const MAX_PLAIN: usize = 48;
/// The most memory for what a query makes while it runs; what it only refers to costs nothing.
const MAX_HELD_BYTES: usize = 64 * 1024 * 1024;
/// Enough for the deepest query of the greatest length.
const PARSER_STACK_BYTES: usize = 64 * 1024 * 1024;

/// A compiled JMESPath expression.
#[derive(Debug, Clone)]
pub struct Query {
    text: String,
    plan: Plan,
}

impl Query {
    /// Compiles the expression; unknown functions and wrong numbers of arguments are found here.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn compile(text: &str) -> Result<Self, QueryError> {
        if text.len() > MAX_LENGTH {
            let message = format!("a query has at most {MAX_LENGTH} bytes, this one has {}", text.len());
            return Err(QueryError::nowhere(message));
        }
        let recursive = text.bytes().filter(|byte| b"[({!&*".contains(byte)).count();
        let plan = if recursive <= MAX_PLAIN { plan::compile(text) } else { compile_apart(text) }?;
        Ok(Self { text: text.to_owned(), plan })
    }

    /// What the query finds; nothing is `null`.
    ///
    /// # Errors
    /// A function that got what it cannot work with, or the end of the budget.
    pub fn run(&self, root: &Node, budget: &mut Budget<'_>) -> Result<Node, QueryError> {
        let run = eval::Run { text: &self.text, budget };
        run.start(&self.plan, root)
    }

    /// The expression as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The parser calls itself for every bracket, so a query full of them gets a stack of its own.
fn compile_apart(text: &str) -> Result<Plan, QueryError> {
    let text = text.to_owned();
    let failed = || QueryError::nowhere("the query could not be read");
    let parsing = std::thread::Builder::new()
        .name("jmespath".into())
        .stack_size(PARSER_STACK_BYTES)
        .spawn(move || plan::compile(&text))
        .map_err(|_| failed())?;
    parsing.join().unwrap_or_else(|_| Err(failed()))
}

/// How much a query may do, and how much memory it may take: 64 MB.
pub struct Budget<'a> {
    steps: u64,
    spent: u64,
    held_bytes: usize,
    is_over: &'a (dyn Fn() -> bool + 'a),
}

impl<'a> Budget<'a> {
    /// So many steps: one for each part of the query on each value it looks at, and one for each
    /// item or character that is written. `is_over` ends the query early.
    pub fn new(steps: u64, is_over: &'a (dyn Fn() -> bool + 'a)) -> Self {
        Self { steps, spent: 0, held_bytes: 0, is_over }
    }

    /// How many steps are left.
    fn left(&self) -> u64 {
        self.steps.saturating_sub(self.spent)
    }

    fn spend(&mut self, steps: u64) -> Result<(), QueryError> {
        const LOOK_EVERY: u64 = 8192;
        let looks = self.spent / LOOK_EVERY;
        self.spent = self.spent.saturating_add(steps);
        if self.spent > self.steps {
            let message = format!("the query took more than {} steps; ask for less at once", self.steps);
            return Err(QueryError::nowhere(message).out_of_steps());
        }
        if self.spent / LOOK_EVERY != looks && (self.is_over)() {
            return Err(QueryError::nowhere("the query was ended before it was through"));
        }
        Ok(())
    }
}

/// Memory is counted where values are made. What was made is counted until the value that may refer to it is gone.
impl Budget<'_> {
    fn hold(&mut self, bytes: usize) -> Result<(), QueryError> {
        let held = self.held_bytes.saturating_add(bytes);
        if held > MAX_HELD_BYTES {
            let megabytes = MAX_HELD_BYTES / (1024 * 1024);
            let message = format!("the query needs more than {megabytes} MB of memory; ask for less at once");
            return Err(QueryError::nowhere(message));
        }
        self.held_bytes = held;
        Ok(())
    }

    fn release(&mut self, bytes: usize) {
        self.held_bytes = self.held_bytes.saturating_sub(bytes);
    }

    fn room_bytes(&self) -> usize {
        MAX_HELD_BYTES.saturating_sub(self.held_bytes)
    }
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Budget({} of {})", self.spent, self.steps)
    }
}

/// What is wrong with a query, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryError(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    message: String,
    position: Option<(usize, usize)>,
    is_out_of_steps: bool,
}

impl QueryError {
    fn nowhere(message: impl Into<String>) -> Self {
        Self(Box::new(Inner { message: message.into(), position: None, is_out_of_steps: false }))
    }

    fn out_of_steps(mut self) -> Self {
        self.0.is_out_of_steps = true;
        self
    }

    /// With more steps it might have come to its end.
    #[must_use]
    pub fn is_out_of_steps(&self) -> bool {
        self.0.is_out_of_steps
    }

    /// `offset` counts bytes or characters of the text, whichever the parser did.
    fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before: String = text.chars().take(offset).collect();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let position = Some((line, column));
        Self(Box::new(Inner { message: message.into(), position, is_out_of_steps: false }))
    }

    /// What is wrong, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Line and column, from 1, where the mistake is at one place.
    #[must_use]
    pub fn position(&self) -> Option<(usize, usize)> {
        self.0.position
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.0.position {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for QueryError {}
