//! What one caller may find at one door: the filter between the tenant's index and an answer.

use crate::catalog::{Route, Service, TenantCatalog, service_of};
use crate::policy;
use document::nearest;
use ranking::{Find, Listed, VisibleTools};
use serde_json::value::RawValue;
use std::sync::Arc;
use tool::Context;

/// Tools of a similar meaning that are looked at.
const NEAR: usize = 100;
/// What is said of a service in its own words is cut there before its first sentence is looked for.
const MAX_ABOUT: usize = 1_000;

/// The tools that a caller may see at a door, by their places in the tenant's index.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    tenant: &'a TenantCatalog,
    cx: &'a Context,
    /// The service whose own door it is, where there is such a one.
    own: Option<&'a Arc<Service>>,
}

impl<'a> View<'a> {
    pub(super) fn new(tenant: &'a TenantCatalog, cx: &'a Context) -> Self {
        let own = cx.service.as_deref().and_then(|service| tenant.with_own_door(service).ok());
        Self { tenant, cx, own }
    }

    pub(super) fn find(self, find: &Find, near: &[usize]) -> Box<RawValue> {
        let (visible, about) = (move |place| self.listed(place), move |service: &str| self.about(service));
        self.shelf(&visible, &about).find(find, near)
    }

    /// The names that come nearest to one that is none: by its letters, then by its words.
    pub(super) fn nearest(self, name: &str, limit: usize) -> Vec<&'a str> {
        let visible = move |place| self.listed(place);
        let all = (0..self.tenant.routes().len()).filter_map(visible).map(|listed| listed.name);
        let mut names: Vec<&str> = nearest(name, all).into_iter().collect();
        for other in self.shelf(&visible, &|_| None).nearest(name, limit) {
            if !names.contains(&other) {
                names.push(other);
            }
        }
        names.truncate(limit);
        names
    }

    /// The places of visible tools whose meaning is nearest, best first.
    pub(super) fn near(self, meant: &[f32]) -> Vec<usize> {
        let vectors = self.tenant.words().vectors.load();
        let likeness = |(place, vector): (usize, &Option<Arc<[f32]>>)| {
            let vector = vector.as_ref().filter(|vector| vector.len() == meant.len())?;
            self.route(place)?;
            let product: f32 = vector.iter().zip(meant).map(|(a, b)| a * b).sum();
            Some((place, product))
        };
        let mut near: Vec<(usize, f32)> = vectors.iter().enumerate().filter_map(likeness).collect();
        near.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        near.into_iter().take(NEAR).map(|(place, _)| place).collect()
    }

    fn shelf<'s>(
        self,
        visible: &'s dyn Fn(usize) -> Option<Listed<'a>>,
        about_service: &'s dyn Fn(&str) -> Option<String>,
    ) -> VisibleTools<'s, 'a>
    where
        'a: 's,
    {
        VisibleTools { index: self.tenant.words().index(), visible, about_service }
    }

    fn listed(self, place: usize) -> Option<Listed<'a>> {
        let route = self.route(place)?;
        Some(Listed { name: &route.name, service: service_of(route), definition: &route.listed })
    }

    /// The route at a place as the door has it, if the caller may use it: the rule that makes lists.
    fn route(self, place: usize) -> Option<&'a Arc<Route>> {
        let route = self.tenant.routes().get(place)?;
        let (judged, offered) = match (&self.cx.instance, &self.cx.service) {
            (Some(instance), _) => {
                let offered = self.tenant.offered_at(instance, place)?;
                (offered, offered)
            }
            (None, Some(_)) => {
                let own = self.own?;
                let is_its = Arc::ptr_eq(&route.service, own) && !route.is_own();
                (route, is_its.then(|| route.at_own_door())?)
            }
            (None, None) => (route, route),
        };
        policy::permits(&self.cx.caller, judged).ok().map(|()| offered)
    }

    /// What a service says of itself, or what people call it.
    fn about(self, service: &str) -> Option<String> {
        let service = self.tenant.services().find(|known| known.id == service)?;
        let offer = service.offer.load();
        let told = offer.as_ref().and_then(|offer| offer.instructions.as_deref()).map(str::trim);
        let name = Some(service.name.as_str()).filter(|name| *name != service.id);
        let about = told.filter(|told| !told.is_empty()).or(name)?;
        Some(about.chars().take(MAX_ABOUT).collect())
    }
}
