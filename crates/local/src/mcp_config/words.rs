//! The words of clients: what each key of an entry means to us, whoever wrote it.

mod table;

use super::switches::{Lists, Switches};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::LazyLock;
use table::{Meaning, WORDS};

/// Types of servers that are inside a client and cannot be started by anybody else.
const BUILT_IN: [&str; 4] = ["builtin", "platform", "frontend", "inline_python"];

/// The settings of the connector: whatever the schema lists is honoured.
static SETTINGS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let schema = connectors::find(connectors::MCP_SCHEME).map(tool::Kind::settings_schema);
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, _)| name.clone()).collect()
});

/// An entry as we understand it.
#[derive(Debug, Default)]
pub struct Understood {
    /// What the connector takes.
    pub settings: Map<String, Value>,
    /// A file with more of its environment.
    pub env_file: Option<String>,
    /// Whether it is switched on.
    pub is_enabled: bool,
    /// What else was said, as it was said.
    pub rest: Map<String, Value>,
    /// Keys that nobody knows.
    pub unknown: Vec<String>,
    /// It is a part of the client whose file it stands in, and runs nowhere else.
    pub is_part_of_client: bool,
    /// What is wrong with it, by name.
    pub problems: Vec<String>,
}

impl Understood {
    /// What an entry says.
    pub fn of(entry: &Map<String, Value>) -> Self {
        let mut understood = Self { is_enabled: true, ..Self::default() };
        let inner = entry.get("transport").and_then(Value::as_object);
        let fields = entry.iter().filter(|(key, _)| !(*key == "transport" && inner.is_some()));
        // Ours come first, so that they win.
        let (ours, theirs): (Vec<_>, Vec<_>) = fields
            .chain(inner.into_iter().flatten())
            .filter(|(_, value)| !value.is_null())
            .partition(|(key, _)| SETTINGS.contains(*key) && !WORDS.iter().any(|(word, _)| word == key));
        ours.into_iter().chain(theirs).for_each(|(key, value)| understood.take(key, value));
        understood.settle_command();
        understood.settle_type(entry);
        understood.settle_timeout();
        for key in ["env", "headers"] {
            understood.settings.entry(key).and_modify(values_as_text);
        }
        understood.settings.retain(|_, value| !value.is_null());
        understood
    }

    /// The entry in the words of an mcp.json, with whatever else was said.
    pub fn into_entry(self) -> Map<String, Value> {
        self.settings.into_iter().chain(self.rest).collect()
    }

    fn take(&mut self, key: &str, value: &Value) {
        let known = WORDS.iter().find(|(word, _)| *word == key).map(|(_, meaning)| *meaning);
        match (key, known) {
            ("disabled" | "enabled", _) => {
                match value.as_bool() {
                    Some(flag) => self.is_enabled &= flag == (key == "enabled"),
                    None => self.wrong_type(key, "true or false", value),
                }
                self.rest.insert(key.to_owned(), value.clone());
            }
            ("envFile", _) => {
                self.env_file = value.as_str().map(str::to_owned);
                if self.env_file.is_none() {
                    self.wrong_type(key, "the path of a file", value);
                }
                self.rest.insert(key.to_owned(), value.clone());
            }
            // A list of tools, or which of them are on and how each is approved.
            ("tools", _) if value.is_array() => self.put_new("includeTools", key, value),
            ("tools", _) if value.is_object() => self.take_switches(key, value),
            (_, Some(meaning)) => self.take_word(key, meaning, value),
            _ if SETTINGS.contains(key) => drop(self.settings.insert(key.to_owned(), value.clone())),
            _ => {
                if !(key.starts_with(['_', '$', '/', '#']) || key.starts_with("x-")) {
                    self.unknown.push(key.to_owned());
                }
                self.rest.insert(key.to_owned(), value.clone());
            }
        }
    }

    fn take_word(&mut self, key: &str, meaning: Meaning, value: &Value) {
        match meaning {
            Meaning::Is(ours) => self.put_new(ours, key, value),
            Meaning::OnlyIfAny(ours) => {
                if value.as_array().is_none_or(|names| !names.is_empty()) {
                    self.put_new(ours, key, value);
                }
            }
            Meaning::AddsTo(ours) => match (self.settings.get_mut(ours), value) {
                (Some(Value::Array(there)), Value::Array(more)) => there.extend(more.iter().cloned()),
                _ => drop(self.settings.insert(ours.to_owned(), value.clone())),
            },
            Meaning::Variables => {
                let names = value.as_array().into_iter().flatten().filter_map(Value::as_str);
                names.for_each(|name| self.add("env", name, format!("${{{name}}}")));
            }
            Meaning::Headers => match value {
                Value::Object(headers) => self.add_headers(headers),
                _ => self.put_new("headers", key, value),
            },
            Meaning::HeadersFromVariables => {
                for (header, variable) in value.as_object().into_iter().flatten() {
                    let variable = variable.as_str().unwrap_or_default();
                    self.add("headers", header, format!("${{{variable}}}"));
                }
            }
            Meaning::Bearer => {
                let variable = value.as_str().unwrap_or_default();
                if let Some(Value::Object(headers)) = self.settings.get_mut("headers") {
                    headers.retain(|name, _| !name.eq_ignore_ascii_case("Authorization"));
                }
                self.add("headers", "Authorization", format!("Bearer ${{{variable}}}"));
            }
            Meaning::Requests => {
                for (inner, value) in value.as_object().into_iter().flatten() {
                    match (inner.as_str(), value) {
                        ("headers", Value::Object(headers)) => self.add_headers(headers),
                        _ => self.unknown.push(format!("{key}.{inner}")),
                    }
                }
            }
            Meaning::Nothing => drop(self.rest.insert(key.to_owned(), value.clone())),
        }
    }

    fn take_switches(&mut self, key: &str, value: &Value) {
        let mut switches = Switches::default();
        for (tool, said) in value.as_object().into_iter().flatten() {
            let flag = |name: &str| said.get(name).and_then(Value::as_bool);
            match (said, flag("enabled").or_else(|| flag("disabled").map(|is_off| !is_off))) {
                (Value::Bool(is_on), _) => switches.put(tool, *is_on),
                (Value::Object(_), Some(is_on)) => switches.put(tool, is_on),
                // How it is approved is the client's own business.
                (Value::Object(_), None) => {}
                _ => self.unknown.push(format!("{key}.{tool}")),
            }
        }
        let Lists { include, exclude, lost } = switches.lists(!self.settings.contains_key("includeTools"));
        if !include.is_empty() {
            self.put_new("includeTools", key, &include.into());
        }
        if !exclude.is_empty() {
            self.take_word(key, Meaning::AddsTo("excludeTools"), &exclude.into());
        }
        self.unknown
            .extend(lost.iter().map(|tool| format!("{key}.{tool} beside a rule that switches it off")));
        self.rest.insert(key.to_owned(), value.clone());
    }

    /// Puts a value under our key, unless we have one.
    fn put_new(&mut self, ours: &str, theirs: &str, value: &Value) {
        if self.settings.contains_key(ours) {
            self.unknown.push(format!("{theirs} beside {ours}"));
            return;
        }
        self.settings.insert(ours.to_owned(), value.clone());
    }

    fn add_headers(&mut self, headers: &Map<String, Value>) {
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_null()) {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            self.add("headers", name, text);
        }
    }

    /// Puts a variable or a header in, unless it is there; names of headers have no case.
    fn add(&mut self, place: &str, name: &str, text: String) {
        let is_same = |there: &String| match place {
            "headers" => there.eq_ignore_ascii_case(name),
            _ => there == name,
        };
        let place = self.settings.entry(place).or_insert_with(|| Value::Object(Map::new()));
        if let Some(place) = place.as_object_mut().filter(|place| !place.keys().any(is_same)) {
            place.insert(name.to_owned(), text.into());
        }
    }

    /// A command may be a list, or an object with its path.
    fn settle_command(&mut self) {
        let arguments = match self.settings.get("command") {
            Some(Value::Array(words)) if !words.is_empty() && words.iter().all(Value::is_string) => {
                let mut words = words.clone();
                let arguments = words.split_off(1);
                self.settings.insert("command".into(), words.remove(0));
                arguments
            }
            Some(Value::Object(command)) if command.contains_key("path") => {
                let command = command.clone();
                if let Some(env) = command.get("env").filter(|env| !env.is_null()) {
                    self.put_new("env", "command.env", env);
                }
                let arguments = command.get("args").and_then(Value::as_array).cloned();
                self.settings.insert("command".into(), command["path"].clone());
                arguments.unwrap_or_default()
            }
            _ => return,
        };
        match self.settings.get_mut("args") {
            Some(Value::Array(more)) => drop(more.splice(0..0, arguments)),
            Some(_) => {}
            None if arguments.is_empty() => {}
            None => drop(self.settings.insert("args".into(), arguments.into())),
        }
    }

    fn settle_type(&mut self, entry: &Map<String, Value>) {
        let kind = self.settings.get("type").and_then(Value::as_str).map(str::to_owned);
        match kind.as_deref() {
            Some("local") => drop(self.settings.insert("type".into(), "stdio".into())),
            Some("remote") => drop(self.settings.remove("type")),
            Some("streamable_http") => drop(self.settings.insert("type".into(), "http".into())),
            Some(kind) if BUILT_IN.contains(&kind) => {
                self.is_part_of_client = true;
                self.problems.push(format!("it is a part of its client itself (type {kind})"));
            }
            None if entry.contains_key("httpUrl") => drop(self.settings.insert("type".into(), "http".into())),
            _ => {}
        }
    }

    /// A time may be one for the start and one for each request.
    fn settle_timeout(&mut self) {
        let Some(Value::Object(times)) = self.settings.get("timeout").cloned() else { return };
        self.settings.remove("timeout");
        for (key, value) in &times {
            match key.as_str() {
                "startup" => self.put_new("start_timeout", "timeout.startup", value),
                "request" => self.put_new("timeout", "timeout.request", value),
                _ => self.unknown.push(format!("timeout.{key}")),
            }
        }
    }

    fn wrong_type(&mut self, key: &str, wanted: &str, value: &Value) {
        self.problems.push(format!("'{key}' must be {wanted}, not {}", kind(value)));
    }
}

/// Variables and headers are texts; numbers stand for theirs, and null for none.
fn values_as_text(values: &mut Value) {
    let Some(values) = values.as_object_mut() else { return };
    values.retain(|_, value| !value.is_null());
    for value in values.values_mut() {
        if value.is_number() || value.is_boolean() {
            *value = Value::String(value.to_string());
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
