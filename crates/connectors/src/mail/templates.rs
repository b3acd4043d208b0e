//! Templates of messages: compiled when they are saved, rendered with what a caller gives.

use super::settings::ContentType;
use crate::shared::arguments::wrong;
use gotemplate::{Escape, Missing, Options, Template as Compiled};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use tool::{Problem, Result};

/// A message with places for values.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TemplateSettings {
    /// The subject, a template.
    pub(super) subject: String,
    /// The body, a template.
    pub(super) body: String,
    /// The same in plain text beside an HTML body, for those who do not read HTML.
    #[serde(default)]
    pub(super) text: Option<String>,
    /// What the body is: `text` or `html`. In HTML every value is escaped.
    #[serde(default, rename = "contentType")]
    pub(super) content_type: ContentType,
    /// Variables whose values are HTML already, and not to be escaped. Callers can then write whatever they like.
    #[serde(default)]
    pub(super) raw: Vec<String>,
}

/// A template that can be used.
#[derive(Debug)]
pub(super) struct Template {
    subject: Compiled,
    body: Compiled,
    text: Option<Compiled>,
    pub(super) content_type: ContentType,
    raw: BTreeSet<String>,
}

/// What came out of one.
#[derive(Debug)]
pub(super) struct Rendered {
    pub(super) subject: String,
    pub(super) body: String,
    pub(super) text: Option<String>,
}

impl Template {
    /// All that can be used; problems name the others.
    pub(super) fn compile_all(
        templates: &BTreeMap<String, TemplateSettings>,
        problems: &mut Vec<Problem>,
    ) -> BTreeMap<String, Self> {
        let mut compiled = BTreeMap::new();
        for (name, settings) in templates {
            if !(1..=64).contains(&name.chars().count()) || name.chars().any(char::is_control) {
                let message = "a template has a name of 1 to 64 printable characters";
                problems.push(Problem::new("templates", "InvalidName", message));
            }
            if let Some(template) = Self::compile(name, settings, problems) {
                compiled.insert(name.clone(), template);
            }
        }
        compiled
    }

    fn compile(name: &str, settings: &TemplateSettings, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut compile = |field: &str, source: &str, escape: Escape| {
            let options = Options { missing: Missing::Error, escape, ..Options::default() };
            let compiled = Compiled::compile(field, source, &options);
            let refused = |error| {
                Problem::new(format!("templates.{name}.{field}"), "TemplateError", format!("{error}"))
            };
            compiled.map_err(|error| problems.push(refused(error))).ok()
        };
        let escape = match settings.content_type {
            ContentType::Html => Escape::Html,
            ContentType::Text => Escape::Nothing,
        };
        let subject = compile("subject", &settings.subject, Escape::Nothing);
        let body = compile("body", &settings.body, escape);
        let text = settings.text.as_deref().map(|text| compile("text", text, Escape::Nothing));
        if text.is_some() && settings.content_type == ContentType::Text {
            let message =
                "a template has a text beside HTML only; set its contentType to html, or leave it out";
            problems.push(Problem::new(format!("templates.{name}.text"), "Unexpected", message));
        }
        let text = match text {
            Some(None) => return None,
            text => text.flatten(),
        };
        let raw = settings.raw.iter().cloned().collect();
        Some(Self { subject: subject?, body: body?, text, content_type: settings.content_type, raw })
    }

    /// The variables that it needs.
    pub(super) fn variables(&self) -> BTreeSet<String> {
        let all = [Some(&self.subject), Some(&self.body), self.text.as_ref()];
        all.into_iter().flatten().flat_map(Compiled::variables).collect()
    }

    /// The message for these values.
    ///
    /// # Errors
    /// `InvalidInput` where the values do not suit it.
    pub(super) fn render(&self, name: &str, variables: &Map<String, Value>) -> Result<Rendered> {
        let values = Value::Object(
            variables.iter().map(|(name, value)| (name.clone(), without_null(value))).collect(),
        );
        let render = |template: &Compiled, values: &Value| {
            template.render(values).map_err(|error| {
                let needed = self.variables().into_iter().collect::<Vec<_>>().join(", ");
                let why = format!("do not suit the template '{name}': {error}; it needs: {needed}");
                wrong("variables", &why)
            })
        };
        let raw = Raw::of(&values, &self.raw);
        Ok(Rendered {
            subject: render(&self.subject, &values)?,
            body: raw.put_back(render(&self.body, &raw.values)?),
            text: self.text.as_ref().map(|text| render(text, &values)).transpose()?,
        })
    }
}

/// Nothing prints as nothing, at the top and not further down, where a template asks for it by itself.
fn without_null(value: &Value) -> Value {
    if value.is_null() { Value::from("") } else { value.clone() }
}

/// Values that are not to be escaped: marks take their place until everything else is.
struct Raw {
    values: Value,
    marks: Vec<(String, String)>,
}

impl Raw {
    fn of(values: &Value, names: &BTreeSet<String>) -> Self {
        let mut raw = Self { values: values.clone(), marks: Vec::new() };
        // Nobody can guess it, and write a mark of his own.
        let chance = u128::from_str_radix(&tool::new_id::<String>().replace('-', ""), 16).unwrap_or_default();
        let Value::Object(fields) = &mut raw.values else { return raw };
        for (_, value) in fields.iter_mut().filter(|(name, _)| names.contains(*name)) {
            mark(value, chance, &mut raw.marks);
        }
        raw
    }

    fn put_back(&self, mut text: String) -> String {
        for (mark, value) in &self.marks {
            text = text.replace(mark.as_str(), value);
        }
        text
    }
}

fn mark(value: &mut Value, chance: u128, marks: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) if !text.is_empty() => {
            // Digits, which no function of templates changes.
            let mark = format!("\u{E000}{chance}.{}\u{E001}", marks.len());
            let text = std::mem::replace(text, mark.clone());
            marks.push((mark, text));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mark(item, chance, marks)),
        Value::Object(fields) => fields.values_mut().for_each(|field| mark(field, chance, marks)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn template(settings: Value) -> Template {
        let settings = serde_json::from_value(settings).unwrap();
        Template::compile("t", &settings, &mut Vec::new()).unwrap()
    }

    fn render(template: &Template, variables: &Value) -> Rendered {
        template.render("t", variables.as_object().unwrap()).unwrap()
    }

    /// ML-11
    #[test]
    fn escapes_every_value_in_html_but_those_that_are_html_already() {
        let template = template(json!({
            "subject": "{{ .name }}", "contentType": "html", "raw": ["table"], "text": "{{ .name }}",
            "body": "<p title=\"{{ .name }}\">{{ printf \"%s\" .name }}{{ range $k, $v := .map }}{{ $k }}{{ $v }}{{ end }}{{ .table }}{{ .b64 | b64dec }}</p>",
        }));
        let hostile = "<script>\"'&";
        let rendered = render(
            &template,
            &json!({
                "name": hostile, "map": { "<k>": "<v>" }, "table": "<b>1</b>", "b64": "PGk+",
            }),
        );
        let escaped = "&lt;script&gt;&#34;&#39;&amp;";
        assert_eq!(
            rendered.body,
            format!("<p title=\"{escaped}\">{escaped}&lt;k&gt;&lt;v&gt;<b>1</b>&lt;i&gt;</p>")
        );
        assert_eq!((rendered.subject.as_str(), rendered.text.as_deref()), (hostile, Some(hostile)));
    }

    #[test]
    fn does_not_take_marks_from_callers() {
        let template = template(json!({
            "subject": "s", "contentType": "html", "raw": ["html"], "body": "{{ .html }}{{ .name }}",
        }));
        let name = "\u{E000}0.0\u{E001}";
        let rendered = render(&template, &json!({ "html": "<b>", "name": name }));
        assert_eq!(rendered.body, format!("<b>{name}"));
    }

    /// ML-4
    #[test]
    fn names_the_variables_that_it_needs() {
        let template = template(json!({
            "subject": "[{{ .system }}]", "body": "{{ range .lines }}{{ .text }}{{ $.error }}{{ end }}{{ with .who }}{{ .name }}{{ end }}",
        }));
        let needed: Vec<_> = template.variables().into_iter().collect();
        assert_eq!(needed, ["error", "lines", "system", "who"]);
        let error = template.render("t", json!({ "system": "x" }).as_object().unwrap()).unwrap_err();
        assert!(error.message().contains("it needs: error, lines, system, who"), "{error}");
        assert_eq!(error.parameter(), Some("variables"));
    }
}
