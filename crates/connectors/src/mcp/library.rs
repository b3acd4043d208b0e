//! The server's documents and prompts: listed, read, and watched on behalf of many clients.

use super::client::{Link, Repeat};
use super::pages::{self, MAX_ITEMS};
use super::questions::{Params, converse};
use super::{Mcp, client};
use async_trait::async_trait;
use mcp::Era;
use mcp::client::{About, Notification};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{broadcast, watch};
use tool::sanitize::clean;
use tool::{
    Context, Error, Extras, Fields, Item, Library, LogEntry, Offer, Reference, Result, Update, Wanted,
};
use tracing::warn;

/// Changes that may wait for a slow listener; more are missed.
const UPDATES: usize = 256;
/// Resources that are watched at the same time.
const MAX_WATCHED: usize = 10_000;

/// What is heard from a server unasked: resources that somebody wants to hear of, and log entries.
pub(super) struct Watched {
    uris: Mutex<BTreeMap<String, usize>>,
    /// Ticks when the set of resources is another.
    changes: watch::Sender<u64>,
    updates: broadcast::Sender<Update>,
    logs: broadcast::Sender<LogEntry>,
}

impl Default for Watched {
    fn default() -> Self {
        let (updates, logs) = (broadcast::Sender::new(UPDATES), broadcast::Sender::new(UPDATES));
        Self { uris: Mutex::default(), changes: watch::Sender::new(0), updates, logs }
    }
}

impl Watched {
    fn uris(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.uris.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.uris().keys().cloned().collect()
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// One more wants to hear of it; true for the first.
    fn add(&self, uri: &str) -> Result<bool> {
        let mut uris = self.uris();
        if uris.len() >= MAX_WATCHED && !uris.contains_key(uri) {
            return Err(Error::rate_limited(format!("{MAX_WATCHED} resources are watched already")));
        }
        let count = uris.entry(uri.to_owned()).or_default();
        *count += 1;
        Ok(*count == 1)
    }

    /// One less; true for the last.
    fn remove(&self, uri: &str) -> bool {
        let mut uris = self.uris();
        let Some(count) = uris.get_mut(uri) else { return false };
        *count -= 1;
        let is_last = *count == 0;
        if is_last {
            uris.remove(uri);
        }
        is_last
    }

    /// Where log entries come out that belong to no call.
    pub(super) fn logs(&self) -> broadcast::Receiver<LogEntry> {
        self.logs.subscribe()
    }

    /// Passes on what a server says unasked.
    pub(super) fn hear(&self, told: Notification) {
        match told.method.as_str() {
            "notifications/resources/updated" => self.hear_update(&told),
            "notifications/message" => self.hear_log(told),
            _ => {}
        }
    }

    fn hear_log(&self, told: Notification) {
        #[derive(Deserialize)]
        struct Entry {
            level: String,
        }
        let Some(entry) = told.params else { return };
        if let Ok(Entry { level }) = serde_json::from_str(entry.get()) {
            // Nobody may listen at this moment.
            let _ = self.logs.send(LogEntry { level, entry: entry.into() });
        }
    }

    fn hear_update(&self, told: &Notification) {
        #[derive(Deserialize)]
        struct Updated {
            uri: String,
        }
        let params = told.params.as_deref().map_or("{}", RawValue::get);
        if let Ok(Updated { uri }) = serde_json::from_str(params) {
            // Nobody may listen at this moment.
            let _ = self.updates.send(Update { uri });
        }
    }
}

#[async_trait]
impl Library for Mcp {
    async fn offer(&self, cx: &Context) -> Result<Offer> {
        let cx = &self.within(cx, None);
        let server = self.link.server(cx).await?;
        let capabilities = server.capabilities.as_deref().map_or("{}", RawValue::get);
        let capabilities: Value = serde_json::from_str(capabilities).unwrap_or_default();
        let can = |name: &str| capabilities.get(name).is_some_and(Value::is_object);
        let mut offer = Offer {
            instructions: server.instructions.as_deref().map(visible),
            can_complete: can("completions"),
            can_watch: capabilities["resources"]["subscribe"] == true,
            ..Offer::default()
        };
        if can("prompts") {
            offer.prompts = items(cx, &self.link, "prompts/list", "prompts", "name").await?;
        }
        if can("resources") {
            let link = &self.link;
            offer.resources = items(cx, link, "resources/list", "resources", "uri").await?;
            let (method, field) = ("resources/templates/list", "resourceTemplates");
            offer.templates = items(cx, link, method, field, "uriTemplate").await?;
        }
        Ok(offer)
    }

    async fn get(&self, cx: &Context, wanted: Wanted, extras: Extras) -> Result<Box<RawValue>> {
        let cx = &self.within(cx, None);
        let _permit = self.admit(cx).await?;
        let params = Params::new(extras);
        let (method, name, params) = match wanted {
            Wanted::Resource { uri } => {
                let params = params.with_text("uri", &uri);
                ("resources/read", Some(uri), params)
            }
            Wanted::Prompt { name, arguments } => {
                let params = params.with_text("name", &name);
                let params = match arguments {
                    Some(arguments) => params.with("arguments", arguments),
                    None => params,
                };
                ("prompts/get", Some(name), params)
            }
            Wanted::Completion { of, argument } => {
                let reference = match of {
                    Reference::Prompt(name) => serde_json::json!({ "type": "ref/prompt", "name": name }),
                    Reference::Resource(uri) => serde_json::json!({ "type": "ref/resource", "uri": uri }),
                };
                let reference = RawValue::from_string(reference.to_string()).unwrap_or_default();
                ("completion/complete", None, params.with("ref", reference).with("argument", argument))
            }
        };
        let about = About { name: name.as_deref(), ..About::default() };
        converse(cx, &self.link, method, about, params, Repeat::Always).await
    }

    async fn watch(&self, cx: &Context, uri: &str) -> Result<()> {
        let cx = &self.within(cx, None);
        let server = self.link.server(cx).await?;
        if !self.watched.add(uri)? {
            return Ok(());
        }
        let watching = match server.version.era() {
            Era::Legacy => subscribe(cx, &self.link, uri).await,
            // The stream of notifications is opened anew with it.
            Era::Modern => Ok(()),
        };
        if watching.is_err() {
            self.watched.remove(uri);
        }
        self.watched.changes.send_modify(|count| *count += 1);
        watching
    }

    fn unwatch(&self, uri: &str) {
        if !self.watched.remove(uri) {
            return;
        }
        self.watched.changes.send_modify(|count| *count += 1);
        self.link.forget_resource(uri);
    }

    fn updates(&self) -> broadcast::Receiver<Update> {
        self.watched.updates.subscribe()
    }
}

/// The text without what hides in it.
fn visible(text: &str) -> String {
    clean(text, &mut BTreeSet::new()).into_owned()
}

pub(super) async fn subscribe(cx: &Context, link: &Arc<Link>, uri: &str) -> Result<()> {
    let params = format!("{{\"uri\":{}}}", Value::from(uri));
    let about = About::default();
    link.request(cx, "resources/subscribe", about, Some(&params), client::Repeat::Always).await.map(drop)
}

/// The entries of a list by their key; those without one are left out.
async fn items(
    cx: &Context,
    link: &Arc<Link>,
    method: &str,
    field: &str,
    key: &'static str,
) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    let server = link.name().to_owned();
    pages::list(cx, link, method, field, |definition| {
        let fields = serde_json::from_str::<Fields<'_>>(definition.get()).unwrap_or_default();
        let name = fields.get(key).and_then(|name| serde_json::from_str::<String>(name.get()).ok());
        match name {
            Some(name) if items.len() < MAX_ITEMS => {
                let (item, hidden) = Item { key: name, definition: definition.to_owned() }.cleaned();
                if !hidden.is_empty() {
                    // What hides elsewhere than in words is data, and stays.
                    let key = &item.key;
                    warn!(server, method, ?hidden, "{key:?} hides something; its words are shown without");
                }
                items.push(item);
            }
            Some(_) => {}
            None => warn!(server, method, "an entry without '{key}' is left out"),
        }
    })
    .await?;
    Ok(items)
}
