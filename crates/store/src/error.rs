//! Why the store could not do it, and the one place where database errors get their kind.

use sqlx::postgres::PgDatabaseError;
use sqlx::sqlite::SqliteError;
use std::fmt;

/// `std::result::Result` with the store's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// There is no such row for this tenant.
    NotFound,
    /// It cannot be done as things are: a name or id is taken (`Error::field` says which), or something has ended,
    /// is under way or is switched off.
    Conflict,
    /// Someone else changed the row since it was read.
    Stale,
    /// A value the store cannot keep, or an option it cannot use.
    Invalid,
    /// The database is locked, full or gone; the same may succeed later.
    Unavailable,
    /// What is stored cannot be decoded or unsealed.
    Corrupt,
    /// A mistake of ours.
    Internal,
}

/// A failure without SQL, values or secrets in its message.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    message: String,
    field: Option<String>,
}

impl Error {
    /// The kind of failure.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The field that is taken already (`Conflict`) or cannot be kept (`Invalid`).
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// The same may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.kind == Kind::Unavailable
    }

    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), field: None }
    }

    pub(crate) fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(Kind::NotFound, format!("there is no such {what}"))
    }

    pub(crate) fn stale(what: &str) -> Self {
        Self::new(Kind::Stale, format!("someone else has changed the {what} meanwhile"))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message)
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Kind::Unavailable, message)
    }

    pub(crate) fn corrupt(message: impl Into<String>) -> Self {
        Self::new(Kind::Corrupt, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Kind::Internal, message)
    }

    fn conflict(field: &str) -> Self {
        Self::new(Kind::Conflict, format!("that {field} is taken already")).at(field)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.message)
    }
}

impl std::error::Error for Error {}

impl From<Error> for tool::Error {
    fn from(error: Error) -> Self {
        match error.kind {
            Kind::Unavailable => Self::unavailable(error.message).retryable(),
            Kind::NotFound => Self::not_found(error.message),
            Kind::Invalid | Kind::Conflict | Kind::Stale => Self::invalid_input(error.message),
            Kind::Corrupt | Kind::Internal => Self::internal(error.message),
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(error) => from_database(&*error),
            sqlx::Error::Io(error) => {
                Self::unavailable(format!("the connection to the database failed ({})", error.kind()))
            }
            sqlx::Error::Tls(_) => Self::unavailable("the database offers no TLS connection that we trust"),
            sqlx::Error::PoolTimedOut => Self::unavailable("the database gave no connection in time"),
            sqlx::Error::PoolClosed => Self::unavailable("the database is closed already"),
            sqlx::Error::WorkerCrashed | sqlx::Error::Protocol(_) | sqlx::Error::BeginFailed => {
                Self::unavailable("the connection to the database broke")
            }
            sqlx::Error::RowNotFound => Self::not_found("row"),
            sqlx::Error::Configuration(_) => Self::invalid("the database URL cannot be used"),
            sqlx::Error::ColumnDecode { index, .. } => {
                Self::corrupt(format!("column {index} of the database holds something unexpected"))
            }
            sqlx::Error::Decode(_) => Self::corrupt("the database holds something unexpected"),
            _ => Self::internal("the database driver refused a statement of ours"),
        }
    }
}

fn from_database(error: &(dyn sqlx::error::DatabaseError + 'static)) -> Error {
    if let Some(error) = error.try_downcast_ref::<PgDatabaseError>() {
        return from_postgres(error);
    }
    if error.try_downcast_ref::<SqliteError>().is_some() {
        let code = error.code().and_then(|code| code.parse().ok()).unwrap_or_default();
        return from_sqlite(code, error.message());
    }
    Error::internal("the database answered with an unknown error")
}

/// Our constraints are named `<table>_<field>`.
fn from_postgres(error: &PgDatabaseError) -> Error {
    let code = error.code();
    match code {
        "23505" => {
            let prefix = format!("{}_", error.table().unwrap_or_default());
            let constraint = error.constraint().unwrap_or("id");
            return Error::conflict(constraint.strip_prefix(&prefix).unwrap_or(constraint));
        }
        "23503" => return Error::not_found("tenant or service"),
        "22021" => return nul_character(),
        "53100" => return Error::unavailable("the database has no space left"),
        "57014" | "55P03" => return Error::unavailable("the database took too long"),
        "40001" | "40P01" => return Error::unavailable("two writes to the database collided; try again"),
        "25006" => return Error::unavailable("the database only takes reads at the moment"),
        "28000" | "28P01" => return Error::unavailable("the database refuses our user or password"),
        "3D000" => return Error::unavailable("the database server has no such database"),
        "XX001" | "XX002" => return Error::corrupt("the database says that its files are damaged"),
        _ => {}
    }
    match code.get(..2) {
        Some("08" | "53" | "57" | "58") => {
            Error::unavailable(format!("the database is not available (SQLSTATE {code})"))
        }
        _ => Error::internal(format!("the database refused a statement of ours (SQLSTATE {code})")),
    }
}

/// The low byte is the primary code, see <https://sqlite.org/rescode.html>.
fn from_sqlite(code: u32, message: &str) -> Error {
    match (code & 0xff, code) {
        (19, 2067 | 1555) => Error::conflict(conflicting_column(message)),
        (19, 787) => Error::not_found("tenant or service"),
        (5 | 6, _) => Error::unavailable("the database is locked by another process"),
        (13, _) => Error::unavailable("the disk of the database is full"),
        (8, _) => Error::unavailable("the database file cannot be written"),
        (14, _) => Error::unavailable("the database file cannot be opened"),
        (7 | 9 | 10 | 15, _) => Error::unavailable(format!("the database is not available (SQLite {code})")),
        (11 | 26, _) => Error::corrupt("the database file is damaged or no SQLite file"),
        _ => Error::internal(format!("the database refused a statement of ours (SQLite {code})")),
    }
}

/// The message ends in the columns, e.g. `… failed: users.tenant, users.username`.
fn conflicting_column(message: &str) -> &str {
    message.rsplit('.').next().filter(|column| !column.contains(' ')).unwrap_or("id")
}

fn nul_character() -> Error {
    Error::invalid("a text holds the character U+0000, which cannot be stored")
}

/// Refuses what PostgreSQL cannot keep, so that both databases answer alike.
pub(crate) fn check_text(field: &str, text: &str) -> Result<()> {
    if text.contains('\0') { Err(nul_character().at(field)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_column_that_conflicts() {
        let field = |message| conflicting_column(message).to_owned();
        assert_eq!(field("UNIQUE constraint failed: users.tenant, users.username"), "username");
        assert_eq!(field("UNIQUE constraint failed: tenants.id"), "id");
        assert_eq!(field("something. else entirely"), "id");
    }

    #[test]
    fn gives_every_sqlite_code_its_kind() {
        for (code, kind) in [
            (5, Kind::Unavailable),
            (517, Kind::Unavailable),
            (13, Kind::Unavailable),
            (778, Kind::Unavailable),
            (11, Kind::Corrupt),
            (26, Kind::Corrupt),
            (787, Kind::NotFound),
            (1555, Kind::Conflict),
            (1, Kind::Internal),
        ] {
            assert_eq!(from_sqlite(code, "x.id").kind(), kind, "{code}");
        }
    }
}
