//! How sessions begin: the driver's options, the guarded way to the server, and the mode of a file.

use super::address::{Address, Encryption, Server};
use super::clear_text::SignIn;
use super::engine::Session;
use super::engine::postgres::PostgresSession;
use super::engine::sqlite::SqliteSession;
use super::failure;
use super::relay;
use super::rows::Limits;
use super::settings::DbType;
use super::sql::Access;
use super::tls::TlsSettings;
use crate::shared::network::Policy;
use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tool::{Error, Result};

const NAME: &str = "mcp-all-in-one";
/// A row on the wire may be this much larger than its JSON, and an answer has frames around its rows.
const WIRE_FACTOR: usize = 4;
const WIRE_BYTES: usize = 1024 * 1024;
/// The least that a value of SQLite may hold while it is worked with, by those who read and those who write.
const READ_VALUE_BYTES: usize = 1024 * 1024;
const WRITTEN_VALUE_BYTES: usize = 64 * 1024 * 1024;
/// How long making a file waits for another process that makes it, too.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// What it takes to open a session.
#[derive(Debug)]
pub(super) struct Opener {
    pub(super) db_type: DbType,
    pub(super) address: Address,
    pub(super) schema: Option<String>,
    pub(super) tls: TlsSettings,
    pub(super) policy: Arc<Policy>,
    pub(super) statement_timeout: Duration,
    pub(super) limits: Limits,
}

impl Opener {
    /// Opens a session that can do no more than `access`.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub(super) async fn open(&self, access: Access) -> Result<Box<dyn Session>> {
        match &self.address {
            Address::File(path) => self.open_file(path, access).await,
            Address::OwnFile(path) => {
                make_file(path).await?;
                self.open_file(path, access).await
            }
            Address::Server(server) => match self.db_type {
                DbType::Mysql => self.open_mysql(server, access).await,
                DbType::Postgresql | DbType::Sqlite => self.open_postgres(server, access).await,
            },
        }
    }

    async fn open_file(&self, path: &Path, access: Access) -> Result<Box<dyn Session>> {
        // Whoever waits for another one of the same file has the time of a statement.
        let options = file_options(path, self.statement_timeout).read_only(access == Access::Read);
        // Whoever reads can show no more; what is written was bounded on its way here.
        let value_bytes = match access {
            Access::Read => self.limits.bytes.max(READ_VALUE_BYTES),
            Access::Write => self.limits.bytes.max(WRITTEN_VALUE_BYTES),
        };
        let session = SqliteSession::open(&options, value_bytes).await;
        let session = session.map_err(|error| failure::of_opening(&error))?;
        Ok(Box::new(session))
    }

    async fn open_postgres(&self, server: &Server, access: Access) -> Result<Box<dyn Session>> {
        let sign_in = SignIn::new(server.encryption != Encryption::Off);
        let (folder, wire) = self.wire(server, &format!(".s.PGSQL.{}", server.port), Some(sign_in)).await?;
        let options = self.postgres_options(server, access).socket(folder.path());
        let has_asked_in_clear = wire.has_asked_in_clear();
        let session = PostgresSession::open(&options, Some(wire)).await;
        let session = session.map_err(|error| match has_asked_in_clear.load(Ordering::Relaxed) {
            true => failure::asked_in_clear(),
            false => failure::of_opening(&error),
        });
        Ok(Box::new(session?))
    }

    async fn wire(
        &self,
        server: &Server,
        name: &str,
        sign_in: Option<SignIn>,
    ) -> Result<(relay::Folder, relay::Wire)> {
        let most_bytes = self.limits.bytes.saturating_mul(WIRE_FACTOR) + WIRE_BYTES;
        relay::connect((&server.host, server.port), &self.policy, most_bytes, name, sign_in).await
    }

    /// Every option is set: what is not would come from variables of this process.
    fn postgres_options(&self, server: &Server, access: Access) -> PgConnectOptions {
        let milliseconds = self.statement_timeout.as_millis().to_string();
        // A role may have settings of its own. These make texts and values what we take them for, also after DISCARD ALL.
        let mut settings = vec![
            ("statement_timeout", milliseconds),
            ("standard_conforming_strings", "on".to_owned()),
            ("backslash_quote", "safe_encoding".to_owned()),
            ("bytea_output", "hex".to_owned()),
            ("IntervalStyle", "iso_8601".to_owned()),
        ];
        if let Some(schema) = &self.schema {
            settings.push(("search_path", self.db_type.quoted(schema)));
        }
        if access == Access::Read {
            settings.push(("default_transaction_read_only", "on".to_owned()));
        }
        let options = PgConnectOptions::new_without_pgpass()
            .host(self.tls.server_name.as_deref().unwrap_or(&server.host))
            .port(server.port)
            .username(&server.username)
            .password(server.password.as_ref().map_or("", |password| password.expose()))
            .database(&server.database)
            .application_name(NAME)
            .ssl_mode(match server.encryption {
                Encryption::Off => PgSslMode::Disable,
                Encryption::Preferred => PgSslMode::Prefer,
                Encryption::Required => PgSslMode::Require,
                Encryption::Authority => PgSslMode::VerifyCa,
                Encryption::Host => PgSslMode::VerifyFull,
            })
            .options(settings)
            .disable_statement_logging();
        let options = match &self.tls.ca {
            Some(ca) => options.ssl_root_cert_from_pem(ca.clone().into_bytes()),
            None => options,
        };
        match (&self.tls.certificate, &self.tls.key) {
            (Some(certificate), Some(key)) => {
                options.ssl_client_cert_from_pem(certificate.expose()).ssl_client_key_from_pem(key.expose())
            }
            _ => options,
        }
    }

    #[cfg(not(feature = "mysql"))]
    async fn open_mysql(&self, _: &Server, _: Access) -> Result<Box<dyn Session>> {
        Err(Error::unsupported("MySQL is not built in; build with the feature 'mysql'"))
    }

    #[cfg(feature = "mysql")]
    async fn open_mysql(&self, server: &Server, access: Access) -> Result<Box<dyn Session>> {
        use super::engine::mysql::MysqlSession;
        const SOCKET: &str = "mysql.sock";
        let (folder, wire) = self.wire(server, SOCKET, None).await?;
        let options = self.mysql_options(server).socket(folder.path().join(SOCKET));
        let session = MysqlSession::open(&options, Some(wire), access, self.statement_timeout).await;
        Ok(Box::new(session.map_err(|error| failure::of_opening(&error))?))
    }

    #[cfg(feature = "mysql")]
    fn mysql_options(&self, server: &Server) -> sqlx::mysql::MySqlConnectOptions {
        use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
        let options = MySqlConnectOptions::new()
            .host(self.tls.server_name.as_deref().unwrap_or(&server.host))
            .port(server.port)
            .username(&server.username)
            .database(self.schema.as_deref().unwrap_or(&server.database))
            // Its meaning differs between servers, and people write || for "or" there.
            .pipes_as_concat(false)
            .ssl_mode(match server.encryption {
                Encryption::Off => MySqlSslMode::Disabled,
                Encryption::Preferred => MySqlSslMode::Preferred,
                Encryption::Required => MySqlSslMode::Required,
                Encryption::Authority => MySqlSslMode::VerifyCa,
                Encryption::Host => MySqlSslMode::VerifyIdentity,
            })
            .disable_statement_logging();
        let options = match &server.password {
            Some(password) => options.password(password.expose()),
            None => options,
        };
        let options = match &self.tls.ca {
            Some(ca) => options.ssl_ca_from_pem(ca.clone().into_bytes()),
            None => options,
        };
        match (&self.tls.certificate, &self.tls.key) {
            (Some(certificate), Some(key)) => {
                options.ssl_client_cert_from_pem(certificate.expose()).ssl_client_key_from_pem(key.expose())
            }
            _ => options,
        }
    }
}

fn file_options(path: &Path, busy_timeout: Duration) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path).busy_timeout(busy_timeout).disable_statement_logging()
}

/// A file of ours is made when it is first needed: a reader could not.
async fn make_file(path: &Path) -> Result<()> {
    if tokio::fs::try_exists(path).await.unwrap_or(false) {
        return Ok(());
    }
    let failed = |error: std::io::Error| {
        Error::unavailable("the folder of the database cannot be made").caused_by(error)
    };
    if let Some(folder) = path.parent() {
        private_folders().create(folder).await.map_err(failed)?;
    }
    private_file().open(path).await.map_err(failed)?;
    let options = file_options(path, BUSY_TIMEOUT).create_if_missing(true);
    // So that a slow reader holds up no writer.
    let options = options.journal_mode(SqliteJournalMode::Wal);
    let session = SqliteSession::open(&options, WRITTEN_VALUE_BYTES).await;
    let session = session.map_err(|error| failure::of_opening(&error))?;
    Box::new(session).close().await;
    Ok(())
}

/// What lies in it is the tenant's, and no other user of this machine is to read it.
fn private_folders() -> tokio::fs::DirBuilder {
    let mut folders = tokio::fs::DirBuilder::new();
    folders.recursive(true);
    #[cfg(unix)]
    folders.mode(0o700);
    folders
}

/// The files that SQLite puts beside it have the same mode.
fn private_file() -> tokio::fs::OpenOptions {
    let mut file = tokio::fs::OpenOptions::new();
    file.append(true).create(true);
    #[cfg(unix)]
    file.mode(0o600);
    file
}
