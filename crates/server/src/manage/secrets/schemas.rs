//! The schemas that speak of a field, behind references and alternatives.

use serde_json::Value;
use tool::secret::names::MARK;

/// Whether one of the schemas says that a text may be such a secret.
pub(super) fn is_marked(schemas: &[&Value], kind: &str) -> bool {
    schemas.iter().any(|schema| schema.get(MARK).and_then(Value::as_str) == Some(kind))
}

/// Every schema that may speak of a field: one marks it secret, it is secret.
pub(super) fn property<'a>(schemas: &[&'a Value], name: &str, root: &'a Value) -> Vec<&'a Value> {
    let mut result = Vec::new();
    for schema in schemas {
        let named = schema.get("properties").and_then(|properties| properties.get(name));
        if let Some(field) = named.or_else(|| schema.get("additionalProperties")) {
            resolve(field, root, &mut result, 0);
        }
    }
    result
}

/// The schemas of a list's items.
pub(super) fn items<'a>(schemas: &[&'a Value], root: &'a Value) -> Vec<&'a Value> {
    let mut result = Vec::new();
    for item in schemas.iter().filter_map(|schema| schema.get("items")) {
        resolve(item, root, &mut result, 0);
    }
    result
}

/// Follows references and alternatives, our own schemas being the only ones that come here.
fn resolve<'a>(schema: &'a Value, root: &'a Value, result: &mut Vec<&'a Value>, depth: usize) {
    if depth > 8 {
        return;
    }
    result.push(schema);
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
    if let Some(target) = target.and_then(|pointer| root.pointer(pointer)) {
        resolve(target, root, result, depth + 1);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        for alternative in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
            resolve(alternative, root, result, depth + 1);
        }
    }
}
