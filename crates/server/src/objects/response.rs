//! Objects as responses. What is stored is somebody else's: a browser must not let it act as a page of ours.

use super::body_of;
use axum::body::Body;
use axum::response::Response;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, LAST_MODIFIED, REFERRER_POLICY,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use tool::objects::Reading;
use tool::{Link, Object};

/// No script, no form, no frame, no origin.
const SANDBOX: HeaderValue = HeaderValue::from_static(
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:",
);

/// The object, or a part of it.
pub(super) fn of(link: &Link, reading: Reading, is_part: bool, is_head: bool) -> Response {
    let Reading { object, range, body } = reading;
    let body = if is_head { Body::empty() } else { body_of(body) };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    guard(headers);
    set(headers, CONTENT_LENGTH, &(range.end - range.start).to_string());
    set(headers, ACCEPT_RANGES, "bytes");
    let content_type = link.content_type.as_ref().or(object.content_type.as_ref());
    set(headers, CONTENT_TYPE, content_type.map_or("application/octet-stream", String::as_str));
    set(headers, CONTENT_DISPOSITION, &disposition(link));
    describe(headers, &object);
    if is_part {
        set(headers, CONTENT_RANGE, &format!("bytes {}-{}/{}", range.start, range.end - 1, object.size));
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    response
}

/// The answer to a part that the object does not have.
pub(super) fn unsatisfiable(size: u64) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
    set(response.headers_mut(), CONTENT_RANGE, &format!("bytes */{size}"));
    response
}

/// What was written.
pub(super) fn written(object: &Object) -> Response {
    let about = json!({ "key": object.key, "size": object.size, "etag": object.etag, "contentType": object.content_type });
    let mut response = Response::new(Body::from(about.to_string()));
    let headers = response.headers_mut();
    guard(headers);
    set(headers, CONTENT_TYPE, "application/json");
    describe(headers, object);
    response
}

fn guard(headers: &mut HeaderMap) {
    headers.insert(CONTENT_SECURITY_POLICY, SANDBOX);
    // The address is the permission: it must not travel on.
    set(headers, REFERRER_POLICY, "no-referrer");
    set(headers, CACHE_CONTROL, "private, no-store");
}

fn describe(headers: &mut HeaderMap, object: &Object) {
    if let Some(etag) = &object.etag {
        set(headers, ETAG, &format!("\"{}\"", etag.trim_matches('"')));
    }
    if let Some(time) = object.last_modified {
        set(headers, LAST_MODIFIED, &httpdate::fmt_http_date(time));
    }
}

/// It is saved and not shown, under a name in which nothing can hide.
fn disposition(link: &Link) -> String {
    let name = link.filename.as_deref().unwrap_or_else(|| link.key.rsplit('/').next().unwrap_or_default());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " .-_()+,@".contains(c);
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let exact = utf8_percent_encode(name, NON_ALPHANUMERIC);
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}")
}

/// What cannot stand in a header is left out.
fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
