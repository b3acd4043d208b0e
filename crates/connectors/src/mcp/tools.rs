//! What a server offers: discovered page by page, kept until the server says that it has changed.

use super::client::{Link, Repeat};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, watch};
use tool::{Context, Error, Pattern, Result, Tool};
use tracing::warn;

const MAX_TOOLS: usize = 10_000;
const MAX_PAGES: usize = 100;
/// Of all definitions together.
const MAX_BYTES: usize = 64 * 1024 * 1024;

pub(super) type List = BTreeMap<String, Tool>;

/// Which tools are offered.
pub(super) struct Filter {
    pub(super) include: Option<Vec<Pattern>>,
    pub(super) exclude: Vec<Pattern>,
}

impl Filter {
    fn allows(&self, name: &str) -> bool {
        let is_in = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(name));
        self.include.as_deref().is_none_or(is_in) && !is_in(&self.exclude)
    }
}

/// The tools of one server.
pub(super) struct Tools {
    filter: Filter,
    kept: Mutex<Kept>,
    /// Held by the one who asks, so that many first callers ask once.
    asking: Semaphore,
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Kept {
    list: Option<Arc<List>>,
    /// Grows when the list is known to be old, so that an answer under way is not kept.
    generation: u64,
}

impl Tools {
    pub(super) fn new(filter: Filter) -> Self {
        Self { filter, kept: Mutex::default(), asking: Semaphore::new(1), changes: watch::Sender::new(0) }
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The server's tools by name, asked for once.
    pub(super) async fn get(&self, cx: &Context, link: &Arc<Link>) -> Result<Arc<List>> {
        if let Some(list) = &self.kept().list {
            return Ok(list.clone());
        }
        let _asking = link.within(cx, self.asking.acquire()).await?;
        let generation = {
            let kept = self.kept();
            if let Some(list) = &kept.list {
                return Ok(list.clone());
            }
            kept.generation
        };
        // Boxed, as it is rare and must not make the future of every call large.
        let list = Arc::new(Box::pin(self.discover(cx, link)).await?);
        let mut kept = self.kept();
        if kept.generation == generation {
            kept.list = Some(list.clone());
        }
        Ok(list)
    }

    /// The server says that its tools have changed.
    pub(super) fn forget(&self) {
        {
            let mut kept = self.kept();
            kept.list = None;
            kept.generation += 1;
        }
        self.changes.send_modify(|count| *count += 1);
    }

    /// Looks whether a server that was started anew still offers the same.
    pub(super) async fn compare(&self, cx: &Context, link: &Arc<Link>) {
        let Some(before) = self.kept().list.clone() else { return };
        let Ok(now) = self.discover(cx, link).await else { return };
        let same = before.len() == now.len()
            && before.iter().zip(&now).all(|((one, old), (other, new))| {
                one == other
                    && old.listed_as(one, old.description()) == new.listed_as(other, new.description())
            });
        if !same {
            self.forget();
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn discover(&self, cx: &Context, link: &Arc<Link>) -> Result<List> {
        let mut list = List::new();
        let mut cursor: Option<String> = None;
        let mut bytes = 0;
        for _ in 0..MAX_PAGES {
            let params =
                cursor.as_ref().map(|cursor| format!("{{\"cursor\":{}}}", Value::from(cursor.as_str())));
            let params = params.and_then(|text| RawValue::from_string(text).ok());
            let result = link.request(cx, "tools/list", None, params.as_deref(), Repeat::Always).await;
            let result = match result {
                Ok(result) => result,
                // A server without tools need not know the method.
                Err(error) if error.context("rpc_code") == Some("-32601") => return Ok(list),
                Err(error) => return Err(error),
            };
            bytes += result.get().len();
            let page: Page<'_> = serde_json::from_str(result.get()).map_err(|error| {
                Error::upstream("the server's list of tools is unusable").caused_by(error)
            })?;
            for definition in page.tools {
                self.take(definition, link, &mut list);
            }
            // "" is a cursor like any other; the same one again would go on for ever.
            let is_enough = list.len() >= MAX_TOOLS || bytes > MAX_BYTES;
            if page.next_cursor.is_none() || page.next_cursor == cursor || is_enough {
                cursor = page.next_cursor;
                break;
            }
            cursor = page.next_cursor;
        }
        if cursor.is_some() {
            warn!(
                server = link.name(),
                tools = list.len(),
                "the MCP server's list of tools has no end; the rest is left out"
            );
        }
        Ok(list)
    }

    fn take(&self, definition: &RawValue, link: &Link, list: &mut List) {
        match Tool::from_raw(definition) {
            Ok(tool) if !self.filter.allows(tool.name()) => {}
            Ok(tool) if list.contains_key(tool.name()) => {
                warn!(
                    server = link.name(),
                    tool = tool.name(),
                    "the MCP server has two tools of one name; the first counts"
                );
            }
            Ok(tool) if list.len() < MAX_TOOLS => {
                list.insert(tool.name().to_owned(), tool);
            }
            Ok(_) => {}
            Err(error) => warn!(server = link.name(), %error, "a tool of the MCP server is left out"),
        }
    }
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(default, rename = "nextCursor")]
    next_cursor: Option<String>,
}
