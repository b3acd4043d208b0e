//! The formats in which clients keep their servers: JSON with comments, TOML and YAML.

use super::jsonc::{self, Document};
use serde_json::{Map, Value};
use std::path::Path;
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike};

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// With comments and commas too many, as people write it.
    Json,
    /// As Codex has it.
    Toml,
    /// Read, never changed: nothing we have keeps its comments.
    Yaml,
}

/// What is to become of a service in a text.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// It is added or replaced.
    Set(&'a str, &'a Value),
    /// It goes.
    Remove(&'a str),
}

impl Format {
    /// What the name of a file says; everything is JSON that does not say otherwise.
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::Json,
        }
    }

    /// Reads a text. Nothing at all is an empty object.
    pub fn parse(self, text: &str) -> Result<Map<String, Value>, String> {
        match self {
            Self::Json => jsonc::parse(text),
            Self::Toml => {
                let document: DocumentMut =
                    text.parse().map_err(|error| format!("it is no TOML: {error}"))?;
                Ok(from_table(document.as_table()))
            }
            Self::Yaml if text.trim().is_empty() => Ok(Map::new()),
            Self::Yaml => match connectors::parse_yaml(text)? {
                Value::Object(root) => Ok(root),
                Value::Null => Ok(Map::new()),
                _ => Err("it must be a mapping".into()),
            },
        }
    }

    /// The text with these changes; what is not changed stays as it was written.
    pub fn edit(self, text: &str, place: &[&str], changes: &[Change<'_>]) -> Result<String, String> {
        match self {
            Self::Json => {
                let mut document = Document::open(text, place)?;
                for change in changes {
                    match change {
                        Change::Set(name, value) => document.set(name, value),
                        Change::Remove(name) => document.remove(name),
                    }
                }
                document.text()
            }
            Self::Toml => edit_toml(text, place, changes),
            Self::Yaml => Err(self.only_read().unwrap_or_default().to_owned()),
        }
    }

    /// Whether a text says nothing at all: editors empty a file before they write it.
    pub fn is_blank(self, text: &str) -> bool {
        match self {
            Self::Json => jsonc::is_blank(text),
            Self::Toml | Self::Yaml => self.parse(text).is_ok_and(|root| root.is_empty()),
        }
    }

    /// Why such a file is not our own to change, if it is not.
    pub fn only_read(self) -> Option<&'static str> {
        match self {
            Self::Json => None,
            Self::Toml => Some("it is TOML, which can be read here, but not changed"),
            Self::Yaml => Some("it is YAML, which can be read here, but not changed"),
        }
    }
}

fn edit_toml(text: &str, place: &[&str], changes: &[Change<'_>]) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error| format!("it is no TOML: {error}"))?;
    let wrong = || format!("'{}' must be a table", place.join("."));
    let mut found: &mut dyn TableLike = document.as_table_mut();
    for key in place {
        let made = || {
            let mut table = Table::new();
            // Only the tables in it have something to say.
            table.set_implicit(true);
            Item::Table(table)
        };
        found = found.entry(key).or_insert_with(made).as_table_like_mut().ok_or_else(wrong)?;
    }
    for change in changes {
        match change {
            Change::Remove(name) => drop(found.remove(name)),
            Change::Set(name, value) => {
                let Some(Value::Object(fields)) = Some(value) else { return Err(wrong()) };
                let mut table = Table::new();
                for (key, value) in fields {
                    if let Some(value) = to_toml(value) {
                        table.insert(key, Item::Value(value));
                    }
                }
                found.insert(name, Item::Table(table));
            }
        }
    }
    Ok(document.to_string())
}

/// TOML has no null: what would be one is left out.
fn to_toml(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => integer.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().filter_map(to_toml).collect::<toml_edit::Array>().into(),
        Value::Object(fields) => {
            let fields = fields.iter().filter_map(|(key, value)| Some((key.as_str(), to_toml(value)?)));
            fields.collect::<InlineTable>().into()
        }
    })
}

fn from_table(table: &dyn TableLike) -> Map<String, Value> {
    table.iter().map(|(key, item)| (key.to_owned(), from_item(item))).collect()
}

fn from_item(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => from_value(value),
        Item::Table(table) => Value::Object(from_table(table)),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| Value::Object(from_table(table))).collect(),
    }
}

fn from_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().clone().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(value) => (*value.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(items) => items.iter().map(from_value).collect(),
        toml_edit::Value::InlineTable(table) => Value::Object(from_table(table)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn changes_toml_in_place() {
        let text = "# mine\nmodel = \"o\" # kept\n\n[mcp_servers.a]\ncommand = \"x\"\n\n[mcp_servers.a.env]\nK = \"1\"\n\n[other]\nz = 1\n";
        let us = json!({ "command": "/bin/us", "args": ["stdio"] });
        let changes = [Change::Remove("a"), Change::Set("us", &us)];
        let now = Format::Toml.edit(text, &["mcp_servers"], &changes).unwrap();
        for kept in ["# mine", "# kept", "[other]", "[mcp_servers.us]"] {
            assert!(now.contains(kept), "{kept} in {now}");
        }
        let root = Format::Toml.parse(&now).unwrap();
        assert_eq!(root["mcp_servers"], json!({ "us": us }));
        let made = Format::Toml.edit("", &["mcp_servers"], &changes[1..]).unwrap();
        assert_eq!(Format::Toml.parse(&made).unwrap()["mcp_servers"]["us"], us);
        assert!(Format::Toml.edit("mcp_servers = 7", &["mcp_servers"], &changes).is_err());
        assert!(Format::Toml.parse(&format!("a = {}", "[".repeat(100_000))).is_err());
    }

    #[test]
    fn reads_every_format() {
        for (path, text) in
            [("a.json", "{\"a\":{\"b\":1}}"), ("a.toml", "[a]\nb = 1"), ("a.yml", "a:\n  b: 1")]
        {
            assert_eq!(Format::of(Path::new(path)).parse(text).unwrap()["a"], json!({ "b": 1 }), "{path}");
            assert!(Format::of(Path::new(path)).parse("").unwrap().is_empty(), "{path}");
        }
        assert!(Format::Yaml.parse("- a").is_err() && Format::Yaml.edit("", &[], &[]).is_err());
    }
}
