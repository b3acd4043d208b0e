//! Documents of many shapes, what comes of them, and what hostile ones cost.

mod calls;
mod forms;
mod fuzz;
mod hostile;
mod large;
mod oddities;
mod shapes;

use super::{Document, ImportOptions, convert, document};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use tool::{ImportSource, Imported, Pattern, Result};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/openapi")
}

fn text_of(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

fn import_text(text: &str) -> Result<Imported> {
    import_with(ImportSource::Text(text.to_owned()), &ImportOptions::default(), json!({}))
}

fn import_value(document: Value) -> Result<Imported> {
    import_with(ImportSource::Document(document), &ImportOptions::default(), json!({}))
}

#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn import_with(source: ImportSource, options: &ImportOptions, config: Value) -> Result<Imported> {
    let document = Document::parse(source, None)?;
    convert(&document, options, config.as_object().unwrap().clone())
}

fn import(name: &str) -> Imported {
    import_text(&text_of(name)).unwrap()
}

/// A document with one operation.
fn document_with(path: &str, method: &str, operation: Value) -> Value {
    let mut item = Map::new();
    item.insert(method.to_owned(), operation);
    let mut paths = Map::new();
    paths.insert(path.to_owned(), item.into());
    json!({ "openapi": "3.0.0", "info": { "title": "One" }, "servers": [{ "url": "https://one.example.com" }], "paths": paths })
}

fn tool<'a>(imported: &'a Imported, id: &str) -> &'a Map<String, Value> {
    let found = imported.tools.iter().find(|tool| tool.definition["id"] == id);
    &found.unwrap_or_else(|| panic!("no tool {id}")).definition
}

fn parameter<'a>(imported: &'a Imported, id: &str, name: &str) -> &'a Value {
    let parameters = tool(imported, id)["parameters"].as_array().unwrap();
    parameters
        .iter()
        .find(|parameter| parameter["name"] == name)
        .unwrap_or_else(|| panic!("{id} has no {name}"))
}

fn reason<'a>(imported: &'a Imported, operation: &str) -> &'a str {
    let found = imported.skipped.iter().find(|skipped| skipped.operation == operation);
    &found.unwrap_or_else(|| panic!("{operation} was not skipped: {:?}", imported.skipped)).reason
}

/// What clients see of the first tool.
fn input_schema(imported: &Imported) -> Value {
    serde_json::from_str(imported.tools[0].input_schema.get()).unwrap()
}

fn has_warning(imported: &Imported, words: &str) -> bool {
    imported.warnings.iter().chain(&imported.address_warnings).any(|warning| warning.contains(words))
}

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern((*text).to_owned())).collect()
}
