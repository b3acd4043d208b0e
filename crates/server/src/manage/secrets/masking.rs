//! Secrets in settings: shown as `***`, and kept when a change leaves them out or sends them back.

use crate::auth::SignedIn;
use serde_json::{Map, Value, json};
use tool::Scope;
use tool::secret::names::{
    HEADER, MARK, QUERY, has_masked_query, smells, with_query_secrets_of, without_query_secrets,
};
use tool::secret::{HEADERS, MASK};

/// How much somebody sees of settings; secrets nobody does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// All but what is a secret by its type or its name.
    Manager,
    /// No value of any header, either: what they are for is only known to those who set them.
    Other,
}

impl Sight {
    /// What this caller may see.
    pub(crate) fn of(signed_in: &SignedIn) -> Self {
        if signed_in.caller.may(Scope::Manage) { Self::Manager } else { Self::Other }
    }
}

/// The settings with every secret masked. `schema` is the JSON Schema of the settings.
pub(crate) fn masked(settings: &Value, schema: &Value, sight: Sight) -> Value {
    let mut settings = settings.clone();
    mask(&mut settings, &[schema], schema, sight);
    settings
}

/// The new settings with the old secrets in the places where the new ones have a mask, or
/// nothing in an object that both have. A sign-in of another type, or none, keeps nothing.
pub(crate) fn with_kept_secrets(mut new: Value, old: &Value, schema: &Value) -> Value {
    let mut old = old.clone();
    if let (Value::Object(new), Value::Object(old)) = (&mut new, &mut old) {
        align_sign_in(new, old);
        // That of an inline tool stands one level deeper.
        for (name, part) in new.iter_mut().filter_map(|(name, part)| Some((name, part.as_object_mut()?))) {
            if let Some(old) = old.get_mut(name).and_then(Value::as_object_mut) {
                align_sign_in(part, old);
            }
        }
    }
    fill(&mut new, &old, &[schema], schema);
    new
}

/// Whoever says the same `auth_type` again means the same sign-in, also without an `auth_config`. Whoever
/// says another has no use for the old secrets.
fn align_sign_in(new: &mut Map<String, Value>, old: &mut Map<String, Value>) {
    let type_of = |auth: Option<&Value>| auth.and_then(|auth| auth.get("type")).cloned();
    let nested = type_of(new.get("auth"));
    if nested.is_some() && nested != type_of(old.get("auth")) {
        old.shift_remove("auth");
    }
    let Some(auth_type) = new.get("auth_type").filter(|auth_type| !auth_type.is_null()) else { return };
    let old_type = old.get("auth_type").filter(|auth_type| !auth_type.is_null()).cloned();
    let old_type = old_type.or_else(|| type_of(old.get("auth_config")));
    if Some(auth_type) != old_type.as_ref() {
        old.shift_remove("auth_config");
    } else if new.get("auth_config").is_none_or(Value::is_null) && !new.contains_key("auth") {
        let has_details = old.get("auth_config").is_some_and(Value::is_object);
        new.extend(has_details.then(|| ("auth_config".to_owned(), json!({}))));
    }
}

fn fill(new: &mut Value, old: &Value, schemas: &[&Value], root: &Value) {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            for (name, old_field) in old {
                let of_field = property(schemas, name, root);
                let is_header = is_marked(&of_field, HEADER);
                let name = &spelled_in(new, name, is_header);
                if is_header && new.get(name).is_some_and(Value::is_null) {
                    // One that is a secret stays when it is left out, so there must be a way to take it away.
                    new.shift_remove(name);
                } else if is_secret(name, &of_field, Sight::Manager) {
                    let is_left_out = new.get(name).is_none_or(|value| value.as_str() == Some(MASK));
                    if is_left_out && old_field.is_string() {
                        new.insert(name.clone(), old_field.clone());
                    }
                } else if let Some(new_field) = new.get_mut(name) {
                    match (new_field.as_str(), old_field.as_str()) {
                        (Some(MASK), Some(_)) if is_header => *new_field = old_field.clone(),
                        (Some(new), Some(old)) if is_marked(&of_field, QUERY) => {
                            *new_field = with_query_secrets_of(new, old).into();
                        }
                        _ => fill(new_field, old_field, &of_field, root),
                    }
                }
            }
        }
        (Value::Array(new), Value::Array(old)) => {
            let of_item = items(schemas, root);
            for (new, old) in new.iter_mut().zip(old) {
                fill(new, old, &of_item, root);
            }
        }
        _ => {}
    }
}

/// How `new` writes the name of a field; headers are the same in either case.
fn spelled_in(new: &Map<String, Value>, name: &str, is_header: bool) -> String {
    let is_header = is_header || HEADERS.contains(&name.to_ascii_lowercase().as_str());
    let spelled = match new.contains_key(name) || !is_header {
        true => None,
        false => new.keys().find(|key| key.eq_ignore_ascii_case(name)),
    };
    spelled.map_or_else(|| name.to_owned(), Clone::clone)
}

/// Every mask that is left in the place of a secret: nothing was stored that it could stand for, and as a value it
/// would be sent. Paths begin with `place`.
pub(crate) fn empty_masks(settings: &Value, schema: &Value, place: &str) -> Vec<tool::Problem> {
    let mut found = Vec::new();
    find_masks(settings, &[schema], schema, (place, false), &mut found);
    found
}

fn find_masks(
    value: &Value,
    schemas: &[&Value],
    root: &Value,
    (path, is_secret_here): (&str, bool),
    found: &mut Vec<tool::Problem>,
) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let of_field = property(schemas, name, root);
                let is_secret = is_secret(name, &of_field, Sight::Other);
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                find_masks(field, &of_field, root, (&path, is_secret), found);
            }
        }
        Value::Array(list) => {
            let of_item = items(schemas, root);
            for (at, item) in list.iter().enumerate() {
                let is_secret = is_secret("", &of_item, Sight::Other);
                find_masks(item, &of_item, root, (&format!("{path}[{at}]"), is_secret), found);
            }
        }
        Value::String(text) => {
            let query = || text.split_once('?').is_some_and(|(_, query)| has_masked_query(query));
            if is_secret_here && text == MASK || is_marked(schemas, QUERY) && query() {
                let message = format!(
                    "'{path}' has '{MASK}' where a secret belongs, and none is stored for it; give the secret itself, or leave it out"
                );
                found.push(tool::Problem::new(path, "MaskedSecret", message));
            }
        }
        _ => {}
    }
}

fn mask(value: &mut Value, schemas: &[&Value], root: &Value, sight: Sight) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let of_field = property(schemas, name, root);
                if !is_secret(name, &of_field, sight) {
                    mask(field, &of_field, root, sight);
                } else if field.is_string() {
                    *field = MASK.into();
                }
            }
        }
        Value::Array(list) => {
            let of_item = items(schemas, root);
            for item in list {
                mask(item, &of_item, root, sight);
            }
        }
        Value::String(text) if is_marked(schemas, QUERY) => *text = without_query_secrets(text).into_owned(),
        _ => {}
    }
}

fn is_secret(name: &str, schemas: &[&Value], sight: Sight) -> bool {
    HEADERS.contains(&name.to_ascii_lowercase().as_str())
        || is_marked(schemas, HEADER) && (sight == Sight::Other || smells(name))
        || schemas.iter().any(|schema| schema.get("writeOnly").and_then(Value::as_bool) == Some(true))
}

/// Whether one of the schemas says that a text may be such a secret.
fn is_marked(schemas: &[&Value], kind: &str) -> bool {
    schemas.iter().any(|schema| schema.get(MARK).and_then(Value::as_str) == Some(kind))
}

/// Every schema that may speak of a field: one marks it secret, it is secret.
pub(crate) fn property<'a>(schemas: &[&'a Value], name: &str, root: &'a Value) -> Vec<&'a Value> {
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
pub(crate) fn items<'a>(schemas: &[&'a Value], root: &'a Value) -> Vec<&'a Value> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({
            "properties": {
                "url": { "type": "string" },
                "auth": { "anyOf": [{ "$ref": "#/$defs/Auth" }, { "type": "null" }] },
                "headers": { "additionalProperties": { "type": "string" } },
            },
            "$defs": { "Auth": { "oneOf": [
                { "properties": { "type": { "const": "key" }, "value": { "writeOnly": true } } },
                { "properties": { "type": { "const": "basic" }, "user": {}, "password": { "writeOnly": true } } },
            ] } }
        })
    }

    #[test]
    fn masks_secrets_behind_references_and_alternatives() {
        let settings = json!({
            "url": "u", "auth": { "type": "basic", "user": "ada", "password": "p" },
            "headers": { "Authorization": "Bearer x", "Accept": "a" }
        });
        assert_eq!(
            masked(&settings, &schema(), Sight::Manager),
            json!({
                "url": "u", "auth": { "type": "basic", "user": "ada", "password": "***" },
                "headers": { "Authorization": "***", "Accept": "a" }
            })
        );
    }

    #[test]
    fn masks_headers_by_their_names_and_for_those_who_may_not_manage_all_of_them() {
        let schema = json!({ "properties": {
            "headers": { "additionalProperties": { "x-secret": "header" } },
            "tools": { "items": { "properties": { "endpoint": { "x-secret": "query" } } } },
        } });
        let old = json!({
            "headers": { "Private-Token": "S1", "Accept": "a", "X-Tenant": "t" },
            "tools": [{ "endpoint": "/x?api_key=S2&q=1" }]
        });
        let of_manager = masked(&old, &schema, Sight::Manager);
        assert_eq!(of_manager["headers"], json!({ "Private-Token": "***", "Accept": "a", "X-Tenant": "t" }));
        let of_other = masked(&old, &schema, Sight::Other);
        assert_eq!(
            of_other["headers"],
            json!({ "Private-Token": "***", "Accept": "***", "X-Tenant": "***" })
        );
        for shown in [of_manager, of_other] {
            assert_eq!(shown["tools"][0]["endpoint"], "/x?api_key=***&q=1");
            assert_eq!(with_kept_secrets(shown, &old, &schema), old);
        }
        let fewer = json!({ "headers": { "Accept": "b", "Private-Token": null } });
        assert_eq!(with_kept_secrets(fewer, &old, &schema), json!({ "headers": { "Accept": "b" } }));
        let fewer = json!({ "headers": { "Accept": "b" } });
        let kept = json!({ "headers": { "Accept": "b", "Private-Token": "S1" } });
        assert_eq!(with_kept_secrets(fewer, &old, &schema), kept);
    }

    #[test]
    fn keeps_a_secret_that_is_left_out_or_sent_back_masked() {
        let old = json!({ "url": "u", "auth": { "type": "key", "value": "old" } });
        for auth in [json!({ "type": "key" }), json!({ "type": "key", "value": "***" })] {
            let new = with_kept_secrets(json!({ "url": "v", "auth": auth }), &old, &schema());
            assert_eq!(new, json!({ "url": "v", "auth": { "type": "key", "value": "old" } }));
        }
        let new = json!({ "url": "v", "auth": { "type": "key", "value": "new" } });
        assert_eq!(with_kept_secrets(new.clone(), &old, &schema()), new);
        let new = json!({ "url": "v" });
        assert_eq!(with_kept_secrets(new.clone(), &old, &schema()), new);
    }

    #[test]
    fn keeps_the_secrets_of_a_sign_in_whose_type_stays() {
        let schema = json!({ "properties": { "auth_config": { "properties": {
            "token": { "writeOnly": true }, "value": { "writeOnly": true } } } } });
        let old = json!({ "auth_type": "bearer", "auth_config": { "token": "old" } });
        let kept = |new: Value| with_kept_secrets(new, &old, &schema);
        for new in [
            json!({ "auth_type": "bearer" }),
            json!({ "auth_type": "bearer", "auth_config": null }),
            json!({ "auth_type": "bearer", "auth_config": {} }),
            json!({ "auth_type": "bearer", "auth_config": { "token": "***" } }),
        ] {
            assert_eq!(kept(new), old);
        }
        for new in [
            json!({}),
            json!({ "auth_type": "none" }),
            json!({ "auth_type": "none", "auth_config": {} }),
            json!({ "auth_type": "apikey", "auth_config": { "value": "new" } }),
            json!({ "auth": { "type": "bearer", "token": "new" } }),
        ] {
            assert_eq!(kept(new.clone()), new);
        }
    }

    #[test]
    fn knows_a_header_in_either_case_and_finds_masks_without_a_secret() {
        let schema = json!({ "properties": {
            "url": { "x-secret": "query" },
            "headers": { "additionalProperties": { "x-secret": "header" } },
            "key": { "writeOnly": true }, "note": {},
        } });
        let old = json!({ "headers": { "X-Vault-Token": "S1" } });
        let kept = |headers: Value| with_kept_secrets(json!({ "headers": headers }), &old, &schema);
        assert_eq!(kept(json!({ "x-vault-token": "***" })), json!({ "headers": { "x-vault-token": "S1" } }));
        assert_eq!(kept(json!({ "x-vault-token": "S2" })), json!({ "headers": { "x-vault-token": "S2" } }));
        assert_eq!(kept(json!({ "x-vault-token": null })), json!({ "headers": {} }));
        let masks = |settings: Value| {
            empty_masks(&settings, &schema, "config").into_iter().map(|found| found.path).collect::<Vec<_>>()
        };
        let none = json!({ "url": "http://h/?key=a", "headers": { "A": "b" }, "key": "****", "note": "***" });
        assert_eq!(masks(none), Vec::<String>::new());
        let all = json!({ "url": "http://h/?key=***", "headers": { "A": "***" }, "key": "***" });
        assert_eq!(masks(all), ["config.url", "config.headers.A", "config.key"]);
    }

    #[test]
    fn forgets_the_secrets_of_a_sign_in_of_another_type() {
        let old = json!({ "auth": { "type": "key", "value": "old" } });
        let new = json!({ "auth": { "type": "basic", "user": "ada" } });
        assert_eq!(with_kept_secrets(new.clone(), &old, &schema()), new);
    }
}
