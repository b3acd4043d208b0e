//! What programs are told of a call that failed, the same at every door.

use crate::error::Code;
use serde::Serialize;
use tool::{Error, ErrorKind, Reason};
use utoipa::ToSchema;

/// The facts of a failure, beside its sentence.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CallError {
    code: Code,
    /// The service's HTTP status, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<String>,
    /// The service's own word for the failure, e.g. `conflict` or an SQLSTATE.
    #[serde(skip_serializing_if = "Option::is_none")]
    service_code: Option<String>,
    /// The status of gRPC, e.g. `FAILED_PRECONDITION`.
    #[serde(skip_serializing_if = "Option::is_none")]
    grpc_status: Option<String>,
    /// How long to wait before the next try, where the service or its breaker has said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// Why an agent failed, e.g. `MODEL_UNREACHABLE` or `STEP_LIMIT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl CallError {
    pub(crate) fn of(error: &Error) -> Self {
        let code = match error.kind() {
            ErrorKind::InvalidConfig => Code::Unavailable,
            _ => Code::of(error),
        };
        let wait = error.retry_after().map(|wait| wait.as_millis());
        Self {
            code,
            status: error.status(),
            service: error.service().map(str::to_owned),
            service_code: error.service_code().map(str::to_owned),
            grpc_status: error.grpc_status().map(str::to_owned),
            retry_after_ms: wait.map(|wait| wait.try_into().unwrap_or(u64::MAX)),
            reason: error.reason().and_then(Reason::code),
        }
    }
}
