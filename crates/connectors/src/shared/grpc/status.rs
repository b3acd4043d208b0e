//! How gRPC calls end: the status in the trailers, and what a server may add to it.

use base64::Engine;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::{alphabet, engine::DecodePaddingMode};
use fetch::http::header::HeaderMap;
use fetch::http::{HeaderName, StatusCode};
use percent_encoding::percent_decode;
use std::time::Duration;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// Servers write it with and without the signs at its end.
pub(crate) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The codes of gRPC; what is none of them is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Ok,
    Cancelled,
    Unknown,
    InvalidArgument,
    DeadlineExceeded,
    NotFound,
    AlreadyExists,
    PermissionDenied,
    ResourceExhausted,
    FailedPrecondition,
    Aborted,
    OutOfRange,
    Unimplemented,
    Internal,
    Unavailable,
    DataLoss,
    Unauthenticated,
}

/// In the order of their numbers, with the names that everybody knows them by.
const CODES: [(Code, &str); 17] = [
    (Code::Ok, "OK"),
    (Code::Cancelled, "CANCELLED"),
    (Code::Unknown, "UNKNOWN"),
    (Code::InvalidArgument, "INVALID_ARGUMENT"),
    (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
    (Code::NotFound, "NOT_FOUND"),
    (Code::AlreadyExists, "ALREADY_EXISTS"),
    (Code::PermissionDenied, "PERMISSION_DENIED"),
    (Code::ResourceExhausted, "RESOURCE_EXHAUSTED"),
    (Code::FailedPrecondition, "FAILED_PRECONDITION"),
    (Code::Aborted, "ABORTED"),
    (Code::OutOfRange, "OUT_OF_RANGE"),
    (Code::Unimplemented, "UNIMPLEMENTED"),
    (Code::Internal, "INTERNAL"),
    (Code::Unavailable, "UNAVAILABLE"),
    (Code::DataLoss, "DATA_LOSS"),
    (Code::Unauthenticated, "UNAUTHENTICATED"),
];

impl Code {
    pub(crate) fn name(self) -> &'static str {
        CODES.iter().find(|(code, _)| *code == self).map_or("UNKNOWN", |(_, name)| name)
    }

    pub(crate) fn from_number(number: i32) -> Self {
        let found = usize::try_from(number).ok().and_then(|number| CODES.get(number));
        found.map_or(Self::Unknown, |(code, _)| *code)
    }

    /// What an HTTP status stands for that came without one of gRPC, as the protocol says.
    fn from_http(status: StatusCode) -> Self {
        match status.as_u16() {
            400 => Self::Internal,
            401 => Self::Unauthenticated,
            403 => Self::PermissionDenied,
            404 => Self::Unimplemented,
            429 | 502 | 503 | 504 => Self::Unavailable,
            _ => Self::Unknown,
        }
    }
}

/// The end of a call, in the server's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// A `google.rpc.Status`, where there is one.
    pub(crate) details: Vec<u8>,
    /// When the server wants to be asked again.
    pub(crate) pushback: Option<Duration>,
}

impl Status {
    /// The status in these headers or trailers, if there is one.
    pub(crate) fn read(headers: &HeaderMap) -> Option<Self> {
        let number = headers.get(STATUS)?.to_str().ok().and_then(|text| text.trim().parse().ok());
        let message = headers.get(MESSAGE).map(|value| percent_decode(value.as_bytes()).decode_utf8_lossy());
        let details = headers.get(DETAILS).and_then(|value| BASE64.decode(value.as_bytes()).ok());
        let pushback = headers.get(PUSHBACK).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        Some(Self {
            code: number.map_or(Code::Unknown, Code::from_number),
            message: message.unwrap_or_default().into_owned(),
            details: details.unwrap_or_default(),
            pushback: pushback.map(Duration::from_millis),
        })
    }

    /// The status of an answer that is plain HTTP.
    pub(crate) fn of_http(status: StatusCode) -> Self {
        Self {
            code: Code::from_http(status),
            message: format!("the server answered HTTP {} without a gRPC status", status.as_u16()),
            details: Vec::new(),
            pushback: None,
        }
    }
}
