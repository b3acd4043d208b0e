//! Data with expressions in it: what `args`, `with`, `sets`, `output` and the like are made of.

use super::assignments;
use super::origin::{Origin, Room, Trouble};
use crate::cursor::Cursor;
use crate::problem::Problems;
use crate::source::{Content, Place};
use expression::{Expression, Position, Scope, Setting, Template};
use serde_json::{Map, Value};

/// A bare expression, as in `when`.
#[derive(Debug, Clone)]
pub struct Formula {
    pub(crate) expression: Expression,
    pub(crate) origin: Origin,
}

impl Formula {
    pub(crate) fn parse(text: &str, origin: Origin, problems: &mut Problems) -> Option<Self> {
        match Expression::parse(text) {
            Ok(expression) => Some(Self { expression, origin }),
            Err(error) => {
                problems.add(origin.problem(&error));
                None
            }
        }
    }

    /// An expression without `${}`; true, false and numbers are expressions, too.
    pub(crate) fn read(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Self> {
        match &cursor.tree.content {
            Content::Text(text) => {
                let (start, bare) = bare(text);
                Self::parse(bare, Origin::within(cursor, Position::of(text, start)), problems)
            }
            Content::Bool(_) | Content::Number(_) => {
                Self::parse(&cursor.tree.to_value().to_string(), Origin::of(cursor), problems)
            }
            _ => {
                problems.add(cursor.mismatch("an expression"));
                None
            }
        }
    }
}

/// `${e}` where `e` belongs is what authors write who think of the other fields.
fn bare(text: &str) -> (usize, &str) {
    let inner = text.trim().strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let start = text.find("${").map_or(0, |at| at + 2);
    inner.filter(|inner| !inner.contains("${")).map_or((0, text), |inner| (start, inner))
}

/// It has `${…}`, and not only inside of the expression `` `text ${e}` ``.
fn is_template(text: &str) -> bool {
    let is_even = text.matches('`').count().is_multiple_of(2);
    let mut outside = text.split('`').step_by(if is_even { 2 } else { 1 });
    outside.any(|part| part.contains("${"))
}

/// A value, some of whose parts are computed.
#[derive(Debug, Clone)]
pub enum Data {
    /// The same every time.
    Literal(Value),
    /// A text with `${…}` in it.
    Text(Template, Origin),
    /// An expression in the origin's way.
    Formula(Formula),
    /// A list with computed items.
    List(Vec<Self>),
    /// An object with computed fields.
    Fields(Vec<Field>),
}

/// A part of an object.
#[derive(Debug, Clone)]
pub enum Field {
    /// One field.
    Set(Key, Data),
    /// All fields of another object.
    Spread(Formula),
}

/// The name of a field, and where it stands.
#[derive(Debug, Clone)]
pub struct Key {
    /// The name.
    pub name: String,
    pub(crate) at: Place,
}

impl Key {
    pub(crate) fn new(name: &str, at: Place) -> Self {
        Self { name: name.to_owned(), at }
    }
}

impl Data {
    /// Reads a value in which only `${…}` is computed.
    pub(crate) fn read(cursor: &Cursor<'_>, problems: &mut Problems) -> Self {
        match &cursor.tree.content {
            Content::Text(text) => match Template::parse(text) {
                Ok(template) if template.is_literal() => Self::Literal(literal(&template)),
                Ok(template) => Self::Text(template, Origin::of(cursor)),
                Err(error) => {
                    problems.add(Origin::of(cursor).problem(&error));
                    Self::Literal(Value::Null)
                }
            },
            Content::List(_) => {
                let items = cursor.items().map(|item| Self::read(&item, problems)).collect();
                Self::List(items).folded()
            }
            Content::Map(_) => Self::read_fields(cursor, problems).folded(),
            _ => Self::Literal(cursor.tree.to_value()),
        }
    }

    /// Reads `args`, `with`, `sets` or `vars`, where a text without `${…}` is the origin's: assignments or an expression.
    pub(crate) fn read_assigned(
        cursor: &Cursor<'_>,
        lone: assignments::Lone,
        problems: &mut Problems,
    ) -> Self {
        match cursor.as_text() {
            Some(text) if !is_template(text) => assignments::read(text, cursor, lone, problems),
            None if cursor.is_map() => Self::read_fields(cursor, problems),
            _ => Self::read(cursor, problems),
        }
    }

    fn read_fields(cursor: &Cursor<'_>, problems: &mut Problems) -> Self {
        let entries = cursor.entries();
        let read = |(name, field): (&str, Cursor<'_>)| {
            Field::Set(Key::new(name, field.at), Self::read(&field, problems))
        };
        Self::Fields(entries.map(read).collect())
    }

    /// A value without computed parts is a literal.
    fn folded(self) -> Self {
        match self {
            Self::List(items) if items.iter().all(|item| matches!(item, Self::Literal(_))) => {
                let values = items.into_iter().filter_map(Self::into_literal);
                Self::Literal(values.collect())
            }
            Self::Fields(fields)
                if fields.iter().all(|field| matches!(field, Field::Set(_, Self::Literal(_)))) =>
            {
                let pair = |field| match field {
                    Field::Set(key, data) => Some((key.name, data.into_literal()?)),
                    Field::Spread(_) => None,
                };
                Self::Literal(Value::Object(fields.into_iter().filter_map(pair).collect()))
            }
            other => other,
        }
    }

    fn into_literal(self) -> Option<Value> {
        match self {
            Self::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// The value for the names in `scope`; all its computed parts together are not larger than one may be, nor deeper.
    ///
    /// # Errors
    /// What an expression in it cannot do, and where it stands.
    pub fn evaluate(&self, scope: &dyn Scope, setting: &Setting) -> Result<Value, Trouble> {
        self.build(scope, setting, &mut Room::new(setting))
    }

    fn build(&self, scope: &dyn Scope, setting: &Setting, left: &mut Room) -> Result<Value, Trouble> {
        match self {
            Self::Literal(value) => Ok(value.clone()),
            Self::Text(template, origin) => {
                let value = template.evaluate(scope, setting).map_err(|error| origin.trouble(&error))?;
                origin.spend(value, left)
            }
            Self::Formula(formula) => formula.origin.spend(formula.evaluate(scope, setting)?, left),
            Self::List(items) => {
                left.inside(|left| items.iter().map(|item| item.build(scope, setting, left)).collect())
            }
            Self::Fields(fields) => left.inside(|left| build_fields(fields, scope, setting, left)),
        }
    }

    /// Every name in it, with the place of each.
    pub(crate) fn visit(&self, found: &mut dyn FnMut(&str, &Origin, Position)) {
        match self {
            Self::Literal(_) => {}
            Self::Text(template, origin) => template.names().for_each(|(name, at)| found(name, origin, at)),
            Self::Formula(formula) => formula.visit(found),
            Self::List(items) => items.iter().for_each(|item| item.visit(found)),
            Self::Fields(fields) => fields.iter().for_each(|field| match field {
                Field::Set(_, data) => data.visit(found),
                Field::Spread(formula) => formula.visit(found),
            }),
        }
    }
}

fn build_fields(
    fields: &[Field],
    scope: &dyn Scope,
    setting: &Setting,
    left: &mut Room,
) -> Result<Value, Trouble> {
    let mut map = Map::new();
    for field in fields {
        match field {
            Field::Set(key, data) => {
                map.insert(key.name.clone(), data.build(scope, setting, left)?);
            }
            Field::Spread(formula) => {
                let value = formula.origin.spend(formula.evaluate(scope, setting)?, left)?;
                if let Value::Object(more) = value {
                    map.extend(more);
                }
            }
        }
    }
    Ok(Value::Object(map))
}

impl Formula {
    /// The value for the names in `scope`.
    ///
    /// # Errors
    /// What it cannot do, and where it stands.
    pub fn evaluate(&self, scope: &dyn Scope, setting: &Setting) -> Result<Value, Trouble> {
        self.expression.evaluate(scope, setting).map_err(|error| self.origin.trouble(&error))
    }

    pub(crate) fn visit(&self, found: &mut dyn FnMut(&str, &Origin, Position)) {
        self.expression.names().for_each(|(name, at)| found(name, &self.origin, at));
    }
}

fn literal(template: &Template) -> Value {
    template.evaluate(&Map::new(), &Setting::default()).unwrap_or_default()
}
