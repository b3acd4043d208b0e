//! From arguments to a request: each value goes where its position says, and nowhere else.

use super::auth::Auth;
use super::endpoint::Piece;
use super::settings::header_value;
use super::text_of;
use super::tools::{Definition, Parameter, Position};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Request, Url};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use tool::secret::{HEADERS, MASK};
use tool::uri::Method;
use tool::{Error, Problem, Result};

/// Everything but the characters that RFC 3986 never asks to escape.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Longer addresses are refused by most servers; ours to say so first.
const MAX_URL_BYTES: usize = 32 * 1024;

/// What every request of a service starts from.
#[derive(Debug)]
pub(super) struct Base {
    /// Without a slash at the end.
    url: String,
    headers: HeaderMap,
    auth: Auth,
}

/// Where the values of one call go.
#[derive(Default)]
struct Places<'a> {
    path: Vec<(&'a str, String)>,
    query: String,
    headers: HeaderMap,
    body: Map<String, Value>,
    whole_body: Option<Value>,
}

impl Base {
    pub(super) fn new(url: &Url, headers: HeaderMap, auth: Auth) -> Self {
        Self { url: url.as_str().trim_end_matches('/').to_owned(), headers, auth }
    }

    /// The request that a tool makes of these arguments.
    ///
    /// # Errors
    /// `InvalidInput` with every argument that does not fit.
    pub(super) fn request(
        &self,
        definition: &Definition,
        method: Method,
        arguments: &Map<String, Value>,
    ) -> Result<Request> {
        let places = place_all(definition, method, arguments)?;
        let url = self.url_of(definition, &places)?;
        let mut request = self.empty(method, url);
        for (name, value) in definition.headers.iter().chain(places.headers.iter()) {
            request.headers_mut().insert(name.clone(), value.clone());
        }
        let has_body_parameters =
            definition.parameters.iter().any(|parameter| parameter.position == Position::Body);
        if takes_body(method) && has_body_parameters {
            *request.body_mut() = Some(Value::Object(places.body).to_string().into());
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().entry(CONTENT_TYPE).or_insert(json);
        }
        if let Some(body) = places.whole_body {
            set_whole_body(&mut request, &body);
        }
        self.sign(&mut request);
        Ok(request)
    }

    /// A request that only asks whether anybody is there; it is not signed.
    ///
    /// # Errors
    /// Never, as the address was checked when the service was opened.
    pub(super) fn probe(&self) -> Result<Request> {
        let url = Url::parse(&self.url)
            .map_err(|error| Error::internal("the base_url went bad").caused_by(error))?;
        Ok(self.empty(Method::Head, url))
    }

    /// The values in a request that nobody may see, wherever they are quoted.
    pub(super) fn secrets_of<'a>(&'a self, request: &'a Request) -> Vec<&'a str> {
        let headers = request.headers().iter().filter(|(name, value)| is_secret(name, value));
        let headers = headers.filter_map(|(_, value)| std::str::from_utf8(value.as_bytes()).ok());
        let mut secrets: Vec<_> = self.auth.secrets().into_iter().chain(headers).collect();
        secrets.retain(|secret| !secret.is_empty());
        secrets
    }

    /// A request as those may see it who try a tool out: secrets are masked.
    pub(super) fn shown(&self, request: &Request) -> Value {
        let headers: Map<_, _> = request
            .headers()
            .iter()
            .map(|(name, value)| {
                let text = String::from_utf8_lossy(value.as_bytes());
                let text = if is_secret(name, value) { MASK.into() } else { text };
                (name.to_string(), text.into())
            })
            .collect();
        let mut url = request.url().to_string();
        for secret in self.auth.secrets().into_iter().filter(|secret| !secret.is_empty()) {
            url = url.replace(&utf8_percent_encode(secret, ESCAPED).to_string(), MASK);
        }
        let body = request.body().and_then(reqwest::Body::as_bytes).map(String::from_utf8_lossy);
        json!({ "method": request.method().as_str(), "url": url, "headers": headers, "body": body })
    }

    fn empty(&self, method: Method, url: Url) -> Request {
        let mut request = Request::new(to_http(method), url);
        *request.headers_mut() = self.headers.clone();
        request
    }

    fn url_of(&self, definition: &Definition, places: &Places<'_>) -> Result<Url> {
        let mut text = self.url.clone();
        let base_length = text.len();
        for piece in &definition.path {
            match piece {
                Piece::Text(fixed) => text.push_str(fixed),
                Piece::Value(name) => {
                    let value = places.path.iter().find(|(key, _)| key == name).map(|(_, value)| value);
                    text.push_str(value.map_or("", String::as_str));
                }
            }
        }
        // Two values in one segment may make the dots that neither has alone.
        if text[base_length..]
            .split('/')
            .any(|segment| climbs(&percent_decode_str(segment).decode_utf8_lossy()))
        {
            return Err(Error::invalid_input("the path parameters together make a '.' or '..' segment"));
        }
        for (separator, part) in [('?', &definition.query), ('&', &places.query)] {
            if !part.is_empty() {
                let is_first = separator == '?' || definition.query.is_empty();
                text.push(if is_first { '?' } else { '&' });
                text.push_str(part);
            }
        }
        if text.len() > MAX_URL_BYTES {
            let message =
                format!("the address would have {} bytes, at most {MAX_URL_BYTES} work", text.len());
            return Err(Error::invalid_input(message));
        }
        Url::parse(&text).map_err(|error| Error::internal("the address cannot be built").caused_by(error))
    }

    fn sign(&self, request: &mut Request) {
        match &self.auth {
            Auth::None => {}
            Auth::Header(name, value, _) => {
                request.headers_mut().insert(name.clone(), value.clone());
            }
            Auth::Query(name, secret) => {
                let query = pair(name, secret.expose());
                let query = match request.url().query() {
                    Some(before) => format!("{before}&{query}"),
                    None => query,
                };
                request.url_mut().set_query(Some(&query));
            }
        }
    }
}

/// A text is sent as it is where the tool says that the body is no JSON.
fn set_whole_body(request: &mut Request, body: &Value) {
    let json = HeaderValue::from_static("application/json");
    let content_type = request.headers_mut().entry(CONTENT_TYPE).or_insert(json);
    let is_json = content_type.to_str().is_ok_and(|text| text.to_ascii_lowercase().contains("json"));
    let text = if is_json { body.to_string() } else { text_of(body) };
    *request.body_mut() = Some(text.into());
}

fn is_secret(name: &HeaderName, value: &HeaderValue) -> bool {
    value.is_sensitive() || HEADERS.contains(&name.as_str())
}

/// Methods whose arguments travel in the body; those of the others go into the query string.
fn takes_body(method: Method) -> bool {
    match method {
        Method::Post | Method::Put | Method::Patch => true,
        Method::Get | Method::Delete | Method::Head => false,
    }
}

fn to_http(method: Method) -> reqwest::Method {
    match method {
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        Method::Patch => reqwest::Method::PATCH,
        Method::Delete => reqwest::Method::DELETE,
        Method::Head => reqwest::Method::HEAD,
    }
}

fn place_all<'a>(
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
        problems.extend(
            arguments.keys().filter(is_unknown).map(|name| {
                Problem::new(name, "Unknown", format!("Unknown parameter '{name}'; leave it out"))
            }),
        );
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
    let name = parameter.name.as_str();
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
    match parameter.position {
        Position::Body if takes_body(method) => {
            places.body.insert(parameter.wire_name.clone(), value.clone());
        }
        Position::Path if is_nothing => {
            return problem("Required", format!("Parameter '{name}' is part of the path and cannot be null"));
        }
        _ if is_nothing => {}
        Position::Body | Position::Query => add_to_query(&mut places.query, &parameter.wire_name, value),
        Position::WholeBody => places.whole_body = Some(value.clone()),
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
fn climbs(segment: &str) -> bool {
    matches!(segment.split(';').next(), Some("." | ".."))
}

/// Lists become repeated keys, objects become JSON text, everything else its plain text.
fn add_to_query(query: &mut String, name: &str, value: &Value) {
    let mut add = |value: &Value| {
        if !query.is_empty() {
            query.push('&');
        }
        query.push_str(&pair(name, &text_of(value)));
    };
    match value {
        Value::Array(items) => items.iter().for_each(add),
        other => add(other),
    }
}

fn pair(name: &str, value: &str) -> String {
    format!("{}={}", utf8_percent_encode(name, ESCAPED), utf8_percent_encode(value, ESCAPED))
}
