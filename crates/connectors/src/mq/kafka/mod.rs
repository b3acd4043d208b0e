//! Kafka: topics. What is published is with all replicas that are in step.

mod client;
mod cursor;
mod failure;
mod guard;
mod progress;
mod reader;
mod record;
mod servers;

use super::broker::{Broker, Options, Reader};
use super::destination::Destination;
use super::held::Held;
use super::message::{Incoming, Outgoing, Receipt};
use super::settings::Settings;
use async_trait::async_trait;
use client::Client;
use cursor::Cursor;
use krafka::producer::RecordMetadata;
use reader::TopicReader;
use record::Position;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex;
use tool::{Env, Error, Problem, Queue, Result, Subscription, TenantId};

/// Who takes messages of a topic now.
type Turns = std::sync::Mutex<HashMap<String, Arc<Mutex<()>>>>;

/// One cluster.
pub(super) struct Kafka {
    client: Client,
    queue: Option<Arc<dyn Queue>>,
    tenant: TenantId,
    service: String,
    /// Whoever takes messages of a topic does so alone: two would take the same ones.
    taking: Turns,
}

impl Kafka {
    pub(super) fn new(
        settings: &Settings,
        options: Options,
        env: &Env,
        problems: &mut Vec<Problem>,
    ) -> Result<Self, Problem> {
        let security = servers::security(settings, problems);
        let servers = servers::servers(settings.connection_string.as_ref())?;
        Ok(Self {
            client: Client::new(servers, security, options),
            queue: env.queue.clone(),
            tenant: env.tenant.clone(),
            service: env.service.clone().unwrap_or_default(),
            taking: Turns::default(),
        })
    }

    fn turn(&self, topic: &str) -> Arc<Mutex<()>> {
        let mut turns = self.taking.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        turns.entry(topic.to_owned()).or_default().clone()
    }

    /// Where `_receive` has come to, which `_peek` shows.
    async fn cursor(&self, topic: &str) -> Result<Cursor> {
        let cluster = self.client.cluster().await?;
        cluster.ensure(topic).await?;
        let group = format!("mcp-all-in-one.{}.{}.{topic}", self.tenant, self.service);
        Ok(Cursor::new(cluster, topic, group))
    }

    async fn take(&self, topic: &str, max: usize, wait: Duration) -> Result<Vec<Incoming>> {
        let cursor = self.cursor(topic).await?;
        let found = cursor.read(max, wait).await?;
        if !found.is_empty() {
            cursor.take(&found).await?;
        }
        Ok(found.into_iter().map(record::read).collect())
    }
}

fn topic_of(place: &Destination) -> Result<&str> {
    match place {
        Destination::Topic(name) => Ok(name),
        _ => Err(Error::internal("Kafka has topics alone")),
    }
}

fn receipt(sent: &RecordMetadata) -> Receipt {
    let position = Position { partition: sent.partition, offset: sent.offset };
    Receipt {
        position: sent.is_success().then(|| position.to_string()),
        available_at: Some(sent.timestamp).filter(|time| *time > 0),
        receivers: None,
    }
}

#[async_trait]
impl Broker for Kafka {
    fn delays(&self) -> bool {
        false
    }

    async fn publish(&self, to: &Destination, message: &Outgoing) -> Result<Receipt> {
        let topic = topic_of(to)?;
        let cluster = self.client.cluster().await?;
        cluster.ensure(topic).await?;
        match cluster.send(record::of(topic, message)).await {
            Ok(sent) => Ok(receipt(&sent)),
            Err(error) => {
                if failure::is_final(&error) {
                    self.client.forget(&cluster).await;
                }
                Err(cluster.refusal().unwrap_or_else(|| failure::of_publishing(&error, topic)))
            }
        }
    }

    async fn peek(&self, from: &Destination, max: usize) -> Result<Vec<Incoming>> {
        let found = self.cursor(topic_of(from)?).await?.read(max, Duration::ZERO).await?;
        Ok(found.into_iter().map(record::read).collect())
    }

    async fn receive(&self, from: &Destination, max: usize, wait: Duration) -> Result<Vec<Incoming>> {
        let topic = topic_of(from)?;
        let turn = self.turn(topic);
        let _alone = turn.lock().await;
        let Some(queue) = &self.queue else { return self.take(topic, max, wait).await };
        let name = format!("mq/{}/{topic}/receive", self.service);
        let held = Held::take(Some(queue), &self.tenant, &name).await?;
        let taken = self.take(topic, max, wait).await;
        held.release().await;
        taken
    }

    async fn health(&self, places: &[Destination]) -> Result<()> {
        let cluster = self.client.cluster().await?;
        for place in places {
            let topic = topic_of(place)?;
            if !cluster.has(topic).await? && !self.client.options.declares {
                return Err(failure::missing(topic));
            }
        }
        Ok(())
    }

    async fn subscribe(&self, from: &Destination, wanted: &Subscription) -> Result<Box<dyn Reader>> {
        let cluster = self.client.cluster().await?;
        Ok(Box::new(TopicReader::start(cluster, topic_of(from)?, wanted, self.client.options.lease).await?))
    }
}
