//! What the services of one process share.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Given to every connector when it is opened; there is no other global state.
#[derive(Debug, Clone, Default)]
pub struct Env {
    /// Services may call private, loopback and link-local addresses without saying so themselves.
    pub allow_private_network: bool,
    /// Where background work is started, so that shutdown can wait for it.
    pub tasks: TaskTracker,
    /// Fires when the process is shutting down.
    pub shutdown: CancellationToken,
}
