//! The settings of an SMS service: what may be written, and what is wrong with what was.

use super::Sms;
use super::file::Lines;
use super::gateway::{Account, Gateway, Web};
use super::tools::{SmsTool, ToolSettings};
use super::vendors::{Aliyun, Huawei, Tencent, Twilio, aliyun};
use crate::shared::attempts::RetrySettings;
use crate::shared::bounds::Bounds;
use crate::shared::breaker::BreakerSettings;
use crate::shared::network::{AllowPrivateNetwork, Policy, Resolver, allow_private_network_schema};
use crate::shared::own_folder::own_folder;
use crate::shared::sending::Pace;
use crate::shared::sending::once::Keys;
use crate::shared::tls::{TlsSettings, tls_schema};
use fetch::Url;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tool::connector::invalid_settings;
use tool::{Connector, Env, Problem, Result, Secret};

/// Short messages, through the gateway of one vendor or into a file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// Whose gateway it is: `aliyun`, `tencent`, `huawei`, `twilio`, or `file`, which writes messages into a file of the service.
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) provider: Provider,
    /// Who we are: AccessKey ID (Aliyun), SecretId (Tencent), application key (Huawei), Account SID (Twilio).
    #[serde(default)]
    #[schemars(schema_with = "secret_schema")]
    pub(super) api_key: Option<Secret>,
    /// The key itself: AccessKey secret, SecretKey, application secret, auth token.
    #[serde(default)]
    #[schemars(schema_with = "secret_schema")]
    pub(super) api_secret: Option<Secret>,
    /// The signature that messages begin with, as the vendor has approved it (not for Twilio).
    #[serde(default)]
    pub(super) sign_name: Option<String>,
    /// The region of Aliyun, e.g. `ap-southeast-1`, which chooses the gateway unless `endpoint` does, or of Tencent (`ap-guangzhou` unless given).
    #[serde(default)]
    pub(super) region: Option<String>,
    /// Where the gateway is, where it is not at the vendor's usual address. Huawei needs it, e.g.
    /// `https://smsapi.cn-north-4.myhuaweicloud.com`.
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) endpoint: Option<String>,
    /// The application's id (Tencent).
    #[serde(default)]
    pub(super) app_id: Option<String>,
    /// What messages come from: a channel number (Huawei), a telephone number or `MG…` (Twilio).
    #[serde(default)]
    pub(super) sender: Option<String>,
    /// The country of numbers that are written without one.
    #[serde(default = "default_country_code")]
    pub(super) country_code: String,
    /// How many people one call may write to.
    #[serde(default = "default_max_recipients")]
    #[schemars(range(min = 1, max = 10_000))]
    pub(super) max_recipients: usize,
    /// How many requests go out in a minute, spread evenly; more wait. No limit unless given.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    pub(super) rate_per_minute: Option<u32>,
    /// How long a call may take, in milliseconds.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 600_000))]
    pub(super) timeout_ms: u64,
    /// How often a request is made that surely sent nothing: it did not get there, or the vendor wants fewer of them.
    #[serde(default)]
    pub(super) retry: RetrySettings,
    /// When the gateway is left alone because it fails again and again.
    #[serde(default)]
    pub(super) circuit_breaker: BreakerSettings,
    /// How many calls may be under way at once; more wait. No limit unless given.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000))]
    pub(super) max_concurrent_calls: Option<usize>,
    /// Private, loopback and link-local addresses are refused unless this is `true` or lists their ranges, e.g.
    /// `["10.0.0.0/8"]`.
    #[serde(default)]
    #[schemars(schema_with = "allow_private_network_schema")]
    pub(super) allow_private_network: Option<AllowPrivateNetwork>,
    /// Our certificate, for gateways that ask for one, and the authorities we believe.
    #[serde(default)]
    #[schemars(schema_with = "tls_schema")]
    pub(super) tls: Option<TlsSettings>,
    /// Tools with something fixed, e.g. their template. `send`, with nothing fixed, is always there.
    #[serde(default)]
    pub(super) tools: Vec<ToolSettings>,
}

// The doc comments of variants would turn the schema's `enum` into a `oneOf` that explains less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Provider {
    #[default]
    File,
    Aliyun,
    Tencent,
    Huawei,
    Twilio,
}

impl Provider {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Aliyun => "aliyun",
            Self::Tencent => "tencent",
            Self::Huawei => "huawei",
            Self::Twilio => "twilio",
        }
    }

    /// Where its gateway is, unless the settings say so.
    fn endpoint(self, region: Option<&str>) -> Option<&'static str> {
        match self {
            Self::Aliyun => Some(aliyun::endpoint(region)),
            Self::Tencent => Some("https://sms.tencentcloudapi.com"),
            Self::Twilio => Some("https://api.twilio.com"),
            Self::Huawei | Self::File => None,
        }
    }

    /// The settings that it needs.
    fn needs(self) -> &'static [&'static str] {
        match self {
            Self::File => &[],
            Self::Aliyun => &["api_key", "api_secret", "sign_name"],
            Self::Tencent => &["api_key", "api_secret", "sign_name", "app_id"],
            Self::Huawei => &["api_key", "api_secret", "endpoint", "sender"],
            Self::Twilio => &["api_key", "api_secret", "sender"],
        }
    }

    /// Whether it has gateways in several regions.
    fn has_regions(self) -> bool {
        match self {
            Self::Aliyun | Self::Tencent => true,
            Self::File | Self::Huawei | Self::Twilio => false,
        }
    }

    /// Whether it sends words that no template was approved for.
    pub(super) fn sends_any_words(self) -> bool {
        match self {
            Self::Twilio => true,
            Self::File | Self::Aliyun | Self::Tencent | Self::Huawei => false,
        }
    }
}

impl tool::Settings for Settings {
    const SCHEME: &'static str = "sms";
    const TITLE: &'static str = "SMS";
    const FIXED_TOOLS: &'static [&'static str] = &["send"];
    const WORDS: &'static [&'static [tool::words::Word]] =
        &[super::words::WORDS, crate::shared::words::SHARED];
    const HAS_USER_TOOLS: bool = true;
    /// Numbers, codes and words.
    const HAS_PRIVATE_ARGUMENTS: bool = true;

    fn open(self, env: &Env) -> Result<Arc<dyn Connector>> {
        let mut problems = Vec::new();
        let policy = Arc::new(Policy::new(self.allow_private_network.as_ref(), env, &mut problems));
        let backoff = self.retry.check(&mut problems);
        self.check_fields(&mut problems);
        let tools = SmsTool::check_all(&self.tools, self.provider, &mut problems);
        let gateway = self.gateway(env, &policy, &mut problems);
        let Some(gateway) = gateway.filter(|_| problems.is_empty()) else {
            return Err(invalid_settings(Self::SCHEME, problems));
        };
        Ok(Arc::new(Sms {
            gateway,
            bounds: Bounds {
                breaker: self.circuit_breaker.into(),
                timeout: Duration::from_millis(self.timeout_ms),
                permits: self.max_concurrent_calls.map(Semaphore::new),
            },
            provider: self.provider,
            tools,
            country_code: self.country_code,
            max_recipients: self.max_recipients,
            attempts: self.retry.max_attempts,
            backoff,
            pace: self.rate_per_minute.map(Pace::per_minute),
            service: env.service.clone(),
            keys: Keys::new(env),
        }))
    }
}

impl Settings {
    fn check_fields(&self, problems: &mut Vec<Problem>) {
        let given = [
            ("api_key", self.api_key.is_some()),
            ("api_secret", self.api_secret.is_some()),
            ("sign_name", self.sign_name.as_ref().is_some_and(|text| !text.is_empty())),
            ("app_id", self.app_id.as_ref().is_some_and(|text| !text.is_empty())),
            ("endpoint", self.endpoint.is_some()),
            ("sender", self.sender.as_ref().is_some_and(|text| !text.is_empty())),
        ];
        let provider = self.provider;
        for (field, is_given) in given {
            if !is_given && provider.needs().contains(&field) {
                let message = format!("the provider '{}' needs the {field}", provider.as_str());
                problems.push(Problem::new(field, "Required", message));
            }
            if is_given && provider == Provider::File {
                let message =
                    format!("the provider 'file' has no {field}; name another provider, or leave it out");
                problems.push(Problem::new(field, "Unexpected", message));
            }
        }
        if self.region.is_some() && !provider.has_regions() {
            let message = format!("the provider '{}' has no region; leave it out", provider.as_str());
            problems.push(Problem::new("region", "Unexpected", message));
        }
        if self.region.as_deref().is_some_and(|region| !is_region(region)) {
            let message = "the region is no name such as cn-hangzhou or ap-guangzhou";
            problems.push(Problem::new("region", "InvalidName", message));
        }
        let code = &self.country_code;
        if !(1..=3).contains(&code.len())
            || code.starts_with('0')
            || !code.bytes().all(|byte| byte.is_ascii_digit())
        {
            let message = "the country_code is no code such as 86 or 1";
            problems.push(Problem::new("country_code", "InvalidCode", message));
        }
    }

    fn gateway(
        &self,
        env: &Env,
        policy: &Arc<Policy>,
        problems: &mut Vec<Problem>,
    ) -> Option<Arc<dyn Gateway>> {
        if self.provider == Provider::File {
            let folder = own_folder(env, <Self as tool::Settings>::SCHEME);
            return match folder {
                Some(folder) => Some(Arc::new(Lines::new(folder))),
                None => {
                    let message = "messages are kept in files by a server only; name another provider";
                    problems.push(Problem::new("provider", "Required", message));
                    None
                }
            };
        }
        let tls = self.tls.as_ref().map(|tls| tls.check(problems)).unwrap_or_default();
        let endpoint = self.check_endpoint(policy, problems)?;
        let http = fetch::Client::new(Arc::new(Resolver(policy.clone())), tls);
        let web = Web { http, policy: policy.clone(), endpoint };
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let account = Account { key: self.api_key.clone()?, secret: self.api_secret.clone()? };
        Some(match self.provider {
            Provider::Aliyun => Arc::new(Aliyun { web, account, sign_name: text(&self.sign_name) }),
            Provider::Tencent => Arc::new(Tencent {
                web,
                account,
                sign_name: text(&self.sign_name),
                app_id: text(&self.app_id),
                region: self.region.clone().unwrap_or_else(|| "ap-guangzhou".to_owned()),
            }),
            Provider::Huawei => Arc::new(Huawei {
                web,
                account,
                sign_name: self.sign_name.clone(),
                sender: text(&self.sender),
            }),
            Provider::Twilio => Arc::new(Twilio { web, account, sender: text(&self.sender) }),
            Provider::File => return None,
        })
    }

    fn check_endpoint(&self, policy: &Policy, problems: &mut Vec<Problem>) -> Option<Url> {
        let text = self.endpoint.as_deref().or_else(|| self.provider.endpoint(self.region.as_deref()))?;
        let is_web = |url: &Url| {
            matches!(url.scheme(), "http" | "https")
                && url.host_str().is_some()
                && url.path() == "/"
                && url.query().is_none()
                && url.username().is_empty()
        };
        match Url::parse(text).ok().filter(is_web) {
            // Keys and words are for the vendor alone; a gateway in a network of one's own is one's own affair.
            Some(url) if url.scheme() == "http" && policy.is_public() => {
                let message = match policy.is_closed_to_tenant() && self.allow_private_network.is_some() {
                    true => {
                        "the endpoint must begin with https://: 'allow_private_network' counts only where an admin of the platform has set \"allow_private_network\": true on the tenant (PATCH /api/v1/tenants/{id})"
                    }
                    false => {
                        "the endpoint must begin with https://, unless 'allow_private_network' opens a network of your own"
                    }
                };
                problems.push(Problem::new("endpoint", "InvalidUrl", message));
                None
            }
            Some(url) => Some(url),
            None => {
                let message = "the endpoint is no address without a path, e.g. https://dysmsapi.aliyuncs.com";
                problems.push(Problem::new("endpoint", "InvalidUrl", message));
                None
            }
        }
    }
}

fn is_region(text: &str) -> bool {
    let mut parts = text.split('-');
    text.contains('-')
        && text.len() <= 40
        && parts.all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn secret_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "writeOnly": true, "format": "password" })
}

fn default_country_code() -> String {
    "86".to_owned()
}

fn default_max_recipients() -> usize {
    200
}

fn default_timeout() -> u64 {
    30_000
}
