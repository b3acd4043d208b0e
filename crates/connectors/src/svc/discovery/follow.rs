//! The task that follows a registry: the first look-up for all who wait, then news; what was known last while it fails.

use super::{Discovery, MAX_INSTANCES, Registry, Watch};
use crate::shared::attempts::Backoff;
use crate::svc::fleet::SharedGroup;
use chrono::{DateTime, SecondsFormat, Utc};
use futures::FutureExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use tool::{Context, Env, Error, ErrorKind, Reason, Result};

/// The first pause after a registry failed; it grows up to the time between two look-ups.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// Instances that are known, and whether they can still be believed.
#[derive(Debug)]
pub(in crate::svc) struct Followed {
    source: Source,
    group: SharedGroup,
    max_stale: Duration,
}

#[derive(Debug)]
enum Source {
    Static,
    Registry(Following),
}

/// How a registry is followed.
#[derive(Debug, Clone, Copy)]
pub(in crate::svc) struct Pace {
    pub(in crate::svc) refresh: Duration,
    pub(in crate::svc) max_stale: Duration,
    /// How long a call waits for a look-up.
    pub(in crate::svc) look_up: Duration,
}

/// One registry that is followed from the first call on.
#[derive(Debug)]
struct Following {
    name: &'static str,
    service: String,
    refresh: Duration,
    /// How long a call waits for a look-up.
    patience: Duration,
    news: watch::Receiver<Known>,
    /// Somebody waits for an answer now.
    wanted: Arc<Notify>,
    /// Taken by whoever starts the task.
    starting: Mutex<Option<Start>>,
    tasks: TaskTracker,
    /// Ends the task, when the process does or the service is gone.
    end: CancellationToken,
    _guard: DropGuard,
}

/// What the task is started with.
type Start = (Box<dyn Watch>, watch::Sender<Known>);

/// What came of the look-ups so far.
#[derive(Debug, Default, Clone)]
struct Known {
    /// How many have ended.
    look_ups: u64,
    has_list: bool,
    failure: Option<Failure>,
}

/// The registry has failed since then.
#[derive(Debug, Clone)]
struct Failure {
    since: Instant,
    date: DateTime<Utc>,
    error: Arc<Error>,
}

impl Followed {
    pub(in crate::svc) fn new(
        discovery: Discovery,
        Pace { refresh, max_stale, look_up }: Pace,
        group: SharedGroup,
        env: &Env,
    ) -> Self {
        let source = match discovery {
            Discovery::Static(instances) => {
                group.lock().replace(instances);
                Source::Static
            }
            Discovery::Registry(registry) => {
                Source::Registry(Following::new(registry, (refresh, look_up), env))
            }
        };
        Self { source, group, max_stale }
    }

    /// Waits until it is known which instances there are.
    ///
    /// # Errors
    /// `Unavailable` when the registry has never answered, or not for too long.
    pub(in crate::svc) async fn ready(&self, cx: &Context) -> Result<()> {
        let Source::Registry(following) = &self.source else { return Ok(()) };
        let known = following.news.borrow().clone();
        if self.is_usable(&known) {
            return Ok(());
        }
        let known = following.look_up(cx, &self.group, known.look_ups).await?;
        match &known.failure {
            Some(failure) if !self.is_usable(&known) => Err(following.unanswered(failure)),
            _ => Ok(()),
        }
    }

    fn is_usable(&self, known: &Known) -> bool {
        let is_fresh = |failure: &Failure| failure.since.elapsed() < self.max_stale;
        known.has_list && known.failure.as_ref().is_none_or(is_fresh)
    }

    /// Says that there is nobody to ask.
    pub(in crate::svc) fn none(&self) -> Error {
        let message = match &self.source {
            Source::Static => "none of the service's endpoints can be used now".to_owned(),
            Source::Registry(Following { name, service, .. }) => {
                format!("{name} knows no instance of '{service}' that can be used now")
            }
        };
        Error::unavailable(message).because(Reason::NoInstance).retryable()
    }

    /// Whether the registry answers and knows somebody.
    ///
    /// # Errors
    /// `Unavailable`, saying what is wrong since when.
    pub(in crate::svc) async fn health(&self, cx: &Context) -> Result<()> {
        let Source::Registry(following) = &self.source else { return Ok(()) };
        let mut known = following.news.borrow().clone();
        if !known.has_list || known.failure.is_some() {
            known = following.look_up(cx, &self.group, known.look_ups).await?;
        }
        self.judge(following, &known)
    }

    /// What is wrong with the registry as far as it was asked, if anything is.
    pub(in crate::svc) fn trouble(&self) -> Option<String> {
        let Source::Registry(following) = &self.source else { return None };
        let known = following.news.borrow().clone();
        let error = self.judge(following, &known).err().filter(|_| known.look_ups > 0);
        error.map(|error| error.full_message())
    }

    fn judge(&self, following: &Following, known: &Known) -> Result<()> {
        let Some(failure) = &known.failure else {
            return if self.group.lock().len() == 0 { Err(self.none()) } else { Ok(()) };
        };
        if !self.is_usable(known) {
            return Err(following.unanswered(failure));
        }
        let (Following { name, service, .. }, since) = (following, said(failure.date));
        let message = format!(
            "{}; what it last said of '{service}' is stale since {since} and serves meanwhile",
            failure.told(name)
        );
        Err(Error::unavailable(message)
            .retryable()
            .caused_by(failure.error.restated(failure.error.in_words())))
    }
}

impl Failure {
    /// Whether the registry says nothing, or what cannot be used.
    fn told(&self, name: &str) -> String {
        match self.error.kind() {
            ErrorKind::Upstream => format!("what {name} says cannot be used: {}", self.error.message()),
            _ => format!("{name} does not answer"),
        }
    }
}

impl Following {
    fn new(registry: Registry, (refresh, patience): (Duration, Duration), env: &Env) -> Self {
        let (sender, news) = watch::channel(Known::default());
        let end = env.shutdown.child_token();
        Self {
            name: registry.name,
            service: registry.service,
            refresh,
            patience,
            news,
            wanted: Arc::default(),
            starting: Mutex::new(Some((registry.watch, sender))),
            tasks: env.tasks.clone(),
            _guard: end.clone().drop_guard(),
            end,
        }
    }

    /// Waits for the next look-up to end, which begins now unless one is under way.
    async fn look_up(&self, cx: &Context, group: &SharedGroup, ended: u64) -> Result<Known> {
        self.start(group);
        self.wanted.notify_one();
        let mut news = self.news.clone();
        let cx = cx.for_at_most(self.patience);
        let waited = cx.within(news.wait_for(|known| known.look_ups > ended)).await;
        let late = || format!("{} did not say in time where '{}' is", self.name, self.service);
        match waited.map_err(|ended| ended.error(&late()))? {
            Ok(known) => Ok(known.clone()),
            Err(_) => Err(Error::unavailable("the service is being closed")),
        }
    }

    fn start(&self, group: &SharedGroup) {
        let starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((watch, sender)) = starting else { return };
        let backoff = Backoff { initial: FIRST_PAUSE.min(self.refresh), max: self.refresh };
        let task = follow(watch, sender, group.clone(), self.wanted.clone(), backoff);
        self.tasks.spawn(self.end.clone().run_until_cancelled_owned(task));
    }

    fn unanswered(&self, failure: &Failure) -> Error {
        let (name, service, since) = (self.name, &self.service, said(failure.date));
        let cause = failure.error.restated(failure.error.in_words());
        let is_refused = failure.error.kind() == ErrorKind::Upstream && failure.error.is_about_credentials();
        // What only the settings can mend is no outage: it is told as it is, and not worth another attempt.
        if failure.error.kind() == ErrorKind::Denied || is_refused {
            return cause;
        }
        let message = match failure.error.kind() {
            ErrorKind::Upstream => format!("{}, since {since}, asked for '{service}'", failure.told(name)),
            _ => format!("{name} has not said since {since} where '{service}' is"),
        };
        Error::unavailable(message).caused_by(cause).retryable().because(Reason::NoInstance)
    }
}

fn said(date: DateTime<Utc>) -> String {
    date.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Looks up for ever. After a failure it rests, unless somebody waits for an answer.
async fn follow(
    mut watch: Box<dyn Watch>,
    sender: watch::Sender<Known>,
    group: SharedGroup,
    wanted: Arc<Notify>,
    backoff: Backoff,
) {
    let mut failures = 0;
    loop {
        match watch.next().await.and_then(believable) {
            Ok(instances) => {
                failures = 0;
                group.lock().replace(instances);
                sender.send_modify(|known| {
                    *known = Known { look_ups: known.look_ups + 1, has_list: true, failure: None };
                });
            }
            Err(error) => {
                failures += 1;
                // Whoever waits gets this answer, and must not have the registry asked at once again.
                let _ = wanted.notified().now_or_never();
                tracing::debug!(%error, failures, "a registry could not be asked: {}", error.full_message());
                sender.send_modify(|known| {
                    known.look_ups += 1;
                    let error = Arc::new(error);
                    match &mut known.failure {
                        Some(failure) => failure.error = error,
                        None => {
                            known.failure = Some(Failure { since: Instant::now(), date: Utc::now(), error });
                        }
                    }
                });
                let _ = tokio::time::timeout(backoff.after(failures), wanted.notified()).await;
            }
        }
    }
}

/// A registry may be wrong or not ours: what it says is checked before it is used.
fn believable(instances: Vec<super::Instance>) -> Result<Vec<super::Instance>> {
    if instances.len() > MAX_INSTANCES {
        let message = format!("there are {} instances, at most {MAX_INSTANCES} can be used", instances.len());
        return Err(Error::upstream(message));
    }
    let named = instances.len();
    let sane: Vec<_> = instances.into_iter().filter(super::Instance::is_sane).collect();
    super::web::warn_of_left_out(named - sane.len());
    Ok(sane)
}
