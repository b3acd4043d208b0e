//! RocketMQ 5 over its gRPC: topics. What is published has been stored (`SEND_OK`).

mod calls;
mod client;
mod consumer;
mod failure;
mod proto;
mod reader;
mod record;
mod route;
mod servers;
mod session;
mod signature;
#[cfg(test)]
mod tests;

use super::basket::Basket;
use super::broker::{Broker, Options, Reader};
use super::destination::Destination;
use super::message::{Outgoing, Receipt};
use super::settings::Settings;
use super::sole_reader::SoleReader;
use crate::shared::grpc::connection::{Connections, Security};
use async_trait::async_trait;
use calls::{SEND, SendRequest, SendResponse};
use client::Client;
use consumer::Consumer;
use reader::TopicReader;
use session::{Role, Session, Sessions};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tool::{Env, Error, Problem, Queue, Result, Start, Subscription, TenantId};

/// One cluster.
pub(super) struct Rocketmq {
    client: Arc<Client>,
    producers: Sessions,
    /// Who takes messages for `_receive` and shows them for `_peek`, by topic.
    takers: Mutex<HashMap<String, Arc<Consumer>>>,
    /// Brokers take turns.
    turn: AtomicUsize,
    queue: Option<Arc<dyn Queue>>,
    tenant: TenantId,
    service: String,
}

impl Rocketmq {
    pub(super) fn new(
        settings: &Settings,
        mut options: Options,
        env: &Env,
        problems: &mut Vec<Problem>,
    ) -> Result<Self, Problem> {
        let credentials = servers::credentials(settings, problems);
        let servers = servers::servers(settings.connection_string.as_ref())?;
        let security = match settings.tls {
            Some(_) => Security::Tls(Arc::new(std::mem::take(&mut options.tls))),
            None => Security::Plain,
        };
        let connections = Connections::new(options.policy.clone(), security, env);
        let client = Client::new(connections, credentials, servers, options, env.tasks.clone());
        let client = Arc::new(client);
        Ok(Self {
            producers: Sessions::new(client.clone()),
            client,
            takers: Mutex::default(),
            turn: AtomicUsize::new(0),
            queue: env.queue.clone(),
            tenant: env.tenant.clone(),
            service: env.service.clone().unwrap_or_default(),
        })
    }

    /// All that is needed before a message can be sent, which can be tried more than once.
    async fn prepare(&self, topic: &str, message: &Outgoing) -> Result<(Arc<Session>, SendRequest)> {
        let route = self.client.route(topic).await?;
        let place = route.writer(self.turn.fetch_add(1, Ordering::Relaxed), topic)?;
        let request = SendRequest { messages: vec![record::of(topic, message, &route)?] };
        let role = Role::Producer { topic: topic.to_owned() };
        match self.producers.get(&role, &place.addresses).await {
            Ok(session) => Ok((session, request)),
            Err(error) => {
                self.client.forget_route(topic);
                Err(error)
            }
        }
    }

    fn taker(&self, topic: &str) -> Arc<Consumer> {
        let mut takers = self.takers.lock().unwrap_or_else(PoisonError::into_inner);
        let group = || servers::group(&format!("mcp-all-in-one.{}.{}.{topic}", self.tenant, self.service));
        let new = || Arc::new(Consumer::new(self.client.clone(), topic, group()));
        takers.entry(topic.to_owned()).or_insert_with(new).clone()
    }
}

fn topic_of(place: &Destination) -> Result<&str> {
    match place {
        Destination::Topic(name) => Ok(name),
        _ => Err(Error::internal("RocketMQ has topics alone")),
    }
}

#[async_trait]
impl Broker for Rocketmq {
    fn delays(&self, _: &Destination) -> bool {
        true
    }

    async fn publish(&self, to: &Destination, message: &Outgoing) -> Result<Receipt> {
        let topic = topic_of(to)?;
        message.stays_here();
        let prepare = || async { Ok(self.prepare(topic, message).await?) };
        let (session, request) = self.client.options.budget().run(prepare).await?;
        message.leaves();
        let sent: Result<SendResponse, _> = self.client.exchange(session.at(), SEND, &request).await;
        let sent = sent.map_err(|failure| {
            self.client.forget_route(topic);
            failure::of_publishing(failure)
        })?;
        failure::check_sent(sent.status.as_ref(), topic)?;
        let confirmed = sent.entries.first().and_then(|entry| entry.status.as_ref());
        failure::check_sent(confirmed, topic)?;
        let due = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + message.delay;
        Ok(Receipt { available_at: i64::try_from(due.as_millis()).ok(), ..Receipt::default() })
    }

    /// Takes them, and gives them back at once.
    async fn peek(&self, from: &Destination, basket: &mut Basket<'_>) -> Result<()> {
        let taker = self.taker(topic_of(from)?);
        for taken in taker.take(basket.max(), Duration::ZERO).await? {
            taker.give_back(&taken.receipt).await;
            basket.admit(&taken.incoming);
        }
        Ok(())
    }

    async fn receive(&self, from: &Destination, basket: &mut Basket<'_>, wait: Duration) -> Result<()> {
        let taker = self.taker(topic_of(from)?);
        let mut failure = None;
        for taken in taker.take(basket.max(), wait).await? {
            if !basket.admit(&taken.incoming) {
                taker.give_back(&taken.receipt).await;
            } else if let Err(error) = taker.acknowledge(&taken.receipt).await {
                // What was not acknowledged comes again, and so is not ours.
                basket.withdraw(&taken.incoming);
                failure = Some(error);
            }
        }
        match failure {
            Some(error) if basket.is_empty() => Err(error),
            Some(error) => {
                tracing::warn!(%error, "RocketMQ did not take an acknowledgement: {error}");
                Ok(())
            }
            None => Ok(()),
        }
    }

    async fn health(&self, places: &[Destination]) -> Result<()> {
        self.client.connect().await?;
        for place in places {
            let topic = topic_of(place)?;
            self.client.forget_route(topic);
            self.client.route(topic).await?;
        }
        Ok(())
    }

    async fn subscribe(&self, from: &Destination, wanted: &Subscription) -> Result<Box<dyn Reader>> {
        let topic = topic_of(from)?;
        if wanted.from == Start::Earliest {
            // Its gRPC has no word for it: the broker's own settings say where a new group begins.
            return Err(Error::unsupported(
                "RocketMQ decides itself where a new group begins; leave 'from' at 'latest', or set the group's offset with RocketMQ's own tools",
            ));
        }
        let group = servers::group(&wanted.group);
        // One after the other needs a single reader.
        let held = match wanted.ordered {
            true => {
                let name = format!("mq/{}/{topic}/{group}", self.service);
                Some(SoleReader::take(self.queue.as_ref(), &self.tenant, &name).await?)
            }
            false => None,
        };
        self.client.route(topic).await?;
        Ok(Box::new(TopicReader::new(Consumer::new(self.client.clone(), topic, group), held)))
    }
}
