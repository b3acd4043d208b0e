//! Protocol errors, and the one place where kinds of failure meet JSON-RPC codes.

use crate::{Era, Version};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use tool::depth::is_too_deep;
use tool::{Error, ErrorKind, readable};

/// The most of an error's message that is kept.
const MESSAGE_BYTES: usize = 16 * 1024;

/// The `error` of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// A JSON-RPC or MCP code.
    pub code: i32,
    /// What happened, and what to do.
    pub message: String,
    /// Facts for programs.
    pub data: Option<Data>,
}

/// JSON as it was written.
#[derive(Debug, Clone)]
pub struct Data(Box<RawValue>);

impl Data {
    /// The JSON text.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl From<Value> for Data {
    fn from(value: Value) -> Self {
        // What a value writes is JSON.
        Self(RawValue::from_string(value.to_string()).unwrap_or_default())
    }
}

impl RpcError {
    /// An error with any code.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// JSON that is no message.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message)
    }

    /// A payload that does not fit.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    /// An error as the other side wrote it; what cannot be read is left out.
    #[must_use]
    pub fn from_raw(raw: &RawValue) -> Self {
        #[derive(Deserialize)]
        struct Head<'a> {
            #[serde(default)]
            code: f64,
            #[serde(borrow, default)]
            message: Option<Cow<'a, str>>,
            #[serde(borrow, default)]
            data: Option<&'a RawValue>,
        }
        let text = match serde_json::from_str::<Head<'_>>(raw.get()) {
            Ok(_) => Cow::Borrowed(raw.get()),
            Err(_) => readable(raw.get()),
        };
        let Ok(head) = serde_json::from_str::<Head<'_>>(&text) else {
            return Self::new(-32603, "the other side's error cannot be read");
        };
        let data = head.data.filter(|data| data.get() != "null" && !is_too_deep(data.get()));
        let mut message = head.message.map_or_else(|| "no message".to_owned(), Cow::into_owned);
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES));
        Self { code: head.code as i32, message, data: data.map(|data| Data(data.to_owned())) }
    }

    /// The error as a JSON object.
    #[must_use]
    pub fn to_raw(&self) -> Box<RawValue> {
        let message = Value::from(self.message.as_str());
        let data = self.data.as_ref().map_or_else(String::new, |data| format!(",\"data\":{}", data.get()));
        let object = format!("{{\"code\":{},\"message\":{message}{data}}}", self.code);
        RawValue::from_string(object).unwrap_or_default()
    }

    /// A method we do not have.
    #[must_use]
    pub fn unknown_method(method: &str) -> Self {
        Self::new(-32601, format!("Method '{method}' not found"))
    }
}

/// How a failed call is told: as an error of the protocol, or as a result that the model reads.
#[derive(Debug)]
pub enum Failure {
    /// An error of the protocol.
    Error(RpcError),
    /// A tool result with `isError`.
    Result(String),
}

/// How a call that failed is told to a client of this version.
#[must_use]
pub fn failure_of_call(error: &Error, version: Version) -> Failure {
    if error.is_about_credentials() {
        return Failure::Error(RpcError { data: data_of(error), ..RpcError::new(-32603, error.message()) });
    }
    if let Some(original) = error.original() {
        return Failure::Error(RpcError::from_raw(original));
    }
    if let Some(capability) = error.required_capability() {
        return lacking(error, capability, version);
    }
    match error.kind() {
        ErrorKind::NotFound if version.era() == Era::Modern => {
            Failure::Error(RpcError::invalid_params(error.message()))
        }
        ErrorKind::NotFound => Failure::Error(RpcError::new(-32601, error.message())),
        ErrorKind::InvalidInput if version.has_argument_errors_as_results() => {
            Failure::Result(error.message().to_owned())
        }
        ErrorKind::InvalidInput => {
            let mut refused = RpcError::invalid_params(format!("Invalid params: {}", error.message()));
            refused.data = error.parameter().map(|parameter| json!({ "parameter": parameter }).into());
            Failure::Error(refused)
        }
        ErrorKind::Unauthenticated
        | ErrorKind::Denied
        | ErrorKind::RateLimited
        | ErrorKind::ServiceDisabled
        | ErrorKind::ToolDisabled
        | ErrorKind::Unsupported
        | ErrorKind::InvalidConfig
        | ErrorKind::Internal => {
            Failure::Error(RpcError { data: data_of(error), ..RpcError::new(-32603, error.message()) })
        }
        ErrorKind::Timeout
        | ErrorKind::Cancelled
        | ErrorKind::Unavailable
        | ErrorKind::CircuitOpen
        | ErrorKind::Missing
        | ErrorKind::Upstream => Failure::Result(error.in_words()),
    }
}

/// How a client is told that it would have to declare more, e.g. `sampling.tools`.
fn lacking(error: &Error, capability: &str, version: Version) -> Failure {
    if version.era() == Era::Modern {
        let required = capability.rsplit('.').fold(json!({}), |inner, name| json!({ name: inner }));
        let data = json!({ "requiredCapabilities": required });
        return Failure::Error(RpcError {
            data: Some(data.into()),
            ..RpcError::new(-32021, error.message())
        });
    }
    match version.has_argument_errors_as_results() {
        true => Failure::Result(error.message().to_owned()),
        false => Failure::Error(RpcError::invalid_params(error.message())),
    }
}

fn data_of(error: &Error) -> Option<Data> {
    let mut data = Map::new();
    if let Some(service) = error.service() {
        data.insert("service".into(), service.into());
    }
    if let Some(wait) = error.retry_after() {
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        data.insert("retry_after_ms".into(), wait.into());
    }
    (!data.is_empty()).then(|| Value::Object(data).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn tells_bad_arguments_as_each_version_wants_them() {
        let error = Error::invalid_input("Missing required parameter 'query'").of_parameter("query");
        let Failure::Error(refused) = failure_of_call(&error, Version::V2025_06_18) else { panic!() };
        assert_eq!(refused.code, -32602);
        assert_eq!(refused.message, "Invalid params: Missing required parameter 'query'");
        assert_eq!(refused.data, Some(json!({ "parameter": "query" }).into()));
        assert!(matches!(failure_of_call(&error, Version::V2025_11_25), Failure::Result(_)));
    }

    /// AG-17
    #[test]
    fn tells_clients_what_they_would_have_to_declare() {
        let error = Error::unsupported("declare it").requiring("sampling.tools");
        let Failure::Error(refused) = failure_of_call(&error, Version::V2026_07_28) else { panic!() };
        let required = json!({ "requiredCapabilities": { "sampling": { "tools": {} } } });
        assert_eq!((refused.code, refused.data), (-32021, Some(required.into())));
        assert!(matches!(failure_of_call(&error, Version::V2025_11_25), Failure::Result(_)));
        let Failure::Error(refused) = failure_of_call(&error, Version::V2025_06_18) else { panic!() };
        assert_eq!((refused.code, refused.data), (-32602, None));
    }

    #[test]
    fn tells_programs_when_to_come_back_as_a_number() {
        let error = Error::rate_limited("too many calls").with_retry_after(Duration::from_millis(1500));
        let Failure::Error(refused) = failure_of_call(&error, Version::V2025_11_25) else { panic!() };
        assert_eq!(refused.data, Some(json!({ "retry_after_ms": 1500 }).into()));
    }
}
