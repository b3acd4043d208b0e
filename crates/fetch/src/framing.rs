//! What follows a head: where the body ends, and whether the connection goes on behind it (RFC 9112, section 6.3).

use crate::body::Body;
use crate::chunked::Chunked;
use crate::error::Error;
use crate::head::Head;
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::{HeaderMap, Method, StatusCode, Version};

/// What comes after a head.
#[derive(Debug)]
pub(crate) struct Framing {
    pub(crate) body: Body,
    /// Another answer may come behind the body.
    pub(crate) stays_open: bool,
}

impl Framing {
    /// What comes after `head`, which answers a request with this method.
    pub(crate) fn of(method: &Method, head: &Head) -> Result<Self, Error> {
        let (status, headers) = (head.status, &head.headers);
        if status == StatusCode::SWITCHING_PROTOCOLS || (*method == Method::CONNECT && status.is_success()) {
            return Ok(Self { body: Body::Ended, stays_open: false });
        }
        let is_persistent = head.version == Version::HTTP_11 || has_token(headers, &CONNECTION, "keep-alive");
        let stays_open = is_persistent && !has_token(headers, &CONNECTION, "close");
        let has_no_body =
            *method == Method::HEAD || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        if has_no_body {
            return Ok(Self { body: Body::Ended, stays_open });
        }
        if let Some(last) = headers.get_all(TRANSFER_ENCODING).iter().next_back() {
            if !tokens(last).next_back().is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked")) {
                return Ok(Self { body: Body::UntilClose, stays_open: false });
            }
            // Whoever says two things about the length, or says what HTTP/1.0 does not know, may have
            // meant another end of the body than we see.
            let is_sure = head.version == Version::HTTP_11 && !headers.contains_key(CONTENT_LENGTH);
            return Ok(Self { body: Body::Chunked(Chunked::default()), stays_open: stays_open && is_sure });
        }
        Ok(match content_length(headers)? {
            Some(length) => Self { body: Body::of_length(length), stays_open },
            None => Self { body: Body::UntilClose, stays_open: false },
        })
    }
}

/// Whether a header that is a list has this word in it.
pub(crate) fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .any(|value| tokens(value).any(|word| word.eq_ignore_ascii_case(token.as_bytes())))
}

fn tokens(value: &HeaderValue) -> impl DoubleEndedIterator<Item = &[u8]> {
    value.as_bytes().split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

/// The length that is said once, or several times in the same way.
fn content_length(headers: &HeaderMap) -> Result<Option<u64>, Error> {
    let mut said = None;
    for value in headers.get_all(CONTENT_LENGTH).iter().flat_map(tokens) {
        let length =
            number(value).ok_or_else(|| Error::malformed("the content-length of the answer is no number"))?;
        if said.is_some_and(|said| said != length) {
            return Err(Error::malformed("the answer has several content-lengths"));
        }
        said = Some(length);
    }
    Ok(said)
}

/// Digits and nothing else.
fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests;
