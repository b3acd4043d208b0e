//! Which functions a statement of somebody else may call, by what PostgreSQL's own catalog says of them.
//!
//! A list of names that must not be called always lacks one. So every name in the place of a function is looked up: what is
//! volatile, or comes with an extension that nobody here has looked at, is refused, and so are the names of `sql/walls.rs`.

use super::Db;
use super::engine::{Bound, Origin, Statement};
use super::pool::Lease;
use super::rows::Limits;
use super::settings::DbType;
use super::sql::{Access, Template};
use serde::Deserialize;
use serde_json::json;
use tool::{Error, Result};

/// Volatile functions that change nothing and reach nowhere.
const HARMLESS: [&str; 25] = [
    "array_sample",
    "array_shuffle",
    "clock_timestamp",
    "currval",
    "gen_random_bytes",
    "gen_random_uuid",
    "pg_blocking_pids",
    "pg_current_wal_lsn",
    "pg_database_size",
    "pg_indexes_size",
    "pg_is_in_recovery",
    "pg_last_wal_receive_lsn",
    "pg_last_wal_replay_lsn",
    "pg_last_xact_replay_timestamp",
    "pg_relation_size",
    "pg_sleep",
    "pg_sleep_for",
    "pg_sleep_until",
    "pg_table_size",
    "pg_tablespace_size",
    "pg_total_relation_size",
    "random",
    "timeofday",
    "uuidv4",
    "uuidv7",
];

/// Extensions whose functions, unless volatile, run no SQL that is handed to them and reach nowhere.
const KNOWN_EXTENSIONS: [&str; 22] = [
    "btree_gin",
    "btree_gist",
    "citext",
    "cube",
    "dict_int",
    "earthdistance",
    "fuzzystrmatch",
    "hstore",
    "intarray",
    "isn",
    "ltree",
    "pg_trgm",
    "pgcrypto",
    "postgis",
    "postgis_raster",
    "postgis_topology",
    "seg",
    "tsm_system_rows",
    "tsm_system_time",
    "unaccent",
    "uuid-ossp",
    "vector",
];

/// Functions that a name may mean here, each that is not to be called. Names are compared without case, which finds more
/// than the server would. Functions of internal types cannot be called by anybody.
const FORBIDDEN: &str = "SELECT c.name AS name, p.provolatile = 'v' AS is_volatile, e.extname::text AS extension \
     FROM json_to_recordset($1::json) AS c(schema text, name text, is_field boolean) \
     JOIN pg_catalog.pg_proc p ON lower(p.proname::text) = lower(c.name) \
     JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
     LEFT JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = p.oid \
     AND d.deptype = 'e' AND d.refclassid = 'pg_catalog.pg_extension'::regclass \
     LEFT JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid \
     WHERE NOT 2281 = ANY (p.proargtypes::oid[]) \
     AND (CASE WHEN c.is_field THEN p.pronargs = 1 AND EXISTS (SELECT 1 FROM pg_catalog.pg_type t \
     WHERE t.oid = p.proargtypes[0] AND t.typtype IN ('c', 'p')) \
     WHEN c.schema IS NULL THEN pg_catalog.pg_function_is_visible(p.oid) \
     ELSE lower(n.nspname::text) = lower(c.schema) END) \
     AND (p.provolatile = 'v' OR e.extname IS NOT NULL) \
     AND NOT (p.provolatile <> 'v' AND e.extname IN (SELECT json_array_elements_text($2::json))) \
     AND NOT (lower(p.proname::text) IN (SELECT json_array_elements_text($3::json)) \
     AND (n.nspname = 'pg_catalog' OR e.extname = 'pgcrypto')) \
     AND NOT ($4::boolean AND n.nspname <> 'pg_catalog' AND (e.extname IS NULL \
     OR e.extname IN (SELECT json_array_elements_text($2::json)))) LIMIT 1";

#[derive(Debug, Deserialize)]
struct Forbidden {
    name: String,
    is_volatile: bool,
    extension: Option<String>,
}

impl Db {
    /// Asks the database about every function that the statement may call. Where it may write, so may functions of the
    /// database's owner.
    ///
    /// # Errors
    /// `InvalidInput` naming a function that is not to be called.
    pub(super) async fn check_functions(
        &self,
        lease: &mut Lease,
        template: &Template,
        access: Access,
    ) -> Result<()> {
        if self.selection.db_type != DbType::Postgresql || template.calls.is_empty() {
            return Ok(());
        }
        let calls: Vec<_> = template
            .calls
            .iter()
            .map(|call| json!({ "schema": call.schema, "name": call.name, "is_field": call.is_field }))
            .collect();
        let values = [json!(calls), json!(KNOWN_EXTENSIONS), json!(HARMLESS), json!(access == Access::Write)];
        let statement = Statement {
            sql: FORBIDDEN.to_owned(),
            values: values.iter().map(|value| Bound::Text(value.to_string())).collect(),
            origin: Origin::Somebody,
        };
        let found = lease.read(&statement, Limits { rows: 1, bytes: 64 * 1024 }).await?;
        let Some(row) = found.into_row() else { return Ok(()) };
        let forbidden: Forbidden = serde_json::from_str(row.get()).map_err(|error| {
            Error::internal("the catalog of the database cannot be read").caused_by(error)
        })?;
        Err(refused(&forbidden))
    }
}

fn refused(Forbidden { name, is_volatile, extension }: &Forbidden) -> Error {
    let name: String = name.chars().take(100).collect();
    let why = match extension {
        Some(extension) => format!("which the extension {extension} brings; use what PostgreSQL itself has"),
        None if *is_volatile => {
            "which PostgreSQL calls volatile: it may do more than read; if it is yours and only reads, declare it STABLE"
                .to_owned()
        }
        None => "which is not known to only read".to_owned(),
    };
    Error::invalid_input(format!("'sql' uses {name}, {why}")).of_parameter("sql")
}
