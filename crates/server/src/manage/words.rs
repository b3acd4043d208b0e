//! Closed sets of words as the OpenAPI document lists them; the types themselves know nothing of OpenAPI.

#![expect(dead_code, reason = "documents types of other crates")]

use utoipa::ToSchema;

/// What somebody may do: look, call, manage a tenant, manage the platform.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum Role {
    Viewer,
    Caller,
    Manager,
    Admin,
}

/// Whether a tenant, a user, a key or an MCP instance can be used.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum Status {
    Active,
    Disabled,
}

/// What a key is for.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum Scope {
    Read,
    Call,
    Manage,
}

/// What somebody may do here.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(super) enum May {
    Read,
    Call,
    Manage,
    MakeServices,
    MakeTools,
    MakeInstances,
    Administer,
}

/// Where a service is configured.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum ServiceSource {
    Store,
    #[schema(rename = "mcp.json")]
    McpJson,
    #[schema(rename = "command_line")]
    CommandLine,
}

/// How a service was when it was last asked what it offers.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum ServiceHealthState {
    Ok,
    Failing,
    Unknown,
    Disabled,
}

/// Only active tools are listed and called.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum ToolStatus {
    Testing,
    Active,
    Inactive,
}

/// Whether something is as it should be.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum CheckState {
    Ok,
    Warning,
    Failed,
}

/// What calls are told apart by.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum StatsKey {
    Tool,
    Service,
    Door,
    Caller,
    Status,
    Code,
}

/// Whether a tool can be called: its owner has not switched it on, it has changed and nobody has approved that yet,
/// or what it leads to is missing.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum CatalogStatus {
    Active,
    Inactive,
    Held,
    Missing,
}

/// Whether the tools of a service can be called.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum ServiceStatus {
    Enabled,
    Disabled,
}

/// How far a search index is.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum IndexStatus {
    Pending,
    Indexing,
    Ready,
    Error,
}

/// What is done about tools that change.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum Pinning {
    Off,
    Warn,
    Enforce,
}

/// As when it was first seen; it came later; it was another one.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum PinState {
    Pinned,
    New,
    Changed,
}

/// How a call ended: well, with an error of the service, or before it began.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum CallStatus {
    Ok,
    Error,
    Refused,
}

impl CallStatus {
    pub(super) fn is_one(text: &str) -> bool {
        matches!(text, "ok" | "error" | "refused")
    }
}

/// How a table is written in a file.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum TableFormat {
    Json,
    Jsonl,
    Csv,
}

/// How the audit is written in a file.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum AuditFormat {
    Jsonl,
    Csv,
}

/// What a record of the audit is about.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum AuditKind {
    Call,
    Management,
}

/// Where a run stands.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum RunState {
    Queued,
    Running,
    Waiting,
    Paused,
    Cancelling,
    Succeeded,
    Failed,
    Cancelled,
}

/// Where a step of a run stands.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum StepState {
    Running,
    Waiting,
    Succeeded,
    Failed,
    Skipped,
    Cancelled,
}

/// Whether a problem stops publishing.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum Severity {
    Error,
    Warning,
}

/// Why a flow needs what it refers to: its draft, the version that new runs take, or runs under way.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum ReferenceState {
    Draft,
    Current,
    Live,
}
