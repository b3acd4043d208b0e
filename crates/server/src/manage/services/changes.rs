//! What a new description of a service would change on the one there is.

use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::HashSet;
use store::ServiceTool;
use utoipa::ToSchema;

/// What an import makes of a tool; everything else on it is the user's.
const IMPORTED: [&str; 5] = ["description", "method", "endpoint", "headers", "parameters"];

#[derive(Debug, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct Changes {
    /// Ids of tools that are new.
    added: Vec<String>,
    /// Ids of tools that the description has no more.
    removed: Vec<String>,
    /// Tools that are different now.
    changed: Vec<ChangedTool>,
    /// How many tools stay as they are.
    unchanged: usize,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ChangedTool {
    id: String,
    fields: Vec<ChangedField>,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ChangedField {
    /// E.g. `endpoint` or `parameters.limit`.
    field: String,
    /// What it was; null where it was not there.
    from: Value,
    /// What it is to be; null where it goes.
    to: Value,
}

/// The tools as they are to be: the description's, with what users added to them. Those it has no more go, or
/// stay behind the others. `before` are the tools as the last description made them, where that is known.
pub(crate) fn updated(
    new: Vec<ServiceTool>,
    old: &[ServiceTool],
    before: &[ServiceTool],
    keeps_missing: bool,
) -> Vec<ServiceTool> {
    let find = |tools: &[ServiceTool], id: &str| tools.iter().find(|tool| tool.id == id).cloned();
    let mut result: Vec<_> = new
        .into_iter()
        .map(|mut tool| {
            if let Some(old) = find(old, &tool.id) {
                keep_what_users_added(&mut tool.definition, &old.definition);
                if let Some(before) = find(before, &tool.id) {
                    keep_own_words(&mut tool.definition, &old.definition, &before.definition);
                }
            }
            tool
        })
        .collect();
    if keeps_missing {
        let is_missing = |tool: &&ServiceTool| !result.iter().any(|new| new.id == tool.id);
        let missing: Vec<_> = old.iter().filter(is_missing).cloned().collect();
        result.extend(missing);
    }
    result
}

fn keep_what_users_added(new: &mut Value, old: &Value) {
    let (Some(new), Some(old)) = (new.as_object_mut(), old.as_object()) else { return };
    for (key, value) in old.iter().filter(|(key, _)| !IMPORTED.contains(&key.as_str())) {
        new.entry(key).or_insert_with(|| value.clone());
    }
    if let Some(headers) = old.get("headers").and_then(Value::as_object) {
        let kept = new.entry("headers").or_insert_with(|| Map::new().into());
        for (name, value) in headers {
            if let Some(kept) = kept.as_object_mut() {
                kept.entry(name).or_insert_with(|| value.clone());
            }
        }
    }
}

/// A description that is not what the last document said is the user's own.
fn keep_own_words(new: &mut Value, old: &Value, before: &Value) {
    let said = &old["description"];
    if *said != before["description"] && said.as_str().is_some_and(|said| !said.is_empty()) {
        new["description"] = said.clone();
    }
}

/// The settings there are, secrets masked, with those that the request gave; never a document's, which could send the
/// service's credentials somewhere else, but for those that hold the description itself.
pub(crate) fn kept_config(
    shown: &Value,
    given: Map<String, Value>,
    described: Map<String, Value>,
) -> Map<String, Value> {
    let mut config = shown.as_object().cloned().unwrap_or_default();
    for (key, value) in given {
        match (config.get_mut(&key), value) {
            // With another type it is another thing, which has other fields.
            (Some(Value::Object(old)), Value::Object(new))
                if new.get("type").is_none_or(|kind| old.get("type") == Some(kind)) =>
            {
                // A header that is written in another case is still the same.
                old.retain(|name, _| !new.keys().any(|new| new != name && new.eq_ignore_ascii_case(name)));
                old.extend(new);
            }
            (_, value) => {
                config.insert(key, value);
            }
        }
    }
    config.extend(described);
    config
}

/// The ids of tools that are no more.
pub(crate) fn removed<'a>(old: &'a [ServiceTool], new: &[ServiceTool]) -> Vec<&'a str> {
    let kept: HashSet<_> = new.iter().map(|tool| tool.id.as_str()).collect();
    old.iter().map(|tool| tool.id.as_str()).filter(|id| !kept.contains(id)).collect()
}

/// The differences between two lists of definitions with ids.
pub(crate) fn between(old: &[Value], new: &[Value]) -> Changes {
    let find = |list: &[Value], tool: &Value| list.iter().find(|other| other["id"] == tool["id"]).cloned();
    let id = |tool: &Value| tool["id"].as_str().unwrap_or_default().to_owned();
    let mut changes = Changes::default();
    for tool in new {
        let Some(before) = find(old, tool) else {
            changes.added.push(id(tool));
            continue;
        };
        let fields = fields(&before, tool);
        if fields.is_empty() {
            changes.unchanged += 1;
        } else {
            changes.changed.push(ChangedTool { id: id(tool), fields });
        }
    }
    changes.removed = old.iter().filter(|tool| find(new, tool).is_none()).map(id).collect();
    changes
}

fn fields(old: &Value, new: &Value) -> Vec<ChangedField> {
    let none = Map::new();
    let (old, new) = (old.as_object().unwrap_or(&none), new.as_object().unwrap_or(&none));
    let mut changed = Vec::new();
    for key in old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))) {
        let (from, to) = (old.get(key).unwrap_or(&Value::Null), new.get(key).unwrap_or(&Value::Null));
        if from == to || is_nothing(from) && is_nothing(to) {
            continue;
        }
        match (from, to) {
            (Value::Array(from), Value::Array(to)) if key == "parameters" => {
                parameters(from, to, &mut changed)
            }
            _ => changed.push(ChangedField { field: key.clone(), from: from.clone(), to: to.clone() }),
        }
    }
    changed
}

/// Parameters are compared by their names, so that one in the middle does not change all behind it.
fn parameters(old: &[Value], new: &[Value], changed: &mut Vec<ChangedField>) {
    let find = |list: &[Value], parameter: &Value| {
        list.iter().find(|other| other["name"] == parameter["name"]).cloned().unwrap_or_default()
    };
    let mut add = |parameter: &Value, from: Value, to: Value| {
        let name = parameter["name"].as_str().unwrap_or_default();
        changed.push(ChangedField { field: format!("parameters.{name}"), from, to });
    };
    for parameter in old {
        let to = find(new, parameter);
        if to != *parameter {
            add(parameter, parameter.clone(), to);
        }
    }
    for parameter in new.iter().filter(|parameter| find(old, parameter).is_null()) {
        add(parameter, Value::Null, parameter.clone());
    }
}

/// Nothing, in one of the ways to write it.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_each_difference_once() {
        let old = [
            json!({ "id": "same", "endpoint": "/s", "headers": {} }),
            json!({ "id": "gone", "endpoint": "/g" }),
            json!({ "id": "other", "endpoint": "/o", "parameters": [{ "name": "a" }, { "name": "b" }] }),
        ];
        let new = [
            json!({ "id": "other", "endpoint": "/p", "parameters": [{ "name": "b", "required": true }, { "name": "c" }] }),
            json!({ "id": "new", "endpoint": "/n" }),
            json!({ "id": "same", "endpoint": "/s" }),
        ];
        let changes = between(&old, &new);
        assert_eq!(
            (changes.added, changes.removed, changes.unchanged),
            (vec!["new".into()], vec!["gone".into()], 1)
        );
        let fields: Vec<_> = changes.changed[0].fields.iter().map(|change| change.field.as_str()).collect();
        assert_eq!(fields, ["endpoint", "parameters.a", "parameters.b", "parameters.c"]);
        assert_eq!(changes.changed[0].fields[1].to, Value::Null);
        assert_eq!(changes.changed[0].fields[3].from, Value::Null);
    }

    /// SV-12: words of the user's own stay, those of the last document go.
    #[test]
    fn keeps_descriptions_that_users_wrote() {
        let tool = |text: &str| ServiceTool { id: "a".into(), definition: json!({ "description": text }) };
        for (old, expected) in [("from the document", "new"), ("my own", "my own"), ("", "new")] {
            let updated = updated(vec![tool("new")], &[tool(old)], &[tool("from the document")], false);
            assert_eq!(updated[0].definition["description"], expected);
        }
        assert_eq!(
            updated(vec![tool("new")], &[tool("old")], &[], false)[0].definition["description"],
            "new"
        );
    }

    /// SV-12: what describes a service is replaced as a whole, and so is a discovery of another type.
    #[test]
    fn replaces_what_is_another_thing() {
        let object = |value: Value| value.as_object().cloned().unwrap();
        let old = json!({ "schema": { "protos": { "a": "" } }, "discovery": { "type": "static", "endpoints": ["a:1"] },
            "headers": { "A": "1" } });
        let given = object(json!({ "discovery": { "type": "dns", "name": "b" }, "headers": { "B": "2" } }));
        let described = object(json!({ "schema": { "descriptor_set": "x" } }));
        let kept = Value::Object(kept_config(&old, given, described));
        assert_eq!(kept["schema"], json!({ "descriptor_set": "x" }));
        assert_eq!(kept["discovery"], json!({ "type": "dns", "name": "b" }));
        assert_eq!(kept["headers"], json!({ "A": "1", "B": "2" }));
        let moved = object(json!({ "discovery": { "endpoints": ["b:1"] } }));
        let kept = Value::Object(kept_config(&old, moved, Map::new()));
        assert_eq!(kept["discovery"], json!({ "type": "static", "endpoints": ["b:1"] }));
    }

    #[test]
    fn keeps_what_users_added_to_a_tool() {
        let tool = |id: &str, definition: Value| ServiceTool { id: id.into(), definition };
        let old = [
            tool("a", json!({ "endpoint": "/old", "select": "x", "headers": { "X-Own": "1" } })),
            tool("b", json!({ "endpoint": "/b" })),
        ];
        let new = || vec![tool("a", json!({ "endpoint": "/new", "headers": { "Content-Type": "t" } }))];
        let expected =
            json!({ "endpoint": "/new", "select": "x", "headers": { "Content-Type": "t", "X-Own": "1" } });
        let result = updated(new(), &old, &[], false);
        assert_eq!(result.len(), 1);
        assert_eq!(result[0].definition, expected);
        assert_eq!(updated(new(), &old, &[], true).len(), 2);
    }
}
