//! What a message says: words of the caller, or a template of the vendor's and values for it.

use super::tools::SmsTool;
use crate::shared::arguments::wrong;
use serde_json::{Map, Value};
use tool::Result;

/// The longest text of a caller, and of a value.
pub(super) const MAX_CHARACTERS: usize = 2000;
/// The most values of a template.
pub(super) const MAX_PARAMS: usize = 50;

/// What is sent.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Wording {
    Plain(String),
    Template { id: String, params: Params },
}

impl std::fmt::Debug for Wording {
    /// Not what it says.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plain(_) => f.write_str("Plain"),
            Self::Template { id, .. } => write!(f, "Template({id})"),
        }
    }
}

impl Wording {
    /// The words of the caller, all of them or those of a template.
    pub(super) fn values(&self) -> &[String] {
        match self {
            Self::Plain(content) => std::slice::from_ref(content),
            Self::Template { params, .. } => &params.values,
        }
    }
}

/// Values of a template: by name, in an order, or both.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Params {
    names: Option<Vec<String>>,
    values: Vec<String>,
    /// Their order was said, and did not just happen.
    is_ordered: bool,
}

impl Params {
    fn one(name: &str, value: &str) -> Self {
        Self { names: Some(vec![name.to_owned()]), values: vec![value.to_owned()], is_ordered: true }
    }

    /// Reads `params`, an object or a list, in the order that the tool says.
    fn parse(given: Option<&Value>, order: &[String]) -> Result<Self> {
        match given {
            None | Some(Value::Null) if order.is_empty() => Ok(Self { is_ordered: true, ..Self::default() }),
            None | Some(Value::Null) => Err(wrong("params", &format!("is missing: {}", order.join(", ")))),
            Some(Value::Array(items)) => Self::listed(items, order),
            Some(Value::Object(fields)) => Self::named(fields, order),
            Some(_) => Err(wrong("params", "must be an object or a list")),
        }
    }

    fn listed(items: &[Value], order: &[String]) -> Result<Self> {
        if !order.is_empty() && items.len() != order.len() {
            let why = format!(
                "has {} values; the template takes {}: {}",
                items.len(),
                order.len(),
                order.join(", ")
            );
            return Err(wrong("params", &why));
        }
        let values = items.iter().enumerate().map(|(index, value)| text(value, &format!("params[{index}]")));
        let names = (!order.is_empty()).then(|| order.to_vec());
        Ok(Self { names, values: bounded(values.collect::<Result<Vec<_>>>()?)?, is_ordered: true })
    }

    fn named(fields: &Map<String, Value>, order: &[String]) -> Result<Self> {
        let names: Vec<_> = if order.is_empty() { fields.keys().cloned().collect() } else { order.to_vec() };
        if let Some(unknown) = fields.keys().find(|name| !names.contains(*name)) {
            return Err(wrong(&format!("params.{unknown}"), &format!("is none of: {}", names.join(", "))));
        }
        let values = names.iter().map(|name| {
            let path = format!("params.{name}");
            fields.get(name).ok_or_else(|| wrong(&path, "is missing")).and_then(|value| text(value, &path))
        });
        let values = bounded(values.collect::<Result<Vec<_>>>()?)?;
        let is_ordered = !order.is_empty() || values.len() < 2;
        Ok(Self { names: Some(names), values, is_ordered })
    }

    /// The values one after the other, for vendors that count them.
    pub(super) fn ordered(&self) -> Result<&[String]> {
        if self.is_ordered {
            return Ok(&self.values);
        }
        let why = "has several values without an order, and the vendor counts them; give a list, or name the order in the tool's 'params'";
        Err(wrong("params", why))
    }

    /// The values by name, for vendors that know them so.
    pub(super) fn by_name(&self) -> Result<Map<String, Value>> {
        let pairs = |names: &[String]| {
            let values = self.values.iter().map(|value| Value::from(value.as_str()));
            names.iter().cloned().zip(values).collect()
        };
        match &self.names {
            Some(names) => Ok(pairs(names)),
            None if self.values.is_empty() => Ok(Map::new()),
            None => {
                let why = "is a list, and the vendor knows values by name; give an object, or name them in the tool's 'params'";
                Err(wrong("params", why))
            }
        }
    }

    /// The values by name, or by their number where they have none.
    pub(super) fn by_name_or_number(&self) -> Map<String, Value> {
        let numbers: Vec<String> = (1..=self.values.len()).map(|number| number.to_string()).collect();
        let names = self.names.as_ref().unwrap_or(&numbers);
        names.iter().cloned().zip(self.values.iter().map(|value| Value::from(value.as_str()))).collect()
    }
}

/// What the arguments of a call say.
pub(super) fn read(tool: &SmsTool, arguments: &Map<String, Value>, takes_words: bool) -> Result<Wording> {
    let present = |name: &str| arguments.get(name).and_then(Value::as_str);
    let content = present("content").map(|content| bounded_text(content, "content")).transpose()?;
    let template = tool.template.as_deref().or_else(|| present("template"));
    match (content, template) {
        (Some(_), Some(_)) => Err(wrong("content", "cannot be given beside 'template'; give one of them")),
        (Some(content), None) => match &tool.content_template {
            Some(fixed) => Ok(Wording::Template {
                id: fixed.template.clone(),
                params: Params::one(&fixed.param, content),
            }),
            None if takes_words => Ok(Wording::Plain(content.to_owned())),
            None => Err(wrong(
                "content",
                "cannot be sent: the vendor sends approved templates only; give 'template' and 'params', or use a tool with a 'content_template'",
            )),
        },
        (None, Some(template)) => {
            let id = bounded_text(template, "template")?.to_owned();
            if tool.template.is_some() && present("template").is_some_and(|given| given != id) {
                return Err(wrong("template", &format!("is fixed: '{id}'")));
            }
            Ok(Wording::Template { id, params: Params::parse(arguments.get("params"), &tool.params)? })
        }
        (None, None) if tool.content_template.is_some() => Err(wrong("content", "is missing")),
        (None, None) => Err(wrong("template", "is missing; say what to send")),
    }
}

fn text(value: &Value, path: &str) -> Result<String> {
    match value {
        Value::String(text) => bounded_text(text, path).map(str::to_owned),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(wrong(path, "must be a text or a number")),
    }
}

fn bounded_text<'a>(text: &'a str, path: &str) -> Result<&'a str> {
    let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.chars().count() > MAX_CHARACTERS || text.contains(is_control) {
        let why = format!("must be a text of at most {MAX_CHARACTERS} characters without control characters");
        return Err(wrong(path, &why));
    }
    Ok(text)
}

fn bounded(values: Vec<String>) -> Result<Vec<String>> {
    if values.len() > MAX_PARAMS {
        return Err(wrong("params", &format!("has more than {MAX_PARAMS} values")));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn params(given: &Value, order: &[&str]) -> Result<Params> {
        let order: Vec<_> = order.iter().map(|name| (*name).to_owned()).collect();
        Params::parse(Some(given), &order)
    }

    /// SM-5
    #[test]
    fn orders_values_as_the_tool_says_and_refuses_to_guess() {
        let given = json!({ "minutes": 5, "code": "123456" });
        let ordered = params(&given, &["code", "minutes"]).unwrap();
        assert_eq!(ordered.ordered().unwrap(), ["123456", "5"]);
        let error = params(&given, &[]).unwrap().ordered().unwrap_err();
        assert!(error.parameter() == Some("params") && error.message().contains("give a list"), "{error}");
        assert_eq!(params(&json!(["a", "b"]), &[]).unwrap().ordered().unwrap(), ["a", "b"]);
        assert_eq!(params(&json!({ "code": "1" }), &[]).unwrap().ordered().unwrap(), ["1"]);
        for (given, order, path) in [
            (given.clone(), &["code"][..], "params.minutes"),
            (given, &["code", "minutes", "name"][..], "params.name"),
            (json!(["a"]), &["code", "minutes"][..], "params"),
            (json!({ "code": ["a"] }), &["code"][..], "params.code"),
        ] {
            assert_eq!(params(&given, order).err().unwrap().parameter(), Some(path));
        }
    }

    #[test]
    fn names_values_for_vendors_that_know_them_so() {
        let named = params(&json!(["123456"]), &["code"]).unwrap().by_name().unwrap();
        assert_eq!(Value::Object(named), json!({ "code": "123456" }));
        let error = params(&json!(["123456"]), &[]).unwrap().by_name().unwrap_err();
        assert!(error.message().contains("give an object"), "{error}");
        let numbered = params(&json!(["a", "b"]), &[]).unwrap().by_name_or_number();
        assert_eq!(Value::Object(numbered), json!({ "1": "a", "2": "b" }));
    }
}
