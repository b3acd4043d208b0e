//! A mail service over a real server, and a look at what arrived there.

use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use testkit::conformance;
use testkit::eventually;
use tool::{Connector, Context, Env, Outcome};

pub(super) fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: use `make test` or `scripts/servers run exim -- cargo nextest run`")
    })
}

/// Host and port of the server, without encryption from the beginning.
pub(super) fn address() -> (String, u16) {
    split(&variable("MCP_TEST_EXIM_URL"))
}

pub(super) fn split(address: &str) -> (String, u16) {
    let (host, port) = address.rsplit_once(':').unwrap();
    (host.to_owned(), port.parse().unwrap())
}

/// Settings that need no encryption.
pub(super) fn plain(address: &str) -> Value {
    let (host, port) = split(address);
    json!({ "smtp_host": host, "smtp_port": port, "security": "none", "from_address": "it@tests.example", "from_name": "IT",
            "allow_private_network": true, "retry": { "max_attempts": 1 } })
}

/// Settings with encryption and a password.
pub(super) fn secure() -> Value {
    let mut settings = plain(&variable("MCP_TEST_EXIM_URL"));
    let ca = std::fs::read_to_string(variable("MCP_TEST_EXIM_CA")).unwrap();
    let more = json!({ "security": "starttls", "username": "tester", "password": "tester-password", "tls": { "ca": ca } });
    merge(&mut settings, &more);
    settings
}

pub(super) fn merge(settings: &mut Value, more: &Value) {
    for (name, value) in more.as_object().unwrap() {
        settings[name] = value.clone();
    }
}

pub(super) fn open(settings: &Value) -> Arc<dyn Connector> {
    open_in(settings, &Env::default())
}

pub(super) fn open_in(settings: &Value, env: &Env) -> Arc<dyn Connector> {
    connectors::find("mail").unwrap().open(settings.clone(), env).unwrap()
}

pub(super) fn cx() -> Context {
    conformance::context(Duration::from_secs(30))
}

/// An address that nobody else writes to.
pub(super) fn somebody(kind: &str) -> String {
    format!("{kind}-{}@tests.example", tool::new_id::<String>())
}

/// The result of a call and whether it is an error.
pub(super) async fn call(
    connector: &Arc<dyn Connector>,
    tool: &str,
    arguments: Value,
) -> tool::Result<(Value, bool)> {
    call_in(connector, &cx(), tool, arguments).await
}

pub(super) async fn call_in(
    connector: &Arc<dyn Connector>,
    cx: &Context,
    tool: &str,
    arguments: Value,
) -> tool::Result<(Value, bool)> {
    let arguments = arguments.as_object().cloned().unwrap();
    let outcome = conformance::bind_and_call(&**connector, cx, conformance::call(tool, arguments)).await?;
    let Outcome::Done(output) = outcome else { panic!("{outcome:?}") };
    Ok((serde_json::from_str(&output.data().unwrap()).unwrap(), output.is_error()))
}

pub(super) fn mail(to: impl Into<Value>) -> Value {
    json!({ "to": to.into(), "subject": "欢迎", "body": "欢迎注册" })
}

/// The messages that arrived for an address.
pub(super) fn arrived(address: &str) -> Vec<String> {
    let folder = PathBuf::from(variable("MCP_TEST_EXIM_MAIL")).join("new");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let messages = entries.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok());
    let mark = format!("Envelope-to: {address}\n");
    messages.filter(|message| message.contains(&mark)).collect()
}

/// The first message that arrives for an address.
pub(super) async fn arrival(address: &str) -> String {
    eventually("mail arrives", Duration::from_secs(20), async || !arrived(address).is_empty()).await;
    arrived(address).remove(0)
}
