//! Backups: everything in one file that either database can be restored from.
//!
//! The file is text, one JSON value per line: a head with the format and the schema's version, then for each table
//! its name and columns and its rows, and at the end their number and the SHA-256 of everything before. What is
//! sealed stays sealed: the master key is no part of it. Nor is what a search finds, which is made anew.

use crate::database::Write as Transaction;
use crate::{Error, Result, Store, meta, migrate, occupancy, row as column};
use aws_lc_rs::digest::{Context, SHA256};
use futures::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Column as _, Row as _};
use std::io::{BufRead, Read as _, Write};

const FORMAT: u32 = 1;
/// A line holds a row, and the longest one a document.
const MAX_LINE_BYTES: u64 = 1024 * 1024 * 1024;

/// What is kept, each table behind those that its rows refer to.
pub const TABLES: [&str; 35] = [
    "meta",
    "revisions",
    "tenants",
    "users",
    "keys",
    "services",
    "service_tools",
    "service_pins",
    "tools",
    "tool_versions",
    "tables",
    "table_versions",
    "table_snapshots",
    "instances",
    "bindings",
    "search_indexes",
    "flows",
    "flow_versions",
    "flow_refs",
    "flow_triggers",
    "runs",
    "run_data",
    "run_journal",
    "run_waits",
    "run_dedupe",
    "run_slots",
    "conversations",
    "conversation_turns",
    "queues",
    "queue_messages",
    "later_calls",
    "later_totals",
    "once_results",
    "audit",
    "management",
];

/// What is not: made by migrations or from the rest, or of the moment.
pub const DERIVED: [&str; 5] =
    ["search_vectors", "search_chunks", "search_nodes", "leases", "schema_version"];

/// How much was written or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    /// Rows of all tables together.
    pub rows: u64,
    /// The version of the schema they were written with.
    pub schema: usize,
}

/// What to do with a database that holds something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Present {
    /// Leave it alone and fail.
    Keep,
    /// Put the backup in its place.
    Replace,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Head { backup: String, format: u32, schema: usize, at: i64 },
    Table { table: String, columns: Vec<String> },
    End { rows: u64, sha256: String },
    Row(Vec<Value>),
}

impl Store {
    /// Writes everything as it is at one moment, whoever else writes meanwhile.
    pub async fn backup(&self, out: &mut (dyn Write + Send)) -> Result<Contents> {
        let mut snapshot = self.snapshot().await?;
        let schema = migrate::version(&mut snapshot, self.backend()).await?;
        if schema == 0 {
            return Err(Error::invalid("the database is empty: there is nothing to back up"));
        }
        let mut out = Hashing { out, digest: Context::new(&SHA256) };
        out.line(&Line::Head {
            backup: "mcp-all-in-one".to_owned(),
            format: FORMAT,
            schema,
            at: column::now(),
        })?;
        let mut rows = 0;
        for table in TABLES {
            if migrate::has_table(&mut snapshot, self.backend(), table).await? {
                rows += write_table(&mut snapshot, table, &mut out).await?;
            }
        }
        let sha256 = hex(out.digest.clone().finish().as_ref());
        out.line(&Line::End { rows, sha256 })?;
        out.out.flush().map_err(|error| unwritable(&error))?;
        Ok(Contents { rows, schema })
    }

    /// Puts a backup into the database, all of it or nothing, and brings it up to date. Refused while a server runs on
    /// it, which would go on with what it has in memory.
    pub async fn restore(&self, from: &mut (dyn BufRead + Send), present: Present) -> Result<Contents> {
        let mut from = Lines { from, digest: Context::new(&SHA256), number: 0 };
        let Some(Line::Head { backup, format, schema, .. }) = from.next()? else {
            return Err(from.unusable());
        };
        if backup != "mcp-all-in-one" || format > FORMAT || schema > migrate::newest() {
            return Err(Error::invalid(
                "the backup was made by a newer version of this program; use that version",
            )
            .at("file"));
        }
        let mut write = self.write().await?;
        let _alone = occupancy::take(self, &mut write).await?;
        self.make_room(&mut write, present).await?;
        migrate::to(&mut write, schema).await?;
        for table in TABLES {
            if migrate::has_table(write.connection(), self.backend(), table).await? {
                run(write.connection(), format!("DELETE FROM {table}")).await?;
            }
        }
        let rows = fill(write.connection(), &mut from).await?;
        begin_searches_anew(write.connection()).await?;
        migrate::to(&mut write, migrate::newest()).await?;
        meta::check_canary(self, write.connection()).await?;
        run(
            write.connection(),
            "UPDATE revisions SET value = (SELECT MAX(value) + 1 FROM revisions)".to_owned(),
        )
        .await?;
        write.commit().await?;
        Ok(Contents { rows, schema })
    }

    /// Drops what there is, if there is nothing in it or it may go.
    async fn make_room(&self, write: &mut Transaction, present: Present) -> Result<()> {
        let backend = self.backend();
        let found = migrate::version(write.connection(), backend).await?;
        if found > migrate::newest() {
            return Err(Error::invalid(
                "the database was written by a newer version of this program; use that version",
            ));
        }
        if found > 0 && present == Present::Keep {
            let count = sqlx::query("SELECT COUNT(*) FROM tenants").fetch_one(write.connection()).await?;
            if count.try_get::<i64, _>(0)? > 0 {
                let message = "the database is not empty; restore into an empty one, or replace everything in it with --force";
                return Err(Error::invalid(message).at("database"));
            }
        }
        crate::search::drop_all_words(write).await?;
        for table in DERIVED.iter().chain(TABLES.iter().rev()) {
            run(write.connection(), format!("DROP TABLE IF EXISTS {table}")).await?;
        }
        Ok(())
    }
}

async fn write_table(connection: &mut AnyConnection, table: &str, out: &mut Hashing<'_>) -> Result<u64> {
    let mut count = 0;
    let mut rows = sqlx::query(AssertSqlSafe(format!("SELECT * FROM {table}"))).fetch(connection);
    while let Some(row) = rows.try_next().await? {
        if count == 0 {
            let columns = row.columns().iter().map(|column| column.name().to_owned()).collect();
            out.line(&Line::Table { table: table.to_owned(), columns })?;
        }
        out.line(&Line::Row(values(&row)?))?;
        count += 1;
    }
    Ok(count)
}

/// Our columns hold texts and whole numbers.
fn values(row: &AnyRow) -> Result<Vec<Value>> {
    let value = |at: usize| match row.try_get::<Option<i64>, _>(at) {
        Ok(number) => Ok(number.map_or(Value::Null, Value::from)),
        Err(_) => Ok(row.try_get::<Option<String>, _>(at)?.map_or(Value::Null, Value::from)),
    };
    (0..row.len()).map(value).collect()
}

/// Reads tables and rows up to the end, which must say what was read.
async fn fill(connection: &mut AnyConnection, from: &mut Lines<'_>) -> Result<u64> {
    let (mut insert, mut rows) = (None, 0);
    loop {
        let so_far = hex(from.digest.clone().finish().as_ref());
        match from.next()? {
            Some(Line::Table { table, columns }) => insert = Some(from.checked(table, columns)?),
            Some(Line::Row(values)) => {
                let Some((table, columns)) = &insert else { return Err(from.unusable()) };
                if values.len() != columns.len() {
                    return Err(from.unusable());
                }
                add(connection, table, columns, values).await.map_err(|error| {
                    match error.is_retryable() {
                        true => error,
                        false => from.unusable(),
                    }
                })?;
                rows += 1;
            }
            Some(Line::End { rows: all, sha256 }) if all == rows && sha256 == so_far => return Ok(rows),
            Some(Line::End { .. }) => {
                return Err(
                    Error::invalid("the backup was changed or damaged: its checksum does not fit").at("file")
                );
            }
            Some(Line::Head { .. }) => return Err(from.unusable()),
            None => return Err(Error::invalid("the backup is cut off: its end is missing").at("file")),
        }
    }
}

/// Adds a row. NULL stands in the statement, as a parameter it would need the column's type.
async fn add(
    connection: &mut AnyConnection,
    table: &str,
    columns: &[String],
    values: Vec<Value>,
) -> Result<()> {
    let mut number = 0;
    let mut place = |value: &Value| match value {
        Value::Null => "NULL".to_owned(),
        _ => {
            number += 1;
            format!("${number}")
        }
    };
    let places: Vec<_> = values.iter().map(&mut place).collect();
    let sql = format!("INSERT INTO {table} ({}) VALUES ({})", columns.join(", "), places.join(", "));
    let mut insert = sqlx::query(AssertSqlSafe(sql));
    for value in values {
        insert = match value {
            Value::Null => insert,
            Value::String(text) => insert.bind(text),
            Value::Number(number) if number.is_i64() => insert.bind(number.as_i64()),
            _ => return Err(Error::invalid("a value is neither a text nor a whole number")),
        };
    }
    insert.execute(connection).await?;
    Ok(())
}

/// What they had found is not in the backup.
async fn begin_searches_anew(connection: &mut AnyConnection) -> Result<()> {
    sqlx::query(
        "UPDATE search_indexes SET status = 'pending', table_version = 0, tried_version = 0, model = '',
             nodes_count = 0, chunks_count = 0, indexed_chunks_count = 0, indexed_at = NULL, last_error = NULL,
             attempts = 0, due_at = $1",
    )
    .bind(column::now())
    .execute(connection)
    .await?;
    Ok(())
}

async fn run(connection: &mut AnyConnection, sql: String) -> Result<()> {
    sqlx::query(AssertSqlSafe(sql)).execute(connection).await?;
    Ok(())
}

/// Counts into the digest what it writes.
struct Hashing<'a> {
    out: &'a mut (dyn Write + Send),
    digest: Context,
}

impl Hashing<'_> {
    fn line(&mut self, line: &Line) -> Result<()> {
        let mut text = column::to_json(line)?;
        text.push('\n');
        self.digest.update(text.as_bytes());
        self.out.write_all(text.as_bytes()).map_err(|error| unwritable(&error))
    }
}

/// Counts into the digest what it reads.
struct Lines<'a> {
    from: &'a mut (dyn BufRead + Send),
    digest: Context,
    number: u64,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<Option<Line>> {
        let mut text = Vec::new();
        self.number += 1;
        let read = (&mut *self.from).take(MAX_LINE_BYTES).read_until(b'\n', &mut text);
        read.map_err(|error| Error::unavailable(format!("the backup cannot be read: {error}")).at("file"))?;
        if text.is_empty() {
            return Ok(None);
        }
        self.digest.update(&text);
        serde_json::from_slice(&text).map(Some).map_err(|_| self.unusable())
    }

    /// Names become part of statements, so they must be ours.
    fn checked(&self, table: String, columns: Vec<String>) -> Result<(String, Vec<String>)> {
        let is_name = |name: &String| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        match TABLES.contains(&table.as_str()) && columns.iter().all(is_name) {
            true => Ok((table, columns)),
            false => Err(self.unusable()),
        }
    }

    fn unusable(&self) -> Error {
        let message = format!("line {} is not what a backup of mcp-all-in-one holds there", self.number);
        Error::invalid(message).at("file")
    }
}

fn unwritable(error: &std::io::Error) -> Error {
    Error::unavailable(format!("the backup cannot be written: {error}")).at("file")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
