//! The form that MCP gives definitions. Clients that keep to it refuse a whole list for one field of the wrong type, so
//! that a definition is put into its form before it is listed; what is in its form already stays byte for byte.

mod definitions;
#[cfg(test)]
mod tests;

pub(crate) use definitions::{PROMPT, RESOURCE, TEMPLATE, TOOL};

use crate::fields::Fields;
use regex::Regex;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::LazyLock;

/// What a value has to be.
pub(crate) enum Form {
    Text,
    /// One of these.
    Word(&'static [&'static str]),
    Flag,
    /// A number without a fraction.
    Whole,
    /// From 0 to 1.
    Share,
    /// ISO 8601, with its zone.
    Moment,
    Object,
    List(&'static Form),
    Record(&'static [Field]),
    /// The type of a schema: one, or several.
    Type,
    /// The type of a schema of arguments, which are always an object.
    ObjectType,
    /// The parameters of a schema.
    Properties,
}

/// A field of an object; those that nobody knows stay as they are.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) need: Need,
}

/// What becomes of an object whose field is missing, null or not in its form.
pub(crate) enum Need {
    /// The field is left out.
    Optional,
    /// The field is this where it is there and not in its form; null says nothing.
    Else(&'static str),
    /// The object is unusable.
    Required,
    /// The field is this where it is missing or null; with another value the object is unusable.
    Is(&'static str),
    /// The field says the same as another one.
    SameAs(&'static str),
}

/// What becomes of a value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Formed {
    /// It is in its form.
    AsItIs,
    /// It has to be this.
    Changed(String),
    Unusable,
}

impl Formed {
    fn of(fits: bool) -> Self {
        if fits { Self::AsItIs } else { Self::Unusable }
    }
}

impl Form {
    /// What becomes of a value in JSON. One that nobody can read, such as a key that is no text, stays.
    pub(crate) fn apply(&self, value: &str) -> Formed {
        match self {
            Self::Text => Formed::of(value.starts_with('"')),
            Self::Word(words) => {
                let is_one = |word: String| words.contains(&word.as_str());
                Formed::of(serde_json::from_str(value).is_ok_and(is_one))
            }
            Self::Flag => Formed::of(matches!(value, "true" | "false")),
            Self::Whole => Formed::of(number(value).is_some_and(|number| number.fract() == 0.0)),
            Self::Share => Formed::of(number(value).is_some_and(|number| (0.0..=1.0).contains(&number))),
            Self::Moment => Formed::of(is_moment(value)),
            Self::Object => Formed::of(value.starts_with('{')),
            Self::List(items) => list(items, value),
            Self::Record(fields) => record(fields, value),
            Self::Type if value.starts_with('[') => list(&Self::Text, value),
            Self::Type => Formed::of(value.starts_with('"')),
            Self::ObjectType => object_type(value),
            Self::Properties => properties(value),
        }
    }
}

fn number(value: &str) -> Option<f64> {
    let is_number = value.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    value.parse().ok().filter(|number: &f64| is_number && number.is_finite())
}

fn is_moment(value: &str) -> bool {
    static MOMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let date = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])";
        let time = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)";
        Regex::new(&format!("^\"{date}T{time}\"$")).ok()
    });
    MOMENT.as_ref().is_some_and(|moment| moment.is_match(value))
}

/// A list without the items that are unusable.
fn list(items: &Form, value: &str) -> Formed {
    if !value.starts_with('[') {
        return Formed::Unusable;
    }
    let Ok(all) = serde_json::from_str::<Vec<&RawValue>>(value) else { return Formed::AsItIs };
    let mut is_changed = false;
    let mut rest: Vec<Cow<'_, str>> = Vec::with_capacity(all.len());
    for item in all {
        let formed = items.apply(item.get());
        is_changed |= formed != Formed::AsItIs;
        match formed {
            Formed::AsItIs => rest.push(item.get().into()),
            Formed::Changed(item) => rest.push(item.into()),
            Formed::Unusable => {}
        }
    }
    if is_changed { Formed::Changed(format!("[{}]", rest.join(","))) } else { Formed::AsItIs }
}

fn record(known: &[Field], value: &str) -> Formed {
    if !value.starts_with('{') {
        return Formed::Unusable;
    }
    let Ok(all) = serde_json::from_str::<Fields<'_>>(value) else { return Formed::AsItIs };
    let mut is_changed = false;
    let mut rest: Vec<(&str, Cow<'_, str>)> = Vec::with_capacity(all.0.len() + 1);
    for (key, value) in &all.0 {
        let field = known.iter().find(|field| field.name == key);
        let formed = field.map_or(Formed::AsItIs, |field| field.form.apply(value.get()));
        is_changed |= formed != Formed::AsItIs;
        match (formed, field.map(|field| &field.need)) {
            (Formed::AsItIs, _) => rest.push((key, value.get().into())),
            (Formed::Changed(value), _) => rest.push((key, value.into())),
            (Formed::Unusable, Some(Need::Is(_))) if value.get() != "null" => return Formed::Unusable,
            (Formed::Unusable, Some(Need::Else(other))) if value.get() != "null" => {
                rest.push((key, (*other).into()))
            }
            (Formed::Unusable, _) => {}
        }
    }
    for field in known {
        if rest.iter().any(|(key, _)| *key == field.name) {
            continue;
        }
        let filled = match field.need {
            Need::Optional | Need::Else(_) => continue,
            Need::Required => None,
            Need::Is(value) => Some(value),
            Need::SameAs(other) => all.get(other).map(RawValue::get),
        };
        let Some(filled) = filled else { return Formed::Unusable };
        is_changed = true;
        rest.push((field.name, filled.into()));
    }
    if is_changed { Formed::Changed(object(&rest)) } else { Formed::AsItIs }
}

/// An object with these fields, in JSON.
pub(crate) fn object(fields: &[(&str, Cow<'_, str>)]) -> String {
    let fields: Vec<_> = fields.iter().map(|(key, value)| format!("{}:{value}", Value::from(*key))).collect();
    format!("{{{}}}", fields.join(","))
}

fn object_type(value: &str) -> Formed {
    let is_object = |word: &Value| word == "object";
    match serde_json::from_str::<Value>(value) {
        Ok(word) if is_object(&word) => Formed::AsItIs,
        Ok(Value::Array(words)) if words.iter().any(is_object) => Formed::Changed("\"object\"".to_owned()),
        _ => Formed::Unusable,
    }
}

/// What is no schema of a parameter says nothing of it.
fn properties(value: &str) -> Formed {
    if !value.starts_with('{') {
        return Formed::Unusable;
    }
    let is_schema = |schema: &str| schema.starts_with('{') || matches!(schema, "true" | "false");
    match with_values(value, |schema| (!is_schema(schema)).then_some("{}")) {
        Some(changed) => Formed::Changed(changed),
        None => Formed::AsItIs,
    }
}

/// An object with other values, where there are any.
pub(crate) fn with_values(value: &str, other: impl Fn(&str) -> Option<&'static str>) -> Option<String> {
    let all: Fields<'_> = serde_json::from_str(value).ok()?;
    if !all.0.iter().any(|(_, value)| other(value.get()).is_some()) {
        return None;
    }
    let fields = all.0.iter().map(|(key, value)| (&**key, other(value.get()).unwrap_or(value.get()).into()));
    Some(object(&fields.collect::<Vec<_>>()))
}
