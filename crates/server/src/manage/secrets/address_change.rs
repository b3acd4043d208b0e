//! Secrets stay where they were entrusted: what moves to another address leaves them behind.
//!
//! Whoever may change an address could otherwise have every stored secret sent to a server of their own.

use super::keeping::with_kept_secrets;
use super::masking::{Visibility, masked};
use super::schemas::{items, property};
use crate::error::Problem;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use store::{Service, ServiceTool};
use tool::secret::names::without_query_secrets;

/// A change of settings: whether it leads somewhere else, and the stored secrets that did not go along.
#[derive(Debug, Default)]
pub(crate) struct AddressChange {
    is_moving: bool,
    /// Paths into the body, e.g. `config.auth_config.value`.
    pub(crate) dropped: Vec<String>,
}

impl AddressChange {
    /// Compares the fields that the type's schema marks as addresses.
    pub(crate) fn between(new: &Value, old: &Value, schema: &Value) -> Self {
        Self { is_moving: addresses(new, schema) != addresses(old, schema), dropped: Vec::new() }
    }

    /// Settings and tools of a service as a change leaves them, where it changes them.
    pub(crate) fn service(
        config: Option<Map<String, Value>>,
        tools: Option<Vec<ServiceTool>>,
        old: &Service,
        schema: &Value,
    ) -> (Option<Value>, Option<Vec<ServiceTool>>, Self) {
        let config = config.map(Value::Object);
        let moving = config.as_ref().map(|new| Self::between(new, &old.config, schema));
        let mut moving = moving.unwrap_or_default();
        let config = config.map(|new| moving.with_secrets(new, &old.config, schema, "config"));
        let tools = moving.tools_with_secrets(tools, &old.tools, schema);
        (config, tools, moving)
    }

    /// The new settings with the old secrets where they are left out or masked; without them if they move.
    pub(crate) fn with_secrets(&mut self, mut new: Value, old: &Value, schema: &Value, place: &str) -> Value {
        let kept = with_kept_secrets(new.clone(), old, schema);
        if !self.is_moving {
            return kept;
        }
        self.leave_behind(&mut new, &kept, place);
        new
    }

    /// The same for the tools of a service. Those that are not given stay, and leave their secrets behind, too.
    pub(crate) fn tools_with_secrets(
        &mut self,
        new: Option<Vec<ServiceTool>>,
        old: &[ServiceTool],
        schema: &Value,
    ) -> Option<Vec<ServiceTool>> {
        let is_given = new.is_some();
        let new = match new {
            Some(new) => new,
            None if self.is_moving => shown(old, schema),
            None => return None,
        };
        let before = self.dropped.len();
        let mut merged = Vec::with_capacity(new.len());
        for (at, mut tool) in new.into_iter().enumerate() {
            if let Some(old) = old.iter().find(|old| old.id == tool.id) {
                let known = self.dropped.len();
                let mut whole = self.with_secrets(wrap(&tool.definition), &wrap(&old.definition), schema, "");
                tool.definition = whole["tools"][0].take();
                for path in &mut self.dropped[known..] {
                    *path = path.replacen("tools[0]", &format!("tools[{at}]"), 1);
                }
            }
            merged.push(tool);
        }
        (is_given || self.dropped.len() > before).then_some(merged)
    }

    /// The refusal of settings that miss what was left behind, with the reason for that.
    pub(crate) fn explain(&self, problem: Problem) -> Problem {
        if self.dropped.is_empty() {
            return problem;
        }
        let explained = |error: &tool::Problem| {
            let path = &error.path;
            match self.dropped.contains(path) {
                true => tool::Problem::new(
                    path.clone(),
                    error.code,
                    format!(
                        "'{path}' held a secret, which does not follow to another address; give it again"
                    ),
                ),
                false => error.clone(),
            }
        };
        let errors = problem.errors().iter().map(explained).collect();
        let dropped = self.dropped.join(", ");
        problem.with_errors(errors).and_so(&format!(
            "the address changes, and stored secrets do not follow to another address; give again what is still needed of: {dropped}"
        ))
    }

    /// Takes out of `new` what would have been taken over into `kept`: masks, and nothing else.
    fn leave_behind(&mut self, new: &mut Value, kept: &Value, place: &str) {
        match (new, kept) {
            (Value::Object(new), Value::Object(kept)) => {
                for (name, kept) in kept {
                    let path = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                    match new.get_mut(name) {
                        Some(field) if field == kept => {}
                        Some(field) if field.is_object() || field.is_array() => {
                            self.leave_behind(field, kept, &path);
                        }
                        _ => {
                            new.shift_remove(name);
                            self.note(kept, path);
                        }
                    }
                }
            }
            (Value::Array(new), Value::Array(kept)) => {
                for (at, (new, kept)) in new.iter_mut().zip(kept).enumerate() {
                    self.leave_behind(new, kept, &format!("{place}[{at}]"));
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, kept: &Value, path: String) {
        match kept {
            Value::Object(fields) => {
                fields.iter().for_each(|(name, field)| self.note(field, format!("{path}.{name}")));
            }
            _ => self.dropped.push(path),
        }
    }
}

/// Tools as they are shown to those who change them: secrets masked.
pub(crate) fn shown(tools: &[ServiceTool], schema: &Value) -> Vec<ServiceTool> {
    let mask = |tool: &ServiceTool| {
        let mut shown = masked(&wrap(&tool.definition), schema, Visibility::Manager);
        ServiceTool { id: tool.id.clone(), definition: shown["tools"][0].take() }
    };
    tools.iter().map(mask).collect()
}

/// A tool's definition where the schema of the settings has it.
fn wrap(definition: &Value) -> Value {
    json!({ "tools": [definition] })
}

/// Where the settings lead, by path. Secrets in a query string are no part of it: they may come back masked.
fn addresses(settings: &Value, schema: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    collect(settings, &[schema], schema, "", &mut found);
    found
}

fn collect(value: &Value, schemas: &[&Value], root: &Value, path: &str, found: &mut BTreeMap<String, Value>) {
    if schemas.iter().any(|schema| schema.get(tool::connector::ADDRESS) == Some(&Value::Bool(true))) {
        match value {
            Value::Null => {}
            Value::String(text) => {
                found.insert(path.to_owned(), without_query_secrets(text).into());
            }
            other => {
                found.insert(path.to_owned(), other.clone());
            }
        }
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                collect(field, &property(schemas, name, root), root, &format!("{path}/{name}"), found);
            }
        }
        Value::Array(list) => {
            let of_item = items(schemas, root);
            for (at, item) in list.iter().enumerate() {
                collect(item, &of_item, root, &format!("{path}/{at}"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({ "properties": {
            "url": { "x-address": true },
            "auth": { "anyOf": [{ "$ref": "#/$defs/Auth" }, { "type": "null" }] },
            "tools": { "items": { "properties": { "key": { "writeOnly": true } } } },
        }, "$defs": { "Auth": { "properties": {
            "token_url": { "x-address": true }, "user": {}, "password": { "writeOnly": true } } } } })
    }

    fn moved(new: Value, old: &Value) -> (Value, Vec<String>) {
        let mut moving = AddressChange::between(&new, old, &schema());
        let new = moving.with_secrets(new, old, &schema(), "config");
        (new, moving.dropped)
    }

    #[test]
    fn secrets_stay_behind_when_any_address_changes() {
        let old = json!({ "url": "a", "auth": { "token_url": "t", "user": "u", "password": "old" } });
        let new = |url: &str, token_url: &str, password: &str| json!({ "url": url, "auth": { "token_url": token_url, "user": "u", "password": password } });
        assert_eq!(moved(new("a", "t", "***"), &old), (old.clone(), vec![]));
        let bare = |url: &str, token_url: &str| json!({ "url": url, "auth": { "token_url": token_url, "user": "u" } });
        let dropped = vec!["config.auth.password".to_owned()];
        assert_eq!(moved(new("b", "t", "***"), &old), (bare("b", "t"), dropped.clone()));
        assert_eq!(moved(bare("b", "t"), &old), (bare("b", "t"), dropped.clone()));
        assert_eq!(moved(new("a", "elsewhere", "***"), &old), (bare("a", "elsewhere"), dropped));
        assert_eq!(moved(new("b", "t", "new"), &old), (new("b", "t", "new"), vec![]));
        // Said again is given again, whatever it is.
        assert_eq!(moved(new("b", "t", "old"), &old), (new("b", "t", "old"), vec![]));
    }

    #[test]
    fn tools_leave_their_secrets_behind_with_their_service() {
        let tool =
            |id: &str, key: &str| ServiceTool { id: id.into(), definition: json!({ "key": key, "n": 1 }) };
        let old = [tool("a", "old"), tool("b", "old")];
        let (here, there) = (json!({ "url": "a" }), json!({ "url": "b" }));
        let mut moving = AddressChange::between(&there, &here, &schema());
        let tools = moving.tools_with_secrets(None, &old, &schema()).unwrap();
        assert!(tools.iter().all(|tool| tool.definition == json!({ "n": 1 })), "{tools:?}");
        assert_eq!(moving.dropped, ["tools[0].key", "tools[1].key"]);
        let mut moving = AddressChange::between(&there, &here, &schema());
        let new = vec![tool("c", "new"), tool("b", "new"), tool("a", "***")];
        let tools = moving.tools_with_secrets(Some(new), &old, &schema()).unwrap();
        assert_eq!(tools[2].definition, json!({ "n": 1 }));
        assert_eq!(
            (&tools[1].definition["key"], moving.dropped),
            (&json!("new"), vec!["tools[2].key".to_owned()])
        );
        let mut staying = AddressChange::between(&here, &here, &schema());
        assert!(staying.tools_with_secrets(None, &old, &schema()).is_none());
        let tools = staying.tools_with_secrets(Some(vec![tool("a", "***")]), &old, &schema()).unwrap();
        assert_eq!(tools[0].definition["key"], "old");
    }
}
