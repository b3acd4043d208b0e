//! The settings of a database: what may be written, and what is wrong with what was.

use super::address::{self, Address};
use super::client::Client;
use super::connect::Opener;
use super::operation::Operation;
use super::pool::Pool;
use super::query::NamedQuery;
use super::query_settings::QuerySettings;
use super::rows::Limits;
use super::selection::Selection;
use super::tls::TlsSettings;
use super::{Db, Offer};
use crate::shared::attempts::RetrySettings;
use crate::shared::bounds::Bounds;
use crate::shared::breaker::BreakerSettings;
use crate::shared::network::{AllowPrivateNetwork, Policy, allow_private_network_schema};
use crate::shared::own_folder::own_folder;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tool::connector::invalid_settings;
use tool::{Connector, Env, Problem, Result, Secret};

/// A database.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// What kind of database it is: `sqlite`, `postgresql`, or `mysql`, which MariaDB is too.
    #[schemars(extend("x-address" = true))]
    pub(super) db_type: DbType,
    /// Where it is and how to sign in: `postgres://user:password@host/database`, `mysql://…`, or the path of a SQLite
    /// file, which only admins may name. Without it SQLite keeps a file of its own for the service.
    #[serde(default)]
    #[schemars(schema_with = "secret_address_schema")]
    pub(super) connection_string: Option<Secret>,
    /// The schema whose tables are offered: `public` in PostgreSQL and the connection's database in MySQL, unless given.
    #[serde(default)]
    pub(super) schema: Option<String>,
    /// The tables that have tools, by name, with `*` for any part of one.
    #[serde(default = "everything")]
    pub(super) tables: Vec<String>,
    /// Tables that have none, likewise.
    #[serde(default)]
    pub(super) exclude: Vec<String>,
    /// The only table. Its tools are called `list` instead of `orders_list`.
    #[serde(default)]
    pub(super) table: Option<String>,
    /// What can be done with each table: `take`, `list`, `page`, `stream`, `count`, `create`, `modify`, `save`,
    /// `delete`, `bulk`; and `execute` for statements that write.
    #[serde(default = "reading_operations")]
    pub(super) operations: Vec<Operation>,
    /// Nothing can be changed, whatever `operations` lists.
    #[serde(default = "yes")]
    pub(super) read_only: bool,
    /// Callers may send SQL of their own that reads, with the tool `query`.
    #[serde(default = "yes")]
    pub(super) query: bool,
    /// They may even where the user can do anything in the database, read its server's files or run programs there.
    #[serde(default)]
    pub(super) allow_superuser: bool,
    /// The column that says whose a row is, a text. It is in every filter and filled on every write. Callers send no SQL
    /// then, and queries with a name must use `:tenantId`.
    #[serde(default)]
    pub(super) tenant_column: Option<String>,
    /// How many connections there are at the most.
    #[serde(default = "default_pool_size")]
    #[schemars(range(min = 1, max = 1000))]
    pub(super) pool_size: usize,
    /// How long one statement may take, in milliseconds.
    #[serde(default = "default_statement_timeout")]
    #[schemars(range(min = 1, max = 300_000))]
    pub(super) statement_timeout_ms: u64,
    /// How many rows an answer has at the most.
    #[serde(default = "default_max_rows")]
    #[schemars(range(min = 1, max = 100_000))]
    pub(super) max_rows: usize,
    /// How many bytes the rows of an answer have at the most, as JSON.
    #[serde(default = "default_max_bytes")]
    #[schemars(range(min = 1024, max = 104_857_600))]
    pub(super) max_bytes: usize,
    /// How long a call may take, in milliseconds, with the time it waits for a connection.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 300_000))]
    pub(super) timeout_ms: u64,
    /// How often it is tried to connect. Statements are repeated only where they read and their connection was dead.
    #[serde(default)]
    pub(super) retry: RetrySettings,
    /// When the database is left alone because it fails again and again.
    #[serde(default)]
    pub(super) circuit_breaker: BreakerSettings,
    /// How many calls may be under way at once; more wait. No limit unless given.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000))]
    pub(super) max_concurrent_calls: Option<usize>,
    /// Private, loopback and link-local addresses are refused unless this is `true` or lists their ranges, e.g.
    /// `["10.0.0.0/8"]`.
    #[serde(default)]
    #[schemars(schema_with = "allow_private_network_schema")]
    pub(super) allow_private_network: Option<AllowPrivateNetwork>,
    /// Our certificate, for servers that ask for one, and the authorities we believe.
    #[serde(default)]
    #[schemars(schema_with = "tls_schema")]
    pub(super) tls: Option<TlsSettings>,
    /// Queries with a name, one tool each.
    #[serde(default)]
    pub(super) tools: Vec<QuerySettings>,
    /// How often the catalog is read again.
    #[serde(skip, default = "default_refresh")]
    pub(super) refresh: Duration,
}

/// The kinds of databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum DbType {
    Sqlite,
    Postgresql,
    Mysql,
}

impl DbType {
    /// A name as the engine takes it literally. SQLite reads an unknown name in double quotes as a text.
    pub(super) fn quoted(self, name: &str) -> String {
        match self {
            Self::Mysql | Self::Sqlite => format!("`{}`", name.replace('`', "``")),
            Self::Postgresql => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }
}

impl tool::Settings for Settings {
    const SCHEME: &'static str = "db";
    const TITLE: &'static str = "Database";
    const FIXED_TOOLS: &'static [&'static str] = &["describe", "query", "tables"];
    const WORDS: &'static [&'static [tool::words::Word]] =
        &[super::words::WORDS, crate::shared::words::SHARED];
    const HAS_USER_TOOLS: bool = true;

    /// A file of this machine is for those who manage it.
    fn privileged(settings: &Value) -> Option<&'static str> {
        let is_file = settings["db_type"] == "sqlite"
            && settings.get("connection_string").is_some_and(|path| !path.is_null());
        is_file.then_some("connection_string")
    }

    fn open(self, env: &Env) -> Result<Arc<dyn Connector>> {
        let mut problems = Vec::new();
        let tls = self.tls.clone().unwrap_or_default().check(&mut problems);
        let address = self.address(env, tls.ca.is_some(), &mut problems);
        let policy = Policy::new(self.allow_private_network.as_ref(), env, &mut problems);
        let backoff = self.retry.check(&mut problems);
        check_environment(self.db_type, &mut problems);
        check_built_in(self.db_type, &mut problems);
        check_patterns(&self, &mut problems);
        check_tenants(&self, &mut problems);
        let queries = NamedQuery::check_all(&self, &mut problems);
        let Some(address) = address.filter(|_| problems.is_empty()) else {
            return Err(invalid_settings(Self::SCHEME, problems));
        };
        // The whole answer must fit into what callers are given, with what stands around the rows.
        let limits = Limits::new(self.max_rows, self.max_bytes).within(env.result_budget_bytes);
        let schema = self.schema();
        let opener = Opener {
            db_type: self.db_type,
            address,
            schema: schema.clone(),
            tls,
            policy: Arc::new(policy),
            statement_timeout: Duration::from_millis(self.statement_timeout_ms),
            limits,
        };
        let client = Client {
            pool: Arc::new(Pool::new(opener, self.pool_size, env.tasks.clone())),
            bounds: Bounds {
                breaker: self.circuit_breaker.into(),
                timeout: Duration::from_millis(self.timeout_ms),
                permits: self.max_concurrent_calls.map(Semaphore::new),
            },
            max_attempts: self.retry.max_attempts,
            backoff,
        };
        let selection = Selection {
            db_type: self.db_type,
            schema,
            tables: self.tables,
            exclude: self.exclude,
            table: self.table,
            tenant_column: self.tenant_column,
        };
        let offer = Offer {
            operations: self.operations,
            is_read_only: self.read_only,
            // No check of a text can tell whose rows a statement shows.
            has_query: self.query && selection.tenant_column.is_none(),
            allows_superuser: self.allow_superuser,
            limits,
            queries,
        };
        Ok(Db::new(client, selection, offer, self.refresh, env)?)
    }
}

impl Settings {
    fn schema(&self) -> Option<String> {
        match self.db_type {
            DbType::Postgresql => Some(self.schema.clone().unwrap_or_else(|| "public".to_owned())),
            DbType::Mysql | DbType::Sqlite => self.schema.clone(),
        }
    }

    fn address(&self, env: &Env, has_authority: bool, problems: &mut Vec<Problem>) -> Option<Address> {
        let found = match &self.connection_string {
            Some(text) => address::parse(text.expose(), self.db_type, has_authority),
            None if self.db_type == DbType::Sqlite => own_file(env),
            None => Err(required("the connection_string is missing; it says where the database is")),
        };
        found.map_err(|problem| problems.push(problem)).ok()
    }
}

/// The file that a service has for itself.
fn own_file(env: &Env) -> Result<Address, Problem> {
    let Some(folder) = own_folder(env, "db") else {
        return Err(required("the connection_string is missing; files are kept by a server only"));
    };
    Ok(Address::OwnFile(folder.join("data.db")))
}

fn required(message: &str) -> Problem {
    Problem::new("connection_string", "Required", message)
}

/// The driver of PostgreSQL would take these from this process: its certificate would sign tenants in.
fn check_environment(db_type: DbType, problems: &mut Vec<Problem>) {
    let names = ["PGSSLCERT", "PGSSLKEY", "PGSSLROOTCERT", "PGOPTIONS"];
    let set = names.into_iter().find(|name| std::env::var_os(name).is_some());
    if let Some(name) = set.filter(|_| db_type == DbType::Postgresql) {
        let message =
            format!("the variable {name} of this process would count for the service; start without it");
        problems.push(Problem::new("db_type", "Environment", message));
    }
}

fn check_built_in(db_type: DbType, problems: &mut Vec<Problem>) {
    if db_type == DbType::Mysql && cfg!(not(feature = "mysql")) {
        let message = "MySQL is not built in; build with the feature 'mysql'";
        problems.push(Problem::new("db_type", "NotBuiltIn", message));
    }
}

fn check_patterns(settings: &Settings, problems: &mut Vec<Problem>) {
    let lists = [("tables", &settings.tables), ("exclude", &settings.exclude)];
    for (field, patterns) in lists {
        for (index, pattern) in patterns.iter().enumerate() {
            if pattern.is_empty() || pattern.matches('*').count() > 4 {
                let message = "a pattern names tables, with at most four '*'";
                problems.push(Problem::new(format!("{field}[{index}]"), "InvalidPattern", message));
            }
        }
    }
    if settings.db_type == DbType::Sqlite && settings.schema.as_deref().is_some_and(|schema| schema != "main")
    {
        problems.push(Problem::new("schema", "Unknown", "a SQLite file has one schema, main; leave it out"));
    }
}

fn check_tenants(settings: &Settings, problems: &mut Vec<Problem>) {
    let at = settings.operations.iter().position(|operation| *operation == Operation::Execute);
    if let Some(index) = at.filter(|_| settings.tenant_column.is_some()) {
        let message = "with 'tenant_column' callers send no SQL, not even with :tenantId: no check can tell whose rows it reaches; leave 'execute' out, and offer queries with a name ('tools') that use :tenantId";
        problems.push(Problem::new(format!("operations[{index}]"), "NotWithTenants", message));
    }
}

fn everything() -> Vec<String> {
    vec!["*".to_owned()]
}

fn reading_operations() -> Vec<Operation> {
    vec![Operation::Take, Operation::List, Operation::Count]
}

fn yes() -> bool {
    true
}

fn default_pool_size() -> usize {
    10
}

fn default_statement_timeout() -> u64 {
    10_000
}

fn default_max_rows() -> usize {
    1000
}

fn default_max_bytes() -> usize {
    1024 * 1024
}

fn default_timeout() -> u64 {
    30_000
}

fn default_refresh() -> Duration {
    Duration::from_secs(300)
}

fn tls_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = TlsSettings::json_schema(generator);
    schema.insert("type".to_owned(), serde_json::json!(["object", "null"]));
    schema
}

fn secret_address_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "writeOnly": true, "format": "password" })
}
