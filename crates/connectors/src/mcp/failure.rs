//! What a failure means to a caller: the kind, the words, and what to do about it.

use super::target::Target;
use mcp::RpcError;
use mcp::client::{Diagnosis, Failure};
use serde_json::value::RawValue;
use tool::secret::Redactor;
use tool::{Error, Reason, Result, Secret};

/// Shorter texts are no secrets worth the damage of redacting them everywhere.
const SHORTEST_SECRET: usize = 4;
/// Lines of stderr in a message; all that are kept stand in the error's context.
const LINES_IN_MESSAGE: usize = 5;
/// How servers say that a key is wrong.
const AUTH_WORDS: [&str; 9] = [
    "unauthorized",
    "unauthenticated",
    "authentication",
    "forbidden",
    "api key",
    "api_key",
    "invalid token",
    "access denied",
    "401",
];

/// Puts a failure into words. `diagnosis` is that of the connection it happened on.
pub(super) fn error(target: &Target, failure: &Failure, diagnosis: &Diagnosis) -> Error {
    let error = stated(target, failure, diagnosis);
    let error = match error.reason() {
        None if is_about_auth(failure, diagnosis) => error.because(Reason::CredentialsRejected),
        _ => error,
    };
    let stderr = diagnosis.stderr();
    match failure {
        Failure::Broken { .. } | Failure::Protocol(_) if !stderr.is_empty() => {
            error.with("stderr", redact(target, &stderr.join("\n")))
        }
        _ => error,
    }
}

fn stated(target: &Target, failure: &Failure, diagnosis: &Diagnosis) -> Error {
    let (name, text) = (target.name(), failure.to_string());
    let not_let_in = || format!("the MCP server '{name}' does not let us in");
    let unusable = || {
        let words = last_words(target, &text, diagnosis);
        Error::upstream(format!("the MCP server '{name}' cannot be used: {words}"))
    };
    match failure {
        Failure::Broken { reason, .. } => {
            let words = last_words(target, &text, diagnosis);
            let message = format!("the MCP server '{name}' is not available: {words}");
            let error = Error::unavailable(message).retryable();
            reason.iter().fold(error, |error, reason| error.because(*reason))
        }
        Failure::Stale => {
            Error::unavailable(format!("the MCP server '{name}' has lost the session")).retryable()
        }
        Failure::Unauthorized { status, .. } => {
            let (not_let_in, advice) = (not_let_in(), target.auth_advice());
            Error::upstream(format!("{not_let_in} (HTTP status {status}); {advice}")).with_status(*status)
        }
        Failure::SignIn(_) => Error::upstream(format!("{}: {}", not_let_in(), redact(target, &text))),
        Failure::LoginRequired(_) => Error::upstream(format!("{}: {}", not_let_in(), redact(target, &text)))
            .because(Reason::LoginRequired),
        Failure::Status { status, .. } => {
            of_status(*status, format!("the MCP server '{name}' answered with {}", redact(target, &text)))
        }
        Failure::Redirected { location } => unusable().redirected_to(location.as_deref()),
        Failure::Refused(_) | Failure::Protocol(_) => unusable(),
        Failure::AddressRefused(_) => Error::denied(redact(target, &text)).because(Reason::AddressRefused),
        Failure::Rpc(rpc) => of_rpc(target, rpc),
        Failure::Timeout => Error::timeout(format!(
            "the MCP server '{name}' did not answer in time; a call has as much of it as its own 'timeout' says, and no more than the \
             server's 'timeout'"
        ))
        .because(Reason::ServiceTimedOut),
        Failure::Cancelled => Error::cancelled("the caller cancelled the call"),
    }
}

fn of_status(status: u16, message: String) -> Error {
    let error = match status {
        429 | 502..=504 => Error::unavailable(message).retryable(),
        _ => Error::upstream(message),
    };
    error.with_status(status)
}

/// The server's own error, and what its code means to us.
fn of_rpc(target: &Target, rpc: &RpcError) -> Error {
    let message = redact(target, &rpc.message);
    let error = match rpc.code {
        -32602 => Error::invalid_input(message),
        -32002 => Error::upstream(message).because(Reason::Absent),
        -32601 => Error::upstream(message).because(Reason::UnknownOperation),
        _ => Error::upstream(message),
    };
    error.relaying(RawValue::from_string(redact(target, rpc.to_raw().get())).unwrap_or_default())
}

/// The failure, with what the process said last.
fn last_words(target: &Target, text: &str, diagnosis: &Diagnosis) -> String {
    let mut words = text.to_owned();
    let stderr = diagnosis.stderr();
    let shown = &stderr[stderr.len().saturating_sub(LINES_IN_MESSAGE)..];
    let stray_output = diagnosis.stray_output();
    if !shown.is_empty() {
        words.push_str("; it said last: ");
        words.push_str(&shown.join(" / "));
    } else if !stray_output.is_empty() {
        words.push_str("; on its stdout, which is for messages only, stood: ");
        words.push_str(&stray_output.join(" / "));
    }
    if sounds_like_auth(&words) {
        words.push_str("; ");
        words.push_str(&target.auth_advice());
    }
    redact(target, &words)
}

fn is_about_auth(failure: &Failure, diagnosis: &Diagnosis) -> bool {
    match failure {
        Failure::Unauthorized { .. } | Failure::SignIn(_) => true,
        Failure::Rpc(rpc) => sounds_like_auth(&rpc.message),
        Failure::Broken { .. } => sounds_like_auth(&diagnosis.stderr().join("\n")),
        Failure::Stale
        | Failure::Status { .. }
        | Failure::LoginRequired(_)
        | Failure::Redirected { .. }
        | Failure::AddressRefused(_)
        | Failure::Refused(_)
        | Failure::Protocol(_)
        | Failure::Timeout
        | Failure::Cancelled => false,
    }
}

fn sounds_like_auth(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    AUTH_WORDS.iter().any(|word| text.contains(word))
}

/// The text without the secrets of the settings.
pub(super) fn redact(target: &Target, text: &str) -> String {
    let token = target.oauth().and_then(|oauth| oauth.token());
    let secrets = target.secrets().chain(token.iter().map(Secret::expose));
    let secrets = secrets.filter(|secret| secret.len() >= SHORTEST_SECRET);
    Redactor::new(secrets).apply(text)
}

/// A server's answer to a probe: any answer shows that it is there.
pub(super) fn is_alive(result: Result<(), Failure>) -> Result<(), Failure> {
    match result {
        Err(Failure::Rpc(_)) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::target::Server;
    use super::*;
    use mcp::client::transport::stdio::Command;

    #[test]
    fn redacts_the_secrets_of_the_settings_however_a_server_spells_them() {
        let env = vec![("KEY".to_owned(), Secret::new("ab+cd/ef==")), ("N".to_owned(), Secret::new("7"))];
        let command = Command { program: "x".into(), args: Vec::new(), env, cwd: None };
        let target = Target { service: None, server: Server::Local(command) };
        let said = r#"ab+cd/ef== at /x?key=ab%2Bcd%2Fef%3D%3D in {"key":"ab+cd\/ef=="}, 7 times"#;
        assert_eq!(redact(&target, said), r#"*** at /x?key=*** in {"key":"***"}, 7 times"#);
    }
}
