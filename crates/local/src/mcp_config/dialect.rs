//! The dialects of clients: units of time and spellings of variables, turned into ours.

use super::masked_text;
use serde_json::{Map, Number, Value};

/// How a client writes what others write otherwise. Where it stands, see `clients`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// What its `timeout` is.
    pub timeout: Timeout,
    /// How it spells variables, beside `${NAME}`.
    pub variables: Spelling,
}

/// What `timeout` bounds, and in which unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// One call, in milliseconds, as here.
    CallMilliseconds,
    /// One call, in seconds.
    CallSeconds,
    /// The start of the server, in seconds.
    StartSeconds,
}

/// A spelling of variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// `${NAME}`, as here.
    Ours,
    /// `$NAME`, and `$(command)`, which we do not run.
    Dollar,
    /// `{env:NAME}`, and `{file:path}`, which we do not read.
    Braces,
    /// `${{ secrets.NAME }}`
    Secrets,
}

/// Our own, which most clients speak.
pub const OURS: Dialect = Dialect { timeout: Timeout::CallMilliseconds, variables: Spelling::Ours };

/// The most milliseconds that our settings take.
const MAX_CALL_MS: u64 = 3_600_000;
const MAX_START_MS: u64 = 600_000;

/// An entry in our words, and what could not be said in them.
#[derive(Debug, Default)]
pub struct Translation {
    pub entry: Map<String, Value>,
    pub notes: Vec<String>,
}

impl Dialect {
    /// The entry with its times in milliseconds and its variables in our spelling; every other word of
    /// it is one that we understand as well.
    pub fn in_ours(self, entry: &Map<String, Value>) -> Translation {
        let mut ours = Translation::default();
        for (key, value) in entry {
            let mut value = value.clone();
            respell(&mut value, self.variables, &mut ours.notes);
            match (key.as_str(), self.timeout) {
                ("timeout", Timeout::CallSeconds) => {
                    ours.put_seconds("timeout", key, &value, MAX_CALL_MS);
                }
                ("timeout", Timeout::StartSeconds) => {
                    ours.put_seconds("start_timeout", key, &value, MAX_START_MS);
                }
                ("tool_timeout_sec", _) => ours.put_seconds("timeout", key, &value, MAX_CALL_MS),
                ("startup_timeout_sec", _) => ours.put_seconds("start_timeout", key, &value, MAX_START_MS),
                _ => drop(ours.entry.insert(key.clone(), value)),
            }
        }
        ours
    }
}

impl Translation {
    /// What is no number stays as it is, and is found to be wrong where everything is checked.
    fn put_seconds(&mut self, ours: &str, theirs: &str, value: &Value, max_ms: u64) {
        let Some(seconds) = value.as_f64().filter(|seconds| seconds.is_finite() && *seconds >= 0.0) else {
            self.entry.insert(ours.to_owned(), value.clone());
            return;
        };
        #[expect(clippy::cast_precision_loss, reason = "the limits are small")]
        let max_seconds = max_ms as f64 / 1000.0;
        if seconds > max_seconds {
            self.notes
                .push(format!("its {theirs} of {value} s is more than {max_seconds} s, which is the most"));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is within the limits"
        )]
        let ms = (seconds.min(max_seconds) * 1000.0).round() as u64;
        self.entry.insert(ours.to_owned(), Value::Number(Number::from(ms.max(1))));
    }
}

fn respell(value: &mut Value, spelling: Spelling, notes: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let respelt = match spelling {
                Spelling::Ours => return,
                Spelling::Dollar => from_dollar(text, notes),
                Spelling::Braces => from_braces(text, notes),
                Spelling::Secrets => from_secrets(text),
            };
            *text = respelt;
        }
        Value::Array(items) => items.iter_mut().for_each(|item| respell(item, spelling, notes)),
        Value::Object(fields) => fields.values_mut().for_each(|field| respell(field, spelling, notes)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// How long the name of a variable is with which the text begins.
fn name_length(text: &str) -> usize {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len())
}

fn from_dollar(text: &str, notes: &mut Vec<String>) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        result.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let length = name_length(after);
        if after.starts_with('(') {
            let end = after.find(')').map_or(after.len(), |end| end + 1);
            notes.push(format!("${} is a command that is not run here", masked_text(&after[..end])));
            result.push('$');
            result.push_str(&after[..end]);
            rest = &after[end..];
        } else if length > 0 {
            result.push_str(&format!("${{{}}}", &after[..length]));
            rest = &after[length..];
        } else {
            result.push('$');
            rest = after;
        }
    }
    result.push_str(rest);
    result
}

fn from_braces(text: &str, notes: &mut Vec<String>) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        result.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let Some(end) = after.find('}') else {
            rest = &rest[at..];
            break;
        };
        match after[..end].split_once(':') {
            Some(("env", name))
                if name_length(name.trim()) == name.trim().len() && !name.trim().is_empty() =>
            {
                result.push_str(&format!("${{{}}}", name.trim()));
            }
            Some(("file", _)) => {
                notes.push(format!("{{{}}} is a file that is not read here", &after[..end]));
                result.push_str(&rest[at..=at + 1 + end]);
            }
            _ => result.push_str(&rest[at..=at + 1 + end]),
        }
        rest = &after[end + 1..];
    }
    result.push_str(rest);
    result
}

fn from_secrets(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${{") {
        result.push_str(&rest[..at]);
        let Some(end) = rest[at..].find("}}") else {
            rest = &rest[at..];
            break;
        };
        let inner = rest[at + 3..at + end].trim();
        let name = inner.rsplit('.').next().unwrap_or_default();
        if inner.starts_with("secrets.") && !name.is_empty() && name_length(name) == name.len() {
            result.push_str(&format!("${{{name}}}"));
        } else {
            result.push_str(&rest[at..at + end + 2]);
        }
        rest = &rest[at + end + 2..];
    }
    result.push_str(rest);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn in_ours(dialect: Dialect, entry: &Value) -> (Value, Vec<String>) {
        let ours = dialect.in_ours(entry.as_object().unwrap());
        (Value::Object(ours.entry), ours.notes)
    }

    #[test]
    fn keeps_whatever_is_ours_already() {
        let entry =
            json!({ "command": "$X {env:Y}", "timeout": 60, "env": { "A": "${B:-c}" }, "more": [1.50] });
        assert_eq!(in_ours(OURS, &entry), (entry, vec![]));
    }

    #[test]
    fn respells_variables_and_nothing_else() {
        let respelt = |variables: Spelling, text: &str| {
            let dialect = Dialect { variables, ..OURS };
            in_ours(dialect, &json!({ "a": [text] })).0["a"][0].as_str().unwrap().to_owned()
        };
        for (spelling, text, wanted) in [
            (Spelling::Dollar, "$A-${B} $1 $ é$", "${A}-${B} $1 $ é$"),
            (Spelling::Dollar, "$(a $B) $C", "$(a $B) ${C}"),
            (Spelling::Dollar, "$(open", "$(open"),
            (Spelling::Braces, "{env:A}{ b }{env:}{env:A", "${A}{ b }{env:}{env:A"),
            (Spelling::Braces, "é{file:x}{env: A }", "é{file:x}${A}"),
            (Spelling::Secrets, "${{ secrets.A }}${{secrets.o/B.C}}${B}${{ open", "${A}${C}${B}${{ open"),
            (Spelling::Secrets, "${{ inputs.A }}", "${{ inputs.A }}"),
        ] {
            assert_eq!(respelt(spelling, text), wanted, "{text}");
        }
    }

    #[test]
    fn seconds_become_milliseconds_within_limits() {
        let roo = Dialect { timeout: Timeout::CallSeconds, ..OURS };
        for (given, wanted) in [(json!(60), json!(60_000)), (json!(0.5), json!(500)), (json!(0), json!(1))] {
            assert_eq!(in_ours(roo, &json!({ "timeout": given })), (json!({ "timeout": wanted }), vec![]));
        }
        let (entry, notes) = in_ours(roo, &json!({ "timeout": 1e300, "startup_timeout_sec": 2 }));
        assert_eq!(entry, json!({ "timeout": MAX_CALL_MS, "start_timeout": 2000 }));
        assert_eq!(notes.len(), 1);
        assert_eq!(in_ours(roo, &json!({ "timeout": "60" })).0, json!({ "timeout": "60" }));
    }
}
