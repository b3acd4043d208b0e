//! Tidiness: what a reader may rely on in every file, checked instead of remembered.

mod architecture;
mod duplicates;
mod invariants;
mod requirements;
mod size;

use std::path::{Path, PathBuf};

/// Layers are not a way to sort code here; features are. `services` is such a feature: what tenants configure.
const FORBIDDEN_FOLDERS: [&str; 6] = ["handlers", "dto", "models", "utils", "common", "helpers"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every source file, relative to the root, with its text.
fn sources() -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.join("crates"), root.join("bench/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                found.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(found.len() > 50, "the sources are not where they should be");
    found.sort();
    found
}

/// The source files of the program itself, without tests.
fn product_sources() -> Vec<(String, String)> {
    let is_of_a_test = |name: &str| {
        let folders = ["/tests/", "/benches/", "/examples/", "/fuzz/", "/differential/"];
        name.starts_with("crates/testkit/")
            || name.ends_with("/tests.rs")
            || folders.iter().any(|folder| name.contains(folder))
    };
    let own = sources().into_iter().filter(|(name, _)| name.starts_with("crates/") && !is_of_a_test(name));
    own.map(|(name, text)| (name, without_unit_tests(&text).to_owned())).collect()
}

/// A file up to its unit tests, which stand at its end.
fn without_unit_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

fn none(offenders: &[String], advice: &str) {
    assert!(offenders.is_empty(), "{advice}:\n  {}", offenders.join("\n  "));
}

#[test]
fn every_file_begins_with_a_sentence_about_itself() {
    let is_sentence = |text: &str| {
        let head: Vec<_> = text.lines().take_while(|line| line.starts_with("//!")).collect();
        let first: String = head.iter().take_while(|line| **line != "//!").map(|line| &line[3..]).collect();
        first.trim().len() > 10 && first.trim_end().ends_with(['.', '?', ':'])
    };
    let offenders: Vec<_> =
        sources().into_iter().filter(|(_, text)| !is_sentence(text)).map(|(name, _)| name).collect();
    none(&offenders, "begin these files with one `//!` sentence that says what they are");
}

#[test]
fn folders_follow_features_and_not_layers() {
    let is_layer = |name: &str| name.split('/').any(|part| FORBIDDEN_FOLDERS.contains(&part));
    let offenders: Vec<_> =
        sources().into_iter().map(|(name, _)| name).filter(|name| is_layer(name)).collect();
    none(&offenders, "name these folders after what they are about");
}

#[test]
fn sql_lives_in_the_store_and_in_databases_of_others() {
    let statements = ["SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ", "CREATE TABLE "];
    let has_sql = |text: &str| statements.iter().any(|sql| text.contains(&format!("\"{sql}")));
    let offenders: Vec<_> = sources()
        .into_iter()
        .filter(|(name, text)| {
            let is_of_a_test = name == "crates/testkit/src/database.rs" || name.contains("/tests/");
            let is_of_a_bench = name.contains("/benches/");
            let places = ["crates/store/", "crates/connectors/src/db/", "crates/sqlitelimits/"];
            let is_allowed =
                places.iter().any(|place| name.starts_with(place)) || is_of_a_test || is_of_a_bench;
            !is_allowed && (has_sql(text) || text.contains("sqlx::"))
        })
        .map(|(name, _)| name)
        .collect();
    none(&offenders, "move the SQL of these files into crates/store, or into the connector db");
}

#[test]
fn rmcp_stays_where_mcp_is_spoken() {
    let allowed = ["crates/mcp/", "crates/server/src/mcp/", "crates/connectors/src/mcp/"];
    let offenders: Vec<_> = sources()
        .into_iter()
        .filter(|(name, text)| {
            let is_allowed =
                allowed.iter().any(|folder| name.starts_with(folder)) || name.contains("/tests/");
            !is_allowed && (text.contains("rmcp::") || text.contains("use rmcp"))
        })
        .map(|(name, _)| name)
        .collect();
    none(&offenders, "only the MCP folders may use rmcp");
}

/// What each crate may see of ours, besides in its tests. `app` wires them all, `testkit` is for tests.
const MAY_SEE: [(&str, &[&str]); 18] = [
    ("fuzz", &[]),
    ("allocator", &[]),
    ("document", &[]),
    ("tool", &["document"]),
    ("gotemplate", &[]),
    ("sqlitelimits", &[]),
    ("ranking", &["tool", "document"]),
    ("expression", &["document"]),
    ("flow", &["tool", "document", "expression"]),
    ("fetch", &[]),
    ("mcp", &["tool", "fetch"]),
    ("gateway", &["tool", "document", "gotemplate", "ranking"]),
    ("connectors", &["tool", "document", "fetch", "gotemplate", "mcp", "ranking", "sqlitelimits"]),
    ("store", &["tool", "document"]),
    ("local", &["tool", "gateway", "connectors"]),
    ("search", &["tool", "document", "store", "ranking"]),
    ("runtime", &["tool", "expression", "flow", "gateway", "store"]),
    ("server", &["tool", "document", "flow", "gateway", "store", "runtime", "mcp"]),
];

#[test]
fn dependencies_point_inward() {
    let folders = std::fs::read_dir(root().join("crates")).unwrap().map(Result::unwrap);
    let ours: Vec<_> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    let sees_all = ["app", "testkit"];
    let mut offenders = Vec::new();
    for name in ours.iter().filter(|name| !sees_all.contains(&name.as_str())) {
        let Some((_, allowed)) = MAY_SEE.iter().find(|(known, _)| known == name) else {
            offenders.push(format!("{name} is not among MAY_SEE"));
            continue;
        };
        let manifest = std::fs::read_to_string(root().join(format!("crates/{name}/Cargo.toml"))).unwrap();
        let section = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        let section = section.split("\n[").next().unwrap_or_default();
        let seen = section.lines().map(|line| line.split(['.', ' ', '=']).next().unwrap_or_default());
        let wrong = seen.filter(|seen| ours.iter().any(|our| our == seen) && !allowed.contains(seen));
        offenders.extend(wrong.map(|seen| format!("{name} → {seen}")));
    }
    none(&offenders, "these crates must not see each other");
}

#[test]
fn every_connector_runs_the_conformance_suite() {
    let sources = sources();
    let registry = std::fs::read_to_string(root().join("crates/connectors/src/lib.rs")).unwrap();
    let rows = registry.split("Kind::of::<").skip(1).filter_map(|row| row.split("::Settings>").next());
    let rows: Vec<_> = rows.collect();
    assert!(rows.len() >= 3, "the registry is not where it should be");
    let runs_it =
        |text: &str| text.contains("Tested::with::<Settings>()") && text.contains("conformance::check(&");
    let is_tested = |row: &&&str| {
        let folder = format!("crates/connectors/src/{row}/tests");
        sources.iter().any(|(name, text)| name.starts_with(&folder) && runs_it(text))
    };
    let offenders: Vec<_> = rows.iter().filter(|row| !is_tested(row)).map(ToString::to_string).collect();
    none(&offenders, "call testkit::conformance::check in the tests of these connectors");
}

#[test]
fn there_is_one_tls_stack_and_one_of_each_big_crate() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let count = |name: &str| lock.lines().filter(|line| *line == format!("name = \"{name}\"")).count();
    let doubled =
        ["reqwest", "sqlx", "hyper", "axum", "rustls", "tokio"].into_iter().filter(|name| count(name) > 1);
    let forbidden = ["ring", "openssl", "native-tls"].into_iter().filter(|name| is_used(name));
    let offenders: Vec<_> = forbidden.chain(doubled).map(str::to_owned).collect();
    none(&offenders, "these stand against docs/decisions/0004-dependencies.md");
}

/// The lock file also names what no feature of ours turns on; cargo knows.
fn is_used(name: &str) -> bool {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let arguments = ["tree", "--workspace", "--all-features", "--prefix", "none", "-i", name];
    let output = std::process::Command::new(cargo).args(arguments).current_dir(root()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).contains(name)
}

/// A program that a test starts by itself, or what it starts in turn, would use the home of whoever runs the test.
#[test]
fn tests_of_the_program_start_others_in_a_home_of_their_own() {
    // They write nothing, or are the subject.
    let is_harmless =
        |name: &str, line: &str| line.contains("Command::new(\"kill\")") || name.ends_with("/real_home.rs");
    let offenders: Vec<_> = sources()
        .into_iter()
        .filter(|(name, _)| name.starts_with("crates/app/tests/"))
        .flat_map(|(name, text)| {
            let lines =
                text.lines().filter(|line| line.contains("Command::new(") && !is_harmless(&name, line));
            lines.map(|line| format!("{name}: {}", line.trim())).collect::<Vec<_>>()
        })
        .collect();
    none(&offenders, "use testkit::process::command, serve or sheltered instead of Command::new");
}
