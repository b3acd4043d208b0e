//! `mq://`: queues, topics and streams as tools that publish, look and take, and as sources of messages.

#[cfg(feature = "brokers")]
mod address;
mod basket;
mod broker;
mod destination;
mod embedded;
#[cfg(feature = "kafka")]
mod kafka;
mod listen;
mod message;
mod publish;
#[cfg(feature = "rabbitmq")]
mod rabbitmq;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "grpc")]
mod rocketmq;
mod settings;
#[cfg(any(feature = "grpc", feature = "kafka", feature = "redis"))]
mod sole_reader;
#[cfg(test)]
mod tests;
mod tool_settings;
mod tools;
#[cfg(any(feature = "rabbitmq", feature = "redis"))]
mod unanswered;
#[cfg(feature = "brokers")]
mod wire;
mod words;

pub(crate) use settings::Settings;

use crate::shared::bounds::Bounds;
use crate::shared::sending::once::Keys;
use async_trait::async_trait;
use basket::Basket;
use broker::Broker;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tool::{
    Call, Connector, Context, Error, Outcome, Output, Queue, Result, Sink, Subscription, Tool, Triggers,
};
use tools::{Action, MAX_MESSAGES, MAX_WAIT_MS, QueueTool};

/// One broker and the places there that messages are published to.
struct Mq {
    broker: Arc<dyn Broker>,
    bounds: Bounds,
    tools: Vec<QueueTool>,
    max_message_bytes: usize,
    max_delay: Duration,
    /// Its own id, for calls that are made later.
    service: Option<String>,
    queue: Option<Arc<dyn Queue>>,
    keys: Keys,
}

impl Mq {
    fn find(&self, name: &str) -> Result<(&QueueTool, Action)> {
        let of = |tool| {
            let tool: &QueueTool = tool;
            tool.actions().find(|action| tool.name(*action) == name).map(|action| (tool, action))
        };
        let found = self.tools.iter().find_map(of);
        found.ok_or_else(|| Error::not_found(format!("the service has no tool '{name}'")))
    }

    async fn run(&self, cx: &Context, tool: &QueueTool, action: Action, call: &Call) -> Result<Output> {
        let arguments = call.arguments.as_map()?;
        match action {
            Action::Publish => self.publish(cx, tool, call).await,
            Action::Peek => {
                let max = whole(arguments, "max", 10, 1, MAX_MESSAGES)?;
                let mut basket = Basket::new(tool, max, call.max_answer_bytes);
                self.broker.peek(&tool.destination, &mut basket).await?;
                basket.output()
            }
            Action::Receive => {
                let max = whole(arguments, "max", 1, 1, MAX_MESSAGES)?;
                let wait = whole(arguments, "waitMs", 0, 0, MAX_WAIT_MS)?;
                let wait = Duration::from_millis(u64::try_from(wait).unwrap_or(MAX_WAIT_MS));
                let mut basket = Basket::new(tool, max, call.max_answer_bytes);
                self.broker.receive(&tool.destination, &mut basket, wait).await?;
                basket.output()
            }
        }
    }
}

#[async_trait]
impl Connector for Mq {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        let max_delay_ms = u64::try_from(self.max_delay.as_millis()).unwrap_or(u64::MAX);
        let all = self.tools.iter().flat_map(|tool| tool.actions().map(move |action| (tool, action)));
        let mut tools =
            all.map(|(tool, action)| tool.definition(action, max_delay_ms)).collect::<Result<Vec<_>>>()?;
        tools.sort_by(|one, other| one.name().cmp(other.name()));
        Ok(tools)
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        let (tool, action) = self.find(&call.tool)?;
        let work = Box::pin(self.run(cx, tool, action, &call));
        let late = match action {
            // What is published once has to know itself how that ended.
            Action::Publish => return work.await.map(Outcome::Done),
            Action::Peek => "the broker did not answer in time",
            Action::Receive => "the broker did not answer in time; messages may have been taken",
        };
        self.bounds.within(cx, &call.options, late, work).await.map(Outcome::Done)
    }

    async fn health(&self, cx: &Context) -> Result<()> {
        let places: Vec<_> = self.tools.iter().map(|tool| tool.destination.clone()).collect();
        let work = self.broker.health(&places);
        self.bounds.within(cx, &Default::default(), "the broker did not answer in time", work).await
    }

    fn triggers(&self) -> Option<&dyn Triggers> {
        Some(self)
    }
}

#[async_trait]
impl Triggers for Mq {
    fn sources(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.id.clone()).collect()
    }

    async fn listen(&self, cx: &Context, wanted: Subscription, sink: Arc<dyn Sink>) -> Result<()> {
        listen::listen(self, cx, wanted, sink).await
    }
}

/// A whole number among the arguments.
fn whole(arguments: &Map<String, Value>, name: &str, default: u64, least: u64, most: u64) -> Result<usize> {
    let given = arguments.get(name).filter(|value| !value.is_null());
    // A whole number is one, even if a model has written it as 5.0, which the schema lets through.
    let whole = |value: &Value| {
        let float = value.as_f64().filter(|float| float.fract() == 0.0 && (0.0..=9e15).contains(float));
        value.as_u64().or_else(|| float.map(|float| float as u64))
    };
    let number = given.map_or(Some(default), whole).filter(|number| (least..=most).contains(number));
    let number = number.and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| {
        let message = format!("parameter '{name}' must be a whole number from {least} to {most}");
        Error::invalid_input(message).of_parameter(name)
    })
}

fn output(value: &Value) -> Result<Output> {
    let json = RawValue::from_string(value.to_string())
        .map_err(|error| Error::internal("an answer is no JSON").caused_by(error))?;
    Ok(Output::json(json))
}
