//! Kafka: topics. What is published is with all replicas that are in step.

mod client;
mod cursor;
mod failure;
mod guard;
mod outstanding;
mod progress;
mod reader;
mod record;
mod servers;

use super::basket::Basket;
use super::broker::{Broker, Options, Reader};
use super::destination::Destination;
use super::message::{Outgoing, Receipt};
use super::settings::Settings;
use super::sole_reader::SoleReader;
use crate::shared::turns::Turns;
use async_trait::async_trait;
use client::Client;
use cursor::Cursor;
use krafka::producer::RecordMetadata;
use reader::TopicReader;
use record::Position;
use std::sync::Arc;
use std::time::Duration;
use tool::{Env, Error, Problem, Queue, Result, Subscription, TenantId};

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

    /// Where `_receive` has come to, which `_peek` shows.
    async fn cursor(&self, topic: &str) -> Result<Cursor> {
        let cluster = self.client.cluster().await?;
        cluster.ensure(topic).await?;
        let group = format!("mcp-all-in-one.{}.{}.{topic}", self.tenant, self.service);
        Ok(Cursor::new(cluster, topic, group))
    }

    async fn take(&self, topic: &str, basket: &mut Basket<'_>, wait: Duration) -> Result<()> {
        let cursor = self.cursor(topic).await?;
        let (found, seen) = cursor.read(basket.max(), wait).await?;
        if found.is_empty() && !seen.is_empty() {
            // So that nobody has to look through it again.
            return cursor.go_on_at(seen).await;
        }
        let fitting: Vec<_> =
            found.into_iter().take_while(|record| basket.admit(&record::read(record.clone()))).collect();
        if fitting.is_empty() {
            return Ok(());
        }
        cursor.take(&fitting).await
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
    fn delays(&self, _: &Destination) -> bool {
        false
    }

    async fn publish(&self, to: &Destination, message: &Outgoing) -> Result<Receipt> {
        let topic = topic_of(to)?;
        message.stays_here();
        let cluster = self.client.cluster().await?;
        cluster.ensure(topic).await?;
        message.leaves();
        match cluster.send(record::of(topic, message)).await {
            Ok(sent) => Ok(receipt(&sent)),
            Err(error) => {
                cluster.doubt(topic);
                if failure::is_final(&error) {
                    self.client.forget(&cluster).await;
                }
                let failure = failure::of_publishing(&error, topic);
                // A refusal explains what surely was not published, and nothing else: it may be another broker's.
                Err(if failure.is_retryable() { cluster.refusal().unwrap_or(failure) } else { failure })
            }
        }
    }

    async fn peek(&self, from: &Destination, basket: &mut Basket<'_>) -> Result<()> {
        let (found, _) = self.cursor(topic_of(from)?).await?.read(basket.max(), Duration::ZERO).await?;
        for record in found {
            basket.admit(&record::read(record));
        }
        Ok(())
    }

    async fn receive(&self, from: &Destination, basket: &mut Basket<'_>, wait: Duration) -> Result<()> {
        let topic = topic_of(from)?;
        let turn = self.taking.of(topic);
        let _alone = turn.lock().await;
        let Some(queue) = &self.queue else { return self.take(topic, basket, wait).await };
        let name = format!("mq/{}/{topic}/receive", self.service);
        let held = SoleReader::take(Some(queue), &self.tenant, &name).await?;
        let taken = self.take(topic, basket, wait).await;
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
        Ok(Box::new(TopicReader::start(&self.client, topic_of(from)?, wanted).await?))
    }
}
