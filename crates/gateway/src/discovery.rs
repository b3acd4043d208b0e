//! Discovery: what services offer, asked when they are new and whenever they say that it has changed.

use crate::catalog::{Route, Service, State};
use crate::library::ResourceUpdate;
use crate::policy::Limiter;
use crate::{Gateway, inside};
use futures::future::join_all;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tool::{Context, Ended, Error, Reason, Result, Target};

/// How long a service may take to say what it offers.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(60);
/// The pause before a service that did not answer is asked again; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(60);
/// How long a new snapshot waits for services to say what they offer, so that those which are quick are in it.
const BRIEFLY: Duration = Duration::from_secs(1);

/// The way to a tool, and the limits of its tenant.
type Resolved = (Arc<Route>, Option<Arc<Limiter>>);

/// The services that have not yet said for the first time what they offer.
#[derive(Debug)]
pub struct Discovery(mpsc::Receiver<Infallible>);

impl Discovery {
    /// Waits until all of them have said so, or have failed to.
    pub async fn ended(&mut self) {
        // Nothing is ever sent; each service holds a sender until then.
        let _ = self.0.recv().await;
    }
}

impl Gateway {
    /// Asks fresh services what they offer, all at once. One that answers late is put into the
    /// catalog when it does; one that never answers is left without tools.
    pub(crate) async fn discover_all(self: &Arc<Self>, services: Vec<Arc<Service>>) -> Discovery {
        let (pending, discovery) = mpsc::channel(1);
        let open = services.into_iter().filter(|service| matches!(service.state, State::Open(_)));
        let tasks = open.map(|service| {
            let (gateway, pending) = (self.clone(), pending.clone());
            let (tx, rx) = oneshot::channel();
            self.env.tasks.spawn(async move {
                let shutdown = gateway.env.shutdown.clone();
                shutdown.run_until_cancelled(gateway.follow(service, tx, pending)).await;
            });
            tokio::time::timeout(BRIEFLY, rx)
        });
        join_all(tasks).await;
        Discovery(discovery)
    }

    /// Discovers what a service offers, now and whenever it says that this has changed, until
    /// the service is gone from the catalog. One that does not say is asked again, ever less often.
    async fn follow(
        self: Arc<Self>,
        service: Arc<Service>,
        discovered: oneshot::Sender<()>,
        pending: mpsc::Sender<Infallible>,
    ) {
        // Heard from before the first question on, so that no change falls between that and the listening.
        let mut changes = service.connector().ok().and_then(|connector| connector.changes());
        let mut updates = service.connector().ok().and_then(|connector| Some(connector.library()?.updates()));
        let mut logs = service.connector().ok().and_then(|connector| connector.logs());
        let mut is_known = self.discover(&service).await;
        if discovered.send(()).is_err() {
            self.rebuild(&service.tenant).await;
        }
        drop(pending);
        let service = {
            let weak = Arc::downgrade(&service);
            drop(service);
            weak
        };
        let mut pause = FIRST_PAUSE;
        while !is_known || changes.is_some() {
            let is_ended = tokio::select! {
                () = tokio::time::sleep(pause), if !is_known => false,
                is_ended = next_change(&mut changes) => is_ended,
                log = next_of(&mut logs) => {
                    if let Some(service) = service.upgrade() {
                        self.log(&service, log);
                    }
                    continue;
                }
                update = next_of(&mut updates) => {
                    // Nobody listens unless a client watches something.
                    let _ = self.updates.send(ResourceUpdate { service: service.clone(), uri: update.uri });
                    continue;
                }
            };
            let Some(service) = service.upgrade().filter(|_| !is_ended) else { return };
            is_known = self.discover(&service).await;
            pause = (pause * 2).min(LAST_PAUSE);
            self.rebuild(&service.tenant).await;
        }
    }

    /// Asks a service what it offers; false when it does not say.
    pub(crate) async fn discover(&self, service: &Service) -> bool {
        let Ok(connector) = service.connector() else { return true };
        let cx = Context::system(service.tenant.clone(), DISCOVERY_TIMEOUT);
        let answer = tokio::time::timeout(DISCOVERY_TIMEOUT, connector.tools(&cx)).await;
        let answer = match answer.unwrap_or_else(|_| Err(Error::timeout("it did not list its tools in time")))
        {
            Ok(tools) => self.vet(service, connector.pinning(), tools).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(tools) => {
                service.offers(tools);
                self.discover_library(service, &cx).await;
                true
            }
            Err(error) => {
                let is_news = service.failure.load().is_none();
                service.failed(&error);
                if is_news {
                    tracing::warn!(
                        ?service,
                        error = error.full_message(),
                        "{service:?} has no tools: {error}"
                    );
                }
                false
            }
        }
    }

    /// The tool that a call means. One of a service that has never said what it offers is waited for.
    pub(crate) async fn resolve_heard(
        &self,
        cx: &Context,
        target: &Target,
        via: Option<&'static str>,
    ) -> Result<Resolved> {
        inside::may_begin(cx)?;
        let found = self.resolve_through(cx, target, via);
        match found.as_ref().is_err_and(is_unheard) {
            // Rare and large: other calls need not have room for it.
            true => Box::pin(self.wait_for_route(cx, target, via)).await,
            false => found,
        }
    }

    /// Waits until a snapshot has the tool or says why there is none, or the call's time is over.
    async fn wait_for_route(
        &self,
        cx: &Context,
        target: &Target,
        via: Option<&'static str>,
    ) -> Result<Resolved> {
        let timeout = match target {
            Target::Uri(uri) => uri.options().call_timeout(),
            Target::Name(_) | Target::Trial(_) => None,
        };
        let cx = Context { deadline: inside::latest_end(cx), ..cx.clone() };
        let cx = timeout.map_or(cx.clone(), |timeout| cx.for_at_most(timeout));
        let mut swaps = self.catalog.changes();
        loop {
            let found = self.resolve_through(&cx, target, via);
            if !found.as_ref().is_err_and(is_unheard) {
                return found;
            }
            match cx.within(swaps.changed()).await {
                Ok(Ok(())) => {}
                Err(Ended::Cancelled) => return Err(Ended::Cancelled.error("")),
                Ok(Err(_)) | Err(Ended::TimedOut) => return found,
            }
        }
    }

    fn resolve_through(&self, cx: &Context, target: &Target, via: Option<&'static str>) -> Result<Resolved> {
        match via {
            None => self.resolve(cx, target),
            Some(_) => self.resolve_found(cx, target),
        }
    }

    /// Asks for documents and prompts; a service that does not say keeps those it had.
    async fn discover_library(&self, service: &Service, cx: &Context) {
        let Some(library) = service.connector().ok().and_then(|connector| connector.library()) else {
            return;
        };
        match tokio::time::timeout(DISCOVERY_TIMEOUT, library.offer(cx)).await {
            Ok(Ok(offer)) => service.offer.store(Some(Arc::new(offer))),
            Ok(Err(error)) => tracing::warn!(?service, %error, "{service:?} lists no documents: {error}"),
            Err(_) => tracing::warn!(?service, "{service:?} lists no documents in time"),
        }
    }
}

/// A service is being asked what it offers, so that the next snapshot may have the tool.
fn is_unheard(error: &Error) -> bool {
    error.reason() == Some(Reason::Unheard)
}

/// Waits for a connector to say that its tools have changed; true when it never will again.
async fn next_change(changes: &mut Option<watch::Receiver<u64>>) -> bool {
    match changes {
        Some(changes) => changes.changed().await.is_err(),
        None => std::future::pending().await,
    }
}

/// Waits for what a service tells: a resource has changed, or a log entry. Of a storm some are missed, which
/// clients allow for.
async fn next_of<T: Clone>(told: &mut Option<broadcast::Receiver<T>>) -> T {
    while let Some(receiver) = told {
        match receiver.recv().await {
            Ok(news) => return news,
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => *told = None,
        }
    }
    std::future::pending().await
}
