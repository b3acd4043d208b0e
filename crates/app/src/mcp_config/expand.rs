//! Variables in strings: `${VAR}`, `${VAR:-default}` and `${env:VAR}`.

use serde_json::Value;
use std::collections::BTreeSet;

/// What came out of expanding.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Every variable that was asked for.
    pub(super) names: BTreeSet<String>,
    /// Those that are not set and have no default.
    pub(super) unset: BTreeSet<String>,
}

/// Expands every string in the value. `lookup` knows the variables.
pub(super) fn expand(value: &mut Value, lookup: &dyn Fn(&str) -> Option<String>, found: &mut Found) {
    match value {
        Value::String(text) => *text = expand_text(text, lookup, found),
        Value::Array(items) => items.iter_mut().for_each(|item| expand(item, lookup, found)),
        Value::Object(fields) => fields.values_mut().for_each(|field| expand(field, lookup, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn expand_text(text: &str, lookup: &dyn Fn(&str) -> Option<String>, found: &mut Found) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else { break };
        result.push_str(&rest[..start]);
        let inner = &rest[start + 2..start + length];
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        if is_variable(name) {
            found.names.insert(name.to_owned());
            match lookup(name).or_else(|| default.map(str::to_owned)) {
                Some(value) => result.push_str(&value),
                None => drop(found.unset.insert(name.to_owned())),
            }
        } else {
            // Not ours: `${workspaceFolder:…}` and the like stay as they are.
            result.push_str(&rest[start..=start + length]);
        }
        rest = &rest[start + length + 1..];
    }
    result.push_str(rest);
    result
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn expanded(text: &str) -> (String, Vec<String>) {
        let lookup = |name: &str| match name {
            "HOME" => Some("/home/ada".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let mut value = json!({ "a": [text] });
        let mut found = Found::default();
        expand(&mut value, &lookup, &mut found);
        (value["a"][0].as_str().unwrap().to_owned(), found.unset.into_iter().collect())
    }

    #[test]
    fn knows_three_spellings() {
        for (text, result) in [
            ("${HOME}/x", "/home/ada/x"),
            ("${env:HOME}", "/home/ada"),
            ("${NOPE:-x:-y}", "x:-y"),
            ("${HOME:-x}", "/home/ada"),
            ("${EMPTY:-x}", ""),
            ("${NOPE:-}", ""),
            ("$HOME ${", "$HOME ${"),
            ("${workspace.folder}", "${workspace.folder}"),
            ("${HOME}${HOME}", "/home/ada/home/ada"),
        ] {
            assert_eq!(expanded(text), (result.to_owned(), vec![]), "{text}");
        }
    }

    #[test]
    fn names_what_is_not_set() {
        assert_eq!(expanded("Bearer ${TOKEN} ${OTHER}").1, ["OTHER", "TOKEN"]);
    }
}
