//! Listening: services that hand over messages by themselves, for those who subscribe.

use crate::Gateway;
use std::sync::Arc;
use tool::{Connector, Error, Result, TenantId, Uri};

impl Gateway {
    /// The service that can be listened to at an address. Who may listen is for whoever asks to say.
    ///
    /// # Errors
    /// When there is no such service or it is switched off, or nothing of that name can be listened to there.
    pub fn source(&self, tenant: &TenantId, from: &Uri) -> Result<Arc<dyn Connector>> {
        let address = Uri::of_service(from.scheme(), from.service());
        let missing = || Error::not_found(format!("there is no service {address}"));
        let catalog = self.catalog.tenant(tenant).ok_or_else(missing)?;
        let connector = catalog.service(from.scheme(), from.service()).ok_or_else(missing)?.connector()?;
        let Some(triggers) = connector.triggers() else {
            return Err(Error::unsupported(format!(
                "{address} cannot be listened to; services of type mq can"
            )));
        };
        let (name, sources) = (from.tool().unwrap_or_default(), triggers.sources());
        if !sources.iter().any(|source| source == name) {
            let known = sources.join(", ");
            let message = format!("{address} has nothing called '{name}' to listen to; it has: {known}");
            return Err(Error::not_found(message));
        }
        Ok(connector.clone())
    }
}
