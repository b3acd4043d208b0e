//! Queues in this program's own database.

use super::basket::Basket;
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

    fn reader(&self, from: &Destination, order: Order) -> Result<EmbeddedReader> {
        let queue = self.queue()?.clone();
        Ok(EmbeddedReader {
            changes: tokio::sync::Mutex::new(queue.changes()),
            queue,
            tenant: self.tenant.clone(),
            name: self.name(from),
            order,
            lease: self.lease,
        })
    }
}

#[async_trait]
impl Broker for Embedded {
    fn delays(&self, _: &Destination) -> bool {
        true
    }

    fn ends_keys(&self) -> bool {
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
        let (queue, name) = (self.queue()?, self.name(to));
        let published = match &message.once {
            None => queue.publish(&self.tenant, &name, new).await,
            Some(key) => {
                let published = queue.publish_once(&self.tenant, &name, new, key.clone()).await;
                published.and_then(|published| published.ok_or_else(meanwhile))
            }
        };
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

    async fn peek(&self, from: &Destination, basket: &mut Basket<'_>) -> Result<()> {
        let (queue, name) = (self.queue()?, self.name(from));
        let mut seen = 0;
        loop {
            let wanted = basket.wanted();
            let found = queue.peek(&self.tenant, &name, seen, wanted).await?;
            seen += found.len();
            let is_last = found.len() < wanted;
            if !found.into_iter().all(|message| basket.admit(&incoming(message))) || is_last || wanted == 0 {
                return Ok(());
            }
        }
    }

    async fn receive(&self, from: &Destination, basket: &mut Basket<'_>, wait: Duration) -> Result<()> {
        let (reader, until) = (self.reader(from, Order::Any)?, Instant::now() + wait);
        let mut changes = reader.changes.lock().await;
        loop {
            changes.borrow_and_update();
            let found = match basket.wanted() {
                0 => Vec::new(),
                wanted => reader.claim(wanted).await?,
            };
            let (now, is_over) = (Instant::now(), found.is_empty());
            basket.take(&reader, found).await?;
            match basket.is_empty() && now < until {
                true => changed(&mut changes, (until - now).min(LOOK)).await,
                false if is_over => return Ok(()),
                false => {}
            }
        }
    }

    async fn health(&self, places: &[Destination]) -> Result<()> {
        let place = places.first().map(|place| self.name(place)).unwrap_or_default();
        self.queue()?.peek(&self.tenant, &place, 0, 1).await.map(drop)
    }

    async fn subscribe(&self, from: &Destination, wanted: &Subscription) -> Result<Box<dyn Reader>> {
        Ok(Box::new(self.reader(from, if wanted.ordered { Order::Strict } else { Order::Any })?))
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

impl EmbeddedReader {
    async fn claim(&self, max: usize) -> Result<Vec<Incoming>> {
        let found = self.queue.claim(&self.tenant, &self.name, max, self.order, self.lease).await?;
        Ok(found.into_iter().map(incoming).collect())
    }
}

#[async_trait]
impl Reader for EmbeddedReader {
    async fn next(&self, max: usize, stop: &CancellationToken) -> Result<Vec<Incoming>> {
        let mut changes = self.changes.lock().await;
        let until = Instant::now() + WAIT;
        loop {
            changes.borrow_and_update();
            let found = self.claim(max).await?;
            if !found.is_empty() || stop.is_cancelled() || Instant::now() >= until {
                return Ok(found);
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

fn meanwhile() -> Error {
    Error::upstream("another call has published it in the meantime; ask again for what came of that")
        .retryable()
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
