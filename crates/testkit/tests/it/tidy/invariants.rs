//! Invariants of ARCHITECTURE.md: who knows JSON-RPC, who calls connectors, what connectors import, and that nobody
//! decides by the words of a message.

use super::{none, product_sources, root};
use std::collections::BTreeSet;

/// Who may know MCP's words and codes.
const SPEAKS_MCP: [&str; 3] = ["crates/mcp/", "crates/server/src/mcp/", "crates/connectors/src/mcp/"];

/// The beginnings of MCP's methods, and what no other text has.
const WORDS: [&str; 12] = [
    "jsonrpc",
    "initialize",
    "tools/",
    "resources/",
    "prompts/",
    "completion/",
    "logging/",
    "sampling/",
    "elicitation/",
    "roots/",
    "tasks/",
    "notifications/",
];

#[test]
fn json_rpc_is_known_only_where_mcp_is_spoken() {
    let is_allowed = |name: &str| SPEAKS_MCP.iter().any(|folder| name.starts_with(folder));
    let offenders: Vec<_> = product_sources()
        .into_iter()
        .filter(|(name, _)| !is_allowed(name))
        .flat_map(|(name, text)| places(&name, &text, |line| has_method(line) || has_code(line)))
        .collect();
    none(
        &offenders,
        "only crates/mcp, server/src/mcp and connectors/src/mcp know JSON-RPC; give the fact a field",
    );
}

#[test]
fn only_the_gateway_calls_a_connector() {
    let is_call = |line: &str| {
        ["connector.call(", "connector()?.call(", "Connector::call("].iter().any(|call| line.contains(call))
    };
    let offenders: Vec<_> = product_sources()
        .into_iter()
        .filter(|(name, _)| !name.starts_with("crates/gateway/"))
        .flat_map(|(name, text)| places(&name, &text, is_call))
        .collect();
    none(&offenders, "a call goes through Gateway::call, or it is not permitted, bounded and audited");
}

#[test]
fn no_code_decides_by_the_words_of_a_message() {
    let asked = ["contains(", "starts_with(", "ends_with(", "find(", "eq("];
    let told = [".message().", ".to_string()."];
    let is_search = |line: &str| {
        let is_asked = |told: &str| asked.iter().any(|asked| line.contains(&format!("{told}{asked}")));
        line.contains("error") && told.iter().any(|told| is_asked(told))
    };
    let offenders: Vec<_> =
        product_sources().into_iter().flat_map(|(name, text)| places(&name, &text, is_search)).collect();
    none(&offenders, "what steers anything is a field of the error; its sentences are for people");
}

#[test]
fn connectors_do_not_import_one_another() {
    let all = connectors();
    assert!(all.contains("api") && all.contains("mcp"), "the connectors are not where they should be");
    let mut offenders = Vec::new();
    for (name, text) in product_sources() {
        let Some(own) = name.strip_prefix("crates/connectors/src/").and_then(|rest| rest.split_once('/'))
        else {
            continue;
        };
        let others = all.iter().filter(|other| *other != own.0);
        let ways = ["crate::", "crate::{", "super::super::"];
        let import = |other: &String| ways.map(|way| format!("{way}{other}::"));
        let imports: Vec<_> = others.flat_map(import).collect();
        offenders.extend(places(&name, &text, |line| imports.iter().any(|import| line.contains(import))));
    }
    none(&offenders, "what two connectors need lives in crates/connectors/src/shared");
}

/// The folders of connectors, by the names of their schemes.
fn connectors() -> BTreeSet<String> {
    let folder = std::fs::read_dir(root().join("crates/connectors/src")).unwrap().map(Result::unwrap);
    let folders = folder.filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().into_string().unwrap()).filter(|name| name != "shared").collect()
}

/// The lines of code, without comments, that something is true of.
fn places(name: &str, text: &str, is_wrong: impl Fn(&str) -> bool) -> Vec<String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    lines
        .filter(|(_, line)| is_wrong(line))
        .map(|(at, line)| format!("{name}:{}: {}", at + 1, line.trim()))
        .collect()
}

/// A string that is a method: `"tools/call"`, and not `"tools/{id}"`, which is a path of REST.
fn has_method(line: &str) -> bool {
    line.split('"').skip(1).step_by(2).any(|string| {
        let word = WORDS.iter().find_map(|word| string.strip_prefix(word).map(|rest| (*word, rest)));
        word.is_some_and(|(word, rest)| match word.ends_with('/') {
            true => {
                !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '/'))
            }
            false => rest.is_empty(),
        })
    })
}

/// A number between -32768 and -32000, also as text.
fn has_code(line: &str) -> bool {
    line.match_indices("-32").any(|(at, _)| {
        let digits = line[at + 1..].chars().filter(|c| *c != '_').take_while(char::is_ascii_digit);
        digits.count() == 5
    })
}

#[test]
fn tells_json_rpc_from_paths_and_numbers() {
    for line in [
        r#"match method { "tools/call" => 1 }"#,
        r#"if text == "initialize""#,
        "Some(-32_002)",
        r#""-32601""#,
    ] {
        assert!(has_method(line) || has_code(line), "{line}");
    }
    for line in [
        r#".route("tools/{id}", get(one))"#,
        r#""tools""#,
        "x - 32",
        "-320",
        r#""initialized""#,
        r#"get("/tools/call")"#,
    ] {
        assert!(!has_method(line) && !has_code(line), "{line}");
    }
}

/// Nouns that hid a known thing until they were renamed: a request, a listener, a lease, a transport.
const COINED: [&str; 20] = [
    "Asked",
    "Heard",
    "Posed",
    "Held",
    "Wishes",
    "Flight",
    "Shelf",
    "Shelves",
    "Stock",
    "Behind",
    "Way",
    "Sight",
    "Surroundings",
    "InOurs",
    "Told",
    "Kept",
    "Begun",
    "Misfits",
    "Came",
    "Looked",
];

#[test]
fn known_things_have_known_names() {
    let declares = |line: &str| {
        let words: Vec<_> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let is_coined = |pair: &[&str]| {
            matches!(pair[0], "struct" | "enum" | "trait" | "type") && COINED.contains(&pair[1])
        };
        words.windows(2).any(is_coined)
    };
    let offenders: Vec<_> =
        product_sources().into_iter().flat_map(|(name, text)| places(&name, &text, declares)).collect();
    none(&offenders, "call these by the word that readers know; ARCHITECTURE.md has a glossary");
}
