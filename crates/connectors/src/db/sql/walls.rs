//! The walls that stand in text: one statement, which begins with a word that may, and calls nothing that reaches
//! beyond the database.

use super::scan::Token;
use super::{Access, refused};
use crate::db::settings::DbType;
use std::ops::Range;
use tool::{Error, Result};

/// What a statement that reads may begin with.
const READING: [&str; 7] = ["select", "with", "values", "table", "show", "describe", "explain"];
/// What one that writes may begin with: data and what holds it, nothing of the session, the server or its files.
const WRITING: [&str; 11] = [
    "insert", "update", "delete", "replace", "merge", "with", "create", "alter", "drop", "truncate",
    "analyze",
];

/// Functions whose effect no transaction takes back, or that reach files, programs, other sessions or other servers.
/// A name that ends with `*` stands for all that begin so.
/// What PostgreSQL has beside these, `functions.rs` finds in its catalog.
const FORBIDDEN: [&str; 70] = [
    // PostgreSQL
    "brin_desummarize_range",
    "brin_summarize_new_values",
    "brin_summarize_range",
    "connectby",
    "crosstab*",
    "dblink*",
    "gin_clean_pending_list",
    "lo_*",
    "pg_advisory_*",
    "pg_backup_*",
    "pg_cancel_backend",
    "pg_copy_*",
    "pg_create_*",
    "pg_drop_replication_slot",
    "pg_execute_server_program",
    "pg_export_snapshot",
    "pg_file_*",
    "pg_import_system_collations",
    "pg_logical_*",
    "pg_ls_*",
    "pg_notify",
    "pg_promote",
    "pg_read_*",
    "pg_reload_conf",
    "pg_replication_*",
    "pg_rotate_logfile*",
    "pg_start_backup",
    "pg_stat_file",
    "pg_stat_reset*",
    "pg_stop_backup",
    "pg_switch_wal",
    "pg_sync_replication_slots",
    "pg_terminate_backend",
    "pg_try_advisory_*",
    "pg_wal_replay_*",
    "query_to_xml*",
    "cursor_to_xml*",
    "database_to_xml*",
    "nextval",
    "set_config",
    "setval",
    "setseed",
    "ts_rewrite",
    "ts_stat",
    "xpath_table",
    // MySQL and MariaDB
    "asynchronous_connection_failover_*",
    "get_lock",
    "group_replication_*",
    "keyring_*",
    "lastval",
    "load_file",
    "master_*",
    "mroonga_command",
    "release_*",
    "service_get_read_locks",
    "service_get_write_locks",
    "service_release_locks",
    "source_pos_wait",
    "spider_bg_direct_sql",
    "spider_copy_tables",
    "spider_direct_sql",
    "sys_eval",
    "sys_exec",
    "wait_for_executed_gtid_set",
    "wait_until_sql_thread_after_gtids",
    "wsrep_sync_wait_upto_gtid",
    // SQLite
    "fts3_tokenizer",
    "load_extension",
    "readfile",
    "writefile",
];

/// What may stand between EXPLAIN and the statement: none of it begins one.
const OF_EXPLAIN: [&str; 25] = [
    "analyze",
    "binary",
    "buffers",
    "costs",
    "extended",
    "false",
    "format",
    "generic_plan",
    "json",
    "memory",
    "none",
    "off",
    "on",
    "partitions",
    "plan",
    "query",
    "serialize",
    "settings",
    "summary",
    "text",
    "timing",
    "traditional",
    "tree",
    "true",
    "verbose",
];
/// More of them, where PostgreSQL writes the plan in another form.
const FORMS: [&str; 3] = ["wal", "xml", "yaml"];
/// What MySQL explains beside what reads: statements that write, and those of other sessions.
const EXPLAINED: [&str; 5] = ["delete", "for", "insert", "replace", "update"];

/// Lets a statement through and says what it begins with.
pub(super) fn check(
    sql: &str,
    tokens: &[(Token, Range<usize>)],
    access: Access,
    db_type: DbType,
) -> Result<String> {
    for index in 0..tokens.len() {
        check_token(sql, tokens, index, db_type)?;
    }
    let words: Vec<&str> = tokens.iter().filter_map(|(token, _)| word(token)).collect();
    for pair in words.windows(2) {
        if pair[0] == "into" && matches!(pair[1], "outfile" | "dumpfile") {
            return Err(refused(format!("'sql' writes a file with INTO {}; leave that out", pair[1])));
        }
        // Both show the hashes of passwords.
        if db_type == DbType::Mysql
            && words[0] == "show"
            && matches!(pair, ["show", "grants"] | ["create", "user"])
        {
            return Err(refused(
                "'sql' shows how users sign in, which is nobody's to read here; leave that out",
            ));
        }
        // Sequences of MariaDB and of the standard.
        if access == Access::Read && matches!(pair, ["next" | "previous", "value"]) {
            return Err(refused("'sql' moves a sequence, and this tool only reads"));
        }
    }
    check_first_word(tokens, access, db_type)
}

/// Lets one token through, where it stands.
fn check_token(sql: &str, tokens: &[(Token, Range<usize>)], index: usize, db_type: DbType) -> Result<()> {
    let (token, range) = &tokens[index];
    let next = tokens.get(index + 1).map_or("", |(_, next)| &sql[next.start..]);
    match token {
        Token::Semicolon => {
            return Err(refused("'sql' holds more than one statement; send one at a time"));
        }
        Token::ExecutableComment => {
            return Err(refused("'sql' holds a comment that is executed, /*! … */; leave it out"));
        }
        Token::Unended => {
            return Err(refused("'sql' holds a text, a name or a comment that does not end"));
        }
        Token::Placeholder => {
            return Err(refused("'sql' holds a placeholder without a name; write :name and give its value"));
        }
        Token::Unclear => {
            return Err(refused(
                "'sql' holds characters that databases read in more than one way (a zero, a carriage return in a comment, a number that runs into a text); put spaces and line feeds there",
            ));
        }
        // A text goes on in the next line as what it began as, with or without escapes.
        Token::Text if db_type == DbType::Postgresql && follows_text(tokens, index) => {
            return Err(refused("'sql' holds a text that goes on in another one; write it as one text"));
        }
        // A name in another spelling, which would hide what it names.
        Token::Word(word) if word == "u" && sql[range.end..].starts_with("&\"") => {
            return Err(refused("'sql' holds a name with Unicode escapes, U&\"…\"; write it plainly"));
        }
        // It calls the function that its type is called like.
        Token::Word(word) if word == "treat" && db_type == DbType::Postgresql && next.starts_with('(') => {
            return Err(refused("'sql' uses TREAT, which calls functions by another name; use CAST"));
        }
        Token::Word(word) | Token::Name(word) if is_place(word, db_type) => return Err(asks_for_place()),
        // SQLite takes a text for a name where it needs one.
        Token::Text if is_place(sql[range.clone()].trim_matches('\''), db_type) => {
            return Err(asks_for_place());
        }
        Token::Word(word) | Token::Name(word) if next.starts_with('(') => check_function(word)?,
        Token::Word(_) | Token::Name(_) => {}
        Token::Text | Token::Other | Token::Parameter(_) => {}
    }
    Ok(())
}

/// A table of SQLite that shows the path of its file.
fn is_place(word: &str, db_type: DbType) -> bool {
    db_type == DbType::Sqlite && word.eq_ignore_ascii_case("pragma_database_list")
}

fn asks_for_place() -> Error {
    refused("'sql' asks where files of this machine lie; leave that out")
}

fn follows_text(tokens: &[(Token, Range<usize>)], index: usize) -> bool {
    index > 0 && tokens[index - 1].0 == Token::Text
}

fn word(token: &Token) -> Option<&str> {
    match token {
        Token::Word(word) => Some(word),
        _ => None,
    }
}

fn check_first_word(tokens: &[(Token, Range<usize>)], access: Access, db_type: DbType) -> Result<String> {
    let Some((first, _)) = tokens.first() else { return Err(refused("'sql' is empty; write one statement")) };
    // SELECTs may stand in parentheses.
    let is_opening = |token: &Token| *token == Token::Other;
    let first = match first {
        Token::Other if access == Access::Read && db_type != DbType::Sqlite => {
            tokens.iter().map(|(token, _)| token).find(|token| !is_opening(token))
        }
        first => Some(first),
    };
    let allowed: &[&str] = match access {
        Access::Read => &READING,
        Access::Write => &WRITING,
    };
    match first.and_then(word) {
        Some(word) if allowed.contains(&word) => {
            check_explained(tokens, word, db_type)?;
            Ok(word.to_owned())
        }
        _ => {
            let words = allowed.join(", ").to_ascii_uppercase();
            Err(refused(format!("'sql' must begin with one of {words}")))
        }
    }
}

/// What a statement that begins with WITH does in the end, where that writes. The engine refuses it, and would only call the
/// statement wrong.
pub(super) fn end_of_with(sql: &str, tokens: &[(Token, Range<usize>)]) -> Option<String> {
    if tokens.first().and_then(|(token, _)| word(token)) != Some("with") {
        return None;
    }
    let mut depth = 0_i64;
    for (token, range) in tokens.iter().skip(1) {
        match (token, &sql[range.clone()]) {
            (Token::Other, "(") => depth += 1,
            (Token::Other, ")") => depth -= 1,
            (Token::Word(word), _) if depth == 0 && READING.contains(&word.as_str()) => return None,
            (Token::Word(word), _) if depth == 0 && WRITING[..4].contains(&word.as_str()) => {
                return Some(word.to_ascii_uppercase());
            }
            _ => {}
        }
    }
    None
}

/// What is explained may be carried out, and the transaction that only reads does not stop all of it: PostgreSQL makes
/// tables and cursors behind EXPLAIN ANALYZE.
fn check_explained(tokens: &[(Token, Range<usize>)], first: &str, db_type: DbType) -> Result<()> {
    let is_explaining = first == "explain" || (first == "describe" && db_type == DbType::Mysql);
    if !is_explaining {
        return Ok(());
    }
    let is_option = |word: &str| OF_EXPLAIN.contains(&word) || FORMS.contains(&word);
    let mut rest = tokens.iter().map(|(token, _)| token).skip(1);
    let explained = rest.find(|token| match token {
        Token::Word(word) => !is_option(word),
        Token::Name(_) => true,
        _ => false,
    });
    let is_reading = match explained {
        Some(Token::Word(word)) if READING[..4].contains(&word.as_str()) => true,
        // The columns of a table.
        Some(Token::Word(word)) => db_type == DbType::Mysql && !EXPLAINED.contains(&word.as_str()),
        Some(Token::Name(_)) => db_type == DbType::Mysql,
        _ => false,
    };
    let makes_table =
        db_type == DbType::Postgresql && tokens.iter().any(|(token, _)| word(token) == Some("into"));
    match is_reading && !makes_table {
        true => Ok(()),
        false => Err(refused("'sql' may explain what reads: SELECT, WITH, VALUES or TABLE, without INTO")),
    }
}

fn check_function(word: &str) -> Result<()> {
    let word = word.to_ascii_lowercase();
    let is_meant = |pattern: &&&str| match pattern.strip_suffix('*') {
        Some(beginning) => word.starts_with(beginning),
        None => word == **pattern,
    };
    match FORBIDDEN.iter().find(is_meant) {
        Some(_) => {
            Err(refused(format!("'sql' uses {word}, which reaches beyond what a statement may do here")))
        }
        None => Ok(()),
    }
}
