//! What is known of a tool, in the fields that count differently.

use serde_json::Value;
use std::borrow::Cow;
use tool::Tool;

/// The fields: names, what it is about, its parameters, and what is said of those.
pub(crate) const FIELDS: usize = 4;

/// The most of a description that is read; nobody writes more for those who look for a tool.
const MAX_BYTES: usize = 8 * 1024;
/// Parameters of parameters further down are of no interest.
const MAX_DEPTH: usize = 4;
/// The most texts of a schema that are read.
const MAX_TEXTS: usize = 400;

/// What a tool is found by.
#[derive(Debug, Default, Clone)]
pub struct Description<'a> {
    /// What the tool is called.
    name: Cow<'a, str>,
    /// Whose it is, how it is called for people, and what it does.
    about: String,
    parameters: String,
    details: String,
}

impl<'a> Description<'a> {
    /// A tool under this name, of this service.
    #[must_use]
    pub fn of(name: impl Into<Cow<'a, str>>, service: &str, tool: &Tool) -> Self {
        let title = tool.field("title").and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
        let mut about = service.to_owned();
        for text in [title.as_deref(), tool.description()].into_iter().flatten() {
            about.push('\n');
            about.push_str(cut(text));
        }
        let mut description = Self::new(name, about);
        if let Ok(schema) = serde_json::from_str(tool.input_schema().get()) {
            description.read(&schema);
        }
        description
    }

    /// A tool of which nothing is known but this; the service and the title stand with what it is about.
    #[must_use]
    pub fn new(name: impl Into<Cow<'a, str>>, about: String) -> Self {
        Self { name: name.into(), about, ..Self::default() }
    }

    /// Takes in the parameters of a schema.
    pub fn read(&mut self, schema: &Value) {
        self.read_within(schema, MAX_DEPTH, &mut MAX_TEXTS.clone());
    }

    fn read_within(&mut self, schema: &Value, depth: usize, left: &mut usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for (name, parameter) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            push(&mut self.parameters, name, left);
            for key in ["title", "description"] {
                push(&mut self.details, parameter.get(key).and_then(Value::as_str).unwrap_or_default(), left);
            }
            self.read_values(parameter, left);
            self.read_within(parameter, depth, left);
            if let Some(items) = parameter.get("items") {
                self.read_values(items, left);
                self.read_within(items, depth, left);
            }
        }
    }

    fn read_values(&mut self, parameter: &Value, left: &mut usize) {
        let values = parameter.get("enum").and_then(Value::as_array).into_iter().flatten();
        values.filter_map(Value::as_str).for_each(|value| push(&mut self.details, value, left));
    }

    pub(crate) fn fields(&self) -> [&str; FIELDS] {
        [&self.name, &self.about, &self.parameters, &self.details]
    }
}

fn push(text: &mut String, words: &str, left: &mut usize) {
    if words.is_empty() || *left == 0 || text.len() > MAX_BYTES {
        return;
    }
    *left -= 1;
    text.push_str(cut(words));
    text.push('\n');
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_BYTES)]
}
