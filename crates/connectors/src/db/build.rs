//! Statements of our own: names from the catalog, values bound.

use super::catalog::{Column, Kind, Table};
use super::engine::sqlite::MISFIT;
use super::engine::{Bound, OVERSIZED, Origin, Statement};
use super::settings::DbType;
use super::value;
use serde_json::Value;
use std::fmt::Write;
use tool::{Result, TenantId};

/// The column behind all others that says of each large one whether it was left out of a row that was written, as `0` or
/// `1`. MySQL drops control characters in front of a name.
pub(super) const LEFT_OUT: &str = "left\u{1}out";

/// Lists of PostgreSQL whose values are read as they are, though we take them only as texts.
const READ_LISTS: [&str; 4] = ["interval[]", "inet[]", "cidr[]", "money[]"];

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

    /// A column of a table, which no name of the answer can stand for.
    pub(super) fn column(&mut self, table: &Table, column: &Column) -> &mut Self {
        self.name(&table.name).push(".").name(&column.name)
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

    /// The row is the tenant's: by the column's own comparison, which an index may help with, and by every byte, because
    /// to many columns `acme` and `Acme` are the same.
    pub(super) fn of_tenant(&mut self, column: &Column, tenant: &TenantId) -> &mut Self {
        self.name(&column.name).push(" = ").tenant(column, tenant).push(" AND ");
        let name = self.db_type.quoted(&column.name);
        let (before, after, cast) = match self.db_type {
            DbType::Postgresql => ("CAST(", " AS text) COLLATE \"C\"", "CAST($# AS text)"),
            DbType::Mysql => ("CAST(CONVERT(", " USING utf8mb4) AS BINARY)", "CAST(? AS BINARY)"),
            DbType::Sqlite => ("CAST(", " AS BLOB)", "CAST(?# AS BLOB)"),
        };
        self.push(before).push(&name).push(after).push(" = ");
        self.values.push(Bound::Text(tenant.as_str().to_owned()));
        let number = self.values.len().to_string();
        self.push(&cast.replace('#', &number))
    }

    fn bound(&mut self, column: &Column, bound: Bound) -> &mut Self {
        self.values.push(bound);
        let number = self.values.len();
        // Writing to a String does not fail.
        let _ = match (self.db_type, &column.kind) {
            (DbType::Postgresql, Kind::Bytes) => write!(self.sql, "decode(${number}, 'base64')"),
            (DbType::Postgresql, _) => {
                write!(self.sql, "{}", value::cast(&format!("${number}"), &column.type_name))
            }
            // Compared with a text, a decimal would become a rounded number.
            (DbType::Mysql, Kind::Decimal) => write!(self.sql, "CAST(? AS DECIMAL(65, 30))"),
            (DbType::Mysql, _) => write!(self.sql, "?"),
            (DbType::Sqlite, _) => write!(self.sql, "?{number}"),
        };
        self
    }

    /// Where a stream goes on: the value of a column in the last row.
    ///
    /// # Errors
    /// `InvalidInput` when it is none.
    pub(super) fn cursor(&mut self, column: &Column, value: &Value) -> Result<&mut Self> {
        match (self.db_type, value) {
            // Whatever the column was declared as.
            (DbType::Sqlite, Value::Number(_)) => {
                let bound = value::any("after", value, self.db_type)?;
                Ok(self.bound(column, bound))
            }
            _ => self.value(column, "after", value),
        }
    }

    /// Columns of SQLite hold values of any type. One that cannot be told from another's in JSON is named, because a
    /// stream would lose its place there.
    pub(super) fn misfit<'c>(
        &mut self,
        table: &Table,
        columns: impl Iterator<Item = &'c Column>,
    ) -> &mut Self {
        if self.db_type != DbType::Sqlite {
            return self;
        }
        self.push(", CASE");
        for column in columns {
            let fitting = match column.kind {
                Kind::Text => "'text'",
                Kind::Bytes => "'blob'",
                Kind::Any => "'integer', 'real', 'text'",
                _ => "'integer', 'real'",
            };
            let text = column.name.replace('\'', "''");
            self.push(" WHEN typeof(").column(table, column).push(") NOT IN (").push(fitting).push(")");
            if column.kind == Kind::Any {
                self.push(" OR (typeof(").column(table, column).push(") = 'integer' AND ");
                self.column(table, column).push(" NOT BETWEEN -9007199254740991 AND 9007199254740991)");
            }
            self.push(" THEN '").push(&text).push("'");
        }
        self.push(" END AS ").name(MISFIT)
    }

    /// A whole number that is not a column's.
    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        let _ = write!(self.sql, "{number}");
        self
    }

    /// The columns as they are read: types that only their text is known of as such, and nothing that is larger than an
    /// answer. A server would send it whole, and the driver make room for it.
    pub(super) fn selected<'c>(
        &mut self,
        columns: impl Iterator<Item = &'c Column> + Clone,
        max_bytes: usize,
    ) -> &mut Self {
        let db_type = self.db_type;
        for (index, column) in columns.clone().enumerate() {
            self.push(if index > 0 { ", " } else { "" });
            let name = db_type.quoted(&column.name);
            match has_bounds(column, db_type) {
                true => {
                    let bounded = format!(
                        "CASE WHEN {} <= {max_bytes} THEN {} END",
                        self.length(column),
                        self.shown(column)
                    );
                    self.push(&bounded).push(" AS ").push(&name)
                }
                false => self.push(&name),
            };
        }
        let bounded = columns.filter(|column| has_bounds(column, db_type));
        let lengths: Vec<_> = bounded.map(|column| format!("COALESCE({}, 0)", self.length(column))).collect();
        if !lengths.is_empty() {
            let flag = format!(", CASE WHEN {} > {max_bytes} THEN 1 ELSE 0 END AS ", lengths.join(" + "));
            self.push(&flag).name(OVERSIZED);
        }
        self
    }

    /// A value as it is read.
    fn shown(&self, column: &Column) -> String {
        let name = self.db_type.quoted(&column.name);
        match (self.db_type, &column.kind) {
            // Of money we read what it is, which its text says in the words of a country.
            (DbType::Postgresql, Kind::Other) if column.type_name != "money" => {
                format!("CAST({name} AS text)")
            }
            (DbType::Postgresql, Kind::List(element))
                if **element == Kind::Other && !READ_LISTS.contains(&column.type_name.as_str()) =>
            {
                format!("CAST({name} AS text[])")
            }
            _ => name,
        }
    }

    /// The columns of a row that was just written. What was written is done, so its answer must fit: values that are larger
    /// than their share of it are left out, and a column of its own says which.
    pub(super) fn written(&mut self, table: &Table, max_bytes: usize) -> &mut Self {
        let db_type = self.db_type;
        let large = large_columns(table, db_type);
        // As JSON a text has up to six times its bytes.
        let most = max_bytes / 8 / large.len().max(1);
        for (index, column) in table.columns.iter().enumerate() {
            let (name, value) = (db_type.quoted(&column.name), self.shown(column));
            let value = match column.kind.can_be_large(db_type) {
                true => format!("CASE WHEN {} <= {most} THEN {value} END", self.length(column)),
                false => value,
            };
            self.push(if index > 0 { ", " } else { "" }).push(&value).push(" AS ").push(&name);
        }
        let mark =
            |column: &&Column| format!("CASE WHEN {} > {most} THEN '1' ELSE '0' END", self.length(column));
        let marks: Vec<_> = large.iter().map(mark).collect();
        if !marks.is_empty() {
            let marks = match db_type {
                DbType::Mysql => format!(", CONCAT({}) AS ", marks.join(", ")),
                DbType::Postgresql | DbType::Sqlite => format!(", {} AS ", marks.join(" || ")),
            };
            self.push(&marks).name(LEFT_OUT);
        }
        self
    }

    /// How many bytes a value has.
    fn length(&self, column: &Column) -> String {
        let name = self.db_type.quoted(&column.name);
        match (self.db_type, &column.kind) {
            (DbType::Postgresql, Kind::Bytes) | (DbType::Mysql | DbType::Sqlite, _) => {
                format!("octet_length({name})")
            }
            (DbType::Postgresql, _) => format!("octet_length(CAST({name} AS text))"),
        }
    }

    /// The finished statement.
    pub(super) fn finish(self) -> Statement {
        Statement { sql: self.sql, values: self.values, origin: Origin::Ours }
    }
}

/// The columns whose values can be large.
pub(super) fn large_columns(table: &Table, db_type: DbType) -> Vec<&Column> {
    table.columns.iter().filter(|column| column.kind.can_be_large(db_type)).collect()
}

/// Whether values of the column are only handed over where they are not too large. MySQL sends large ones in parts.
fn has_bounds(column: &Column, db_type: DbType) -> bool {
    match db_type {
        DbType::Sqlite => true,
        DbType::Postgresql => column.kind.can_be_large(db_type) && column.kind != Kind::Decimal,
        DbType::Mysql => false,
    }
}
