//! The head of an answer: its status and its headers.

use crate::error::Error;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue,
    SERVER, TRANSFER_ENCODING, VARY,
};
use http::{StatusCode, Version};
use httparse::{ParserConfig, Status};
use std::mem::MaybeUninit;

/// How long a head may be.
const MAX_BYTES: usize = 64 * 1024;
/// How many headers it may have.
const MAX_HEADERS: usize = 100;

/// What an answer says before its body.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) version: Version,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
}

/// Reads the head at the front of `bytes`, once it is there as a whole, and says how long it is.
///
/// It is copied once and its values are parts of the copy: whoever keeps one of them shall not
/// keep the memory that bodies are read into.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, Error> {
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut parsed = httparse::Response::new(&mut []);
    let read = ParserConfig::default().parse_response_with_uninit_headers(&mut parsed, bytes, &mut headers);
    let length = match read.map_err(|error| no_head(bytes, error))? {
        Status::Complete(length) => Some(length),
        Status::Partial => None,
    };
    if length.unwrap_or(bytes.len()) > MAX_BYTES {
        return Err(Error::malformed("the head of the answer is too long"));
    }
    let (Some(length), Some(version), Some(code)) = (length, parsed.version, parsed.code) else {
        return Ok(None);
    };
    let head = Bytes::copy_from_slice(&bytes[..length]);
    let mut headers = HeaderMap::with_capacity(parsed.headers.len());
    for header in &*parsed.headers {
        let start = header.value.as_ptr().addr() - bytes.as_ptr().addr();
        let value = head.slice(start..start + header.value.len());
        let name = name_of(header.name.as_bytes())?;
        headers.append(
            name,
            HeaderValue::from_maybe_shared(value).map_err(|error| {
                Error::malformed_by("a header of the answer has illegal characters in its value", error)
            })?,
        );
    }
    let version = if version == 0 { Version::HTTP_10 } else { Version::HTTP_11 };
    let status = StatusCode::from_u16(code)
        .map_err(|error| Error::malformed_by("the answer has no proper status", error))?;
    Ok(Some((Head { version, status, headers }, length)))
}

/// Why something is no head. A server that wants TLS says so in TLS.
fn no_head(bytes: &[u8], error: httparse::Error) -> Error {
    let why = match (bytes, error) {
        ([0x15 | 0x16, 0x03, ..], _) => {
            "the service speaks TLS at that port; write https:// instead of http://"
        }
        (_, httparse::Error::TooManyHeaders) => "the answer has too many headers",
        _ => "the answer is no HTTP/1.1; check that the address is that of an HTTP service",
    };
    Error::malformed_by(why, error)
}

/// Most names are the same few, and most servers write them in one of two ways.
fn name_of(bytes: &[u8]) -> Result<HeaderName, Error> {
    Ok(match bytes {
        b"date" | b"Date" => DATE,
        b"vary" | b"Vary" => VARY,
        b"server" | b"Server" => SERVER,
        b"connection" | b"Connection" => CONNECTION,
        b"content-type" | b"Content-Type" => CONTENT_TYPE,
        b"cache-control" | b"Cache-Control" => CACHE_CONTROL,
        b"content-length" | b"Content-Length" => CONTENT_LENGTH,
        b"transfer-encoding" | b"Transfer-Encoding" => TRANSFER_ENCODING,
        _ => HeaderName::from_bytes(bytes)
            .map_err(|error| Error::malformed_by("a header of the answer has an illegal name", error))?,
    })
}

/// Whether there is anything new to say about a head that was not whole when only the first `seen`
/// bytes were there. This is cheaper than to read it anew for each byte that comes.
pub(crate) fn is_worth_reading(bytes: &[u8], seen: usize) -> bool {
    if seen == 0 || bytes.len() > MAX_BYTES {
        return !bytes.is_empty();
    }
    // The end of a line may have been seen, and the empty line behind it only in part.
    let from = seen.saturating_sub(2);
    memchr::memchr_iter(b'\n', &bytes[from..])
        .any(|line| matches!(bytes[from + line + 1..], [b'\n', ..] | [b'\r', b'\n', ..]))
}

#[cfg(test)]
mod tests;
