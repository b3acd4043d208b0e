//! Data with expressions in it: what `args`, `with`, `sets`, `output` and the like are made of.

use super::assignments;
use crate::cursor::Cursor;
use crate::problem::{Code, Problem, Problems};
use crate::source::{Content, Place, Spot};
use expression::{Error, Expression, Position, Scope, Setting, Template};
use serde_json::{Map, Value};

/// Where an expression stands in the document.
#[derive(Debug, Clone)]
pub struct Origin {
    path: Box<str>,
    spot: Spot,
    /// How far into the text of the value it begins.
    start: Position,
}

impl Origin {
    pub(crate) fn of(cursor: &Cursor<'_>) -> Self {
        Self::within(cursor, Position { line: 1, column: 1 })
    }

    /// Of a part of the cursor's text.
    pub(crate) fn within(cursor: &Cursor<'_>, start: Position) -> Self {
        Self { path: cursor.path.as_str().into(), spot: cursor.spot(), start }
    }

    /// Where the value stands, e.g. `nodes.order.args.id`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The place in the document of a place in the expression.
    #[must_use]
    pub fn place(&self, position: Position) -> Place {
        let column = if position.line == 1 { self.start.column - 1 } else { 0 };
        self.spot.place_of(Position {
            line: position.line + self.start.line - 1,
            column: position.column + column,
        })
    }

    fn trouble(&self, error: &Error) -> Trouble {
        let is_limit = error.kind() == expression::Kind::Limit;
        Trouble {
            path: self.path.clone(),
            place: self.place(error.position()),
            message: error.message().to_owned(),
            is_limit,
        }
    }

    /// Counts a computed part against what the whole may have.
    fn spend(&self, value: Value, left: &mut usize) -> Result<Value, Trouble> {
        match left.checked_sub(weight(&value)) {
            Some(rest) => *left = rest,
            None => {
                let message = "the values together are too large".to_owned();
                return Err(Trouble {
                    path: self.path.clone(),
                    place: self.spot.at,
                    message,
                    is_limit: true,
                });
            }
        }
        Ok(value)
    }

    /// Where the value stands.
    pub(crate) fn start(&self) -> Place {
        self.spot.at
    }

    pub(crate) fn problem(&self, error: &Error) -> Problem {
        let code = match error.kind() {
            expression::Kind::Limit => Code::LimitExceeded,
            expression::Kind::Syntax | expression::Kind::Evaluation => Code::Expression,
        };
        Problem::error(code, &self.path, self.place(error.position()), error.message())
    }
}

/// What an expression could not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The value that it stands in, e.g. `nodes.order.args.id`.
    pub path: Box<str>,
    /// Where in the document.
    pub place: Place,
    /// In words.
    pub message: String,
    /// It was too much, not wrong.
    pub is_limit: bool,
}

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
            Content::Text(text) => Self::parse(bare(text), Origin::of(cursor), problems),
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
fn bare(text: &str) -> &str {
    let inner = text.trim().strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    inner.filter(|inner| !inner.contains("${")).unwrap_or(text)
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
            Some(text) if !text.contains("${") => assignments::read(text, cursor, lone, problems),
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

    /// The value for the names in `scope`; all its computed parts together are not larger than one may be.
    ///
    /// # Errors
    /// What an expression in it cannot do, and where it stands.
    pub fn evaluate(&self, scope: &dyn Scope, setting: &Setting) -> Result<Value, Trouble> {
        self.build(scope, setting, &mut setting.limits.built_bytes.clone())
    }

    fn build(&self, scope: &dyn Scope, setting: &Setting, left: &mut usize) -> Result<Value, Trouble> {
        match self {
            Self::Literal(value) => Ok(value.clone()),
            Self::Text(template, origin) => {
                let value = template.evaluate(scope, setting).map_err(|error| origin.trouble(&error))?;
                origin.spend(value, left)
            }
            Self::Formula(formula) => formula.origin.spend(formula.evaluate(scope, setting)?, left),
            Self::List(items) => items.iter().map(|item| item.build(scope, setting, left)).collect(),
            Self::Fields(fields) => {
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

/// About how many bytes a value takes as text.
pub(crate) fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| 1 + weight(item)).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields.iter().map(|(name, value)| name.len() + 4 + weight(value)).sum::<usize>()
        }
    }
}

fn literal(template: &Template) -> Value {
    template.evaluate(&Map::new(), &Setting::default()).unwrap_or_default()
}
