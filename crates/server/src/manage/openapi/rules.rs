//! What holds for every operation of the OpenAPI document, said once: refusals, paging, times, names.

use crate::json::MAX_LIMIT;
use serde_json::{Map, Value, json};

/// The refusals: status, name, and what they mean.
const REFUSALS: [(u16, &str, &str); 12] = [
    (400, "BadRequest", "The request cannot be read: no JSON, or a query that is none."),
    (401, "Unauthenticated", "No key or token, or one that does not work."),
    (403, "Forbidden", "The caller may not do this, or the address may not be reached."),
    (404, "NotFound", "There is no such thing for this caller."),
    (409, "Conflict", "It is there already, was changed meanwhile, is in use or switched off."),
    (413, "TooLarge", "The body is larger than the server takes."),
    (422, "Invalid", "The request can be read, but something in it is wrong; `errors` says what."),
    (429, "RateLimited", "Too many requests; `Retry-After` says when to come back."),
    (500, "Internal", "A mistake of ours."),
    (502, "UpstreamError", "A service did not answer as it should."),
    (503, "Unavailable", "The database or a service cannot be reached, or is left alone for a while."),
    (504, "GatewayTimeout", "A service did not answer in time."),
];

/// A JSON Pointer, RFC 6901.
const POINTER: &str = "^(/([^~/]|~[01])*)*$";

/// Fields that hold a time, in bodies and queries.
const TIMES: [&str; 5] = ["at", "created_at", "updated_at", "expires_at", "indexed_at"];
/// Between which times, in queries. In bodies these words also say where something leads.
const RANGE: [&str; 2] = ["from", "to"];

/// The document with what holds everywhere.
pub(super) fn complete(mut document: Value) -> Value {
    for (path, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            operation["operationId"] = operation_id(method, path).into();
            refuse(method, operation);
            for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
                bound(parameter);
                // All of a document goes with its table.
                if method == "delete" && parameter["name"] == "json_path" {
                    parameter["schema"]["pattern"] = "^(/([^~/]|~[01])*)+$".into();
                }
            }
            if operation["parameters"].is_null() {
                operation.as_object_mut().map(|operation| operation.shift_remove("parameters"));
            }
        }
    }
    for schema in document["components"]["schemas"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        mark_times(schema);
    }
    name_ranges(&mut document);
    open_objects(&mut document);
    let responses: Map<_, _> =
        REFUSALS.iter().map(|refusal| (refusal.1.to_owned(), response(refusal))).collect();
    document["components"]["responses"] = responses.into();
    document
}

/// Each operation is named after its method and path, e.g. `get_services_type_id`: handlers in
/// different files have the same short names.
fn operation_id(method: &str, path: &str) -> String {
    let words = path.trim_start_matches("/api/v1").split(|c: char| !c.is_alphanumeric());
    let words: Vec<_> = [method].into_iter().chain(words.filter(|word| !word.is_empty())).collect();
    words.join("_")
}

fn response((status, _, description): &(u16, &str, &str)) -> Value {
    let mut response = json!({
        "description": description,
        "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
    });
    let header = match status {
        401 => Some(("WWW-Authenticate", json!({ "schema": { "type": "string" } }))),
        429 => Some((
            "Retry-After",
            json!({ "description": "Seconds.", "schema": { "type": "integer", "minimum": 0 } }),
        )),
        _ => None,
    };
    if let Some((name, header)) = header {
        response["headers"][name] = header;
    }
    response
}

/// Every refusal that the operation can answer with.
fn refuse(method: &str, operation: &mut Value) {
    let is_open =
        operation["security"].as_array().is_some_and(|ways| ways.iter().any(|way| way == &json!({})));
    if operation["security"].is_null() {
        operation.as_object_mut().map(|operation| operation.shift_remove("security"));
    }
    let has_body = operation.get("requestBody").is_some();
    let Some(responses) = operation["responses"].as_object_mut() else { return };
    responses.retain(|status, _| status.as_bytes().first() == Some(&b'2'));
    for (status, response) in responses.iter_mut().filter(|(_, response)| response["description"].is_null()) {
        response["description"] = meaning(status).into();
    }
    for (status, name, _) in REFUSALS {
        let comes = match status {
            403 => !is_open,
            409 => method != "get",
            413 => has_body,
            _ => true,
        };
        if comes {
            responses.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/{name}") }));
        }
    }
}

/// What an answer says of itself where its operation says nothing more.
fn meaning(status: &str) -> &'static str {
    let status = status.parse().ok().and_then(|status| http::StatusCode::from_u16(status).ok());
    status.and_then(|status| status.canonical_reason()).unwrap_or("Done")
}

fn bound(parameter: &mut Value) {
    let name = parameter["name"].as_str().unwrap_or_default().to_owned();
    let schema = &mut parameter["schema"];
    match name.as_str() {
        "page" => schema["minimum"] = 1.into(),
        "limit" => {
            schema["minimum"] = 1.into();
            schema["maximum"] = MAX_LIMIT.into();
        }
        "json_path" => schema["pattern"] = POINTER.into(),
        // One that has a pattern is a word of another kind.
        name if (TIMES.contains(&name) || RANGE.contains(&name)) && schema.get("pattern").is_none() => {
            schema["format"] = "date-time".into();
        }
        _ => {}
    }
}

/// Says what an unsigned number holds in words that every reader knows: `int32` would be half of it.
fn name_ranges(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.get("format").is_some_and(|format| format == "int32") && fields.get("minimum").is_some()
            {
                fields.shift_remove("format");
                fields.entry("maximum").or_insert_with(|| u32::MAX.into());
            }
            fields.values_mut().for_each(name_ranges);
        }
        Value::Array(items) => items.iter_mut().for_each(name_ranges),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Says of an object with fields of any name that it has them: generators make one without a field of it otherwise.
fn open_objects(value: &mut Value) {
    const CLOSED_BY: [&str; 5] = ["properties", "additionalProperties", "allOf", "oneOf", "anyOf"];
    match value {
        Value::Object(fields) => {
            let kind = fields.get("type");
            let is_object = kind.is_some_and(|kind| {
                kind == "object"
                    || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "object"))
            });
            if is_object && !CLOSED_BY.iter().any(|word| fields.contains_key(*word)) {
                fields.insert("additionalProperties".into(), true.into());
            }
            fields.values_mut().for_each(open_objects);
        }
        Value::Array(items) => items.iter_mut().for_each(open_objects),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn mark_times(schema: &mut Value) {
    for (name, field) in schema["properties"].as_object_mut().into_iter().flatten() {
        let is_text = field["type"] == "string" || field["type"] == json!(["string", "null"]);
        // One that has a pattern is a word of another kind.
        if is_text && TIMES.contains(&name.as_str()) && field.get("pattern").is_none() {
            field["format"] = "date-time".into();
        }
    }
    if schema["properties"].is_null() {
        schema.as_object_mut().map(|schema| schema.shift_remove("properties"));
    }
    schema["allOf"].as_array_mut().into_iter().flatten().for_each(mark_times);
    if schema["allOf"].is_null() {
        schema.as_object_mut().map(|schema| schema.shift_remove("allOf"));
    }
}
