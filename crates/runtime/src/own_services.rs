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
    file: Option<OwnFile>,
}

/// Where the owner keeps services.
#[derive(Debug, Clone)]
pub struct OwnFile {
    /// The file.
    pub path: PathBuf,
    /// The settings of each service by its id, as they stand in the file, with every secret masked.
    pub show: fn(&Path) -> Map<String, Value>,
}

impl OwnServices {
    /// Services that are in no file, e.g. from the command line.
    #[must_use]
    pub fn new(definitions: watch::Receiver<Vec<ServiceDefinition>>) -> Self {
        Self { definitions, file: None }
    }

    /// Services of a file.
    #[must_use]
    pub fn of_file(definitions: watch::Receiver<Vec<ServiceDefinition>>, file: OwnFile) -> Self {
        Self { definitions, file: Some(file) }
    }

    /// Where a tenant's services stand that only the owner can change, if it has such.
    #[must_use]
    pub fn file_of(&self, tenant: &TenantId) -> Option<&OwnFile> {
        self.file.as_ref().filter(|_| *tenant == TenantId::default_tenant())
    }

    /// The services of a tenant's file, by name. What this program itself brings is in no file.
    #[must_use]
    pub fn in_file_of(&self, tenant: &TenantId) -> Vec<ServiceDefinition> {
        if self.file_of(tenant).is_none() {
            return Vec::new();
        }
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
