//! The arguments of table tools, read by hand: their names are columns, and a refusal names them.

use super::catalog::{Column, Table};
use super::filter::{column, wrong};
use crate::shared::digits::{digits_of, rounded};
use serde_json::{Map, Value};
use tool::Result;

/// The arguments of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Arguments<'a> {
    /// An argument that was given.
    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn object(self, name: &str) -> Result<Option<&'a Map<String, Value>>> {
        let object =
            self.get(name).map(|value| value.as_object().ok_or_else(|| wrong(name, "must be an object")));
        object.transpose()
    }

    pub(super) fn text(self, name: &str) -> Result<Option<&'a str>> {
        let text = |value: &'a Value| value.as_str().filter(|_| digits_of(value).is_none());
        self.get(name).map(|value| text(value).ok_or_else(|| wrong(name, "must be a string"))).transpose()
    }

    pub(super) fn list(self, name: &str) -> Result<&'a [Value]> {
        match self.get(name) {
            None => Ok(&[]),
            Some(value) => value.as_array().map(Vec::as_slice).ok_or_else(|| wrong(name, "must be a list")),
        }
    }

    pub(super) fn is_set(self, name: &str) -> Result<bool> {
        match self.get(name) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| wrong(name, "must be true or false")),
        }
    }

    /// A whole number from `least` to `most`.
    pub(super) fn number(self, name: &str, default: u64, least: u64, most: u64) -> Result<u64> {
        let Some(value) = self.get(name).map(rounded) else { return Ok(default.min(most)) };
        let whole = value.as_u64().or_else(|| {
            let float = value.as_f64().filter(|float| float.fract() == 0.0 && *float >= 0.0)?;
            Some(float as u64)
        });
        whole
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| wrong(name, &format!("must be a whole number from {least} to {most}")))
    }

    /// The columns that are wanted, all unless `fields` names some.
    pub(super) fn fields(self, table: &Table) -> Result<Vec<&Column>> {
        let names = self.list("fields")?;
        if names.is_empty() {
            return Ok(table.columns.iter().collect());
        }
        let mut fields = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let path = format!("fields[{index}]");
            let name = name.as_str().ok_or_else(|| wrong(&path, "must be the name of a column"))?;
            let found = column(table, name, &path)?;
            if !fields.iter().any(|other: &&Column| other.name == found.name) {
                fields.push(found);
            }
        }
        Ok(fields)
    }

    /// The order that is wanted: `["total desc", "id"]`.
    pub(super) fn order<'t>(self, table: &'t Table) -> Result<Vec<Ordering<'t>>> {
        let mut order = Vec::new();
        for (index, item) in self.list("orderBy")?.iter().enumerate() {
            let path = format!("orderBy[{index}]");
            let text = item.as_str().ok_or_else(|| wrong(&path, "must be the name of a column"))?;
            // A column may be called so; only what is left over can be a direction.
            let (name, is_descending) = match (table.column(text), text.rsplit_once(' ')) {
                (None, Some((name, word))) if word.eq_ignore_ascii_case("desc") => (name, true),
                (None, Some((name, word))) if word.eq_ignore_ascii_case("asc") => (name, false),
                _ => (text, false),
            };
            order.push(Ordering { column: column(table, name, &path)?, is_descending });
        }
        Ok(order)
    }

    /// The values of columns that were given; each must be one that somebody may fill in.
    pub(super) fn columns<'t>(self, table: &'t Table) -> Result<Vec<(&'t Column, &'a Value)>> {
        let mut columns = Vec::new();
        for (name, value) in self.0 {
            let found = column(table, name, name)?;
            if found.is_generated {
                return Err(wrong(name, "is filled in by the database; leave it out"));
            }
            columns.push((found, value));
        }
        Ok(columns)
    }

    /// The values of the primary key.
    pub(super) fn key<'t>(self, table: &'t Table) -> Result<Vec<(&'t Column, &'a Value)>> {
        let mut key = Vec::new();
        for column in table.key_columns() {
            let name = &column.name;
            let value = self.get(name).ok_or_else(|| wrong(name, "is missing: it is of the primary key"))?;
            key.push((column, value));
        }
        Ok(key)
    }

    /// Nothing but the primary key was given.
    pub(super) fn only_key(self, table: &Table) -> Result<()> {
        let is_of_key = |name: &str| table.key_columns().any(|column| column.name == name);
        match self.0.keys().find(|name| !is_of_key(name)) {
            Some(name) => Err(wrong(name, "is not of the primary key; leave it out")),
            None => Ok(()),
        }
    }
}

/// A column that rows are ordered by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ordering<'t> {
    pub(super) column: &'t Column,
    pub(super) is_descending: bool,
}
