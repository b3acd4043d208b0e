//! Which functions a statement of somebody else may call, by what PostgreSQL's own catalog says of them.
//!
//! A list of names that must not be called always lacks one. So every name in the place of a function is looked up: what is
//! volatile, or comes with an extension that nobody here has looked at, is refused, and so are the names of `sql/walls.rs`.
//! What calls functions without their names is asked for in the same statement (`hidden.rs`).

use super::Db;
use super::catalog::IS_MIGHTY;
use super::engine::{Bound, Origin, Statement};
use super::hidden::HIDDEN;
use super::pool::Lease;
use super::rows::Limits;
use super::settings::DbType;
use super::sql::{Access, Template};
use serde::Deserialize;
use serde_json::json;
use tool::{Error, Result};

/// Who wrote a statement that is run behind the walls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    /// A caller.
    Caller,
    /// Whoever configured the service: a query with a name.
    Settings,
}

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

/// Functions that a name may mean here, with those that they bring along: an aggregate its parts, every function what its
/// defaults call. Names are compared without case and cut as the server cuts them, which finds more than the server
/// would; a field of anything may be a function of it. Functions of internal types cannot be called by anybody.
const CALLED: &str = "SELECT c.name AS name, q.provolatile = 'v' AS is_volatile, e.extname::text AS extension, \
     'function' AS what \
     FROM json_to_recordset($1::json) AS c(schema text, name text, is_field boolean) \
     JOIN pg_catalog.pg_proc p ON lower(p.proname::text) = lower(c.name::name::text) \
     JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
     CROSS JOIN LATERAL (SELECT p.oid \
     UNION SELECT unnest(ARRAY[a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, \
     a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn]::oid[]) FROM pg_catalog.pg_aggregate a WHERE a.aggfnoid = p.oid \
     UNION SELECT m[1]::oid FROM regexp_matches(p.proargdefaults::text, ':funcid (\\d+)', 'g') m) AS part \
     JOIN pg_catalog.pg_proc q ON q.oid = part.oid \
     JOIN pg_catalog.pg_namespace o ON o.oid = q.pronamespace \
     LEFT JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = q.oid \
     AND d.deptype = 'e' AND d.refclassid = 'pg_catalog.pg_extension'::regclass \
     LEFT JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid \
     WHERE NOT 2281 = ANY (p.proargtypes::oid[]) \
     AND (CASE WHEN c.is_field THEN p.pronargs > 0 AND pg_catalog.pg_function_is_visible(p.oid) \
     WHEN c.schema IS NULL THEN pg_catalog.pg_function_is_visible(p.oid) \
     ELSE lower(n.nspname::text) = lower(c.schema::name::text) END) \
     AND (q.provolatile = 'v' OR e.extname IS NOT NULL) \
     AND NOT (q.provolatile <> 'v' AND e.extname IN (SELECT json_array_elements_text($2::json))) \
     AND NOT (lower(q.proname::text) IN (SELECT json_array_elements_text($3::json)) \
     AND (o.nspname = 'pg_catalog' OR e.extname = 'pgcrypto')) \
     AND NOT ($4::boolean AND o.nspname <> 'pg_catalog' AND (e.extname IS NULL \
     OR e.extname IN (SELECT json_array_elements_text($2::json))))";

#[derive(Debug, Deserialize)]
struct Forbidden {
    what: What,
    name: String,
    is_volatile: bool,
    extension: Option<String>,
}

/// By what a function would be called.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Function,
    Operator,
    Cast,
    Domain,
    /// The user has become one who may do anything.
    Superuser,
}

impl Db {
    /// Asks the database about every function that the statement may call. Where it may write, so may functions of the
    /// database's owner.
    ///
    /// # Errors
    /// `InvalidInput` naming what is not to be called, `Denied` where the user of the database may do anything.
    pub(super) async fn check_functions(
        &self,
        lease: &mut Lease,
        template: &Template,
        access: Access,
        author: Author,
    ) -> Result<()> {
        if self.selection.db_type != DbType::Postgresql {
            return Ok(());
        }
        let uses = &template.uses;
        let calls: Vec<_> = uses
            .calls
            .iter()
            .map(|call| json!({ "schema": call.schema, "name": call.name, "is_field": call.is_field }))
            .collect();
        let may_be_superuser = author == Author::Settings || self.offer.allows_superuser;
        let values = [
            json!(calls).to_string(),
            json!(KNOWN_EXTENSIONS).to_string(),
            json!(HARMLESS).to_string(),
            json!(access == Access::Write).to_string(),
            json!(uses.names).to_string(),
            uses.operators.clone(),
            json!(uses.converts).to_string(),
            json!(may_be_superuser).to_string(),
        ];
        let statement = Statement {
            // The user's rights may have grown since the tools were made.
            sql: format!(
                "{CALLED} UNION ALL {HIDDEN} UNION ALL SELECT current_user::text, true, NULL, 'superuser' \
                 WHERE NOT $8::boolean AND {IS_MIGHTY} LIMIT 1"
            ),
            values: values.into_iter().map(Bound::Text).collect(),
            origin: Origin::Somebody,
        };
        let found = lease.read(&statement, Limits::new(1, 64 * 1024)).await?;
        let Some(row) = found.into_row() else { return Ok(()) };
        let forbidden: Forbidden = serde_json::from_str(row.get()).map_err(|error| {
            Error::internal("the catalog of the database cannot be read").caused_by(error)
        })?;
        Err(refused(&forbidden))
    }
}

fn refused(Forbidden { what, name, is_volatile, extension }: &Forbidden) -> Error {
    let name: String = name.chars().take(100).collect();
    let remedy = "may do more than read; if it only reads, its owner can declare it STABLE";
    let why = match (what, extension) {
        (What::Superuser, _) => {
            return Error::denied(format!(
                "the database lets its user {name} do anything, so that no SQL of callers is run; use a user with fewer rights, or set 'allow_superuser'"
            ));
        }
        (What::Operator, _) => {
            return of_sql(format!("'sql' may use the operator {name}, whose function is volatile and {remedy}"));
        }
        (What::Cast, _) => {
            return of_sql(format!("'sql' may use the cast {name}, whose function is volatile and {remedy}"));
        }
        (What::Domain, _) => {
            return of_sql(format!(
                "'sql' may make a value of the type {name}, whose check calls a volatile function, which {remedy}"
            ));
        }
        (What::Function, Some(extension)) => {
            format!("which the extension {extension} brings; use what PostgreSQL itself has")
        }
        (What::Function, None) if *is_volatile => {
            "which PostgreSQL calls volatile: it may do more than read; if it is yours and only reads, declare it STABLE"
                .to_owned()
        }
        (What::Function, None) => "which is not known to only read".to_owned(),
    };
    of_sql(format!("'sql' uses {name}, {why}"))
}

fn of_sql(why: String) -> Error {
    Error::invalid_input(why).of_parameter("sql")
}
