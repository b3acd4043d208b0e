//! Whose names numbers may tell: those of tools and flows that lists tell the same reader of.

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::Result;
use crate::manage::catalog;
use crate::manage::runs::rights::sees_flow;
use std::collections::HashSet;
use store::{AuditKey, Tally};
use tool::runs;

/// What of a tenant's calls somebody learns who has an allow-list. Those who only call see their own calls alone.
pub(super) struct Shown {
    signed_in: SignedIn,
    /// The tools that may be named; nothing where all may.
    tools: Option<HashSet<String>>,
}

impl Shown {
    pub(super) async fn to(state: &Shared, signed_in: &SignedIn) -> Result<Self> {
        let sees_all = signed_in.caller.allow.is_empty() || signed_in.only_own().is_some();
        let tools = match sees_all {
            true => None,
            false => {
                let tools = catalog::tools(state, signed_in).await?;
                Some(tools.into_iter().map(|tool| tool.name).collect())
            }
        };
        Ok(Self { signed_in: signed_in.clone(), tools })
    }

    pub(super) fn tool(&self, name: &str) -> bool {
        name.is_empty() || self.tools.as_ref().is_none_or(|tools| tools.contains(name))
    }

    /// Flows are services to the audit, too.
    pub(super) fn service(&self, scheme: &str, id: &str) -> bool {
        scheme != runs::SCHEME || self.tools.is_none() || sees_flow(&self.signed_in, id)
    }

    /// Calls whose key may be named, where they are counted by one; a service has its type behind it.
    pub(super) fn tally(&self, by: &[AuditKey], tally: &Tally) -> bool {
        match (by, tally.keys.as_slice()) {
            ([AuditKey::Tool], [name]) => self.tool(name),
            ([AuditKey::Service, AuditKey::Scheme], [id, scheme]) => {
                // A tenant's own Tool is the service of its calls.
                if scheme == "tool" { self.tool(id) } else { self.service(scheme, id) }
            }
            _ => true,
        }
    }
}
