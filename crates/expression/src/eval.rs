//! Runs a tree over the values of a scope.

use crate::budget::Budget;
use crate::error::{Cause, Fault};
use crate::functions::Body;
use crate::tree::{Call, Kind, Lambda, Literal, Member, MemberKind, Node, Operator, Piece, Tree};
use crate::value::{Fields, Key, Text, Val};
use crate::{Scope, Setting, member, operators};
use chrono::{DateTime, Utc};
use indexmap::IndexMap;
use serde_json::Value;
use std::rc::Rc;

/// Names of types, which stand for themselves unless the scope has a value of that name.
pub(crate) const TYPES: [&str; 9] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "uint"];

/// The value of a whole expression, as JSON.
pub(crate) fn run(tree: &Tree, scope: &dyn Scope, setting: &Setting) -> Result<Value, Fault> {
    let mut run = Run::new(&tree.names, scope, setting);
    let value = run.value(&tree.root)?;
    run.budget.for_result();
    value.to_json(&mut run.budget).map_err(|fault| fault.at(tree.root.at))
}

/// The value of a text with values in it: a lone value keeps its type.
pub(crate) fn run_pieces(
    pieces: &[Piece],
    names: &[(Box<str>, u32)],
    scope: &dyn Scope,
    setting: &Setting,
) -> Result<Value, Fault> {
    let mut run = Run::new(names, scope, setting);
    if let [Piece::Value(node)] = pieces {
        let value = run.value(node)?;
        run.budget.for_result();
        return value.to_json(&mut run.budget).map_err(|fault| fault.at(node.at));
    }
    run.text(pieces).map(Value::String)
}

/// One evaluation.
pub(crate) struct Run<'a> {
    names: &'a [(Box<str>, u32)],
    scope: &'a dyn Scope,
    /// The variables of the lambdas around, outermost first.
    locals: Vec<Val<'a>>,
    pub(crate) budget: Budget,
    pub(crate) now: DateTime<Utc>,
}

type Found<'a> = Result<Val<'a>, Fault>;

impl<'a> Run<'a> {
    fn new(names: &'a [(Box<str>, u32)], scope: &'a dyn Scope, setting: &Setting) -> Self {
        Self { names, scope, locals: Vec::new(), budget: Budget::new(setting.limits), now: setting.now }
    }

    /// The value of a part; what goes wrong in it gets its place.
    pub(crate) fn value(&mut self, node: &'a Node) -> Found<'a> {
        self.budget.step().and_then(|()| self.value_of(node)).map_err(|fault| fault.at(node.at))
    }

    fn value_of(&mut self, node: &'a Node) -> Found<'a> {
        match &node.kind {
            Kind::Literal(literal) => self.literal(literal),
            Kind::Name(index) => self.name(*index),
            Kind::Local(index) => Ok(self.locals[*index as usize].clone()),
            Kind::Members(base, members) => {
                let base = self.value(base)?;
                self.members(base, members)
            }
            Kind::Chain(first, rest) => self.chain(first, rest),
            Kind::Or(parts) => self.or(parts),
            Kind::And(parts) => self.and(parts),
            Kind::Not(node) => match self.value(node)? {
                Val::Bool(value) => Ok(Val::Bool(!value)),
                Val::Null => Ok(Val::Bool(true)),
                other => Err(Fault::failed(format!("'!' needs true or false, this is {}", other.kind()))),
            },
            Kind::Negate(node) => self.negate(node),
            Kind::Choice(choice) => match self.condition(&choice.condition)? {
                true => self.value(&choice.yes),
                false => self.value(&choice.no),
            },
            Kind::Call(call) => self.call(call),
            Kind::List(items) => {
                self.budget.build_slots(items.len())?;
                Ok(Val::list(items.iter().map(|item| self.value(item)).collect::<Result<_, _>>()?))
            }
            Kind::Map(entries) => self.map(entries),
            Kind::Text(pieces) => self.text(pieces).map(Val::text),
            Kind::Has(field) => match self.value(field) {
                Ok(value) => Ok(Val::Bool(!value.is_null() || !matches!(field.kind, Kind::Name(_)))),
                Err(fault) if fault.cause == Cause::Absent => Ok(Val::Bool(false)),
                Err(fault) => Err(fault),
            },
            Kind::Default(node, instead) => match self.value(node) {
                Ok(Val::Null) => self.value(instead),
                Err(fault) if fault.cause == Cause::Absent => self.value(instead),
                found => found,
            },
        }
    }

    fn literal(&mut self, literal: &'a Literal) -> Found<'a> {
        Ok(match literal {
            Literal::Null => Val::Null,
            Literal::Bool(value) => Val::Bool(*value),
            Literal::Int(number) => Val::Int(*number),
            Literal::Uint(number) => Val::Uint(*number),
            Literal::Double(number) => Val::Double(*number),
            Literal::Text(text) => Val::Text(Text::Given(text)),
            Literal::Bytes(bytes) => {
                self.budget.build(bytes.len())?;
                Val::Bytes(Rc::from(&**bytes))
            }
        })
    }

    fn name(&self, index: u32) -> Found<'a> {
        let name = &*self.names[index as usize].0;
        if let Some(value) = self.scope.find(name) {
            return Ok(Val::from(value));
        }
        match TYPES.iter().find(|known| **known == name) {
            Some(known) => Ok(Val::Type(known)),
            None => Err(Fault::absent(format!("there is nothing named '{name}'"))),
        }
    }

    fn members(&mut self, base: Val<'a>, members: &'a [Member]) -> Found<'a> {
        let mut value = base;
        for Member { at, kind } in members {
            self.budget.step().map_err(|fault| fault.at(*at))?;
            let found = match kind {
                MemberKind::Field(name) => member::field(&value, name),
                MemberKind::FieldIfThere(name) => member::field_if_there(&value, name),
                MemberKind::Index(index) => {
                    let index = self.value(index)?;
                    member::index(&value, &index)
                }
            };
            value = found.map_err(|fault| fault.at(*at))?;
        }
        Ok(value)
    }

    fn chain(&mut self, first: &'a Node, rest: &'a [(Operator, u32, Node)]) -> Found<'a> {
        let mut value = self.value(first)?;
        for (operator, at, node) in rest {
            let other = self.value(node)?;
            let applied = operators::apply(*operator, &value, &other, &mut self.budget);
            value = applied.map_err(|fault| fault.at(*at))?;
        }
        Ok(value)
    }

    fn negate(&mut self, node: &'a Node) -> Found<'a> {
        match self.value(node)? {
            Val::Int(number) => crate::number::fit_any(-i128::from(number)),
            Val::Uint(number) => crate::number::fit_any(-i128::from(number)),
            Val::Double(number) => Ok(Val::Double(-number)),
            Val::Duration(duration) => Ok(Val::Duration(-duration)),
            other => Err(Fault::failed(format!("'-' needs a number, this is {}", other.kind()))),
        }
    }

    /// The first true one; a value that is null or absent leaves it to the next. As in CEL, a true one wins
    /// over a failure before it.
    fn or(&mut self, parts: &'a [Node]) -> Found<'a> {
        let mut failed = None;
        let mut last = Ok(Val::Bool(false));
        for (index, part) in parts.iter().enumerate() {
            let is_last = index + 1 == parts.len();
            match self.value(part) {
                Ok(Val::Bool(true)) => return Ok(Val::Bool(true)),
                Ok(Val::Bool(false)) => last = Ok(Val::Bool(false)),
                Ok(Val::Null) => last = Ok(Val::Null),
                Ok(value) if failed.is_none() => return Ok(value),
                Ok(value) => return Err(failed.unwrap_or_else(|| Fault::failed(value.kind()))),
                Err(fault) if fault.cause == Cause::Absent && !is_last => {}
                Err(fault) if fault.cause == Cause::Limit => return Err(fault),
                Err(fault) => failed = failed.or(Some(fault)),
            }
        }
        failed.map_or(last, Err)
    }

    /// False if one is false, whatever the others are.
    fn and(&mut self, parts: &'a [Node]) -> Found<'a> {
        let mut failed = None;
        for part in parts {
            match self.condition(part) {
                Ok(true) => {}
                Ok(false) => return Ok(Val::Bool(false)),
                Err(fault) if fault.cause == Cause::Limit => return Err(fault),
                Err(fault) => failed = failed.or(Some(fault)),
            }
        }
        failed.map_or(Ok(Val::Bool(true)), Err)
    }

    /// A value as a condition; null is false.
    pub(crate) fn condition(&mut self, node: &'a Node) -> Result<bool, Fault> {
        match self.value(node)? {
            Val::Bool(value) => Ok(value),
            Val::Null => Ok(false),
            other => {
                let message = format!("a condition is true or false, this is {}", other.kind());
                Err(Fault::failed(message).at(node.at))
            }
        }
    }

    fn map(&mut self, entries: &'a [(Node, Node)]) -> Found<'a> {
        self.budget.build_slots(2 * entries.len())?;
        let mut fields = IndexMap::with_capacity(entries.len());
        for (key, value) in entries {
            let name = Key::of(&self.value(key)?).map_err(|fault| fault.at(key.at))?;
            let value = self.value(value)?;
            if fields.insert(name, value).is_some() {
                return Err(Fault::failed("the object has this key twice").at(key.at));
            }
        }
        Ok(Val::map(fields))
    }

    fn text(&mut self, pieces: &'a [Piece]) -> Result<String, Fault> {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(part) => {
                    self.budget.build(part.len())?;
                    text.push_str(part);
                }
                Piece::Value(node) => {
                    let value = self.value(node)?;
                    text.push_str(&value.print(&mut self.budget).map_err(|fault| fault.at(node.at))?);
                }
            }
        }
        Ok(text)
    }

    fn call(&mut self, call: &'a Call) -> Found<'a> {
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            arguments.push(self.value(argument)?);
        }
        if let (Some(pattern), Some(Val::Text(text))) = (&call.pattern, arguments.first()) {
            self.budget.read(text.len())?;
            return Ok(Val::Bool(pattern.is_match(text)));
        }
        if let (Some(query), Some(value)) = (&call.query, arguments.first()) {
            return crate::functions::data::query(self, value, query);
        }
        match (call.body, &call.lambda) {
            (Body::Plain(function), _) => function(self, &arguments),
            (Body::Either(function), lambda) => function(self, &arguments, lambda.as_ref()),
            (Body::Lambda(function), Some(lambda)) => {
                let list = arguments.first().cloned().unwrap_or(Val::Null);
                function(self, &list, lambda, call.second.as_ref())
            }
            (Body::Lambda(_), None) => Err(Fault::failed(format!("{}() needs an expression", call.name))),
        }
    }

    /// The value of a lambda for an item of a list (and its position), or a key of a map (and its value).
    pub(crate) fn apply(&mut self, lambda: &'a Lambda, item: Val<'a>, second: Val<'a>) -> Found<'a> {
        self.with_variables(lambda, item, second, |run| run.value(&lambda.body))
    }

    /// The same as a condition.
    pub(crate) fn test(&mut self, lambda: &'a Lambda, item: Val<'a>, second: Val<'a>) -> Result<bool, Fault> {
        self.with_variables(lambda, item, second, |run| run.condition(&lambda.body))
    }

    /// Runs a part with a lambda's variables set.
    pub(crate) fn with_variables<T>(
        &mut self,
        lambda: &'a Lambda,
        item: Val<'a>,
        second: Val<'a>,
        part: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let depth = self.locals.len();
        self.locals.push(item);
        if lambda.variables == 2 {
            self.locals.push(second);
        }
        let result = part(self);
        self.locals.truncate(depth);
        result
    }

    /// What a lambda goes over: the items of a list with their positions, or the keys of a map with their values.
    pub(crate) fn pairs(&mut self, value: &Val<'a>) -> Result<Vec<(Val<'a>, Val<'a>)>, Fault> {
        match value {
            Val::List(items) => {
                self.budget.steps(items.len())?;
                let positions = (0i64..).map(Val::Int);
                Ok(items.iter().zip(positions).collect())
            }
            Val::Map(fields) => {
                self.budget.steps(fields.len())?;
                Ok(Fields::entries(fields).into_iter().map(|(key, value)| (key.to_value(), value)).collect())
            }
            other => {
                Err(Fault::failed(format!("this goes over lists and objects, not over {}", other.kind())))
            }
        }
    }
}
