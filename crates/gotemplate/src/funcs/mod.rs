//! The functions templates may call: one table, one file per family.

mod access;
mod encoding;
pub(crate) mod escape;
mod json;
mod lists;
mod logic;
mod maps;
mod maths;
mod output;
mod regex;
mod strings;
mod table;
mod values;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use crate::budget::Budget;
use crate::error::{ErrorKind, Fault};
use crate::format;
use crate::program::Comparison;
use crate::value::Value;

/// A function that gets all its arguments evaluated.
pub(crate) type Plain = for<'a> fn(&mut Budget<'_>, &[Value<'a>]) -> Result<Value<'a>, Fault>;

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    family: Family,
    /// The names of the arguments, for the reference.
    usage: &'static str,
    parameters: &'static [Parameter],
    /// More arguments may follow.
    variadic: bool,
    pub(crate) run: Run,
    doc: &'static str,
    example: &'static str,
    output: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Run {
    Plain(Plain),
    /// Evaluates its arguments itself, up to the first empty one.
    And,
    /// Evaluates its arguments itself, up to the first that is not empty.
    Or,
}

/// What an argument has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameter {
    Any,
    Str,
    Int,
    Bool,
    /// A map, or nothing, which is taken as an empty one.
    Map,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Logic,
    Output,
    Access,
    Values,
    Json,
    Maps,
    Strings,
    Encoding,
    Lists,
    Maths,
}

impl Family {
    fn title(self) -> &'static str {
        match self {
            Self::Logic => "Logic and comparison",
            Self::Output => "Printing and escaping",
            Self::Access => "Length, index and slice",
            Self::Values => "Values and defaults",
            Self::Json => "JSON",
            Self::Maps => "Maps",
            Self::Strings => "Strings",
            Self::Encoding => "Encoding and regular expressions",
            Self::Lists => "Lists",
            Self::Maths => "Maths",
        }
    }
}

/// What the reference says about a function.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct FunctionDoc {
    /// The name it is called by.
    pub name: &'static str,
    /// The heading it stands under.
    pub family: &'static str,
    /// Its arguments; the last one may come from a pipeline.
    pub usage: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// A template that calls it.
    pub example: &'static str,
    /// What that template renders over an empty object.
    pub output: &'static str,
}

/// All functions, in the order of the reference.
pub fn functions() -> impl Iterator<Item = FunctionDoc> {
    table::TABLE.iter().map(|function| FunctionDoc {
        name: function.name,
        family: function.family.title(),
        usage: function.usage,
        doc: function.doc,
        example: function.example,
        output: function.output,
    })
}

static BY_NAME: LazyLock<HashMap<&'static str, &'static Function>> =
    LazyLock::new(|| table::TABLE.iter().map(|function| (function.name, function)).collect());

/// The function of that name.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    BY_NAME.get(name).copied()
}

/// A function whose name differs in case only or by one letter.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let close = |function: &&Function| {
        function.name.eq_ignore_ascii_case(name) || differs_by_one(function.name, name)
    };
    table::TABLE.iter().find(close).map(|function| function.name)
}

fn differs_by_one(left: &str, right: &str) -> bool {
    let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    if short.len() < 3 || long.len() - short.len() > 1 {
        return false;
    }
    let common = short.bytes().zip(long.bytes()).take_while(|(a, b)| a == b).count();
    let skipped = usize::from(short.len() == long.len());
    short.as_bytes().get(common + skipped..).unwrap_or_default()
        == long.as_bytes().get(common + 1..).unwrap_or_default()
}

impl Function {
    /// Which comparison of two values it is, if it is one.
    pub(crate) fn comparison(&self) -> Option<Comparison> {
        Some(match self.name {
            "eq" => Comparison::Equal,
            "ne" => Comparison::NotEqual,
            "lt" => Comparison::Less,
            "le" => Comparison::LessOrEqual,
            "gt" => Comparison::Greater,
            "ge" => Comparison::GreaterOrEqual,
            _ => return None,
        })
    }

    /// What the argument at that position has to be.
    pub(crate) fn parameter(&self, at: usize) -> Option<Parameter> {
        self.parameters.get(at).or(self.parameters.last().filter(|_| self.variadic)).copied()
    }

    pub(crate) fn check_count(&self, count: usize) -> Result<(), Fault> {
        let least = self.parameters.len() - usize::from(self.variadic);
        if count >= least && (self.variadic || count == least) {
            return Ok(());
        }
        let at_least = if self.variadic { "at least " } else { "" };
        let message = format!("wrong number of arguments for {}: got {count}", self.name);
        Err(Fault::new(ErrorKind::Arity, message).expecting(format!("{at_least}{least}: {}", self.usage)))
    }

    #[inline]
    pub(crate) fn check_types(&self, arguments: &[Value<'_>]) -> Result<(), Fault> {
        for (at, argument) in arguments.iter().enumerate() {
            let parameter = self.parameter(at).unwrap_or(Parameter::Any);
            let suits = match parameter {
                Parameter::Any => true,
                Parameter::Str => argument.is_string(),
                Parameter::Int => matches!(argument, Value::Int(..)),
                Parameter::Bool => matches!(argument, Value::Bool(_)),
                Parameter::Map => matches!(argument, Value::Nil | Value::Object(_) | Value::Map(_)),
            };
            if !suits {
                return Err(self.unsuited(at, parameter, argument));
            }
        }
        Ok(())
    }

    #[cold]
    fn unsuited(&self, at: usize, parameter: Parameter, argument: &Value<'_>) -> Fault {
        let wanted = match parameter {
            Parameter::Any => "any value",
            Parameter::Str => "a string",
            Parameter::Int => "an integer",
            Parameter::Bool => "a boolean",
            Parameter::Map => "a map",
        };
        let got = argument.type_name();
        Fault::wrong_type(format!("argument {} of {} is {got}", at + 1, self.name)).expecting(wanted)
    }
}

/// A string argument, already checked to be one.
fn text<'v>(value: &'v Value<'_>) -> Cow<'v, str> {
    value.as_text().unwrap_or_default()
}

/// The bytes of a string argument, already checked to be one.
fn bytes<'v>(value: &'v Value<'_>) -> &'v [u8] {
    value.as_bytes().unwrap_or_default()
}

/// An integer argument, already checked to be one.
fn int(value: &Value<'_>) -> i64 {
    match value {
        Value::Int(int, _) => *int,
        _ => 0,
    }
}

/// Any value as a string value, as Go's `%v` prints it.
fn stringify<'a>(budget: &mut Budget<'_>, value: &Value<'a>) -> Result<Value<'a>, Fault> {
    if value.is_string() {
        return Ok(value.clone());
    }
    let mut buffer = budget.buffer();
    format::write(&mut buffer, value)?;
    budget.finish(buffer)
}
