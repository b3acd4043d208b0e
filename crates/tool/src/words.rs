//! Words: what forms call the fields of settings, in English and Chinese, and where they put them.
//!
//! A connector has a table of them beside its settings; what many have in common is in one table for all. The help in
//! English is the doc comment of the field itself. The conformance suite names what is missing.

use serde_json::{Map, Value, json};

/// What a form says about one field, wherever in the settings it stands.
#[derive(Debug, Clone, Copy)]
pub struct Word {
    /// The field; `Type.field` where the same name means different things.
    field: &'static str,
    title: &'static str,
    zh_title: &'static str,
    zh_description: &'static str,
    group: &'static str,
    is_advanced: bool,
    /// The field that this one is another name of.
    alias: Option<&'static str>,
    /// Only shown where another field has one of these values.
    when: Option<(&'static str, &'static [&'static str])>,
}

/// Field, title, title in Chinese, help in Chinese.
#[must_use]
pub const fn word(
    field: &'static str,
    title: &'static str,
    zh_title: &'static str,
    zh_description: &'static str,
) -> Word {
    let (alias, when) = (None, None);
    Word { field, title, zh_title, zh_description, group: "general", is_advanced: false, alias, when }
}

impl Word {
    /// It stands among these: `general`, `sign_in`, `limits`, `network` or `tools`.
    #[must_use]
    pub const fn group(self, group: &'static str) -> Self {
        Self { group, ..self }
    }

    /// Most people leave it as it is.
    #[must_use]
    pub const fn advanced(self) -> Self {
        Self { is_advanced: true, ..self }
    }

    /// It is another name of this field.
    #[must_use]
    pub const fn alias(self, field: &'static str) -> Self {
        Self { alias: Some(field), ..self }
    }

    /// It only counts where this field has one of these values.
    #[must_use]
    pub const fn when(self, field: &'static str, values: &'static [&'static str]) -> Self {
        Self { when: Some((field, values)), ..self }
    }

    fn hints(&self, order: usize) -> Value {
        let mut hints = json!({
            "group": self.group, "order": order, "advanced": self.is_advanced,
            "zh": { "title": self.zh_title, "description": self.zh_description },
        });
        if let Some(alias) = self.alias {
            hints["alias"] = alias.into();
        }
        if let Some((field, values)) = self.when {
            hints["when"] = json!({ field: values });
        }
        hints
    }
}

/// The schema with what the words say about its fields: `title` and `x-ui`. The first table that has a field counts; what
/// a field says in its own `x-ui` stays.
#[must_use]
pub fn with_words(schema: &Value, tables: &[&[Word]]) -> Value {
    let mut schema = schema.clone();
    add(&mut schema, "", tables);
    schema
}

fn add(schema: &mut Value, owner: &str, tables: &[&[Word]]) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Object(properties)) = fields.get_mut("properties") {
                add_to(properties, owner, tables);
            }
            for (name, inner) in fields.iter_mut() {
                match (name.as_str(), inner) {
                    ("$defs", Value::Object(definitions)) => {
                        definitions.iter_mut().for_each(|(name, inner)| add(inner, name, tables));
                    }
                    ("properties", Value::Object(properties)) => {
                        properties.values_mut().for_each(|inner| add(inner, owner, tables));
                    }
                    // What is an example or a value is no schema.
                    ("default" | "const" | "enum" | "examples", _) => {}
                    (_, inner) => add(inner, owner, tables),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| add(item, owner, tables)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn add_to(properties: &mut Map<String, Value>, owner: &str, tables: &[&[Word]]) {
    for (order, (name, property)) in properties.iter_mut().enumerate() {
        let Some(property) = property.as_object_mut() else { continue };
        let of_owner = |word: &&&Word| word.field.split_once('.') == Some((owner, name));
        let all = || tables.iter().flat_map(|table| table.iter());
        let found = all().find(|word| of_owner(&word)).or_else(|| all().find(|word| word.field == name));
        if let Some(word) = found {
            property.insert("title".to_owned(), word.title.into());
            let mut hints = word.hints(order);
            if let (Some(hints), Some(Value::Object(given))) =
                (hints.as_object_mut(), property.remove("x-ui"))
            {
                hints.extend(given);
            }
            property.insert("x-ui".to_owned(), hints);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &[Word] = &[
        word("url", "Address", "地址", "服务的地址。").group("network"),
        word("Part.type", "Kind", "种类", "部件的种类。").when("url", &["a", "b"]).advanced(),
    ];
    const SHARED: &[Word] = &[word("type", "Type", "类型", "类型。"), word("url", "URL", "网址", "网址。")];

    #[test]
    fn fields_get_the_words_of_the_first_table_that_has_them() {
        let schema = json!({
            "properties": { "type": { "type": "string" }, "url": { "type": "string" }, "part": { "$ref": "#/$defs/Part" } },
            "$defs": { "Part": { "properties": { "type": { "type": "string", "default": { "properties": { "url": {} } } } } } },
        });
        let schema = with_words(&schema, &[OWN, SHARED]);
        let (root, part) = (&schema["properties"], &schema["$defs"]["Part"]["properties"]);
        assert_eq!((&root["type"]["title"], &root["url"]["title"]), (&json!("Type"), &json!("Address")));
        let hints = json!({ "group": "network", "order": 1, "advanced": false, "zh": { "title": "地址", "description": "服务的地址。" } });
        assert_eq!(root["url"]["x-ui"], hints);
        assert_eq!(part["type"]["x-ui"]["when"], json!({ "url": ["a", "b"] }));
        assert_eq!(part["type"]["x-ui"]["advanced"], true);
        assert_eq!(part["type"]["default"]["properties"]["url"], json!({}), "a value is no schema");
        assert_eq!(root["part"].get("title"), None, "nobody has a word for it");
    }

    #[test]
    fn what_a_field_says_of_itself_stays() {
        let schema = json!({ "properties": { "type": { "x-ui": { "when": { "url": ["a"] } } } } });
        let hints = &with_words(&schema, &[SHARED])["properties"]["type"]["x-ui"];
        assert_eq!((&hints["when"], &hints["zh"]["title"]), (&json!({ "url": ["a"] }), &json!("类型")));
    }
}
