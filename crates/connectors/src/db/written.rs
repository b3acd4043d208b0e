//! What is shown of a row that was written: all of it, where an answer has room for it. What was done is never refused.

use super::Db;
use super::build::LEFT_OUT;
use super::catalog::{Column, Table};
use super::pool::Lease;
use super::read::{exact, push_key};
use super::rows::Limits;
use crate::shared::digits::to_json;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;
use tool::{Context, Error, Output, Result};

/// A row that was written.
pub(super) struct Written {
    json: String,
    /// The columns that are not shown, because their values are too large.
    left_out: Vec<String>,
}

impl Written {
    /// With all that it has.
    pub(super) fn whole(json: impl Into<String>) -> Self {
        Self { json: json.into(), left_out: Vec::new() }
    }

    /// As `Builder::written` asks for it. The column that is ours says which of the large ones were left out.
    pub(super) fn read(json: &str, table: &Table, large: &[&Column]) -> Self {
        let key = Value::from(LEFT_OUT).to_string();
        let Some((row, marks)) = json.rsplit_once(&format!(",{key}:\"")) else { return Self::whole(json) };
        let is_left_out = |(mark, column): (char, &&Column)| (mark == '1').then(|| column.name.clone());
        let left_out: Vec<String> = marks.chars().zip(large).filter_map(is_left_out).collect();
        let row = format!("{row}}}");
        match left_out.is_empty() {
            true => Self::whole(row),
            false => Self { json: without(&row, table, &left_out), left_out },
        }
    }

    /// As it was given, where it cannot be read back, as far as there is room for it.
    pub(super) fn given(given: &[(&Column, &Value)], max_bytes: usize) -> Self {
        let row: Vec<_> = given.iter().map(|(column, value)| (column, to_json(value))).collect();
        let is_small = row.iter().map(|(_, value)| value.len()).sum::<usize>() <= max_bytes;
        let fits = |value: &String| is_small || value.len() <= max_bytes / row.len();
        let (shown, large): (Vec<_>, Vec<_>) = row.iter().partition(|(_, value)| fits(value));
        let shown = shown.iter().map(|(column, value)| (column.name.as_str(), value.as_str()));
        Self { json: object(shown), left_out: large.iter().map(|(column, _)| column.name.clone()).collect() }
    }

    /// The answer, which says what it does not show.
    pub(super) fn output(self) -> Result<Output> {
        let row = RawValue::from_string(self.json)
            .map_err(|error| Error::internal("a row is no JSON").caused_by(error))?;
        if self.left_out.is_empty() {
            return Ok(Output::json(row));
        }
        let names = self.left_out.join("', '");
        Ok(Output::json_with_remark(
            row,
            &format!(
                "the row was written; '{names}' is not shown here, because an answer has no room for it ('max_bytes' of the service)"
            ),
        ))
    }
}

impl Db {
    /// The row once more, where its large values together may have room that none of them has as its share.
    pub(super) async fn complete(
        &self,
        cx: &Context,
        lease: &mut Lease,
        table: &Table,
        (written, limits): (Written, Limits),
    ) -> Written {
        if written.left_out.is_empty() || lease.is_spent() {
            return written;
        }
        let Some(key) = key_of(table, &written.json) else { return written };
        let key: Vec<_> = table.key_columns().zip(&key).collect();
        let again = async {
            let mut builder = self.select(table, &table.columns.iter().collect::<Vec<_>>(), limits);
            push_key(&mut builder, table, cx, &key)?;
            lease.read(&builder.finish(), limits.of_rows(1)).await
        };
        // A row that is too large, or gone meanwhile, was written all the same.
        let found = again.await.ok().and_then(super::rows::Finished::into_row);
        found.map_or(written, |row| Written::whole(row.get()))
    }
}

/// The values of a row's primary key. None where there is none, or it is not shown.
fn key_of(table: &Table, row: &str) -> Option<Vec<Value>> {
    let row: HashMap<String, &RawValue> = serde_json::from_str(row).ok()?;
    let value = |column: &Column| exact(row.get(&column.name)?.get()).filter(|value| !value.is_null());
    table.has_key().then(|| table.key_columns().map(value).collect()).flatten()
}

/// A row without some of its columns.
fn without(row: &str, table: &Table, left_out: &[String]) -> String {
    let values: HashMap<String, &RawValue> = serde_json::from_str(row).unwrap_or_default();
    let shown = table.columns.iter().filter(|column| !left_out.contains(&column.name));
    object(shown.filter_map(|column| Some((column.name.as_str(), values.get(&column.name)?.get()))))
}

fn object<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let fields: Vec<_> = fields.map(|(name, value)| format!("{}:{value}", json!(name))).collect();
    format!("{{{}}}", fields.join(","))
}
