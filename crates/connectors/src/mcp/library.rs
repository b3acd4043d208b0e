//! The server's documents and prompts: listed, read, and watched on behalf of many clients.

use super::client::{ReconnectingClient, Repeat};
use super::pages::{self, MAX_ITEMS};
use super::questions::{Params, converse};
use super::watched::Watched;
use super::{Mcp, listen};
use async_trait::async_trait;
use mcp::Era;
use mcp::client::About;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::broadcast;
use tool::sanitize::clean;
use tool::{Context, Extras, Fields, Item, Library, ListKind, Offer, Reference, Result, Update, Wanted};
use tracing::warn;

#[async_trait]
impl Library for Mcp {
    async fn offer(&self, cx: &Context) -> Result<Offer> {
        let cx = &self.within(cx, None);
        let server = self.clients.main.server(cx).await?;
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
            offer.prompts =
                items(cx, &self.clients.main, "prompts/list", "prompts", ListKind::Prompts).await?;
        }
        if can("resources") {
            let client = &self.clients.main;
            offer.resources = items(cx, client, "resources/list", "resources", ListKind::Resources).await?;
            let (method, field) = ("resources/templates/list", "resourceTemplates");
            offer.templates = items(cx, client, method, field, ListKind::Templates).await?;
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
        let client = self.clients.suiting(cx).await;
        converse(cx, client, method, about, params, Repeat::Always).await
    }

    async fn watch(&self, cx: &Context, uri: &str) -> Result<()> {
        let cx = &self.within(cx, None);
        let client = self.clients.suiting(cx).await;
        let era = client.server(cx).await?.version.era();
        client.watched().add(uri)?;
        let mut watching = Watching { watched: client.watched(), uri, is_kept: false };
        match era {
            Era::Legacy => listen::subscribe(cx, client, uri).await?,
            // The stream of notifications is opened anew with it.
            Era::Modern => listen::wait_for_stream(cx, client, uri).await?,
        }
        watching.is_kept = true;
        Ok(())
    }

    fn unwatch(&self, uri: &str) {
        // Over which way it was watched is not told; whoever watches it over both hears of it over either.
        let Some(client) = self.clients.all().find(|client| client.watched().has(uri)) else { return };
        if client.watched().remove(uri) {
            client.forget_resource(uri);
        }
    }

    fn updates(&self) -> broadcast::Receiver<Update> {
        self.clients.main.watched().updates()
    }
}

/// A resource that is to be watched: whoever waits for that may go away.
struct Watching<'a> {
    watched: &'a Watched,
    uri: &'a str,
    is_kept: bool,
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.watched.remove(self.uri);
        }
    }
}

/// The text without what hides in it.
fn visible(text: &str) -> String {
    clean(text, &mut BTreeSet::new()).into_owned()
}

/// The entries of a list by their key; those without one are left out.
async fn items(
    cx: &Context,
    client: &Arc<ReconnectingClient>,
    method: &str,
    field: &str,
    kind: ListKind,
) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    let key = kind.key_field();
    let server = client.name().to_owned();
    pages::list(cx, client, method, field, |definition| {
        let fields = serde_json::from_str::<Fields<'_>>(definition.get()).unwrap_or_default();
        let name = fields.get(key).and_then(|name| serde_json::from_str::<String>(name.get()).ok());
        match name {
            Some(name) if items.len() < MAX_ITEMS => {
                let (item, hidden) = Item { key: name, definition: definition.to_owned() }.cleaned();
                let (item, is_changed) = item.in_form(kind);
                if is_changed {
                    let key = &item.key;
                    warn!(server, method, "fields of {key:?} are not of the types that MCP gives them; it is listed without them");
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_goes_away_while_a_watch_begins_leaves_none() {
        let watched = Watched::default();
        for is_kept in [false, true] {
            watched.add("memo://a").unwrap();
            drop(Watching { watched: &watched, uri: "memo://a", is_kept });
            assert_eq!(watched.has("memo://a"), is_kept);
        }
    }
}
