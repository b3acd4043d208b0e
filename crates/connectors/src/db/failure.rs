//! What a database says when it fails, in our kinds; its own code stands in `code`.

use sqlx::error::DatabaseError;
use tool::{Error, ErrorKind, Reason};

/// The code of a row that is there already, on every engine.
pub(super) const CONFLICT: &str = "conflict";

/// Why no session could be opened.
pub(super) fn of_opening(error: &sqlx::Error) -> Error {
    match error {
        sqlx::Error::Database(said) if is_absent(&code_of(&**said), said.message()) => coded(
            ErrorKind::Upstream,
            format!(
                "the server has no such database: {}; create it, or correct its name in 'connection_string'",
                said.message()
            ),
            &code_of(&**said),
        ),
        sqlx::Error::Database(said) if is_sign_in(&code_of(&**said)) => coded(
            ErrorKind::Upstream,
            format!("the database refused the sign-in: {}; check 'connection_string'", said.message()),
            &code_of(&**said),
        )
        .because(Reason::CredentialsRejected),
        sqlx::Error::Tls(cause) => not_encrypted(cause),
        sqlx::Error::Io(cause) if is_tls(cause) => not_encrypted(cause),
        // Without a key exchange of its own, MySQL's sign-in needs an encrypted connection.
        sqlx::Error::Configuration(cause) => Error::upstream(format!(
            "the database cannot be signed in to: {cause}; check 'connection_string'"
        )),
        other => of(other),
    }
}

/// The server wanted the password so that everybody on the way could read it.
pub(super) fn asked_in_clear() -> Error {
    Error::upstream(
        "the database asks for the password in clear text over a connection without TLS, and does not get it; add ?sslmode=require to 'connection_string', or let the server ask by scram-sha-256",
    )
}

fn not_encrypted(cause: &dyn std::fmt::Display) -> Error {
    let message = format!("no encrypted connection to the database: {cause}; check 'tls' and 'sslmode'");
    Error::unavailable(message).retryable()
}

fn is_tls(error: &std::io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
}

/// Why a statement failed.
pub(super) fn of(error: &sqlx::Error) -> Error {
    match error {
        sqlx::Error::Database(said) => of_database(&**said),
        sqlx::Error::Io(cause) => {
            Error::unavailable(format!("the connection to the database broke: {cause}")).retryable()
        }
        sqlx::Error::Tls(cause) => {
            Error::unavailable(format!("the encrypted connection to the database broke: {cause}")).retryable()
        }
        sqlx::Error::WorkerCrashed => {
            Error::unavailable("the connection to the database is gone").retryable()
        }
        sqlx::Error::Decode(cause) => {
            Error::upstream(format!("a value of the database cannot be read: {cause}"))
        }
        // Often a type that the driver has never heard of.
        sqlx::Error::ColumnDecode { source: cause, .. } => {
            Error::upstream(format!("a value of the database cannot be read: {cause}; cast it to text"))
        }
        sqlx::Error::Encode(cause) => Error::invalid_input(format!("a value cannot be sent: {cause}")),
        other => Error::upstream(format!("the database's answer cannot be used: {other}")),
    }
}

/// The session is over, though the database may well be there.
pub(super) fn is_broken(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(said) => {
            let code = code_of(&**said);
            code.starts_with("08") || code.starts_with("57P") || matches!(code.as_str(), "1927" | "1053")
        }
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
            true
        }
        _ => false,
    }
}

/// The server has become one that only reads, e.g. because another one has taken its place.
pub(super) fn is_read_only(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(said) = error else { return false };
    // MySQL has one SQLSTATE for these and many others, and 1290 for every option that is in the way.
    #[cfg(feature = "mysql")]
    if let Some(said) = said.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return said.number() == 1836 || (said.number() == 1290 && said.message().contains("read"));
    }
    code_of(&**said) == "25006"
}

/// The table or a column is not what it was, so that the catalog is to be read again.
pub(super) fn is_outdated(error: &Error) -> bool {
    let codes = ["42P01", "42703", "42S02", "42S22", "1"];
    error.service_code().is_some_and(|code| codes.contains(&code))
}

fn of_database(said: &dyn DatabaseError) -> Error {
    let code = code_of(said);
    let message = said.message().to_owned();
    if said.is_unique_violation() {
        return Error::upstream(format!("such a row is there already: {message}"))
            .with_service_code(CONFLICT);
    }
    let kind = kind_of(&code, &message);
    let error = match kind {
        _ if is_busy(&code) => {
            let message = format!(
                "others held the file for longer than 'statement_timeout_ms' of the service: {message}; try again later"
            );
            coded(kind, message, &code)
        }
        ErrorKind::Timeout => coded(kind, "the statement took too long and was ended".to_owned(), &code),
        ErrorKind::Unavailable => coded(kind, format!("the database is not available: {message}"), &code),
        // Doors show the code of a failure, and of what is refused only the words.
        ErrorKind::InvalidInput | ErrorKind::Upstream if code.len() == 5 => {
            coded(kind, format!("the database says: {message} (SQLSTATE {code})"), &code)
        }
        _ => coded(kind, format!("the database says: {message}"), &code),
    };
    match kind {
        ErrorKind::Timeout | ErrorKind::Unavailable => error.retryable(),
        // Deadlocks, conflicts between transactions, a file that another writer has locked.
        _ if is_busy(&code) || matches!(code.as_str(), "40001" | "40P01" | "6" | "517") => error.retryable(),
        _ => error,
    }
}

/// A file of SQLite that others have locked.
fn is_busy(code: &str) -> bool {
    matches!(code, "5" | "261")
}

fn coded(kind: ErrorKind, message: String, code: &str) -> Error {
    Error::new(kind, message).with_service_code(code)
}

fn code_of(said: &dyn DatabaseError) -> String {
    said.code().unwrap_or_default().into_owned()
}

fn is_sign_in(code: &str) -> bool {
    code.starts_with("28") || code == "42000"
}

/// The database itself is not there. MySQL has one code for that and for what its user may not do.
fn is_absent(code: &str, message: &str) -> bool {
    code == "3D000" || (code == "42000" && message.starts_with("Unknown database"))
}

/// What SQLite says of a statement that was right and failed all the same, by the code of those that are wrong.
const FAILED_WHILE_IT_RAN: [&str; 3] = ["integer overflow", "malformed JSON", "bad JSON path"];

/// By SQLSTATE for servers, by result code for SQLite.
fn kind_of(code: &str, message: &str) -> ErrorKind {
    match code {
        // Statements that were ended.
        "57014" | "70100" | "9" => ErrorKind::Timeout,
        // Tables that are not there.
        "42P01" | "42S02" => ErrorKind::Missing,
        "1" if message.starts_with("no such table") => ErrorKind::Missing,
        "1" if FAILED_WHILE_IT_RAN.iter().any(|words| message.starts_with(words)) => ErrorKind::Upstream,
        // Columns, functions and syntax; SQLite has one code for all of them.
        "42703" | "42S22" | "42601" | "42000" | "42883" | "42804" | "42702" | "42P02" | "1" => {
            ErrorKind::InvalidInput
        }
        // Values that are none of their type, too large, or out of range.
        "01000" | "22001" | "22003" | "22007" | "22008" | "22018" | "22021" | "22P02" | "22P03" | "18"
        | "20" | "25" => ErrorKind::InvalidInput,
        // Shutting down, not yet up, no room for more connections, a file that cannot be opened.
        "53300" | "08004" | "14" => ErrorKind::Unavailable,
        code if code.starts_with("57P") || (code.len() == 5 && code.starts_with("08")) => {
            ErrorKind::Unavailable
        }
        _ => ErrorKind::Upstream,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_is_absent_from_what_is_refused() {
        assert!(
            is_absent("3D000", "database \"x\" does not exist") && is_absent("42000", "Unknown database 'x'")
        );
        assert!(!is_absent("42000", "Access denied for user 'a' to database 'x'") && is_sign_in("42000"));
        assert!(!is_absent("28P01", "password authentication failed"));
    }

    #[test]
    fn tells_codes_apart() {
        for (code, message, kind) in [
            ("57014", "", ErrorKind::Timeout),
            ("9", "interrupted", ErrorKind::Timeout),
            ("42P01", "", ErrorKind::Missing),
            ("1", "no such table: x", ErrorKind::Missing),
            ("1", "no such column: x", ErrorKind::InvalidInput),
            ("42703", "", ErrorKind::InvalidInput),
            ("22P02", "", ErrorKind::InvalidInput),
            ("01000", "", ErrorKind::InvalidInput),
            ("25006", "", ErrorKind::Upstream),
            ("8", "readonly", ErrorKind::Upstream),
            ("53300", "", ErrorKind::Unavailable),
            ("57P01", "", ErrorKind::Unavailable),
            ("23503", "", ErrorKind::Upstream),
            // What a statement met while it ran: a division by zero, a null where none may be, a check.
            ("22012", "", ErrorKind::Upstream),
            ("23502", "", ErrorKind::Upstream),
            ("23514", "", ErrorKind::Upstream),
            ("1299", "NOT NULL constraint failed: t.a", ErrorKind::Upstream),
            ("275", "CHECK constraint failed: t", ErrorKind::Upstream),
            ("1", "integer overflow", ErrorKind::Upstream),
        ] {
            assert_eq!(kind_of(code, message), kind, "{code} {message}");
        }
    }
}
