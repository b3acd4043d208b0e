//! The journal of one run on our own tables, as long as the run is ours.

use super::Flows;
use super::agents;
use super::clock::DatabaseClock;
use super::progress::Progress;
use super::records::{from_row, of_others, to_row, wait_of};
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use flow::engine::{Ending, Fact, Failure, Journal, Lost, Parking, Record};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use store::runs::{Claim, ClaimedRun, Commit, Run, State, Then, Writer};
use store::{Store, runs};
use tokio::sync::watch;
use tool::RunId;

/// How soon news are looked for again where the database has not answered.
const AGAIN: Duration = Duration::from_millis(500);

pub(super) struct RunJournal {
    pub(super) store: Store,
    pub(super) writer: Writer,
    pub(super) clock: Arc<DatabaseClock>,
    pub(super) claim: Claim,
    pub(super) run: Run,
    /// The number of the last record that others left, as it is known in this process.
    pub(super) news: watch::Receiver<i64>,
    /// That of the last one which the machine knows.
    pub(super) seen: AtomicI64,
    /// There is news that `news` may not know of yet.
    pub(super) has_news: AtomicBool,
    pub(super) standing: Mutex<Standing>,
    /// How the run ended, once that is committed.
    pub(super) ending: OnceLock<Ending>,
    /// What whoever waits is told meanwhile.
    pub(super) progress: Progress,
}

/// What the records say that matters to others.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// Nodes that wait, by path.
    waiting: HashSet<String>,
    is_paused: bool,
    /// How often the run was tried again.
    pub(super) retries: usize,
}

impl Standing {
    pub(super) fn of(records: &[Record]) -> Self {
        let mut standing = Self::default();
        records.iter().for_each(|record| standing.take(record));
        standing
    }

    fn take(&mut self, record: &Record) {
        match &record.fact {
            Fact::Waiting(_) => {
                self.waiting.insert(record.path.clone());
            }
            Fact::Pause => self.is_paused = true,
            Fact::Resume => self.is_paused = false,
            // What came before it is read as if nobody had paused.
            Fact::Retry => {
                self.is_paused = false;
                self.retries += 1;
            }
            fact if ends_wait(fact) => {
                self.waiting.remove(&record.path);
            }
            _ => {}
        }
    }
}

fn ends_wait(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::Again
            | Fact::Called { .. }
            | Fact::Succeeded { .. }
            | Fact::Failed { .. }
            | Fact::Cancelled { .. }
    )
}

impl RunJournal {
    /// That of a run which is ours, with these records up to the number `seen`.
    pub(super) fn new(
        flows: &Flows,
        writer: Writer,
        claimed: ClaimedRun,
        news: watch::Receiver<i64>,
        records: &[Record],
        seen: i64,
    ) -> Self {
        Self {
            store: flows.store.clone(),
            writer,
            clock: flows.clock.clone(),
            claim: claimed.claim,
            run: claimed.run,
            news,
            seen: AtomicI64::new(seen),
            has_news: AtomicBool::new(false),
            standing: Mutex::new(Standing::of(records)),
            ending: OnceLock::new(),
            progress: Progress::default(),
        }
    }

    /// Everything that follows from the records for others, in one commit with them.
    fn commit_of(&self, records: &[Record]) -> Commit {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut commit = Commit::of(records.iter().map(to_row).collect());
        for record in records {
            let waits = matches!(record.fact, Fact::Waiting(_));
            // Who waits for something else does not wait for what was before any more.
            if (waits || ends_wait(&record.fact)) && standing.waiting.contains(&record.path) {
                close_wait(&mut commit, &record.path);
            }
            if let Fact::Waiting(waiting) = &record.fact {
                commit.opened.push(wait_of(&record.path, waiting, self.run.is_secret));
            }
            match &record.fact {
                Fact::Failed { child: Some(child), .. } | Fact::Cancelled { child: Some(child) } => {
                    commit.cancelled.extend(self.cancel_of(child));
                }
                Fact::Ended(ending) => self.end(&mut commit, ending),
                _ => {}
            }
            standing.take(record);
        }
        commit
    }

    fn cancel_of(&self, child: &str) -> Option<(RunId, runs::NewRecord)> {
        Some((child.parse().ok()?, of_others(self.clock.now_ms(), "", Fact::Cancel)))
    }

    fn end(&self, commit: &mut Commit, ending: &Ending) {
        commit.then = Then::End(match ending {
            Ending::Succeeded { output } => ended(State::Succeeded, Some(output), None),
            Ending::Failed { error } => {
                ended(State::Failed, None, Some(&serde_json::to_value(error).unwrap_or_default()))
            }
            Ending::Cancelled => ended(State::Cancelled, None, None),
        });
        if let Some(parent) = &self.run.parent {
            let result = match self.run.agent() {
                Some(_) => result_of(ending).map(agents::value),
                None => result_of(ending),
            };
            let told = Fact::ChildEnded(result);
            commit.told.push((parent.run.clone(), of_others(self.clock.now_ms(), &parent.path, told)));
        }
    }

    /// Ends the run, with all that is told of one that failed.
    pub(super) async fn finish(
        &self,
        at: DateTime<Utc>,
        ending: Ending,
        told: Option<Value>,
    ) -> Result<(), Lost> {
        let record = Record { at, path: String::new(), attempt: 1, fact: Fact::Ended(ending.clone()) };
        let mut commit = self.commit_of(&[record]);
        if let Then::End(end) = &mut commit.then {
            end.output = end.output.take().or_else(|| told.map(|told| told.to_string()));
        }
        self.write(commit).await?;
        let _ = self.ending.set(ending);
        Ok(())
    }

    async fn write(&self, commit: Commit) -> Result<runs::Committed, Lost> {
        self.writer.commit(&self.claim, commit).await.map_err(|error| Lost(error.to_string()))
    }

    /// Writes one record, and gives its number.
    pub(super) async fn append_one(&self, record: &Record) -> Result<i64, Lost> {
        let commit = self.commit_of(std::slice::from_ref(record));
        self.write(commit).await.map(|committed| committed.last_seq)
    }

    /// Gives the run back, so that somebody else takes it up at once.
    pub(super) async fn release(&self) -> Result<(), Lost> {
        self.write(Commit::then(Then::Release)).await.map(drop)
    }
}

/// What was opened in the same commit is not opened at all.
fn close_wait(commit: &mut Commit, path: &str) {
    let count = commit.opened.len();
    commit.opened.retain(|opened| opened.path != path);
    if commit.opened.len() == count {
        commit.closed.push(path.to_owned());
    }
}

fn ended(state: State, output: Option<&Value>, error: Option<&Value>) -> runs::Ending {
    runs::Ending { state, output: output.map(Value::to_string), error: error.map(Value::to_string) }
}

/// What a node that waited for a run makes of its end.
pub(super) fn result_of(ending: &Ending) -> Result<Value, Failure> {
    match ending {
        Ending::Succeeded { output } => Ok(output.clone()),
        Ending::Failed { error } => Err(error.clone()),
        Ending::Cancelled => Err(cancelled()),
    }
}

/// What a node that waited for a run learns when it was cancelled.
pub(super) fn cancelled() -> Failure {
    Failure::new("CANCELLED", "the run was cancelled")
}

#[async_trait]
impl Journal for RunJournal {
    async fn append(&self, records: &[Record]) -> Result<(), Lost> {
        self.write(self.commit_of(records)).await?;
        self.progress.tell(records);
        if let Some(Record { fact: Fact::Ended(ending), .. }) = records.last() {
            let _ = self.ending.set(ending.clone());
        }
        Ok(())
    }

    async fn news(&self) -> Result<Vec<Record>, Lost> {
        loop {
            let seen = self.seen.load(Ordering::Acquire);
            if !self.has_news.load(Ordering::Acquire) {
                let mut news = self.news.clone();
                if news.wait_for(|seq| *seq > seen).await.is_err() {
                    return Err(Lost("the run is not ours any more".into()));
                }
            }
            let (tenant, run) = (&self.claim.tenant, &self.claim.run);
            let found = match self.store.runs().news(tenant, run, seen).await {
                Ok(found) => found,
                // Whatever is under way comes to its end meanwhile; what cannot be written down does not begin.
                Err(error) if error.is_retryable() => {
                    tokio::time::sleep(AGAIN).await;
                    continue;
                }
                Err(error) => return Err(Lost(error.to_string())),
            };
            self.has_news.store(false, Ordering::Release);
            let Some(last) = found.last() else { continue };
            let records: Result<Vec<_>, _> = found.iter().map(|row| from_row(&row.record)).collect();
            let records = records.map_err(|_| Lost("the journal cannot be read".into()))?;
            // From here on nothing waits, so that what was read is also given.
            self.seen.store(last.seq, Ordering::Release);
            let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
            records.iter().for_each(|record| standing.take(record));
            return Ok(records);
        }
    }

    async fn park(&self, parking: &Parking) -> Result<bool, Lost> {
        let is_paused = self.standing.lock().unwrap_or_else(PoisonError::into_inner).is_paused;
        let parking = runs::Parking {
            state: if is_paused { State::Paused } else { State::Waiting },
            due_at: parking.due_at.map(|due_at| due_at.timestamp_millis()),
            seen: self.seen.load(Ordering::Acquire),
        };
        let committed = self.write(Commit::then(Then::Park(parking))).await?;
        self.has_news.store(!committed.is_given_back, Ordering::Release);
        Ok(committed.is_given_back)
    }
}
