//! A gateway of one's own: the services of an mcp.json, for the owner of this process.

use crate::Failure;
use crate::mcp_config::{self, Followed, McpConfig};
use crate::pins::FilePins;
use async_trait::async_trait;
use futures::future::join_all;
use gateway::audit::{Audit, Entry, Sink};
use gateway::catalog::Service;
use gateway::{Discovery, Gateway, Options, ServiceDefinition, TenantDefinition};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tool::{Caller, Context, Door, Env, Limits, TenantId, ToolSearch};

/// How a gateway of one's own is set up.
#[derive(Debug, Clone)]
pub struct Setup {
    /// How long services may take to say what they offer.
    pub discovery_wait: Duration,
    /// Where it is kept what they offered first.
    pub pins: PathBuf,
    /// Whether tools that show and change the file are among the services.
    pub has_self_tools: bool,
    /// The most bytes of an answer, where there is such a limit.
    pub max_result_bytes: Option<usize>,
    /// This service alone.
    pub only: Option<String>,
    /// There is a client, which services may ask something.
    pub has_client: bool,
    /// How tools are told of.
    pub tool_search: ToolSearch,
}

impl Setup {
    /// All services of the file and nothing else.
    #[must_use]
    pub fn new(discovery_wait: Duration, pins: PathBuf) -> Self {
        let (has_self_tools, has_client) = (false, false);
        let (max_result_bytes, only, tool_search) = (None, None, ToolSearch::default());
        Self { discovery_wait, pins, has_self_tools, has_client, max_result_bytes, only, tool_search }
    }
}

/// A gateway that follows its file.
pub struct Local {
    /// What can be called.
    pub gateway: Arc<Gateway>,
    /// Turns true when the services have said what they offer, or have had their time.
    pub is_loaded: watch::Receiver<bool>,
    stop: CancellationToken,
}

impl Local {
    /// Opens the services of the file, all at once and in the background, and follows it.
    ///
    /// # Errors
    /// When the file cannot be read or is no mcp.json.
    pub fn open(path: &Path, setup: Setup) -> Result<Self, Failure> {
        let config = McpConfig::open(path)?;
        config.repeated().iter().for_each(|repeated| tracing::warn!("{repeated}"));
        let stop = CancellationToken::new();
        let Setup { discovery_wait, pins, has_self_tools, max_result_bytes, only, has_client, tool_search } =
            setup;
        let followed = Followed { path: path.to_owned(), pins: pins.clone(), has_self_tools };
        let mut services = mcp_config::follow(followed, &config, stop.clone());
        let audit = Audit::start(Arc::new(Log));
        let pins = Arc::new(FilePins::new(pins, path));
        let env = Env { only_client: has_client.then(Arc::default), ..Env::default() };
        let options = Options { result_budget_bytes: max_result_bytes, tool_search };
        let gateway = Gateway::with_pins(connectors::REGISTRY, env, audit, options, pins);
        let (tx, is_loaded) = watch::channel(false);
        let loading = gateway.clone();
        let stopped = stop.clone();
        tokio::spawn(async move {
            let mut discoveries: Vec<Discovery> = Vec::new();
            let is_late = tokio::time::sleep(discovery_wait);
            tokio::pin!(is_late);
            loop {
                let mut wanted = services.borrow_and_update().clone();
                wanted.retain(|service| only.as_ref().is_none_or(|only| *only == service.id));
                let (id, limits) = (TenantId::default_tenant(), Limits::default());
                let load = loading.load(TenantDefinition {
                    id,
                    limits,
                    may_use_private_network: true,
                    services: wanted,
                    tools: Vec::new(),
                    instances: Vec::new(),
                    tool_search: None,
                });
                let Some(discovery) = stopped.run_until_cancelled(load).await else { return };
                discoveries.push(discovery);
                let all = join_all(discoveries.iter_mut().map(Discovery::ended));
                let changed = tokio::select! {
                    () = stopped.cancelled() => return,
                    changed = services.changed() => changed,
                    _ = all, if !*tx.borrow() => {
                        tx.send_replace(true);
                        services.changed().await
                    }
                    () = &mut is_late, if !*tx.borrow() => {
                        tx.send_replace(true);
                        services.changed().await
                    }
                };
                if changed.is_err() {
                    return;
                }
                if *tx.borrow() {
                    discoveries.clear();
                }
            }
        });
        Ok(Self { gateway, is_loaded, stop })
    }

    /// Waits until the services have said what they offer, or have had their time.
    pub async fn loaded(&self) {
        // Ends early only when the loader does.
        let _ = self.is_loaded.clone().wait_for(|is_loaded| *is_loaded).await;
    }

    /// How many tools a service offers now.
    #[must_use]
    pub fn tool_count(&self, service: &ServiceDefinition) -> usize {
        let catalog = self.gateway.catalog().tenant(&TenantId::default_tenant());
        catalog.map_or(0, |catalog| catalog.routes_of(&service.scheme, &service.id).count())
    }

    /// How many tools of a service are held back until somebody approves what has changed.
    pub fn held_count(&self, service: &ServiceDefinition) -> usize {
        let report = self.service(service).map(|service| service.report());
        report.map_or(0, |report| report.tools.keys().filter(|tool| report.is_held(tool)).count())
    }

    /// Why a service did not say what it offers.
    pub fn failure(&self, service: &ServiceDefinition) -> Option<String> {
        self.service(service)?.failure()
    }

    /// What somebody should look at: tools that have changed, or that hide something.
    pub fn warnings(&self, service: &ServiceDefinition) -> Vec<String> {
        self.service(service).map(|service| service.report().warnings()).unwrap_or_default()
    }

    /// Approves all changes of a service's tools; the names of those tools.
    pub async fn approve(&self, service: &ServiceDefinition) -> tool::Result<Vec<String>> {
        let open = self.service(service).map(|service| service.report().to_approve()).unwrap_or_default();
        let time = Duration::from_secs(60);
        let cx = Context::new(TenantId::default_tenant(), Arc::new(Caller::local()), Door::Local, time);
        self.gateway.approve(&cx, &service.scheme, &service.id, &open).await
    }

    fn service(&self, service: &ServiceDefinition) -> Option<Arc<Service>> {
        let catalog = self.gateway.catalog().tenant(&TenantId::default_tenant())?;
        catalog.service(&service.scheme, &service.id).cloned()
    }

    /// Ends every service.
    pub async fn close(self) {
        self.stop.cancel();
        self.gateway.unload(&TenantId::default_tenant()).await;
        self.gateway.close(Duration::from_secs(5)).await;
    }
}

/// Without a database the audit is part of the log.
struct Log;

#[async_trait]
impl Sink for Log {
    fn is_read(&self) -> bool {
        tracing::enabled!(tracing::Level::INFO)
    }

    async fn write(&self, batch: &[Entry]) -> tool::Result<()> {
        for entry in batch {
            let (tool, status) = (&entry.tool, entry.status.as_str());
            tracing::info!(
                tool,
                status,
                duration_us = entry.duration_us,
                arguments = entry.arguments,
                message = entry.message,
                "called {tool}: {status}"
            );
        }
        Ok(())
    }
}
