//! A database of its own for each test, on either kind of server.

use sqlx::AnyConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::{NewService, NewTenant, NewUser, Options, ServiceTool, Store, Vault};
use tool::{Limits, Role, Secret, TenantId};

/// Runs each named function once per database.
macro_rules! on_both {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                crate::backend::run(crate::backend::Kind::Sqlite, super::$name).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                crate::backend::run(crate::backend::Kind::Postgres, super::$name).await;
            })*
        }
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// A database and a data folder that last as long as the test.
pub(crate) struct Backend {
    pub(crate) kind: Kind,
    pub(crate) url: String,
    folder: tempfile::TempDir,
    /// The server's URL and the database's name, to drop it.
    server: Option<(String, String)>,
}

pub(crate) async fn run<Test, Running>(kind: Kind, test: Test)
where
    Test: FnOnce(Arc<Backend>) -> Running,
    Running: Future<Output = ()> + Send + 'static,
{
    let backend = Arc::new(Backend::new(kind).await);
    let result = tokio::spawn(test(Arc::clone(&backend))).await;
    backend.drop_database().await;
    if let Err(error) = result {
        std::panic::resume_unwind(error.into_panic());
    }
}

impl Backend {
    pub(crate) async fn new(kind: Kind) -> Self {
        sqlx::any::install_default_drivers();
        let folder = tempfile::tempdir().unwrap();
        let (url, server) = match kind {
            Kind::Sqlite => (format!("sqlite:{}", folder.path().join("data/data.db").display()), None),
            Kind::Postgres => create_database().await,
        };
        Self { kind, url, folder, server }
    }

    pub(crate) fn data_dir(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn database_file(&self) -> PathBuf {
        self.folder.path().join("data/data.db")
    }

    pub(crate) fn options(&self) -> Options {
        Options { connect_timeout: Duration::from_secs(10), ..Options::new(self.url.clone()) }
    }

    pub(crate) fn vault(&self) -> Vault {
        Vault::load(self.data_dir(), None).unwrap()
    }

    pub(crate) async fn open(&self) -> Store {
        Store::open(&self.options(), self.vault()).await.unwrap()
    }

    /// With the tenants `acme` and `other`.
    pub(crate) async fn open_with_tenants(&self) -> Store {
        let store = self.open().await;
        for id in ["acme", "other"] {
            store.tenants().create(new_tenant(id)).await.unwrap();
        }
        store
    }

    /// Past the store, for damage and for proof.
    pub(crate) async fn raw(&self) -> AnyConnection {
        AnyConnection::connect(&self.url).await.unwrap()
    }

    pub(crate) async fn execute(&self, sql: &str) {
        let mut connection = self.raw().await;
        connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.unwrap();
        connection.close().await.unwrap();
    }

    async fn drop_database(&self) {
        let Some((server, name)) = &self.server else { return };
        let mut connection = AnyConnection::connect(server).await.unwrap();
        let sql = format!("DROP DATABASE {name} WITH (FORCE)");
        connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.unwrap();
    }
}

async fn create_database() -> (String, Option<(String, String)>) {
    let Ok(server) = std::env::var("MCP_TEST_POSTGRES_URL") else {
        panic!(
            "MCP_TEST_POSTGRES_URL is not set: use `make test` or `scripts/postgres run cargo nextest run`"
        );
    };
    let name = format!("test_{}", TenantId::generate().as_str().replace('-', ""));
    let mut connection = AnyConnection::connect(&server).await.unwrap();
    connection.execute(sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}")))).await.unwrap();
    connection.close().await.unwrap();
    let (base, _) = server.rsplit_once('/').unwrap();
    (format!("{base}/{name}"), Some((server.clone(), name)))
}

pub(crate) fn acme() -> TenantId {
    "acme".parse().unwrap()
}

pub(crate) fn other() -> TenantId {
    "other".parse().unwrap()
}

pub(crate) fn new_tenant(id: &str) -> NewTenant {
    NewTenant {
        id: id.parse().unwrap(),
        name: id.to_uppercase(),
        limits: Limits::default(),
        allow_private_network: None,
        table_quota_bytes: None,
    }
}

pub(crate) fn new_user(username: &str) -> NewUser {
    NewUser {
        username: username.into(),
        display_name: username.to_uppercase(),
        role: Role::Caller,
        bu_code: None,
        password_hash: Secret::new("$argon2id$fake"),
        created_by: None,
    }
}

pub(crate) fn new_service(id: &str) -> NewService {
    NewService {
        scheme: "api".into(),
        id: id.into(),
        name: format!("Service {id}"),
        description: Some("for tests".into()),
        config: serde_json::json!({ "base_url": "https://x", "auth_config": { "value": "hunter2" } }),
        tools: vec![service_tool("zebra"), service_tool("ant")],
        is_enabled: true,
    }
}

pub(crate) fn service_tool(id: &str) -> ServiceTool {
    ServiceTool { id: id.into(), definition: serde_json::json!({ "z": 1, "a": id }) }
}

/// Tries until it holds, for what other tasks bring about.
pub(crate) async fn eventually<Check, Checking>(what: &str, within: Duration, mut check: Check)
where
    Check: FnMut() -> Checking,
    Checking: Future<Output = bool>,
{
    let deadline = std::time::Instant::now() + within;
    while !check().await {
        assert!(std::time::Instant::now() < deadline, "not within {within:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
