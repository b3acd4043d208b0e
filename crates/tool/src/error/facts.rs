//! What programs decide by: typed, so that nobody has to read an error's sentences.

use super::Error;
use std::time::Duration;

/// What is known about a failure beyond its kind.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) is_retryable: bool,
    is_in_doubt: bool,
    reason: Option<Reason>,
    service: Option<String>,
    status: Option<u16>,
    service_code: Option<String>,
    has_grpc_status: bool,
    retry_after: Option<Duration>,
    pub(super) parameter: Option<String>,
    resource: Option<String>,
    location: Option<String>,
    capability: Option<&'static str>,
}

/// Why it failed, where something is done about that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The service refuses the credentials that it was given.
    CredentialsRejected,
    /// The sign-in before the call failed.
    SignInFailed,
    /// The service does not have what it was asked for; another may.
    Absent,
    /// The service has never said what it offers, and is being asked.
    Unheard,
    /// The service does not know the operation.
    UnknownOperation,
    /// One attempt took longer than an attempt may.
    AttemptTimedOut,
    /// The service took longer than its own settings give it.
    ServiceTimedOut,
    /// The service was not ready within the time it has to start.
    StartTimedOut,
    /// The program that is the service is not installed.
    ProgramNotFound,
    /// A person has to log in to the service first.
    LoginRequired,
    /// The address is not public, and nothing allows it.
    AddressRefused,
    /// Nobody is known who could be asked: no instance was, so that none of them is to blame.
    NoInstance,
    /// The service has moved; [`Error::location`] says where, if it did.
    Redirected,
    /// The service does not speak TLS at that port.
    NotTls,
    /// An environment variable in the settings is not set.
    VariableNotSet,
    /// Nobody has given a value that the settings ask a person for.
    InputNotGiven,
    /// The model of an agent cannot be reached, or its provider fails.
    ModelUnreachable,
    /// The model's provider has had enough of us for a while.
    ModelRateLimited,
    /// The model's provider refuses the agent's key.
    ModelAuth,
    /// The model, or its provider, will not answer this.
    ModelRefused,
    /// There is more to say than the model can read at once.
    ContextTooLong,
    /// What the model answered cannot be used.
    BadModelAnswer,
    /// The model's answer does not keep to the schema that it was given.
    OutputInvalid,
    /// A guardrail does not let the answer pass.
    Guardrail,
    /// The model calls the same again and again.
    Loop,
    /// The run of an agent has had as many model calls as it may have.
    StepLimit,
    /// It has called as many tools as it may.
    ToolLimit,
    /// It was handed over as often as it may be.
    HandoffLimit,
    /// It has used as many tokens as it may.
    TokenLimit,
    /// It has cost as much as it may.
    CostLimit,
    /// Agents and flows stand in one another as deep as they may.
    DepthLimit,
    /// It has taken as long as it may.
    TimeLimit,
    /// The process that worked on it has ended before it.
    Interrupted,
    /// It does not go on here and now: it waits for people, or for another process.
    Parked,
}

impl Reason {
    /// The word for programs, where the reason is a part of our interfaces.
    #[must_use]
    pub fn code(self) -> Option<&'static str> {
        Some(match self {
            Self::ModelUnreachable => "MODEL_UNREACHABLE",
            Self::ModelRateLimited => "MODEL_RATE_LIMITED",
            Self::ModelAuth => "MODEL_AUTH",
            Self::ModelRefused => "MODEL_REFUSED",
            Self::ContextTooLong => "CONTEXT_TOO_LONG",
            Self::BadModelAnswer => "BAD_MODEL_ANSWER",
            Self::OutputInvalid => "OUTPUT_INVALID",
            Self::Guardrail => "GUARDRAIL",
            Self::Loop => "LOOP",
            Self::StepLimit => "STEP_LIMIT",
            Self::ToolLimit => "TOOL_LIMIT",
            Self::HandoffLimit => "HANDOFF_LIMIT",
            Self::TokenLimit => "TOKEN_LIMIT",
            Self::CostLimit => "COST_LIMIT",
            Self::DepthLimit => "DEPTH_LIMIT",
            Self::TimeLimit => "TIME_LIMIT",
            Self::Interrupted => "INTERRUPTED",
            Self::CredentialsRejected
            | Self::SignInFailed
            | Self::Absent
            | Self::Unheard
            | Self::UnknownOperation
            | Self::AttemptTimedOut
            | Self::ServiceTimedOut
            | Self::StartTimedOut
            | Self::ProgramNotFound
            | Self::LoginRequired
            | Self::AddressRefused
            | Self::NoInstance
            | Self::Redirected
            | Self::NotTls
            | Self::VariableNotSet
            | Self::InputNotGiven
            | Self::Parked => return None,
        })
    }

    /// The reason that programs know by this word.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        Self::CODED.into_iter().find(|reason| reason.code() == Some(code))
    }

    const CODED: [Self; 17] = [
        Self::ModelUnreachable,
        Self::ModelRateLimited,
        Self::ModelAuth,
        Self::ModelRefused,
        Self::ContextTooLong,
        Self::BadModelAnswer,
        Self::OutputInvalid,
        Self::Guardrail,
        Self::Loop,
        Self::StepLimit,
        Self::ToolLimit,
        Self::HandoffLimit,
        Self::TokenLimit,
        Self::CostLimit,
        Self::DepthLimit,
        Self::TimeLimit,
        Self::Interrupted,
    ];
}

impl Error {
    /// The same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.facts.is_retryable
    }

    /// Nobody knows whether it happened: the request was on its way.
    #[must_use]
    pub fn is_in_doubt(&self) -> bool {
        self.0.facts.is_in_doubt
    }

    /// Why it failed, where something is done about that.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        self.0.facts.reason
    }

    /// The service does not let us in: another try does not help, other credentials do.
    #[must_use]
    pub fn is_about_credentials(&self) -> bool {
        matches!(self.reason(), Some(Reason::CredentialsRejected | Reason::LoginRequired))
    }

    /// The id of the service that failed.
    #[must_use]
    pub fn service(&self) -> Option<&str> {
        self.0.facts.service.as_deref()
    }

    /// The HTTP status that the service answered with.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.facts.status
    }

    /// The service's own word for the failure, e.g. an SQLSTATE.
    #[must_use]
    pub fn service_code(&self) -> Option<&str> {
        self.0.facts.service_code.as_deref()
    }

    /// The same, where it is a status of gRPC.
    #[must_use]
    pub fn grpc_status(&self) -> Option<&str> {
        self.service_code().filter(|_| self.0.facts.has_grpc_status)
    }

    /// How long to wait before the next try.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.facts.retry_after
    }

    /// The path of the argument that does not fit.
    #[must_use]
    pub fn parameter(&self) -> Option<&str> {
        self.0.facts.parameter.as_deref()
    }

    /// The URI of the resource that is not there.
    #[must_use]
    pub fn resource(&self) -> Option<&str> {
        self.0.facts.resource.as_deref()
    }

    /// Where the service has moved to.
    #[must_use]
    pub fn location(&self) -> Option<&str> {
        self.0.facts.location.as_deref()
    }

    /// What the calling program would have to declare, e.g. `sampling.tools`.
    #[must_use]
    pub fn required_capability(&self) -> Option<&'static str> {
        self.0.facts.capability
    }

    /// Says what the calling program would have to declare.
    #[must_use]
    pub fn requiring(mut self, capability: &'static str) -> Self {
        self.0.facts.capability = Some(capability);
        self
    }

    /// Marks that the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.0.facts.is_retryable = true;
        self
    }

    /// Takes that back: nobody is to try again unasked.
    #[must_use]
    pub fn not_retryable(mut self) -> Self {
        self.0.facts.is_retryable = false;
        self
    }

    /// Marks that it may have happened all the same.
    #[must_use]
    pub fn in_doubt(mut self) -> Self {
        self.0.facts.is_in_doubt = true;
        self
    }

    /// Takes that back: what was lost was not what makes it happen.
    #[must_use]
    pub fn without_doubt(mut self) -> Self {
        self.0.facts.is_in_doubt = false;
        self
    }

    /// Takes the reason back: to the caller it is an answer like any other.
    #[must_use]
    pub fn without_reason(mut self) -> Self {
        self.0.facts.reason = None;
        self
    }

    /// Says with which status of gRPC the service has answered, e.g. `NOT_FOUND`.
    #[must_use]
    pub fn with_grpc_status(mut self, status: impl Into<String>) -> Self {
        self.0.facts.has_grpc_status = true;
        self.with_service_code(status)
    }

    /// Says why.
    #[must_use]
    pub fn because(mut self, reason: Reason) -> Self {
        self.0.facts.reason = Some(reason);
        self
    }

    /// Says why in the way that another error does.
    #[must_use]
    pub fn with_reason_of(mut self, other: &Self) -> Self {
        self.0.facts.reason = other.0.facts.reason;
        self.0.facts.location.clone_from(&other.0.facts.location);
        self
    }

    /// Says that the service has moved, and where to, if that is known.
    #[must_use]
    pub fn redirected_to(mut self, location: Option<&str>) -> Self {
        self.0.facts.location = location.map(str::to_owned);
        self.because(Reason::Redirected)
    }

    /// Says which service failed, unless that is known.
    #[must_use]
    pub fn of_service(mut self, id: &str) -> Self {
        self.0.facts.service.get_or_insert_with(|| id.to_owned());
        self
    }

    /// Says which service failed, whichever inside it is known already.
    #[must_use]
    pub fn of_service_alone(mut self, id: &str) -> Self {
        self.0.facts.service = Some(id.to_owned());
        self
    }

    /// Says what the service answered with, unless that is known.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.facts.status.get_or_insert(status);
        self
    }

    /// Says what the service calls the failure.
    #[must_use]
    pub fn with_service_code(mut self, code: impl Into<String>) -> Self {
        self.0.facts.service_code = Some(code.into());
        self
    }

    /// Says when the next try makes sense.
    #[must_use]
    pub fn with_retry_after(mut self, time: Duration) -> Self {
        self.0.facts.retry_after = Some(time);
        self
    }

    /// Says which argument does not fit.
    #[must_use]
    pub fn of_parameter(mut self, path: impl Into<String>) -> Self {
        self.0.facts.parameter = Some(path.into());
        self
    }

    /// Says which resource is not there.
    #[must_use]
    pub fn of_resource(mut self, uri: &str) -> Self {
        self.0.facts.resource = Some(uri.to_owned());
        self
    }
}
