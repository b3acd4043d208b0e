//! Problems: every refusal as RFC 9457 JSON, and the one place where kinds meet status codes.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use std::time::Duration;
use utoipa::ToSchema;

/// What a handler gives back.
pub(crate) type Result<T, E = Problem> = std::result::Result<T, E>;

/// A stable word for programs. The list is part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    BadRequest,
    Unauthenticated,
    Forbidden,
    NotFound,
    Conflict,
    ValidationFailed,
    Referenced,
    RateLimited,
    InvalidUri,
    ToolNotFound,
    ToolDisabled,
    ServiceDisabled,
    Timeout,
    UpstreamError,
    Unavailable,
    CircuitOpen,
    OtherSession,
    Internal,
}

impl Code {
    /// The word as it stands in JSON and in the audit.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "BAD_REQUEST",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Forbidden => "FORBIDDEN",
            Self::NotFound => "NOT_FOUND",
            Self::Conflict => "CONFLICT",
            Self::ValidationFailed => "VALIDATION_FAILED",
            Self::Referenced => "REFERENCED",
            Self::RateLimited => "RATE_LIMITED",
            Self::InvalidUri => "INVALID_URI",
            Self::ToolNotFound => "TOOL_NOT_FOUND",
            Self::ToolDisabled => "TOOL_DISABLED",
            Self::ServiceDisabled => "SERVICE_DISABLED",
            Self::Timeout => "TIMEOUT",
            Self::UpstreamError => "UPSTREAM_ERROR",
            Self::Unavailable => "UNAVAILABLE",
            Self::CircuitOpen => "CIRCUIT_OPEN",
            Self::OtherSession => "OTHER_SESSION",
            Self::Internal => "INTERNAL",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::BadRequest | Self::InvalidUri => StatusCode::BAD_REQUEST,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound | Self::ToolNotFound => StatusCode::NOT_FOUND,
            Self::Conflict
            | Self::Referenced
            | Self::ToolDisabled
            | Self::ServiceDisabled
            | Self::OtherSession => StatusCode::CONFLICT,
            Self::ValidationFailed => StatusCode::UNPROCESSABLE_ENTITY,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Self::UpstreamError => StatusCode::BAD_GATEWAY,
            Self::Unavailable | Self::CircuitOpen => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// What programs call a kind of failure.
#[must_use]
pub fn code_of(kind: tool::ErrorKind) -> &'static str {
    Code::from(kind).as_str()
}

impl From<tool::ErrorKind> for Code {
    fn from(kind: tool::ErrorKind) -> Self {
        use tool::ErrorKind as Kind;
        match kind {
            Kind::NotFound => Self::ToolNotFound,
            Kind::InvalidInput | Kind::InvalidConfig => Self::ValidationFailed,
            Kind::Unauthenticated => Self::Unauthenticated,
            Kind::Denied => Self::Forbidden,
            Kind::RateLimited => Self::RateLimited,
            Kind::ServiceDisabled => Self::ServiceDisabled,
            Kind::ToolDisabled => Self::ToolDisabled,
            Kind::Timeout => Self::Timeout,
            Kind::Cancelled | Kind::Unavailable => Self::Unavailable,
            Kind::CircuitOpen => Self::CircuitOpen,
            Kind::Missing => Self::NotFound,
            Kind::Upstream => Self::UpstreamError,
            Kind::Unsupported => Self::BadRequest,
            Kind::Internal => Self::Internal,
        }
    }
}

impl Code {
    /// What programs call this failure. Where an argument names what is not there, the tool itself was found.
    pub(crate) fn of(error: &tool::Error) -> Self {
        match (error.kind(), error.parameter()) {
            (tool::ErrorKind::NotFound, Some(_)) => Self::NotFound,
            (kind, _) => kind.into(),
        }
    }
}

/// A refusal. It becomes a response with the request's id in it on the way out.
#[derive(Debug, Clone)]
pub struct Problem {
    code: Code,
    status: StatusCode,
    detail: String,
    errors: Vec<tool::Problem>,
    retry_after: Option<Duration>,
}

/// A problem as it is sent, RFC 9457.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemBody<'a> {
    /// The status in words.
    title: &'a str,
    /// The HTTP status.
    status: u16,
    /// A stable word for programs.
    code: Code,
    /// What happened, and what to do.
    detail: &'a str,
    /// Each thing that is wrong with the input.
    #[schema(value_type = Vec<FieldProblem>)]
    errors: &'a [tool::Problem],
    /// Names the request in logs and audit.
    request_id: &'a str,
}

/// One thing that is wrong with an input.
#[derive(Serialize, ToSchema)]
pub(crate) struct FieldProblem {
    /// Path into the input, e.g. `config.base_url`.
    path: String,
    /// A stable word for programs, e.g. `Required`.
    code: String,
    /// What to do about it.
    message: String,
    /// Which line, from 1, where the input is a text like a flow's source.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// Which character of the line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
}

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, status: code.status(), detail: detail.into(), errors: Vec::new(), retry_after: None }
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, detail)
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(Code::NotFound, format!("there is no such {what}"))
    }

    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Self::new(Code::Internal, detail)
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(Code::Forbidden, detail)
    }

    /// Somebody wants to give more than they hold.
    pub(crate) fn beyond(field: &str, message: String) -> Self {
        let errors = vec![tool::Problem::new(field, "BeyondYourOwn", &message)];
        Self { errors, ..Self::forbidden(message) }
    }

    /// What happened, in a sentence.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// The problem as a part of something that has begun to be sent.
    pub(crate) fn told(&self) -> serde_json::Value {
        serde_json::json!({ "code": self.code, "detail": self.detail, "errors": self.errors })
    }

    pub(crate) fn unauthenticated(detail: impl Into<String>) -> Self {
        Self::new(Code::Unauthenticated, detail)
    }

    pub(crate) fn invalid(errors: Vec<tool::Problem>) -> Self {
        let mut messages: Vec<&str> = Vec::new();
        for error in &errors {
            // Nothing is said twice.
            if !messages.contains(&error.message.as_str()) {
                messages.push(&error.message);
            }
        }
        let detail = messages.join("; ");
        Self { errors, ..Self::new(Code::ValidationFailed, detail) }
    }

    pub(crate) fn invalid_field(path: &str, message: impl Into<String>) -> Self {
        Self::invalid(vec![tool::Problem::new(path, "Invalid", message)])
    }

    pub(crate) fn with_errors(mut self, errors: Vec<tool::Problem>) -> Self {
        self.errors = errors;
        self
    }

    /// Each thing that is wrong with the input.
    pub(crate) fn errors(&self) -> &[tool::Problem] {
        &self.errors
    }

    /// The same with paths that begin behind `prefix`, where they begin with it.
    pub(crate) fn without_prefix(mut self, prefix: &str) -> Self {
        for error in &mut self.errors {
            if let Some(rest) = error.path.strip_prefix(prefix) {
                error.path = rest.to_owned();
            }
        }
        self
    }

    /// The same with more to say about it.
    pub(crate) fn and_so(mut self, more: &str) -> Self {
        self.detail = format!("{}; {more}", self.detail);
        self
    }

    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// The response, once the request's id is known.
    pub(crate) fn into_response_for(self, request_id: &str) -> Response {
        let body = ProblemBody {
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            code: self.code,
            detail: &self.detail,
            errors: &self.errors,
            request_id,
        };
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(wait) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs_f64().ceil() as u64));
        }
        response
    }
}

impl IntoResponse for Problem {
    /// The edge layer finds the problem in the extensions and writes it with the request's id.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<tool::Error> for Problem {
    fn from(error: tool::Error) -> Self {
        if error.kind() == tool::ErrorKind::Internal {
            tracing::error!(error = error.full_message(), "a call failed by a mistake of ours: {error}");
        }
        let errors = match (error.problems(), error.parameter()) {
            ([], Some(parameter)) => vec![tool::Problem::new(parameter, "Invalid", error.message())],
            (problems, _) => problems.to_vec(),
        };
        let retry_after = error.retry_after();
        Self { errors, retry_after, ..Self::new(Code::of(&error), error.message()) }
    }
}

impl From<tool::uri::ParseError> for Problem {
    fn from(error: tool::uri::ParseError) -> Self {
        let problem =
            |reason: &tool::uri::ParseError| tool::Problem::new("uri", "InvalidUri", reason.to_string());
        let errors = error.reasons().iter().map(problem).collect();
        Self { errors, ..Self::new(Code::InvalidUri, error.to_string()) }
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        use store::ErrorKind as Kind;
        let code = match error.kind() {
            Kind::NotFound => Code::NotFound,
            Kind::Conflict | Kind::Stale => Code::Conflict,
            Kind::Invalid => Code::ValidationFailed,
            Kind::Unavailable => Code::Unavailable,
            Kind::Corrupt | Kind::Internal => Code::Internal,
        };
        if matches!(error.kind(), Kind::Unavailable | Kind::Corrupt | Kind::Internal) {
            tracing::error!(%error, "the store failed: {error}");
        }
        let errors = error.field().map(|field| tool::Problem::new(field, "Invalid", error.to_string()));
        Self { errors: errors.into_iter().collect(), ..Self::new(code, error.to_string()) }
    }
}
