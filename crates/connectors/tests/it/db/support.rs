//! A database of its own for each test, on each engine, and services over it.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, PgConnection, Row, SqliteConnection};
use std::sync::Arc;
use std::time::Duration;
use testkit::conformance::context;
use tool::{Arguments, Call, Connector, Context, Env, Error, Outcome, Tool};

/// The password of every user that tests make, so that none of them can be met in a log by chance.
const PASSWORD: &str = "s3cr3t-of-the-database";

/// Runs each named function once per engine: `async fn name(place: Place)`.
#[macro_export]
macro_rules! on_every_engine {
    ($($name:ident)*) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                Box::pin(super::$name($crate::db::support::Place::make($crate::db::support::Engine::Sqlite).await)).await;
            })*
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                Box::pin(super::$name($crate::db::support::Place::make($crate::db::support::Engine::Postgres).await)).await;
            })*
        }
        mod on_mariadb {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                Box::pin(super::$name($crate::db::support::Place::make($crate::db::support::Engine::Mariadb).await)).await;
            })*
        }
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
    Mariadb,
}

/// One database, gone when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) engine: Engine,
    folder: tempfile::TempDir,
    name: String,
    /// The server with a user who may do everything.
    server: String,
}

impl Place {
    pub(crate) async fn make(engine: Engine) -> Self {
        let name = format!("db_{}", uuid());
        let server = match engine {
            Engine::Sqlite => String::new(),
            Engine::Postgres => {
                let url = needed("MCP_TEST_POSTGRES_URL");
                url.rsplit_once('/').unwrap().0.to_owned()
            }
            Engine::Mariadb => needed("MCP_TEST_MARIADB_URL"),
        };
        let place = Self { engine, folder: tempfile::tempdir().unwrap(), name, server };
        place.create().await;
        place
    }

    async fn create(&self) {
        let name = &self.name;
        match self.engine {
            Engine::Sqlite => {
                let url = format!("sqlite://{}?mode=rwc", self.file());
                SqliteConnection::connect(&url).await.unwrap().close().await.unwrap();
            }
            Engine::Postgres => {
                let create = format!("CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'");
                execute_postgres(&format!("{}/postgres", self.server), &create).await;
                execute_postgres(
                    &format!("{}/postgres", self.server),
                    &format!("CREATE DATABASE {name} OWNER {name}"),
                )
                .await;
            }
            Engine::Mariadb => {
                for sql in [
                    format!("CREATE DATABASE {name} CHARACTER SET utf8mb4"),
                    format!("CREATE USER '{name}'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'"),
                    format!("GRANT ALL ON {name}.* TO '{name}'@'127.0.0.1'"),
                ] {
                    execute_mysql(&format!("{}/mysql", self.server), &sql).await;
                }
            }
        }
    }

    fn file(&self) -> String {
        self.folder.path().join("shop.db").display().to_string()
    }

    /// What a service over it is told.
    pub(crate) fn connection_string(&self) -> String {
        let (scheme, rest) = match self.engine {
            Engine::Sqlite => return self.file(),
            Engine::Postgres => ("postgres", &self.server),
            Engine::Mariadb => ("mysql", &self.server),
        };
        let host = rest.rsplit_once('@').unwrap().1;
        format!("{scheme}://{0}:{PASSWORD}@{host}/{0}", self.name)
    }

    /// The server's address, for proxies in front of it.
    pub(crate) fn host(&self) -> &str {
        self.server.rsplit_once('@').unwrap().1
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Settings of a service over it, with more.
    #[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
    pub(crate) fn settings(&self, more: Value) -> Value {
        let db_type = match self.engine {
            Engine::Sqlite => "sqlite",
            Engine::Postgres => "postgresql",
            Engine::Mariadb => "mysql",
        };
        let mut settings = json!({
            "db_type": db_type,
            "connection_string": self.connection_string(),
            "allow_private_network": ["127.0.0.1"],
            "retry": { "max_attempts": 2, "initial_delay_ms": 10 },
        });
        for (name, value) in more.as_object().cloned().unwrap_or_default() {
            settings[name] = value;
        }
        settings
    }

    pub(crate) fn open(&self, more: Value) -> Service {
        self.try_open(more).unwrap()
    }

    pub(crate) fn try_open(&self, more: Value) -> tool::Result<Service> {
        self.open_in(&Env::default(), more)
    }

    pub(crate) fn open_in(&self, env: &Env, more: Value) -> tool::Result<Service> {
        connectors::find("db").unwrap().open(self.settings(more), env).map(Service)
    }

    /// Runs SQL past the service, as somebody who may do everything; several statements if need be.
    pub(crate) async fn run(&self, sql: &str) {
        match self.engine {
            Engine::Sqlite => {
                let mut connection =
                    SqliteConnection::connect(&format!("sqlite://{}", self.file())).await.unwrap();
                connection.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))).await.unwrap();
            }
            // As the owner of the tables.
            Engine::Postgres => execute_postgres(&self.connection_string(), sql).await,
            Engine::Mariadb => execute_mysql(&self.connection_string(), sql).await,
        }
    }

    /// Runs SQL as the server's own administrator.
    pub(crate) async fn administer(&self, sql: &str) {
        match self.engine {
            Engine::Sqlite => self.run(sql).await,
            Engine::Postgres => execute_postgres(&format!("{}/{}", self.server, self.name), sql).await,
            Engine::Mariadb => execute_mysql(&format!("{}/{}", self.server, self.name), sql).await,
        }
    }

    /// The first column of the first row, as a number.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        let sql = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        match self.engine {
            Engine::Sqlite => {
                let mut connection =
                    SqliteConnection::connect(&format!("sqlite://{}", self.file())).await.unwrap();
                connection.fetch_one(sql).await.unwrap().get(0)
            }
            Engine::Postgres => {
                let mut connection =
                    PgConnection::connect(&format!("{}/{}", self.server, self.name)).await.unwrap();
                connection.fetch_one(sql).await.unwrap().get(0)
            }
            Engine::Mariadb => {
                let mut connection =
                    MySqlConnection::connect(&format!("{}/{}", self.server, self.name)).await.unwrap();
                connection.fetch_one(sql).await.unwrap().get(0)
            }
        }
    }

    /// The sessions of the service's user, as the server counts them.
    pub(crate) async fn sessions(&self) -> i64 {
        let name = &self.name;
        match self.engine {
            Engine::Sqlite => 0,
            Engine::Postgres => {
                self.number(&format!("SELECT count(*) FROM pg_stat_activity WHERE usename = '{name}'")).await
            }
            Engine::Mariadb => {
                self.number(&format!(
                    "SELECT count(*) FROM information_schema.processlist WHERE user = '{name}'"
                ))
                .await
            }
        }
    }

    /// The statements of the service's user that run now.
    pub(crate) async fn running(&self) -> i64 {
        let name = &self.name;
        match self.engine {
            Engine::Sqlite => 0,
            Engine::Postgres => {
                let sql = format!(
                    "SELECT count(*) FROM pg_stat_activity WHERE usename = '{name}' AND state = 'active'"
                );
                self.number(&sql).await
            }
            Engine::Mariadb => {
                let sql = format!(
                    "SELECT count(*) FROM information_schema.processlist WHERE user = '{name}' AND command <> 'Sleep'"
                );
                self.number(&sql).await
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (engine, server, name) = (self.engine, self.server.clone(), self.name.clone());
        if engine == Engine::Sqlite {
            return;
        }
        // On a thread of its own: the test's runtime may be about to end.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                match engine {
                    Engine::Postgres => {
                        let url = format!("{server}/postgres");
                        execute_postgres(&url, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
                        execute_postgres(&url, &format!("DROP ROLE {name}")).await;
                    }
                    _ => {
                        let url = format!("{server}/mysql");
                        execute_mysql(&url, &format!("DROP DATABASE {name}")).await;
                        execute_mysql(&url, &format!("DROP USER '{name}'@'127.0.0.1'")).await;
                    }
                }
            });
        });
        // What stays behind goes with its server; a test that fails is told enough.
        let _ = dropping.join();
    }
}

/// A service that is called directly.
#[derive(Clone)]
pub(crate) struct Service(pub(crate) Arc<dyn Connector>);

impl Service {
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> tool::Result<Value> {
        self.call_as(&context(Duration::from_secs(60)), tool, arguments).await
    }

    pub(crate) async fn call_as(&self, cx: &Context, tool: &str, arguments: Value) -> tool::Result<Value> {
        let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap();
        let call = Call::new(tool, arguments.into());
        match self.0.call(cx, call).await? {
            Outcome::Done(output) => Ok(serde_json::from_str(&output.data().unwrap()).unwrap()),
            other => panic!("the call must be done, not {other:?}"),
        }
    }

    /// The answer as it is written, for a caller who gets so many bytes at the most.
    pub(crate) async fn text_within(
        &self,
        bytes: usize,
        tool: &str,
        arguments: Value,
    ) -> tool::Result<String> {
        let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap();
        let call = Call { max_answer_bytes: bytes, ..Call::new(tool, arguments.into()) };
        match self.0.call(&context(Duration::from_secs(60)), call).await? {
            Outcome::Done(output) => Ok(output.data().unwrap().into_owned()),
            other => panic!("the call must be done, not {other:?}"),
        }
    }

    /// The answer as it is written, to arguments as they are written.
    pub(crate) async fn text(&self, tool: &str, arguments: &str) -> tool::Result<String> {
        let arguments = Arguments::from_raw(RawValue::from_string(arguments.to_owned()).unwrap())?;
        match self.0.call(&context(Duration::from_secs(60)), Call::new(tool, arguments)).await? {
            Outcome::Done(output) => Ok(output.data().unwrap().into_owned()),
            other => panic!("the call must be done, not {other:?}"),
        }
    }

    pub(crate) async fn query(&self, sql: &str) -> tool::Result<Value> {
        self.call("query", json!({ "sql": sql })).await
    }

    pub(crate) async fn error(&self, tool: &str, arguments: Value) -> Error {
        self.call(tool, arguments).await.unwrap_err()
    }

    pub(crate) async fn tools(&self) -> Vec<Tool> {
        self.0.tools(&context(Duration::from_secs(60))).await.unwrap()
    }

    pub(crate) async fn names(&self) -> Vec<String> {
        self.tools().await.iter().map(|tool| tool.name().to_owned()).collect()
    }

    /// A field of a tool's definition.
    pub(crate) async fn field(&self, tool: &str, field: &str) -> Value {
        let tools = self.tools().await;
        let tool = tools.iter().find(|other| other.name() == tool).unwrap();
        serde_json::from_str(tool.field(field).unwrap().get()).unwrap()
    }
}

/// Waits until a condition holds, for ten seconds at the most.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    for _ in 0..200 {
        if condition().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what} did not come true in time");
}

/// A table of orders with three rows, in words that every engine understands.
pub(crate) const ORDERS: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer VARCHAR(40) NOT NULL, \
     status VARCHAR(20), total DECIMAL(12, 2)); \
     INSERT INTO orders VALUES (1, 'ann', 'open', 10.50), (2, 'bob', 'paid', 20.00), (3, 'ann', NULL, 30.25)";

fn needed(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: use `make test` or `scripts/postgres run scripts/servers run -- cargo nextest run`")
    })
}

fn uuid() -> String {
    tool::new_id::<String>().replace('-', "")
}

async fn execute_postgres(url: &str, sql: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    connection.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))).await.unwrap();
    connection.close().await.unwrap();
}

async fn execute_mysql(url: &str, sql: &str) {
    let url = format!("{url}?ssl-mode=REQUIRED");
    let mut connection = MySqlConnection::connect(&url).await.unwrap();
    connection.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))).await.unwrap();
    connection.close().await.unwrap();
}
