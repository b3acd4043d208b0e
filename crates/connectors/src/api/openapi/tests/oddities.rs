//! Oddities of real documents: each was seen in one that many people use.

use super::*;

fn endpoint_of(path: &str, operation: Value) -> (Imported, String) {
    let imported = import_value(document_with(path, "get", operation)).unwrap();
    let endpoint =
        imported.tools.first().map(|tool| tool.definition["endpoint"].as_str().unwrap().to_owned());
    let endpoint = endpoint.unwrap_or_else(|| panic!("{path} was skipped: {:?}", imported.skipped));
    (imported, endpoint)
}

#[test]
fn follows_a_reference_in_the_place_of_an_operation() {
    let mut document = document_with("/pets", "get", json!({ "$ref": "#/components/x-operations/list" }));
    document["components"] = json!({ "x-operations": { "list": {
        "operationId": "list_pets", "summary": "All pets",
        "parameters": [{ "name": "limit", "in": "query", "required": true, "schema": { "type": "integer" } }],
    } } });
    let imported = import_value(document).unwrap();
    assert_eq!(tool(&imported, "list_pets")["description"], "All pets");
    assert_eq!(parameter(&imported, "list_pets", "limit")["required"], true);
}

#[test]
fn says_which_operations_are_in_other_documents() {
    let mut document = document_with("/here", "get", json!({ "operationId": "here" }));
    document["paths"]["/there"] =
        json!({ "get": { "$ref": "resources/there.yml" }, "delete": { "$ref": "#/no" } });
    let imported = import_value(document).unwrap();
    assert_eq!(imported.tools.len(), 1, "no tool is made of a reference that leads nowhere");
    let why = reason(&imported, "GET /there");
    assert!(why.contains("'resources/there.yml'") && why.contains("bundle the documents"), "{why}");
    assert!(reason(&imported, "DELETE /there").contains("leads nowhere"));
}

#[test]
fn a_required_body_of_a_delete_stays_required() {
    let body = |required: Value| {
        let schema = json!({ "type": "object", "properties": { "ids": { "type": "array", "items": { "type": "string" } } } });
        json!({ "requestBody": { "required": required, "content": { "application/json": { "schema": schema } } } })
    };
    for (required, expected) in [(json!(true), true), (json!(false), false), (json!(null), false)] {
        let imported = import_value(document_with("/pets", "delete", body(required))).unwrap();
        assert_eq!(parameter(&imported, "delete_pets", "body")["required"] == true, expected);
        let schema = input_schema(&imported);
        assert_eq!(schema["required"] == json!(["body"]), expected, "{schema}");
    }
}

#[test]
fn a_delete_may_send_a_form() {
    for (media, encoding) in
        [("application/x-www-form-urlencoded", Value::Null), ("multipart/form-data", json!("multipart"))]
    {
        let schema = json!({ "type": "object", "required": ["reason"],
            "properties": { "reason": { "type": "string" }, "force": { "type": "boolean" } } });
        let operation = json!({ "requestBody": { "content": { media: { "schema": schema } } } });
        let imported = import_value(document_with("/pets", "delete", operation)).unwrap();
        let reason = parameter(&imported, "delete_pets", "reason");
        assert_eq!((&reason["position"], &reason["required"]), (&json!("form"), &json!(true)));
        assert_eq!(tool(&imported, "delete_pets").get("form_encoding").unwrap_or(&Value::Null), &encoding);
    }
}

/// Clients refuse lists that do not say what is in them.
#[test]
fn lists_keep_their_items_however_much_is_cut() {
    let mut schema = json!({ "type": "array", "items": { "type": "object", "properties": { "deep": { "type": "string" } } } });
    for level in 0..14 {
        schema = json!({ "type": "object", "properties": { format!("level{level}"): schema,
            "tags": { "type": "array", "items": { "$ref": "#/components/schemas/Tag" } } } });
    }
    let many: Map<String, Value> = (0..3000)
        .map(|n| {
            (
                format!("field_{n}_with_a_long_name"),
                json!({
        "type": ["array", "null"], "items": { "type": "string", "description": "x".repeat(200) } }),
            )
        })
        .collect();
    let node = json!({ "type": "object", "properties": { "children": { "type": "array", "items": { "$ref": "#/components/schemas/Node" } },
        "rows": { "type": "array", "items": { "type": "array", "items": { "type": "integer" } } } } });
    for schema in [schema, json!({ "type": "object", "properties": many }), node.clone()] {
        let operation = json!({ "requestBody": { "content": { "application/json": { "schema": schema } } } });
        let mut document = document_with("/x", "post", operation);
        document["openapi"] = json!("3.1.0");
        document["components"] =
            json!({ "schemas": { "Tag": { "type": "array", "items": { "type": "string" } }, "Node": node } });
        let imported = import_value(document).unwrap();
        let mut bare = Vec::new();
        lists_without_items(&input_schema(&imported), "", &mut bare);
        assert!(bare.is_empty(), "{bare:?}");
    }
}

fn lists_without_items(schema: &Value, path: &str, bare: &mut Vec<String>) {
    let is_list = schema["type"] == "array"
        || schema["type"].as_array().is_some_and(|kinds| kinds.contains(&json!("array")));
    if is_list && schema.get("items").is_none() {
        bare.push(path.to_owned());
    }
    for (name, inner) in schema.as_object().into_iter().flatten() {
        lists_without_items(inner, &format!("{path}/{name}"), bare);
    }
    for (at, inner) in schema.as_array().into_iter().flatten().enumerate() {
        lists_without_items(inner, &format!("{path}/{at}"), bare);
    }
}

#[test]
fn what_stands_behind_a_hash_is_not_sent() {
    let operation = json!({ "operationId": "GetItem", "parameters": [
        { "name": "X-Amz-Target", "in": "header", "required": true, "schema": { "type": "string", "enum": ["Db.GetItem"] } }] });
    let (imported, endpoint) = endpoint_of("/#X-Amz-Target=Db.GetItem", operation);
    assert_eq!(endpoint, "/");
    assert!(has_warning(&imported, "behind the '#'"), "{:?}", imported.warnings);
}

#[test]
fn spells_out_what_rfc_6570_can_write() {
    let text =
        |name: &str| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
    for (path, declared, expected) in [
        ("/pets{.format}", vec!["format"], "/pets.{format}"),
        ("/pets/{id}.{format}", vec!["id", "format"], "/pets/{id}.{format}"),
        ("/files/{+path}", vec!["path"], "/files/{path}"),
        ("/files/{path*}", vec!["path"], "/files/{path}"),
        ("/files/{path*}", vec!["path*"], "/files/{path}"),
        ("/files/{+path}", vec!["+path"], "/files/{path}"),
        ("/map/{x,y}", vec!["x", "y"], "/map/{x},{y}"),
        ("/tree{/a,b}", vec!["a", "b"], "/tree/{a}/{b}"),
        ("/matrix{;a,b}", vec![], "/matrix;a={a};b={b}"),
        ("/short/{name:3}", vec!["name"], "/short/{name}"),
        ("/search{?q,page}", vec![], "/search"),
        ("/search?fixed=1{&q}", vec![], "/search?fixed=1"),
        ("/about{#part}", vec![], "/about"),
    ] {
        let parameters: Vec<_> = declared.iter().map(|name| text(name)).collect();
        let (_, endpoint) = endpoint_of(path, json!({ "parameters": parameters }));
        assert_eq!(endpoint, expected, "{path}");
    }
    let (imported, _) =
        endpoint_of("/search{?q,page}", json!({ "operationId": "search", "parameters": [text("q")] }));
    for name in ["q", "page"] {
        let parameter = parameter(&imported, "search", name);
        assert!(parameter["position"] == "query" && parameter["required"] != true, "{parameter}");
    }
}

#[test]
fn control_characters_are_cleaned_and_not_fatal() {
    let yaml = concat!(
        "openapi: 3.0.0\ninfo:\n  title: \"Odd\u{92}s \u{1b}and ends\"\n",
        "servers: [{url: https://a.example.com}]\npaths:\n  /x:\n    get:\n      operationId: x\n",
        "      description: \"caf\u{80}e \u{9f}\"\n",
    );
    let imported = import_text(yaml).unwrap();
    assert_eq!((imported.name.as_str(), imported.tools.len()), ("Odd s and ends", 1));
    let json = yaml_free_document("\u{92}");
    assert_eq!(import_text(&json).unwrap().tools.len(), 1);
    let escaped = yaml_free_document("\\u0092\\u001b");
    let imported = import_text(&escaped).unwrap();
    let shown = imported.tools[0].input_schema.get();
    assert!(!shown.contains(|c: char| c.is_control()) && !shown.contains("u0092"), "{shown}");
    let parameter = parameter(&imported, "x", "kind");
    assert_eq!(parameter["enum_values"].as_array().map_or(0, Vec::len), 1, "{parameter}");
}

fn yaml_free_document(odd: &str) -> String {
    format!(
        r#"{{"openapi":"3.0.0","info":{{"title":"A{odd}B"}},"servers":[{{"url":"https://a.example.com"}}],"paths":{{"/x":{{"get":{{"operationId":"x",
        "description":"d{odd}e","parameters":[{{"name":"kind","in":"query","description":"k{odd}l","schema":{{"type":"string","enum":["a{odd}b"],"pattern":"^a{odd}"}}}}]}}}}}}}}"#
    )
}

#[test]
fn documents_of_three_thousand_operations_import() {
    let document = |count: usize| {
        let operation = |n: usize| {
            let fields: Map<String, Value> = (0..30)
                .map(|f| (format!("f{f}"), json!({ "type": "string", "description": "x".repeat(100) })))
                .collect();
            let item = json!({ "post": { "operationId": format!("op{n}"), "tags": ["t"],
                "requestBody": { "content": { "application/json": { "schema": { "type": "object", "properties": fields } } } } } });
            (format!("/p{n}"), item)
        };
        json!({ "openapi": "3.0.0", "info": { "title": "Big" }, "servers": [{ "url": "https://big.example.com" }],
            "paths": (0..count).map(operation).collect::<Map<_, _>>() })
    };
    let imported = import_value(document(3000)).unwrap();
    assert_eq!((imported.tools.len(), imported.skipped.len()), (3000, 0));
    let error = import_value(document(5001)).unwrap_err();
    let message = error.problems()[0].message.clone();
    assert!(
        message.contains("5001 operations")
            && message.contains("at most 5000")
            && message.contains("include")
            && message.contains("exclude"),
        "{message}"
    );
}
