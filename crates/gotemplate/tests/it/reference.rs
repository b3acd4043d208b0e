//! The reference of all functions is generated from their table, and its examples hold.

use std::fmt::Write as _;

use gotemplate::{Options, Template, functions};
use serde_json::json;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/template-functions.md");

fn page() -> String {
    let mut page = String::from(
        "# Template functions\n\n\
         <!-- Generated from the function table; `UPDATE=1 cargo nextest run -p gotemplate reference` rewrites it. -->\n\n\
         All functions that response templates may call. They are pure: no environment, no network, no clock, no \
         randomness. In a pipeline the value on the left becomes the last argument. An empty value is nil, false, \
         zero, or a string, list or map without content.\n",
    );
    let mut family = "";
    for function in functions() {
        if function.family != family {
            family = function.family;
            write!(page, "\n## {family}\n\n| Function | Arguments | What it does | Example | Output |\n|---|---|---|---|---|\n").unwrap();
        }
        writeln!(
            page,
            "| `{}` | {} | {} | {} | {} |",
            function.name,
            function.usage,
            function.doc,
            code(function.example),
            code(function.output),
        )
        .unwrap();
    }
    page
}

/// Text as code in a table's cell.
fn code(text: &str) -> String {
    let escaped = text.replace('|', "\\|").replace('\n', "⏎");
    match escaped.as_str() {
        "" => String::new(),
        // A backtick inside needs a longer fence.
        _ if escaped.contains('`') => format!("`` {escaped} ``"),
        _ => format!("`{escaped}`"),
    }
}

#[test]
fn the_reference_is_fresh() {
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PATH, &page).unwrap();
    }
    let present = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(present == page, "the reference is stale; UPDATE=1 rewrites it");
}

#[test]
fn every_example_of_the_reference_holds() {
    for function in functions() {
        let template = Template::compile(function.name, function.example, &Options::default()).unwrap();
        assert_eq!(template.render(&json!({})).unwrap(), function.output, "{}", function.name);
        assert!(function.example.contains(function.name), "{}", function.name);
    }
}

#[test]
fn no_function_is_listed_twice_and_families_stay_together() {
    let names: Vec<_> = functions().map(|function| function.name).collect();
    let unique: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), names.len());
    let mut families: Vec<_> = functions().map(|function| function.family).collect();
    families.dedup();
    let unique: std::collections::BTreeSet<_> = families.iter().collect();
    assert_eq!(unique.len(), families.len());
}
