//! Sessions of SQLite.

use super::{Bound, Described, Interrupt, OVERSIZED, Origin, Session, Statement, headings};
use crate::db::rows::{Cells, Heading, Rows};
use async_trait::async_trait;
use futures::TryStreamExt;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteColumn, SqliteConnectOptions, SqliteRow};
use sqlx::{
    AssertSqlSafe, Column, ConnectOptions, Connection, Decode, Executor, Row, SqlSafeStr, Sqlite,
    SqliteConnection, Statement as _, TypeInfo, ValueRef,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// After so many steps of its machine the engine looks whether it is to stop. Each may make a value as large as there may be.
const STEPS: i32 = 50;
/// A statement may take so much memory. What is sorted and grouped goes to files long before.
const MAX_MEMORY: i64 = 64 * 1024 * 1024;

/// The column that names one whose value has no place in a stream.
pub(in crate::db) const MISFIT: &str = "\u{1}misfit";

/// One open database file.
pub(in crate::db) struct SqliteSession {
    connection: SqliteConnection,
    is_interrupted: Arc<AtomicBool>,
    memory: Arc<Memory>,
}

/// What a statement may take. SQLite counts for all connections of the process together, so that others who take much at the
/// same time count, too.
#[derive(Debug, Default)]
struct Memory {
    /// What was taken when the statement began.
    before: AtomicI64,
    is_outgrown: AtomicBool,
}

impl Memory {
    fn begin(&self) {
        self.before.store(sqlitelimits::memory_used(), Ordering::Relaxed);
        self.is_outgrown.store(false, Ordering::Relaxed);
    }

    fn has_room(&self) -> bool {
        let has_room = sqlitelimits::memory_used() - self.before.load(Ordering::Relaxed) <= MAX_MEMORY;
        if !has_room {
            self.is_outgrown.store(true, Ordering::Relaxed);
        }
        has_room
    }
}

impl SqliteSession {
    /// Opens the file. No value is ever larger than `value_bytes`: a function that makes one is interrupted by nobody.
    pub(in crate::db) async fn open(
        options: &SqliteConnectOptions,
        value_bytes: usize,
    ) -> sqlx::Result<Self> {
        let mut connection = options.connect().await?;
        let is_interrupted = Arc::new(AtomicBool::new(false));
        let memory = Arc::new(Memory::default());
        let (flag, room) = (is_interrupted.clone(), memory.clone());
        memory.begin();
        let mut handle = connection.lock_handle().await?;
        handle.set_progress_handler(STEPS, move || !flag.load(Ordering::Relaxed) && room.has_room());
        sqlitelimits::set(&mut handle, value_bytes);
        drop(handle);
        Ok(Self { connection, is_interrupted, memory })
    }
}

#[async_trait]
impl Session for SqliteSession {
    async fn fetch(&mut self, statement: &Statement, rows: &mut Rows) -> sqlx::Result<()> {
        self.memory.begin();
        let mut stream = query(statement).fetch(&mut self.connection);
        while let Some(row) = stream.try_next().await? {
            rows.set_headings(|| shown_headings(row.columns()));
            if rows.push(|cells| write_row(&row, cells))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    async fn execute(&mut self, statement: &Statement) -> sqlx::Result<u64> {
        self.memory.begin();
        query(statement).execute(&mut self.connection).await.map(|done| done.rows_affected())
    }

    async fn describe(&mut self, sql: &str) -> sqlx::Result<Described> {
        let prepared = self.connection.prepare(AssertSqlSafe(sql).into_sql_str()).await?;
        Ok(Described { headings: shown_headings(prepared.columns()), ..Described::default() })
    }

    async fn command(&mut self, sql: &'static str) -> sqlx::Result<()> {
        self.connection.execute(sql).await.map(drop)
    }

    async fn begin_reading(&mut self) -> sqlx::Result<()> {
        // The file is open for reading only; a transaction makes its rows one picture.
        self.command("BEGIN").await
    }

    async fn reset(&mut self) -> sqlx::Result<()> {
        // Statements that only read leave nothing behind in a file of this mode.
        Ok(())
    }

    async fn ping(&mut self) -> sqlx::Result<()> {
        self.connection.ping().await
    }

    fn interrupt(&self) -> Interrupt {
        Interrupt::Flag(self.is_interrupted.clone())
    }

    fn is_outgrown(&self) -> bool {
        self.memory.is_outgrown.load(Ordering::Relaxed)
    }

    async fn close(self: Box<Self>) {
        // The file is closed either way.
        let _ = self.connection.close().await;
    }
}

fn query(statement: &Statement) -> Query<'_, Sqlite, SqliteArguments> {
    let mut query = sqlx::query(AssertSqlSafe(statement.sql.as_str()));
    for value in &statement.values {
        query = match value {
            Bound::Null => query.bind(None::<String>),
            Bound::Text(text) => query.bind(text.clone()),
            Bound::Integer(number) => query.bind(*number),
            // SQLite has no larger integers; it would store a rounded number.
            Bound::Unsigned(number) => query.bind(number.to_string()),
            Bound::Float(number) => query.bind(*number),
            Bound::Boolean(is_true) => query.bind(*is_true),
            Bound::Bytes(bytes) => query.bind(bytes.clone()),
        };
    }
    query.persistent(statement.origin == Origin::Ours)
}

/// Each value says itself what it is: columns of SQLite hold anything.
fn write_row(row: &SqliteRow, cells: &mut Cells<'_>) -> sqlx::Result<()> {
    for column in row.columns() {
        let value = row.try_get_raw(column.ordinal())?;
        if column.name() == OVERSIZED {
            if <i64 as Decode<Sqlite>>::decode(value).map_err(sqlx::Error::Decode)? != 0 {
                cells.oversized();
            }
            continue;
        }
        if column.name() == MISFIT {
            check_fit(value)?;
            continue;
        }
        if value.is_null() {
            if let Some(mut cell) = cells.next(4) {
                cell.null();
            }
            continue;
        }
        write_value(value, cells).map_err(sqlx::Error::Decode)?;
    }
    Ok(())
}

fn check_fit(value: sqlx::sqlite::SqliteValueRef<'_>) -> sqlx::Result<()> {
    let misfit = <Option<String> as Decode<Sqlite>>::decode(value).map_err(sqlx::Error::Decode)?;
    match misfit {
        None => Ok(()),
        Some(name) => {
            let why = format!(
                "'{name}' is null or of another type in some rows, which have no place in a stream; order by other columns, or use page"
            );
            Err(sqlx::Error::Decode(why.into()))
        }
    }
}

fn write_value(
    value: sqlx::sqlite::SqliteValueRef<'_>,
    cells: &mut Cells<'_>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let kind = value.type_info().into_owned();
    match kind.name() {
        "INTEGER" => {
            let number = <i64 as Decode<Sqlite>>::decode(value)?;
            if let Some(mut cell) = cells.next(20) {
                cell.integer(number);
            }
        }
        "REAL" => {
            let number = <f64 as Decode<Sqlite>>::decode(value)?;
            if let Some(mut cell) = cells.next(24) {
                cell.float(number);
            }
        }
        "TEXT" => {
            // Texts in files that others wrote need not be UTF-8.
            let text = <&[u8] as Decode<Sqlite>>::decode(value)?;
            if let Some(mut cell) = cells.next(text.len()) {
                cell.text(&String::from_utf8_lossy(text));
            }
        }
        _ => {
            let bytes = <&[u8] as Decode<Sqlite>>::decode(value)?;
            if let Some(mut cell) = cells.next(bytes.len()) {
                cell.bytes(bytes);
            }
        }
    }
    Ok(())
}

/// All but the column that is ours. What was computed has no type before there is a value, and each row may have another.
fn shown_headings(columns: &[SqliteColumn]) -> Vec<Heading> {
    let shown = columns.iter().filter(|column| ![OVERSIZED, MISFIT].contains(&column.name()));
    let mut headings = headings(shown);
    for heading in headings.iter_mut().filter(|heading| heading.type_name == "null") {
        heading.type_name.clear();
    }
    headings
}
