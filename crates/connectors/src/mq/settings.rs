//! The settings of a queue service: what may be written, and what is wrong with what was.

use super::Mq;
use super::broker::Broker;
use super::embedded::Embedded;
use super::tool_settings::ToolSettings;
use super::tools::QueueTool;
#[cfg(feature = "brokers")]
use crate::shared::attempts::Backoff;
use crate::shared::attempts::RetrySettings;
use crate::shared::bounds::Bounds;
use crate::shared::breaker::BreakerSettings;
use crate::shared::network::{AllowPrivateNetwork, Policy, allow_private_network_schema};
use crate::shared::sending::once::Keys;
use crate::shared::tls::{TlsSettings, tls_schema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tool::connector::invalid_settings;
use tool::{Connector, Env, Problem, Result, Secret};

/// Queues, topics and streams of one broker.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// What carries the messages: `embedded`, which is this program's own database and needs nothing else, `kafka`,
    /// `rabbitmq`, `redis` or `rocketmq` (5.x).
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) broker: BrokerType,
    /// Where the broker is and how to sign in: `amqps://user:password@host/vhost`, `rediss://user:password@host/0`; or the
    /// brokers of Kafka, `host1:9092,host2:9092`; or a proxy of RocketMQ, `host:8081`.
    #[serde(default)]
    #[schemars(schema_with = "connection_string_schema")]
    pub(super) connection_string: Option<Secret>,
    /// How to sign in to Kafka, with `username` and `password`.
    #[serde(default)]
    #[schemars(schema_with = "sasl_schema")]
    pub(super) sasl: Option<Sasl>,
    /// The user of Kafka, or the access key of RocketMQ.
    #[serde(default)]
    pub(super) username: Option<String>,
    /// The password of Kafka's user, or the secret of RocketMQ's access key.
    #[serde(default)]
    #[schemars(schema_with = "connection_string_schema")]
    pub(super) password: Option<Secret>,
    /// Make queues, exchanges, topics and groups that are missing (Kafka, RabbitMQ, Redis). Topics of RocketMQ are made there.
    #[serde(default = "yes")]
    #[cfg_attr(not(feature = "brokers"), expect(dead_code, reason = "for brokers elsewhere"))]
    pub(super) declare: bool,
    /// How many bytes a message has at the most.
    #[serde(default = "default_max_message_bytes")]
    #[schemars(range(min = 1, max = 16_777_216))]
    pub(super) max_message_bytes: usize,
    /// How long a message may be held back at the most, in milliseconds.
    #[serde(default = "default_max_delay")]
    #[schemars(range(min = 0, max = 31_622_400_000_u64))]
    pub(super) max_delay_ms: u64,
    /// How long a call may take, in milliseconds.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 300_000))]
    pub(super) timeout_ms: u64,
    /// How often it is tried to connect. What was sent is not sent again.
    #[serde(default)]
    pub(super) retry: RetrySettings,
    /// When the broker is left alone because it fails again and again.
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
    /// Our certificate, for brokers that ask for one, and the authorities we believe. Kafka and RocketMQ are spoken to in
    /// TLS where this is given, if only as `{}`.
    #[serde(default)]
    #[schemars(schema_with = "tls_schema")]
    pub(super) tls: Option<TlsSettings>,
    /// The places that messages are published to, one tool each.
    #[serde(default)]
    pub(super) tools: Vec<ToolSettings>,
    /// How long a message stays with a reader that says nothing any more.
    #[serde(skip, default = "default_lease")]
    pub(super) lease: Duration,
}

/// The kinds of brokers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum BrokerType {
    #[default]
    Embedded,
    Rabbitmq,
    Kafka,
    Rocketmq,
    Redis,
}

/// How Kafka checks who somebody is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Sasl {
    #[serde(rename = "PLAIN")]
    Plain,
    #[serde(rename = "SCRAM-SHA-256")]
    ScramSha256,
    #[serde(rename = "SCRAM-SHA-512")]
    ScramSha512,
}

impl BrokerType {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Rabbitmq => "rabbitmq",
            Self::Kafka => "kafka",
            Self::Rocketmq => "rocketmq",
            Self::Redis => "redis",
        }
    }

    /// Why this program cannot use it, if it cannot.
    fn absence(self) -> Option<String> {
        let left_out = |feature: &str| format!("is not built in; build with the feature '{feature}'");
        match self {
            Self::Kafka if cfg!(not(feature = "kafka")) => Some(left_out("kafka")),
            Self::Rabbitmq if cfg!(not(feature = "rabbitmq")) => Some(left_out("rabbitmq")),
            Self::Redis if cfg!(not(feature = "redis")) => Some(left_out("redis")),
            Self::Rocketmq if cfg!(not(feature = "grpc")) => Some(left_out("grpc")),
            Self::Embedded | Self::Kafka | Self::Rabbitmq | Self::Redis | Self::Rocketmq => None,
        }
    }
}

impl tool::Settings for Settings {
    const SCHEME: &'static str = "mq";
    const TITLE: &'static str = "Message queue";
    const WORDS: &'static [&'static [tool::words::Word]] =
        &[super::words::WORDS, crate::shared::words::SHARED];
    const HAS_USER_TOOLS: bool = true;
    const HAS_QUEUES: bool = true;

    fn open(self, env: &Env) -> Result<Arc<dyn Connector>> {
        let mut problems = Vec::new();
        if let Some(absence) = self.broker.absence() {
            let message = format!("the broker '{}' {absence}", self.broker.as_str());
            problems.push(Problem::new("broker", "NotBuiltIn", message));
            return Err(invalid_settings(Self::SCHEME, problems));
        }
        let tools = QueueTool::check_all(&self, &mut problems);
        let broker = self.broker(env, &mut problems);
        let Some(broker) = broker.filter(|_| problems.is_empty()) else {
            return Err(invalid_settings(Self::SCHEME, problems));
        };
        let bounds = Bounds {
            breaker: self.circuit_breaker.into(),
            timeout: Duration::from_millis(self.timeout_ms),
            permits: self.max_concurrent_calls.map(Semaphore::new),
        };
        Ok(Arc::new(Mq {
            broker,
            bounds,
            tools,
            max_message_bytes: self.max_message_bytes,
            max_delay: Duration::from_millis(self.max_delay_ms),
            service: env.service.clone(),
            queue: env.queue.clone(),
            keys: Keys::new(env),
        }))
    }
}

impl Settings {
    fn broker(&self, env: &Env, problems: &mut Vec<Problem>) -> Option<Arc<dyn Broker>> {
        self.check_signing_in(problems);
        // What is wrong is said also where nothing is reached by it.
        let checked = (
            Policy::new(self.allow_private_network.as_ref(), env, problems),
            self.tls.as_ref().map(|tls| tls.check(problems)).unwrap_or_default(),
            self.retry.check(problems),
        );
        match self.broker {
            BrokerType::Embedded => {
                if self.connection_string.is_some() {
                    let message = "the broker 'embedded' is this program itself; leave connection_string out";
                    problems.push(Problem::new("connection_string", "NotAllowed", message));
                }
                Some(Arc::new(Embedded::new(env, self.lease)))
            }
            #[cfg(feature = "brokers")]
            _ => self.broker_elsewhere(checked, env, problems),
            // Refused before.
            #[cfg(not(feature = "brokers"))]
            _ => {
                drop(checked);
                None
            }
        }
    }

    /// Other brokers have their user in the connection string.
    fn check_signing_in(&self, problems: &mut Vec<Problem>) {
        const BOTH: &[BrokerType] = &[BrokerType::Kafka, BrokerType::Rocketmq];
        let given = [
            ("sasl", self.sasl.is_some(), &BOTH[..1]),
            ("username", self.username.is_some(), BOTH),
            ("password", self.password.is_some(), BOTH),
        ];
        for (field, _, takers) in
            given.into_iter().filter(|(_, is_given, takers)| *is_given && !takers.contains(&self.broker))
        {
            let takers: Vec<_> = takers.iter().map(|taker| format!("'{}'", taker.as_str())).collect();
            let takers = takers.join(" and ");
            let message = format!("'{field}' is for {takers}; other brokers have it in connection_string");
            problems.push(Problem::new(field, "NotAllowed", message));
        }
    }

    #[cfg(feature = "brokers")]
    fn broker_elsewhere(
        &self,
        (policy, tls, backoff): (Policy, fetch::Tls, Backoff),
        env: &Env,
        problems: &mut Vec<Problem>,
    ) -> Option<Arc<dyn Broker>> {
        let options = super::broker::Options {
            policy: Arc::new(policy),
            tls,
            attempts: self.retry.max_attempts,
            backoff,
            timeout: Duration::from_millis(self.timeout_ms),
            declares: self.declare,
            lease: self.lease,
            max_message_bytes: self.max_message_bytes,
        };
        let text = self.connection_string.as_ref();
        let opened: Result<Arc<dyn Broker>, Problem> = match self.broker {
            #[cfg(feature = "kafka")]
            BrokerType::Kafka => {
                super::kafka::Kafka::new(self, options, env, problems).map(|it| Arc::new(it) as _)
            }
            #[cfg(feature = "rabbitmq")]
            BrokerType::Rabbitmq => super::rabbitmq::Rabbitmq::new(text, options).map(|it| Arc::new(it) as _),
            #[cfg(feature = "redis")]
            BrokerType::Redis => super::redis::Redis::new(text, options, env).map(|it| Arc::new(it) as _),
            #[cfg(feature = "grpc")]
            BrokerType::Rocketmq => {
                super::rocketmq::Rocketmq::new(self, options, env, problems).map(|it| Arc::new(it) as _)
            }
            // Refused before.
            _ => return None,
        };
        opened.map_err(|problem| problems.push(problem)).ok()
    }
}

fn yes() -> bool {
    true
}

fn default_max_message_bytes() -> usize {
    1024 * 1024
}

fn default_max_delay() -> u64 {
    30 * 24 * 60 * 60 * 1000
}

fn default_timeout() -> u64 {
    30_000
}

fn default_lease() -> Duration {
    Duration::from_secs(15)
}

fn sasl_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", null] })
}

fn connection_string_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "writeOnly": true, "format": "password" })
}
