//! Appending to the audit: many rows in few statements.

use super::{Audit, AuditRow, COLUMNS, Kind, Query};
use crate::database::{Backend, Write};
use crate::{Result, row, values};
use sqlx::AssertSqlSafe;
use std::sync::LazyLock;

const COLUMN_COUNT: usize = 9;

/// Rows per statement. PostgreSQL likes fewer round trips; SQLite likes shorter statements.
fn chunk_size(backend: Backend) -> usize {
    match backend {
        Backend::Sqlite => 32,
        Backend::Postgres => 400,
    }
}

impl Audit<'_> {
    /// Appends the rows, all or none. Each row carries its tenant: one batch serves all.
    /// Rows that are there already are passed over, so a batch may be tried again.
    pub async fn append(self, rows: &[AuditRow<'_>]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut write = self.0.write().await?;
        let size = chunk_size(self.0.backend());
        for chunk in rows.chunks(size) {
            let mut insert = match chunk.len() == size {
                true => sqlx::query(whole_insert(self.0.backend())),
                false => {
                    sqlx::query(AssertSqlSafe(insert_statement(self.0.backend(), Kind::Call, chunk.len())))
                }
            };
            for row in chunk {
                insert = bind(insert, row)?;
            }
            // Partial chunks differ in length; keeping a prepared statement for each is waste.
            insert.persistent(chunk.len() == size).execute(write.connection()).await?;
        }
        write.commit().await
    }
}

/// Puts one row into a transaction.
pub(crate) async fn insert(write: &mut Write, kind: Kind, row: &AuditRow<'_>) -> Result<()> {
    let sql = insert_statement(write.backend(), kind, 1);
    bind(sqlx::query(AssertSqlSafe(sql)), row)?.execute(write.connection()).await?;
    Ok(())
}

/// The statement for a whole chunk, made once.
fn whole_insert(backend: Backend) -> AssertSqlSafe<&'static str> {
    fn whole(backend: Backend) -> String {
        insert_statement(backend, Kind::Call, chunk_size(backend))
    }
    static SQLITE: LazyLock<String> = LazyLock::new(|| whole(Backend::Sqlite));
    static POSTGRES: LazyLock<String> = LazyLock::new(|| whole(Backend::Postgres));
    AssertSqlSafe(match backend {
        Backend::Sqlite => SQLITE.as_str(),
        Backend::Postgres => POSTGRES.as_str(),
    })
}

fn insert_statement(backend: Backend, kind: Kind, rows: usize) -> String {
    let values = values::rows(backend, rows, COLUMN_COUNT);
    format!("INSERT INTO {} ({COLUMNS}) VALUES {values} ON CONFLICT DO NOTHING", kind.table())
}

fn bind<'q>(query: Query<'q>, entry: &AuditRow<'_>) -> Result<Query<'q>> {
    Ok(query
        .bind(row::clean(&entry.tenant))
        .bind(entry.at)
        .bind(row::clean(&entry.id))
        .bind(row::clean(&entry.caller))
        .bind(row::clean(&entry.tool))
        .bind(row::clean(&entry.service))
        .bind(row::clean(&entry.status))
        .bind(entry.arguments.as_deref().map(row::clean))
        .bind(row::to_json(&entry.details)?))
}
