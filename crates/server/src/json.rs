//! Bodies and queries: parsed strictly, refused with the path of what is wrong.

use crate::body::RawBody;
use crate::error::{Problem, Result};
use axum::extract::{FromRequest, FromRequestParts, OptionalFromRequest, Request};
use http::request::Parts;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use store::PageRequest;
use tool::json_words::{self, FieldError};
use utoipa::ToSchema;

/// A JSON body. Unlike axum's, it says where in the body the problem is.
#[derive(Default)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        let RawBody(body) = RawBody::from_request(request, state).await?;
        parse(&body).map(Self)
    }
}

/// A body that may be left out, or be null.
impl<T: DeserializeOwned, S: Send + Sync> OptionalFromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Option<Self>> {
        let RawBody(body) = RawBody::from_request(request, state).await?;
        if body.is_empty() { Ok(None) } else { Ok(parse::<Option<T>>(&body)?.map(Self)) }
    }
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
            let field_error = json_words::field_error(&path, &inner.to_string());
            return Problem::invalid(vec![tool::Problem::new(
                field_error.path,
                field_error.code,
                field_error.message,
            )]);
        }
        no_json(&inner)
    })?;
    deserializer.end().map_err(|error| no_json(&error))?;
    Ok(value)
}

fn is_json(body: &[u8]) -> bool {
    std::str::from_utf8(body).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

pub(crate) fn no_json(error: &serde_json::Error) -> Problem {
    Problem::bad_request(format!("the body is no JSON: {}", json_words::syntax(error)))
}

/// A query string.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(query)| Self(query))
            .map_err(|rejection| bad_query(&rejection.body_text()))
    }
}

/// What is wrong with a query string; the parser says `field: why`, or only why.
fn bad_query(text: &str) -> Problem {
    let text = text.split_once("query string: ").map_or(text, |(_, why)| why);
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let (field, why) = text.split_once(": ").filter(|(field, _)| is_name(field)).unwrap_or(("", text));
    unfit(json_words::query_field_error(field, why))
}

fn unfit(field_error: FieldError) -> Problem {
    Problem::bad_request(format!("the query string does not fit: {}", field_error.message))
        .with_errors(vec![tool::Problem::new(field_error.path, field_error.code, field_error.message)])
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
    pub(crate) items: Vec<T>,
    /// Which page this is; the first is 1.
    pub(crate) page: u32,
    /// How many items a page has at the most.
    pub(crate) limit: u32,
    /// How many items there are on all pages. The audit and runs are counted up to 10,000, or one further than this page.
    pub(crate) total: i64,
}

impl<T> Page<T> {
    /// What a query found, as it is shown.
    pub(crate) fn of<R>(found: store::Page<R>, show: impl FnMut(R) -> T) -> Self {
        let store::Page { items, page, limit, total } = found;
        Self { items: items.into_iter().map(show).collect(), page, limit, total }
    }

    /// Adds what comes behind everything that the query would find on all pages.
    pub(crate) fn extend(&mut self, rest: Vec<T>) {
        let first = (i64::from(self.page) - 1).saturating_mul(i64::from(self.limit));
        let skipped = usize::try_from(first.saturating_sub(self.total)).unwrap_or_default();
        let room = (self.limit as usize).saturating_sub(self.items.len());
        self.total = self.total.saturating_add(i64::try_from(rest.len()).unwrap_or(i64::MAX));
        self.items.extend(rest.into_iter().skip(skipped).take(room));
    }

    /// The part that is asked for of a list that is there as a whole.
    pub(crate) fn cut<R>(all: Vec<R>, page: PageRequest, show: impl FnMut(R) -> T) -> Self {
        let total = i64::try_from(all.len()).unwrap_or(i64::MAX);
        let first = (page.page as usize - 1).saturating_mul(page.limit as usize);
        let items = all.into_iter().skip(first).take(page.limit as usize).map(show).collect();
        Self { items, page: page.page, limit: page.limit, total }
    }

    /// A list that is always whole.
    pub(crate) fn whole(items: Vec<T>) -> Self {
        let total = i64::try_from(items.len()).unwrap_or(i64::MAX);
        Self { items, page: 1, limit: MAX_LIMIT, total }
    }
}

/// Items on a page, at the most.
pub(crate) const MAX_LIMIT: u32 = 1000;

/// Which part of a list: `page` from 1, `limit` 50 unless given, at most 1000.
pub(crate) struct Paging(pub(crate) PageRequest);

fn out_of_range(field: &str, range: &str) -> Problem {
    let message = format!("'{field}' must be {range}");
    unfit(FieldError { path: field.to_owned(), code: "Invalid", message })
}

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
            return Err(out_of_range("page", "from 1 on"));
        }
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(out_of_range("limit", &format!("from 1 to {MAX_LIMIT}")));
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
        assert!(detail(br#"{"iner":1}"#).contains("there is no field 'iner'; did you mean 'inner'?"));
        assert!(parse::<Body>(b"{}").is_ok());
    }

    #[test]
    fn a_depth_bomb_is_an_error() {
        let bomb = format!("{{\"inner\":{}", "[".repeat(100_000));
        assert!(parse::<serde_json::Value>(bomb.as_bytes()).is_err());
    }
}
