//! From arguments to a request: each value goes where its position says, and nowhere else.

use super::endpoint::Piece;
use super::form::add_pair;
use super::parameters::Position;
use super::places::{MAX_URL_BYTES, Places, WholeBody, climbs, place_all};
use super::settings::FormEncoding;
use super::text_of;
use super::tools::{Definition, takes_body};
use crate::shared::digits::to_json;
use crate::shared::headers::PassedHeaders;
use crate::shared::sign_in::{Auth, TokenSource};
use fetch::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use fetch::{Request, Url, http};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use tool::inspection::Exchange;
use tool::secret::names::{is_likely_secret, query_secrets, without_query_secrets};
use tool::secret::{MASK, Redactor};
use tool::uri::Method;
use tool::{CallerHeaders, Error, Result};

/// Redacting each "1" of `?key=1` would hide more than a secret.
const SHORTEST_SECRET: usize = 4;

/// What every request of a service starts from.
#[derive(Debug)]
pub(crate) struct Base {
    url: Url,
    /// The path in it, without a slash at the end.
    path: String,
    headers: HeaderMap,
    auth: Auth,
    passed: PassedHeaders,
}

impl Base {
    pub(crate) fn new(url: &Url, headers: HeaderMap, auth: Auth, passed: PassedHeaders) -> Self {
        let path = url.path().trim_end_matches('/').to_owned();
        Self { url: url.clone(), path, headers, auth, passed }
    }

    /// The request that a tool makes of these arguments.
    ///
    /// # Errors
    /// `InvalidInput` with every argument that does not fit.
    pub(crate) fn request(
        &self,
        definition: &Definition,
        method: Method,
        arguments: &Map<String, Value>,
        caller: &CallerHeaders,
    ) -> Result<Request> {
        let mut places = place_all(definition, method, arguments)?;
        let url = self.url_of(definition, &places)?;
        let mut request = self.empty(method, url);
        for (name, value) in definition.headers.iter().chain(places.headers.iter()) {
            request.headers.insert(name.clone(), value.clone());
        }
        match places.whole_body.take() {
            Some(body) => set_whole_body(&mut request, body),
            None if takes_body(method) || !places.form.is_empty() => {
                add_body(&mut request, definition, places)
            }
            None => {}
        }
        if takes_body(method) && request.body.is_empty() {
            // Said aloud, as some servers refuse a POST without a length.
            request.headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        self.passed.hand_on(caller, &mut request.headers);
        self.sign(&mut request);
        Ok(request)
    }

    /// Where the tokens come from that requests are signed with, if they are.
    pub(crate) fn tokens(&self) -> Option<&TokenSource> {
        match &self.auth {
            Auth::Tokens(tokens) => Some(tokens),
            Auth::None | Auth::Header(..) | Auth::Query(..) => None,
        }
    }

    /// Who refuses a request refuses our own credentials, and nothing that a caller handed on.
    pub(crate) fn signs_alone(&self, from: &CallerHeaders) -> bool {
        self.auth.is_given() && !self.passed.finds_any(from)
    }

    /// A request that only asks whether anybody is there; it is not signed.
    pub(crate) fn probe(&self) -> Request {
        self.empty(Method::Head, self.url.clone())
    }

    /// The values in a request that nobody may see, wherever they are quoted.
    pub(crate) fn secrets_of<'a>(&'a self, request: &'a Request) -> Vec<Cow<'a, str>> {
        let headers = request.headers.iter().filter(|(name, value)| is_secret(name, value));
        let headers = headers.filter_map(|(name, value)| {
            let text = std::str::from_utf8(value.as_bytes()).ok()?;
            // `Bearer` and `Basic` are no secrets, and what follows them may be repeated alone.
            Some(Cow::Borrowed(match text.split_once(' ') {
                Some((_scheme, secret)) if name == AUTHORIZATION => secret,
                _ => text,
            }))
        });
        let query = query_secrets(request.url.as_str()).into_iter();
        let query = query.filter(|value| value.len() >= SHORTEST_SECRET).map(Cow::Owned);
        self.auth.secrets().into_iter().map(Cow::Borrowed).chain(headers).chain(query).collect()
    }

    /// A request as those may see it who try a tool out: secrets are masked.
    pub(crate) fn shown(&self, request: &Request, seen: &Exchange) -> Value {
        let headers: Map<_, _> = request
            .headers
            .iter()
            .map(|(name, value)| {
                let text = String::from_utf8_lossy(value.as_bytes());
                let text = if is_secret(name, value) { MASK.into() } else { text };
                (name.to_string(), text.into())
            })
            .collect();
        let url = Redactor::new(self.auth.secrets()).apply(&without_query_secrets(request.url.as_str()));
        let body = Some(&request.body).filter(|body| !body.is_empty());
        let body = body.map(|body| seen.cut(body));
        json!({ "method": request.method.as_str(), "url": url, "headers": headers, "body": body })
    }

    fn empty(&self, method: Method, url: Url) -> Request {
        Request { headers: self.headers.clone(), ..Request::new(to_http(method), url) }
    }

    fn url_of(&self, definition: &Definition, places: &Places<'_>) -> Result<Url> {
        let mut path = self.path.clone();
        for piece in &definition.path {
            match piece {
                Piece::Text(fixed) => path.push_str(fixed),
                Piece::Value(name) => {
                    let value = places.path.iter().find(|(key, _)| key == name).map(|(_, value)| value);
                    path.push_str(value.map_or("", String::as_str));
                }
            }
        }
        // Two values in one segment may make the dots that neither has alone.
        let added = &path[self.path.len()..];
        let climbs = |segment| climbs(&percent_decode_str(segment).decode_utf8_lossy());
        if added.contains(['.', '%']) && added.split('/').any(climbs) {
            return Err(Error::invalid_input("the path parameters together make a '.' or '..' segment"));
        }
        let mut query = definition.query.clone();
        if !query.is_empty() && !places.query.is_empty() {
            query.push('&');
        }
        query.push_str(&places.query);
        let size = self.url.as_str().len() - self.url.path().len() + path.len() + 1 + query.len();
        if size > MAX_URL_BYTES {
            let message = format!("the address would have {size} bytes, at most {MAX_URL_BYTES} work");
            return Err(Error::invalid_input(message));
        }
        let mut url = self.url.clone();
        url.set_path(&path);
        if !query.is_empty() {
            url.set_query(Some(&query));
        }
        Ok(url)
    }

    fn sign(&self, request: &mut Request) {
        match &self.auth {
            // Tokens are fetched, which only the client can.
            Auth::None | Auth::Tokens(_) => {}
            Auth::Header(name, value, _) => {
                request.headers.insert(name.clone(), value.clone());
            }
            Auth::Query(name, secret) => {
                let mut query = request.url.query().unwrap_or_default().to_owned();
                add_pair(&mut query, name, secret.expose());
                request.url.set_query(Some(&query));
            }
        }
    }
}

fn is_secret(name: &HeaderName, value: &HeaderValue) -> bool {
    value.is_sensitive() || is_likely_secret(name.as_str())
}

fn add_body(request: &mut Request, definition: &Definition, places: Places<'_>) {
    let (content_type, body) = if definition.has(Position::Form) {
        match definition.form_encoding {
            FormEncoding::Urlencoded | FormEncoding::Unknown => {
                ("application/x-www-form-urlencoded".to_owned(), places.form.urlencoded().into_bytes())
            }
            FormEncoding::Multipart => places.form.multipart(),
        }
    } else if definition.has(Position::Body) {
        ("application/json".to_owned(), to_json(&Value::Object(places.body)).into_bytes())
    } else {
        return;
    };
    request.body = body.into();
    let Ok(content_type) = HeaderValue::from_str(&content_type) else { return };
    // A multipart body cannot be read without its own boundary; other types may be made finer.
    if definition.has(Position::Form) && definition.form_encoding == FormEncoding::Multipart {
        request.headers.insert(CONTENT_TYPE, content_type);
    } else {
        request.headers.entry(CONTENT_TYPE).or_insert(content_type);
    }
}

/// A text is sent as it is where the tool says that the body is no JSON.
fn set_whole_body(request: &mut Request, body: WholeBody) {
    let (content_type, content) = match body {
        WholeBody::File(part) => part.into_body(),
        WholeBody::Value(value) => {
            let header = request.headers.get(CONTENT_TYPE).and_then(|header| header.to_str().ok());
            let is_json = header.is_none_or(|header| header.to_ascii_lowercase().contains("json"));
            let text = if is_json { to_json(&value) } else { text_of(&value) };
            (Some("application/json".to_owned()), text.into_bytes())
        }
    };
    request.body = content.into();
    if let Some(Ok(content_type)) = content_type.as_deref().map(HeaderValue::from_str) {
        request.headers.entry(CONTENT_TYPE).or_insert(content_type);
    }
}

fn to_http(method: Method) -> http::Method {
    match method {
        Method::Get => http::Method::GET,
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
        Method::Patch => http::Method::PATCH,
        Method::Delete => http::Method::DELETE,
        Method::Head => http::Method::HEAD,
    }
}
