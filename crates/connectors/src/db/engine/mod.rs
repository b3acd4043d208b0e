//! The engines: one session type each, which runs prepared statements and writes rows as JSON.

#[cfg(feature = "mysql")]
pub(super) mod mysql;
#[cfg(feature = "mysql")]
mod mysql_values;
pub(super) mod postgres;
mod postgres_values;
pub(super) mod sqlite;
mod times;

pub(super) use times::to_mysql;

use super::rows::{Heading, Rows};
use async_trait::async_trait;
use sqlx::{Column, TypeInfo};

/// The column behind all others that says whether a value was left out because it is too large.
pub(super) const OVERSIZED: &str = "\u{1}oversized";

/// A value on its way to the database.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Bound {
    Null,
    Text(String),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Boolean(bool),
    Bytes(Vec<u8>),
}

/// One statement and the values of its placeholders.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Statement {
    pub(super) sql: String,
    pub(super) values: Vec<Bound>,
    pub(super) origin: Origin,
}

/// Who wrote a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// We did, from names of the catalog; it comes again.
    Ours,
    Somebody,
}

/// What the database says about a statement before it runs.
#[derive(Debug, Default)]
pub(super) struct Described {
    pub(super) headings: Vec<Heading>,
    /// The columns, by position, whose values can only be read as texts.
    pub(super) texts: Vec<usize>,
    /// The types of its parameters, as SQL writes them, where the database infers them.
    pub(super) parameter_types: Vec<String>,
}

/// One connection to a database, used by one call at a time.
#[async_trait]
pub(super) trait Session: Send {
    /// Runs a prepared statement and hands its rows over until they have enough.
    async fn fetch(&mut self, statement: &Statement, rows: &mut Rows) -> sqlx::Result<()>;

    /// Runs a prepared statement and says how many rows it touched.
    async fn execute(&mut self, statement: &Statement) -> sqlx::Result<u64>;

    /// Prepares a statement that somebody wrote, without running it.
    async fn describe(&mut self, sql: &str) -> sqlx::Result<Described>;

    /// Runs words of our own that take no values, e.g. `COMMIT`.
    async fn command(&mut self, sql: &'static str) -> sqlx::Result<()>;

    /// Begins a transaction in which nothing can be changed.
    async fn begin_reading(&mut self) -> sqlx::Result<()>;

    /// Forgets everything that a statement of somebody else may have left in the session.
    async fn reset(&mut self) -> sqlx::Result<()>;

    /// Whether the server still answers.
    async fn ping(&mut self) -> sqlx::Result<()>;

    /// How the statement that runs in this session is ended from outside.
    fn interrupt(&self) -> Interrupt;

    /// The server sent more than an answer may hold, and was cut off.
    fn is_outgrown(&self) -> bool {
        false
    }

    /// Says goodbye.
    async fn close(self: Box<Self>);
}

/// The names and types of a statement's columns.
fn headings<'c, C: Column>(columns: impl IntoIterator<Item = &'c C>) -> Vec<Heading> {
    let heading = |column: &C| Heading {
        name: column.name().to_owned(),
        type_name: column.type_info().name().to_ascii_lowercase(),
    };
    columns.into_iter().map(heading).collect()
}

/// The way to end a statement on its server.
#[derive(Debug, Clone)]
pub(super) enum Interrupt {
    /// By a statement of another session.
    Statement(String),
    /// By a flag that the engine looks at while it works.
    Flag(std::sync::Arc<std::sync::atomic::AtomicBool>),
}
