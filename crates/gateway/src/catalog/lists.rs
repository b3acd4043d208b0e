//! The documents and prompts of a tenant's services, by the keys clients use.

use super::{Service, naming};
use bytes::Bytes;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::Arc;
use tool::{Item, ListKind, Offer};

/// What leads to something of a service and of no other, whatever others call theirs.
pub(crate) fn address(service: &Service, kind: ListKind, key: &str) -> String {
    let folder = match kind {
        ListKind::Prompts => "prompts",
        ListKind::Resources | ListKind::Templates => "resources",
    };
    format!("{}://{}/{folder}/{key}", service.scheme, service.id)
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
    kind: ListKind,
}

impl Entry {
    fn new(service: &Arc<Service>, item: &Item, kind: ListKind, key: String) -> Self {
        let address = address(service, kind, &item.key);
        let written = Bytes::from(item.definition.get().to_owned());
        let (original, service) = (item.key.clone(), service.clone());
        let listed = match key == original {
            true => written.clone(),
            false => item.renamed(kind.key_field(), &key).into(),
        };
        Self { key, original, address, service, listed, written, kind }
    }

    /// The key for one whose own is another's: a prompt's with a suffix, as names have a form, a resource's with its
    /// service in it, which leads there whoever else has one of that URI.
    fn key_apart(&self) -> String {
        match self.kind {
            ListKind::Prompts => naming::with_suffix(&self.key, &self.address),
            ListKind::Resources | ListKind::Templates => self.address.clone(),
        }
    }

    /// The same at its service's own door.
    pub(crate) fn at_own_door(&self) -> Self {
        Self {
            key: self.original.clone(),
            original: self.original.clone(),
            address: self.address.clone(),
            service: self.service.clone(),
            listed: self.written.clone(),
            written: self.written.clone(),
            kind: self.kind,
        }
    }
}

/// The lists of a tenant, each sorted by key.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    prompts: Vec<Arc<Entry>>,
    resources: Vec<Arc<Entry>>,
    templates: Vec<Arc<Entry>>,
    /// What was said about things whose keys are others' too.
    renamed: HashSet<String>,
}

impl Lists {
    /// Takes what every service offers. Of two things with one key the first service's keeps it, and the other gets
    /// one with its service in it, which is said once.
    pub(super) fn of<'a>(services: impl Iterator<Item = &'a Arc<Service>>, previous: Option<&Self>) -> Self {
        let mut lists = Self::default();
        for service in services {
            if let Some(offer) = &*service.offer.load() {
                lists.add(service, offer);
            }
        }
        let mut renamed = HashSet::new();
        for list in [&mut lists.prompts, &mut lists.resources, &mut lists.templates] {
            part(list, &mut renamed);
        }
        let is_known = |text: &String| previous.is_some_and(|previous| previous.renamed.contains(text));
        for news in renamed.iter().filter(|text| !is_known(text)) {
            tracing::warn!("{news}");
        }
        lists.renamed = renamed;
        lists
    }

    fn add(&mut self, service: &Arc<Service>, offer: &Offer) {
        let is_prefixed = service.is_prefixed();
        self.prompts.extend(offer.prompts.iter().map(|item| {
            let key = if is_prefixed { naming::wire_name(&service.id, &item.key) } else { item.key.clone() };
            Arc::new(Entry::new(service, item, ListKind::Prompts, key))
        }));
        let entry = |item: &Item, kind| Arc::new(Entry::new(service, item, kind, item.key.clone()));
        self.resources.extend(offer.resources.iter().map(|item| entry(item, ListKind::Resources)));
        self.templates.extend(offer.templates.iter().map(|item| entry(item, ListKind::Templates)));
    }

    pub(crate) fn list(&self, kind: ListKind) -> &[Arc<Entry>] {
        match kind {
            ListKind::Prompts => &self.prompts,
            ListKind::Resources => &self.resources,
            ListKind::Templates => &self.templates,
        }
    }

    pub(crate) fn find(&self, kind: ListKind, key: &str) -> Option<&Arc<Entry>> {
        let entries = self.list(kind);
        let at = entries.binary_search_by(|entry| entry.key.as_str().cmp(key)).ok()?;
        entries.get(at)
    }

    /// The services that may have a resource, the likeliest first: the one that lists it, those
    /// with a template it fits, and then everyone with resources, since not all are listed.
    pub(crate) fn holders(&self, uri: &str) -> Vec<Arc<Service>> {
        let listed =
            self.find(ListKind::Resources, uri).or_else(|| self.find(ListKind::Templates, uri)).into_iter();
        // A plain URI means those first that are known by it.
        let (plain, renamed): (Vec<_>, Vec<_>) =
            self.templates.iter().partition(|template| template.key == template.original);
        let fitting = plain.into_iter().chain(renamed).filter(|template| fits(&template.original, uri));
        let others = self.resources.iter().chain(&self.templates);
        let mut seen = HashMap::new();
        let all = listed.chain(fitting).chain(others);
        all.filter(|entry| seen.insert(Arc::as_ptr(&entry.service), ()).is_none())
            .map(|entry| entry.service.clone())
            .collect()
    }
}

/// Sorts a list, and gives those keys of their own whose keys others have.
fn part(list: &mut Vec<Arc<Entry>>, renamed: &mut HashSet<String>) {
    // Stable: the first service's stays the first.
    list.sort_by(|a, b| a.key.cmp(&b.key));
    let mut taken: HashMap<String, Arc<Service>> = HashMap::new();
    let mut is_sorted = true;
    list.retain_mut(|entry| {
        let Some(holder) = taken.get(&entry.key) else {
            taken.insert(entry.key.clone(), entry.service.clone());
            return true;
        };
        let key = entry.key_apart();
        // Two of one key from one service are one.
        if Arc::ptr_eq(holder, &entry.service) || taken.contains_key(&key) {
            return false;
        }
        renamed.insert(format!(
            "{} of {:?} is listed as {key}: {holder:?} has it, too",
            entry.key, entry.service
        ));
        let definition = std::str::from_utf8(&entry.written).unwrap_or("{}").to_owned();
        let item = Item {
            key: entry.original.clone(),
            definition: RawValue::from_string(definition).unwrap_or_default(),
        };
        taken.insert(key.clone(), entry.service.clone());
        *entry = Arc::new(Entry::new(&entry.service, &item, entry.kind, key));
        is_sorted = false;
        true
    });
    if !is_sorted {
        list.sort_by(|a, b| a.key.cmp(&b.key));
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
