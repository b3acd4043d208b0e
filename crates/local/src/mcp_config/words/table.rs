//! Every key that clients write and we do not, with its meaning.

/// What a key of a client's means.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// The same as a key of ours, which wins where both are given.
    Is(&'static str),
    /// Names that are added to a list of ours.
    AddsTo(&'static str),
    /// The only tools that are offered; none named is all of them.
    OnlyIfAny(&'static str),
    /// Names of variables that the server is to have.
    Variables,
    /// Headers, beside others.
    Headers,
    /// Headers whose values are in the variables named.
    HeadersFromVariables,
    /// The variable with a token.
    Bearer,
    /// Settings of requests, among them headers.
    Requests,
    /// The client's own business.
    Nothing,
}

/// Every word that is not a setting of ours. Whose each one is, see `docs/guides/mcp-json.md`.
pub(super) const WORDS: &[(&str, Meaning)] = &[
    ("httpUrl", Meaning::Is("url")),
    ("serverUrl", Meaning::Is("url")),
    ("uri", Meaning::Is("url")),
    ("cmd", Meaning::Is("command")),
    ("envs", Meaning::Is("env")),
    ("environment", Meaning::Is("env")),
    ("http_headers", Meaning::Headers),
    ("transport", Meaning::Is("type")),
    ("transportType", Meaning::Is("type")),
    ("connectionTimeout", Meaning::Is("start_timeout")),
    ("startup_timeout_ms", Meaning::Is("start_timeout")),
    ("disabledTools", Meaning::AddsTo("excludeTools")),
    ("disabled_tools", Meaning::AddsTo("excludeTools")),
    ("enabledTools", Meaning::Is("includeTools")),
    ("enabled_tools", Meaning::Is("includeTools")),
    ("available_tools", Meaning::OnlyIfAny("includeTools")),
    ("env_keys", Meaning::Variables),
    ("env_http_headers", Meaning::HeadersFromVariables),
    ("bearer_token_env_var", Meaning::Bearer),
    ("requestOptions", Meaning::Requests),
    // Servers that we start have our whole environment.
    ("env_vars", Meaning::Nothing),
    ("alwaysAllow", Meaning::Nothing),
    ("autoApprove", Meaning::Nothing),
    ("trust", Meaning::Nothing),
    ("description", Meaning::Nothing),
    ("name", Meaning::Nothing),
    ("title", Meaning::Nothing),
    ("display_name", Meaning::Nothing),
    ("bundled", Meaning::Nothing),
    ("source", Meaning::Nothing),
    ("gallery", Meaning::Nothing),
    ("version", Meaning::Nothing),
    ("dev", Meaning::Nothing),
    ("watchPaths", Meaning::Nothing),
    ("icon", Meaning::Nothing),
    ("faviconUrl", Meaning::Nothing),
    ("sourceFile", Meaning::Nothing),
    ("serverName", Meaning::Nothing),
    ("extensionName", Meaning::Nothing),
    ("required", Meaning::Nothing),
    ("supports_parallel_tool_calls", Meaning::Nothing),
    ("default_tools_approval_mode", Meaning::Nothing),
    ("experimental_environment", Meaning::Nothing),
    ("remote", Meaning::Nothing),
    ("sessionless", Meaning::Nothing),
];
