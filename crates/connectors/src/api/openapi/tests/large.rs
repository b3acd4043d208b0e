//! Schemas with more in them than a tool may say: what stays, and that nothing is refused that the API takes.

use super::super::budget::Budget;
use super::super::notes::Notes;
use super::super::schemas::Schemas;
use super::*;

/// Twelve schemas with ten fields each, which are the schemas that follow.
fn branching() -> Value {
    let name =
        |level: usize, field: usize| format!("#/components/schemas/S{}", (level + 1 + field % 3).min(12));
    let schema = |level: usize| {
        let properties: Map<_, _> =
            (0..10).map(|field| (format!("field{field}"), json!({ "$ref": name(level, field) }))).collect();
        (format!("S{level}"), json!({ "type": "object", "properties": properties }))
    };
    let mut schemas: Map<_, _> = (0..12).map(schema).collect();
    schemas.insert("S12".into(), json!({ "type": "string" }));
    json!({ "schemas": schemas })
}

/// So many operations that take a body of that kind.
fn branching_with(operations: usize) -> Value {
    let body =
        json!({ "content": { "application/json": { "schema": { "$ref": "#/components/schemas/S0" } } } });
    let path = |number| (format!("/p{number}"), json!({ "post": { "requestBody": body } }));
    let paths: Map<_, _> = (0..operations).map(path).collect();
    json!({ "openapi": "3.0.0", "servers": [{ "url": "https://one.example.com" }], "paths": paths, "components": branching() })
}

fn bytes(imported: &Imported) -> usize {
    let bytes = |tool: &tool::ImportedTool| {
        tool.input_schema.get().len() + Value::Object(tool.definition.clone()).to_string().len()
    };
    imported.tools.iter().map(bytes).sum()
}

#[test]
fn spells_out_all_fields_as_deep_as_there_is_room() {
    let imported = import_value(branching_with(1)).unwrap();
    assert!(bytes(&imported) < 2 * 70_000, "{} bytes", bytes(&imported));
    let schema = input_schema(&imported);
    let fields = schema["properties"].as_object().unwrap();
    assert_eq!(fields.len(), 10, "no field is missing for the sake of another");
    for (name, field) in fields {
        assert_eq!(field["properties"].as_object().map(Map::len), Some(10), "{name}: {field}");
    }
    assert!(has_warning(&imported, "POST /p0: a schema is too large"), "{:?}", imported.warnings);
}

#[test]
fn says_less_of_each_tool_where_all_are_too_large_together() {
    let imported = import_value(branching_with(1_000)).unwrap();
    assert_eq!(imported.tools.len(), 1_000);
    assert!(bytes(&imported) < 17 * 1024 * 1024, "{} bytes", bytes(&imported));
    assert!(has_warning(&imported, "spelled out up to 5 KiB"), "{:?}", imported.warnings);
    assert!(
        has_warning(&imported, "POST /p0 and 999 more: a schema is too large"),
        "{:?}",
        imported.warnings
    );
}

#[test]
fn leaves_out_patterns_when_there_have_been_too_many() {
    let document = Document::parse(ImportSource::Document(branching_with(1)), None).unwrap();
    let (mut patterns, mut notes) = (Budget::new(100), Notes::default());
    let mut schemas = Schemas::new(&document, 64 * 1024, &mut patterns);
    let mut convert = || schemas.convert(&json!({ "type": "string", "pattern": "^[a-z]{10}$" }), &mut notes);
    assert_eq!(convert()["pattern"], "^[a-z]{10}$");
    assert_eq!(convert().get("pattern"), None);
    assert_eq!(notes.warnings(), ["a pattern is too large to be used; it is left out"]);
}

/// The same 300 parameters with long descriptions in every operation: no schema to be cut.
#[test]
fn refuses_what_is_too_large_whatever_is_cut() {
    let parameter =
        |number| json!({ "name": format!("p{number}"), "in": "query", "description": "word ".repeat(99) });
    let item = json!({ "get": {}, "parameters": (0..300).map(parameter).collect::<Vec<_>>() });
    let path = |number| (format!("/p{number}"), json!({ "$ref": "#/x-item" }));
    let paths: Map<_, _> = (0..2_000).map(path).collect();
    let error = import_value(json!({ "openapi": "3.0.0", "paths": paths, "x-item": item })).unwrap_err();
    assert_eq!(error.problems()[0].code, "TooLarge");
    assert!(error.message().contains("include"), "{error}");
}

/// A body whose first fields leave no room for the others.
#[test]
fn takes_what_it_has_no_room_to_name() {
    let properties: Map<_, _> =
        (0..20_000).map(|number| (format!("field{number}"), json!({ "type": "string" }))).collect();
    let schema = json!({ "type": "object", "additionalProperties": false, "required": ["field19999"], "properties": properties });
    let operation = json!({ "requestBody": { "required": true, "content": { "application/json": { "schema": schema } } } });
    let imported = import_value(document_with("/a", "post", operation)).unwrap();
    let body = &input_schema(&imported)["properties"]["body"];
    assert_ne!(body["additionalProperties"], false, "{body}");
}

/// Members that are cut short look alike, which `oneOf` would take for a contradiction; and what a `not` leaves out
/// it would forbid.
#[test]
fn stays_open_where_choices_are_cut() {
    let mut document = document_with(
        "/a",
        "post",
        json!({ "requestBody": { "required": true, "content": { "application/json": {
        "schema": { "$ref": "#/components/schemas/Tree" } } } } }),
    );
    let tree = json!({ "$ref": "#/components/schemas/Tree" });
    document["components"] = json!({ "schemas": { "Tree": { "type": "object", "properties": {
        "child": { "oneOf": [tree, { "type": "object", "properties": { "leaf": { "type": "string" } } }] },
        "other": { "not": tree }
    } } } });
    let imported = import_value(document).unwrap();
    let fields = &input_schema(&imported)["properties"];
    assert!(fields["child"]["oneOf"].is_null() && fields["child"]["anyOf"].is_array(), "{fields}");
    assert!(fields["other"]["not"].is_null(), "{fields}");
}
