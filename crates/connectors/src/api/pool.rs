//! The connections of one service, set up when the first call needs them.

use crate::shared::network::{Policy, Resolver};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tool::{Error, Result};

/// A client that is made once, on first use, since loading certificates reads files.
#[derive(Debug, Default)]
pub(super) struct Pool {
    client: OnceLock<fetch::Client>,
    /// Held while the client is made, so that many first callers make one.
    making: Mutex<()>,
}

impl Pool {
    /// The client. It is made off the threads that serve calls, and is kept even if the caller
    /// who needed it first has gone away meanwhile.
    ///
    /// # Errors
    /// When TLS cannot be set up, e.g. for want of certificates.
    pub(super) async fn get(self: &Arc<Self>, policy: &Arc<Policy>) -> Result<&fetch::Client> {
        if self.client.get().is_none() {
            let (pool, resolver) = (self.clone(), Resolver(policy.clone()));
            let made = tokio::task::spawn_blocking(move || pool.make(resolver)).await;
            made.map_err(|error| Error::internal("making the client failed").caused_by(error))?
                .map_err(|error| Error::unavailable("TLS cannot be set up").caused_by(error))?;
        }
        self.client.get().ok_or_else(|| Error::internal("the client was made and is not there"))
    }

    fn make(&self, resolver: Resolver) -> std::result::Result<(), fetch::TlsError> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if self.client.get().is_none() {
            // Only the holder of the lock sets it, so it is still empty.
            let _ = self.client.set(fetch::Client::new(Arc::new(resolver))?);
        }
        Ok(())
    }
}
