//! Statements of our own: names from the catalog, values bound.

use super::catalog::{Column, Kind, Table};
use super::engine::sqlite::OVERSIZED;
use super::engine::{Bound, Origin, Statement};
use super::settings::DbType;
use super::value;
use serde_json::Value;
use std::fmt::Write;
use tool::{Result, TenantId};

/// A statement that grows.
#[derive(Debug)]
pub(super) struct Builder<'a> {
    pub(super) db_type: DbType,
    schema: Option<&'a str>,
    sql: String,
    values: Vec<Bound>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(db_type: DbType, schema: Option<&'a str>) -> Self {
        Self { db_type, schema, sql: String::new(), values: Vec::new() }
    }

    /// Words of ours.
    pub(super) fn push(&mut self, sql: &str) -> &mut Self {
        self.sql.push_str(sql);
        self
    }

    /// A name of the catalog.
    pub(super) fn name(&mut self, name: &str) -> &mut Self {
        let quoted = self.db_type.quoted(name);
        self.push(&quoted)
    }

    /// A table of the catalog, with its schema.
    pub(super) fn table(&mut self, table: &Table) -> &mut Self {
        if let Some(schema) = self.schema {
            self.name(schema).push(".");
        }
        self.name(&table.name)
    }

    /// Names of columns with commas between them.
    pub(super) fn names<'c>(&mut self, columns: impl IntoIterator<Item = &'c Column>) -> &mut Self {
        for (index, column) in columns.into_iter().enumerate() {
            self.push(if index > 0 { ", " } else { "" }).name(&column.name);
        }
        self
    }

    /// A value of a column, as its type needs it.
    ///
    /// # Errors
    /// `InvalidInput` naming the argument, when the value is none of the column's.
    pub(super) fn value(&mut self, column: &Column, argument: &str, value: &Value) -> Result<&mut Self> {
        let bound = value::bound(column, argument, value, self.db_type)?;
        Ok(self.bound(column, bound))
    }

    /// The tenant, as a value of its column.
    pub(super) fn tenant(&mut self, column: &Column, tenant: &TenantId) -> &mut Self {
        self.bound(column, Bound::Text(tenant.as_str().to_owned()))
    }

    fn bound(&mut self, column: &Column, bound: Bound) -> &mut Self {
        self.values.push(bound);
        let number = self.values.len();
        // Writing to a String does not fail.
        let _ = match (self.db_type, &column.kind) {
            (DbType::Postgresql, Kind::Bytes) => write!(self.sql, "decode(${number}, 'base64')"),
            (DbType::Postgresql, _) => write!(self.sql, "CAST(${number} AS {})", column.type_name),
            // Compared with a text, a decimal would become a rounded number.
            (DbType::Mysql, Kind::Decimal) => write!(self.sql, "CAST(? AS DECIMAL(65, 30))"),
            (DbType::Mysql, _) => write!(self.sql, "?"),
            (DbType::Sqlite, _) => write!(self.sql, "?{number}"),
        };
        self
    }

    /// A whole number that is not a column's.
    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        let _ = write!(self.sql, "{number}");
        self
    }

    /// The columns as they are read: types that only their text is known of as such, and in SQLite nothing that is
    /// larger than an answer.
    pub(super) fn selected<'c>(
        &mut self,
        columns: impl Iterator<Item = &'c Column> + Clone,
        max_bytes: usize,
    ) -> &mut Self {
        for (index, column) in columns.clone().enumerate() {
            self.push(if index > 0 { ", " } else { "" });
            let name = self.db_type.quoted(&column.name);
            match (self.db_type, &column.kind) {
                (DbType::Sqlite, _) => self.push(&bounded(&name, max_bytes)).push(" AS ").push(&name),
                (DbType::Postgresql, Kind::Other) => {
                    self.push("CAST(").push(&name).push(" AS text) AS ").push(&name)
                }
                _ => self.push(&name),
            };
        }
        if self.db_type == DbType::Sqlite {
            let names = columns.map(|column| self.db_type.quoted(&column.name)).collect::<Vec<_>>();
            let flag = oversized(&names, max_bytes);
            self.push(", ").push(&flag);
        }
        self
    }

    /// The finished statement.
    pub(super) fn finish(self) -> Statement {
        Statement { sql: self.sql, values: self.values, origin: Origin::Ours }
    }
}

/// A value of SQLite, or nothing where it is too large to be handed over.
pub(super) fn bounded(expression: &str, max_bytes: usize) -> String {
    format!("CASE WHEN octet_length({expression}) <= {max_bytes} THEN {expression} END")
}

/// The column that says whether one was too large.
pub(super) fn oversized(expressions: &[String], max_bytes: usize) -> String {
    let lengths: Vec<_> =
        expressions.iter().map(|name| format!("coalesce(octet_length({name}), 0)")).collect();
    let lengths = if lengths.is_empty() { "0".to_owned() } else { lengths.join(" + ") };
    format!("{lengths} > {max_bytes} AS \"{OVERSIZED}\"")
}
