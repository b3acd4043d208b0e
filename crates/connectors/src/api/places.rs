//! From arguments to the places in a request that they go to.

use super::form::{ESCAPED, Form, MAX_BODY_BYTES, Part, TooLong, add_pair, flatten};
use super::headers::header_value;
use super::parameters::{File, Parameter, Position};
use super::text_of;
use super::tools::{Definition, takes_body, takes_form};
use document::did_you_mean;
use fetch::http::header::HeaderMap;
use percent_encoding::{percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};
use std::borrow::Cow;
use tool::uri::Method;
use tool::{Error, Problem, Result};

/// Longer addresses are refused by most servers; ours to say so first.
pub(super) const MAX_URL_BYTES: usize = 32 * 1024;

/// Where the values of one call go.
#[derive(Default)]
pub(super) struct Places<'a> {
    pub(super) path: Vec<(&'a str, String)>,
    pub(super) query: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Map<String, Value>,
    pub(super) form: Form,
    pub(super) whole_body: Option<WholeBody>,
}

/// A value that is the body.
pub(super) enum WholeBody {
    Value(Value),
    File(Part),
}

/// Puts every argument where it belongs.
///
/// # Errors
/// `InvalidInput` with every argument that does not fit.
pub(super) fn place_all<'a>(
    definition: &'a Definition,
    method: Method,
    arguments: &Map<String, Value>,
) -> Result<Places<'a>> {
    let mut places = Places::default();
    let mut problems = Vec::new();
    let mut known = 0;
    for parameter in &definition.parameters {
        let given = arguments.get(&parameter.name);
        known += usize::from(given.is_some());
        if let Err(problem) = place(&mut places, parameter, method, given) {
            problems.push(problem);
        }
    }
    if known < arguments.len() {
        let is_unknown = |name: &&String| !definition.parameters.iter().any(|known| known.name == **name);
        problems.extend(arguments.keys().filter(is_unknown).map(|name| {
            let meant = did_you_mean(name, definition.parameters.iter().map(|known| known.name.as_str()));
            let advice = if meant.is_empty() { "; leave it out" } else { meant.as_str() };
            Problem::new(name, "Unknown", format!("Unknown parameter '{name}'{advice}"))
        }));
    }
    let Some(first) = problems.first() else { return Ok(places) };
    Err(Error::invalid_input(first.message.clone()).with_problems(problems))
}

/// Puts one value where it belongs.
#[expect(clippy::too_many_lines, reason = "one arm for each position")]
fn place<'a>(
    places: &mut Places<'a>,
    parameter: &'a Parameter,
    method: Method,
    given: Option<&Value>,
) -> Result<(), Problem> {
    let (name, wire_name) = (parameter.name.as_str(), parameter.wire_name.as_str());
    let problem = |code, message: String| Err(Problem::new(name, code, message));
    let Some(value) = given.or(parameter.default.as_ref()) else {
        let is_missing = parameter.is_required;
        let message = || format!("Missing required parameter '{name}'");
        return if is_missing { problem("Required", message()) } else { Ok(()) };
    };
    let may_be_null = || parameter.schema.as_ref().is_some_and(|schema| schema.accepts(&Value::Null));
    let is_nothing = value.is_null() && (!parameter.is_required || may_be_null());
    if !is_nothing {
        check_value(parameter, value)?;
    }
    let too_long = |TooLong| {
        let message = format!("Parameter '{name}' makes the request longer than {MAX_BODY_BYTES} bytes");
        Problem::new(name, "TooLong", message)
    };
    match parameter.position {
        Position::Body if takes_body(method) => {
            places.body.insert(wire_name.to_owned(), value.clone());
        }
        Position::Path if is_nothing => {
            return problem("Required", format!("Parameter '{name}' is part of the path and cannot be null"));
        }
        _ if is_nothing => {}
        Position::Form if takes_form(method) => match &parameter.file {
            None => places.form.add(wire_name, value, parameter.style(value)).map_err(too_long)?,
            Some(file) => places.form.push(part(parameter, value, file)?).map_err(too_long)?,
        },
        Position::Form if parameter.file.is_some() => {
            let message = format!("Parameter '{name}' is a file, which a {} cannot carry", method.as_str());
            return problem("InvalidFile", message);
        }
        Position::Body | Position::Query | Position::Form => {
            let query = &mut places.query;
            let mut add = |name: &str, text: String| {
                add_pair(query, name, &text);
                if query.len() > MAX_URL_BYTES { Err(TooLong) } else { Ok(()) }
            };
            let added = flatten(wire_name, value, parameter.style(value), &mut add);
            if added.is_err() {
                let message =
                    format!("Parameter '{name}' makes the address longer than {MAX_URL_BYTES} bytes");
                return problem("TooLong", message);
            }
        }
        Position::WholeBody if matches!(method, Method::Get | Method::Head) => {
            let message = format!("Parameter '{name}' is the body, which a {} has not", method.as_str());
            return problem("ParameterPositionMismatch", message);
        }
        Position::WholeBody => {
            places.whole_body = Some(match &parameter.file {
                None => WholeBody::Value(value.clone()),
                Some(file) => WholeBody::File(part(parameter, value, file)?),
            });
        }
        Position::Path => {
            let Some(segment) = path_segment(&text_of(value)) else {
                let advice = "must not be empty and must not hold '.' or '..' segments";
                return problem("PathTraversal", format!("Parameter '{name}' {advice}"));
            };
            places.path.push((name, segment));
        }
        Position::Header => {
            let Some((header, value)) = parameter.header.clone().zip(header_value(&text_of(value))) else {
                let advice = "must have at most 8192 bytes and no line breaks or control characters";
                return problem("InvalidHeaderValue", format!("Parameter '{name}' {advice}"));
            };
            places.headers.insert(header, value);
        }
    }
    Ok(())
}

fn part(parameter: &Parameter, value: &Value, file: &File) -> Result<Part, Problem> {
    let name = parameter.name.as_str();
    Part::file(&parameter.wire_name, value, file)
        .map_err(|advice| Problem::new(name, "InvalidFile", format!("Parameter '{name}' {advice}")))
}

fn check_value(parameter: &Parameter, value: &Value) -> Result<(), Problem> {
    let name = parameter.name.as_str();
    if let Some(schema) = &parameter.schema {
        if let Some(message) = schema.complaint(name, value) {
            return Err(Problem::new(name, "Invalid", message));
        }
    } else if !parameter.value_type.fits(value) {
        let expected = parameter.value_type.in_schema();
        let message = format!("Parameter '{name}' must be of type {expected}");
        return Err(Problem::new(name, "WrongType", message));
    }
    match &parameter.allowed {
        Some(allowed) if !allowed.contains(value) => {
            let allowed: Vec<_> = allowed.iter().take(20).map(Value::to_string).collect();
            let message = format!("Parameter '{name}' must be one of {}", allowed.join(", "));
            Err(Problem::new(name, "NotAllowed", message))
        }
        _ => Ok(()),
    }
}

/// The value as exactly one segment of a path, or nothing if a server might read it as a way up.
fn path_segment(text: &str) -> Option<String> {
    /// Servers that decode again and again are rare; more than this often, unheard of.
    const MAX_DECODINGS: usize = 4;
    let mut decoded = Cow::from(text);
    for _ in 0..MAX_DECODINGS {
        if decoded.is_empty() || decoded.split(['/', '\\']).any(climbs) {
            return None;
        }
        let again = percent_decode_str(&decoded).decode_utf8_lossy().into_owned();
        if again == decoded {
            break;
        }
        decoded = again.into();
    }
    Some(utf8_percent_encode(text, ESCAPED).to_string())
}

/// `.` and `..`, also with the path parameters that some servers cut off behind a semicolon.
pub(super) fn climbs(segment: &str) -> bool {
    matches!(segment.split(';').next(), Some("." | ".."))
}
