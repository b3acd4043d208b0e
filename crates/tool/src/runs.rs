//! The port to runs: work that goes on after its call was answered with `Outcome::Started`.

use crate::{Context, Identity, Output, Result, RunId, TenantId};
use async_trait::async_trait;
use serde_json::Value;
use std::fmt;

/// The type in the addresses of flows, whose calls may go on as runs.
pub const SCHEME: &str = "flow";
/// The type of the service whose tool asks about runs.
pub const POLLING_SCHEME: &str = "flows";

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
    /// In milliseconds since 1970.
    pub started_at_ms: i64,
    /// When something was last known to happen in it, in milliseconds since 1970.
    pub changed_at_ms: i64,
}

/// What a run asks people before it goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct RunQuestion {
    /// Names it, in this run and in all others.
    pub id: String,
    /// What is to be approved.
    pub title: String,
    /// What is to be filled in, as a JSON Schema.
    pub fields: Option<Value>,
    /// Whoever asks about the run may decide it.
    pub is_for_caller: bool,
}

/// What somebody says to that.
#[derive(Debug, Clone, PartialEq)]
pub struct RunAnswer {
    /// The run goes on as it wants to.
    pub is_approved: bool,
    /// What was filled in.
    pub data: Value,
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

    /// What the run asks people now.
    ///
    /// # Errors
    /// What keeps it from being looked up.
    async fn questions(&self, _cx: &Context, _id: &RunId) -> Result<Vec<RunQuestion>> {
        Ok(Vec::new())
    }

    /// Answers a question of the run on behalf of the caller. One that is not asked any more is passed over.
    ///
    /// # Errors
    /// `Denied` for those who are not asked, `InvalidInput` for what was not filled in as it should be.
    async fn answer(&self, _cx: &Context, _id: &RunId, _question: &str, _answer: RunAnswer) -> Result<()> {
        Ok(())
    }
}
