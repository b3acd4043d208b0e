//! Services of the owner of this process, e.g. from an mcp.json: nobody configures them but the owner.

use gateway::ServiceDefinition;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use tokio::sync::watch;
use tool::TenantId;

/// The owner's services as they are now. They belong to the tenant `default`.
#[derive(Debug, Clone)]
pub struct OwnServices {
    definitions: watch::Receiver<Vec<ServiceDefinition>>,
    origin: Origin,
}

/// Where the owner configures services.
#[derive(Debug, Clone)]
pub enum Origin {
    /// In a file.
    File {
        /// The file.
        path: PathBuf,
        /// The settings of each service by its id, as they stand in the file, with every secret masked.
        show: fn(&Path) -> Map<String, Value>,
    },
    /// On the command line: the settings of each service by its id, with every secret masked.
    CommandLine(Map<String, Value>),
}

impl OwnServices {
    /// The owner's services, and where they are configured.
    #[must_use]
    pub fn new(definitions: watch::Receiver<Vec<ServiceDefinition>>, origin: Origin) -> Self {
        Self { definitions, origin }
    }

    /// Where the services are configured.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The same in words.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.origin {
            Origin::File { path, .. } => path.display().to_string(),
            Origin::CommandLine(_) => "the command line".to_owned(),
        }
    }

    /// A tenant's services that the owner has configured, by name. What this program itself brings nobody has.
    #[must_use]
    pub fn configured(&self, tenant: &TenantId) -> Vec<ServiceDefinition> {
        let mut found = self.of(tenant);
        found.retain(|service| service.built_in.is_none());
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found
    }

    /// All that a tenant has of them.
    pub(crate) fn of(&self, tenant: &TenantId) -> Vec<ServiceDefinition> {
        match *tenant == TenantId::default_tenant() {
            true => self.definitions.borrow().clone(),
            false => Vec::new(),
        }
    }

    /// Waits until the owner has changed something; never ends where nobody can.
    pub(crate) async fn changed(&mut self) {
        if self.definitions.changed().await.is_err() {
            std::future::pending().await
        }
    }
}
