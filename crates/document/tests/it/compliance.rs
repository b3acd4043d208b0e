//! JMESPath's public compliance suite, as it comes with the parser's sources.

use document::{Budget, Node, Query};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// The folder `tests/compliance` of the parser's package: it is there wherever we are built.
fn suite() -> PathBuf {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let arguments = ["metadata", "--format-version", "1", "--offline", "--locked"];
    let output =
        Command::new(cargo).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == "jmespath").unwrap();
    let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap());
    manifest.parent().unwrap().join("tests/compliance")
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
