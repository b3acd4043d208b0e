//! Small steps between database rows and our types.

use crate::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::Row as _;
use sqlx::any::AnyRow;
use std::time::{SystemTime, UNIX_EPOCH};

/// The time of day in milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn text(row: &AnyRow, column: &str) -> Result<String> {
    Ok(row.try_get(column)?)
}

pub(crate) fn optional_text(row: &AnyRow, column: &str) -> Result<Option<String>> {
    Ok(row.try_get(column)?)
}

pub(crate) fn integer(row: &AnyRow, column: &str) -> Result<i64> {
    Ok(row.try_get(column)?)
}

pub(crate) fn optional_integer(row: &AnyRow, column: &str) -> Result<Option<i64>> {
    Ok(row.try_get(column)?)
}

/// A column whose text is parsed, e.g. an id or a role.
pub(crate) fn parsed<T: std::str::FromStr>(row: &AnyRow, column: &str) -> Result<T> {
    text(row, column)?.parse().map_err(|_| undecodable(column))
}

/// A column that holds JSON.
pub(crate) fn json<T: DeserializeOwned>(row: &AnyRow, column: &str) -> Result<T> {
    serde_json::from_str(&text(row, column)?).map_err(|_| undecodable(column))
}

pub(crate) fn optional_json<T: DeserializeOwned>(row: &AnyRow, column: &str) -> Result<Option<T>> {
    let text = optional_text(row, column)?;
    text.map(|text| serde_json::from_str(&text).map_err(|_| undecodable(column))).transpose()
}

pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|_| Error::internal("a value has no JSON form"))
}

/// JSON that is read back later: what could be written but not read, being nested too deeply,
/// is refused now.
pub(crate) fn to_readable_json(field: &str, value: &Value) -> Result<String> {
    let text = to_json(value)?;
    match serde_json::from_str::<Value>(&text) {
        Ok(_) => Ok(text),
        Err(_) => Err(Error::invalid(format!("the {field} is nested too deeply")).at(field)),
    }
}

/// For texts that must not fail a record or a search: PostgreSQL keeps no U+0000.
pub(crate) fn clean(text: &str) -> String {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}") } else { text.to_owned() }
}

/// The text anywhere, with the wildcards of `LIKE` taken literally: for `LIKE … ESCAPE '!'`.
pub(crate) fn pattern(text: &str) -> String {
    let escaped = clean(text).to_lowercase().replace('!', "!!").replace('%', "!%").replace('_', "!_");
    format!("%{escaped}%")
}

pub(crate) fn undecodable(column: &str) -> Error {
    Error::corrupt(format!("column {column} of the database holds something unexpected"))
}
