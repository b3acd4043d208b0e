//! The functions of JMESPath.

use super::QueryError;
use super::eval::{Found, Run};
use super::make::{self, Fields, Items};
use super::plan::{Argument, Plan};
use crate::{Array, Node, Object};
use serde_json::Number;
use std::borrow::Cow;
use std::cmp::Ordering;

/// A function, known when the query was compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Avg,
    Ceil,
    Contains,
    EndsWith,
    Floor,
    Join,
    Keys,
    Length,
    Map,
    Max,
    MaxBy,
    Merge,
    Min,
    MinBy,
    NotNull,
    Reverse,
    Sort,
    SortBy,
    StartsWith,
    Sum,
    ToArray,
    ToNumber,
    ToString,
    Type,
    Values,
}

/// What each function is called, and what it takes: `v` a value, `e` an expression, `*` one or more values.
const ALL: [(&str, Function, &str); 26] = [
    ("abs", Function::Abs, "v"),
    ("avg", Function::Avg, "v"),
    ("ceil", Function::Ceil, "v"),
    ("contains", Function::Contains, "vv"),
    ("ends_with", Function::EndsWith, "vv"),
    ("floor", Function::Floor, "v"),
    ("join", Function::Join, "vv"),
    ("keys", Function::Keys, "v"),
    ("length", Function::Length, "v"),
    ("map", Function::Map, "ev"),
    ("max", Function::Max, "v"),
    ("max_by", Function::MaxBy, "ve"),
    ("merge", Function::Merge, "*"),
    ("min", Function::Min, "v"),
    ("min_by", Function::MinBy, "ve"),
    ("not_null", Function::NotNull, "*"),
    ("reverse", Function::Reverse, "v"),
    ("sort", Function::Sort, "v"),
    ("sort_by", Function::SortBy, "ve"),
    ("starts_with", Function::StartsWith, "vv"),
    ("sum", Function::Sum, "v"),
    ("to_array", Function::ToArray, "v"),
    ("to_number", Function::ToNumber, "v"),
    ("to_string", Function::ToString, "v"),
    ("type", Function::Type, "v"),
    ("values", Function::Values, "v"),
];

impl Function {
    pub(super) fn find(name: &str) -> Option<Self> {
        ALL.iter().find(|(known, ..)| *known == name).map(|(_, function, _)| *function)
    }

    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|(name, ..)| *name)
    }

    fn name(self) -> &'static str {
        ALL.iter().find(|(_, function, _)| *function == self).map_or("?", |(name, ..)| name)
    }

    /// What is wrong with the number or the kind of the arguments.
    pub(super) fn check(self, arguments: &[Argument]) -> Result<(), String> {
        let takes = ALL.iter().find(|(_, function, _)| *function == self).map_or("", |(.., takes)| takes);
        let name = self.name();
        let (is_right, wanted) = match takes {
            "*" => (!arguments.is_empty(), "at least 1 argument".to_owned()),
            "v" => (arguments.len() == 1, "1 argument".to_owned()),
            _ => (arguments.len() == takes.len(), format!("{} arguments", takes.len())),
        };
        if !is_right {
            return Err(format!("{name}() takes {wanted}, not {}", arguments.len()));
        }
        for (at, argument) in arguments.iter().enumerate() {
            let wants_expression = takes.as_bytes().get(at) == Some(&b'e');
            if wants_expression != matches!(argument, Argument::Expression(_)) {
                let kind = if wants_expression { "an expression like &name" } else { "a value" };
                return Err(format!("argument {} of {name}() must be {kind}", at + 1));
            }
        }
        Ok(())
    }
}

/// A function at work, for its errors.
pub(super) struct Call {
    pub(super) function: Function,
    offset: usize,
}

impl Run<'_, '_, '_> {
    pub(super) fn call<'a>(
        &mut self,
        function: Function,
        arguments: &'a [Argument],
        offset: usize,
        data: &'a Node,
    ) -> Found<'a> {
        let call = Call { function, offset };
        let mut values = Vec::with_capacity(arguments.len());
        let mut by = &Plan::Current;
        for argument in arguments {
            match argument {
                Argument::Value(plan) => values.push(self.eval(plan, data)?),
                Argument::Expression(plan) => by = plan,
            }
        }
        match (function, &*values) {
            (Function::MaxBy | Function::MinBy, [list]) => self.extreme_by(&call, list, by).map(Cow::Owned),
            (Function::SortBy, [list]) => self.sort_by(&call, list, by).map(Cow::Owned),
            (Function::Map, [list]) => {
                let mut items = Items::default();
                for item in self.array(&call, list)? {
                    let item = self.eval(by, item)?.into_owned();
                    items.push(item, self.budget)?;
                }
                items.finish(self.budget).map(Cow::Owned)
            }
            (Function::NotNull, _) => {
                let found = values.into_iter().find(|value| !matches!(**value, Node::Null));
                Ok(found.unwrap_or(Cow::Owned(Node::Null)))
            }
            (Function::Merge, _) => self.merge(&call, &values).map(Cow::Owned),
            (Function::ToArray, [value]) if !matches!(**value, Node::Array(_)) => {
                let mut list = Items::default();
                list.push(value.clone().into_owned(), self.budget)?;
                list.finish(self.budget).map(Cow::Owned)
            }
            (Function::ToArray, _) => Ok(values.swap_remove(0)),
            (Function::Contains | Function::EndsWith | Function::StartsWith | Function::Join, [a, b]) => {
                self.of_two(&call, a, b).map(Cow::Owned)
            }
            (_, [value]) => self.of_one(&call, value).map(Cow::Owned),
            _ => Err(self.wrong(&call, "something else", &Node::Null)),
        }
    }

    fn of_one(&mut self, call: &Call, value: &Node) -> Result<Node, QueryError> {
        Ok(match call.function {
            Function::Abs => absolute(self.number(call, value)?),
            Function::Ceil => rounded(self.number(call, value)?, f64::ceil),
            Function::Floor => rounded(self.number(call, value)?, f64::floor),
            Function::Sum => self.sum(call, value)?,
            Function::Avg => self.average(call, value)?,
            Function::Keys => {
                let mut keys = Items::default();
                for (name, _) in self.object(call, value)? {
                    self.budget.spend(1)?;
                    keys.push(Node::Text(name.clone()), self.budget)?;
                }
                keys.finish(self.budget)?
            }
            Function::Values => {
                let mut values = Items::default();
                values.extend(self.object(call, value)?.iter().map(|(_, node)| node), self.budget)?;
                values.finish(self.budget)?
            }
            Function::Length => match value {
                Node::Text(text) => {
                    self.budget.spend(text.len() as u64 / 8)?;
                    Node::Number(text.chars().count().into())
                }
                Node::Array(array) => Node::Number(array.len().into()),
                Node::Object(object) => Node::Number(object.len().into()),
                other => return Err(self.wrong(call, "a string, an array or an object", other)),
            },
            Function::Max => self.extreme(call, value, Ordering::Greater)?,
            Function::Min => self.extreme(call, value, Ordering::Less)?,
            Function::Reverse => self.reverse(call, value)?,
            Function::Sort => self.sort(call, value)?,
            Function::ToNumber => match value {
                Node::Number(_) => value.clone(),
                Node::Text(text) => match Node::parse(text.trim()) {
                    Ok(number @ Node::Number(_)) => number,
                    _ => Node::Null,
                },
                _ => Node::Null,
            },
            Function::ToString => match value {
                Node::Text(_) => value.clone(),
                other => make::json(other, self.budget)?,
            },
            Function::Type => value.type_name().into(),
            other => return Err(QueryError::nowhere(format!("{}() lacks an argument", other.name()))),
        })
    }

    fn of_two(&mut self, call: &Call, a: &Node, b: &Node) -> Result<Node, QueryError> {
        Ok(match call.function {
            Function::Contains => match (a, b) {
                (Node::Text(text), Node::Text(part)) => {
                    self.budget.spend(text.len() as u64 / 8)?;
                    Node::Bool(text.contains(&**part))
                }
                (Node::Text(_), _) => Node::Bool(false),
                (Node::Array(array), wanted) => {
                    for item in array {
                        self.budget.spend(1)?;
                        if self.same(item, wanted)? {
                            return Ok(Node::Bool(true));
                        }
                    }
                    Node::Bool(false)
                }
                (other, _) => return Err(self.wrong(call, "an array or a string", other)),
            },
            Function::EndsWith => Node::Bool(self.text(call, a)?.ends_with(self.text(call, b)?)),
            Function::StartsWith => Node::Bool(self.text(call, a)?.starts_with(self.text(call, b)?)),
            _ => self.join(call, a, b)?,
        })
    }

    fn join(&mut self, call: &Call, glue: &Node, parts: &Node) -> Result<Node, QueryError> {
        let (glue, parts) = (self.text(call, glue)?, self.array(call, parts)?);
        let mut size_bytes = glue.len().saturating_mul(parts.len().saturating_sub(1));
        for part in parts {
            self.budget.spend(1)?;
            size_bytes = size_bytes.saturating_add(self.text(call, part)?.len());
        }
        make::text(size_bytes, self.budget, |joined| {
            for (at, part) in parts.iter().filter_map(Node::as_text).enumerate() {
                if at > 0 {
                    joined.push_str(glue);
                }
                joined.push_str(part);
            }
        })
    }

    fn merge(&mut self, call: &Call, values: &[Cow<'_, Node>]) -> Result<Node, QueryError> {
        let mut fields = Fields::default();
        for value in values {
            for (name, node) in self.object(call, value)? {
                self.budget.spend(1)?;
                fields.push(name, node.clone(), self.budget)?;
            }
        }
        fields.finish(self.budget)
    }

    fn reverse(&mut self, call: &Call, value: &Node) -> Result<Node, QueryError> {
        match value {
            Node::Text(text) => {
                make::text(text.len(), self.budget, |reversed| reversed.extend(text.chars().rev()))
            }
            Node::Array(array) => {
                let mut items = Items::default();
                items.extend(array.iter(), self.budget)?;
                items.as_mut_slice().reverse();
                items.finish(self.budget)
            }
            other => Err(self.wrong(call, "an array or a string", other)),
        }
    }

    fn sum(&mut self, call: &Call, value: &Node) -> Result<Node, QueryError> {
        let array = self.array(call, value)?;
        self.budget.spend(array.len() as u64)?;
        let (mut whole, mut any) = (Some(0i128), 0.0);
        for item in array {
            let number = self.number(call, item)?;
            any += number.as_f64().unwrap_or_default();
            whole = whole.zip(crate::node::whole(number)).and_then(|(sum, more)| sum.checked_add(more));
        }
        let exact = whole.and_then(|sum| i64::try_from(sum).ok()).map(Number::from);
        Ok(exact.or_else(|| Number::from_f64(any)).map_or(Node::Null, Node::Number))
    }

    fn average(&mut self, call: &Call, value: &Node) -> Result<Node, QueryError> {
        let array = self.array(call, value)?;
        self.budget.spend(array.len() as u64)?;
        let mut sum = 0.0;
        for item in array {
            sum += self.number(call, item)?.as_f64().unwrap_or_default();
        }
        // None at all have no average, which JSON has no number for.
        Ok(Number::from_f64(sum / array.len() as f64).map_or(Node::Null, Node::Number))
    }

    fn number<'a>(&self, call: &Call, node: &'a Node) -> Result<&'a Number, QueryError> {
        match node {
            Node::Number(number) => Ok(number),
            other => Err(self.wrong(call, "a number", other)),
        }
    }

    fn text<'a>(&self, call: &Call, node: &'a Node) -> Result<&'a str, QueryError> {
        node.as_text().ok_or_else(|| self.wrong(call, "a string", node))
    }

    pub(super) fn array<'a>(&self, call: &Call, node: &'a Node) -> Result<&'a Array, QueryError> {
        node.as_array().ok_or_else(|| self.wrong(call, "an array", node))
    }

    fn object<'a>(&self, call: &Call, node: &'a Node) -> Result<&'a Object, QueryError> {
        node.as_object().ok_or_else(|| self.wrong(call, "an object", node))
    }

    pub(super) fn wrong(&self, call: &Call, wanted: &str, given: &Node) -> QueryError {
        let message = format!("{}() wants {wanted} and got {}", call.function.name(), given.type_name());
        QueryError::at(self.text, call.offset, message)
    }
}

fn absolute(number: &Number) -> Node {
    if number.as_i64().is_some_and(i64::is_negative) {
        return Node::Number(number.as_i64().unwrap_or_default().unsigned_abs().into());
    }
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(value) => Number::from_f64(value.abs()).map_or(Node::Null, Node::Number),
        None => Node::Number(number.clone()),
    }
}

/// Whole again where it fits, as others write it.
fn rounded(number: &Number, round: fn(f64) -> f64) -> Node {
    let Some(value) = number.as_f64().filter(|_| number.is_f64()).map(round) else {
        return Node::Number(number.clone());
    };
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = (value.abs() <= EXACT).then_some(value as i64).map(Number::from);
    whole.or_else(|| Number::from_f64(value)).map_or(Node::Null, Node::Number)
}
