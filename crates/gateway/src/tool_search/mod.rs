//! Tool search: a door tells of two tools that find and call the rest, for exactly what its caller's list would have.

mod meanings;
mod view;

use crate::audit::Record;
use crate::catalog::{Route, TenantCatalog, service_of, unknown_at_instance};
use crate::{Gateway, policy};
use bytes::Bytes;
use ranking::{CALL_TOOL, FIND_TOOLS, Find, find_tools, meant_by_call_tool};
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::time::Instant;
use tool::{
    Arguments, Context, Door, Error, ErrorKind, Finding, Outcome, Output, Request, Result, SearchMode,
    Target, ToolSearch,
};
use view::View;

/// Whoever would be told of more gets the two, where the door decides by itself.
const MANY_TOOLS: usize = 40;
const MANY_CHARACTERS: usize = 40_000;
/// Names that are told for one that is none.
const NEAREST: usize = 3;

static CALL_TOOL_DEFINITION: LazyLock<Bytes> = LazyLock::new(|| ranking::call_tool().into());

/// A tool that a client is told of.
#[derive(Debug, Clone)]
pub enum ListedTool {
    /// One that can be called.
    Route(Arc<Route>),
    /// One of the two of a door in search mode.
    Door(&'static str, Bytes),
}

impl ListedTool {
    /// What it is called by.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Route(route) => &route.name,
            Self::Door(name, _) => name,
        }
    }

    /// Its definition, in JSON.
    #[must_use]
    pub fn definition(&self) -> &Bytes {
        match self {
            Self::Route(route) => &route.listed,
            Self::Door(_, definition) => definition,
        }
    }

    /// The same for clients of versions before 2026-07-28.
    #[must_use]
    pub fn definition_for_older(&self) -> &Bytes {
        match self {
            Self::Route(route) => route.listed_to_older.as_ref().unwrap_or(&route.listed),
            Self::Door(_, definition) => definition,
        }
    }
}

/// One of the two.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DoorTool {
    Find,
    Call,
}

impl Gateway {
    /// What this caller is told of, by name: the definitions of all tools, or of the two and the pinned ones.
    #[must_use]
    pub fn listed(&self, cx: &Context) -> Vec<ListedTool> {
        self.metrics.lists.increment(1);
        self.told(cx)
    }

    pub(crate) fn told(&self, cx: &Context) -> Vec<ListedTool> {
        let routes = self.permitted(cx);
        let search = self.tool_search(cx);
        if !is_searched(search.mode, &routes) {
            return routes.into_iter().map(ListedTool::Route).collect();
        }
        let services: BTreeSet<_> = routes.iter().map(|route| service_of(route)).collect();
        let two = [
            ListedTool::Door(FIND_TOOLS, find_tools(services).into()),
            ListedTool::Door(CALL_TOOL, CALL_TOOL_DEFINITION.clone()),
        ];
        let is_pinned =
            |route: &&Arc<Route>| search.has_pinned(&route.name) && !ranking::is_reserved(&route.name);
        let pinned = routes.iter().filter(is_pinned).cloned().map(ListedTool::Route);
        let mut all: Vec<_> = pinned.chain(two).collect();
        all.sort_unstable_by(|a, b| a.name().cmp(b.name()));
        all
    }

    /// How the door of this call tells of its tools.
    fn tool_search(&self, cx: &Context) -> Cow<'_, ToolSearch> {
        let tenant = self.catalog.tenant(&cx.tenant);
        let own = tenant.as_deref().and_then(|tenant| match &cx.instance {
            Some(instance) => tenant.search_of_instance(instance).cloned(),
            None => tenant.tool_search().cloned(),
        });
        let search = match (own, &cx.instance) {
            (Some(own), _) => Cow::Owned(own),
            // An instance has its own way or none.
            (None, Some(_)) => Cow::Owned(ToolSearch::default()),
            (None, None) => Cow::Borrowed(&self.options.tool_search),
        };
        match cx.tool_search {
            Some(mode) => Cow::Owned(ToolSearch { mode, ..search.into_owned() }),
            None => search,
        }
    }

    /// Which of the two is meant, at a door that has them. One that decides by itself takes them in either case: what
    /// it told a moment ago may be called.
    pub(crate) fn door_tool(&self, cx: &Context, target: &Target) -> Option<DoorTool> {
        let door_tool = match target {
            Target::Name(name) if name == FIND_TOOLS => DoorTool::Find,
            Target::Name(name) if name == CALL_TOOL => DoorTool::Call,
            Target::Name(_) | Target::Uri(_) | Target::Trial(_) => return None,
        };
        let is_client = cx.door == Door::Mcp && cx.nested.is_none();
        (is_client && self.tool_search(cx).mode != SearchMode::Off).then_some(door_tool)
    }

    pub(crate) async fn call_door_tool(
        &self,
        cx: &Context,
        door_tool: DoorTool,
        request: Request,
    ) -> Result<Outcome> {
        match door_tool {
            DoorTool::Find => self.find_tools(cx, request.arguments).await,
            DoorTool::Call => self.call_found(cx, request).await,
        }
    }

    /// Finds tools for whoever may call some. It is a call: limits and audit know it, too.
    ///
    /// # Errors
    /// Why the caller may not, or which argument is wrong.
    pub async fn find_tools(&self, cx: &Context, arguments: Arguments) -> Result<Outcome> {
        self.as_call(cx, &arguments, self.find_in_catalog(cx, &arguments)).await
    }

    /// The same for whoever inside has tools of its own.
    ///
    /// # Errors
    /// Why the caller may not, or what is wrong with the arguments.
    pub(crate) async fn find_among(
        &self,
        cx: &Context,
        arguments: &Arguments,
        find: &Finding<'_>,
    ) -> Result<Outcome> {
        let found = async {
            policy::may_call(&cx.caller)?;
            let tenant: Arc<TenantCatalog> = self.catalog.tenant(&cx.tenant).unwrap_or_default();
            let _permit = self.policy.admit_within_limits(cx, tenant.limiter.clone())?;
            Ok(Outcome::Done(Output::json(find(arguments)?)))
        };
        self.as_call(cx, arguments, found).await
    }

    /// What is found, measured and recorded.
    async fn as_call(
        &self,
        cx: &Context,
        arguments: &Arguments,
        found: impl Future<Output = Result<Outcome>>,
    ) -> Result<Outcome> {
        let record = Record::begin(cx, &Target::Name(FIND_TOOLS.to_owned()), arguments);
        let begun = Instant::now();
        let result = found.await;
        self.metrics.tool_search_seconds.record(begun.elapsed());
        if result.is_err() {
            self.metrics.refused.increment(1);
        }
        self.audit.write(record.end(&result)).await;
        result
    }

    async fn find_in_catalog(&self, cx: &Context, arguments: &Arguments) -> Result<Outcome> {
        policy::may_call(&cx.caller)?;
        let tenant: Arc<TenantCatalog> = self.catalog.tenant(&cx.tenant).unwrap_or_default();
        let _permit = self.policy.admit_within_limits(cx, tenant.limiter.clone())?;
        let find = Find::read(arguments)?;
        tenant.index_words().await;
        let view = View::new(&tenant, cx);
        let meant = match &find.query {
            Some(query) => self.meaning_of(&tenant, query).await,
            None => None,
        };
        let near = meant.map(|meant| view.near(&meant)).unwrap_or_default();
        Ok(Outcome::Done(Output::json(view.find(&find, &near))))
    }

    /// Calls a tool through `call_tool`, which is the call of that tool in everything.
    async fn call_found(&self, cx: &Context, request: Request) -> Result<Outcome> {
        let through = match meant_by_call_tool(&request.arguments) {
            Ok(through) => through,
            Err(error) => {
                let record = Record::begin(cx, &request.target, &request.arguments);
                self.metrics.refused.increment(1);
                let result = Err(error);
                self.audit.write(record.end(&result)).await;
                return result;
            }
        };
        let target = Target::Name(through.name);
        // Whoever is told the nearest names is told them by their words, too.
        if self.open_to(cx, &target).is_err() {
            self.catalog.tenant(&cx.tenant).unwrap_or_default().index_words().await;
        }
        let request =
            Request { target: target.clone(), arguments: through.arguments, extras: request.extras };
        let result = self.call_one(cx, request, Some(CALL_TOOL)).await;
        match result {
            Err(error) if error.kind() == ErrorKind::InvalidInput => self.with_schema(cx, &target, error),
            other => other,
        }
    }

    /// The tool's error, and what would have been right.
    fn with_schema(&self, cx: &Context, target: &Target, error: Error) -> Result<Outcome> {
        let Ok((route, _)) = self.resolve(cx, target) else { return Err(error) };
        let message = json!(error.message());
        let text = format!("{{\"error\":{message},\"inputSchema\":{}}}", route.tool.input_schema().get());
        match RawValue::from_string(text) {
            Ok(told) => Ok(Outcome::Done(Output::json(told).failed_because(error))),
            Err(_) => Err(error),
        }
    }

    /// The tool that is called through `call_tool`, or the nearest to what there is not.
    pub(crate) fn resolve_found(
        &self,
        cx: &Context,
        target: &Target,
    ) -> Result<(Arc<Route>, Option<Arc<policy::Limiter>>)> {
        let Target::Name(name) = target else { return self.resolve(cx, target) };
        let found = match ranking::is_reserved(name) {
            true => Err(unknown(cx, name)),
            false => self.open_to(cx, target),
        };
        found.map_err(|error| match error.kind() {
            ErrorKind::NotFound => error.advising(&self.advice(cx, name)),
            _ => error,
        })
    }

    /// The tool, if this caller may call it: what is not found by it is not there for it.
    fn open_to(&self, cx: &Context, target: &Target) -> Result<(Arc<Route>, Option<Arc<policy::Limiter>>)> {
        let found = self.catalog.resolve(cx, target, &self.types)?;
        match policy::permits(&cx.caller, &found.0) {
            Ok(()) => Ok(found),
            Err(_) => Err(unknown(cx, &target.to_string())),
        }
    }

    fn advice(&self, cx: &Context, name: &str) -> String {
        let tenant = self.catalog.tenant(&cx.tenant).unwrap_or_default();
        let nearest = View::new(&tenant, cx).nearest(name, NEAREST);
        match nearest.as_slice() {
            [] => format!("; look for it with {FIND_TOOLS}"),
            names => {
                format!("; the nearest are '{}'; others are found with {FIND_TOOLS}", names.join("', '"))
            }
        }
    }
}

/// What is said of a name that leads nowhere at this door.
fn unknown(cx: &Context, name: &str) -> Error {
    match &cx.instance {
        Some(_) => unknown_at_instance(name),
        None => Error::not_found(format!("Tool '{name}' not found")).with("tool", name),
    }
}

/// A door of the tenant is in search mode, so that somebody will search.
pub(crate) fn has_searched_door(tenant: &TenantCatalog, usual: &ToolSearch) -> bool {
    let own = tenant.tool_search().unwrap_or(usual);
    is_searched(own.mode, tenant.routes())
        || tenant.doors().any(|(search, routes)| is_searched(search.mode, routes))
}

/// The caller gets the two instead of these.
fn is_searched(mode: SearchMode, routes: &[Arc<Route>]) -> bool {
    match mode {
        SearchMode::Off => false,
        SearchMode::On => true,
        SearchMode::Auto => {
            let mut left = MANY_CHARACTERS;
            let fits = |route: &Arc<Route>| {
                let size = String::from_utf8_lossy(&route.listed).chars().count();
                left.checked_sub(size).map(|rest| left = rest).is_some()
            };
            routes.len() > MANY_TOOLS || !routes.iter().all(fits)
        }
    }
}
