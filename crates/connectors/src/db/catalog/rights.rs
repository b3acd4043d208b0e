//! Whether the user of a database could do more there than any wall of ours would stop.

use super::read::{Flag, ours, rows};
use crate::db::client::Client;
use crate::db::settings::DbType;
use serde::Deserialize;
use std::collections::BTreeMap;
use tool::Result;

/// Roles that may do anything, or reach the server's files and programs, whoever gave them to the user and however: what
/// is not inherited can be taken on.
pub(in crate::db) const IS_MIGHTY: &str = "EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE (r.rolsuper OR r.rolname IN \
     ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')) \
     AND (pg_has_role(current_user, r.oid, 'MEMBER') OR pg_has_role(session_user, r.oid, 'MEMBER')))";

/// Rights over the whole server that reach its files or break its walls.
const MYSQL: [&str; 3] = ["FILE", "SUPER", "ALL PRIVILEGES"];

/// Whether the user may do anything, read files of the server, or run programs there.
///
/// # Errors
/// Why the database does not say.
pub(super) async fn is_superuser(client: &Client, db_type: DbType) -> Result<bool> {
    #[derive(Deserialize)]
    struct Row {
        is_superuser: Flag,
    }
    match db_type {
        DbType::Sqlite => Ok(false),
        DbType::Postgresql => {
            let found: Vec<Row> =
                rows(client, ours(format!("SELECT {IS_MIGHTY} AS is_superuser"), Vec::new())).await?;
            Ok(found.first().is_some_and(|row| row.is_superuser.is_set()))
        }
        // With those of the roles that are on in the session; no statement of a caller can turn on others.
        DbType::Mysql => {
            let found: Vec<BTreeMap<String, String>> = rows(client, ours("SHOW GRANTS", Vec::new())).await?;
            Ok(found.iter().flat_map(BTreeMap::values).any(|grant| is_dangerous(grant)))
        }
    }
}

/// A line such as `GRANT SELECT, FILE ON *.* TO …`.
fn is_dangerous(grant: &str) -> bool {
    let Some((rights, _)) = grant.split_once(" ON *.* TO ") else { return false };
    let rights = rights.strip_prefix("GRANT ").unwrap_or(rights);
    rights.split(", ").any(|right| MYSQL.contains(&right.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_rights_over_the_whole_server() {
        for (grant, expected) in [
            ("GRANT USAGE ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD 'x'", false),
            ("GRANT SELECT, FILE ON *.* TO `reader`", true),
            ("GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION", true),
            ("GRANT ALL PRIVILEGES ON `shop`.* TO `a`@`%`", false),
            ("GRANT SUPER ON *.* TO `a`@`%`", true),
            ("GRANT `FILE` TO `a`@`%`", false),
        ] {
            assert_eq!(is_dangerous(grant), expected, "{grant}");
        }
    }
}
