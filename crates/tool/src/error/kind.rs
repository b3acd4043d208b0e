//! The kinds of failure, of which each protocol makes its own codes.

/// What kind of failure it was. Each protocol has codes of its own for kinds: `server::error` for HTTP, `mcp::error` for MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// There is no such tool, service or type for this caller.
    NotFound,
    /// The caller's arguments do not fit; nothing was sent.
    InvalidInput,
    /// The service's settings do not fit; nothing was opened.
    InvalidConfig,
    /// The caller did not say who it is, or not convincingly.
    Unauthenticated,
    /// The caller is known and may not.
    Denied,
    /// The tenant or the key has used up its rate or its concurrency.
    RateLimited,
    /// The service is switched off.
    ServiceDisabled,
    /// The tool is switched off.
    ToolDisabled,
    /// The deadline passed.
    Timeout,
    /// The caller went away or took the call back.
    Cancelled,
    /// The service cannot be reached.
    Unavailable,
    /// The service failed so often that it is left alone for a while.
    CircuitOpen,
    /// The tool ran, and what it was to work on is not there.
    Missing,
    /// The service answered with an error.
    Upstream,
    /// The service or this version of us cannot do that.
    Unsupported,
    /// A mistake of ours.
    Internal,
}

impl Kind {
    /// The call was turned away before anything was sent to the service.
    #[must_use]
    pub fn is_refusal(self) -> bool {
        match self {
            Self::NotFound
            | Self::InvalidInput
            | Self::Unauthenticated
            | Self::Denied
            | Self::RateLimited
            | Self::ServiceDisabled
            | Self::ToolDisabled
            | Self::Unsupported => true,
            Self::InvalidConfig
            | Self::Timeout
            | Self::Cancelled
            | Self::Unavailable
            | Self::CircuitOpen
            | Self::Missing
            | Self::Upstream
            | Self::Internal => false,
        }
    }
}
