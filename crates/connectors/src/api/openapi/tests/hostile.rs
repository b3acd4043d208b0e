//! Documents that mean harm: refused with a clear word, or read at a bounded cost.

use super::*;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Far more than any of these may take on a busy machine, far less than they would unbounded.
const PATIENCE: Duration = Duration::from_secs(20);

#[track_caller]
fn refused(result: Result<Imported>, code: &str) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.problems()[0].code, code, "{error}");
    assert!(error.message().len() < 1000, "{error}");
    error.message().to_owned()
}

#[test]
fn says_what_is_no_document() {
    for (text, code) in [
        ("", "NotOpenApi"),
        ("hello", "NotOpenApi"),
        ("[]", "NotOpenApi"),
        ("{}", "NotOpenApi"),
        ("{\"openapi\": \"4.0.0\"}", "UnknownVersion"),
        ("swagger: '1.2'", "UnknownVersion"),
        ("openapi: [3]", "NotOpenApi"),
        ("{\"openapi\": \"3.0.0\"", "Unreadable"),
        ("openapi: 3.0.0\n\t- bad: [", "Unreadable"),
        ("openapi: 3.0.0\npaths: {}", "Empty"),
        ("openapi: 3.0.0\npaths: 7", "Empty"),
        ("<html><body>Not found</body></html>", "NotOpenApi"),
        ("openapi: 3.0.0\n---\nopenapi: 3.0.0\n", "Unreadable"),
    ] {
        let error = import_text(text).unwrap_err();
        assert_eq!(error.problems()[0].code, code, "{text}: {error}");
    }
}

/// A billion laughs: each line says ten times what the line before says.
#[test]
fn refuses_alias_bombs() {
    let begun = Instant::now();
    let mut lists = String::from("openapi: 3.0.0\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(lists, "a{level}: &a{level} [{items}]").unwrap();
    }
    refused(import_text(&lists), "Unreadable");
    let mut merges = String::from("openapi: 3.0.0\nb0: &b0 {k0: v}\n");
    for level in 1..40 {
        writeln!(merges, "b{level}: &b{level}\n  <<: *b{0}\n  k{level}: {{ a: *b{0}, b: *b{0} }}", level - 1)
            .unwrap();
    }
    refused(import_text(&merges), "Unreadable");
    // Few aliases, each of a long text.
    let long = format!(
        "openapi: 3.0.0\nlong: &long {}\nall: [{}]\n",
        "x".repeat(1_000_000),
        vec!["*long"; 50_000].join(", ")
    );
    refused(import_text(&long), "Unreadable");
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

/// Each anchor is not too deep, but they stand in one another.
#[test]
fn refuses_depth_that_aliases_add_up() {
    let mut text = String::from("openapi: 3.0.0\na0: &a0 x\n");
    for level in 1..60 {
        writeln!(text, "a{level}: &a{level} {}*a{}{}", "[".repeat(50), level - 1, "]".repeat(50)).unwrap();
    }
    refused(import_text(&text), "Unreadable");
}

#[test]
fn refuses_depth_bombs() {
    let begun = Instant::now();
    for text in [
        "[".repeat(1_000_000),
        format!("{{\"openapi\": {}", "[".repeat(1_000_000)),
        format!("openapi: {}", "[".repeat(100_000)),
        format!("openapi: {}", "{a: ".repeat(100_000)),
        "- ".repeat(100_000),
        (0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect(),
    ] {
        refused(import_text(&text), "Unreadable");
    }
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

/// Each schema has two of the next: 2^40 fields if they were all spelled out.
#[test]
fn bounds_what_references_multiply() {
    let begun = Instant::now();
    let mut schemas = Map::new();
    for level in 0..40 {
        let next = json!({ "$ref": format!("#/components/schemas/S{}", level + 1) });
        let schema = match level % 3 {
            0 => json!({ "type": "object", "properties": { "a": next, "b": next } }),
            1 => json!({ "allOf": [next, { "properties": { "c": next } }] }),
            _ => json!({ "oneOf": [next, next, { "type": "array", "items": next }] }),
        };
        schemas.insert(format!("S{level}"), schema);
    }
    let mut document = document_with(
        "/a",
        "post",
        json!({ "requestBody": { "content": { "application/json": {
        "schema": { "$ref": "#/components/schemas/S0" } } } } }),
    );
    document["components"] = json!({ "schemas": schemas });
    let imported = import_value(document).unwrap();
    assert!(imported.tools[0].input_schema.get().len() < 70_000);
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

#[test]
fn cuts_schemas_that_are_too_large() {
    let properties: Map<_, _> =
        (0..100_000).map(|number| (format!("field{number}"), json!({ "type": "string" }))).collect();
    let schema = json!({ "type": "object", "properties": properties });
    let operation = json!({ "requestBody": { "content": { "application/json": { "schema": schema } } } });
    let imported = import_value(document_with("/a", "post", operation)).unwrap();
    assert!(imported.tools[0].input_schema.get().len() < 70_000);
    assert!(has_warning(&imported, "too large"));
}

#[test]
fn counts_parameters_before_it_compares_them() {
    let begun = Instant::now();
    let parameter =
        |number| json!({ "name": format!("p{number}"), "in": "query", "schema": { "type": "string" } });
    let parameters: Vec<_> = (0..50_000).map(parameter).collect();
    let mut document = document_with("/own", "get", json!({ "parameters": parameters }));
    document["paths"]["/shared"] = json!({ "get": {}, "parameters": parameters });
    let imported = import_value(document).unwrap();
    for operation in ["GET /own", "GET /shared"] {
        assert_eq!(reason(&imported, operation), "it has more than 300 parameters");
    }
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

/// One path whose every part is huge, and two thousand that refer to it.
#[test]
fn looks_at_a_huge_part_only_as_long_as_it_must() {
    let begun = Instant::now();
    let texts: Vec<_> = (0..20_000).map(|number| format!("x-{number}")).collect();
    let schemas: Map<_, _> =
        texts.iter().map(|text| (text.clone(), json!({ "readOnly": true, "type": "string" }))).collect();
    let mut schema = schemas.clone();
    schema.extend([("required".to_owned(), json!(texts)), ("enum".to_owned(), json!(texts))]);
    let sets: Vec<_> = texts.iter().map(|text| json!({ text: [] })).collect();
    let media: Map<_, _> = texts.iter().map(|text| (text.clone(), json!({ "schema": {} }))).collect();
    let field = |schema: Value| json!({ "content": { "application/json": { "schema": schema } } });
    let item = json!({
        "get": { "tags": texts, "security": sets, "servers": texts },
        "put": field(json!({ "type": "object", "required": texts, "properties": schemas })),
        "post": { "requestBody": field(schema.into()) },
        "patch": { "requestBody": { "content": media } },
        "delete": { "requestBody": field(json!({ "allOf": [{ "required": texts }, { "required": texts }] })) }
    });
    let paths: Map<_, _> =
        (0..400).map(|number| (format!("/p{number}"), json!({ "$ref": "#/x-item" }))).collect();
    let document = json!({ "openapi": "3.0.0", "paths": paths, "x-item": item, "servers": texts,
        "components": { "securitySchemes": schemas } });
    let options = ImportOptions { exclude: patterns(&["tag:y*"]), ..ImportOptions::default() };
    let _ = import_with(ImportSource::Document(document), &options, json!({}));
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

/// Short texts that become large automata.
#[test]
fn leaves_out_patterns_that_take_long_to_compile() {
    let begun = Instant::now();
    for pattern in [r"(\w{300}){300}", "((a{100}){100}){100}", r"(\pL{50}){50}", r"\p{L}{200}"] {
        let field = |number| (format!("f{number}"), json!({ "type": "string", "pattern": pattern }));
        let properties: Map<_, _> = (0..90).map(field).collect();
        let body = json!({ "content": { "application/json": { "schema": { "type": "object", "properties": properties } } } });
        let path = |number| (format!("/p{number}"), json!({ "post": { "requestBody": body } }));
        let paths: Map<_, _> = (0..50).map(path).collect();
        let imported = import_value(json!({ "openapi": "3.0.0", "paths": paths })).unwrap();
        assert!(has_warning(&imported, "a pattern is too large"), "{pattern}: {:?}", imported.warnings);
        assert_eq!(imported.tools.len(), 50);
    }
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

#[test]
fn does_not_follow_endless_names_and_paths() {
    let begun = Instant::now();
    let long = "x".repeat(1_000_000);
    let mut document = document_with(&format!("/{}", "{a}".repeat(100_000)), "get", json!({}));
    let parameter = json!({ "name": long, "in": "query", "schema": { "$ref": format!("#/{long}") } });
    document["paths"]["/name"] = json!({ "get": { "parameters": [parameter] } });
    let imported = import_value(document).unwrap();
    assert!(imported.skipped[0].reason.contains("its path has more than"), "{:?}", imported.skipped);
    assert!(has_warning(&imported, "GET /name: the optional parameter"), "{:?}", imported.warnings);
    assert!(bytes_of(&imported) < 10_000);
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

fn bytes_of(imported: &Imported) -> usize {
    format!("{imported:?}").len()
}

#[test]
fn refuses_too_many_operations_and_says_how_to_choose() {
    let paths: Map<_, _> =
        (0..50_000).map(|number| (format!("/p{number}"), json!({ "get": {}, "post": {} }))).collect();
    let document = json!({ "openapi": "3.0.0", "paths": paths });
    let message = refused(import_value(document.clone()), "TooManyOperations");
    assert!(message.contains("100000 operations") && message.contains("include"), "{message}");
    let options = ImportOptions { include: patterns(&["GET /p4999*"]), ..ImportOptions::default() };
    let imported = import_with(ImportSource::Document(document), &options, json!({})).unwrap();
    assert_eq!(imported.tools.len(), 11);
    let bad: Map<_, _> = (0..50_000).map(|number| (format!("/p{number}"), json!({ "trace": {} }))).collect();
    refused(import_value(json!({ "openapi": "3.0.0", "paths": bad })), "TooManyOperations");
}

#[test]
fn refuses_texts_that_are_too_long() {
    let text = format!("openapi: 3.0.0\nx: {}", "y".repeat(document::MAX_BYTES));
    refused(import_text(&text), "TooLarge");
}

/// The most operations, with parameters and bodies, within the time a person waits.
#[test]
fn reads_a_large_document_in_bearable_time() {
    let operation = json!({
        "summary": "Does something with a thing", "parameters": [
            { "name": "id", "in": "path", "required": true, "schema": { "type": "string", "format": "uuid" } },
            { "name": "limit", "in": "query", "schema": { "type": "integer", "minimum": 1, "default": 5 } }
        ],
        "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Thing" } } } }
    });
    let paths: Map<_, _> =
        (0..1_000).map(|number| (format!("/things{number}/{{id}}"), json!({ "post": operation }))).collect();
    let document = json!({ "openapi": "3.0.0", "paths": paths, "components": { "schemas": { "Thing": {
        "type": "object", "properties": { "name": { "type": "string" }, "parts": { "type": "array", "items": { "$ref": "#/components/schemas/Thing" } } }
    } } } });
    let begun = Instant::now();
    assert_eq!(import_value(document).unwrap().tools.len(), 1_000);
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]

    /// Whatever stands wherever: no panic, and everything that comes out can be opened.
    #[test]
    fn survives_values_of_the_wrong_type_anywhere(place in 0usize..400, kind in 0usize..8, name in 0usize..4) {
        let names = ["petstore-3.0.yaml", "petstore-2.0.json", "stripe-like.yaml", "modern-3.1.yaml"];
        let text = text_of(names[name]);
        let mut root: Value = match serde_json::from_str(&text) {
            Ok(root) => root,
            Err(_) => serde_saphyr::from_str(&text).unwrap(),
        };
        let odd = [json!(null), json!(7), json!(""), json!([]), json!({}), json!([[]]), json!({ "$ref": "#" }), json!(true)];
        let mut left = place;
        replace_nth(&mut root, &mut left, &odd[kind]);
        if let Ok(imported) = import_value(root) {
            for tool in imported.tools {
                let schema: Value = serde_json::from_str(tool.input_schema.get()).unwrap();
                proptest::prop_assert!(schema.is_object());
            }
        }
    }
}

/// Puts another value in the n-th place of a document.
fn replace_nth(value: &mut Value, left: &mut usize, new: &Value) -> bool {
    if *left == 0 {
        *value = new.clone();
        return true;
    }
    *left -= 1;
    match value {
        Value::Object(fields) => fields.values_mut().any(|field| replace_nth(field, left, new)),
        Value::Array(items) => items.iter_mut().any(|item| replace_nth(item, left, new)),
        _ => false,
    }
}
