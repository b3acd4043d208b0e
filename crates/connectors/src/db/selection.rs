//! Which tables of a database have tools.

use super::settings::DbType;

/// Which tables have tools.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) db_type: DbType,
    pub(super) schema: Option<String>,
    pub(super) tables: Vec<String>,
    pub(super) exclude: Vec<String>,
    pub(super) table: Option<String>,
    pub(super) tenant_column: Option<String>,
}

impl Selection {
    /// The engine, for whoever writes SQL.
    pub(super) fn dialect(&self) -> &'static str {
        match self.db_type {
            DbType::Sqlite => "SQLite",
            DbType::Postgresql => "PostgreSQL",
            DbType::Mysql => "MySQL",
        }
    }

    /// The tables that the settings call by their whole names, and the setting that does.
    pub(super) fn named(&self) -> Vec<(&str, &'static str)> {
        let is_whole = |name: &&String| !name.contains('*') && self.includes(name);
        match &self.table {
            Some(table) => vec![(table, "table")],
            None => self.tables.iter().filter(is_whole).map(|name| (name.as_str(), "tables")).collect(),
        }
    }

    pub(super) fn includes(&self, name: &str) -> bool {
        let matches = |patterns: &[String]| patterns.iter().any(|pattern| is_like(name, pattern));
        match &self.table {
            Some(table) => table == name,
            None => matches(&self.tables) && !matches(&self.exclude),
        }
    }
}

/// Whether a name fits a pattern in which `*` stands for anything.
fn is_like(name: &str, pattern: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(name) = name.strip_prefix(head) else { return false };
    (0..=name.len()).filter(|at| name.is_char_boundary(*at)).any(|at| is_like(&name[at..], rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_names_to_patterns() {
        for (name, pattern, fits) in [
            ("orders", "*", true),
            ("orders", "orders", true),
            ("orders", "order", false),
            ("orders", "ord*", true),
            ("orders", "*ers", true),
            ("orders", "o*d*s", true),
            ("orders", "o*x*s", false),
            ("", "*", true),
            ("größe", "gr*e", true),
        ] {
            assert_eq!(is_like(name, pattern), fits, "{name} {pattern}");
        }
    }
}
