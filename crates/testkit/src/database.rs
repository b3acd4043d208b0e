//! A database and a data folder of its own for each test, on either kind of server.

use crate::tcp_proxy::TcpProxy;
use sqlx::{AnyConnection, AssertSqlSafe, Connection as _, Executor as _};
use std::path::{Path, PathBuf};

/// Runs each named function once per database: `async fn name(backend: Backend)`.
#[macro_export]
macro_rules! on_both_databases {
    ($($name:ident)*) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                Box::pin(super::$name($crate::Backend::Sqlite)).await;
            })*
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                Box::pin(super::$name($crate::Backend::Postgres)).await;
            })*
        }
    };
}

/// Which kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// A file in the data folder.
    Sqlite,
    /// A database on the server at `MCP_TEST_POSTGRES_URL`.
    Postgres,
}

/// An empty database with a data folder. Both are gone when it is dropped.
#[derive(Debug)]
pub struct Database {
    folder: tempfile::TempDir,
    /// The server's URL and the database's name, on PostgreSQL.
    postgres: Option<(String, String)>,
}

impl Database {
    /// Makes one.
    ///
    /// # Panics
    /// When PostgreSQL is asked for and cannot be had.
    pub async fn create(backend: Backend) -> Self {
        sqlx::any::install_default_drivers();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let postgres = match backend {
            Backend::Sqlite => None,
            Backend::Postgres => {
                let Ok(server) = std::env::var("MCP_TEST_POSTGRES_URL") else {
                    panic!(
                        "MCP_TEST_POSTGRES_URL is not set: use `make test` or `scripts/postgres run cargo nextest run`"
                    );
                };
                let name = format!("test_{}", uuid::Uuid::now_v7().simple());
                execute(&server, &format!("CREATE DATABASE {name}")).await.expect("a database");
                Some((server, name))
            }
        };
        Self { folder, postgres }
    }

    /// Which kind it is.
    #[must_use]
    pub fn backend(&self) -> Backend {
        if self.postgres.is_some() { Backend::Postgres } else { Backend::Sqlite }
    }

    /// The data folder of the first server.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The data folder of one more server. On SQLite it is the same, because the database is in
    /// it; on PostgreSQL it is another with the same master key, as on another machine.
    ///
    /// # Panics
    /// When the first server has never been started.
    #[must_use]
    pub fn replica_data_dir(&self, name: &str) -> PathBuf {
        if self.backend() == Backend::Sqlite {
            return self.data_dir();
        }
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let key = Path::new("master.key");
        // Copies keep the mode 0600 that the vault insists on.
        std::fs::copy(self.data_dir().join(key), folder.join(key)).expect("the first server made a key");
        folder
    }

    /// What to give to `--database`; nothing on SQLite, where the default is right.
    #[must_use]
    pub fn url(&self) -> Option<String> {
        let (server, name) = self.postgres.as_ref()?;
        let (base, _) = server.rsplit_once('/').expect("the URL names a database");
        Some(format!("{base}/{name}"))
    }

    /// A proxy in front of the server, and the database's URL through it.
    ///
    /// # Panics
    /// On SQLite, which has no server.
    pub async fn behind_proxy(&self) -> (TcpProxy, String) {
        let url = self.url().expect("SQLite has no server to stand in front of");
        let (before, database) = url.rsplit_once('/').expect("the URL names a database");
        let (user, server) = before.rsplit_once('@').expect("the URL names a user");
        let proxy = TcpProxy::start(server).await;
        let through = format!("{user}@{}/{database}", proxy.address());
        (proxy, through)
    }

    /// A connection past the program, for damage and for proof.
    ///
    /// # Panics
    /// When the database cannot be opened.
    pub async fn connect(&self) -> AnyConnection {
        let file = self.data_dir().join("data.db");
        let url = self.url().unwrap_or_else(|| format!("sqlite://{}", file.display()));
        AnyConnection::connect(&url).await.expect("the database can be opened")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let Some((server, name)) = self.postgres.take() else { return };
        // On a thread of its own: the test's runtime may be about to end.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map(|runtime| {
                runtime.block_on(execute(&server, &format!("DROP DATABASE {name} WITH (FORCE)")))
            })
        });
        // A database that stays behind goes with its server; a test that fails is told enough.
        let _ = dropping.join();
    }
}

async fn execute(server: &str, sql: &str) -> sqlx::Result<()> {
    let mut connection = AnyConnection::connect(server).await?;
    connection.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))).await?;
    connection.close().await
}
