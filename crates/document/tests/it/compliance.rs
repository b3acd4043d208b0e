//! JMESPath's public compliance suite, as it comes with the parser's sources.

use document::{Budget, Node, Query};
use serde_json::Value;
use std::path::PathBuf;

/// The folder `tests/compliance` of the parser's package, among the sources that cargo has unpacked to build us.
/// Cargo itself is not asked: it only answers once it has the packages of every platform and every crate.
fn suite() -> PathBuf {
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
    let lock = std::fs::read_to_string(lock).unwrap();
    let (_, rest) = lock.split_once("name = \"jmespath\"\nversion = \"").unwrap();
    let package = format!("jmespath-{}", rest.split('"').next().unwrap());
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).unwrap();
    let sources = home.join("registry/src");
    let registries =
        std::fs::read_dir(&sources).unwrap_or_else(|error| panic!("{}: {error}", sources.display()));
    let mut folders = registries.map(|entry| entry.unwrap().path().join(&package).join("tests/compliance"));
    let found = folders.find(|folder| folder.is_dir());
    found.unwrap_or_else(|| panic!("{package} was built from elsewhere than {}", sources.display()))
}

fn run(expression: &str, given: &Node) -> Result<Node, String> {
    let query = Query::compile(expression).map_err(|error| error.to_string())?;
    query.run(given, &mut Budget::new(1_000_000, &|| false)).map_err(|error| error.to_string())
}

/// TB-4.1
#[test]
fn passes_the_public_compliance_suite() {
    let (mut count, mut failures) = (0, Vec::new());
    for file in std::fs::read_dir(suite()).unwrap().map(|entry| entry.unwrap().path()) {
        let groups: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        for group in groups.as_array().unwrap() {
            let given = Node::from(&group["given"]);
            for case in group["cases"].as_array().unwrap() {
                let expression = case["expression"].as_str().unwrap();
                let found = run(expression, &given);
                let is_right = match (case.get("error"), case.get("result")) {
                    (Some(_), _) => found.is_err(),
                    (None, Some(expected)) => found == Ok(Node::from(expected)),
                    (None, None) => true, // A benchmark: it only must not fail.
                };
                count += 1;
                if !is_right {
                    failures.push(format!("{}: {expression}: {found:?}, expected {case}", file.display()));
                }
            }
        }
    }
    assert!(count > 800, "only {count} cases were found");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
}
