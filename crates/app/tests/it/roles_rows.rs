//! Who may use which endpoint: the rows of the role matrix.

/// What an endpoint asks of its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// No key at all.
    Everybody,
    SignedIn,
    Read,
    /// Those who only call may not.
    Look,
    Call,
    /// Those who only call have such things of their own.
    Own,
    Manage,
    Administer,
}

/// What a path or a body names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    None,
    Tenant,
    OwnTenant,
    User,
    Key,
    Service,
    /// A call that was made.
    Called,
    /// Something that the body names.
    Named,
    Tool,
    SearchTool,
    Table,
    Instance,
    Binding,
    /// An agent whose model says yes.
    Agent,
    /// What was said to an agent.
    Conversation,
    /// A published flow with a webhook.
    Flow,
    /// A run that waits for somebody to approve.
    Run,
    /// A run that has failed.
    FailedRun,
}

impl Subject {
    /// It belongs to whoever made it.
    pub(crate) fn has_owner(self) -> bool {
        matches!(
            self,
            Self::Tool
                | Self::SearchTool
                | Self::Table
                | Self::Called
                | Self::Instance
                | Self::Binding
                | Self::Conversation
                | Self::Run
                | Self::FailedRun
        )
    }
}

/// One endpoint.
pub(crate) struct Row {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) subject: Subject,
    /// The status for those who may.
    pub(crate) ok: u16,
    pub(crate) query: &'static str,
    pub(crate) body: &'static str,
}

const fn row(
    method: &'static str,
    path: &'static str,
    access: Access,
    subject: Subject,
    ok: u16,
    query: &'static str,
    body: &'static str,
) -> Row {
    Row { method, path, access, subject, ok, query, body }
}

use Access::{Administer, Call, Everybody, Look, Manage, Own, Read, SignedIn};
use Subject::{
    Agent, Binding, Called, Conversation, FailedRun, Flow, Instance, Key, Named, None, OwnTenant, Run,
    SearchTool, Service, Table, Tenant, Tool, User,
};

pub(crate) const ROWS: &[Row] = &[
    row("GET", "/approvals", Read, None, 200, "", ""),
    row("POST", "/approvals/{approval_id}", Manage, Run, 200, "", r#"{"decision":"approve"}"#),
    row("GET", "/audit", Read, None, 200, "", ""),
    row("GET", "/audit/export", Manage, None, 200, "", ""),
    row("GET", "/audit/{id}", Read, Called, 200, "", ""),
    row(
        "POST",
        "/auth/login",
        Everybody,
        None,
        401,
        "",
        r#"{"username":"nobody","password":"wrong password"}"#,
    ),
    row("POST", "/auth/logout", SignedIn, None, 400, "", ""),
    row("GET", "/auth/me", SignedIn, None, 200, "", ""),
    row(
        "POST",
        "/auth/password",
        SignedIn,
        None,
        400,
        "",
        r#"{"old_password":"correct horse","new_password":"correct horse"}"#,
    ),
    row("DELETE", "/auth/session", Everybody, None, 204, "", ""),
    row("POST", "/auth/session", Everybody, None, 401, "", r#"{"key":"mcp_wrong"}"#),
    row("POST", "/auth/session-code", SignedIn, None, 200, "", ""),
    row("GET", "/agents", SignedIn, None, 200, "", ""),
    row("POST", "/agents/{id}/runs", Call, Agent, 200, "", r#"{"prompt":"hello"}"#),
    row("POST", "/call", Call, Named, 200, "", r#"{"uri":"api://acmething-call/ping"}"#),
    row("GET", "/catalog", Read, None, 200, "", ""),
    row("GET", "/conversations", Read, None, 200, "", ""),
    row("DELETE", "/conversations/{id}", Own, Conversation, 204, "", ""),
    row("GET", "/conversations/{id}", Read, Conversation, 200, "", ""),
    row("GET", "/doctor", Manage, None, 200, "", ""),
    // A stream does not end by itself.
    row("GET", "/events", Read, None, 400, "topics=none", ""),
    row("GET", "/flows", Read, None, 200, "", ""),
    row("POST", "/flows", Manage, None, 201, "", r#"{"id":"{n}","source":"nodes: {a: {with: 1}}"}"#),
    row("POST", "/flows/validate", Read, None, 200, "", r#"{"source":"nodes: {a: {with: 1}}"}"#),
    row("GET", "/flows/{id}", Read, Flow, 200, "", ""),
    row("DELETE", "/flows/{id}", Manage, Flow, 204, "", ""),
    row("PATCH", "/flows/{id}", Manage, Flow, 200, "", r#"{"enabled":false}"#),
    row("GET", "/flows/{id}/diff", Look, Flow, 200, "", ""),
    row("POST", "/flows/{id}/disable", Manage, Flow, 200, "", ""),
    row("PUT", "/flows/{id}/draft", Manage, Flow, 200, "", r#"{"source":"nodes: {a: {with: 2}}"}"#),
    row("POST", "/flows/{id}/enable", Manage, Flow, 200, "", ""),
    row("POST", "/flows/{id}/publish", Manage, Flow, 200, "", ""),
    row("GET", "/flows/{id}/references", Look, Flow, 200, "", ""),
    row("POST", "/flows/{id}/rollback", Manage, Flow, 200, "", r#"{"version":1}"#),
    row("POST", "/flows/{id}/runs", Call, Flow, 200, "", r#"{"wait_seconds":20}"#),
    row("POST", "/flows/{id}/triggers/{name}/fire", Manage, Flow, 202, "", "{}"),
    row("GET", "/flows/{id}/triggers", Look, Flow, 200, "", ""),
    row("POST", "/flows/{id}/triggers/{name}/disable", Manage, Flow, 200, "", ""),
    row("POST", "/flows/{id}/triggers/{name}/enable", Manage, Flow, 200, "", ""),
    row("POST", "/flows/{id}/triggers/{name}/rotate-secret", Manage, Flow, 200, "", ""),
    row("GET", "/flows/{id}/versions", Look, Flow, 200, "", ""),
    row("GET", "/flows/{id}/versions/{version}", Look, Flow, 200, "", ""),
    row("POST", "/jmespath", Read, None, 200, "", r#"{"expression":"a","data":{"a":1}}"#),
    row("GET", "/keys", Manage, None, 200, "", ""),
    row("POST", "/keys", Manage, None, 201, "", r#"{"name":"{n}"}"#),
    row("GET", "/keys/{id}", Manage, Key, 200, "", ""),
    row("DELETE", "/keys/{id}", Manage, Key, 204, "", ""),
    row("PATCH", "/keys/{id}", Manage, Key, 200, "", r#"{"name":"{n}"}"#),
    row("GET", "/mcp", Read, None, 200, "", ""),
    row("POST", "/mcp", Own, None, 201, "", r#"{"name":"{n}"}"#),
    row("GET", "/mcp/id/{mcp_id}", Read, Instance, 200, "", ""),
    row("DELETE", "/mcp/id/{mcp_id}", Own, Instance, 204, "", ""),
    row("PATCH", "/mcp/id/{mcp_id}", Own, Instance, 200, "", r#"{"name":"{n}"}"#),
    row(
        "POST",
        "/mcp/id/{mcp_id}/bindings",
        Own,
        Instance,
        201,
        "",
        r#"{"bindings":[{"tool_id":"{new_tool}"}]}"#,
    ),
    row("DELETE", "/mcp/id/{mcp_id}/bindings/{tool_id}", Own, Binding, 204, "", ""),
    row("PATCH", "/mcp/id/{mcp_id}/bindings/{tool_id}", Own, Binding, 200, "", r#"{"status":false}"#),
    row("GET", "/mcp/id/{mcp_id}/connect", Read, Instance, 200, "", ""),
    row("POST", "/mcp/id/{mcp_id}/rotate-key", Own, Instance, 200, "", ""),
    row("GET", "/mcp/id/{mcp_id}/tools", Read, Instance, 200, "", ""),
    row("GET", "/mcp/tools", SignedIn, None, 200, "", ""),
    row("POST", "/mcp/tools/call", Call, Named, 200, "", r#"{"name":"acmething-call__ping"}"#),
    row("GET", "/mcp/{api_key}/tools", Everybody, Instance, 200, "", ""),
    row("GET", "/overview", Read, None, 200, "", ""),
    row("GET", "/runs", Read, None, 200, "", ""),
    row("POST", "/runs/bulk", Manage, None, 200, "", r#"{"action":"resume","filter":{}}"#),
    row("GET", "/runs/{run_id}", Read, Run, 200, "", ""),
    row("POST", "/runs/{run_id}/cancel", Own, Run, 200, "", ""),
    row("GET", "/runs/{run_id}/events", Read, FailedRun, 200, "", ""),
    row("POST", "/runs/{run_id}/pause", Own, Run, 200, "", ""),
    row("POST", "/runs/{run_id}/replay", Own, FailedRun, 202, "", "{}"),
    row("POST", "/runs/{run_id}/resume", Own, Run, 200, "", ""),
    row("POST", "/runs/{run_id}/retry", Own, FailedRun, 200, "", ""),
    row("POST", "/runs/{run_id}/signals/{name}", Own, Run, 202, "", "{}"),
    row("GET", "/runs/{run_id}/steps", Read, Run, 200, "", ""),
    row("GET", "/service-types", Read, None, 200, "", ""),
    row("GET", "/services", Read, None, 200, "", ""),
    row(
        "POST",
        "/services",
        Manage,
        None,
        201,
        "",
        r#"{"type":"api","id":"{n}","config":{"base_url":"https://example.com"}}"#,
    ),
    row(
        "POST",
        "/services/validate",
        Manage,
        None,
        200,
        "",
        r#"{"type":"api","id":"{n}","config":{"base_url":"https://example.com"}}"#,
    ),
    row(
        "POST",
        "/services/{type}/import",
        Manage,
        None,
        200,
        "",
        r#"{"document":{"openapi":"3.0.0","info":{"title":"t","version":"1"},"servers":[{"url":"https://example.com"}],"paths":{"/x":{"get":{"operationId":"x"}}}}}"#,
    ),
    row("GET", "/services/{type}/{id}", Read, Service, 200, "", ""),
    row("DELETE", "/services/{type}/{id}", Manage, Service, 204, "", ""),
    row("PATCH", "/services/{type}/{id}", Manage, Service, 200, "", r#"{"name":"{n}"}"#),
    row("POST", "/services/{type}/{id}/disable", Manage, Service, 200, "", ""),
    row("POST", "/services/{type}/{id}/enable", Manage, Service, 200, "", ""),
    row("GET", "/services/{type}/{id}/pins", Read, Service, 200, "", ""),
    row("POST", "/services/{type}/{id}/pins/approve", Manage, Service, 200, "", r#"{}"#),
    row("GET", "/services/{type}/{id}/references", Read, Service, 200, "", ""),
    row("POST", "/services/{type}/{id}/test", Manage, Service, 200, "", ""),
    row("GET", "/services/{type}/{id}/tools", Read, Service, 200, "", ""),
    row("POST", "/services/{type}/{id}/tools", Manage, Service, 201, "", r#"{"id":"new","endpoint":"/new"}"#),
    row("GET", "/services/{type}/{id}/tools/{tool}", Read, Service, 200, "", ""),
    row("DELETE", "/services/{type}/{id}/tools/{tool}", Manage, Service, 204, "", ""),
    row("PATCH", "/services/{type}/{id}/tools/{tool}", Manage, Service, 200, "", r#"{"description":"{n}"}"#),
    row("GET", "/stats", Read, None, 200, "", ""),
    row("GET", "/tables", Read, None, 200, "", ""),
    row("POST", "/tables", Own, None, 201, "", r#"{"name":"{n}"}"#),
    row("POST", "/tables/import", Own, None, 201, "name=acmething", r#"{}"#),
    row("GET", "/tables/{id}", Read, Table, 200, "", ""),
    row("DELETE", "/tables/{id}", Own, Table, 204, "", ""),
    row("PATCH", "/tables/{id}", Own, Table, 200, "", r#"{"name":"{n}"}"#),
    row("GET", "/tables/{id}/children", Read, Table, 200, "", ""),
    row("GET", "/tables/{id}/data", Read, Table, 200, "", ""),
    row("PUT", "/tables/{id}/data", Own, Table, 200, "json_path=/a", r#"{"data":2}"#),
    row("POST", "/tables/{id}/data", Own, Table, 201, "json_path=/b", r#"{"data":2}"#),
    row("DELETE", "/tables/{id}/data", Own, Table, 200, "json_path=/a", ""),
    row("GET", "/tables/{id}/export", Read, Table, 200, "", ""),
    row("POST", "/tables/{id}/import", Own, Table, 200, "", r#"{}"#),
    row("POST", "/tables/{id}/restore", Own, Table, 200, "", r#"{"version":1}"#),
    row("GET", "/tables/{id}/versions", Read, Table, 200, "", ""),
    row("POST", "/templates/render", Read, None, 200, "", r#"{"template":"{{ .a }}","sample":{"a":1}}"#),
    row("GET", "/tenants", Read, None, 200, "", ""),
    row("POST", "/tenants", Administer, None, 201, "", r#"{"id":"{n}"}"#),
    row("GET", "/tenants/{id}", Read, OwnTenant, 200, "", ""),
    row("DELETE", "/tenants/{id}", Administer, Tenant, 204, "", ""),
    row("PATCH", "/tenants/{id}", Administer, Tenant, 200, "", r#"{"name":"{n}"}"#),
    row("POST", "/tools/find", Call, None, 200, "", r#"{"query":"ping"}"#),
    row("GET", "/tools", Read, None, 200, "", ""),
    row(
        "POST",
        "/tools",
        Own,
        None,
        201,
        "",
        r#"{"name":"{n}","type":"http","config":{"HTTP":{"endpoint":"https://example.com/"}}}"#,
    ),
    row("GET", "/tools/by-table/{table_id}", Read, Table, 200, "", ""),
    row(
        "POST",
        "/tools/search",
        Own,
        Named,
        201,
        "",
        r#"{"name":"{n}","table_id":"{table}","json_path":""}"#,
    ),
    row(
        "POST",
        "/tools/validate",
        Own,
        None,
        200,
        "",
        r#"{"name":"{n}","type":"http","config":{"HTTP":{"endpoint":"https://example.com/"}}}"#,
    ),
    row("GET", "/tools/{id}", Read, Tool, 200, "", ""),
    row("DELETE", "/tools/{id}", Own, Tool, 204, "", ""),
    row("PATCH", "/tools/{id}", Own, Tool, 200, "", r#"{"description":"{n}"}"#),
    row("POST", "/tools/{id}/rollback", Own, Tool, 200, "", r#"{"version":1}"#),
    row("GET", "/tools/{id}/search-index", Read, SearchTool, 200, "", ""),
    row("POST", "/tools/{id}/test", Own, Tool, 200, "", r#"{}"#),
    row("GET", "/tools/{id}/versions", Read, Tool, 200, "", ""),
    row("GET", "/users", Manage, None, 200, "", ""),
    row("POST", "/users", Manage, None, 201, "", r#"{"username":"{n}","password":"correct horse"}"#),
    row("GET", "/users/{id}", Manage, User, 200, "", ""),
    row("DELETE", "/users/{id}", Manage, User, 204, "", ""),
    row("PATCH", "/users/{id}", Manage, User, 200, "", r#"{"display_name":"{n}"}"#),
];
