//! The right to be the only reader, where messages must not go to two.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tool::queue::Hold;
use tool::{Error, Queue, Result, TenantId};

/// How often is looked whether the right can be had.
const LOOK: Duration = Duration::from_secs(1);

/// A right that is kept until it is lost or given back.
pub(super) struct SoleReader {
    hold: Arc<dyn Hold>,
    lost: CancellationToken,
    is_released: AtomicBool,
    _keeping: AbortOnDropHandle<()>,
}

impl SoleReader {
    /// Waits until nobody else has it.
    pub(super) async fn take(queue: Option<&Arc<dyn Queue>>, tenant: &TenantId, name: &str) -> Result<Self> {
        let queue = queue.ok_or_else(|| {
            Error::unsupported("only a server can see to it that one listens alone, in order or to a channel")
        })?;
        let hold: Arc<dyn Hold> = loop {
            match queue.hold(tenant, name).await? {
                Some(hold) => break hold.into(),
                None => tokio::time::sleep(LOOK).await,
            }
        };
        let lost = CancellationToken::new();
        let (keeping, token) = (hold.clone(), lost.clone());
        let task = tokio::spawn(async move {
            keeping.lost().await;
            token.cancel();
        });
        let is_released = AtomicBool::new(false);
        Ok(Self { hold, lost, is_released, _keeping: AbortOnDropHandle::new(task) })
    }

    /// # Errors
    /// `Unavailable` when somebody else may have it by now.
    pub(super) fn check(&self) -> Result<()> {
        match self.lost.is_cancelled() {
            true => Err(Error::unavailable("another process may listen now").retryable()),
            false => Ok(()),
        }
    }

    pub(super) async fn release(&self) {
        self.is_released.store(true, Ordering::Relaxed);
        self.hold.release().await;
    }
}

/// Whoever is cancelled does not let the next one wait until the lease is over.
impl Drop for SoleReader {
    fn drop(&mut self) {
        if !self.is_released.load(Ordering::Relaxed)
            && let Ok(runtime) = Handle::try_current()
        {
            let hold = self.hold.clone();
            runtime.spawn(async move { hold.release().await });
        }
    }
}
