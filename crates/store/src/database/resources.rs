//! What the store holds, by resource.

use crate::Store;
use crate::audit::Audit;
use crate::conversations::Conversations;
use crate::flows::Flows;
use crate::instances::Instances;
use crate::keys::Keys;
use crate::leases::Leases;
use crate::management::Management;
use crate::meta::Meta;
use crate::revisions::Revisions;
use crate::runs::Runs;
use crate::search::Search;
use crate::services::{ServicePins, Services};
use crate::tables::Tables;
use crate::tenants::Tenants;
use crate::tools::Tools;
use crate::users::Users;

impl Store {
    /// The tenants.
    #[must_use]
    pub fn tenants(&self) -> Tenants<'_> {
        Tenants(self)
    }

    /// The people.
    #[must_use]
    pub fn users(&self) -> Users<'_> {
        Users(self)
    }

    /// The API keys.
    #[must_use]
    pub fn keys(&self) -> Keys<'_> {
        Keys(self)
    }

    /// The configured services and their tools.
    #[must_use]
    pub fn services(&self) -> Services<'_> {
        Services(self)
    }

    /// What the services' tools were when they were first seen.
    #[must_use]
    pub fn service_pins(&self) -> ServicePins<'_> {
        ServicePins(self)
    }

    /// The Tools that tenants made themselves.
    #[must_use]
    pub fn tools(&self) -> Tools<'_> {
        Tools(self)
    }

    /// The tables, without their documents.
    #[must_use]
    pub fn tables(&self) -> Tables<'_> {
        Tables(self)
    }

    /// The indexes of the Tools that search.
    #[must_use]
    pub fn search(&self) -> Search<'_> {
        Search(self)
    }

    /// The flows: drafts and versions.
    #[must_use]
    pub fn flows(&self) -> Flows<'_> {
        Flows(self)
    }

    /// What callers and agents have said to each other.
    #[must_use]
    pub fn conversations(&self) -> Conversations<'_> {
        Conversations(self)
    }

    /// The runs of flows and agents.
    #[must_use]
    pub fn runs(&self) -> Runs<'_> {
        Runs(self)
    }

    /// Who does what only one process does at a time.
    #[must_use]
    pub fn leases(&self) -> Leases<'_> {
        Leases(self)
    }

    /// The MCP instances and their bindings.
    #[must_use]
    pub fn instances(&self) -> Instances<'_> {
        Instances(self)
    }

    /// The record of calls.
    #[must_use]
    pub fn audit(&self) -> Audit<'_> {
        Audit(self)
    }

    /// The record of changes.
    #[must_use]
    pub fn management(&self) -> Management<'_> {
        Management(self)
    }

    /// Small values of the whole platform.
    #[must_use]
    pub fn meta(&self) -> Meta<'_> {
        Meta(self)
    }

    /// What changed when.
    #[must_use]
    pub fn revisions(&self) -> Revisions<'_> {
        Revisions(self)
    }
}
