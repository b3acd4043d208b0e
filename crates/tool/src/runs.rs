//! The port to runs: work that goes on after its call was answered with `Outcome::Started`.

use crate::{Identity, Output, Result, RunId, TenantId};
use async_trait::async_trait;
use std::fmt;

/// The type in the addresses of flows, whose calls may go on as runs.
pub const SCHEME: &str = "flow";

/// What is known of a run.
#[derive(Debug)]
pub struct Run {
    /// The name of the tool that started it, as its caller knew it.
    pub tool: String,
    /// The address of that tool.
    pub address: String,
    /// Who started it.
    pub caller: Identity,
    /// How it ended; nothing while it goes on.
    pub result: Option<Result<Output>>,
}

/// Where runs are kept. Who may ask about one is for the gateway to say.
#[async_trait]
pub trait Runs: fmt::Debug + Send + Sync + 'static {
    /// The run as it is now, if the tenant has it.
    ///
    /// # Errors
    /// What keeps it from being looked up.
    async fn find(&self, tenant: &TenantId, id: &RunId) -> Result<Option<Run>>;

    /// Waits until the run has ended or is gone, however long that takes.
    ///
    /// # Errors
    /// What keeps it from being watched.
    async fn ended(&self, tenant: &TenantId, id: &RunId) -> Result<()>;

    /// Tells the run to stop; one that has ended stays as it is.
    ///
    /// # Errors
    /// What keeps it from being told.
    async fn cancel(&self, tenant: &TenantId, id: &RunId) -> Result<()>;
}
