//! From the parser's tree to a plan: literals read, functions known, depth bounded.

use super::functions::Function;
use super::{QueryError, words};
use crate::Node;
use jmespath::ast::{Ast, Comparator};
use std::sync::Arc;

/// The deepest plan; running it calls itself once per level.
const MAX_DEPTH: usize = 200;

/// A query that can be run.
#[derive(Debug, Clone)]
pub(super) enum Plan {
    Current,
    Field(Arc<str>),
    Index(i32),
    Slice { start: Option<i32>, stop: Option<i32>, step: i32 },
    Literal(Node),
    Then(Box<Plan>, Box<Plan>),
    Or(Box<Plan>, Box<Plan>),
    And(Box<Plan>, Box<Plan>),
    Not(Box<Plan>),
    If(Box<Plan>, Box<Plan>),
    Compare(Comparator, Box<Plan>, Box<Plan>),
    Values(Box<Plan>),
    Project(Box<Plan>, Box<Plan>),
    Flatten(Box<Plan>),
    List(Vec<Plan>),
    Hash(Vec<(Arc<str>, Plan)>),
    Call { function: Function, arguments: Vec<Argument>, offset: usize },
}

/// What a function is given.
#[derive(Debug, Clone)]
pub(super) enum Argument {
    /// A value.
    Value(Plan),
    /// Something to be run by the function itself: `&name`.
    Expression(Plan),
}

pub(super) fn compile(text: &str) -> Result<Plan, QueryError> {
    let tree = jmespath::parse(text).map_err(|error| syntax_error(text, &error))?;
    Compiler { text }.plan(&tree, 0)
}

/// The parser's message names the whole query and draws an arrow; its reason is enough, in our words.
fn syntax_error(text: &str, error: &jmespath::JmespathError) -> QueryError {
    QueryError::at(text, error.offset, words::complaint(&error.reason.to_string()))
}

struct Compiler<'a> {
    text: &'a str,
}

impl Compiler<'_> {
    fn plan(&self, tree: &Ast, depth: usize) -> Result<Plan, QueryError> {
        if depth > MAX_DEPTH {
            return Err(QueryError::nowhere(format!("the query is more than {MAX_DEPTH} levels deep")));
        }
        let boxed = |tree: &Ast| self.plan(tree, depth + 1).map(Box::new);
        Ok(match tree {
            Ast::Identity { .. } => Plan::Current,
            Ast::Field { name, .. } => Plan::Field(name.as_str().into()),
            Ast::Index { idx, .. } => Plan::Index(*idx),
            Ast::Slice { step: 0, offset, .. } => {
                return Err(QueryError::at(self.text, *offset, "the step of a slice must not be 0"));
            }
            Ast::Slice { start, stop, step, .. } => Plan::Slice { start: *start, stop: *stop, step: *step },
            Ast::Literal { value, .. } => Plan::Literal(literal(value)?),
            Ast::Subexpr { lhs, rhs, .. } => Plan::Then(boxed(lhs)?, boxed(rhs)?),
            Ast::Or { lhs, rhs, .. } => Plan::Or(boxed(lhs)?, boxed(rhs)?),
            Ast::And { lhs, rhs, .. } => Plan::And(boxed(lhs)?, boxed(rhs)?),
            Ast::Not { node, .. } => Plan::Not(boxed(node)?),
            Ast::Condition { predicate, then, .. } => Plan::If(boxed(predicate)?, boxed(then)?),
            Ast::Comparison { comparator, lhs, rhs, .. } => {
                Plan::Compare(comparator.clone(), boxed(lhs)?, boxed(rhs)?)
            }
            Ast::ObjectValues { node, .. } => Plan::Values(boxed(node)?),
            Ast::Projection { lhs, rhs, .. } => Plan::Project(boxed(lhs)?, boxed(rhs)?),
            Ast::Flatten { node, .. } => Plan::Flatten(boxed(node)?),
            Ast::MultiList { elements, .. } => {
                Plan::List(elements.iter().map(|tree| self.plan(tree, depth + 1)).collect::<Result<_, _>>()?)
            }
            Ast::MultiHash { elements, .. } => {
                let field = |pair: &jmespath::ast::KeyValuePair| {
                    Ok((pair.key.as_str().into(), self.plan(&pair.value, depth + 1)?))
                };
                Plan::Hash(elements.iter().map(field).collect::<Result<_, _>>()?)
            }
            Ast::Function { name, args, offset } => self.call(name, args, *offset, depth)?,
            Ast::Expref { offset, .. } => {
                let message = "'&' makes an argument of a function, and stands nowhere else";
                return Err(QueryError::at(self.text, *offset, message));
            }
        })
    }

    fn call(&self, name: &str, args: &[Ast], offset: usize, depth: usize) -> Result<Plan, QueryError> {
        // The parser points behind the name.
        let offset = offset.saturating_sub(name.chars().count());
        let Some(function) = Function::find(name) else {
            let meant = crate::did_you_mean(name, Function::names());
            return Err(QueryError::at(self.text, offset, format!("there is no function '{name}'{meant}")));
        };
        let argument = |tree: &Ast| match tree {
            Ast::Expref { ast, .. } => self.plan(ast, depth + 1).map(Argument::Expression),
            _ => self.plan(tree, depth + 1).map(Argument::Value),
        };
        let arguments = args.iter().map(argument).collect::<Result<Vec<_>, _>>()?;
        function.check(&arguments).map_err(|message| QueryError::at(self.text, offset, message))?;
        Ok(Plan::Call { function, arguments, offset })
    }
}

fn literal(value: &jmespath::Variable) -> Result<Node, QueryError> {
    let unusable = |_| QueryError::nowhere("a literal of the query is unusable");
    let text = serde_json::to_string(value).map_err(unusable)?;
    Node::parse(&text).map_err(unusable)
}
