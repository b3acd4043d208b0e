//! Where a database is, read from its connection string; nothing of it comes from the environment.

use super::settings::DbType;
use fetch::Url;
use percent_encoding::percent_decode_str;
use std::net::IpAddr;
use std::path::PathBuf;
use tool::{Problem, Secret};

/// Where a database is.
#[derive(Debug, Clone)]
pub(super) enum Address {
    /// A file that was named.
    File(PathBuf),
    /// A file of ours, made when it is first needed.
    OwnFile(PathBuf),
    Server(Server),
}

/// A database on a server, and how to sign in there.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) username: String,
    pub(super) password: Option<Secret>,
    pub(super) database: String,
    pub(super) encryption: Encryption,
}

impl Address {
    /// Says that somebody between us and the server could read the password, where that is so.
    pub(super) fn exposure(&self) -> Option<String> {
        let Self::Server(server) = self else { return None };
        let mode = match server.encryption {
            Encryption::Off => "disable",
            Encryption::Preferred => "prefer",
            Encryption::Required => "require",
            Encryption::Authority | Encryption::Host => return None,
        };
        let address = server.host.parse::<IpAddr>().ok();
        let is_here = server.host == "localhost" || address.is_some_and(|address| address.is_loopback());
        (server.password.is_some() && !is_here).then(|| {
            format!("connection_string: with the sslmode '{mode}' nobody checks the server's certificate, and who stands between could read the password; write ?sslmode=verify-full, with 'tls.ca' where no public authority vouches for the server")
        })
    }
}

/// How far the connection must be secret, and the server who it says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encryption {
    Off,
    /// Where the server can.
    Preferred,
    Required,
    /// Required, and an authority vouches for the certificate.
    Authority,
    /// Required, and the certificate is of this very host.
    Host,
}

impl Encryption {
    /// Both spellings: of PostgreSQL and of MySQL.
    fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().replace('_', "-").as_str() {
            "disable" | "disabled" => Some(Self::Off),
            "prefer" | "preferred" => Some(Self::Preferred),
            "require" | "required" => Some(Self::Required),
            "verify-ca" => Some(Self::Authority),
            "verify-full" | "verify-identity" => Some(Self::Host),
            _ => None,
        }
    }
}

/// Reads a connection string; problems never quote it, because it holds a password.
pub(super) fn parse(text: &str, db_type: DbType, has_authority: bool) -> Result<Address, Problem> {
    match db_type {
        DbType::Sqlite => parse_file(text),
        DbType::Postgresql => server(text, db_type, &["postgres", "postgresql"], 5432, has_authority),
        DbType::Mysql => server(text, db_type, &["mysql", "mariadb"], 3306, has_authority),
    }
}

fn parse_file(text: &str) -> Result<Address, Problem> {
    let path = text.strip_prefix("sqlite://").or_else(|| text.strip_prefix("sqlite:")).unwrap_or(text);
    let path = PathBuf::from(path);
    if !path.is_absolute() || text.contains(['?', '\0']) {
        return Err(refused("must be the whole path of a SQLite file, e.g. /data/shop.db"));
    }
    Ok(Address::File(path))
}

fn server(
    text: &str,
    db_type: DbType,
    schemes: &[&str],
    port: u16,
    has_authority: bool,
) -> Result<Address, Problem> {
    let example = format!("write e.g. {}://user:password@host/database", schemes[0]);
    let url = Url::parse(text).map_err(|_| refused(&format!("is no URL; {example}")))?;
    if !schemes.contains(&url.scheme()) {
        return Err(refused(&format!("does not fit 'db_type'; {example}")));
    }
    let host = url.host_str().filter(|host| !host.is_empty());
    let host = host.ok_or_else(|| refused(&format!("names no host; {example}")))?;
    let username = decoded(url.username())?;
    if username.is_empty() {
        return Err(refused(&format!("names no user; {example}")));
    }
    let database = decoded(url.path().trim_start_matches('/'))?;
    if database.is_empty() || database.contains('/') {
        return Err(refused(&format!("names no database; {example}")));
    }
    let password = url.password().filter(|password| !password.is_empty()).map(decoded).transpose()?;
    let encryption = encryption(&url, db_type, password.is_some(), has_authority)?;
    Ok(Address::Server(Server {
        host: host.trim_matches(['[', ']']).to_owned(),
        port: url.port().unwrap_or(port),
        username,
        password: password.map(Secret::new),
        database,
        encryption,
    }))
}

/// What the string says, or what is right: an authority that was given is asked, a password of MySQL is encrypted.
fn encryption(
    url: &Url,
    db_type: DbType,
    has_password: bool,
    has_authority: bool,
) -> Result<Encryption, Problem> {
    let mut said = None;
    for (name, value) in url.query_pairs() {
        if !matches!(&*name, "sslmode" | "ssl-mode") {
            let message =
                format!("holds the option '{name}'; only 'sslmode' is known, the rest are settings");
            return Err(refused(&message));
        }
        said = Some(Encryption::parse(&value).ok_or_else(|| {
            refused("holds an 'sslmode' that is none of disable, prefer, require, verify-ca, verify-full")
        })?);
    }
    let needs_secrecy = db_type == DbType::Mysql && has_password;
    match said {
        Some(Encryption::Off | Encryption::Preferred) if needs_secrecy => {
            Err(refused("has a password, which needs TLS with MySQL; leave 'sslmode' out or write require"))
        }
        Some(Encryption::Off | Encryption::Preferred | Encryption::Required) if has_authority => {
            Err(refused(
                "has an 'sslmode' that checks no certificate, and 'tls.ca' is there to check it; write verify-ca or verify-full, leave 'sslmode' out, or leave 'tls.ca' out",
            ))
        }
        Some(said) => Ok(said),
        None if has_authority => Ok(Encryption::Host),
        None if needs_secrecy => Ok(Encryption::Required),
        None => Ok(Encryption::Preferred),
    }
}

fn decoded(text: &str) -> Result<String, Problem> {
    let decoded = percent_decode_str(text).decode_utf8().ok().filter(|text| !text.contains('\0'));
    decoded.map(Into::into).ok_or_else(|| refused("holds bytes that are no UTF-8"))
}

fn refused(why: &str) -> Problem {
    Problem::new("connection_string", "InvalidUrl", format!("the connection_string {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, db_type: DbType) -> Server {
        match parse(text, db_type, false).unwrap() {
            Address::Server(server) => server,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reads_where_a_server_is_and_how_to_sign_in() {
        let server = parsed("postgres://us%40er:p%2Fw@[::1]:6000/my%20shop", DbType::Postgresql);
        assert_eq!((server.host.as_str(), server.port, server.username.as_str()), ("::1", 6000, "us@er"));
        assert_eq!((server.password.unwrap().expose(), server.database.as_str()), ("p/w", "my shop"));
        assert_eq!(server.encryption, Encryption::Preferred);
        assert_eq!(parsed("mysql://u:p@h/d", DbType::Mysql).encryption, Encryption::Required);
        assert_eq!(parsed("mariadb://u@h/d", DbType::Mysql).encryption, Encryption::Preferred);
        assert_eq!(
            parsed("mysql://u:p@h/d?ssl-mode=VERIFY_IDENTITY", DbType::Mysql).encryption,
            Encryption::Host
        );
    }

    #[test]
    fn says_where_a_password_could_be_read_on_its_way() {
        for (text, db_type, mode) in [
            ("postgres://u:p@db.example.com/d", DbType::Postgresql, Some("'prefer'")),
            ("postgres://u:p@10.0.0.7/d?sslmode=require", DbType::Postgresql, Some("'require'")),
            ("postgres://u:p@h/d?sslmode=disable", DbType::Postgresql, Some("'disable'")),
            ("mysql://u:p@h/d", DbType::Mysql, Some("'require'")),
            ("postgres://u:p@h/d?sslmode=verify-full", DbType::Postgresql, None),
            ("mysql://u:p@h/d?sslmode=verify-ca", DbType::Mysql, None),
            ("postgres://u@h/d", DbType::Postgresql, None),
            ("postgres://u:p@localhost/d", DbType::Postgresql, None),
            ("mysql://u:p@127.0.0.1/d", DbType::Mysql, None),
            ("postgres://u:p@[::1]/d", DbType::Postgresql, None),
            ("/data/shop.db", DbType::Sqlite, None),
        ] {
            let said = parse(text, db_type, false).unwrap().exposure();
            assert_eq!(said.is_some(), mode.is_some(), "{text}: {said:?}");
            let is_clear =
                |said: &String| said.contains("verify-full") && said.contains(mode.unwrap_or_default());
            assert!(said.as_ref().is_none_or(is_clear), "{text}: {said:?}");
        }
        assert!(parse("postgres://u:p@h/d", DbType::Postgresql, true).unwrap().exposure().is_none());
    }

    #[test]
    fn an_authority_is_never_there_for_nothing() {
        let encryption = |mode: &str| {
            let text = format!("postgres://u:s3cret@h/d{mode}");
            parse(&text, DbType::Postgresql, true).map(|address| match address {
                Address::Server(server) => server.encryption,
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(encryption("").unwrap(), Encryption::Host);
        assert_eq!(encryption("?sslmode=verify-ca").unwrap(), Encryption::Authority);
        for mode in ["?sslmode=disable", "?sslmode=prefer", "?sslmode=require"] {
            let problem = encryption(mode).unwrap_err();
            assert!(problem.message.contains("'sslmode'") && problem.message.contains("'tls.ca'"), "{mode}");
        }
    }

    #[test]
    fn refuses_what_it_does_not_understand_without_quoting_it() {
        for (db_type, text, why) in [
            (DbType::Postgresql, "host=x s3cret", "is no URL"),
            (DbType::Postgresql, "mysql://u:s3cret@h/d", "does not fit 'db_type'"),
            (DbType::Postgresql, "postgres:///d?s3cret", "names no host"),
            (DbType::Postgresql, "postgres://h/d", "names no user"),
            (DbType::Postgresql, "postgres://u:s3cret@h", "names no database"),
            (DbType::Postgresql, "postgres://u:s3cret@h/d?host=/tmp", "the option 'host'"),
            (DbType::Postgresql, "postgres://u:s3cret@h/d?sslmode=maybe", "'sslmode' that is none of"),
            (DbType::Mysql, "mysql://u:s3cret@h/d?sslmode=disable", "needs TLS"),
            (DbType::Sqlite, "data.db", "whole path"),
            (DbType::Sqlite, "sqlite::memory:", "whole path"),
            (DbType::Sqlite, "/a.db?mode=rwc", "whole path"),
        ] {
            let problem = parse(text, db_type, false).unwrap_err();
            assert!(problem.message.contains(why), "{text}: {}", problem.message);
            assert!(!problem.message.contains("s3cret"), "{text}: {}", problem.message);
        }
    }
}
