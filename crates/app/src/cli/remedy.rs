//! What to do about a service that does not work.

use super::McpConfigPath;
use gateway::ServiceDefinition;
use local::mcp_config::{masked_text, masked_url};
use serde_json::Value;
use tool::{Error, ErrorKind, Reason};

/// What to do about a failure of a service; it agrees with what the failure says.
pub(super) fn remedy(service: &ServiceDefinition, error: &Error, config: &McpConfigPath) -> Option<String> {
    let said = error.full_message();
    if said.contains("is not set") {
        return Some("set the variable where you start this program, or write ${NAME:-default}".to_owned());
    }
    if said.contains("mcp-all-in-one config input") {
        return None;
    }
    if let Some(setting) = about_setting(service, error, &said) {
        return Some(setting);
    }
    if said.contains("mcp-all-in-one login") {
        let login = config.command(&format!("login {}", service.id));
        return Some(format!("run `{login}`, or give it a key in 'headers'"));
    }
    if error.reason() == Some(Reason::CredentialsRejected) {
        return Some(about_key(service));
    }
    if said.contains("install it") {
        return None;
    }
    let setting = |key: &str| service.settings.get(key).and_then(Value::as_str);
    match (setting("command"), setting("url")) {
        (Some(_), _) => about_command(service, error),
        (None, Some(url)) => about_url(url, error, &said),
        (None, None) => None,
    }
}

/// The setting of the entry that helps, if one does.
fn about_setting(service: &ServiceDefinition, error: &Error, said: &str) -> Option<String> {
    const START_MS: u64 = 30_000;
    const CALL_MS: u64 = 60_000;
    let number = |key: &str| service.settings.get(key).and_then(Value::as_u64);
    let more = |given: Option<u64>, usual: u64, most: u64| (given.unwrap_or(usual) * 2).clamp(usual, most);
    if said.contains("'start_timeout'") {
        let ms = more(number("start_timeout"), START_MS, 600_000);
        let by_hand = about_command_of(service).map(|how| format!(", or {how}")).unwrap_or_default();
        return Some(format!(
            "if it needs longer, write \"start_timeout\": {ms} into its entry, in milliseconds{by_hand}"
        ));
    }
    if said.contains("allow_private_network") {
        return Some(
            "write \"allow_private_network\": true into its entry, or leave that setting out".to_owned(),
        );
    }
    if error.kind() == ErrorKind::Timeout && said.contains("'timeout'") {
        let ms = more(number("timeout"), CALL_MS, 3_600_000);
        return Some(format!("if it needs longer, write \"timeout\": {ms} into its entry, in milliseconds"));
    }
    None
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

fn about_url(url: &str, error: &Error, said: &str) -> Option<String> {
    if let Some((_, target)) = said.split_once("redirects to ") {
        let target = target.split(", and").next().filter(|target| target.contains("://"));
        return Some(format!("write {} as 'url'", target.map_or("the final address".into(), masked_url)));
    }
    // What our HTTP client, or the TLS library behind a WebSocket, says about an answer in plain HTTP.
    if said.contains("does not speak TLS") || said.contains("InvalidContentType") {
        let (plain, secure) = if url.starts_with("ws") { ("ws", "wss") } else { ("http", "https") };
        return Some(format!("the port does not speak TLS: write {plain}:// instead of {secure}://"));
    }
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
