//! Queues in this program's own database.

use super::broker::{Broker, Reader};
use super::destination::Destination;
use super::message::{Incoming, Outgoing, Payload, Receipt};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool::queue::{Claim, NewMessage, Order, QueuedMessage, Settlement};
use tool::{Env, Error, ErrorKind, Queue, Result, Subscription, TenantId};

/// How often is looked for what other processes published; what this one did is known at once.
const LOOK: Duration = Duration::from_millis(250);
/// How long a reader waits before it says that there is nothing.
const WAIT: Duration = Duration::from_secs(1);

/// The queues of one service.
pub(super) struct Embedded {
    queue: Option<Arc<dyn Queue>>,
    tenant: TenantId,
    /// Services do not share queues, whatever these are called.
    service: String,
    lease: Duration,
}

impl Embedded {
    pub(super) fn new(env: &Env, lease: Duration) -> Self {
        let service = env.service.clone().unwrap_or_default();
        Self { queue: env.queue.clone(), tenant: env.tenant.clone(), service, lease }
    }

    fn queue(&self) -> Result<&Arc<dyn Queue>> {
        self.queue.as_ref().ok_or_else(|| Error::unsupported("there are no queues without a server"))
    }

    fn name(&self, destination: &Destination) -> String {
        format!("{}/{destination}", self.service)
    }
}

#[async_trait]
impl Broker for Embedded {
    fn delays(&self) -> bool {
        true
    }

    async fn publish(&self, to: &Destination, message: &Outgoing) -> Result<Receipt> {
        let new = NewMessage {
            id: message.id.clone(),
            body: message.json.clone(),
            key: message.key.clone(),
            headers: message.headers.clone(),
            delay: message.delay,
        };
        let published = self.queue()?.publish(&self.tenant, &self.name(to), new).await;
        let published = published.map_err(|error| match error.kind() {
            // The database may have it although it could not say so.
            ErrorKind::Unavailable => {
                Error::unavailable(format!("{error}; the message may have been published"))
            }
            _ => error,
        })?;
        Ok(Receipt {
            position: Some(published.position.to_string()),
            available_at: Some(published.available_at),
            receivers: None,
        })
    }

    async fn peek(&self, from: &Destination, max: usize) -> Result<Vec<Incoming>> {
        let found = self.queue()?.peek(&self.tenant, &self.name(from), max).await?;
        Ok(found.into_iter().map(incoming).collect())
    }

    async fn receive(&self, from: &Destination, max: usize, wait: Duration) -> Result<Vec<Incoming>> {
        let (queue, name, until) = (self.queue()?, self.name(from), Instant::now() + wait);
        let mut changes = queue.changes();
        loop {
            changes.borrow_and_update();
            let found = queue.receive(&self.tenant, &name, max).await?;
            let now = Instant::now();
            if !found.is_empty() || now >= until {
                return Ok(found.into_iter().map(incoming).collect());
            }
            changed(&mut changes, (until - now).min(LOOK)).await;
        }
    }

    async fn health(&self, places: &[Destination]) -> Result<()> {
        let place = places.first().map(|place| self.name(place)).unwrap_or_default();
        self.queue()?.peek(&self.tenant, &place, 1).await.map(drop)
    }

    async fn subscribe(&self, from: &Destination, wanted: &Subscription) -> Result<Box<dyn Reader>> {
        let queue = self.queue()?.clone();
        Ok(Box::new(EmbeddedReader {
            changes: tokio::sync::Mutex::new(queue.changes()),
            queue,
            tenant: self.tenant.clone(),
            name: self.name(from),
            order: if wanted.ordered { Order::Strict } else { Order::Any },
            lease: self.lease,
        }))
    }
}

/// Leases rows of one queue. Whoever listens to it competes for them, whatever their group.
struct EmbeddedReader {
    queue: Arc<dyn Queue>,
    tenant: TenantId,
    name: String,
    order: Order,
    lease: Duration,
    changes: tokio::sync::Mutex<watch::Receiver<u64>>,
}

#[async_trait]
impl Reader for EmbeddedReader {
    async fn next(&self, max: usize, stop: &CancellationToken) -> Result<Vec<Incoming>> {
        let mut changes = self.changes.lock().await;
        let until = Instant::now() + WAIT;
        loop {
            changes.borrow_and_update();
            let found = self.queue.claim(&self.tenant, &self.name, max, self.order, self.lease).await?;
            if !found.is_empty() || stop.is_cancelled() || Instant::now() >= until {
                return Ok(found.into_iter().map(incoming).collect());
            }
            stop.run_until_cancelled(changed(&mut changes, LOOK)).await;
        }
    }

    fn renews_every(&self) -> Option<Duration> {
        Some(self.lease / 3)
    }

    async fn renew(&self, message: &Incoming) -> Result<()> {
        self.queue.renew(&self.tenant, &self.name, claim(message)?, self.lease).await
    }

    async fn settle(&self, message: &Incoming, settlement: Settlement) -> Result<()> {
        self.queue.settle(&self.tenant, &self.name, claim(message)?, settlement).await
    }

    async fn again(&self, message: Incoming, pause: Duration) -> Result<Option<Incoming>> {
        self.settle(&message, Settlement::Again(pause)).await?;
        Ok(None)
    }

    async fn close(&self) {}
}

async fn changed(changes: &mut watch::Receiver<u64>, at_most: Duration) {
    // Either way it is looked again.
    let _ = tokio::time::timeout(at_most, changes.changed()).await;
}

fn incoming(message: QueuedMessage) -> Incoming {
    Incoming {
        id: message.id,
        payload: Payload::Json(message.body),
        key: message.key,
        headers: message.headers,
        published_at: Some(message.published_at),
        position: message.position.to_string(),
        attempt: message.attempt,
    }
}

/// What the port knows the message by.
fn claim(message: &Incoming) -> Result<Claim> {
    let position = message.position.parse().map_err(|_| Error::internal("a position is no number"))?;
    Ok(Claim { position, attempt: message.attempt })
}
