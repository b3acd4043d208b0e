//! The life of a call: resolve, admit, bind, call, shape, audit.

pub mod audit;
pub mod catalog;
mod discovery;
mod inside;
mod instructions;
pub mod library;
pub mod lifecycle;
mod logs;
mod metrics;
mod objects;
pub mod pins;
pub mod policy;
mod preview;
mod runs;
mod service_metrics;
pub mod shape;
pub mod tools;
mod triggers;

pub use catalog::{Catalog, InstanceDefinition, ListKind, Route};
pub use discovery::Discovery;
pub use library::{Fingerprints, ResourceUpdate, Watch};
pub use lifecycle::{BuiltIn, ConfigProblem, ServiceDefinition, TenantDefinition};
pub use logs::ServiceLog;
pub use preview::{Mistake, Preview};
pub use service_metrics::BUCKETS_SECONDS;
pub use tools::{ToolBody, ToolDefinition, UriTool};

use crate::audit::{Audit, Record};
use crate::metrics::GatewayMetrics;
use crate::pins::{MemoryPins, PinStore};
use crate::service_metrics::AllServices;
use document::{did_you_mean, nearest};
use futures::FutureExt;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::broadcast;
use tool::{
    Arguments, Call, Context, Env, Error, Kind, OnlyClient, Outcome, Reason, Registry, Request, Result,
    Target, Uri, uri,
};
use tracing::Instrument;

/// The most bytes of an answer, unless the tool or the server says otherwise. Answers that are relayed have no such
/// limit.
pub const RESULT_BUDGET_BYTES: usize = 1024 * 1024;

/// Changes of resources, and log entries, that may wait for a slow listener; more are missed.
const UPDATES: usize = 1024;

/// A connector that was told to stop may take this long before it is dropped.
const GRACE: Duration = Duration::from_secs(1);

/// How the gateway behaves.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// The most bytes of any answer, where somebody has said so; a tool may say less.
    pub result_budget_bytes: Option<usize>,
}

/// Everything between a door and a connector.
pub struct Gateway {
    registry: Registry,
    env: Env,
    catalog: Catalog,
    types: catalog::Types,
    policy: policy::Policy,
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
        let mut record = Record::begin(cx, &request.target, &request.arguments);
        let span = tracing::info_span!("call", tenant = %cx.tenant, tool = %request.target, request_id = %cx.request_id);
        let result = inside::as_parent(cx, self.run(cx, request, &mut record).instrument(span).await);
        self.count(&record, &result);
        self.audit.write(record.end(&result)).await; // refusals and failures too
        result
    }

    /// Records a call that a door had to turn away before it could become a request.
    pub async fn refuse(&self, cx: &Context, called: &str, error: Error) {
        let target = Target::Name(called.to_owned());
        let record = Record::begin(cx, &target, &Arguments::default());
        let result = Err(error);
        self.count(&record, &result);
        self.audit.write(record.end(&result)).await;
    }

    async fn run(&self, cx: &Context, request: Request, record: &mut Record) -> Result<Outcome> {
        inside::may_begin(cx)?;
        let (route, tenant) = self.resolve(cx, &request.target)?;
        record.routed_to(&route); // an Arc: a reload never disturbs a call
        let options = match route.options(&request.target) {
            Ok(options) => options,
            // Whoever may not use the tool learns nothing else about it.
            Err(error) => return Err(policy::permits(&cx.caller, &route).err().unwrap_or(error)),
        };
        record.with_options(&options);
        let _permit = self.policy.admit(cx, &route, &options, tenant)?; // the same rule that filters the list
        let call = self.bind(&route, options, request)?;
        if tracing::enabled!(tracing::Level::DEBUG) {
            let arguments = route.redaction.apply(&call.arguments.to_raw());
            tracing::debug!(uri = route.address, arguments, "calls {} with {arguments}", route.address);
        }
        let cx = &*on_route(cx, &route, &call.options);
        let outcome = within_deadline(cx, route.service.connector()?.call(cx, call)).await;
        let outcome = outcome.map_err(|error| name_service(in_callers_words(error, &route), &route))?;
        cx.inspection.note(|seen| seen.raw = raw_of(&outcome));
        route.shape.apply(cx, &self.env.compute, outcome).await
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
        for route in self.permitted(cx) {
            route.listed.hash(&mut hasher);
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
                return routes.filter(is_permitted).map(Route::at_own_door).collect();
            }
            (None, None) => tenant.routes(),
        };
        offered.iter().filter(is_permitted).cloned().collect()
    }

    /// Names the tool that was probably meant, among those that this caller may use.
    fn name_nearest(&self, cx: &Context, target: &Target, error: Error) -> Error {
        if error.kind() != tool::ErrorKind::NotFound {
            return error;
        }
        let permitted = self.permitted(cx);
        let advice = match target {
            Target::Name(name) => {
                let names = permitted.iter().map(|route| route.name.as_str());
                did_you_mean(name, names.filter(|known| is_near_each(name.split("__"), known.split("__"))))
            }
            Target::Uri(uri) => {
                let parts = |uri: &Uri| {
                    [uri.scheme(), uri.service(), uri.tool().unwrap_or_default()].map(str::to_owned)
                };
                let meant = parts(uri);
                let near = permitted.iter().filter(|route| {
                    is_near_each(
                        meant.iter().map(String::as_str),
                        parts(&route.uri).iter().map(String::as_str),
                    )
                });
                let address = Uri::of_tool(&meant[0], &meant[1], &meant[2]).to_string();
                did_you_mean(&address, near.map(|route| route.address.as_str()))
            }
            Target::Trial(_) => String::new(),
        };
        error.advising(&advice)
    }

    fn bind(&self, route: &Route, options: uri::Options, request: Request) -> Result<Call> {
        let begun = Instant::now();
        let arguments = match &route.uri_tool {
            None => route.binder.bind(request.arguments)?,
            Some(uri_tool) => uri_tool.bind(&route.binder, request.arguments)?,
        };
        self.metrics.bind_seconds.record(begun.elapsed());
        Ok(Call { tool: route.tool.name().to_owned(), arguments, options, extras: request.extras })
    }

    fn count(&self, record: &Record, result: &Result<Outcome>) {
        let route = match result {
            Err(error) if error.kind().is_refusal() => None,
            _ => record.route(),
        };
        let Some(route) = route else { return self.metrics.refused.increment(1) };
        let time = record.elapsed();
        match result {
            Ok(Outcome::Done(output)) if output.is_error() => route.metrics.failed(time),
            Ok(_) => route.metrics.succeeded(time),
            Err(_) => route.metrics.failed(time),
        }
    }
}

/// Each part of a name is one part of the other or nearly so: what they share must not hide what they do not.
fn is_near_each<'a>(words: impl Iterator<Item = &'a str>, names: impl Iterator<Item = &'a str>) -> bool {
    let is_near = |(word, name): (&str, &str)| word == name || nearest(word, [name]).is_some();
    words.zip(names).all(is_near)
}

/// The context as the connector sees it: with a deadline no later than the URI's `timeout` allows,
/// and knowing whether a Tool of the tenant led here. With `max-attempts` the `timeout` is that of one attempt,
/// which is the connector's affair; but what a Tool has set for the whole call stays so.
fn on_route<'a>(cx: &'a Context, route: &Route, options: &uri::Options) -> Cow<'a, Context> {
    let of_tool = route.uri_tool.as_ref().and_then(|uri_tool| uri_tool.tool.uri.options().call_timeout());
    let timeout = options.call_timeout().into_iter().chain(of_tool).min();
    let is_through_tool = route.is_own();
    let latest = inside::latest_end(cx);
    if timeout.is_none() && latest == cx.deadline && is_through_tool == cx.is_through_tool {
        return Cow::Borrowed(cx);
    }
    let deadline = timeout.map_or(latest, |timeout| latest.min(Instant::now() + timeout));
    Cow::Owned(Context { is_through_tool, deadline, ..cx.clone() })
}

/// Waits for the connector, which ends by itself soon after the deadline or the cancel. One that
/// does not is dropped; one that panics has failed.
async fn within_deadline<T>(cx: &Context, call: impl Future<Output = Result<T>>) -> Result<T> {
    let call = AssertUnwindSafe(call).catch_unwind();
    tokio::pin!(call);
    let ended = match cx.within(&mut call).await {
        Ok(result) => return result.unwrap_or_else(panicked),
        Err(ended) => ended,
    };
    match tokio::time::timeout(GRACE, call).await {
        Ok(result) => result.unwrap_or_else(panicked),
        Err(_) => Err(ended.error("the tool did not answer in time")),
    }
}

fn panicked<T>(_: Box<dyn std::any::Any + Send>) -> Result<T> {
    Err(Error::internal("the connector failed in a way it should not; see the log"))
}

/// The answer before it is shaped, for those who try a tool out.
fn raw_of(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Done(output) => Some(output.data().map_or_else(|| output.to_result(), Into::into)),
        Outcome::NeedsInput(_) | Outcome::Started(_) => None,
    }
}

/// Callers of a Tool that renames parameters know them by its names.
fn in_callers_words(error: Error, route: &Route) -> Error {
    match &route.uri_tool {
        Some(uri_tool) => uri_tool.tool.in_callers_words(error),
        None => error,
    }
}

/// Says which service failed, and where its credentials come from if they were refused.
fn name_service(error: Error, route: &Route) -> Error {
    let error = error.of_service(&route.service.id);
    match error.reason() {
        Some(Reason::SignInFailed) => {
            error.about(&format!("service {}://{}", route.service.scheme, route.service.id))
        }
        _ if error.is_about_credentials() && !route.service.variables.is_empty() => {
            route.service.rejected(&error.full_message()).caused_by(error)
        }
        _ => error,
    }
}
