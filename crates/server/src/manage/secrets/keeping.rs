//! Secrets in settings are kept when a change leaves them out or sends them back masked.

use super::masking::{Visibility, is_secret};
use super::schemas::{is_marked, items, property};
use serde_json::{Map, Value, json};
use tool::secret::names::{HEADER, QUERY, with_query_secrets_of};
use tool::secret::{HEADERS, MASK};

/// The new settings with the old secrets in the places where the new ones have a mask, or
/// nothing in an object that both have. A sign-in of another type, or none, keeps nothing.
pub(super) fn with_kept_secrets(mut new: Value, old: &Value, schema: &Value) -> Value {
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
                } else if is_secret(name, &of_field, Visibility::Manager) {
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
                } else if old_field.is_object() && !is_sign_in(name) && has_secrets_alone(&of_field, root) {
                    let mut kept = json!({});
                    fill(&mut kept, old_field, &of_field, root);
                    new.insert(name.clone(), kept);
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

/// Of these, leaving out is the word for "none".
fn is_sign_in(name: &str) -> bool {
    ["auth", "auth_config"].contains(&name)
}

/// An object that is described as nothing but secrets: whoever leaves it out leaves out these.
fn has_secrets_alone(schemas: &[&Value], root: &Value) -> bool {
    let described = || schemas.iter().filter_map(|schema| schema.get("properties")?.as_object()).flatten();
    let is_secret = |name: &str| is_secret(name, &property(schemas, name, root), Visibility::Manager);
    described().next().is_some() && described().all(|(name, _)| is_secret(name))
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
