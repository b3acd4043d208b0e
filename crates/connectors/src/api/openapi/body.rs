//! The body of an operation: fields where it is an object with fixed fields, one parameter where it is anything else.

use super::document::{Document, Version, list, object};
use super::names::shorten;
use super::notes::Notes;
use super::parameters::Parameter;
use super::schemas::Schemas;
use super::{Position, forms};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// More fields than this are one parameter: no model fills them in one by one.
const MAX_FIELDS: usize = 100;

const JSON: &str = "application/json";
pub(super) const FORM: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";

/// Media types of one body that are looked at.
const MAX_MEDIA_TYPES: usize = 50;

/// What a body is sent as, the kinds we prefer first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Encoding {
    Json,
    Form,
    Multipart,
    Text,
    Binary,
    /// Which nothing here can write.
    Other,
}

/// A body as a document has it.
pub(super) struct Body<'a> {
    media_type: &'a str,
    encoding: Encoding,
    schema: Cow<'a, Value>,
    /// Nothing where the document does not say.
    is_required: Option<bool>,
    description: Option<&'a str>,
    /// What is said about how fields of a form are written, by their names.
    pub(super) encodings: Cow<'a, Map<String, Value>>,
}

/// A body as a tool has it.
#[derive(Debug, Default)]
pub(super) struct Drafted {
    pub(super) parameters: Vec<Parameter>,
    /// Where it is not what the connector sends anyway.
    pub(super) content_type: Option<String>,
    /// How a form is written, where it is not usual.
    pub(super) form_encoding: Option<&'static str>,
    /// The document says that there must be one.
    pub(super) is_required: bool,
}

/// The body's parameters. `Err` is why the operation cannot be called.
pub(super) fn draft(
    document: &Document,
    operation: &Value,
    parameters: &[&Value],
    schemas: &mut Schemas<'_>,
    notes: &mut Notes,
) -> Result<Drafted, String> {
    let body = match document.version {
        Version::V2 => of_version_2(document, operation, parameters),
        Version::V30 | Version::V31 => of_version_3(document, operation)?,
    };
    let Some(body) = body else { return Ok(Drafted::default()) };
    let schema = schemas.convert(&body.schema, notes);
    let drafted = encoded(document, &body, schema, notes)?;
    Ok(Drafted { is_required: body.is_required == Some(true), ..drafted })
}

fn encoded(
    document: &Document,
    body: &Body<'_>,
    schema: Map<String, Value>,
    notes: &mut Notes,
) -> Result<Drafted, String> {
    match body.encoding {
        Encoding::Json => Ok(Drafted {
            parameters: fields_of(body, &schema, Position::Body).unwrap_or_else(|| vec![whole(body, schema)]),
            content_type: Some(body.media_type)
                .filter(|media| *media != JSON && !media.contains('*'))
                .map(Into::into),
            ..Drafted::default()
        }),
        Encoding::Form => Ok(forms::urlencoded(document.version, body, &schema, notes)),
        Encoding::Multipart => forms::multipart(document.version, body, &schema, notes),
        Encoding::Text => Ok(Drafted {
            parameters: vec![whole(body, Map::from_iter([("type".to_owned(), "string".into())]))],
            content_type: Some(body.media_type.to_owned()),
            ..Drafted::default()
        }),
        Encoding::Binary => Ok(Drafted { parameters: vec![binary(body)], ..Drafted::default() }),
        Encoding::Other => {
            Err(format!("takes a body of type {}, which tools do not send", shorten(body.media_type, 60)))
        }
    }
}

fn of_version_3<'a>(document: &'a Document, operation: &'a Value) -> Result<Option<Body<'a>>, String> {
    let Some(body) = operation.get("requestBody") else { return Ok(None) };
    let body = document.resolve(body).map_err(|unresolved| unresolved.to_string())?;
    let content = object(body.get("content"));
    let by_preference =
        content.iter().take(MAX_MEDIA_TYPES).min_by_key(|(media_type, _)| encoding_of(media_type));
    let Some((media_type, media)) = by_preference else { return Ok(None) };
    Ok(Some(Body {
        media_type,
        encoding: encoding_of(media_type),
        schema: media.get("schema").map_or(Cow::Owned(json!({})), Cow::Borrowed),
        is_required: body.get("required").and_then(Value::as_bool),
        description: body.get("description").and_then(Value::as_str),
        encodings: Cow::Borrowed(object(media.get("encoding"))),
    }))
}

fn of_version_2<'a>(
    document: &'a Document,
    operation: &'a Value,
    parameters: &[&'a Value],
) -> Option<Body<'a>> {
    let is_in = |place: &str| {
        let place = place.to_owned();
        move |parameter: &&&Value| parameter.get("in").and_then(Value::as_str) == Some(&place)
    };
    let consumes = operation.get("consumes").or_else(|| document.root.get("consumes"));
    let consumed = list(consumes).iter().take(MAX_MEDIA_TYPES).filter_map(Value::as_str);
    let consumed = consumed.min_by_key(|media| encoding_of(media));
    if let Some(body) = parameters.iter().find(is_in("body")) {
        let media_type = consumed.unwrap_or(JSON);
        return Some(Body {
            media_type,
            encoding: encoding_of(media_type),
            schema: body.get("schema").map_or(Cow::Owned(json!({})), Cow::Borrowed),
            is_required: body.get("required").and_then(Value::as_bool),
            description: body.get("description").and_then(Value::as_str),
            encodings: Cow::default(),
        });
    }
    let fields: Vec<_> = parameters.iter().filter(is_in("formData")).copied().collect();
    if fields.is_empty() {
        return None;
    }
    let is_file = |field: &&Value| field.get("type").and_then(Value::as_str) == Some("file");
    let is_multipart =
        fields.iter().any(is_file) || consumed.is_some_and(|media| media.starts_with("multipart/"));
    let media_type = if is_multipart { MULTIPART } else { FORM };
    Some(Body {
        media_type,
        encoding: encoding_of(media_type),
        schema: Cow::Owned(form_schema(&fields)),
        is_required: None,
        description: None,
        encodings: Cow::Owned(by_name(&fields)),
    })
}

fn by_name(fields: &[&Value]) -> Map<String, Value> {
    let name = |field: &Value| field.get("name").and_then(Value::as_str).map(str::to_owned);
    fields.iter().filter_map(|field| Some((name(field)?, (*field).clone()))).collect()
}

/// The fields of a form in Swagger 2.0 are parameters; in all later versions they are an object.
fn form_schema(fields: &[&Value]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in fields {
        let Some(name) = field.get("name").and_then(Value::as_str) else { continue };
        let mut schema = object(Some(field)).clone();
        if schema.shift_remove("required") == Some(Value::Bool(true)) {
            required.push(Value::from(name));
        }
        if schema.get("type").and_then(Value::as_str) == Some("file") {
            schema.insert("type".into(), "string".into());
            schema.insert("format".into(), "binary".into());
        }
        properties.insert(name.to_owned(), schema.into());
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

fn encoding_of(media_type: &str) -> Encoding {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        JSON | "text/json" | "*/*" | "application/*" => Encoding::Json,
        FORM => Encoding::Form,
        "application/xml" | "application/graphql" | "application/x-ndjson" | "application/yaml" => {
            Encoding::Text
        }
        other if other.ends_with("+json") => Encoding::Json,
        other if other.ends_with("+xml") || other.starts_with("text/") => Encoding::Text,
        MULTIPART => Encoding::Multipart,
        other if other.starts_with("multipart/") => Encoding::Other,
        _ => Encoding::Binary,
    }
}

/// One parameter per field, if the object has fixed fields and nothing else in it.
pub(super) fn fields_of(
    body: &Body<'_>,
    schema: &Map<String, Value>,
    position: Position,
) -> Option<Vec<Parameter>> {
    let properties = object(schema.get("properties"));
    let required = list(schema.get("required"));
    let is_object = schema.get("type").is_none_or(|kind| kind == "object");
    // What a form of parts takes beyond its fields nobody could write another way.
    let is_closed = body.encoding == Encoding::Multipart
        || schema.get("additionalProperties").is_none_or(|more| more == &Value::Bool(false));
    let has_choices =
        ["oneOf", "anyOf", "allOf", "not", "enum", "const"].iter().any(|key| schema.contains_key(*key));
    // A body that may be left out, but not in parts, must stay one thing; a form is not left out.
    let is_all_or_nothing =
        position == Position::Body && body.is_required == Some(false) && !required.is_empty();
    let is_flat = is_object && is_closed && !has_choices && !is_all_or_nothing;
    if !is_flat || properties.is_empty() || properties.len() > MAX_FIELDS {
        return None;
    }
    let field = |(name, schema): (&String, &Value)| Parameter {
        is_required: required.iter().any(|required| required == name.as_str()),
        ..Parameter::new(name, position, object(Some(schema)).clone())
    };
    Some(properties.iter().map(field).collect())
}

/// Bytes, which the caller gives in Base64. Where the document leaves their type open, the caller says it.
fn binary(body: &Body<'_>) -> Parameter {
    let (kind, file) = if body.media_type.contains('*') {
        ("object", json!({ "encoding": "base64" }))
    } else {
        ("string", json!({ "encoding": "base64", "content_type": body.media_type }))
    };
    let mut parameter = whole(body, Map::from_iter([("type".to_owned(), kind.into())]));
    parameter.add_words("In Base64.");
    parameter.file = Some(file);
    parameter
}

pub(super) fn whole(body: &Body<'_>, mut schema: Map<String, Value>) -> Parameter {
    let own = schema.shift_remove("description").and_then(|words| words.as_str().map(str::to_owned));
    let words = body.description.map(|words| shorten(words, 500)).filter(|words| !words.is_empty()).or(own);
    let is_needed = schema.get("required").is_some();
    Parameter {
        is_required: body.is_required.unwrap_or(is_needed),
        description: Some(words.unwrap_or_else(|| "The whole body of the request.".into())),
        ..Parameter::new("body", Position::WholeBody, schema)
    }
}
