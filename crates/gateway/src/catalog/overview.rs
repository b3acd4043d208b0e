//! The catalog as people look at it: every tool that somebody may know of, in a line each.

use super::{Own, Route, Service, TenantCatalog};
use crate::tools::address_of;
use crate::{Gateway, policy};
use std::sync::Arc;
use tool::{Context, Pinning, Role, Scope, ToolId, Uri};

/// A description is cut to so many characters.
const SUMMARY_CHARACTERS: usize = 160;

/// A tool in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What clients call it by.
    pub name: String,
    /// What it is called by at `/call`.
    pub uri: String,
    /// The type of its service; `tool` for a tenant's own.
    pub kind: String,
    /// The id of the service that answers; nothing for a Tool that is a service of its own.
    pub service: Option<String>,
    /// Whether it can be called.
    pub status: Status,
    /// What it is for.
    pub summary: Option<String>,
    /// Of a tenant's own Tool.
    pub tool: Option<ToolId>,
}

/// Whether a tool can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It can.
    Active,
    /// Its owner has not switched it on.
    Inactive,
    /// It has changed, and nobody has approved that yet.
    Held,
    /// What it leads to is not there.
    Missing,
}

impl Status {
    /// The status as REST shows it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Inactive => "inactive",
            Self::Held => "held",
            Self::Missing => "missing",
        }
    }
}

impl Gateway {
    /// The tools that a caller may know of, by name. Those who call see what they may call; those who look after a
    /// tenant also see what cannot be called, and why.
    #[must_use]
    pub fn overview(&self, cx: &Context) -> Vec<Entry> {
        let Some(tenant) = self.catalog.tenant(&cx.tenant) else { return Vec::new() };
        let is_shown = |route: &&Arc<Route>| may_see(cx, route);
        let mut entries: Vec<_> =
            tenant.routes().iter().filter(is_shown).map(|route| tenant.entry(route)).collect();
        if cx.caller.role != Role::Caller && cx.caller.allow.is_empty() && cx.caller.may(Scope::Read) {
            entries.extend(tenant.own.values().filter_map(Entry::of_idle));
            entries.extend(tenant.services().flat_map(held));
            entries.sort_by(|a, b| a.name.cmp(&b.name));
        }
        entries
    }
}

/// Whoever only looks sees what somebody with the same allow-list might call.
fn may_see(cx: &Context, route: &Route) -> bool {
    let caller = &cx.caller;
    if caller.may(Scope::Call) {
        return policy::permits(caller, route).is_ok();
    }
    let is_listed =
        caller.allow.iter().any(|allow| allow.matches(&route.name) || allow.matches(&route.address));
    !route.service.is_for_admins && (caller.allow.is_empty() || is_listed)
}

impl TenantCatalog {
    fn entry(&self, route: &Arc<Route>) -> Entry {
        let own = self.own.get(&route.name).filter(|_| route.is_own());
        let service = &route.service;
        let is_inline = service.scheme == super::OWN_TYPE;
        Entry {
            name: route.name.clone(),
            uri: own.map_or_else(|| route.address.clone(), |own| address_of(&own.tool.name).to_string()),
            kind: own.map_or_else(|| service.scheme.clone(), |_| super::OWN_TYPE.to_owned()),
            service: (!is_inline).then(|| service.id.clone()),
            status: Status::Active,
            summary: summary(route.tool.description()),
            tool: own.map(|own| own.tool.id.clone()),
        }
    }
}

impl Entry {
    /// A Tool that cannot be called.
    fn of_idle(own: &Own) -> Option<Self> {
        let status = match (own.tool.is_active, &own.route) {
            (false, _) => Status::Inactive,
            (true, None) => Status::Missing,
            (true, Some(_)) => return None,
        };
        Some(Self {
            name: own.tool.name.clone(),
            uri: address_of(&own.tool.name).to_string(),
            kind: super::OWN_TYPE.to_owned(),
            service: own.tool.target().map(|uri| uri.service().to_owned()),
            status,
            summary: summary(own.tool.description.as_deref()),
            tool: Some(own.tool.id.clone()),
        })
    }
}

/// The tools of a service that wait for somebody to approve them.
fn held(service: &Arc<Service>) -> Vec<Entry> {
    let report = service.report();
    if report.pinning != Pinning::Enforce {
        return Vec::new();
    }
    let entry = |tool: &String| Entry {
        name: super::naming::wire_name(&service.id, tool),
        uri: Uri::of(&service.scheme, &service.id, tool).to_string(),
        kind: service.scheme.clone(),
        service: Some(service.id.clone()),
        status: Status::Held,
        summary: None,
        tool: None,
    };
    report.tools.keys().filter(|tool| report.is_held(tool)).map(entry).collect()
}

/// The first line of a description.
fn summary(description: Option<&str>) -> Option<String> {
    let line = description?.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(match line.char_indices().nth(SUMMARY_CHARACTERS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_one_short_line() {
        assert_eq!(summary(Some("\n  Finds orders.\nMore.")).as_deref(), Some("Finds orders."));
        assert_eq!(summary(Some(" \n ")), None);
        let long = summary(Some(&"ü".repeat(1000))).unwrap_or_default();
        assert_eq!(long.chars().count(), SUMMARY_CHARACTERS + 1);
    }
}
