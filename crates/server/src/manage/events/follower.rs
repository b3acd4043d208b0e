//! One listener: what it has heard of, what it waits for, and whether it may still listen.

use super::changes::Changes;
use super::traffic::Traffic;
use super::watched::{Health, Indexes, Runs};
use super::{Topic, event};
use crate::Shared;
use crate::auth::SignedIn;
use axum::response::sse::Event;
use gateway::audit::Entry;
use runtime::Loaded;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{OwnedSemaphorePermit, watch};

/// How often that is looked at which nobody tells of.
const LOOK: Duration = Duration::from_secs(1);
/// Browsers come back by themselves, and sign in anew with that.
const LONGEST: Duration = Duration::from_secs(30 * 60);

pub(super) struct Follower {
    state: Shared,
    signed_in: SignedIn,
    began: Instant,
    waiting: VecDeque<(&'static str, Value)>,
    loads: Receiver<Loaded>,
    calls: Option<Receiver<Arc<Entry>>>,
    swaps: watch::Receiver<u64>,
    ticks: tokio::time::Interval,
    changes: Option<Changes>,
    health: Option<Health>,
    traffic: Traffic,
    indexes: Option<Indexes>,
    runs: Option<Runs>,
    _place: OwnedSemaphorePermit,
}

enum Wake {
    Loaded(Result<Loaded, RecvError>),
    Call(Result<Arc<Entry>, RecvError>),
    Swapped,
    Tick,
}

impl Follower {
    pub(super) fn new(
        state: Shared,
        signed_in: SignedIn,
        topics: &[Topic],
        last: Option<&str>,
        place: OwnedSemaphorePermit,
    ) -> Self {
        let has = |topic: Topic| topics.contains(&topic);
        // Subscribed before the revision is read: what comes in between is told twice rather than never.
        let (loads, swaps) = (state.reload.loads(), state.gateway.catalog().changes());
        let calls = (has(Topic::Call) || has(Topic::Stats)).then(|| state.gateway.audit().follow());
        let revision = state.reload.revision();
        let is_behind = last.is_some_and(|last| last != revision.to_string());
        let reset = is_behind.then(|| ("reset", json!({ "revision": revision })));
        let mut ticks = tokio::time::interval(LOOK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        Self {
            changes: has(Topic::Changed).then(Changes::new),
            health: has(Topic::Health).then(|| Health::new(&state, &signed_in.tenant)),
            traffic: Traffic::new(has(Topic::Call), has(Topic::Stats)),
            indexes: has(Topic::Index).then(Indexes::default),
            runs: has(Topic::Run).then(Runs::new),
            began: Instant::now(),
            waiting: reset.into_iter().collect(),
            state,
            signed_in,
            loads,
            calls,
            swaps,
            ticks,
            _place: place,
        }
    }

    /// The next event; nothing when the server stops or the listener may not listen any more.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((name, data)) = self.waiting.pop_front() {
                return Some(event(name, self.state.reload.revision(), &data));
            }
            let stopping = self.state.stopping.clone();
            let heard = stopping.run_until_cancelled(self.listen()).await?;
            self.signed_in = self.state.auth.current(&self.signed_in)?;
            if self.signed_in.may_read().is_err() || self.began.elapsed() > LONGEST {
                return None;
            }
            self.take(heard).await;
        }
    }

    async fn listen(&mut self) -> Wake {
        tokio::select! {
            loaded = self.loads.recv() => Wake::Loaded(loaded),
            call = next_of(&mut self.calls) => Wake::Call(call),
            changed = self.swaps.changed(), if self.health.is_some() => {
                // The catalog lives as long as the server does.
                let _ = changed;
                Wake::Swapped
            }
            _ = self.ticks.tick() => Wake::Tick,
        }
    }

    async fn take(&mut self, heard: Wake) {
        let Self { state, signed_in, waiting, .. } = self;
        match heard {
            Wake::Loaded(Ok(loaded)) if loaded.tenants.contains(&signed_in.tenant) => {
                if let Some(changes) = &mut self.changes {
                    waiting.extend(changes.of_load(state, signed_in, loaded.revision).await);
                }
            }
            Wake::Loaded(Err(RecvError::Lagged(_))) => {
                waiting.push_back(("reset", json!({ "revision": state.reload.revision() })));
            }
            Wake::Loaded(_) => {}
            Wake::Call(call) => self.take_calls(call),
            Wake::Swapped => {
                if let Some(health) = &mut self.health {
                    waiting.extend(health.look(state, &signed_in.tenant));
                }
            }
            Wake::Tick => self.look().await,
        }
    }

    /// Calls come in batches: all that are there are taken at once, so that who listens is looked up once for them.
    fn take_calls(&mut self, first: Result<Arc<Entry>, RecvError>) {
        let mut call = first;
        loop {
            match call {
                Ok(entry) => self.waiting.extend(self.traffic.take(&entry, &self.signed_in)),
                Err(RecvError::Lagged(_)) => self.traffic.miss(),
                Err(RecvError::Closed) => self.calls = None,
            }
            let Some(calls) = &mut self.calls else { return };
            call = match calls.try_recv() {
                Ok(entry) => Ok(entry),
                Err(TryRecvError::Lagged(count)) => Err(RecvError::Lagged(count)),
                Err(TryRecvError::Closed) => Err(RecvError::Closed),
                Err(TryRecvError::Empty) => return,
            };
        }
    }

    async fn look(&mut self) {
        let Self { state, signed_in, waiting, .. } = self;
        waiting.extend(self.traffic.tick(state.reload.revision()));
        if let Some(changes) = &mut self.changes {
            waiting.extend(changes.look(state, signed_in).await);
        }
        if let Some(indexes) = &mut self.indexes {
            waiting.extend(indexes.look(state, signed_in).await);
        }
        if let Some(runs) = &mut self.runs {
            waiting.extend(runs.look(state, signed_in).await);
        }
    }
}

async fn next_of(calls: &mut Option<Receiver<Arc<Entry>>>) -> Result<Arc<Entry>, RecvError> {
    match calls {
        Some(calls) => calls.recv().await,
        None => std::future::pending().await,
    }
}
