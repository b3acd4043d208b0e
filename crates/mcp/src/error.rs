//! Protocol errors, and the one place where kinds of failure meet JSON-RPC codes.

use crate::Version;
use serde_json::{Map, Value, json};
use tool::{Error, ErrorKind};

/// The `error` of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// A JSON-RPC or MCP code.
    pub code: i32,
    /// What happened, and what to do.
    pub message: String,
    /// Facts for programs.
    pub data: Option<Value>,
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
    if error.context("auth") == Some("rejected") {
        return Failure::Error(RpcError { data: data_of(error), ..RpcError::new(-32603, error.message()) });
    }
    match error.kind() {
        ErrorKind::NotFound => Failure::Error(RpcError::new(-32601, error.message())),
        ErrorKind::InvalidInput if version.has_argument_errors_as_results() => {
            Failure::Result(error.message().to_owned())
        }
        ErrorKind::InvalidInput => {
            let mut refused = RpcError::invalid_params(format!("Invalid params: {}", error.message()));
            refused.data = error.context("parameter").map(|parameter| json!({ "parameter": parameter }));
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
        | ErrorKind::Upstream => Failure::Result(error.full_message()),
    }
}

fn data_of(error: &Error) -> Option<Value> {
    let mut data = Map::new();
    for key in ["service", "retry_after_ms"] {
        if let Some(value) = error.context(key) {
            data.insert(key.into(), value.into());
        }
    }
    (!data.is_empty()).then_some(Value::Object(data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_bad_arguments_as_each_version_wants_them() {
        let error = Error::invalid_input("Missing required parameter 'query'").with("parameter", "query");
        let Failure::Error(refused) = failure_of_call(&error, Version::V2025_06_18) else { panic!() };
        assert_eq!(refused.code, -32602);
        assert_eq!(refused.message, "Invalid params: Missing required parameter 'query'");
        assert_eq!(refused.data, Some(json!({ "parameter": "query" })));
        assert!(matches!(failure_of_call(&error, Version::V2025_11_25), Failure::Result(_)));
    }
}
