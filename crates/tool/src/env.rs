//! What the services of one process share.

use crate::call_tools::no_tools;
use crate::{
    CallTools, Compute, Embeddings, Links, Once, OnlyClient, Queue, Runs, Search, Spans, Tables, TenantId,
};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Given to every connector when it is opened; there is no other global state.
#[derive(Debug, Clone)]
pub struct Env {
    /// Whose service is opened.
    pub tenant: TenantId,
    /// The id of the service that is opened, where it has one, for messages.
    pub service: Option<String>,
    /// When that service was made, in milliseconds since 1970, where that is known. What an earlier one of the same id had
    /// kept is not its.
    pub made_at_ms: Option<i64>,
    /// Services may call private, loopback and link-local addresses without saying so themselves.
    pub allow_private_network: bool,
    /// Callers may name such addresses, too, where they say from where something is fetched. Only whoever runs the process
    /// decides that: what lets a service reach its own remote lets no caller look around there.
    pub allow_private_sources: bool,
    /// Services that say so themselves may. Whoever manages the platform decides that for each tenant.
    pub may_use_private_network: bool,
    /// Where background work is started, so that shutdown can wait for it.
    pub tasks: TaskTracker,
    /// Fires when the process is shutting down.
    pub shutdown: CancellationToken,
    /// The way to the tenants' JSON documents, where there is a database to keep them.
    pub tables: Option<Arc<dyn Tables>>,
    /// The way to what was indexed of them, likewise.
    pub search: Option<Arc<dyn Search>>,
    /// What turns texts into vectors, where something does.
    pub embeddings: Option<Arc<dyn Embeddings>>,
    /// The way to all other tools; it leads nowhere where there is no gateway, or none any more.
    pub tools: Weak<dyn CallTools>,
    /// The way to work that goes on after its call was answered, where such is kept.
    pub runs: Option<Arc<dyn Runs>>,
    /// The way to messages and calls that wait in the database, where there is one.
    pub queue: Option<Arc<dyn Queue>>,
    /// The way to results of what is to happen once, likewise.
    pub once: Option<Arc<dyn Once>>,
    /// The way to links of our own, where this process has an address.
    pub links: Option<Arc<dyn Links>>,
    /// The client, where this process serves one and no other.
    pub only_client: Option<Arc<OnlyClient>>,
    /// Where services keep files of their own, each in a folder of its tenant; nowhere where nothing is kept.
    pub data_dir: Option<PathBuf>,
    /// The most bytes of an answer, for connectors that can stop before they are cut.
    pub result_budget_bytes: usize,
    /// Who collects spans, where somebody does.
    pub spans: Option<Arc<dyn Spans>>,
    /// Where long computations run.
    pub compute: Compute,
}

impl Default for Env {
    fn default() -> Self {
        Self {
            tenant: TenantId::default_tenant(),
            service: None,
            made_at_ms: None,
            allow_private_network: false,
            allow_private_sources: false,
            may_use_private_network: true,
            tasks: TaskTracker::new(),
            shutdown: CancellationToken::new(),
            tables: None,
            search: None,
            embeddings: None,
            tools: no_tools(),
            runs: None,
            queue: None,
            once: None,
            links: None,
            only_client: None,
            data_dir: None,
            result_budget_bytes: 1024 * 1024,
            spans: None,
            compute: Compute::default(),
        }
    }
}
