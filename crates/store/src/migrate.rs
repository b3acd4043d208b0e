//! Brings the schema up to date, one numbered file after the other.

use crate::database::{Backend, Write};
use crate::{Error, Result, Store, row};
use sqlx::{AnyConnection, Row as _};

/// In order; the position is the version. A released file never changes.
const MIGRATIONS: &[Migration] = &[
    Migration::both(include_str!("../migrations/0001_first.sql")),
    Migration::both(include_str!("../migrations/0002_tools.sql")),
    Migration::both(include_str!("../migrations/0003_tables.sql")),
    Migration {
        both: include_str!("../migrations/0004_search.sql"),
        sqlite: include_str!("../migrations/0004_search_sqlite.sql"),
        postgres: include_str!("../migrations/0004_search_postgres.sql"),
    },
    Migration::both(include_str!("../migrations/0005_service_pins.sql")),
    Migration {
        both: "",
        sqlite: include_str!("../migrations/0006_audit_sqlite.sql"),
        postgres: include_str!("../migrations/0006_audit_postgres.sql"),
    },
    Migration::both(include_str!("../migrations/0007_management.sql")),
    Migration::both(include_str!("../migrations/0008_tenant_private_network.sql")),
    Migration::both(include_str!("../migrations/0009_leases.sql")),
    Migration::both(include_str!("../migrations/0010_flows.sql")),
    Migration::both(include_str!("../migrations/0011_queues.sql")),
    Migration::both(include_str!("../migrations/0012_key_bu_code.sql")),
    Migration::both(include_str!("../migrations/0013_tool_search.sql")),
    Migration::both(include_str!("../migrations/0014_conversations.sql")),
    Migration::both(include_str!("../migrations/0015_flow_rights.sql")),
    Migration::both(include_str!("../migrations/0016_once_digest.sql")),
    Migration::both(include_str!("../migrations/0017_units_and_groups.sql")),
    Migration::both(include_str!("../migrations/0018_later_totals.sql")),
    Migration::both(include_str!("../migrations/0019_run_agents.sql")),
    Migration::both(include_str!("../migrations/0020_key_owner.sql")),
    Migration::both(include_str!("../migrations/0021_due_by_kind.sql")),
    Migration {
        both: "",
        sqlite: include_str!("../migrations/0022_audit_blocks_sqlite.sql"),
        postgres: include_str!("../migrations/0022_audit_blocks_postgres.sql"),
    },
    Migration::both(include_str!("../migrations/0023_user_owner.sql")),
];

/// One step: what both databases understand, then what only one does.
struct Migration {
    both: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

impl Migration {
    const fn both(sql: &'static str) -> Self {
        Self { both: sql, sqlite: "", postgres: "" }
    }
}

/// All missing steps in one transaction: after a crash the schema is old or new, never between.
/// Processes that start at once take turns, and the later ones find nothing to do.
pub(crate) async fn run(store: &Store) -> Result<()> {
    let mut write = store.write().await?;
    if store.backend() == Backend::Postgres {
        sqlx::query("SELECT pg_advisory_xact_lock(7236412951)").execute(write.connection()).await?;
    }
    to(&mut write, newest()).await?;
    write.commit().await
}

/// The version that this program brings databases to.
pub(crate) fn newest() -> usize {
    MIGRATIONS.len()
}

/// The steps that are missing up to `version`.
pub(crate) async fn to(write: &mut Write, version: usize) -> Result<()> {
    let backend = write.backend();
    let connection = write.connection();
    sqlx::query(
        "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY, applied_at BIGINT NOT NULL)",
    )
    .execute(&mut *connection)
    .await?;
    let found = version_of(connection).await?;
    if found > MIGRATIONS.len() {
        return Err(Error::invalid(format!(
            "the database has schema version {found}, but this program knows only up to {}; use a newer program",
            MIGRATIONS.len()
        )));
    }
    for (index, migration) in MIGRATIONS.iter().enumerate().take(version).skip(found) {
        let version = i64::try_from(index + 1).unwrap_or(i64::MAX);
        let own = match backend {
            Backend::Sqlite => migration.sqlite,
            Backend::Postgres => migration.postgres,
        };
        for sql in [migration.both, own].into_iter().filter(|sql| !sql.is_empty()) {
            sqlx::raw_sql(sql).execute(&mut *connection).await?;
        }
        sqlx::query("INSERT INTO schema_version (version, applied_at) VALUES ($1, $2)")
            .bind(version)
            .bind(row::now())
            .execute(&mut *connection)
            .await?;
    }
    if found < version {
        tracing::info!("brought the database from schema version {found} to {version}");
    }
    Ok(())
}

/// The version of the schema; 0 where there is none.
pub(crate) async fn version(connection: &mut AnyConnection, backend: Backend) -> Result<usize> {
    match has_table(connection, backend, "schema_version").await? {
        true => version_of(connection).await,
        false => Ok(0),
    }
}

async fn version_of(connection: &mut AnyConnection) -> Result<usize> {
    let found =
        sqlx::query("SELECT COALESCE(MAX(version), 0) FROM schema_version").fetch_one(connection).await?;
    Ok(usize::try_from(found.try_get::<i64, _>(0)?).unwrap_or_default())
}

/// Whether there is a table of this name.
pub(crate) async fn has_table(connection: &mut AnyConnection, backend: Backend, name: &str) -> Result<bool> {
    let sql = match backend {
        Backend::Sqlite => "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = $1",
        Backend::Postgres => {
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = $1"
        }
    };
    let row = sqlx::query(sql).bind(name).fetch_one(connection).await?;
    Ok(row.try_get::<i64, _>(0)? > 0)
}
