//! Reads the catalog of each engine, with statements of our own.

use super::{Catalog, Column, Kind, Listed, MAX_TABLES, Table, rights};
use crate::db::client::Client;
use crate::db::engine::{Bound, Origin, Statement};
use crate::db::rows::Limits;
use crate::db::selection::Selection;
use crate::db::settings::DbType;
use aws_lc_rs::digest::{SHA256, digest};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::sync::Arc;
use tool::{Error, Result};

/// Tables beyond these are not looked at.
const MOST: Limits = Limits::new(10_000, 4 * 1024 * 1024);

/// So many tables are asked for their columns at once.
const TABLES_AT_ONCE: usize = 100;

/// The longest a tool's name may be, less the longest operation and some room.
const MAX_PREFIX: usize = 52;
/// So many that nobody finds two names with the same ones.
const HASH_DIGITS: usize = 12;

/// The type of a column. JSON of MariaDB is a text with a check, which only its own catalog says of which table it is: MySQL
/// reads no comment that begins so.
const MYSQL_TYPE: &str = "/*M! CASE WHEN c.data_type = 'longtext' AND EXISTS (SELECT 1 FROM information_schema.check_constraints j \
     WHERE j.constraint_schema = c.table_schema AND j.table_name = c.table_name \
     AND j.check_clause = CONCAT('json_valid(`', c.column_name, '`)')) THEN 'json (longtext)' ELSE */ c.column_type /*M! END */";

#[derive(Debug, Deserialize)]
struct TableRow {
    name: String,
    is_view: Flag,
    comment: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ColumnRow {
    table_name: String,
    name: String,
    type_name: String,
    is_nullable: Flag,
    has_default: Flag,
    is_generated: Flag,
    /// The position in the primary key, from 1; 0 outside of it.
    key_position: i64,
    comment: Option<String>,
}

/// Engines without booleans say 0 and 1.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub(super) enum Flag {
    Boolean(bool),
    Number(i64),
}

impl Flag {
    pub(super) fn is_set(self) -> bool {
        match self {
            Self::Boolean(is_set) => is_set,
            Self::Number(number) => number != 0,
        }
    }
}

pub(super) async fn catalog(client: &Client, selection: &Selection) -> Result<Catalog> {
    let is_superuser = rights::is_superuser(client, selection.db_type).await?;
    let tables = selected(client, selection).await?;
    let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
    if tables.len() > MAX_TABLES {
        let amiss = amiss(selection, &names, None);
        return Ok(Catalog { tables: Vec::new(), too_many: Some(tables.len()), amiss, is_superuser });
    }
    let tables = with_columns(client, selection, tables).await?;
    let amiss = amiss(selection, &names, Some(&tables));
    Ok(Catalog { tables: tables.into_iter().map(Arc::new).collect(), too_many: None, amiss, is_superuser })
}

/// What the settings name and the database does not have: tables, and the column of tenants in them.
fn amiss(selection: &Selection, names: &[String], read: Option<&[Table]>) -> Vec<String> {
    let say = |(name, setting): (&str, &str)| {
        if !names.iter().any(|known| known == name) {
            return Some(format!(
                "there is no table '{name}' that the user may read; create it, or correct '{setting}'"
            ));
        }
        let is_read = read.is_none_or(|tables| tables.iter().any(|table| table.name == name));
        let column = selection.tenant_column.as_deref().filter(|_| !is_read)?;
        Some(format!("the table '{name}' has no column '{column}', and no tools with 'tenant_column'"))
    };
    selection.named().into_iter().filter_map(say).collect()
}

/// The tables that were selected, however many they are, without their columns.
pub(super) async fn names(client: &Client, selection: &Selection) -> Result<Vec<Listed>> {
    let mut tables = selected(client, selection).await?;
    if selection.tenant_column.is_none() {
        let listed =
            |row: TableRow| Listed { name: row.name, is_view: row.is_view.is_set(), comment: row.comment };
        return Ok(tables.into_iter().map(listed).collect());
    }
    // Those whose rows belong to nobody are nobody's to know.
    let mut listed = Vec::new();
    while !tables.is_empty() {
        let rest = tables.split_off(tables.len().min(TABLES_AT_ONCE));
        let some = with_columns(client, selection, std::mem::replace(&mut tables, rest)).await?;
        let one = |table: Table| Listed { name: table.name, is_view: table.is_view, comment: table.comment };
        listed.extend(some.into_iter().map(one));
    }
    Ok(listed)
}

/// One table of those that were selected.
pub(super) async fn one(client: &Client, selection: &Selection, name: &str) -> Result<Option<Table>> {
    let mut tables = selected(client, selection).await?;
    tables.retain(|table| table.name == name);
    Ok(with_columns(client, selection, tables).await?.pop())
}

async fn selected(client: &Client, selection: &Selection) -> Result<Vec<TableRow>> {
    let tables: Vec<TableRow> = rows(client, tables_statement(selection)).await?;
    Ok(tables.into_iter().filter(|table| selection.includes(&table.name)).collect())
}

async fn with_columns(client: &Client, selection: &Selection, tables: Vec<TableRow>) -> Result<Vec<Table>> {
    let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
    let mut columns: BTreeMap<String, Vec<ColumnRow>> = BTreeMap::new();
    if !names.is_empty() {
        for column in rows::<ColumnRow>(client, columns_statement(selection, &names)).await? {
            columns.entry(column.table_name.clone()).or_default().push(column);
        }
    }
    let mut made: Vec<Table> = Vec::new();
    for row in tables {
        let columns = columns.remove(&row.name).unwrap_or_default();
        made.extend(table(row, columns, selection)?);
    }
    Ok(made)
}

/// One table, unless rows of it belong to nobody.
fn table(row: TableRow, columns: Vec<ColumnRow>, selection: &Selection) -> Result<Option<Table>> {
    let mut key: Vec<(i64, String)> = Vec::new();
    let mut made: Vec<Column> = Vec::new();
    for column in columns {
        if column.key_position > 0 {
            key.push((column.key_position, column.name.clone()));
        }
        made.push(Column {
            kind: Kind::of(&column.type_name, selection.db_type),
            name: column.name,
            type_name: column.type_name,
            is_nullable: column.is_nullable.is_set(),
            has_default: column.has_default.is_set(),
            is_generated: column.is_generated.is_set(),
            comment: column.comment.filter(|comment| !comment.is_empty()),
        });
    }
    let tenant_column = match &selection.tenant_column {
        None => None,
        Some(wanted) => {
            let Some(at) = made.iter().position(|column| column.name == *wanted) else { return Ok(None) };
            let column = made.remove(at);
            check_tenant_column(&row.name, &column, selection.db_type)?;
            Some(column)
        }
    };
    key.sort();
    let position = |(_, name): &(i64, String)| made.iter().position(|column| column.name == *name);
    let key = key.iter().filter_map(position).collect();
    Ok(Some(Table {
        prefix: prefix(&row.name),
        name: row.name,
        comment: row.comment.filter(|comment| !comment.is_empty()),
        is_view: row.is_view.is_set(),
        columns: made,
        tenant_column,
        key,
    }))
}

/// Tenants are texts: to a number, 'acme' and 'globex' would both be 0, and to an enumeration 'acme' may be 'Acme'.
fn check_tenant_column(table: &str, column: &Column, db_type: DbType) -> Result<()> {
    let type_name = column.type_name.to_ascii_lowercase();
    let base = type_name.split('(').next().unwrap_or_default().trim();
    let is_text = match db_type {
        DbType::Sqlite => matches!(column.kind, Kind::Text | Kind::Any),
        DbType::Postgresql => {
            matches!(base, "text" | "character varying" | "character" | "bpchar" | "name" | "citext")
        }
        DbType::Mysql => base.ends_with("text") || base.ends_with("char"),
    };
    if is_text {
        return Ok(());
    }
    Err(Error::invalid_config(format!(
        "the 'tenant_column' {} of the table {table} is of the type {}, and tenants are texts; make it a text, or leave the table out with 'exclude'",
        column.name, column.type_name
    )))
}

/// What the names of a table's tools begin with: its own name where that is one. To every other a part of its hash is added,
/// so that a tool means the same table whatever tables come and go.
fn prefix(name: &str) -> String {
    let is_legal = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    if name.len() <= MAX_PREFIX && name.chars().all(is_legal) && !looks_hashed(name) {
        return name.to_owned();
    }
    let legal = name.chars().map(|character| if is_legal(character) { character } else { '_' });
    let legal: String = legal.take(MAX_PREFIX - HASH_DIGITS - 1).collect();
    let hash = digest(&SHA256, name.as_bytes());
    let bits =
        hash.as_ref().iter().take(HASH_DIGITS / 2).fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
    format!("{legal}_{bits:0HASH_DIGITS$x}")
}

/// A name that a hash could have been added to: it gets one of its own, so that no table can take another's.
fn looks_hashed(name: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.rsplit_once('_').is_some_and(|(_, end)| end.len() == HASH_DIGITS && end.bytes().all(is_digit))
}

pub(super) async fn rows<T: DeserializeOwned>(client: &Client, statement: Statement) -> Result<Vec<T>> {
    let found = client.read(&statement, MOST).await?;
    let misread = |error| Error::internal("the catalog of the database cannot be read").caused_by(error);
    serde_json::from_str::<Vec<T>>(&format!("[{}]", found.json)).map_err(misread)
}

pub(super) fn ours(sql: impl Into<String>, values: Vec<Bound>) -> Statement {
    Statement { sql: sql.into(), values, origin: Origin::Ours }
}

fn tables_statement(selection: &Selection) -> Statement {
    let schema = || vec![selection.schema.clone().map_or(Bound::Null, Bound::Text)];
    match selection.db_type {
        DbType::Sqlite => ours(
            "SELECT name, type = 'view' AS is_view, NULL AS comment FROM sqlite_schema \
             WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
            Vec::new(),
        ),
        DbType::Postgresql => ours(
            "SELECT c.relname::text AS name, c.relkind IN ('v', 'm') AS is_view, \
             obj_description(c.oid, 'pg_class') AS comment \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition \
             AND has_any_column_privilege(c.oid, 'SELECT') ORDER BY c.relname",
            schema(),
        ),
        DbType::Mysql => ours(
            "SELECT table_name AS name, CAST(table_type LIKE '%VIEW%' AS SIGNED) AS is_view, \
             CAST(IF(table_type LIKE '%VIEW%', '', table_comment) AS CHAR) AS comment \
             FROM information_schema.tables WHERE table_schema = COALESCE(?, DATABASE()) \
             AND table_type IN ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED') ORDER BY table_name",
            schema(),
        ),
    }
}

fn columns_statement(selection: &Selection, tables: &[String]) -> Statement {
    let schema = selection.schema.clone().map_or(Bound::Null, Bound::Text);
    let names = Bound::Text(serde_json::json!(tables).to_string());
    match selection.db_type {
        DbType::Sqlite => ours(
            "SELECT t.value AS table_name, c.name AS name, c.type AS type_name, \
             c.\"notnull\" = 0 AND c.pk = 0 AS is_nullable, \
             c.dflt_value IS NOT NULL OR (c.pk = 1 AND upper(c.type) = 'INTEGER' AND \
             (SELECT count(*) FROM pragma_table_xinfo(t.value) k WHERE k.pk > 0) = 1) AS has_default, \
             c.hidden IN (2, 3) AS is_generated, c.pk AS key_position, NULL AS comment \
             FROM json_each(?1) t JOIN pragma_table_xinfo(t.value) c WHERE c.hidden <> 1 ORDER BY t.id, c.cid",
            vec![names],
        ),
        DbType::Postgresql => ours(
            "SELECT c.relname::text AS table_name, a.attname::text AS name, \
             (WITH RECURSIVE base AS (SELECT a.atttypid AS oid UNION ALL SELECT t.typbasetype \
             FROM base JOIN pg_catalog.pg_type t ON t.oid = base.oid WHERE t.typtype = 'd') \
             SELECT format_type(base.oid, -1) FROM base JOIN pg_catalog.pg_type t ON t.oid = base.oid \
             WHERE t.typtype <> 'd') AS type_name, NOT a.attnotnull AS is_nullable, \
             a.atthasdef OR a.attidentity <> '' AS has_default, \
             a.attgenerated <> '' OR a.attidentity = 'a' AS is_generated, \
             COALESCE(array_position(i.indkey::int2[], a.attnum) + 1, 0) AS key_position, \
             col_description(c.oid, a.attnum) AS comment \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
             LEFT JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indisprimary \
             WHERE n.nspname = $1 AND c.relname IN (SELECT json_array_elements_text($2::json)) \
             AND has_column_privilege(c.oid, a.attnum, 'SELECT') ORDER BY c.relname, a.attnum",
            vec![schema, names],
        ),
        DbType::Mysql => {
            let places = vec!["?"; tables.len()].join(", ");
            let sql = format!(
                "SELECT c.table_name AS table_name, c.column_name AS name, CAST({MYSQL_TYPE} AS CHAR) AS type_name, \
                 CAST(c.is_nullable = 'YES' AS SIGNED) AS is_nullable, \
                 CAST(c.column_default IS NOT NULL OR c.extra LIKE '%auto_increment%' AS SIGNED) AS has_default, \
                 CAST(c.extra LIKE '%GENERATED%' AND c.extra NOT LIKE '%DEFAULT_GENERATED%' AS SIGNED) AS is_generated, \
                 CAST(COALESCE(k.ordinal_position, 0) AS SIGNED) AS key_position, \
                 CAST(c.column_comment AS CHAR) AS comment \
                 FROM information_schema.columns c LEFT JOIN information_schema.key_column_usage k \
                 ON k.table_schema = c.table_schema AND k.table_name = c.table_name \
                 AND k.column_name = c.column_name AND k.constraint_name = 'PRIMARY' \
                 WHERE c.table_schema = COALESCE(?, DATABASE()) AND c.table_name IN ({places}) \
                 ORDER BY c.table_name, c.ordinal_position"
            );
            let names = tables.iter().map(|name| Bound::Text(name.clone()));
            ours(sql, std::iter::once(schema).chain(names).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_named_by_their_table_alone() {
        for (table, expected) in [
            ("orders", "orders"),
            ("Order.Items-2", "Order.Items-2"),
            ("\u{8868}", "__c35f80840b4b"),
            ("\u{5355}", "__"),
            ("a b", "a_b_"),
            ("a_b", "a_b"),
            ("t_0123456789ab", "t_0123456789ab_"),
            (&"x".repeat(60), &format!("{}_", "x".repeat(39))),
        ] {
            let found = prefix(table);
            assert!(found.starts_with(expected) && found.len() <= MAX_PREFIX, "{table}: {found}");
            assert_eq!(found == table, expected == table, "{table}: {found}");
        }
        assert_ne!(prefix("\u{8868}"), prefix("\u{5355}"));
    }
}
