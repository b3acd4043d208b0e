//! Reference pages: made from the code, checked against it. `make generate` writes them anew.

use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// Compares a page with what the code says now, or writes it when asked to.
fn check(page: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "docs/reference/{page} is out of date; run `make generate`");
}

#[test]
fn the_openapi_document_is_fresh() {
    check("openapi.json", &format!("{}\n", server::openapi_document()));
}

#[test]
fn the_command_line_page_is_fresh() {
    let help = |words: &[&str]| {
        let mut command = testkit::process::command(env!("CARGO_BIN_EXE_mcp-all-in-one"));
        let output = command.args(words).arg("--help").env("COLUMNS", "100").output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let top = help(&[]);
    let commands = top.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let mut page = format!("# Command line\n\n```text\n{top}\n```\n");
    for name in names.filter(|name| *name != "help") {
        write!(page, "\n## {name}\n\n```text\n{}\n```\n", help(&[name])).unwrap();
    }
    check("command-line.md", &page);
}

#[test]
fn the_settings_page_is_fresh() {
    let mut page = String::from("# Service settings\n\nWhat stands in `config` of a service, by type.\n");
    for kind in connectors::ALL.iter().filter(|kind| kind.ambient.is_none()) {
        let schema = kind.settings_schema();
        write!(page, "\n## {} (`{}://`)\n", kind.title, kind.scheme).unwrap();
        table(&mut page, schema);
        let definitions = schema["$defs"].as_object().into_iter().flatten();
        for (name, definition) in definitions.filter(|(_, definition)| definition["properties"].is_object()) {
            write!(page, "\n### {name}\n\n{}\n", text(definition)).unwrap();
            table(&mut page, definition);
        }
    }
    check("settings.md", &page);
}

fn table(page: &mut String, schema: &Value) {
    page.push_str("\n| setting | type | default | meaning |\n|---|---|---|---|\n");
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let default = property.get("default").filter(|default| !default.is_null());
        let default = default.map_or(String::new(), |default| format!("`{default}`"));
        let required = schema["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name));
        let default = if required { "required".to_owned() } else { default };
        let meaning = text(property);
        writeln!(page, "| `{name}` | {} | {default} | {meaning} |", type_of(property)).unwrap();
    }
}

fn text(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|")
}

fn type_of(schema: &Value) -> String {
    if schema["writeOnly"] == true {
        return "secret".into();
    }
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(alternatives) = schema[key].as_array() {
            let names: Vec<_> = alternatives.iter().map(type_of).filter(|name| name != "null").collect();
            return names.join(" or ");
        }
    }
    if let Some(constant) = schema.get("const") {
        return format!("`{constant}`");
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("list of {}", type_of(&schema["items"])),
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.collect::<Vec<_>>().join(" or ")
        }
        _ => "any".into(),
    }
}
