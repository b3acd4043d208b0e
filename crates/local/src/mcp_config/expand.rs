//! Variables in strings: `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${input:id}` and folders as clients name
//! them. A default may hold variables itself.

use serde_json::Value;
use std::collections::BTreeSet;
use tool::Reason;

/// So deep variables may stand in each other's defaults.
const MAX_DEPTH: usize = 16;
/// What only the client knows that it was written for.
const OTHERS: [&str; 4] = ["command:", "config:", "file:", "workspaceFolder:"];
/// Before the id of something that a person is asked for.
pub(super) const INPUT: &str = "input:";
/// What clients fill in by themselves. A variable of the same name wins.
pub(super) const FOLDERS: [&str; 6] =
    ["workspaceFolder", "workspaceFolderBasename", "userHome", "cwd", "pathSeparator", "/"];

/// So much of a text is shown in a message.
const NAMED_CHARS: usize = 40;

/// What came out of expanding.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Every variable that was asked for.
    pub(super) names: BTreeSet<String>,
    /// Those that are not set and have no default.
    pub(super) unset: BTreeSet<String>,
    /// The inputs that were asked for.
    pub(super) inputs: BTreeSet<String>,
    /// Those of them that nobody has given yet.
    pub(super) unset_inputs: BTreeSet<String>,
    /// What only another program can fill in, and what is nested too deep.
    pub(super) impossible: BTreeSet<String>,
    /// What begins as a variable and has no end; it stays as it is.
    pub(super) open: BTreeSet<String>,
}

impl Found {
    /// What somebody has to give before the entry can be used.
    pub(super) fn missing(&self) -> Option<Reason> {
        let variable = (!self.unset.is_empty()).then_some(Reason::VariableNotSet);
        variable.or_else(|| (!self.unset_inputs.is_empty()).then_some(Reason::InputNotGiven))
    }
}

/// Expands every string in the value. `lookup` knows the variables.
pub(super) fn expand(value: &mut Value, lookup: &dyn Fn(&str) -> Option<String>, found: &mut Found) {
    match value {
        Value::String(text) => *text = expand_text(text, lookup, found, 0),
        Value::Array(items) => items.iter_mut().for_each(|item| expand(item, lookup, found)),
        Value::Object(fields) => fields.values_mut().for_each(|field| expand(field, lookup, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn expand_text(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
    found: &mut Found,
    depth: usize,
) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        result.push_str(&rest[..start]);
        rest = &rest[start..];
        let Some(length) = length(rest) else {
            found.open.insert(beginning(rest));
            break;
        };
        let whole = &rest[..length];
        rest = &rest[length..];
        let inner = &whole[2..length - 1];
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        if depth > MAX_DEPTH {
            found.impossible.insert(format!("{}: variables are nested too deep", beginning(whole)));
        } else if is_known(name) {
            match name.strip_prefix(INPUT) {
                Some(id) => drop(found.inputs.insert(id.to_owned())),
                None if FOLDERS.contains(&name) => {}
                None => drop(found.names.insert(name.to_owned())),
            }
            // What stands in a default that nobody needs may be unset, but not wrong.
            let mut aside = Found::default();
            let value = lookup(name);
            let of_default = if value.is_some() { &mut aside } else { &mut *found };
            let default = default.map(|default| expand_text(default, lookup, of_default, depth + 1));
            found.impossible.append(&mut aside.impossible);
            found.open.append(&mut aside.open);
            found.inputs.append(&mut aside.inputs);
            match (value.or(default), name.strip_prefix(INPUT)) {
                (Some(value), _) => result.push_str(&value),
                (None, Some(id)) => drop(found.unset_inputs.insert(id.to_owned())),
                (None, None) => drop(found.unset.insert(name.to_owned())),
            }
        } else {
            // Not ours: what a shell would fill in stays as it is.
            if OTHERS.iter().any(|other| name.starts_with(other)) {
                let why = "can be filled in by another client alone; write ${VARIABLE} and set the variable";
                found.impossible.insert(format!("{} {why}", beginning(whole)));
            }
            result.push_str(whole);
        }
    }
    result.push_str(rest);
    result
}

/// How long the variable is with which the text begins, up to the end of the outermost one.
fn length(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let next = rest.find(['$', '}'])?;
        at += next + 1;
        if rest[next..].starts_with("${") {
            open += 1;
            at += 1;
        } else if rest[next..].starts_with('}') {
            open -= 1;
            if open == 0 {
                return Some(at);
            }
        }
    }
}

/// As much of a text as names it in a message; what is behind `:-` may be a secret.
fn beginning(text: &str) -> String {
    let text = text.split(":-").next().unwrap_or_default();
    let name: String = text.chars().take(NAMED_CHARS).take_while(|c| !c.is_whitespace()).collect();
    format!("'{name}'")
}

fn is_known(name: &str) -> bool {
    FOLDERS.contains(&name) || name.strip_prefix(INPUT).is_some_and(|id| !id.is_empty()) || is_variable(name)
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
            ("${NOPE:-x${HOME}y}z", "x/home/adayz"),
            ("${NOPE:-${ALSO:-${HOME}}}", "/home/ada"),
            ("${HOME:-${NOPE}}", "/home/ada"),
            ("${NOPE:-{\"a\":1}}", "{\"a\":1}"),
            ("${NOPE:-a$}$b", "a$$b"),
        ] {
            assert_eq!(expanded(text), (result.to_owned(), vec![]), "{text}");
        }
    }

    #[test]
    fn names_what_is_not_set() {
        assert_eq!(expanded("Bearer ${TOKEN} ${OTHER}").1, ["OTHER", "TOKEN"]);
        assert_eq!(expanded("${TOKEN:-a${OTHER}}").1, ["OTHER"]);
    }

    #[test]
    fn names_inputs_by_themselves() {
        let look = |text: &str| {
            let mut found = Found::default();
            let mut value = json!(text);
            expand(&mut value, &|name| (name == "input:given").then(|| "x".to_owned()), &mut found);
            let unset: Vec<_> = found.unset_inputs.into_iter().collect();
            (value.as_str().unwrap().to_owned(), unset.join(","), found.inputs.len(), found.names.len())
        };
        assert_eq!(look("a${input:given}b"), ("axb".into(), String::new(), 1, 0));
        assert_eq!(look("${input:my key}${input:given}"), ("x".into(), "my key".into(), 2, 0));
        assert_eq!(look("${input:none:-y}"), ("y".into(), String::new(), 1, 0));
        assert_eq!(look("${input:}"), ("${input:}".into(), String::new(), 0, 0));
    }

    #[test]
    fn names_what_nobody_can_fill_in() {
        let look = |text: &str| {
            let mut found = Found::default();
            expand(&mut json!(text), &|name| (name == "HOME").then(String::new), &mut found);
            (found.impossible.into_iter().collect::<Vec<_>>().join("\n"), found.open)
        };
        for text in ["Bearer ${command:tok}", "${HOME:-${command:tok}}", "${NOPE:-${command:tok}}"] {
            assert!(
                look(text).0.starts_with("'${command:tok}' can be filled in by another client"),
                "{text}"
            );
        }
        assert!(look("${config:a.b}").0.contains("'${config:a.b}'"));
        for (text, open) in
            [("a ${open b", "'${open'"), ("${NOPE:-s3cret", "'${NOPE'"), ("${NOPE:-a${HOME}", "'${NOPE'")]
        {
            assert_eq!(look(text).1.first().unwrap(), open, "{text}");
        }
        let deep = format!("{}{}", "${NOPE:-".repeat(100_000), "}".repeat(100_000));
        assert!(look(&deep).0.contains("nested too deep"));
        assert_eq!(look("${x%%y} ${workspace.folder}"), (String::new(), BTreeSet::new()));
    }
}
