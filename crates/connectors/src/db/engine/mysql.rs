//! Sessions of MySQL and MariaDB.

use super::mysql_values::Reader;
use super::{Bound, Described, Interrupt, Origin, Session, Statement, headings};
use crate::db::relay::Wire;
use crate::db::rows::Rows;
use crate::db::sql::Access;
use async_trait::async_trait;
use futures::TryStreamExt;
use sqlx::mysql::{MySqlArguments, MySqlConnectOptions};
use sqlx::query::Query;
use sqlx::{
    AssertSqlSafe, Column, ConnectOptions, Connection, Either, Executor, MySql, MySqlConnection, Row,
    SqlSafeStr, Statement as _,
};
use std::time::Duration;

/// What the scanner of statements takes for granted, whatever the server's own mode is: texts in both quotes, with
/// backslashes. Values that do not fit are refused.
const MODE: &str = "SET SESSION sql_mode = \
     'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'";

/// One connection to a MySQL or MariaDB server.
pub(in crate::db) struct MysqlSession {
    connection: MySqlConnection,
    id: u64,
    wire: Option<Wire>,
}

impl MysqlSession {
    /// Connects, signs in, and tells the session what it may do and for how long.
    pub(in crate::db) async fn open(
        options: &MySqlConnectOptions,
        wire: Option<Wire>,
        access: Access,
        time: Duration,
    ) -> sqlx::Result<Self> {
        let mut connection = options.connect().await?;
        connection.execute(MODE).await?;
        let row = connection.fetch_one("SELECT CONNECTION_ID(), VERSION()").await?;
        let (id, version): (u64, String) = (row.try_get(0)?, row.try_get(1)?);
        if access == Access::Read {
            connection.execute("SET SESSION TRANSACTION READ ONLY").await?;
        }
        let milliseconds = time.as_millis();
        let limit = match version.contains("MariaDB") {
            true => format!("SET SESSION max_statement_time = {}", time.as_secs_f64()),
            false => format!("SET SESSION max_execution_time = {milliseconds}"),
        };
        connection.execute(AssertSqlSafe(limit)).await?;
        Ok(Self { connection, id, wire })
    }
}

#[async_trait]
impl Session for MysqlSession {
    async fn fetch(&mut self, statement: &Statement, rows: &mut Rows) -> sqlx::Result<()> {
        let mut stream = query(statement).fetch(&mut self.connection);
        let mut readers: Option<Vec<Reader>> = None;
        while let Some(row) = stream.try_next().await? {
            rows.set_headings(|| headings(row.columns()));
            let readers = readers.get_or_insert_with(|| {
                row.columns().iter().map(|column| Reader::of(column.type_info())).collect()
            });
            let taken = rows.push(|cells| -> sqlx::Result<()> {
                for (index, reader) in readers.iter().enumerate() {
                    reader.write(row.try_get_raw(index)?, cells).map_err(sqlx::Error::Decode)?;
                }
                Ok(())
            })?;
            if taken.is_break() {
                break;
            }
        }
        Ok(())
    }

    async fn execute(&mut self, statement: &Statement) -> sqlx::Result<u64> {
        let mut answers = (&mut self.connection).fetch_many(query(statement));
        let (mut affected, mut returned) = (0, 0);
        while let Some(answer) = answers.try_next().await? {
            match answer {
                Either::Left(done) => affected += done.rows_affected(),
                // Of `RETURNING` the server says no number: there are as many rows as were touched.
                Either::Right(_) => returned += 1,
            }
        }
        Ok(affected.max(returned))
    }

    async fn command(&mut self, sql: &'static str) -> sqlx::Result<()> {
        self.connection.execute(sql).await.map(drop)
    }

    async fn describe(&mut self, sql: &str) -> sqlx::Result<Described> {
        let prepared = self.connection.prepare(AssertSqlSafe(sql).into_sql_str()).await?;
        Ok(Described { headings: headings(prepared.columns()), ..Described::default() })
    }

    async fn begin_reading(&mut self) -> sqlx::Result<()> {
        self.command("START TRANSACTION READ ONLY").await
    }

    async fn reset(&mut self) -> sqlx::Result<()> {
        // Nothing else can be forgotten: sessions that ran a statement of somebody are closed.
        self.connection.clear_cached_statements().await
    }

    async fn ping(&mut self) -> sqlx::Result<()> {
        self.connection.ping().await
    }

    fn interrupt(&self) -> Interrupt {
        Interrupt::Statement(format!("KILL QUERY {}", self.id))
    }

    fn is_outgrown(&self) -> bool {
        self.wire.as_ref().is_some_and(Wire::is_outgrown)
    }

    async fn close(self: Box<Self>) {
        // Whoever does not hear our goodbye sees the connection end.
        let _ = self.connection.close().await;
    }
}

fn query(statement: &Statement) -> Query<'_, MySql, MySqlArguments> {
    let mut query = sqlx::query(AssertSqlSafe(statement.sql.as_str()));
    for value in &statement.values {
        query = match value {
            Bound::Null => query.bind(None::<String>),
            Bound::Text(text) => query.bind(text),
            Bound::Integer(number) => query.bind(number),
            Bound::Unsigned(number) => query.bind(number),
            Bound::Float(number) => query.bind(number),
            Bound::Boolean(is_true) => query.bind(is_true),
            Bound::Bytes(bytes) => query.bind(bytes),
        };
    }
    query.persistent(statement.origin == Origin::Ours)
}
