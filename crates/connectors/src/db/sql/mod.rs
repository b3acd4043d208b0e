//! Statements that others have written: checked by walls, with `:name` for each parameter.

mod calls;
mod scan;
mod walls;

pub(super) use calls::Uses;

use super::query::TENANT;
use super::settings::DbType;
use super::value::cast;
use scan::{Token, scan};
use std::collections::BTreeSet;
use std::fmt::Write;
use tool::{Error, Result};

/// What a statement may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// One statement, cut at its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    pieces: Vec<Piece>,
    /// What it begins with, in lower case.
    pub(super) first_word: String,
    /// What may make the database call functions.
    pub(super) uses: Uses,
    /// It begins with WITH and writes in the end, by this word.
    pub(super) ends_in: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Parameter(String),
}

impl Template {
    /// Reads a statement that somebody else has written.
    ///
    /// # Errors
    /// `InvalidInput` when it is not one whole statement, or does more than `access` allows.
    pub(super) fn parse(sql: &str, db_type: DbType, access: Access) -> Result<Self> {
        let mut tokens = scan(sql, db_type);
        while matches!(tokens.last(), Some((Token::Semicolon, _))) {
            tokens.pop();
        }
        let end = tokens.last().map_or(0, |(_, range)| range.end);
        let first_word = walls::check(sql, &tokens, access, db_type)?;
        let uses = calls::of(sql, &tokens);
        let ends_in = walls::end_of_with(sql, &tokens);
        let mut pieces = Vec::new();
        let mut from = 0;
        for (token, range) in tokens {
            if let Token::Parameter(name) = token {
                pieces.push(Piece::Text(sql[from..range.start].to_owned()));
                pieces.push(Piece::Parameter(name));
                from = range.end;
            }
        }
        pieces.push(Piece::Text(sql[from..end].to_owned()));
        Ok(Self { pieces, first_word, uses, ends_in })
    }

    /// The parameters, each once.
    pub(super) fn parameters(&self) -> BTreeSet<&str> {
        let names = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Parameter(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        });
        names.collect()
    }

    /// The statement as it was written.
    pub(super) fn written(&self) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Parameter(name) => format!(":{name}"),
        };
        self.pieces.iter().map(piece).collect()
    }

    /// The statement with the engine's own placeholders, and the parameters in the order they are bound. Where the
    /// type of a parameter is known (not empty), by its position, its text is cast to it.
    pub(super) fn render(&self, db_type: DbType, types: &[String]) -> (String, Vec<&str>) {
        let mut sql = String::new();
        let mut bound: Vec<&str> = Vec::new();
        for piece in &self.pieces {
            let name = match piece {
                Piece::Text(text) => {
                    sql.push_str(text);
                    continue;
                }
                Piece::Parameter(name) => name.as_str(),
            };
            let known = bound.iter().position(|other| *other == name);
            let position = match known.filter(|_| db_type != DbType::Mysql) {
                Some(position) => position,
                None => {
                    bound.push(name);
                    bound.len() - 1
                }
            };
            let number = position + 1;
            let is_text = |name: &String| {
                matches!(
                    name.to_ascii_lowercase().as_str(),
                    "text" | "varchar" | "char" | "bpchar" | "citext" | "name"
                )
            };
            // Writing to a String does not fail. A tenant is compared as it is written, whatever columns take for equal.
            let known = types.get(position).filter(|known| !known.is_empty());
            let _ = match (db_type, known) {
                (DbType::Postgresql, Some(known)) if name == TENANT && is_text(known) => {
                    write!(sql, "(CAST(${number} AS text) COLLATE \"C\")")
                }
                (DbType::Sqlite, _) if name == TENANT => write!(sql, "(?{number} COLLATE BINARY)"),
                (DbType::Mysql, _) if name == TENANT => write!(sql, "CAST(? AS BINARY)"),
                (DbType::Postgresql, Some(name)) => {
                    write!(sql, "{}", cast(&format!("CAST(${number} AS text)"), name))
                }
                (DbType::Postgresql, None) => write!(sql, "${number}"),
                (DbType::Sqlite, _) => write!(sql, "?{number}"),
                (DbType::Mysql, _) => write!(sql, "?"),
            };
        }
        (sql, bound)
    }
}

/// What is wrong with a statement, for whoever wrote it.
fn refused(why: impl Into<String>) -> Error {
    Error::invalid_input(why).of_parameter("sql")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-2
    #[test]
    fn explains_only_what_reads() {
        let is_let_through = |sql: &str, db_type| Template::parse(sql, db_type, Access::Read).is_ok();
        for sql in [
            "EXPLAIN ANALYZE CREATE TABLE zz AS SELECT 1",
            "explain (analyze, format json) CREATE MATERIALIZED VIEW zz AS SELECT 1",
            "EXPLAIN ANALYZE DECLARE c CURSOR WITH HOLD FOR SELECT 1",
            "EXPLAIN (ANALYZE true) EXECUTE x",
            "EXPLAIN ANALYZE DELETE FROM t",
            "EXPLAIN /* SELECT */ ANALYZE VERBOSE REFRESH MATERIALIZED VIEW m",
            "EXPLAIN",
            "EXPLAIN ANALYZE",
        ] {
            for db_type in [DbType::Postgresql, DbType::Sqlite] {
                assert!(!is_let_through(sql, db_type), "{sql}");
            }
        }
        assert!(!is_let_through("EXPLAIN ANALYZE SELECT 1 INTO zz", DbType::Postgresql));
        for sql in [
            "EXPLAIN DELETE FROM t",
            "DESCRIBE UPDATE t SET a = 1",
            "EXPLAIN FORMAT=JSON INSERT INTO t VALUES (1)",
            "EXPLAIN EXTENDED REPLACE INTO t VALUES (1)",
            "EXPLAIN FOR CONNECTION 7",
            "ANALYZE SELECT 1",
        ] {
            assert!(!is_let_through(sql, DbType::Mysql), "{sql}");
        }
        for (sql, db_type) in [
            ("EXPLAIN SELECT 1", DbType::Sqlite),
            ("EXPLAIN QUERY PLAN SELECT 1", DbType::Sqlite),
            ("EXPLAIN QUERY PLAN WITH x AS (SELECT 1) SELECT * FROM x", DbType::Sqlite),
            ("EXPLAIN (ANALYZE, COSTS off, FORMAT json) SELECT 1", DbType::Postgresql),
            ("EXPLAIN (ANALYZE 0, WAL, SUMMARY 'true') (SELECT 1)", DbType::Postgresql),
            ("EXPLAIN ANALYZE VERBOSE TABLE t", DbType::Postgresql),
            ("EXPLAIN VALUES (1)", DbType::Postgresql),
            ("EXPLAIN SELECT 'into' AS \"into\"", DbType::Postgresql),
            ("EXPLAIN FORMAT=JSON SELECT 1", DbType::Mysql),
            ("EXPLAIN EXTENDED SELECT 1", DbType::Mysql),
            ("EXPLAIN PARTITIONS SELECT 1", DbType::Mysql),
            ("DESCRIBE orders", DbType::Mysql),
            ("EXPLAIN `delete` id", DbType::Mysql),
        ] {
            assert!(is_let_through(sql, db_type), "{sql}");
        }
        for sql in ["SELECT file FROM 'pragma_database_list'", "SELECT * FROM main.'PRAGMA_database_list'"] {
            assert!(!is_let_through(sql, DbType::Sqlite), "{sql}");
        }
        assert!(is_let_through("SELECT 'the pragma_database_list' AS x", DbType::Sqlite));
    }

    #[test]
    fn puts_the_placeholders_of_each_engine() {
        let sql = "SELECT :a, ':b' /* :c */ FROM t WHERE x = :d AND y = :a ; -- end";
        for (db_type, types, expected, bound) in [
            (
                DbType::Mysql,
                vec![],
                "SELECT ?, ':b' /* :c */ FROM t WHERE x = ? AND y = ?",
                vec!["a", "d", "a"],
            ),
            (
                DbType::Sqlite,
                vec![],
                "SELECT ?1, ':b' /* :c */ FROM t WHERE x = ?2 AND y = ?1",
                vec!["a", "d"],
            ),
            (
                DbType::Postgresql,
                vec!["int4".to_owned()],
                "SELECT CAST(CAST($1 AS text) AS int4), ':b' /* :c */ FROM t WHERE x = $2 AND y = CAST(CAST($1 AS text) AS int4)",
                vec!["a", "d"],
            ),
        ] {
            let template = Template::parse(sql, db_type, Access::Read).unwrap();
            assert_eq!(template.render(db_type, &types), (expected.to_owned(), bound));
            assert_eq!(template.parameters(), BTreeSet::from(["a", "d"]));
        }
    }
}
