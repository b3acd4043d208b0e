//! Documents and prompts on their way through the gateway: the same policy, the same audit.

use crate::audit::Record;
use crate::catalog::{Entry, Service, TenantCatalog, address};
use crate::{Gateway, policy, within_deadline};
use serde_json::value::RawValue;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};
use tokio::sync::broadcast;
use tool::{
    Arguments, Context, Error, ErrorKind, Extras, ListKind, Reason, Reference, Result, Target, Wanted,
};

/// A resource of a tenant has changed.
#[derive(Debug, Clone)]
pub struct ResourceUpdate {
    /// Whose it is; not kept alive by its changes.
    pub(crate) service: Weak<Service>,
    /// Which one, as its service calls it.
    pub(crate) uri: String,
}

/// Numbers that change when a caller's lists do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprints {
    /// Of its tools.
    pub tools: u64,
    /// Of its prompts.
    pub prompts: u64,
    /// Of its resources and their templates.
    pub resources: u64,
}

/// Services that hear of a resource for a caller, until it is dropped.
#[derive(Debug)]
pub struct Watch {
    service: Arc<Service>,
    uri: String,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Ok(connector) = self.service.connector()
            && let Some(library) = connector.library()
        {
            library.unwatch(&self.uri);
        }
    }
}

impl Gateway {
    /// What this caller finds in a list, by key.
    #[must_use]
    pub fn entries(&self, cx: &Context, kind: ListKind) -> Vec<Arc<Entry>> {
        let Some(tenant) = self.library_of(cx) else { return Vec::new() };
        let entries = tenant.lists().list(kind).iter();
        let entries = entries.filter(|entry| policy::permits_entry(&cx.caller, entry).is_ok());
        let Some(id) = &cx.service else { return entries.cloned().collect() };
        let Ok(service) = tenant.with_own_door(id) else { return Vec::new() };
        let entries = entries.filter(|entry| Arc::ptr_eq(&entry.service, service));
        let mut entries: Vec<_> = entries.map(|entry| Arc::new(entry.at_own_door())).collect();
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        entries
    }

    /// An instance offers the Tools that are bound to it, and nothing else.
    fn library_of(&self, cx: &Context) -> Option<Arc<TenantCatalog>> {
        if cx.instance.is_some() {
            return None;
        }
        self.catalog.tenant(&cx.tenant)
    }

    /// Numbers that change when this caller's lists do.
    #[must_use]
    pub fn fingerprints(&self, cx: &Context) -> Fingerprints {
        let hash = |kinds: &[ListKind]| {
            let mut hasher = DefaultHasher::new();
            for entry in kinds.iter().flat_map(|kind| self.entries(cx, *kind)) {
                entry.listed.hash(&mut hasher);
            }
            hasher.finish()
        };
        Fingerprints {
            tools: self.fingerprint(cx),
            prompts: hash(&[ListKind::Prompts]),
            resources: hash(&[ListKind::Resources, ListKind::Templates]),
        }
    }

    /// Gets a document, a prompt or a completion, in the words of its service.
    ///
    /// # Errors
    /// Why it was refused, or how the service failed.
    pub async fn get(&self, cx: &Context, wanted: Wanted, extras: Extras) -> Result<Box<RawValue>> {
        if let Wanted::Completion { .. } = wanted {
            // Asked with every key that a person presses, and reveals nothing but what is listed.
            return self.find_and_get(cx, wanted, extras, &mut None).await;
        }
        let called = match &wanted {
            Wanted::Resource { uri } | Wanted::Completion { of: Reference::Resource(uri), .. } => uri.clone(),
            Wanted::Prompt { name, .. } | Wanted::Completion { of: Reference::Prompt(name), .. } => {
                name.clone()
            }
        };
        let arguments = match &wanted {
            Wanted::Prompt { arguments: Some(arguments), .. } => {
                // No binder looks at them, and they are sent as they came.
                Arguments::from_raw(arguments.clone())
                    .and_then(|given| given.as_map().map(drop).map(|()| given))
            }
            _ => Ok(Arguments::default()),
        };
        let target = Target::Name(called);
        let (arguments, refused) = match arguments {
            Ok(arguments) => (arguments, None),
            Err(error) => (Arguments::default(), Some(error)),
        };
        let mut record = Record::begin(cx, &target, &arguments);
        let mut service = None;
        let result = match refused {
            Some(error) => Err(error),
            None => self.find_and_get(cx, wanted, extras, &mut service).await,
        };
        record.served_by(service);
        self.audit.write(record.end_of_reading(&result)).await;
        result
    }

    async fn find_and_get(
        &self,
        cx: &Context,
        wanted: Wanted,
        extras: Extras,
        served_by: &mut Option<Arc<Service>>,
    ) -> Result<Box<RawValue>> {
        let tenant = self.library_of(cx).unwrap_or_default();
        let _permit = self.policy.admit_within_limits(cx, tenant.limiter.clone())?;
        match wanted {
            Wanted::Prompt { name, arguments } => {
                let entry = self.prompt(cx, &tenant, &name)?;
                *served_by = Some(entry.service.clone());
                let wanted = Wanted::Prompt { name: entry.original.clone(), arguments };
                get_from(cx, &entry.service, wanted, extras).await
            }
            Wanted::Completion { of: Reference::Prompt(name), argument } => {
                let entry = self.prompt(cx, &tenant, &name)?;
                let of = Reference::Prompt(entry.original.clone());
                get_from(cx, &entry.service, Wanted::Completion { of, argument }, extras).await
            }
            Wanted::Completion { of: Reference::Resource(uri), argument } => {
                let again = |uri: &str| Wanted::Completion {
                    of: Reference::Resource(uri.to_owned()),
                    argument: argument.clone(),
                };
                self.get_resource(cx, &tenant, &uri, again, extras, served_by).await
            }
            Wanted::Resource { uri } => {
                let again = |uri: &str| Wanted::Resource { uri: uri.to_owned() };
                self.get_resource(cx, &tenant, &uri, again, extras, served_by).await
            }
        }
    }

    fn prompt<'a>(&self, cx: &Context, tenant: &'a TenantCatalog, name: &str) -> Result<&'a Arc<Entry>> {
        let missing = || Error::not_found(format!("Prompt '{}' not found", crate::catalog::shortened(name)));
        let lists = tenant.lists();
        let found = match &cx.service {
            None => lists.find(ListKind::Prompts, name),
            Some(id) => {
                let service = tenant.with_own_door(id)?;
                let is_meant =
                    |entry: &&Arc<Entry>| entry.original == name && Arc::ptr_eq(&entry.service, service);
                lists.list(ListKind::Prompts).iter().find(is_meant)
            }
        };
        let entry = found.ok_or_else(missing)?;
        policy::permits_entry(&cx.caller, entry)?;
        Ok(entry)
    }

    /// Asks those who may have the resource, one after the other until one has it.
    async fn get_resource(
        &self,
        cx: &Context,
        tenant: &TenantCatalog,
        uri: &str,
        wanted: impl Fn(&str) -> Wanted,
        extras: Extras,
        served_by: &mut Option<Arc<Service>>,
    ) -> Result<Box<RawValue>> {
        let mut first = None;
        for (service, original) in holders(cx, tenant, uri) {
            let address = address(&service, ListKind::Resources, original);
            if policy::permits_named(&cx.caller, uri, &address).is_err() {
                continue;
            }
            match get_from(cx, &service, wanted(original), extras.clone()).await {
                Err(error) if is_missing(&error) => {
                    first.get_or_insert((service, error));
                }
                result => {
                    *served_by = Some(service);
                    return result;
                }
            }
        }
        let (service, error) = match first {
            Some((service, error)) => (Some(service), error),
            None => (None, Error::not_found(format!("Resource '{uri}' not found")).of_resource(uri)),
        };
        *served_by = service;
        Err(error)
    }

    /// Hears of changes of a resource for as long as the watch is held.
    ///
    /// # Errors
    /// When no service of the caller has the resource, or it cannot tell.
    pub async fn watch(&self, cx: &Context, uri: &str) -> Result<Watch> {
        let tenant = self.library_of(cx).unwrap_or_default();
        let mut failure = Error::not_found(format!("Resource '{uri}' not found")).of_resource(uri);
        for (service, original) in holders(cx, &tenant, uri) {
            let address = address(&service, ListKind::Resources, original);
            if policy::permits_named(&cx.caller, uri, &address).is_err() {
                continue;
            }
            let Some(library) = service.connector()?.library() else { continue };
            match library.watch(cx, original).await {
                Ok(()) => return Ok(Watch { service: service.clone(), uri: original.to_owned() }),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// What a client at this door may have called a resource that has changed.
    #[must_use]
    pub fn names_of(&self, cx: &Context, update: &ResourceUpdate) -> Vec<String> {
        let Some(service) = update.service.upgrade().filter(|service| service.tenant == cx.tenant) else {
            return Vec::new();
        };
        let Some(tenant) = self.library_of(cx) else { return Vec::new() };
        let is_its_own = match &cx.service {
            Some(door) if **door != *service.id => return Vec::new(),
            Some(_) => true,
            None => {
                let listed = tenant.lists().find(ListKind::Resources, &update.uri);
                listed.is_none_or(|entry| Arc::ptr_eq(&entry.service, &service))
            }
        };
        let mut names = vec![address(&service, ListKind::Resources, &update.uri)];
        names.extend(is_its_own.then(|| update.uri.clone()));
        names
    }

    /// Where changes of watched resources come out, of every tenant.
    #[must_use]
    pub fn resource_updates(&self) -> broadcast::Receiver<ResourceUpdate> {
        self.updates.subscribe()
    }
}

/// The services that may have a resource, the likeliest first, and what they call it. At its own door there is only
/// the one, and so there is behind a URI that names its service.
fn holders<'a>(cx: &Context, tenant: &TenantCatalog, uri: &'a str) -> Vec<(Arc<Service>, &'a str)> {
    let lists = tenant.lists();
    if let Some(id) = &cx.service {
        return tenant.with_own_door(id).into_iter().map(|service| (service.clone(), uri)).collect();
    }
    let is_plain = lists.find(ListKind::Resources, uri).is_some_and(|entry| entry.original == uri);
    if !is_plain && uri.contains("/resources/") {
        let named = tenant.services().find_map(|service| {
            let original = uri.strip_prefix(&address(service, ListKind::Resources, ""))?;
            Some((service.clone(), original))
        });
        if let Some(named) = named {
            return vec![named];
        }
    }
    lists.holders(uri).into_iter().map(|service| (service, uri)).collect()
}

async fn get_from(
    cx: &Context,
    service: &Arc<Service>,
    wanted: Wanted,
    extras: Extras,
) -> Result<Box<RawValue>> {
    let connector = service.connector()?;
    let Some(library) = connector.library() else {
        return Err(Error::not_found(format!("{service:?} has no documents")));
    };
    let got = within_deadline(cx, library.get(cx, wanted, extras)).await;
    got.map_err(|error| error.of_service(&service.id))
}

/// The service does not have what was asked for; perhaps another has.
fn is_missing(error: &Error) -> bool {
    matches!(error.reason(), Some(Reason::Absent | Reason::UnknownOperation))
        || matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput)
}
