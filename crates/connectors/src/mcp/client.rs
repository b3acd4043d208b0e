//! The one connection of a service: made on first use by one of many callers, kept, made anew.

use super::failure;
use super::session::{Session, Use};
use super::state::{Phase, State, Step};
use super::target::Target;
use super::tools::Tools;
use super::watched::Watched;
use crate::shared::attempts::Backoff;
use mcp::Version;
use mcp::client::{About, Diagnosis, Failure, Server};
use serde_json::value::RawValue;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tool::{Context, Env, Error, OnlyClient, Result, TenantId};
use tracing::debug;

/// A caller waits for the end of a pause if it is no longer than that; else it hears at once.
const SHORT_PAUSE: Duration = Duration::from_millis(250);

/// How a connection is kept.
#[derive(Clone)]
pub(super) struct Limits {
    /// Of the start and the handshake.
    pub(super) start: Duration,
    /// Between two attempts to connect.
    pub(super) backoff: Backoff,
    /// How often one call connects anew.
    pub(super) retries: u32,
    pub(super) idle: Option<Duration>,
    /// The version to begin with, where the settings name one.
    pub(super) version: Option<Version>,
}

/// Which requests may be sent once more over a new connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Those that the server cannot have seen: a tool may do something.
    Unsent,
    /// All: the request only asks.
    Always,
}

/// A service's way to its server.
pub(super) struct ReconnectingClient {
    pub(super) target: Arc<Target>,
    pub(super) limits: Limits,
    pub(super) tools: Arc<Tools>,
    pub(super) watched: Arc<Watched>,
    pub(super) tasks: TaskTracker,
    /// Fires when the service is dropped or the process shuts down.
    pub(super) closing: CancellationToken,
    state: Mutex<State>,
    pub(super) only_client: Option<Arc<OnlyClient>>,
    /// Whose service it is.
    pub(super) tenant: TenantId,
}

impl ReconnectingClient {
    pub(super) fn new(
        target: Target,
        limits: Limits,
        env: &Env,
        tools: Arc<Tools>,
        watched: Arc<Watched>,
    ) -> Self {
        let closing = env.shutdown.child_token();
        let (target, tasks, only_client) = (Arc::new(target), env.tasks.clone(), env.only_client.clone());
        Self {
            target,
            limits,
            tools,
            watched,
            tasks,
            closing,
            state: Mutex::default(),
            only_client,
            tenant: env.tenant.clone(),
        }
    }

    /// A second way to the same server, begun with a handshake; none where the first is, or may not be another.
    pub(super) fn with_handshake(&self) -> Option<Self> {
        (self.limits.version.is_none() && self.target.may_speak_both()).then(|| Self {
            target: self.target.clone(),
            limits: Limits { version: Some(Version::LATEST_LEGACY), ..self.limits.clone() },
            tools: self.tools.clone(),
            watched: Arc::new(self.watched.beside()),
            tasks: self.tasks.clone(),
            closing: self.closing.clone(),
            state: Mutex::default(),
            only_client: self.only_client.clone(),
            tenant: self.tenant.clone(),
        })
    }

    /// What is watched over this way.
    pub(super) fn watched(&self) -> &Watched {
        &self.watched
    }

    pub(super) fn name(&self) -> &str {
        self.target.name()
    }

    /// What is wrong with an answer, with whose it is.
    pub(super) fn blamed(&self, error: &Error) -> Error {
        Error::upstream(format!("the MCP server '{}' cannot be used: {}", self.name(), error.message()))
    }

    /// Ends the connection when fired.
    pub(super) fn closing(&self) -> CancellationToken {
        self.closing.clone()
    }

    /// A failure that has nothing to do with a connection, in words.
    pub(super) fn error(&self, failure: &Failure) -> Error {
        failure::error(&self.target, failure, &Diagnosis::default())
    }

    /// Sends a request, over a new connection where the old one is found broken.
    pub(super) async fn request(
        self: &Arc<Self>,
        cx: &Context,
        method: &str,
        about: About<'_>,
        params: Option<&str>,
        repeat: Repeat,
    ) -> Result<Box<RawValue>> {
        let mut retries = self.limits.retries;
        loop {
            let session = self.session(cx).await?;
            let _use = Use::begin(&session);
            let result =
                self.target.signed(cx, || session.client.request_about(cx, method, about, params)).await;
            let failure = match result {
                Ok(result) => return Ok(result),
                Err(failure) => failure,
            };
            let is_broken = matches!(failure, Failure::Broken { .. } | Failure::Stale);
            if session.client.is_ended_by(&failure) {
                self.discard(&session, &failure);
            }
            let may_repeat = failure.is_unsent() || is_broken && repeat == Repeat::Always;
            if !may_repeat || retries == 0 {
                return Err(failure::error(&self.target, &failure, &session.diagnosis));
            }
            retries -= 1;
            debug!(server = self.name(), %failure, "connecting anew to an MCP server");
        }
    }

    /// What the server said about itself when it was connected.
    pub(super) async fn server(self: &Arc<Self>, cx: &Context) -> Result<Server> {
        Ok(self.session(cx).await?.client.server().clone())
    }

    /// There is a connection at this moment, and the server knows it again.
    pub(super) fn has_session(&self) -> bool {
        match &self.state().phase {
            Phase::Ready(session) => session.is_usable() && session.client.has_session(),
            Phase::Idle | Phase::Connecting(_) => false,
        }
    }

    /// Connects, and says whether the server knows the connection again: only then can it ask something back. One
    /// that it does not is of no use.
    pub(super) async fn shake_hands(self: &Arc<Self>, cx: &Context) -> Result<bool> {
        let session = self.session(cx).await?;
        let has_session = session.client.has_session();
        if !has_session {
            session.retired.cancel();
        }
        Ok(has_session)
    }

    /// Asks for a sign of life; any answer is one.
    pub(super) async fn ping(self: &Arc<Self>, cx: &Context) -> Result<()> {
        let mut retries = self.limits.retries;
        loop {
            let session = self.session(cx).await?;
            let result = self.target.signed(cx, || session.client.ping(cx)).await;
            let Err(failure) = failure::is_alive(result) else { return Ok(()) };
            if session.client.is_ended_by(&failure) {
                self.discard(&session, &failure);
            }
            if !matches!(failure, Failure::Broken { .. } | Failure::Stale) || retries == 0 {
                return Err(failure::error(&self.target, &failure, &session.diagnosis));
            }
            retries -= 1;
        }
    }

    /// The connection, which is made if there is none.
    async fn session(self: &Arc<Self>, cx: &Context) -> Result<Arc<Session>> {
        match self.next_step(false)? {
            Step::Use(session) => Ok(session),
            // Boxed, as what is rare must not make the future of every call large.
            step => Box::pin(self.wait_for_session(cx, step)).await,
        }
    }

    /// Many callers wait for one attempt.
    async fn wait_for_session(self: &Arc<Self>, cx: &Context, mut step: Step) -> Result<Arc<Session>> {
        // The attempt that this caller has waited for has failed, so that no other is begun for it.
        let mut has_waited = false;
        loop {
            match step {
                Step::Use(session) => return Ok(session),
                Step::Pause(until) => self.within(cx, sleep_until(until.into())).await?,
                Step::Wait(mut done) => {
                    // An attempt that vanishes has ended too.
                    let ended = async { drop(done.wait_for(|is_done| *is_done).await) };
                    self.within(cx, ended).await?;
                    has_waited = true;
                }
            }
            step = self.next_step(has_waited)?;
        }
    }

    fn next_step(self: &Arc<Self>, has_waited: bool) -> Result<Step> {
        if self.closing.is_cancelled() {
            return Err(Error::unavailable("the service is being closed").retryable());
        }
        let mut state = self.state();
        if let Phase::Ready(session) = &state.phase {
            if session.is_usable() {
                return Ok(Step::Use(session.clone()));
            }
            let session = session.clone();
            state.end(&session, &self.limits);
        }
        if let Phase::Connecting(done) = &state.phase {
            return Ok(Step::Wait(done.clone()));
        }
        let failed = state.last_failure.as_ref();
        let failed = failed.map(|(failure, diagnosis)| failure::error(&self.target, failure, diagnosis));
        // A wrong key stays one.
        let is_refused = failed.as_ref().is_some_and(Error::is_about_credentials);
        let is_coming_back = state.is_coming_back(&self.limits) && !is_refused;
        if let Some(error) = failed.filter(|_| has_waited && !is_coming_back) {
            return Err(error);
        }
        let pause = state.retry_at.map(|at| at.saturating_duration_since(Instant::now())).unwrap_or_default();
        if let (Some(at), true) = (state.retry_at, !pause.is_zero()) {
            return if pause <= SHORT_PAUSE || is_coming_back {
                Ok(Step::Pause(at))
            } else {
                Err(self.backing_off(&state, pause))
            };
        }
        let (tx, done) = watch::channel(false);
        state.phase = Phase::Connecting(done.clone());
        drop(state);
        let client = self.clone();
        self.tasks.spawn(async move {
            client.connect().await;
            tx.send_replace(true);
        });
        Ok(Step::Wait(done))
    }

    /// Stops using a session that was found broken.
    fn discard(&self, session: &Arc<Session>, failure: &Failure) {
        session.retired.cancel();
        let mut state = self.state();
        if matches!(&state.phase, Phase::Ready(current) if Arc::ptr_eq(current, session)) {
            match failure {
                // The server is up and has merely forgotten us.
                Failure::Stale => state.phase = Phase::Idle,
                _ => state.end(session, &self.limits),
            }
            state.is_suspect = true;
            state.last_failure = Some((failure.clone(), session.diagnosis.clone()));
        }
    }

    fn backing_off(&self, state: &State, pause: Duration) -> Error {
        let ms = pause.as_millis();
        let last = state.last_failure.as_ref();
        let last = last.map(|(failure, diagnosis)| failure::error(&self.target, failure, diagnosis));
        let again = |why: &str| {
            let message = format!("{why}; it will be tried again in {ms} ms");
            Error::unavailable(message).with_retry_after(pause).retryable()
        };
        match last {
            // A wrong key is no reason to try again later.
            Some(error) if error.is_about_credentials() => error.with_retry_after(pause),
            Some(error) => again(error.message()).with_reason_of(&error),
            None => again(&format!("the MCP server '{}' keeps failing", self.name())),
        }
    }

    /// Waits as long as `cx` allows.
    pub(super) async fn within<T>(&self, cx: &Context, work: impl Future<Output = T>) -> Result<T> {
        cx.within(work).await.map_err(|ended| self.error(&ended.into()))
    }

    /// For what the client does on its own account.
    pub(super) fn context(&self, time: Duration) -> Context {
        Context { cancel: self.closing.child_token(), ..Context::system(self.tenant.clone(), time) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
