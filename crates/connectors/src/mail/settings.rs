//! The settings of a mail service: what may be written, and what is wrong with what was.

use super::address::{AllowList, parse};
use super::file::Folder;
use super::smtp::{self, Smtp};
use super::templates::{Template, TemplateSettings};
use super::tools::MailTool;
use super::{Carrier, Limits, Mail};
use crate::shared::attempts::RetrySettings;
use crate::shared::bounds::Bounds;
use crate::shared::breaker::BreakerSettings;
use crate::shared::content::Sources;
use crate::shared::network::{AllowPrivateNetwork, Policy, allow_private_network_schema};
use crate::shared::own_folder::own_folder;
use crate::shared::sending::Pace;
use crate::shared::sending::once::Keys;
use crate::shared::tls::{TlsSettings, tls_schema};
use lettre::message::Mailbox;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tool::connector::invalid_settings;
use tool::{Connector, Env, Problem, Result, Secret};

/// Mail, through one server or into a folder.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// Who takes the mail: `smtp`, or `file`, which keeps the last 1000 messages in a folder of the service. Follows from
    /// `smtp_host` unless given.
    #[serde(default)]
    #[schemars(schema_with = "provider_schema")]
    pub(super) provider: Option<Provider>,
    /// The mail server, e.g. `smtp.example.com`.
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) smtp_host: Option<String>,
    /// Its port. 587 for `starttls`, 465 for `tls`, 25 for `none` unless given.
    #[serde(default)]
    #[schemars(range(min = 1, max = 65535), extend("x-address" = true))]
    pub(super) smtp_port: Option<u16>,
    /// How the connection is kept private: `starttls` (which the server must offer), `tls` from the beginning, or `none`, which sends
    /// no password. `tls` at port 465, `starttls` elsewhere unless given.
    #[serde(default)]
    #[schemars(schema_with = "security_schema")]
    pub(super) security: Option<Security>,
    /// Who we are to the server.
    #[serde(default)]
    pub(super) username: Option<String>,
    /// The password that belongs to it.
    #[serde(default)]
    #[schemars(schema_with = "password_schema")]
    pub(super) password: Option<Secret>,
    /// The address that mail comes from.
    #[serde(default)]
    pub(super) from_address: Option<String>,
    /// The name before that address.
    #[serde(default)]
    pub(super) from_name: Option<String>,
    /// Whom the service may write to, `cc` and `bcc` included: addresses, in which `*` stands for anything but an `@`, e.g.
    /// `*@example.com`. Everybody unless given.
    #[serde(default)]
    pub(super) allow_recipients: Vec<String>,
    /// How many people one call may write to.
    #[serde(default = "default_max_recipients")]
    #[schemars(range(min = 1, max = 10_000))]
    pub(super) max_recipients: usize,
    /// How many bytes a message has at the most, as it is sent.
    #[serde(default = "default_max_message")]
    #[schemars(range(min = 1024, max = 104_857_600))]
    pub(super) max_message_bytes: usize,
    /// How many messages go out in a minute, spread evenly; more wait. No limit unless given.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    pub(super) rate_per_minute: Option<u32>,
    /// How many connections to the server there may be.
    #[serde(default = "default_pool")]
    #[schemars(range(min = 1, max = 100))]
    pub(super) pool_size: usize,
    /// What the server is to report to the sender about each message, where it can: `success`, `failure`, `delay`.
    #[serde(default)]
    pub(super) dsn: Vec<Notify>,
    /// Messages with places for values, by name.
    #[serde(default)]
    pub(super) templates: BTreeMap<String, TemplateSettings>,
    /// How long a call may take, in milliseconds.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 600_000))]
    pub(super) timeout_ms: u64,
    /// How often it is tried to connect. What may have been taken is not sent again.
    #[serde(default)]
    pub(super) retry: RetrySettings,
    /// When the server is left alone because it fails again and again.
    #[serde(default)]
    pub(super) circuit_breaker: BreakerSettings,
    /// How many calls may be under way at once; more wait. No limit unless given.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000))]
    pub(super) max_concurrent_calls: Option<usize>,
    /// Private, loopback and link-local addresses of the server are refused unless this is `true` or lists their ranges,
    /// e.g. `["10.0.0.0/8"]`. It does not hold for attachments' `source.url`, which callers write.
    #[serde(default)]
    #[schemars(schema_with = "allow_private_network_schema")]
    pub(super) allow_private_network: Option<AllowPrivateNetwork>,
    /// Our certificate, for servers that ask for one, and the authorities we believe.
    #[serde(default)]
    #[schemars(schema_with = "tls_schema")]
    pub(super) tls: Option<TlsSettings>,
    /// Tools with something fixed, e.g. to whom they write. `send`, with nothing fixed, is always there.
    #[serde(default)]
    pub(super) tools: Vec<ToolSettings>,
}

/// A purpose: what it fixes is no argument any more.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolSettings {
    /// The tool's name: 1 to 64 letters, digits, `_`, `.` or `-`.
    pub(super) id: String,
    /// What it is for, for the model that uses it.
    #[serde(default)]
    pub(super) description: String,
    /// Whom it writes to; callers then name nobody.
    #[serde(default)]
    pub(super) to: Vec<String>,
    /// The template it uses; callers then give its variables only.
    #[serde(default)]
    pub(super) template: Option<String>,
    /// The address that its mail comes from.
    #[serde(default)]
    pub(super) from: Option<String>,
}

// The doc comments of variants would turn the schema's `enum` into a `oneOf` that explains less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Provider {
    File,
    Smtp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Security {
    Starttls,
    Tls,
    None,
}

impl Security {
    fn port(self) -> u16 {
        match self {
            Self::Starttls => 587,
            Self::Tls => 465,
            Self::None => 25,
        }
    }
}

/// What a body is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum ContentType {
    #[default]
    Text,
    Html,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Notify {
    Success,
    Failure,
    Delay,
}

impl tool::Settings for Settings {
    const SCHEME: &'static str = "mail";
    const TITLE: &'static str = "Mail";
    const FIXED_TOOLS: &'static [&'static str] = &["send"];
    const WORDS: &'static [&'static [tool::words::Word]] =
        &[super::words::WORDS, crate::shared::words::SHARED];
    const HAS_USER_TOOLS: bool = true;

    fn open(self, env: &Env) -> Result<Arc<dyn Connector>> {
        let mut problems = Vec::new();
        let policy = Arc::new(Policy::new(self.allow_private_network.as_ref(), env, &mut problems));
        let templates = Template::compile_all(&self.templates, &mut problems);
        let allow_list = self.check_allow_list(&mut problems);
        let from = self.check_from(&mut problems);
        let tools = MailTool::check_all(&self.tools, &templates, &allow_list, &mut problems);
        let carrier = self.carrier(env, &policy, &mut problems);
        let (Some(carrier), Some(from)) = (carrier, from.filter(|_| problems.is_empty())) else {
            return Err(invalid_settings(Self::SCHEME, problems));
        };
        Ok(Arc::new(Mail {
            carrier,
            bounds: Bounds {
                breaker: self.circuit_breaker.into(),
                timeout: Duration::from_millis(self.timeout_ms),
                permits: self.max_concurrent_calls.map(Semaphore::new),
            },
            from,
            limits: Limits { recipients: self.max_recipients, message_bytes: self.max_message_bytes },
            at_once: self.pool_size,
            pace: self.rate_per_minute.map(Pace::per_minute),
            allow_list,
            templates,
            tools,
            sources: Sources::new(env, policy, Duration::from_millis(self.timeout_ms)),
            service: env.service.clone(),
            keys: Keys::new(env),
        }))
    }
}

impl Settings {
    fn provider(&self) -> Provider {
        let implied = if self.smtp_host.is_some() { Provider::Smtp } else { Provider::File };
        self.provider.unwrap_or(implied)
    }

    fn check_allow_list(&self, problems: &mut Vec<Problem>) -> AllowList {
        for (index, pattern) in self.allow_recipients.iter().enumerate() {
            let is_pattern = pattern.matches('@').count() == 1 && !pattern.contains(char::is_whitespace);
            if !is_pattern || pattern.len() > 320 {
                let message = format!("'{pattern}' is no address or pattern such as *@example.com");
                problems.push(Problem::new(format!("allow_recipients[{index}]"), "InvalidAddress", message));
            }
        }
        AllowList::new(&self.allow_recipients)
    }

    fn check_from(&self, problems: &mut Vec<Problem>) -> Option<Mailbox> {
        let address = match (&self.from_address, self.provider()) {
            (Some(address), _) => address.as_str(),
            (None, Provider::File) => "mcp-all-in-one@localhost.localdomain",
            (None, Provider::Smtp) => {
                let message = "the from_address is missing: the address that mail comes from";
                problems.push(Problem::new("from_address", "Required", message));
                return None;
            }
        };
        let Ok(mailbox) = parse(address).map_err(|_| {
            let message = format!("'{address}' is no address such as it@example.com");
            problems.push(Problem::new("from_address", "InvalidAddress", message));
        }) else {
            return None;
        };
        match self.from_name.as_deref().map(|name| parse(&format!("{name} <{}>", mailbox.email))) {
            None => Some(mailbox),
            Some(Ok(named)) => Some(named),
            Some(Err(_)) => {
                let message = "the from_name has line breaks, quotes, < or >, or more than 200 characters";
                problems.push(Problem::new("from_name", "InvalidName", message));
                None
            }
        }
    }

    fn carrier(&self, env: &Env, policy: &Arc<Policy>, problems: &mut Vec<Problem>) -> Option<Carrier> {
        match self.provider() {
            Provider::File => {
                self.check_fields_of_folder(problems);
                let Some(folder) = own_folder(env, <Self as tool::Settings>::SCHEME) else {
                    let message = "mail is kept in files by a server only; give smtp_host";
                    problems.push(Problem::new("smtp_host", "Required", message));
                    return None;
                };
                Some(Carrier::Folder(Folder::new(folder)))
            }
            Provider::Smtp => Some(Carrier::Smtp(Box::new(self.smtp(policy, problems)?))),
        }
    }

    /// What only servers have, so that nobody believes it to count.
    fn check_fields_of_folder(&self, problems: &mut Vec<Problem>) {
        let fields = [
            ("smtp_host", self.smtp_host.is_some()),
            ("smtp_port", self.smtp_port.is_some()),
            ("username", self.username.is_some()),
            ("password", self.password.is_some()),
        ];
        for (field, _) in fields.iter().filter(|(_, is_given)| *is_given) {
            let message =
                format!("the provider 'file' has no {field}; set provider to smtp, or leave it out");
            problems.push(Problem::new(*field, "Unexpected", message));
        }
    }

    fn smtp(&self, policy: &Arc<Policy>, problems: &mut Vec<Problem>) -> Option<Smtp> {
        let security = self.security.unwrap_or(match self.smtp_port {
            Some(465) => Security::Tls,
            _ => Security::Starttls,
        });
        let backoff = self.retry.check(problems);
        let tls = self.tls.as_ref().map(|tls| tls.check(problems)).unwrap_or_default();
        let credentials = self.check_credentials(security, problems);
        let Some(host) = self.smtp_host.as_deref().filter(|host| is_host(host)) else {
            let message = "the smtp_host is missing or no name of a server, e.g. smtp.example.com";
            problems.push(Problem::new("smtp_host", "Required", message));
            return None;
        };
        Some(Smtp::new(smtp::Options {
            host: host.to_owned(),
            port: self.smtp_port.unwrap_or(security.port()),
            security,
            credentials,
            policy: policy.clone(),
            tls,
            attempts: self.retry.max_attempts,
            backoff,
            timeout: Duration::from_millis(self.timeout_ms),
            pool_size: self.pool_size,
            notify: self.dsn.clone(),
        }))
    }

    fn check_credentials(&self, security: Security, problems: &mut Vec<Problem>) -> Option<(String, Secret)> {
        let (username, password) = match (&self.username, &self.password) {
            (None, None) => return None,
            (Some(username), Some(password)) => (username, password),
            (username, _) => {
                let (there, missing) =
                    if username.is_some() { ("username", "password") } else { ("password", "username") };
                let message = format!("the {there} needs the {missing} beside it");
                problems.push(Problem::new(missing, "Required", message));
                return None;
            }
        };
        if security == Security::None {
            let message = "no password is sent without encryption; set security to starttls or tls, or leave username and password out";
            problems.push(Problem::new("security", "NotAllowed", message));
        }
        if username.contains('\0') || password.expose().contains('\0') {
            problems.push(Problem::new(
                "password",
                "InvalidPassword",
                "no password or username has a NUL character",
            ));
        }
        Some((username.clone(), password.clone()))
    }
}

fn is_host(host: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || ".-:[]_".contains(c);
    (1..=253).contains(&host.len()) && host.chars().all(is_plain)
}

fn provider_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["string", "null"], "enum": ["file", "smtp", null], "x-address": true })
}

fn security_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["string", "null"], "enum": ["starttls", "tls", "none", null], "x-address": true })
}

fn password_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["string", "null"], "writeOnly": true, "format": "password" })
}

fn default_max_recipients() -> usize {
    100
}

fn default_max_message() -> usize {
    25 * 1024 * 1024
}

fn default_pool() -> usize {
    4
}

fn default_timeout() -> u64 {
    30_000
}
