//! Bodies and queries: parsed strictly, refused with the path of what is wrong.

use super::error::{Problem, Result};
use crate::pace::TooSlow;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use http::StatusCode;
use http::request::Parts;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use store::PageRequest;
use utoipa::ToSchema;

/// A JSON body. Unlike axum's, it says where in the body the problem is.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        let body = Bytes::from_request(request, state).await.map_err(|rejection| unreadable(&rejection))?;
        parse(&body).map(Self)
    }
}

pub(crate) fn unreadable(rejection: &BytesRejection) -> Problem {
    let status = rejection.status();
    if TooSlow::is_why(rejection) {
        let detail = "nothing more came of the body for too long; send it without pauses (--body-timeout)";
        return Problem::bad_request(detail).with_status(StatusCode::REQUEST_TIMEOUT);
    }
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        let detail = "the body is too large; the server was started with a smaller --max-body-bytes";
        return Problem::bad_request(detail).with_status(status);
    }
    Problem::bad_request("the body could not be read to its end")
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    // A list of a struct's fields in their order is one to serde; nobody means that.
    if body.trim_ascii_start().first() == Some(&b'[') && is_json(body) {
        return Err(Problem::invalid_field("", "the body must be an object, not an array"));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        // A number where an enum's word belongs counts as bad syntax; it is JSON all the same.
        if inner.is_data() || is_json(body) {
            let path = if path == "." { String::new() } else { path };
            let message = in_words(&path, without_position(&inner.to_string()));
            return Problem::invalid_field(&path, message);
        }
        Problem::bad_request(format!("the body is no JSON: {inner}"))
    })?;
    deserializer.end().map_err(|error| Problem::bad_request(format!("the body is no JSON: {error}")))?;
    Ok(value)
}

fn is_json(body: &[u8]) -> bool {
    std::str::from_utf8(body).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// The position in the text helps nobody who gets a path.
fn without_position(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(message, _)| message)
}

/// What serde says about types, in words for whoever wrote the body; the value, which may be a secret, is left out.
fn in_words(path: &str, message: &str) -> String {
    let subject = if path.is_empty() { "the body".to_owned() } else { format!("'{path}'") };
    let parts = |kind| message.strip_prefix(kind).and_then(|rest| rest.rsplit_once(", expected "));
    if let Some((found, _)) = parts("invalid value: ").filter(|(found, _)| found.starts_with("integer")) {
        return format!(
            "{subject} is out of range: {}",
            found.trim_start_matches("integer ").replace('`', "")
        );
    }
    let Some((found, expected)) = parts("invalid type: ") else { return tool::plain(message).into_owned() };
    let found = match found.split_whitespace().next().unwrap_or_default() {
        "integer" | "floating" => "a number",
        "boolean" => "a boolean",
        "string" | "character" => "a string",
        "sequence" => "an array",
        "map" => "an object",
        "null" | "unit" => "null",
        _ => "what it is",
    };
    let expected = match expected {
        "i8" | "i16" | "i32" | "i64" | "isize" | "u8" | "u16" | "u32" | "u64" | "usize" => "an integer",
        "f32" | "f64" => "a number",
        "a map" => "an object",
        "a sequence" => "an array",
        other if other.starts_with("struct ") || other.contains("tagged enum ") => "an object",
        other if other.starts_with("enum ") => "one of the known words",
        other => other,
    };
    format!("{subject} must be {expected}, not {found}")
}

/// A query string.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(query)| Self(query))
            .map_err(|rejection| Problem::bad_request(rejection.body_text()))
    }
}

/// A path with identifiers in it.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        axum::extract::Path::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Path(path)| Self(path))
            // What cannot be an id names nothing.
            .map_err(|_| Problem::not_found("resource"))
    }
}

/// One page of a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct Page<T> {
    pub(super) items: Vec<T>,
    /// Which page this is; the first is 1.
    pub(super) page: u32,
    /// How many items a page has at the most.
    pub(super) limit: u32,
    /// How many items there are on all pages.
    pub(super) total: i64,
}

impl<T> Page<T> {
    /// What a query found, as it is shown.
    pub(super) fn of<R>(found: store::Page<R>, show: impl FnMut(R) -> T) -> Self {
        let store::Page { items, page, limit, total } = found;
        Self { items: items.into_iter().map(show).collect(), page, limit, total }
    }

    /// The part that is asked for of a list that is there as a whole.
    pub(super) fn cut<R>(all: Vec<R>, page: PageRequest, show: impl FnMut(R) -> T) -> Self {
        let total = i64::try_from(all.len()).unwrap_or(i64::MAX);
        let first = (page.page as usize - 1).saturating_mul(page.limit as usize);
        let items = all.into_iter().skip(first).take(page.limit as usize).map(show).collect();
        Self { items, page: page.page, limit: page.limit, total }
    }

    /// A list that is always whole.
    pub(super) fn whole(items: Vec<T>) -> Self {
        let total = i64::try_from(items.len()).unwrap_or(i64::MAX);
        Self { items, page: 1, limit: MAX_LIMIT, total }
    }
}

/// Items on a page, at the most.
pub(super) const MAX_LIMIT: u32 = 1000;

/// Which part of a list: `page` from 1, `limit` 50 unless given, at most 1000.
pub(crate) struct Paging(pub(crate) PageRequest);

#[derive(serde::Deserialize)]
struct PagingQuery {
    page: Option<u32>,
    limit: Option<u32>,
}

impl<S: Send + Sync> FromRequestParts<S> for Paging {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let Query(PagingQuery { page, limit }) = Query::from_request_parts(parts, state).await?;
        let page = page.unwrap_or(1);
        let limit = limit.unwrap_or(50);
        if page == 0 {
            return Err(Problem::bad_request("page counts from 1"));
        }
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Problem::bad_request("limit must be from 1 to 1000"));
        }
        Ok(Self(PageRequest { page, limit }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Body {
        #[expect(dead_code, reason = "only parsed")]
        inner: Option<Vec<u32>>,
        #[expect(dead_code, reason = "only parsed")]
        role: Option<tool::Role>,
    }

    #[test]
    fn tells_bad_json_from_bad_fields() {
        let detail = |text: &[u8]| format!("{:?}", parse::<Body>(text).err());
        for text in [&b"{"[..], b"", b"{} x", b"\xff", b"{\"inner\":[1,]}"] {
            assert!(detail(text).contains("the body is no JSON"), "{}", detail(text));
        }
        assert!(detail(br#"{"inner":[1,"x"]}"#).contains("path: \"inner[1]\""));
        assert!(detail(br#"{"role":1}"#).contains("path: \"role\""), "{}", detail(br#"{"role":1}"#));
        for (text, expected) in [
            (&br#"{"inner":[1,"hunter2"]}"#[..], "'inner[1]' must be an integer, not a string"),
            (br#"{"inner":[1.5]}"#, "'inner[0]' must be an integer, not a number"),
            (br#"{"inner":[-1]}"#, "'inner[0]' is out of range: -1"),
            (br#"{"inner":{}}"#, "'inner' must be an array, not an object"),
            (b"7", "the body must be an object, not a number"),
        ] {
            assert!(detail(text).contains(expected) && !detail(text).contains("hunter2"), "{}", detail(text));
        }
        assert!(detail(br#"{"iner":1}"#).contains("unknown field `iner`"));
        assert!(parse::<Body>(b"{}").is_ok());
    }

    #[test]
    fn a_depth_bomb_is_an_error() {
        let bomb = format!("{{\"inner\":{}", "[".repeat(100_000));
        assert!(parse::<serde_json::Value>(bomb.as_bytes()).is_err());
    }
}
