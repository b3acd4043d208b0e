//! The instances of a service as calls reach them: found, chosen, tried, and judged by how it went.

use super::balance::{Group, LoadBalancer, Outliers, Turn, Verdict};
use super::discovery::{Discovery, Followed, Pace};
use super::instance::Instance;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tool::{Context, Env, Error, Result};

/// How many instances one attempt connects to at the most.
const MAX_CONNECTS: usize = 3;

/// All instances of one service.
#[derive(Debug)]
pub(super) struct Fleet {
    group: SharedGroup,
    followed: Followed,
}

/// Kept up to date by whoever follows the registry.
#[derive(Debug, Clone)]
pub(super) struct SharedGroup(Arc<Mutex<Group>>);

impl SharedGroup {
    pub(super) fn lock(&self) -> MutexGuard<'_, Group> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a fleet is run.
#[derive(Debug)]
pub(super) struct FleetSettings {
    pub(super) load_balancer: LoadBalancer,
    pub(super) outliers: Outliers,
    pub(super) discovery: Discovery,
    pub(super) refresh: Duration,
    pub(super) max_stale: Duration,
    /// What a call may take.
    pub(super) timeout: Duration,
}

impl Fleet {
    pub(super) fn new(settings: FleetSettings, env: &Env) -> Self {
        let seed = RandomState::new().hash_one(0);
        let group = Group::new(settings.load_balancer, settings.outliers, seed);
        let group = SharedGroup(Arc::new(Mutex::new(group)));
        let pace = Pace {
            refresh: settings.refresh,
            max_stale: settings.max_stale,
            // A little less than a call has, so that it can still say what it waited for.
            look_up: settings.timeout * 9 / 10,
        };
        let followed = Followed::new(settings.discovery, pace, group.clone(), env);
        Self { group, followed }
    }

    /// The instance for the next connect, none of those that were `tried`. The first call looks up; whoever comes
    /// meanwhile waits for the same answer.
    ///
    /// # Errors
    /// `Unavailable` when there is none, naming the registry and the service.
    pub(super) async fn pick(&self, cx: &Context, tried: &[Arc<Instance>]) -> Result<Picked> {
        self.followed.ready(cx).await?;
        let turn = self.group.lock().pick(tried, Instant::now());
        let turn = turn.ok_or_else(|| self.followed.none())?;
        Ok(Picked { group: self.group.clone(), turn, verdict: Verdict::Unknown, fails_at: None })
    }

    /// Makes an exchange with an instance. One that cannot be connected to fails, and up to two others are tried.
    ///
    /// With `patience`, an exchange that is dropped when about that much time has passed counts against its instance: it is
    /// the time that the service itself has for an attempt, and nothing where the caller set the time.
    ///
    /// # Errors
    /// `Unavailable` when there is no instance, else what the last exchange came to.
    pub(super) async fn reach<T, F>(
        &self,
        cx: &Context,
        patience: Option<Duration>,
        exchange: impl Fn(Arc<Instance>) -> F,
    ) -> Result<(T, Picked)>
    where
        F: Future<Output = Result<T, Unreached>>,
    {
        // A little earlier, as the clock of whoever waits has begun before this one.
        let fails_at = patience.map(|patience| Instant::now() + patience * 9 / 10);
        let mut tried = Vec::new();
        let mut last = None;
        while tried.len() < MAX_CONNECTS {
            let mut picked = match self.pick(cx, &tried).await {
                Ok(picked) => picked,
                Err(error) => return Err(last.unwrap_or(error)),
            };
            picked.fails_at = fails_at;
            match exchange(picked.instance()).await {
                Ok(value) => return Ok((value, picked)),
                Err(Unreached::NotConnected(error)) => {
                    tried.push(picked.instance());
                    picked.end(Verdict::Failed);
                    last = Some(error);
                }
                Err(Unreached::Broken(error)) => {
                    picked.judge(Some(&error));
                    return Err(error);
                }
            }
        }
        Err(last.unwrap_or_else(|| self.followed.none()))
    }

    /// What is known to be wrong, without asking anybody.
    pub(super) fn trouble(&self) -> Option<String> {
        self.followed.trouble().or_else(|| self.group.lock().trouble())
    }

    /// Whether the registry answers.
    ///
    /// # Errors
    /// `Unavailable`, saying since when it does not, or that it knows no instance.
    pub(super) async fn health(&self, cx: &Context) -> Result<()> {
        self.followed.health(cx).await
    }
}

/// Why an exchange brought nothing.
#[derive(Debug)]
pub(super) enum Unreached {
    /// Nothing was sent, also where the address is none that may be called: another instance may be asked.
    NotConnected(Error),
    /// Something may have been done.
    Broken(Error),
}

/// An instance that somebody is busy with. Dropping it gives it back, with no word on how it was, unless the service
/// had all the time it has.
#[derive(Debug)]
pub(super) struct Picked {
    group: SharedGroup,
    turn: Turn,
    verdict: Verdict,
    fails_at: Option<Instant>,
}

impl Picked {
    pub(super) fn instance(&self) -> Arc<Instance> {
        self.turn.instance.clone()
    }

    /// Gives the instance back and says how it was: an error that is its fault counts against it.
    pub(super) fn judge(self, error: Option<&Error>) {
        let verdict = super::verdict::of(error);
        self.end(verdict);
    }

    /// Gives the instance back as one that hangs.
    #[cfg(feature = "grpc")]
    pub(super) fn fail(self) {
        self.end(Verdict::Failed);
    }

    fn end(mut self, verdict: Verdict) {
        self.verdict = verdict;
        self.fails_at = None;
    }
}

impl Drop for Picked {
    fn drop(&mut self) {
        let now = Instant::now();
        let verdict = match self.fails_at {
            Some(at) if at <= now => Verdict::Failed,
            _ => self.verdict,
        };
        self.group.lock().end(&self.turn, verdict, now);
    }
}
