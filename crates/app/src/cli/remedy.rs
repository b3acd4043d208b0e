//! What to do about a service that does not work.

use super::McpConfigPath;
use gateway::ServiceDefinition;
use local::mcp_config::{masked_text, masked_url};
use serde_json::Value;
use tool::{Error, ErrorKind, Reason};

/// What to do about a failure of a service; it agrees with what the failure says.
pub(super) fn remedy(service: &ServiceDefinition, error: &Error, config: &McpConfigPath) -> Option<String> {
    let problem = service.problem.as_ref().and_then(|problem| problem.reason);
    if let Some(reason) = problem.or(error.reason()) {
        return about_reason(service, reason, error, config);
    }
    match (setting(service, "command"), setting(service, "url")) {
        (Some(_), _) => about_command(service, error),
        (None, Some(url)) => about_url(url, error),
        (None, None) => None,
    }
}

fn setting<'a>(service: &'a ServiceDefinition, key: &str) -> Option<&'a str> {
    service.settings.get(key).and_then(Value::as_str)
}

/// What to do where it is known why; nothing where the failure says it already.
fn about_reason(
    service: &ServiceDefinition,
    reason: Reason,
    error: &Error,
    config: &McpConfigPath,
) -> Option<String> {
    match reason {
        Reason::VariableNotSet => {
            Some("set the variable where you start this program, or write ${NAME:-default}".to_owned())
        }
        Reason::InputNotGiven | Reason::ProgramNotFound | Reason::NoInstance | Reason::Unheard => None,
        // Agents stand in no mcp.json.
        Reason::ModelUnreachable
        | Reason::ModelRateLimited
        | Reason::ModelAuth
        | Reason::ModelRefused
        | Reason::ContextTooLong
        | Reason::BadModelAnswer
        | Reason::OutputInvalid
        | Reason::Guardrail
        | Reason::Loop
        | Reason::StepLimit
        | Reason::ToolLimit
        | Reason::HandoffLimit
        | Reason::TokenLimit
        | Reason::CostLimit
        | Reason::DepthLimit
        | Reason::TimeLimit
        | Reason::Interrupted
        | Reason::Parked => None,
        Reason::LoginRequired => {
            let login = config.command(&format!("login {}", service.id));
            Some(format!("run `{login}`, or give it a key in 'headers'"))
        }
        Reason::CredentialsRejected | Reason::SignInFailed => Some(about_key(service)),
        Reason::StartTimedOut => Some(about_start(service)),
        Reason::ServiceTimedOut | Reason::AttemptTimedOut => {
            let ms = more_time(service, "timeout", 60_000, 3_600_000);
            Some(format!("if it needs longer, write \"timeout\": {ms} into its entry, in milliseconds"))
        }
        Reason::AddressRefused => {
            Some("write \"allow_private_network\": true into its entry, or leave that setting out".to_owned())
        }
        Reason::Redirected => Some(format!(
            "write {} as 'url'",
            error.location().map_or("the final address".into(), masked_url)
        )),
        Reason::NotTls => {
            let is_socket = setting(service, "url").is_some_and(|url| url.starts_with("ws"));
            let (plain, secure) = if is_socket { ("ws", "wss") } else { ("http", "https") };
            Some(format!("the port does not speak TLS: write {plain}:// instead of {secure}://"))
        }
        Reason::Absent | Reason::UnknownOperation => {
            setting(service, "url").and_then(|url| about_url(url, error))
        }
    }
}

fn about_start(service: &ServiceDefinition) -> String {
    let ms = more_time(service, "start_timeout", 30_000, 600_000);
    let by_hand = about_command_of(service).map(|how| format!(", or {how}")).unwrap_or_default();
    format!("if it needs longer, write \"start_timeout\": {ms} into its entry, in milliseconds{by_hand}")
}

/// Twice the time that a setting gives, or what it gives when it is left out.
fn more_time(service: &ServiceDefinition, key: &str, usual_ms: u64, most_ms: u64) -> u64 {
    let given = service.settings.get(key).and_then(Value::as_u64);
    (given.unwrap_or(usual_ms) * 2).clamp(usual_ms, most_ms)
}

fn about_command_of(service: &ServiceDefinition) -> Option<String> {
    let command = masked_text(service.settings.get("command")?.as_str()?);
    Some(format!("run '{command}' by hand with its arguments and variables, and see what it says"))
}

fn about_key(service: &ServiceDefinition) -> String {
    let place = if service.settings.get("url").is_some() { "headers" } else { "env" };
    match service.variables.as_slice() {
        [] => format!("give it a key that is good, in '{place}'"),
        variables => format!("see that the key in {} is good", variables.join(", ")),
    }
}

fn about_command(service: &ServiceDefinition, error: &Error) -> Option<String> {
    let is_down = matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Timeout);
    about_command_of(service).filter(|_| is_down)
}

fn about_url(url: &str, error: &Error) -> Option<String> {
    match (error.status(), error.kind()) {
        (Some(429 | 503), _) => {
            Some("it is busy, or limits how often we may ask: try again later".to_owned())
        }
        (Some(502 | 504), _) => Some(
            "the server behind that address does not answer: try again later, or ask who runs it".to_owned(),
        ),
        (Some(500..=599), _) => Some(
            "the server has failed: its own log says why; try again later, or ask who runs it".to_owned(),
        ),
        (_, ErrorKind::Unavailable | ErrorKind::Timeout) => {
            let url = masked_url(url);
            let url = url.split('?').next().unwrap_or_default();
            Some(format!("see that {url} is right, that the server runs, and that this machine may reach it"))
        }
        (_, ErrorKind::Upstream) => Some(
            "see that the address is that of an MCP server, and try another \"type\": http, sse or ws"
                .to_owned(),
        ),
        _ => None,
    }
}
