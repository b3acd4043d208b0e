//! Where messages go: a place as the broker knows it.

use super::settings::BrokerType;
use super::tool_settings::ToolSettings;
use std::fmt;
use tool::Problem;

/// The longest name of a place; the brokers' own limits are 249 and 255.
const MAX_NAME_CHARACTERS: usize = 200;
/// RocketMQ's own limit.
const MAX_ROCKETMQ_CHARACTERS: usize = 127;

/// A place that messages are published to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Destination {
    Queue(String),
    Exchange { exchange: String, routing_key: String },
    Topic(String),
    Channel(String),
    Stream(String),
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue(name) | Self::Topic(name) | Self::Channel(name) | Self::Stream(name) => {
                f.write_str(name)
            }
            Self::Exchange { exchange, routing_key } => write!(f, "{exchange}/{routing_key}"),
        }
    }
}

impl Destination {
    /// What the settings of a tool name, or the first kind of place that the broker has, called like the tool.
    pub(super) fn check(
        tool: &ToolSettings,
        broker: BrokerType,
        path: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let before = problems.len();
        let mut found = Vec::new();
        for (field, given) in given(tool) {
            let Some(name) = given else { continue };
            if !fields(broker).contains(&field) {
                let message =
                    format!("'{}' has no {field}; name {}", broker.as_str(), one_of(fields(broker)));
                problems.push(Problem::new(format!("{path}.{field}"), "NotAllowed", message));
            } else if !is_name_of(field, name, broker) {
                problems.push(Problem::new(format!("{path}.{field}"), "InvalidName", rule(field, broker)));
            } else if field != "routing_key" {
                found.push((field, name.to_owned()));
            }
        }
        check_routing_key(tool, path, problems);
        if found.len() > 1 {
            let message = format!("a tool publishes to one place; leave out all but '{}'", found[0].0);
            problems.push(Problem::new(format!("{path}.{}", found[1].0), "Ambiguous", message));
        }
        if problems.len() > before {
            return None;
        }
        let (field, name) = found.pop().unwrap_or_else(|| (fields(broker)[0], tool.id.clone()));
        if !is_name_of(field, &name, broker) {
            let message = format!("the id cannot name a {field}, so give one; {}", rule(field, broker));
            problems.push(Problem::new(format!("{path}.{field}"), "Required", message));
            return None;
        }
        Some(match field {
            "exchange" => {
                Self::Exchange { exchange: name, routing_key: tool.routing_key.clone().unwrap_or_default() }
            }
            "topic" => Self::Topic(name),
            "channel" => Self::Channel(name),
            "stream" => Self::Stream(name),
            _ => Self::Queue(name),
        })
    }
}

fn given(tool: &ToolSettings) -> [(&'static str, Option<&str>); 6] {
    [
        ("queue", tool.queue.as_deref()),
        ("exchange", tool.exchange.as_deref()),
        ("routing_key", tool.routing_key.as_deref()),
        ("topic", tool.topic.as_deref()),
        ("channel", tool.channel.as_deref()),
        ("stream", tool.stream.as_deref()),
    ]
}

/// The kinds of places that the broker has.
fn fields(broker: BrokerType) -> &'static [&'static str] {
    match broker {
        BrokerType::Embedded => &["queue"],
        BrokerType::Rabbitmq => &["queue", "exchange", "routing_key"],
        BrokerType::Kafka | BrokerType::Rocketmq => &["topic"],
        BrokerType::Redis => &["channel", "stream"],
    }
}

fn one_of(names: &[&str]) -> String {
    names.iter().map(|name| format!("a '{name}'")).collect::<Vec<_>>().join(" or ")
}

fn check_routing_key(tool: &ToolSettings, path: &str, problems: &mut Vec<Problem>) {
    if tool.routing_key.is_some() && tool.exchange.is_none() {
        let message = "a routing_key belongs to an exchange; name one, or a queue alone";
        problems.push(Problem::new(format!("{path}.exchange"), "Required", message));
    }
}

/// Whether the broker can have a place of this name.
fn is_name_of(field: &str, name: &str, broker: BrokerType) -> bool {
    let has_only =
        |signs: &[u8]| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || signs.contains(&byte));
    let is_fit = match (field, broker) {
        // Dead letters are in the topic `%DLQ%` and the name of their group.
        ("topic", BrokerType::Rocketmq) => has_only(b"_-%|"),
        ("topic", _) => has_only(b"._-") && ![".", ".."].contains(&name),
        _ => !name.chars().any(char::is_control),
    };
    is_fit && (1..=longest(broker)).contains(&name.chars().count())
}

fn rule(field: &str, broker: BrokerType) -> String {
    let what = match (field, broker) {
        ("topic", BrokerType::Rocketmq) => "letters, digits, '_', '-', '%' or '|'",
        ("topic", _) => "letters, digits, '.', '_' or '-'",
        _ => "printable characters",
    };
    format!("a {field} is called by 1 to {} {what}", longest(broker))
}

fn longest(broker: BrokerType) -> usize {
    match broker {
        BrokerType::Rocketmq => MAX_ROCKETMQ_CHARACTERS,
        _ => MAX_NAME_CHARACTERS,
    }
}
