//! Who may decide on an approval: `by`, refused where nobody could ever be meant.

use super::data::{Data, Field};
use crate::cursor::Cursor;
use crate::problem::{Code, Problems};
use serde_json::Value;

/// The one group there is.
pub(super) const MANAGERS: &str = "managers";

/// Words that mean a group to whoever writes them, and would be taken for somebody's name.
const GROUPS: [&str; 11] = [
    "admins",
    "administrators",
    "anybody",
    "anyone",
    "callers",
    "everybody",
    "everyone",
    "owner",
    "owners",
    "users",
    "viewers",
];

pub(super) fn read(field: &Cursor<'_>, problems: &mut Problems) -> Data {
    let data = Data::read(field, problems);
    if let Err((code, what)) = check(&data) {
        let message = format!(
            "{what}; '{MANAGERS}' belongs here, the id or the name of a user or a key, a list of these, or {{except: id}}"
        );
        problems.add(field.error(code, message));
    }
    data
}

/// What is wrong with it, in words. What is computed is known when it is run.
fn check(data: &Data) -> Result<(), (Code, String)> {
    let mismatch = |what: &str| Err((Code::TypeMismatch, format!("{what} names nobody")));
    match data {
        Data::Text(..) | Data::Formula(_) => Ok(()),
        Data::Literal(Value::Array(all)) if all.is_empty() => mismatch("an empty list"),
        Data::Literal(Value::Array(all)) => all.iter().try_for_each(one),
        Data::List(all) => all.iter().try_for_each(|item| match item {
            Data::Literal(value) => one(value),
            Data::Text(..) | Data::Formula(_) => Ok(()),
            Data::List(_) | Data::Fields(_) => mismatch("what is in this list"),
        }),
        Data::Literal(Value::Object(fields)) => match (fields.get("except"), fields.len()) {
            (Some(id), 1) => one(id),
            _ => mismatch("this object"),
        },
        Data::Fields(fields) => match fields.as_slice() {
            [Field::Set(key, Data::Text(..) | Data::Formula(_))] if key.name == "except" => Ok(()),
            _ => mismatch("this object"),
        },
        Data::Literal(value) => one(value),
    }
}

/// A user or a key, or all managers.
fn one(value: &Value) -> Result<(), (Code, String)> {
    match value {
        Value::String(name) if name.trim().is_empty() => {
            Err((Code::TypeMismatch, "an empty text names nobody".to_owned()))
        }
        Value::String(name) if GROUPS.contains(&name.to_lowercase().as_str()) => {
            Err((Code::Unknown, format!("'{name}' is no group, {MANAGERS} are the only one")))
        }
        Value::String(_) => Ok(()),
        other => Err((Code::TypeMismatch, format!("{other} names nobody"))),
    }
}
