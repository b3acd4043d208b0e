//! What lets somebody in, kept for as long as a connection or stream is open: whoever has lost a right has lost it there, too.

use super::{Auth, SignedIn};
use chrono::Utc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tool::{Secret, TenantId};

/// How long a wait is at the most before the clock is looked at again.
const LONG: Duration = Duration::from_secs(60 * 60);

/// What somebody came in with.
#[derive(Clone, Debug)]
pub(crate) enum Credential {
    /// A key, or a person's token.
    Key(Secret),
    /// The key of an MCP instance, which stands in the path of its door.
    Instance(Secret),
}

/// The right to be here, which can end. Asking is cheap: everyone is in memory.
#[derive(Clone)]
pub(crate) struct Access(Option<Arc<Grant>>);

struct Grant {
    auth: Arc<Auth>,
    credential: Credential,
    /// The tenant that is acted on, which may be another than that of the key.
    tenant: TenantId,
}

impl Access {
    /// That of somebody who needs none: the owner of the process, or anybody where no key is asked for.
    pub(crate) fn endless() -> Self {
        Self(None)
    }

    /// That of whoever shows this.
    pub(crate) fn by(auth: &Arc<Auth>, credential: Credential, tenant: &TenantId) -> Self {
        Self(Some(Arc::new(Grant { auth: auth.clone(), credential, tenant: tenant.clone() })))
    }

    /// Who that is now, and with which rights, if it is known; `Err` when there is no such right any more.
    pub(crate) fn signed_in(&self) -> Result<Option<SignedIn>, Ended> {
        let Some(kept) = &self.0 else { return Ok(None) };
        let signed_in = match &kept.credential {
            Credential::Key(key) => kept.auth.identify(key.expose()),
            Credential::Instance(key) => kept.auth.instance(key.expose()).map(|(signed_in, _)| signed_in),
        };
        let mut signed_in = signed_in.map_err(|_| Ended)?;
        signed_in.tenant = signed_in.tenant_or(Some(kept.tenant.clone())).map_err(|_| Ended)?;
        Ok(Some(signed_in))
    }

    /// Begins to watch for changes.
    pub(crate) fn watch(&self) -> AccessWatch {
        AccessWatch {
            access: self.clone(),
            changes: self.0.as_ref().map(|kept| kept.auth.changes.subscribe()),
        }
    }

    /// Waits until the right to be here has ended.
    pub(crate) async fn ended(&self) {
        let mut watch = self.watch();
        while watch.changed().await.is_ok() {}
    }
}

/// The right to be here has ended: the key is deleted, disabled, expired or another now, or its owner is.
pub(crate) struct Ended;

/// Watches a right.
pub(crate) struct AccessWatch {
    access: Access,
    changes: Option<watch::Receiver<u64>>,
}

impl AccessWatch {
    /// Waits until anything about anybody's rights may have changed, and says what is left.
    pub(crate) async fn changed(&mut self) -> Result<SignedIn, Ended> {
        let Some(changes) = &mut self.changes else { return std::future::pending().await };
        let end = match self.access.signed_in()? {
            Some(SignedIn { expires_at_ms: Some(end), .. }) => {
                let left = u64::try_from(end - Utc::now().timestamp_millis()).unwrap_or_default();
                Duration::from_millis(left).min(LONG)
            }
            _ => LONG,
        };
        tokio::select! {
            changed = changes.changed() => changed.map_err(|_| Ended)?,
            () = tokio::time::sleep(end) => {}
        }
        match self.access.signed_in()? {
            Some(signed_in) => Ok(signed_in),
            None => std::future::pending().await,
        }
    }
}
