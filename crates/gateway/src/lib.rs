//! The life of a call: resolve, admit, bind, call, shape, audit.

pub mod audit;
mod calling;
pub mod catalog;
mod discovery;
mod inside;
mod instructions;
pub mod library;
pub mod lifecycle;
mod logs;
mod metrics;
mod nearest;
mod objects;
pub mod pins;
pub mod policy;
mod preview;
mod runs;
mod service_metrics;
pub mod shape;
mod spans;
mod tool_search;
pub mod tools;
mod triggers;

pub use catalog::{Catalog, InstanceDefinition, Route, naming::SEPARATOR as SERVICE_SEPARATOR};
pub use discovery::Discovery;
pub use library::{Fingerprints, ResourceUpdate, Watch};
pub use lifecycle::{BuiltIn, ConfigProblem, ServiceDefinition, TenantDefinition};
pub use logs::ServiceLog;
pub use preview::{Mistake, Preview};
pub use ranking::{CALL_TOOL, FIND_TOOLS, is_reserved, named_by_call_tool};
pub use runs::Unrecorded;
pub use service_metrics::BUCKETS_SECONDS;
pub use tool_search::ListedTool;
pub use tools::{ToolBody, ToolDefinition, UriTool};

use crate::audit::{Audit, Record};
use crate::calling::{in_callers_words, name_service, on_route, raw_of, within_deadline};
use crate::metrics::GatewayMetrics;
use crate::pins::{MemoryPins, PinStore};
use crate::service_metrics::AllServices;
use crate::tool_search::DoorTool;
use futures::future::BoxFuture;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;
use tokio::sync::broadcast;
use tool::{
    Arguments, Call, Callers, Context, Env, Error, Inspection, Kind, OnlyClient, Outcome, Registry, Request,
    Result, RunKind, Target, ToolSearch, Uri, uri,
};
use tracing::Instrument;

/// The most bytes of an answer, unless the tool or the server says otherwise. Answers that are relayed have no such
/// limit.
pub const RESULT_BUDGET_BYTES: usize = 1024 * 1024;

/// Changes of resources, and log entries, that may wait for a slow listener; more are missed.
const UPDATES: usize = 1024;

/// How the gateway behaves.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The most bytes of any answer, where somebody has said so; a tool may say less.
    pub result_budget_bytes: Option<usize>,
    /// How doors tell of their tools, unless a tenant has its own way.
    pub tool_search: ToolSearch,
}

/// Everything between a door and a connector.
pub struct Gateway {
    registry: Registry,
    env: Env,
    catalog: Catalog,
    types: catalog::Types,
    policy: policy::Policy,
    /// Everybody's rights as they are now, where somebody knows them.
    callers: OnceLock<Arc<dyn Callers>>,
    audit: Audit,
    metrics: GatewayMetrics,
    numbers: Arc<AllServices>,
    pins: Arc<dyn PinStore>,
    options: Options,
    /// Held while a snapshot is made, so that two reloads do not undo each other.
    loading: tokio::sync::Mutex<()>,
    updates: broadcast::Sender<ResourceUpdate>,
    logs: broadcast::Sender<ServiceLog>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("catalog", &self.catalog).finish_non_exhaustive()
    }
}

impl Gateway {
    /// A gateway with nothing in its catalog yet, which forgets its pins when it ends.
    #[must_use]
    pub fn new(registry: impl Into<Registry>, env: Env, audit: Audit, options: Options) -> Arc<Self> {
        Self::with_pins(registry, env, audit, options, Arc::new(MemoryPins::default()))
    }

    /// The same, with pins that outlive it.
    #[must_use]
    pub fn with_pins(
        registry: impl Into<Registry>,
        env: Env,
        audit: Audit,
        options: Options,
        pins: Arc<dyn PinStore>,
    ) -> Arc<Self> {
        let registry = registry.into();
        let numbers = Arc::new(AllServices::default());
        Arc::new_cyclic(|gateway: &Weak<Self>| {
            let env = Env { tools: gateway.clone(), ..env };
            Self {
                registry,
                types: catalog::Types::new(
                    registry,
                    env.clone(),
                    numbers.clone(),
                    options.result_budget_bytes,
                ),
                env,
                catalog: Catalog::default(),
                policy: policy::Policy::default(),
                callers: OnceLock::new(),
                audit,
                metrics: GatewayMetrics::new(),
                numbers,
                pins,
                options,
                loading: tokio::sync::Mutex::default(),
                updates: broadcast::Sender::new(UPDATES),
                logs: broadcast::Sender::new(UPDATES),
            }
        })
    }

    /// The client, where this process serves one and no other.
    #[must_use]
    pub fn only_client(&self) -> Option<&Arc<OnlyClient>> {
        self.env.only_client.as_ref()
    }

    /// What can be called now.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The calls of each service in numbers, as Prometheus reads them.
    #[must_use]
    pub fn service_metrics(&self) -> String {
        self.numbers.render()
    }

    /// The types of services there are, in the order of the registry.
    #[must_use]
    pub fn kinds(&self) -> &'static [Kind] {
        self.registry.kinds
    }

    /// The types that there are, and why others are not there.
    #[must_use]
    pub fn registry(&self) -> Registry {
        self.registry
    }

    /// The way to the records of calls.
    #[must_use]
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// MCP clients, REST, the command line, flows and agents all come through here.
    ///
    /// # Errors
    /// Why the call was refused, or how the tool failed.
    pub async fn call(&self, cx: &Context, request: Request) -> Result<Outcome> {
        match self.door_tool(cx, &request.target) {
            None => self.call_one(cx, request, None).await,
            Some(door_tool) => self.through_door_tool(cx, door_tool, request).await,
        }
    }

    /// Apart, so that other calls carry nothing of its state.
    #[inline(never)]
    fn through_door_tool<'a>(
        &'a self,
        cx: &'a Context,
        door_tool: DoorTool,
        request: Request,
    ) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(self.call_door_tool(cx, door_tool, request))
    }

    /// Calls one tool, perhaps through another, which the record tells.
    async fn call_one(&self, cx: &Context, request: Request, via: Option<&'static str>) -> Result<Outcome> {
        let (result, record) = self.call_unrecorded(cx, request, via).await;
        if !record.is_left_to_run() {
            self.count(&record, Tally::of(&record, &result));
            self.audit.write(record.end(&result)).await; // refusals and failures too
        }
        result
    }

    async fn call_unrecorded(
        &self,
        cx: &Context,
        request: Request,
        via: Option<&'static str>,
    ) -> (Result<Outcome>, Box<Record>) {
        let span = self.begin_span(cx);
        let inside = cx.within_span(&span);
        let cx = inside.as_deref().unwrap_or(cx);
        let mut record = Record::begin(cx, &request.target, &request.arguments).through(via);
        self.look(&mut record);
        let logged = tracing::info_span!("call", tenant = %cx.tenant, tool = %request.target, request_id = %cx.request_id);
        let result = inside::as_parent(cx, self.run(cx, request, &mut record).instrument(logged).await);
        self.mark_private(cx, &mut record);
        spans::end(span, cx, &record, &result);
        (result, record)
    }

    /// Whether arguments that no schema describes may be seen in the audit. Authors say of each flow what of it is secret, so
    /// that nobody knows where none is found. A name that leads nowhere may have been meant for any service of the tenant.
    fn mark_private(&self, cx: &Context, record: &mut Record) {
        let kind = |scheme: &str| self.registry.find(scheme);
        let is_run = |scheme: &str| RunKind::of_scheme(scheme).is_some();
        let is_private = |scheme: &str| kind(scheme).is_some_and(|kind| kind.has_private_arguments);
        record.has_private_arguments = match (record.route(), record.target()) {
            (Some(route), _) => is_private(&route.service.scheme) || is_run(&route.service.scheme),
            (None, Target::Uri(uri)) if is_run(uri.scheme()) => true,
            (None, Target::Uri(uri)) if kind(uri.scheme()).is_some() => is_private(uri.scheme()),
            (None, target) => self.catalog.tenant(&cx.tenant).is_some_and(|tenant| {
                let has_private = tenant.services().any(|service| is_private(&service.scheme));
                has_private || tenant.may_mean_run(target)
            }),
        };
    }

    /// Records a call that a door had to turn away before it could become a request.
    pub async fn refuse(&self, cx: &Context, called: &str, error: Error) {
        let target = Target::Name(called.to_owned());
        let record = Record::begin(cx, &target, &Arguments::default());
        let result = Err(error);
        self.count(&record, Tally::Refused);
        self.audit.write(record.end(&result)).await;
    }

    /// Whoever asks for what a call sends and gets wants to find it in the audit, too. Where nobody asks, somebody may
    /// do so later.
    fn look(&self, record: &mut Record) {
        match record.inspection.is_on() {
            true => record.inspection.note(|seen| seen.audit_id = Some(tool::new_id())),
            false if self.audit.keeps_calls() => record.inspection = Inspection::kept(),
            false => {}
        }
    }

    async fn run(&self, cx: &Context, request: Request, record: &mut Record) -> Result<Outcome> {
        let mut watch = record.inspection.watch();
        let found = self.resolve_heard(cx, &request.target, record.via()).await;
        let (route, tenant) = watch.step("resolve", found)?;
        record.routed_to(&route); // an Arc: a reload never disturbs a call
        // Whoever may not use the tool learns nothing else about it.
        let in_turn = |error| policy::permits(&cx.caller, &route).err().unwrap_or(error);
        let admitted = route.options(&request.target).map_err(in_turn).and_then(|options| {
            record.with_options(&options);
            let permit = self.policy.admit(cx, &route, &options, tenant)?; // the same rule that filters the list
            Ok((options, permit))
        });
        let (options, _permit) = watch.step("admit", admitted)?;
        let call = watch.step("bind", self.bind(cx, &route, options, request))?;
        if tracing::enabled!(tracing::Level::DEBUG) {
            let arguments = route.redaction.apply(&call.arguments.to_raw());
            tracing::debug!(uri = route.address, arguments, "calls {} with {arguments}", route.address);
        }
        let cx = &*on_route(cx, &route, &call.options, record);
        let outcome = match route.service.connector() {
            Ok(connector) => within_deadline(cx, connector.call(cx, call)).await,
            Err(error) => return watch.step("call", Err(error)),
        };
        route.service.noted(&outcome);
        let outcome = outcome.map_err(|error| name_service(in_callers_words(error, &route), &route));
        let outcome = watch.step("call", outcome)?;
        cx.inspection.note(|seen| seen.raw = raw_of(seen, &outcome));
        watch.restart();
        let shaped = match route.shape.apply(cx, &self.env.compute, outcome).await {
            Ok(outcome) => shape::within(cx, &self.env.compute, outcome).await,
            Err(error) => Err(error),
        };
        Ok(route.promised(watch.step("shape", shaped)?))
    }

    /// The tools this caller may use, by name: exactly those whose call would be admitted.
    #[must_use]
    pub fn list(&self, cx: &Context) -> Vec<Arc<Route>> {
        self.metrics.lists.increment(1);
        self.permitted(cx)
    }

    /// The tool that a caller means by a name, if it may use it.
    #[must_use]
    pub fn route(&self, cx: &Context, name: &str) -> Option<Arc<Route>> {
        let target = Target::Name(name.to_owned());
        let (route, _) = self.catalog.resolve(cx, &target, &self.types).ok()?;
        policy::permits(&cx.caller, &route).ok().map(|()| route)
    }

    /// The tool that a URI leads to for a caller, options and all: for those who check now what is called later.
    ///
    /// # Errors
    /// Why there is none, or why the call would be refused.
    pub fn find(&self, cx: &Context, uri: &Uri) -> Result<Arc<Route>> {
        self.check_options(uri).map_err(|error| Error::invalid_input(error.to_string()))?;
        let target = Target::Uri(uri.clone());
        let (route, _) = self.resolve(cx, &target)?;
        let options = match route.options(&target) {
            Ok(options) => options,
            Err(error) => return Err(policy::permits(&cx.caller, &route).err().unwrap_or(error)),
        };
        policy::permits_with(&cx.caller, &route, &options).map(|()| route)
    }

    /// The tool that is meant with the limits of its tenant, or why there is none.
    fn resolve(&self, cx: &Context, target: &Target) -> Result<(Arc<Route>, Option<Arc<policy::Limiter>>)> {
        let found = self.catalog.resolve(cx, target, &self.types);
        found.map_err(|error| self.name_nearest(cx, target, error))
    }

    /// A number that changes when this caller's list does.
    #[must_use]
    pub fn fingerprint(&self, cx: &Context) -> u64 {
        let mut hasher = DefaultHasher::new();
        for told in self.told(cx) {
            told.definition().hash(&mut hasher);
        }
        hasher.finish()
    }

    fn permitted(&self, cx: &Context) -> Vec<Arc<Route>> {
        let Some(tenant) = self.catalog.tenant(&cx.tenant) else { return Vec::new() };
        let is_permitted = |route: &&Arc<Route>| policy::permits(&cx.caller, route).is_ok();
        let offered = match (&cx.instance, &cx.service) {
            (Some(instance), _) => tenant.offered(instance),
            (None, Some(service)) => {
                let routes = tenant.routes_at_own_door(service).into_iter();
                return routes.filter(is_permitted).map(Route::at_own_door).cloned().collect();
            }
            (None, None) => tenant.routes(),
        };
        offered.iter().filter(is_permitted).cloned().collect()
    }

    fn bind(&self, cx: &Context, route: &Route, options: uri::Options, request: Request) -> Result<Call> {
        let begun = Instant::now();
        let arguments = match &route.uri_tool {
            None => route.binder.bind(request.arguments)?,
            Some(uri_tool) => uri_tool.bind(&route.binder, request.arguments)?,
        };
        self.metrics.bind_seconds.record(begun.elapsed());
        let max_answer_bytes = cx.result_bytes.unwrap_or(usize::MAX).min(route.shape.room_bytes());
        let (tool, extras) = (route.tool.name().to_owned(), request.extras);
        Ok(Call { tool, arguments, options, extras, max_answer_bytes })
    }

    fn count(&self, record: &Record, tally: Tally) {
        match (record.route(), tally) {
            (None, _) | (_, Tally::Refused) => self.metrics.refused.increment(1),
            (Some(route), Tally::Succeeded) => route.metrics.succeeded(record.elapsed()),
            (Some(route), Tally::Failed) => route.metrics.failed(record.elapsed()),
        }
    }
}

/// What a call counts as.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tally {
    Refused,
    Succeeded,
    Failed,
}

impl Tally {
    fn of(record: &Record, result: &Result<Outcome>) -> Self {
        match result {
            _ if record.route().is_none() => Self::Refused,
            Err(error) if error.kind().is_refusal() => Self::Refused,
            Ok(Outcome::Done(output)) if output.is_error() => Self::Failed,
            Ok(_) => Self::Succeeded,
            Err(_) => Self::Failed,
        }
    }
}
