//! From arguments to the places in a request that they go to.

use super::form::{ESCAPED, Form, MAX_BODY_BYTES, Part, TooLong, add_pair, flatten};
use super::parameters::{File, Parameter, Position};
use super::text_of;
use super::tools::{Definition, takes_body, takes_form};
use crate::shared::headers::header_value;
use fetch::http::header::HeaderMap;
use percent_encoding::{percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};
use std::borrow::Cow;
use tool::uri::Method;
use tool::{Error, Problem, Result};

/// Longer addresses are refused by most servers; ours to say so first.
pub(crate) const MAX_URL_BYTES: usize = 32 * 1024;

/// Where the values of one call go.
#[derive(Default)]
pub(crate) struct Places<'a> {
    pub(crate) path: Vec<(&'a str, String)>,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Map<String, Value>,
    pub(crate) form: Form,
    pub(crate) whole_body: Option<WholeBody>,
}

/// A value that is the body.
pub(crate) enum WholeBody {
    Value(Value),
    File(Part),
}

/// Puts every argument where it belongs; the tool's schema has accepted them before.
///
/// # Errors
/// `InvalidInput` with every argument that cannot go there.
pub(crate) fn place_all<'a>(
    definition: &'a Definition,
    method: Method,
    arguments: &Map<String, Value>,
) -> Result<Places<'a>> {
    let mut places = Places::default();
    let mut problems = Vec::new();
    for parameter in &definition.parameters {
        if let Err(problem) = place(&mut places, parameter, method, arguments.get(&parameter.name)) {
            problems.push(problem);
        }
    }
    let Some(first) = problems.first() else { return Ok(places) };
    Err(Error::invalid_input(first.message.clone()).with_problems(problems))
}

/// Puts one value where it belongs.
fn place<'a>(
    places: &mut Places<'a>,
    parameter: &'a Parameter,
    method: Method,
    given: Option<&Value>,
) -> Result<(), Problem> {
    let refuse = |code, what: &str| Err(misplaced(parameter, code, what));
    // What stands in the path is there in every address, whatever the schema says.
    let is_nothing = given.is_none_or(Value::is_null);
    if is_nothing && parameter.position == Position::Path {
        return refuse("Required", "is part of the path and cannot be null");
    }
    let Some(value) = given else { return Ok(()) };
    match parameter.position {
        Position::Body if takes_body(method) => {
            places.body.insert(parameter.wire_name.clone(), value.clone());
            Ok(())
        }
        _ if is_nothing => Ok(()),
        Position::Form if takes_form(method) => places.add_to_form(parameter, value),
        Position::Form if parameter.file.is_some() => {
            refuse("InvalidFile", &format!("is a file, which a {} cannot carry", method.as_str()))
        }
        Position::Body | Position::Query | Position::Form => places.add_to_query(parameter, value),
        Position::WholeBody if matches!(method, Method::Get | Method::Head) => {
            refuse("ParameterPositionMismatch", &format!("is the body, which a {} has not", method.as_str()))
        }
        Position::WholeBody => places.set_whole_body(parameter, value),
        Position::Path => places.add_to_path(parameter, value),
        Position::Header => places.add_header(parameter, value),
    }
}

impl<'a> Places<'a> {
    fn add_to_form(&mut self, parameter: &Parameter, value: &Value) -> Result<(), Problem> {
        let added = match &parameter.file {
            None => self.form.add(&parameter.wire_name, value, parameter.style(value)),
            Some(file) => self.form.push(part(parameter, value, file)?),
        };
        added.map_err(|TooLong| {
            let what = format!("makes the request longer than {MAX_BODY_BYTES} bytes");
            misplaced(parameter, "TooLong", &what)
        })
    }

    fn add_to_query(&mut self, parameter: &Parameter, value: &Value) -> Result<(), Problem> {
        let query = &mut self.query;
        let mut add = |name: &str, text: String| {
            add_pair(query, name, &text);
            if query.len() > MAX_URL_BYTES { Err(TooLong) } else { Ok(()) }
        };
        flatten(&parameter.wire_name, value, parameter.style(value), &mut add).map_err(|TooLong| {
            let what = format!("makes the address longer than {MAX_URL_BYTES} bytes");
            misplaced(parameter, "TooLong", &what)
        })
    }

    fn set_whole_body(&mut self, parameter: &Parameter, value: &Value) -> Result<(), Problem> {
        self.whole_body = Some(match &parameter.file {
            None => WholeBody::Value(value.clone()),
            Some(file) => WholeBody::File(part(parameter, value, file)?),
        });
        Ok(())
    }

    fn add_to_path(&mut self, parameter: &'a Parameter, value: &Value) -> Result<(), Problem> {
        let advice = "must not be empty and must not hold '.' or '..' segments";
        let segment = path_segment(&text_of(value));
        let segment = segment.ok_or_else(|| misplaced(parameter, "PathTraversal", advice))?;
        self.path.push((&parameter.name, segment));
        Ok(())
    }

    fn add_header(&mut self, parameter: &Parameter, value: &Value) -> Result<(), Problem> {
        let advice = "must have at most 8192 bytes and no line breaks or control characters";
        let header = parameter.header.clone().zip(header_value(&text_of(value)));
        let (name, value) = header.ok_or_else(|| misplaced(parameter, "InvalidHeaderValue", advice))?;
        self.headers.insert(name, value);
        Ok(())
    }
}

fn misplaced(parameter: &Parameter, code: &'static str, what: &str) -> Problem {
    Problem::new(&parameter.name, code, format!("Parameter '{}' {what}", parameter.name))
}

fn part(parameter: &Parameter, value: &Value, file: &File) -> Result<Part, Problem> {
    let part = Part::file(&parameter.wire_name, value, file);
    part.map_err(|advice| misplaced(parameter, "InvalidFile", advice))
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
pub(crate) fn climbs(segment: &str) -> bool {
    matches!(segment.split(';').next(), Some("." | ".."))
}
