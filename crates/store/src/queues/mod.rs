//! Queues of this program's own: messages in rows, each with whoever has leased it last.
//!
//! Rows are always locked in one order: messages first, then queues by their key.

mod batch;
mod claim;
mod later;
mod ledger;
mod retention;
mod row;
mod totals;
mod writer;

pub use later::{DueCall, Later};
pub(crate) use totals::forget_later_calls;

use crate::error::check_text;
use crate::{Error, Result, Store, leases, row as column, within};
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tool::TenantId;
use tool::queue::{Claim, Hold, LaterCall, NewMessage, OnceKey, Order, Published, QueuedMessage, Settlement};
use writer::{Outcome, Work, Writer};

/// What the queues of one tenant may hold together, in messages and in bytes.
pub const QUEUE_QUOTA_MESSAGES: i64 = 1_000_000;
/// The same in bytes.
pub const QUEUE_QUOTA_BYTES: i64 = 1024 * 1024 * 1024;

/// How long the right to be alone stays with a process that says nothing any more.
const HOLD: Duration = Duration::from_secs(15);

/// The queues of all tenants. Copies share one writer.
#[derive(Clone)]
pub struct Queues(Arc<Inner>);

struct Inner {
    store: Store,
    /// How long the database may take to answer.
    timeout: Duration,
    writer: Writer,
    changes: watch::Sender<u64>,
}

impl Queues {
    /// Starts the task that writes; it ends with the last copy.
    #[must_use]
    pub fn new(store: Store, timeout: Duration) -> Self {
        let writer = Writer::start(store.clone());
        Self(Arc::new(Inner { store, timeout, writer, changes: watch::channel(0).0 }))
    }

    /// The calls that wait for their time.
    #[must_use]
    pub fn later(&self) -> Later<'_> {
        Later(&self.0.store)
    }

    async fn write(&self, tenant: &TenantId, queue: &str, work: Work) -> Result<Outcome> {
        within(self.0.timeout, self.0.writer.write(tenant, queue, work)).await
    }

    async fn add(
        &self,
        tenant: &TenantId,
        queue: &str,
        message: NewMessage,
        key: Option<OnceKey>,
    ) -> tool::Result<Option<Published>> {
        for (field, text) in [("queue", queue), ("messageId", &message.id)] {
            check_text(field, text)?;
        }
        check_text("key", message.key.as_deref().unwrap_or_default())?;
        match self.write(tenant, queue, Work::Publish(message, key)).await? {
            Outcome::Published(published) => {
                self.tell();
                Ok(Some(published))
            }
            Outcome::Full => Err(full()),
            Outcome::Stale => Ok(None),
            Outcome::Settled => Err(mixed_up().into()),
        }
    }

    fn tell(&self) {
        self.0.changes.send_modify(|version| *version = version.wrapping_add(1));
    }
}

#[async_trait]
impl tool::Queue for Queues {
    async fn publish(&self, tenant: &TenantId, queue: &str, message: NewMessage) -> tool::Result<Published> {
        let published = self.add(tenant, queue, message, None).await?;
        published.ok_or_else(|| mixed_up().into())
    }

    async fn publish_once(
        &self,
        tenant: &TenantId,
        queue: &str,
        message: NewMessage,
        key: OnceKey,
    ) -> tool::Result<Option<Published>> {
        self.add(tenant, queue, message, Some(key)).await
    }

    async fn peek(
        &self,
        tenant: &TenantId,
        queue: &str,
        skip: usize,
        max: usize,
    ) -> tool::Result<Vec<QueuedMessage>> {
        Ok(within(self.0.timeout, claim::peek(&self.0.store, tenant, queue, skip, max)).await?)
    }

    async fn claim(
        &self,
        tenant: &TenantId,
        queue: &str,
        max: usize,
        order: Order,
        lease: Duration,
    ) -> tool::Result<Vec<QueuedMessage>> {
        let work = claim::claim(&self.0.store, tenant, queue, max, order, lease);
        Ok(within(self.0.timeout, work).await?)
    }

    async fn renew(&self, tenant: &TenantId, queue: &str, claim: Claim, lease: Duration) -> tool::Result<()> {
        let work = claim::renew(&self.0.store, tenant, queue, claim, lease);
        match within(self.0.timeout, work).await? {
            true => Ok(()),
            false => Err(gone()),
        }
    }

    async fn settle(
        &self,
        tenant: &TenantId,
        queue: &str,
        claim: Claim,
        settlement: Settlement,
    ) -> tool::Result<()> {
        let comes_back = !matches!(settlement, Settlement::Done);
        match self.write(tenant, queue, Work::Settle { claim, settlement }).await? {
            Outcome::Settled => {
                if comes_back {
                    self.tell();
                }
                Ok(())
            }
            Outcome::Stale => Err(gone()),
            Outcome::Published(_) | Outcome::Full => Err(mixed_up().into()),
        }
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    async fn call_later(&self, tenant: &TenantId, call: LaterCall) -> tool::Result<i64> {
        match within(self.0.timeout, self.later().add(tenant, &call)).await? {
            Some(due_at) => Ok(due_at),
            None => Err(full()),
        }
    }

    async fn hold(&self, tenant: &TenantId, name: &str) -> tool::Result<Option<Box<dyn Hold>>> {
        let name = format!("queue/{tenant}/{name}");
        let leases = self.0.store.leases();
        let lease = within(self.0.timeout, leases.claim(&name, HOLD)).await?;
        Ok(lease.map(|lease| Box::new(LeaseHold(lease)) as Box<dyn Hold>))
    }
}

struct LeaseHold(leases::Lease);

#[async_trait]
impl Hold for LeaseHold {
    async fn lost(&self) {
        self.0.keep().await;
    }

    async fn release(&self) {
        // What cannot be given back ends by itself.
        let _ = within(HOLD, self.0.release()).await;
    }
}

impl fmt::Debug for Queues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queues({:?})", self.0.store)
    }
}

fn full() -> tool::Error {
    let message = "the queues of the tenant are full; read or delete messages, or wait until some were read";
    tool::Error::rate_limited(message).retryable()
}

fn gone() -> tool::Error {
    tool::Error::missing("somebody else has the message by now, or it is gone")
}

fn mixed_up() -> Error {
    Error::internal("the writer of the queues answered something else")
}

/// A whole number that the database takes.
fn whole(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number of deliveries.
fn attempt_of(row: &sqlx::any::AnyRow) -> Result<u32> {
    u32::try_from(column::integer(row, "attempt")?).map_err(|_| column::undecodable("attempt"))
}
