//! Parameters of an operation as parameters of a tool: same meaning, legal names, and a form the connector can send.

use super::document::{Document, Version, list, object};
use super::names::{argument, shorten, unique};
use super::notes::Notes;
use super::schemas::Schemas;
use super::styles::{self, Listed};
use super::values::main_type;
use super::{Position, Style, Type, check_header_name};
use serde_json::{Map, Value};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

const MAX_WORDS: usize = 500;

/// No model fills in more.
pub(super) const MAX_PARAMETERS: usize = 300;
const MAX_NAME_BYTES: usize = 200;

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
    /// How lists and objects are written, where it is not usual.
    pub(super) style: Option<Style>,
    /// The settings of a file.
    pub(super) file: Option<Value>,
}

/// The parameters of an operation, those of its path included, each resolved. The operation's own replace the path's.
pub(super) fn of_operation<'a>(
    document: &'a Document,
    path_item: &'a Value,
    operation: &'a Value,
) -> Result<Vec<&'a Value>, String> {
    let shared = list(path_item.get("parameters"));
    let own = list(operation.get("parameters"));
    // Counted before anything else is done with them: a document may have any number.
    if shared.len().max(own.len()) > MAX_PARAMETERS {
        return Err(too_many());
    }
    let mut found: Vec<&Value> = Vec::new();
    let mut places = HashMap::new();
    for parameter in shared.iter().chain(own) {
        let parameter = document.resolve(parameter).map_err(|unresolved| unresolved.to_string())?;
        let text = |key: &str| parameter.get(key).and_then(Value::as_str);
        match places.entry((text("name"), text("in"))) {
            Entry::Occupied(place) => found[*place.get()] = parameter,
            Entry::Vacant(place) => {
                place.insert(found.len());
                found.push(parameter);
            }
        }
    }
    Ok(found)
}

/// Why an operation is left out that has more parameters than a tool may have.
pub(super) fn too_many() -> String {
    format!("it has more than {MAX_PARAMETERS} parameters")
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
            _ if name.len() > MAX_NAME_BYTES => Err("has a name that is too long"),
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
        is_required: position == Position::Path || parameter.get("required") == Some(&Value::Bool(true)),
        description: words.filter(|words| !words.is_empty()),
        ..Parameter::new(name, position, schema)
    };
    if parameter.get("deprecated") == Some(&Value::Bool(true)) {
        draft.add_words("Deprecated.");
    }
    let main = main_type(&draft.schema);
    if main == Some(Type::Object) && content.is_none() {
        return objects(parameter, draft, notes);
    }
    match main {
        Some(Type::String | Type::Number | Type::Integer | Type::Boolean) => {}
        _ if content.is_some() && position == Position::Query => draft.style = Some(Style::Json),
        Some(Type::Array) => draft.list(styles::of_list(document.version, parameter, position)),
        _ if styles::is_deep(parameter) && position == Position::Query => draft.style = Some(Style::Brackets),
        _ => {}
    }
    Ok(vec![draft])
}

/// An object in a query string is one key per field, whichever way the keys are written.
fn objects(parameter: &Value, mut draft: Parameter, notes: &mut Notes) -> Result<Vec<Parameter>, String> {
    let name = draft.name.clone();
    if draft.position != Position::Query {
        return Err(format!("the parameter '{name}' is an object in the {}", draft.position.as_str()));
    }
    let is_deep = styles::is_deep(parameter);
    let fields = object(draft.schema.get("properties"));
    let is_apart = is_deep || parameter.get("explode") != Some(&Value::Bool(false));
    let is_whole = fields.is_empty() || fields.len() > MAX_FIELDS || !is_apart;
    if is_whole && is_deep {
        draft.style = Some(Style::Brackets);
        return Ok(vec![draft]);
    }
    if is_whole {
        notes.warn(format!(
            "the query parameter '{name}' is an object without fixed fields; it is sent as JSON text"
        ));
        return Ok(vec![draft]);
    }
    let required = list(draft.schema.get("required"));
    let wire_name = |field: &str| if is_deep { format!("{name}[{field}]") } else { field.to_owned() };
    let field = |(field, schema): (&String, &Value)| Parameter {
        is_required: draft.is_required && required.iter().any(|name| name == field.as_str()),
        style: (is_deep && is_nested(schema)).then_some(Style::Brackets),
        ..Parameter::new(&wire_name(field), Position::Query, object(Some(schema)).clone())
    };
    Ok(fields.iter().map(field).collect())
}

fn is_nested(schema: &Value) -> bool {
    matches!(main_type(object(Some(schema))), Some(Type::Object | Type::Array) | None)
}

impl Parameter {
    /// An optional parameter.
    pub(super) fn new(name: &str, position: Position, schema: Map<String, Value>) -> Self {
        Self {
            name: name.to_owned(),
            sent_as: None,
            position,
            is_required: false,
            description: None,
            schema,
            style: None,
            file: None,
        }
    }

    /// Has lists sent like this.
    pub(super) fn list(&mut self, listed: Listed) {
        match listed {
            Listed::Styled(style) => self.style = style,
            Listed::Text(word) => {
                let own = self.schema.shift_remove("description");
                let own = own.and_then(|words| words.as_str().map(str::to_owned));
                self.description = self.description.take().or(own);
                self.schema = Map::from_iter([("type".to_owned(), "string".into())]);
                self.add_words(&format!("Several values are separated by {word}."));
            }
        }
    }

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

    pub(super) fn add_words(&mut self, words: &str) {
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
