//! Pins of configured services, in the store.

use async_trait::async_trait;
use gateway::catalog::Service;
use gateway::pins::{Edit, PinStore, Pins, Reason};
use std::time::Duration;
use store::{Announce, Store, within};
use tool::{Error, Result};

/// Keeps the pins of a service beside its settings.
pub struct StoredPins {
    store: Store,
    timeout: Duration,
}

impl StoredPins {
    /// Pins in this store, which may take so long to answer.
    #[must_use]
    pub fn new(store: Store, timeout: Duration) -> Self {
        Self { store, timeout }
    }
}

#[async_trait]
impl PinStore for StoredPins {
    async fn change(
        &self,
        service: &Service,
        reason: Reason,
        edit: &Edit<'_>,
    ) -> Result<(Option<Pins>, Pins)> {
        let announce = match reason {
            Reason::Discovery => Announce::No,
            Reason::Approval => Announce::ToReplicas,
        };
        let pins = self.store.service_pins();
        let changing = pins.change(&service.tenant, &service.scheme, &service.id, announce, |found| {
            let before = match found.map(serde_json::from_str::<Pins>).transpose() {
                Ok(before) => before,
                Err(error) => {
                    return (None, Err(Error::internal("the pins are unreadable").caused_by(error)));
                }
            };
            let after = edit(before.as_ref());
            (serde_json::to_string(&after).ok(), Ok((before, after)))
        });
        within(self.timeout, changing).await?
    }
}
