//! The work of a process on runs: claims what is due, keeps its claims, and gives everything back when it stops.

use super::predecessors::Presence;
use super::{Active, Flows};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use store::runs::Claim;
use tokio_util::sync::CancellationToken;
use tool::RunKind;

/// How long after the last claim it is looked for runs that have become due, unless somebody says so.
const LOOK: Duration = Duration::from_millis(500);
/// How often it is looked while nothing is due. A run whose process is gone is found so late behind the end of its claim,
/// which leaves time enough of the 20 s in which it has to be taken over.
const IDLE: Duration = Duration::from_secs(2);
/// How often it is looked for what others have to say to our runs.
const NEWS: Duration = Duration::from_secs(1);
/// News that come one right behind another are read together.
const TOGETHER: Duration = Duration::from_millis(20);
/// A claim lasts three times as long.
const RENEWAL: Duration = Duration::from_secs(5);
/// How often the clock is set.
const CLOCK: Duration = Duration::from_secs(30);
/// After a failure of the database.
const PAUSE: Duration = Duration::from_secs(1);
/// The most runs that are claimed at once.
const BATCH: usize = 64;
/// What writes may take behind the calls.
const LAST_WRITES: Duration = Duration::from_secs(2);

impl Flows {
    /// Works on runs until `stop` fires, then gives back those that go on.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner).take();
        let writing = writing.map(tokio::spawn);
        // Held until the end: as long as it is, nobody takes our runs from us.
        let _presence = match &self.options.data_dir {
            Some(folder) => Presence::announce(folder, &self.store).await,
            None => None,
        };
        let work = async {
            tokio::join!(
                self.claim_all(RunKind::Flow),
                self.claim_all(RunKind::Agent),
                self.renew_all(),
                self.hear_all(),
                self.set_clock(),
                self.fire_all(),
                self.listen_all()
            );
        };
        tokio::select! {
            () = work => {}
            () = stop.cancelled() => {}
        }
        self.stopping.cancel();
        self.tasks.close();
        let grace = self.options.grace() + LAST_WRITES;
        if tokio::time::timeout(grace, self.tasks.wait()).await.is_err() {
            tracing::warn!(
                "runs did not end within {grace:?}; others go on with them when our claims are over"
            );
        }
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writing) = writing {
            // It ends with the last run that has it.
            let _ = tokio::time::timeout(PAUSE, writing).await;
        }
    }

    /// Claims runs of a kind that are due, as many as there is room for.
    async fn claim_all(self: &Arc<Self>, kind: RunKind) {
        let of_kind = self.permits(kind);
        loop {
            let Ok(permit) = of_kind.clone().acquire_owned().await else { return };
            let more = of_kind.available_permits().min(BATCH - 1);
            let mut permits = vec![permit];
            permits.extend((0..more).map_while(|_| of_kind.clone().try_acquire_owned().ok()));
            let changed = self.store.runs().changed();
            let room = u32::try_from(permits.len()).unwrap_or(1);
            let claimed = match self
                .answered(self.store.runs().claim(kind, room, self.options.runs_per_tenant))
                .await
            {
                Ok(claimed) => claimed,
                Err(error) => {
                    tracing::warn!(%error, "runs wait, as none can be claimed: {error}");
                    drop(permits);
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let has_more = claimed.len() == permits.len();
            for (claimed, permit) in claimed.into_iter().zip(&mut permits.drain(..)) {
                drop(self.take_up(claimed, None, Some(permit)));
            }
            if !has_more {
                self.until_due(kind, changed).await;
            }
        }
    }

    /// Waits until there may be something to claim: this process has made a run due, the time of one has come, or another
    /// process has left one behind. One cheap question now and then is all that an idle process asks.
    async fn until_due(&self, kind: RunKind, changed: impl Future<Output = ()>) {
        tokio::pin!(changed);
        let mut pause = LOOK;
        while tokio::time::timeout(pause, &mut changed).await.is_err() {
            pause = match self.answered(self.store.runs().next_due(kind)).await {
                Ok(Some(due_in)) if due_in.is_zero() => return,
                Ok(due_in) => due_in.unwrap_or(IDLE).min(IDLE),
                // Whoever claims next says what is wrong.
                Err(_) => return,
            };
        }
    }

    /// Keeps the claims, and lets go of runs whose claim is lost.
    async fn renew_all(&self) {
        loop {
            tokio::time::sleep(RENEWAL).await;
            let claims = self.claims();
            if claims.is_empty() {
                continue;
            }
            match self.answered(self.store.runs().renew(&claims)).await {
                Ok(held) => self.take_note(&claims, held, Absent::IsLost),
                Err(error) => tracing::warn!(%error, "claims of runs are not renewed: {error}"),
            }
        }
    }

    /// Tells runs at work that somebody has left them something.
    async fn hear_all(&self) {
        loop {
            let changed = self.store.runs().changed();
            let claims = self.claims();
            if !claims.is_empty() {
                match self.answered(self.store.runs().held()).await {
                    Ok(held) => self.take_note(&claims, held, Absent::MayBeNew),
                    Err(error) => tracing::debug!(%error, "news of runs come later: {error}"),
                }
                tokio::time::sleep(TOGETHER).await;
            }
            let _ = tokio::time::timeout(NEWS, changed).await;
        }
    }

    async fn set_clock(&self) {
        loop {
            tokio::time::sleep(CLOCK).await;
            if let Err(error) = self.answered(self.clock.set(&self.store)).await {
                tracing::debug!(%error, "the clock of runs is not set: {error}");
            }
        }
    }

    fn claims(&self) -> Vec<Claim> {
        let active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        active.keys().cloned().collect()
    }

    fn take_note(&self, asked: &[Claim], held: Vec<(Claim, i64)>, absent: Absent) {
        let held: HashMap<Claim, i64> = held.into_iter().collect();
        let active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        for claim in asked {
            let Some(Active { news, lost }) = active.get(claim) else { continue };
            match (held.get(claim), absent) {
                (Some(seq), _) => {
                    news.send_if_modified(|known| {
                        let is_new = *seq > *known;
                        *known = (*known).max(*seq);
                        is_new
                    });
                }
                (None, Absent::IsLost) => lost.cancel(),
                (None, Absent::MayBeNew) => {}
            }
        }
    }
}

/// What it means that a claim is not among those that the database knows.
#[derive(Clone, Copy)]
enum Absent {
    /// Somebody else has the run, or it was given back.
    IsLost,
    /// Nothing: it may have been made since.
    MayBeNew,
}
