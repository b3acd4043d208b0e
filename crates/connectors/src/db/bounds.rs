//! Statements of others, wrapped so that no value is handed over that is larger than an answer.
//!
//! SQLite would load it, and a server send it whole; the driver makes room for a row before the first byte of it comes.

use super::engine::{Described, OVERSIZED};
use super::settings::DbType;

/// Types of PostgreSQL whose values are never large, as the driver calls them.
const SMALL: [&str; 22] = [
    "\"char\"",
    "bool",
    "cidr",
    "date",
    "float4",
    "float8",
    "inet",
    "int2",
    "int4",
    "int8",
    "interval",
    "macaddr",
    "macaddr8",
    "money",
    "name",
    "numeric",
    "oid",
    "time",
    "timestamp",
    "timestamptz",
    "timetz",
    "uuid",
];

/// The same rows, without values that are too large to be handed over.
pub(super) fn within(sql: String, db_type: DbType, described: &Described, max_bytes: usize) -> String {
    match db_type {
        DbType::Sqlite => of_sqlite(&sql, described.headings.len(), max_bytes),
        DbType::Postgresql => of_postgres(sql, described, max_bytes),
        // It sends large values in parts, and the relay stops it.
        DbType::Mysql => sql,
    }
}

fn of_sqlite(sql: &str, columns: usize, max_bytes: usize) -> String {
    let names: Vec<String> = (1..=columns).map(|number| format!("c{number}")).collect();
    let selected = names.iter().map(|name| bounded(name, max_bytes));
    let selected: Vec<_> = selected.chain([oversized(&names, max_bytes)]).collect();
    let answer = DbType::Sqlite.quoted("\u{1}answer");
    // A comment at the end of the statement must not swallow what follows.
    let (names, selected) = (names.join(", "), selected.join(", "));
    format!("WITH {answer}({names}) AS (\n{sql}\n) SELECT {selected} FROM {answer}")
}

fn bounded(name: &str, max_bytes: usize) -> String {
    format!("CASE WHEN octet_length({name}) <= {max_bytes} THEN {name} END")
}

fn oversized(names: &[String], max_bytes: usize) -> String {
    let lengths: Vec<_> = names.iter().map(|name| format!("coalesce(octet_length({name}), 0)")).collect();
    let lengths = if lengths.is_empty() { "0".to_owned() } else { lengths.join(" + ") };
    format!("{lengths} > {max_bytes} AS \"{OVERSIZED}\"")
}

/// What can only be read as a text is asked for as one. Lengths are counted once for each row; `OFFSET 0` keeps the server from working values out again for each use.
fn of_postgres(sql: String, Described { headings, texts, .. }: &Described, max_bytes: usize) -> String {
    let (mut names, mut selected, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    for (index, heading) in headings.iter().enumerate() {
        let name = format!("c{}", index + 1);
        let length = match heading.type_name.as_str() {
            small if SMALL.contains(&small) || small == "void" => None,
            "text" | "varchar" | "char" | "bytea" => Some(format!("octet_length({name})")),
            _ => Some(format!("octet_length(CAST({name} AS text))")),
        };
        let shown = match (texts.contains(&index), heading.type_name.ends_with("[]")) {
            (true, true) => format!("CAST({name} AS text[])"),
            (true, false) => format!("CAST({name} AS text)"),
            (false, _) => name.clone(),
        };
        selected.push(match length {
            Some(_) => format!("CASE WHEN bytes <= {max_bytes} THEN {shown} END"),
            None => shown,
        });
        lengths.extend(length.map(|length| format!("COALESCE({length}, 0)::bigint")));
        names.push(name);
    }
    if lengths.is_empty() && texts.is_empty() {
        return sql;
    }
    if lengths.is_empty() {
        lengths.push("0".to_owned());
    }
    let (names, selected, lengths) = (names.join(", "), selected.join(", "), lengths.join(" + "));
    format!(
        "SELECT {selected}, CASE WHEN bytes > {max_bytes} THEN 1 ELSE 0 END AS \"{OVERSIZED}\" \
         FROM (SELECT *, {lengths} AS bytes FROM (SELECT * FROM (\n{sql}\n) AS given OFFSET 0) AS answer({names}) \
         OFFSET 0) AS counted"
    )
}
