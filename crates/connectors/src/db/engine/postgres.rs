//! Sessions of PostgreSQL.

use super::postgres_values::Reader;
use super::{Bound, Described, Interrupt, OVERSIZED, Origin, Session, Statement, headings};
use crate::db::relay::Wire;
use crate::db::rows::Rows;
use async_trait::async_trait;
use futures::TryStreamExt;
use sqlx::postgres::{PgArguments, PgColumn, PgConnectOptions};
use sqlx::query::Query;
use sqlx::{
    AssertSqlSafe, Column, ConnectOptions, Connection, Either, Executor, PgConnection, Postgres, Row,
    SqlSafeStr, Statement as _, TypeInfo,
};

/// One connection to a PostgreSQL server.
pub(in crate::db) struct PostgresSession {
    connection: PgConnection,
    process: i32,
    /// What carries the bytes; it ends with the session.
    wire: Option<Wire>,
}

impl PostgresSession {
    /// Connects and signs in.
    pub(in crate::db) async fn open(options: &PgConnectOptions, wire: Option<Wire>) -> sqlx::Result<Self> {
        let mut connection = options.connect().await?;
        let row = connection.fetch_one("SELECT pg_backend_pid()").await?;
        let process = row.try_get(0)?;
        Ok(Self { connection, process, wire })
    }
}

#[async_trait]
impl Session for PostgresSession {
    async fn fetch(&mut self, statement: &Statement, rows: &mut Rows) -> sqlx::Result<()> {
        let mut stream = query(statement).fetch(&mut self.connection);
        let mut readers: Option<Vec<Reader>> = None;
        while let Some(row) = stream.try_next().await? {
            rows.set_headings(|| headings(row.columns().iter().filter(|column| column.name() != OVERSIZED)));
            let shown = row.columns().iter().filter(|column| column.name() != OVERSIZED);
            let readers =
                readers.get_or_insert_with(|| shown.map(|column| Reader::of(column.type_info())).collect());
            let taken = rows.push(|cells| -> sqlx::Result<()> {
                if row.columns().len() > readers.len() && row.try_get::<i32, _>(readers.len())? != 0 {
                    cells.oversized();
                }
                for (index, reader) in readers.iter().enumerate() {
                    let value = row.try_get_raw(index)?;
                    reader.write(&value, cells).map_err(sqlx::Error::Decode)?;
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
        query(statement).execute(&mut self.connection).await.map(|done| done.rows_affected())
    }

    async fn describe(&mut self, sql: &str) -> sqlx::Result<Described> {
        let prepared = self.connection.prepare(AssertSqlSafe(sql).into_sql_str()).await?;
        let parameter_types = match prepared.parameters() {
            Some(Either::Left(types)) => types.iter().map(|known| known.name().to_owned()).collect(),
            Some(Either::Right(_)) | None => Vec::new(),
        };
        let is_text = |column: &PgColumn| !Reader::of(column.type_info()).is_known();
        let columns = prepared.columns().iter().enumerate();
        let texts = columns.filter(|(_, column)| is_text(column)).map(|(index, _)| index).collect();
        Ok(Described { headings: headings(prepared.columns()), texts, parameter_types })
    }

    async fn command(&mut self, sql: &'static str) -> sqlx::Result<()> {
        self.connection.execute(sql).await.map(drop)
    }

    async fn begin_reading(&mut self) -> sqlx::Result<()> {
        self.command("BEGIN READ ONLY").await
    }

    async fn reset(&mut self) -> sqlx::Result<()> {
        self.command("DISCARD ALL").await?;
        // The server has forgotten the prepared statements, so that we must, too.
        self.connection.clear_cached_statements().await
    }

    async fn ping(&mut self) -> sqlx::Result<()> {
        self.connection.ping().await
    }

    fn interrupt(&self) -> Interrupt {
        Interrupt::Statement(format!("SELECT pg_cancel_backend({})", self.process))
    }

    fn is_outgrown(&self) -> bool {
        self.wire.as_ref().is_some_and(Wire::is_outgrown)
    }

    async fn close(self: Box<Self>) {
        // Whoever does not hear our goodbye sees the connection end.
        let _ = self.connection.close().await;
    }
}

/// Values go as texts, which the statement casts to what it needs.
fn query(statement: &Statement) -> Query<'_, Postgres, PgArguments> {
    let mut query = sqlx::query(AssertSqlSafe(statement.sql.as_str()));
    for value in &statement.values {
        query = match value {
            Bound::Null => query.bind(None::<String>),
            Bound::Text(text) => query.bind(text),
            Bound::Integer(number) => query.bind(number.to_string()),
            Bound::Unsigned(number) => query.bind(number.to_string()),
            Bound::Float(number) => query.bind(number.to_string()),
            Bound::Boolean(is_true) => query.bind(is_true.to_string()),
            Bound::Bytes(bytes) => query.bind(bytes),
        };
    }
    query.persistent(statement.origin == Origin::Ours)
}
