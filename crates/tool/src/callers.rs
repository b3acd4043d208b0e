//! The port to everybody's rights as they are now, for work that goes on while they may change.

use crate::{Caller, TenantId};
use std::sync::Arc;

/// Knows everybody who may come in. Asking is cheap: everyone is in memory.
pub trait Callers: Send + Sync {
    /// The caller with the rights of this moment in this tenant; nobody where the key, the user or the instance may not be
    /// used any more.
    fn now(&self, tenant: &TenantId, caller: &Arc<Caller>) -> Option<Arc<Caller>>;
}
