//! A gateway of one's own: the services of an mcp.json, for the owner of this process.

use crate::Failure;
use crate::mcp_config::{self, McpConfig};
use async_trait::async_trait;
use gateway::audit::{Audit, Entry, Sink};
use gateway::{Gateway, Options, ServiceDefinition, TenantDefinition};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tool::{Env, Limits, TenantId};

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
    pub fn open(path: &Path, discovery_wait: Duration) -> Result<Self, Failure> {
        let config = McpConfig::read_or_create(path)?;
        let stop = CancellationToken::new();
        let mut services = mcp_config::follow(path.to_owned(), &config, stop.clone());
        let options = Options { discovery_wait, ..Options::default() };
        let gateway = Gateway::new(connectors::ALL, Env::default(), Audit::start(Arc::new(Log)), options);
        let (tx, is_loaded) = watch::channel(false);
        let loading = gateway.clone();
        let stopped = stop.clone();
        tokio::spawn(async move {
            loop {
                let wanted = services.borrow_and_update().clone();
                let (id, limits) = (TenantId::default_tenant(), Limits::default());
                let load = loading.load(TenantDefinition {
                    id,
                    limits,
                    services: wanted,
                    tools: Vec::new(),
                    instances: Vec::new(),
                });
                if stopped.run_until_cancelled(load).await.is_none() {
                    return;
                }
                tx.send_replace(true);
                tokio::select! {
                    () = stopped.cancelled() => return,
                    changed = services.changed() => if changed.is_err() { return },
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
