//! What servers add to a status, as `google.rpc` has it (error_details.proto).

use prost::Message;
use std::time::Duration;

/// How many are told.
const MAX_SHOWN: usize = 10;

/// A `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Detail>,
}

/// A `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
struct Detail {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// `BadRequest`, `PreconditionFailure` and `QuotaFailure` are alike: what is wrong, and where.
#[derive(Clone, PartialEq, Message)]
struct Violations {
    #[prost(message, repeated, tag = "1")]
    violations: Vec<Violation>,
}

#[derive(Clone, PartialEq, Message)]
struct Violation {
    #[prost(string, tag = "1")]
    first: String,
    #[prost(string, tag = "2")]
    second: String,
    #[prost(string, tag = "3")]
    third: String,
}

#[derive(Clone, PartialEq, Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
}

#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Delay>,
}

/// A `google.protobuf.Duration`.
#[derive(Clone, PartialEq, Message)]
struct Delay {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

#[derive(Clone, PartialEq, Message)]
struct LocalizedMessage {
    #[prost(string, tag = "2")]
    message: String,
}

/// What is worth telling or acting upon.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Details {
    pub(super) words: Option<String>,
    pub(super) retry_after: Option<Duration>,
}

/// Reads a `google.rpc.Status`; what is none says nothing.
pub(super) fn read(bytes: &[u8]) -> Details {
    let status = RpcStatus::decode(bytes).unwrap_or_default();
    let mut words = Vec::new();
    let mut retry_after = None;
    for detail in status.details.iter().take(MAX_SHOWN) {
        let name = detail.type_url.rsplit('/').next().unwrap_or_default();
        let value = detail.value.as_slice();
        match name.strip_prefix("google.rpc.").unwrap_or(name) {
            "BadRequest" | "PreconditionFailure" | "QuotaFailure" => words.extend(violations(value)),
            "ErrorInfo" => words.extend(ErrorInfo::decode(value).ok().map(|info| info.reason)),
            "LocalizedMessage" => words.extend(LocalizedMessage::decode(value).ok().map(|text| text.message)),
            "RetryInfo" => retry_after = retry_after.or(RetryInfo::decode(value).ok().and_then(to_duration)),
            // The insides of a server, which are not for everybody.
            "DebugInfo" => {}
            other => words.push(other.to_owned()),
        }
    }
    words.retain(|word| !word.is_empty());
    Details { words: (!words.is_empty()).then(|| words.join("; ")), retry_after }
}

fn violations(bytes: &[u8]) -> Vec<String> {
    let found = Violations::decode(bytes).unwrap_or_default().violations.into_iter().take(MAX_SHOWN);
    let words = |Violation { first, second, third }| {
        let parts: Vec<String> = [first, second, third].into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(": ")
    };
    found.map(words).collect()
}

fn to_duration(info: RetryInfo) -> Option<Duration> {
    let Delay { seconds, nanos } = info.retry_delay?;
    Some(Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?))
}
