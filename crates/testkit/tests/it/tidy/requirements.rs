//! The ids in tests' doc comments lead to `docs/requirements.md`, and back.

use super::{none, root, sources};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn requirement_ids_in_tests_are_on_the_page() {
    let page = on_the_page();
    assert!(page.len() > 50, "the page cannot be read any more");
    let unknown = in_tests().into_iter().filter(|(id, _)| !page.contains(id));
    let offenders: Vec<_> = unknown.map(|(id, name)| format!("{id} in {name}")).collect();
    none(&offenders, "these ids are not in docs/requirements.md");
}

#[test]
fn every_requirement_is_named_by_a_test() {
    let named = in_tests();
    let without: Vec<_> = on_the_page().into_iter().filter(|id| !named.contains_key(id)).collect();
    none(&without, "no test says that it proves these requirements");
}

/// The ids of the page: the first cell of each row.
fn on_the_page() -> BTreeSet<String> {
    let page = std::fs::read_to_string(root().join("docs/requirements.md")).unwrap();
    let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    cells.filter(|cell| is_id(cell)).map(str::to_owned).collect()
}

/// The ids in doc comments, each with a file that has it. Tests of the console have them in comments and names.
fn in_tests() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let comments = |text: &str| {
        let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix("/// "));
        lines.collect::<Vec<_>>().join("\n")
    };
    let rust = sources().into_iter().map(|(name, text)| (name, comments(&text)));
    for (name, text) in rust.chain(console_tests()) {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '.')));
        let ids = words.map(|word| word.trim_end_matches('.')).filter(|word| is_id(word));
        found.extend(ids.map(|id| (id.to_owned(), name.clone())));
    }
    found
}

fn console_tests() -> Vec<(String, String)> {
    let folder = root().join("ui");
    let (mut folders, mut found) = (vec![folder.join("e2e"), folder.join("src")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".spec.ts") || name.ends_with(".test.ts") {
                found.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

/// Two capitals, a hyphen, a number and maybe another: `HT-2.5`, `PX-10`.
fn is_id(word: &str) -> bool {
    let Some((part, number)) = word.split_once('-') else { return false };
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    part.len() == 2 && part.chars().all(|c| c.is_ascii_uppercase()) && number.split('.').all(is_number)
}
