//! Pins of all services: the owner's in a file, the configured ones in the store.

use async_trait::async_trait;
use gateway::catalog::Service;
use gateway::pins::{Edit, PinStore, Pins, Reason};
use local::FilePins;
use runtime::StoredPins;
use tool::Result;

/// The owner's services in the file, the configured ones in the store.
pub(crate) struct AllPins {
    pub(crate) own: Option<FilePins>,
    pub(crate) stored: StoredPins,
}

#[async_trait]
impl PinStore for AllPins {
    async fn change(
        &self,
        service: &Service,
        reason: Reason,
        edit: &Edit<'_>,
    ) -> Result<(Option<Pins>, Pins)> {
        match &self.own {
            Some(own) if service.is_trusted => own.change(service, reason, edit).await,
            _ => self.stored.change(service, reason, edit).await,
        }
    }
}
