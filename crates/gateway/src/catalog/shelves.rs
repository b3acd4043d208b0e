//! The documents and prompts of a tenant's services, by the keys clients use.

use super::{Service, naming};
use bytes::Bytes;
use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::Arc;
use tool::{Item, Offer};

/// What stands on a shelf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shelf {
    /// Prompts, by name.
    Prompts,
    /// Resources, by URI.
    Resources,
    /// Templates of resources, by their pattern.
    Templates,
}

/// One prompt, resource or template, and whose it is.
#[derive(Debug)]
pub struct Entry {
    /// What clients call it.
    pub key: String,
    /// What its service calls it.
    pub original: String,
    /// Compared with allow-lists and written to the audit.
    pub address: String,
    /// Whose it is.
    pub service: Arc<Service>,
    /// The definition as clients get it, in JSON.
    pub listed: Bytes,
    /// The definition as its service wrote it.
    written: Bytes,
}

impl Entry {
    /// The same at its service's own door.
    pub(crate) fn alone(&self) -> Self {
        Self {
            key: self.original.clone(),
            original: self.original.clone(),
            address: self.address.clone(),
            service: self.service.clone(),
            listed: self.written.clone(),
            written: self.written.clone(),
        }
    }
}

/// All shelves of a tenant, each sorted by key.
#[derive(Debug, Default)]
pub(crate) struct Shelves {
    prompts: Vec<Arc<Entry>>,
    resources: Vec<Arc<Entry>>,
    templates: Vec<Arc<Entry>>,
    /// What was said about things that others hide.
    hidden: HashSet<String>,
}

impl Shelves {
    /// Takes what every service offers. Of two things with one key the first service's counts, which is said once.
    pub(super) fn of<'a>(services: impl Iterator<Item = &'a Arc<Service>>, previous: Option<&Self>) -> Self {
        let mut shelves = Self::default();
        let mut hidden = HashSet::new();
        for service in services {
            if let Some(offer) = &*service.offer.load() {
                shelves.add(service, offer);
            }
        }
        for (what, shelf) in [
            ("prompt", &mut shelves.prompts),
            ("resource", &mut shelves.resources),
            ("template", &mut shelves.templates),
        ] {
            shelf.sort_by(|a, b| a.key.cmp(&b.key));
            shelf.dedup_by(|later, first| {
                let is_same = later.key == first.key;
                if is_same {
                    let (key, service) = (&later.key, &later.service);
                    hidden.insert(format!(
                        "{what} {key} of {service:?} is hidden by that of {:?}",
                        first.service
                    ));
                }
                is_same
            });
        }
        for news in
            hidden.iter().filter(|text| !previous.is_some_and(|previous| previous.hidden.contains(*text)))
        {
            tracing::warn!("{news}");
        }
        shelves.hidden = hidden;
        shelves
    }

    fn add(&mut self, service: &Arc<Service>, offer: &Offer) {
        let entry = |item: &Item, key: String, kind: &str, listed: String| {
            let address = format!("{}://{}/{kind}/{}", service.scheme, service.id, item.key);
            let (original, service) = (item.key.clone(), service.clone());
            let written = Bytes::from(item.definition.get().to_owned());
            let listed = if listed == written { written.clone() } else { listed.into() };
            Arc::new(Entry { key, original, address, service, listed, written })
        };
        let is_prefixed = service.is_prefixed();
        self.prompts.extend(offer.prompts.iter().map(|item| {
            let key = if is_prefixed { naming::wire_name(&service.id, &item.key) } else { item.key.clone() };
            let listed = if is_prefixed { item.renamed(&key) } else { item.definition.get().to_owned() };
            entry(item, key, "prompts", listed)
        }));
        let as_it_is =
            |item: &Item| entry(item, item.key.clone(), "resources", item.definition.get().to_owned());
        self.resources.extend(offer.resources.iter().map(as_it_is));
        self.templates.extend(offer.templates.iter().map(as_it_is));
    }

    pub(crate) fn shelf(&self, shelf: Shelf) -> &[Arc<Entry>] {
        match shelf {
            Shelf::Prompts => &self.prompts,
            Shelf::Resources => &self.resources,
            Shelf::Templates => &self.templates,
        }
    }

    pub(crate) fn find(&self, shelf: Shelf, key: &str) -> Option<&Arc<Entry>> {
        let entries = self.shelf(shelf);
        let at = entries.binary_search_by(|entry| entry.key.as_str().cmp(key)).ok()?;
        entries.get(at)
    }

    /// The services that may have a resource, the likeliest first: the one that lists it, those
    /// with a template it fits, and then everyone with resources, since not all are listed.
    pub(crate) fn holders(&self, uri: &str) -> Vec<Arc<Service>> {
        let listed = self.find(Shelf::Resources, uri).into_iter();
        let fitting = self.templates.iter().filter(|template| fits(&template.original, uri));
        let others = self.resources.iter().chain(&self.templates);
        let mut seen = HashMap::new();
        let all = listed.chain(fitting).chain(others);
        all.filter(|entry| seen.insert(Arc::as_ptr(&entry.service), ()).is_none())
            .map(|entry| entry.service.clone())
            .collect()
    }
}

/// Whether a URI can come from a template: its fixed parts stand in it, in order.
fn fits(template: &str, uri: &str) -> bool {
    let mut rest = uri;
    let mut parts = template.split('{');
    let Some(mut rest_after) = parts.next().and_then(|first| rest.strip_prefix(first)) else { return false };
    let mut is_open = false;
    for part in parts {
        let Some((_, fixed)) = part.split_once('}') else { return false };
        is_open = true;
        rest = rest_after;
        if fixed.is_empty() {
            continue;
        }
        match rest.find(fixed) {
            Some(at) => {
                rest_after = &rest[at + fixed.len()..];
                is_open = false;
            }
            None => return false,
        }
    }
    is_open || rest_after.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_which_uris_a_template_can_make() {
        assert!(fits("test://template/{id}/data", "test://template/123/data"));
        assert!(fits("file:///{+path}", "file:///a/b/c"));
        assert!(fits("a{b}", "ax") && fits("a", "a") && fits("{x}-{y}", "1-2"));
        assert!(!fits("test://template/{id}/data", "test://template/123"));
        assert!(!fits("a", "ab") && !fits("b{x}", "ab") && !fits("a{x", "ab"));
        assert!(!fits("a/{x}/b", "a/1/b/c"));
    }
}
