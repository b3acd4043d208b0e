//! What a server offers: discovered page by page, kept until the server says that it has changed.

use super::client::ReconnectingClient;
use super::pages::{self, MAX_ITEMS};
use mcp::HeaderParams;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, watch};
use tool::{Context, Pattern, Result, Tool};
use tracing::{info, warn};

pub(super) type List = BTreeMap<String, KnownTool>;

/// A tool, and how it is called.
pub(super) struct KnownTool {
    pub(super) tool: Tool,
    /// Arguments that are repeated in headers.
    pub(super) header_params: HeaderParams,
}

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
    kept: Mutex<Cached>,
    /// Held by the one who asks, so that many first callers ask once.
    asking: Semaphore,
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Cached {
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
    pub(super) async fn get(&self, cx: &Context, client: &Arc<ReconnectingClient>) -> Result<Arc<List>> {
        if let Some(list) = &self.kept().list {
            return Ok(list.clone());
        }
        let _asking = client.within(cx, self.asking.acquire()).await?;
        let generation = {
            let kept = self.kept();
            if let Some(list) = &kept.list {
                return Ok(list.clone());
            }
            kept.generation
        };
        // Boxed, as it is rare and must not make the future of every call large.
        let list = Arc::new(Box::pin(self.discover(cx, client)).await?);
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
    pub(super) async fn compare(&self, cx: &Context, client: &Arc<ReconnectingClient>) {
        let Some(before) = self.kept().list.clone() else { return };
        let Ok(now) = self.discover(cx, client).await else { return };
        let same = before.len() == now.len()
            && before.iter().zip(&now).all(|((one, old), (other, new))| one == other && old.tool == new.tool);
        if !same {
            self.forget();
        }
    }

    fn kept(&self) -> MutexGuard<'_, Cached> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn discover(&self, cx: &Context, client: &Arc<ReconnectingClient>) -> Result<List> {
        let mut list = List::new();
        pages::list(cx, client, "tools/list", "tools", |definition| self.take(definition, client, &mut list))
            .await?;
        Ok(list)
    }

    fn take(&self, definition: &RawValue, client: &ReconnectingClient, list: &mut List) {
        // Many programs write null for what they do not give; what it means is the server's business.
        match Tool::from_raw(definition).map(|tool| tool.taking_null(true).relayed(true)) {
            Ok(tool) if !self.filter.allows(tool.name()) => {}
            Ok(tool) if is_for_tasks_only(&tool) => {
                let (server, tool) = (client.name(), tool.name());
                info!(server, tool, "a tool of the MCP server is left out: it works as a task only");
            }
            Ok(tool) if list.contains_key(tool.name()) => {
                warn!(
                    server = client.name(),
                    tool = tool.name(),
                    "the MCP server has two tools of one name; the first counts"
                );
            }
            Ok(tool) if list.len() < MAX_ITEMS => match HeaderParams::of(tool.input_schema()) {
                Ok(header_params) => {
                    list.insert(tool.name().to_owned(), KnownTool { tool, header_params });
                }
                Err(why) => {
                    let (server, tool) = (client.name(), tool.name());
                    warn!(server, tool, "a tool of the MCP server is left out: {why}");
                }
            },
            Ok(_) => {}
            Err(error) => warn!(server = client.name(), %error, "a tool of the MCP server is left out"),
        }
    }
}

/// The tool must be called as a task, which we do not know.
fn is_for_tasks_only(tool: &Tool) -> bool {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Execution {
        task_support: String,
    }
    let execution =
        tool.field("execution").map(|execution| serde_json::from_str::<Execution>(execution.get()));
    matches!(execution, Some(Ok(execution)) if execution.task_support == "required")
}
