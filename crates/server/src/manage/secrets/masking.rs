//! Secrets in settings are shown as `***`.

use super::schemas::{is_marked, items, property};
use crate::auth::SignedIn;
use serde_json::Value;
use tool::Scope;
use tool::secret::names::{HEADER, QUERY, has_masked_query, is_likely_secret, without_query_secrets};
use tool::secret::{HEADERS, MASK};

/// How much somebody sees of settings; secrets nobody does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// All but what is a secret by its type or its name.
    Manager,
    /// No value of any header, either: what they are for is only known to those who set them.
    Other,
}

impl Visibility {
    /// What this caller may see.
    pub(crate) fn of(signed_in: &SignedIn) -> Self {
        if signed_in.caller.may(Scope::Manage) { Self::Manager } else { Self::Other }
    }
}

/// The settings with every secret masked. `schema` is the JSON Schema of the settings.
pub(crate) fn masked(settings: &Value, schema: &Value, visibility: Visibility) -> Value {
    let mut settings = settings.clone();
    mask(&mut settings, &[schema], schema, visibility);
    settings
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
                let is_secret = is_secret(name, &of_field, Visibility::Other);
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                find_masks(field, &of_field, root, (&path, is_secret), found);
            }
        }
        Value::Array(list) => {
            let of_item = items(schemas, root);
            for (at, item) in list.iter().enumerate() {
                let is_secret = is_secret("", &of_item, Visibility::Other);
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

fn mask(value: &mut Value, schemas: &[&Value], root: &Value, visibility: Visibility) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let of_field = property(schemas, name, root);
                if !is_secret(name, &of_field, visibility) {
                    mask(field, &of_field, root, visibility);
                } else if field.is_string() {
                    *field = MASK.into();
                }
            }
        }
        Value::Array(list) => {
            let of_item = items(schemas, root);
            for item in list {
                mask(item, &of_item, root, visibility);
            }
        }
        Value::String(text) if is_marked(schemas, QUERY) => *text = without_query_secrets(text).into_owned(),
        _ => {}
    }
}

pub(super) fn is_secret(name: &str, schemas: &[&Value], visibility: Visibility) -> bool {
    HEADERS.contains(&name.to_ascii_lowercase().as_str())
        || is_marked(schemas, HEADER) && (visibility == Visibility::Other || is_likely_secret(name))
        || schemas.iter().any(|schema| schema.get("writeOnly").and_then(Value::as_bool) == Some(true))
}
