//! Parameters of statements with any number of rows.

use crate::database::Backend;
use std::fmt::Write as _;

/// `($1, $2), ($3, $4)`. For SQLite with `?`, since a parameter with a name is looked up by it, in time linear in their
/// number.
pub(crate) fn rows(backend: Backend, rows: usize, columns: usize) -> String {
    let mut sql = String::new();
    for number in 0..rows * columns {
        let before = match (number, number % columns) {
            (0, _) => "(",
            (_, 0) => "), (",
            _ => ", ",
        };
        // Writing to a string cannot fail.
        let _ = match backend {
            Backend::Sqlite => write!(sql, "{before}?"),
            Backend::Postgres => write!(sql, "{before}${}", number + 1),
        };
    }
    sql.push(')');
    sql
}

/// The parameter behind that many others.
pub(crate) fn behind(backend: Backend, others: usize) -> String {
    match backend {
        Backend::Sqlite => "?".to_owned(),
        Backend::Postgres => format!("${}", others + 1),
    }
}
