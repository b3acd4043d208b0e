//! Parameters of an operation as parameters of a tool: same meaning, legal names, and a form the connector can send.

use super::document::{Document, Version, list, object};
use super::names::{argument, shorten, unique};
use super::notes::Notes;
use super::schemas::Schemas;
use super::values::main_type;
use super::{Position, Type, check_header_name};
use serde_json::{Map, Value};
use std::collections::HashSet;

const MAX_WORDS: usize = 500;

/// Objects in a query string are taken apart up to so many fields.
const MAX_FIELDS: usize = 50;

/// What the connector sends by itself, whatever a document says.
const OWN_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// A parameter on its way into a tool.
#[derive(Debug, Clone)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) sent_as: Option<String>,
    pub(super) position: Position,
    pub(super) is_required: bool,
    pub(super) description: Option<String>,
    pub(super) schema: Map<String, Value>,
}

/// The parameters of an operation, those of its path included, each resolved. The operation's own replace the path's.
pub(super) fn of_operation<'a>(
    document: &'a Document,
    path_item: &'a Value,
    operation: &'a Value,
) -> Result<Vec<&'a Value>, String> {
    let mut found: Vec<&Value> = Vec::new();
    let key = |parameter: &Value| (parameter.get("name").cloned(), parameter.get("in").cloned());
    let all = list(path_item.get("parameters")).iter().chain(list(operation.get("parameters")));
    for parameter in all {
        let parameter = document.resolve(parameter).map_err(|unresolved| unresolved.to_string())?;
        match found.iter().position(|before| key(before) == key(parameter)) {
            Some(at) => found[at] = parameter,
            None => found.push(parameter),
        }
    }
    Ok(found)
}

/// The parameters that are not part of a body. `Err` is why the operation cannot be called.
pub(super) fn draft(
    document: &Document,
    parameters: &[&Value],
    schemas: &mut Schemas<'_>,
    notes: &mut Notes,
) -> Result<Vec<Parameter>, String> {
    let mut drafts = Vec::new();
    for parameter in parameters {
        let text = |key: &str| parameter.get(key).and_then(Value::as_str).unwrap_or_default();
        let (name, place) = (text("name"), text("in"));
        let is_required = parameter.get("required") == Some(&Value::Bool(true));
        let position = match place {
            "body" | "formData" if document.version == Version::V2 => continue,
            "header" if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) => continue,
            _ if name.is_empty() => Err("has no name"),
            "path" => Ok(Position::Path),
            "query" => Ok(Position::Query),
            "header" if check_header_name(name, "", &mut Vec::new()).is_none() => {
                Err("is a header that a tool cannot set")
            }
            "header" => Ok(Position::Header),
            "cookie" => Err("is sent in a cookie, which tools do not send"),
            _ => Err("is in a place that is not known"),
        };
        match position {
            Ok(position) => drafts.extend(placed(document, parameter, name, position, schemas, notes)?),
            Err(why) => {
                let name = shorten(name, 50);
                if is_required {
                    return Err(format!("the required parameter '{name}' {why}"));
                }
                notes.warn(format!("the optional parameter '{name}' {why}; it is left out"));
            }
        }
    }
    Ok(drafts)
}

/// How a list stands in one text.
#[derive(Debug, Clone, Copy)]
enum Separator {
    Comma,
    Space,
    Tab,
    Pipe,
}

impl Separator {
    fn word(self) -> &'static str {
        match self {
            Self::Comma => "commas",
            Self::Space => "spaces",
            Self::Tab => "tabs",
            Self::Pipe => "'|'",
        }
    }
}

fn placed(
    document: &Document,
    parameter: &Value,
    name: &str,
    position: Position,
    schemas: &mut Schemas<'_>,
    notes: &mut Notes,
) -> Result<Vec<Parameter>, String> {
    let content = object(parameter.get("content")).values().next().and_then(|media| media.get("schema"));
    // Swagger 2.0 has the schema's words in the parameter itself.
    let schema = parameter.get("schema").or(content).unwrap_or(parameter);
    let mut schema = schemas.convert(schema, notes);
    if document.version == Version::V2 {
        schema.shift_remove("required");
    }
    let words = parameter.get("description").and_then(Value::as_str).map(|words| shorten(words, MAX_WORDS));
    let mut draft = Parameter {
        name: name.to_owned(),
        sent_as: None,
        position,
        is_required: position == Position::Path || parameter.get("required") == Some(&Value::Bool(true)),
        description: words.filter(|words| !words.is_empty()),
        schema,
    };
    if parameter.get("deprecated") == Some(&Value::Bool(true)) {
        draft.add_words("Deprecated.");
    }
    let main = main_type(&draft.schema);
    if main == Some(Type::Object) && content.is_none() {
        return objects(parameter, draft, notes);
    }
    if main == Some(Type::Array)
        && let Some(separator) = separator(document, parameter, position)
    {
        draft.schema = Map::from_iter([("type".to_owned(), "string".into())]);
        draft.add_words(&format!("Several values are separated by {}.", separator.word()));
    }
    Ok(vec![draft])
}

/// How a list is written as one text; nothing where its key is repeated.
fn separator(document: &Document, parameter: &Value, position: Position) -> Option<Separator> {
    let text = |key: &str| parameter.get(key).and_then(Value::as_str).unwrap_or_default();
    if document.version == Version::V2 {
        return match text("collectionFormat") {
            "multi" if position == Position::Query => None,
            "ssv" => Some(Separator::Space),
            "tsv" => Some(Separator::Tab),
            "pipes" => Some(Separator::Pipe),
            _ => Some(Separator::Comma),
        };
    }
    if position != Position::Query {
        return Some(Separator::Comma);
    }
    match text("style") {
        "spaceDelimited" => Some(Separator::Space),
        "pipeDelimited" => Some(Separator::Pipe),
        _ if parameter.get("explode") == Some(&Value::Bool(false)) => Some(Separator::Comma),
        _ => None,
    }
}

/// An object in a query string is one key per field, whichever way the keys are written.
fn objects(parameter: &Value, draft: Parameter, notes: &mut Notes) -> Result<Vec<Parameter>, String> {
    let name = draft.name.clone();
    if draft.position != Position::Query {
        return Err(format!("the parameter '{name}' is an object in the {}", draft.position.as_str()));
    }
    let is_deep = parameter.get("style").and_then(Value::as_str) == Some("deepObject");
    let fields = object(draft.schema.get("properties"));
    let is_apart = is_deep || parameter.get("explode") != Some(&Value::Bool(false));
    if fields.is_empty() || fields.len() > MAX_FIELDS || !is_apart {
        notes.warn(format!(
            "the query parameter '{name}' is an object without fixed fields; it is sent as JSON text"
        ));
        return Ok(vec![draft]);
    }
    let required = list(draft.schema.get("required"));
    let field = |(field, schema): (&String, &Value)| Parameter {
        name: if is_deep { format!("{name}[{field}]") } else { field.clone() },
        sent_as: None,
        position: Position::Query,
        is_required: draft.is_required && required.iter().any(|name| name == field.as_str()),
        description: None,
        schema: object(Some(schema)).clone(),
    };
    Ok(fields.iter().map(field).collect())
}

impl Parameter {
    /// Says the default instead of sending it: where a request changes only what it names, a default would
    /// change more than the caller asked for.
    pub(super) fn tell_default(&mut self) {
        let Some(default) = self.schema.shift_remove("default").filter(|default| !default.is_null()) else {
            return;
        };
        let own = self.schema.shift_remove("description").and_then(|words| words.as_str().map(str::to_owned));
        self.description = self.description.take().or(own);
        self.add_words(&shorten(&format!("Default: {default}"), 100));
    }

    fn add_words(&mut self, words: &str) {
        self.description = Some(match self.description.take() {
            Some(before) => format!("{before} {words}"),
            None => words.to_owned(),
        });
    }

    /// Takes a name that is legal and free; the original one is what is sent.
    pub(super) fn take_name(&mut self, taken: &mut HashSet<String>) {
        let mut name = argument(&self.name);
        if taken.contains(&name) {
            name = argument(&format!("{}_{name}", self.position.as_str()));
        }
        let name = unique(&name, taken);
        if name != self.name {
            let original = std::mem::replace(&mut self.name, name);
            let has_name = matches!(self.position, Position::Path | Position::WholeBody);
            self.sent_as = self.sent_as.take().or((!has_name).then_some(original));
        }
    }
}
