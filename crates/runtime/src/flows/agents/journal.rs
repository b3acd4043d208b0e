//! The journal of an agent's run: what the agent notes as records, and what records say to the agent.

use super::super::clock::DatabaseClock;
use super::super::journal::RunJournal;
use super::super::records::to_row;
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use flow::engine::{Decision, Fact, Lost, Record, Waiting};
use flow::settle::Exit;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tool::journal::{Approval, Decided, Journal, Note, Noted, parked};
use tool::{Error, Event, Events, Result, RunId};

/// What a run waits for that asks the model of the caller's own program.
pub(super) const SAMPLING: &str = "sampling";

/// The journal of a run that is ours, and what it says.
pub(super) struct AgentJournal {
    pub(super) journal: RunJournal,
    clock: Arc<DatabaseClock>,
    /// Whoever waits for the run hears of each record.
    events: Events,
    told: Mutex<JournalState>,
}

/// What somebody is asked about, and until when.
#[derive(Debug, Clone)]
struct Question {
    uri: String,
    arguments: Map<String, Value>,
    until: Option<DateTime<Utc>>,
}

/// What the records say, in the order in which they became true.
#[derive(Debug, Default)]
struct JournalState {
    steps: HashMap<String, Noted>,
    last_called: HashMap<String, Map<String, Value>>,
    /// What people are asked, by path.
    asked: HashMap<String, Question>,
    decided: HashMap<String, Decision>,
    /// When the caller's own model was asked, by path, and until when it may answer.
    sampled: HashMap<String, (DateTime<Utc>, Option<DateTime<Utc>>)>,
    /// The agent has read something that is not trusted.
    has_untrusted: bool,
    is_cancelled: bool,
    is_paused: bool,
    /// The process stops: nothing new begins.
    is_stopping: bool,
}

impl fmt::Debug for AgentJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentJournal").field("run", &self.journal.run.id).finish_non_exhaustive()
    }
}

impl JournalState {
    fn take(&mut self, record: Record) {
        let path = record.path;
        match record.fact {
            Fact::Called { target, arguments } => {
                let target = target.as_str().unwrap_or_default().to_owned();
                self.last_called.insert(target.clone(), arguments.clone());
                self.steps.entry(path).or_default().called = Some((target, arguments));
            }
            Fact::Succeeded { value, .. } => self.steps.entry(path).or_default().came = Some(value),
            Fact::Waiting(Waiting::Approval { title, until, .. }) => {
                let uri = title["uri"].as_str().unwrap_or_default().to_owned();
                let arguments = title["arguments"].as_object().cloned().unwrap_or_default();
                self.asked.insert(path, Question { uri, arguments, until });
            }
            Fact::Waiting(Waiting::Signal { .. }) => {
                self.sampled.insert(path, (record.at, None));
            }
            Fact::Decided(decision) => {
                self.decided.entry(path).or_insert(decision);
            }
            Fact::Cancel => self.is_cancelled = true,
            Fact::Pause => self.is_paused = true,
            Fact::Resume | Fact::Retry => self.is_paused = false,
            _ => {}
        }
    }
}

impl AgentJournal {
    pub(super) fn new(journal: RunJournal, records: Vec<Record>, events: Events) -> Self {
        let mut told = JournalState::default();
        records.into_iter().for_each(|record| told.take(record));
        Self { clock: journal.clock.clone(), journal, events, told: Mutex::new(told) }
    }

    fn told(&self) -> MutexGuard<'_, JournalState> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of what others have left.
    pub(super) fn hear(&self, news: Vec<Record>) {
        let mut told = self.told();
        news.into_iter().for_each(|record| told.take(record));
    }

    /// Nothing new begins from now on.
    pub(super) fn stop(&self) {
        self.told().is_stopping = true;
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.told().is_stopping
    }

    pub(super) fn has_untrusted(&self) -> bool {
        self.told().has_untrusted
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.told().is_cancelled
    }

    /// When the run has to be looked at again although nobody says anything; never while it is paused.
    pub(super) fn due_at(&self) -> Option<DateTime<Utc>> {
        let told = self.told();
        let is_open = |path: &&String| told.steps.get(*path).is_none_or(|step| step.came.is_none());
        let asked = told.asked.iter().map(|(path, question)| (path, question.until));
        let sampled = told.sampled.iter().map(|(path, (_, until))| (path, *until));
        let open = asked.chain(sampled).filter(|(path, _)| is_open(path));
        open.filter_map(|(_, until)| until).min().filter(|_| !told.is_paused)
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        flow::engine::Clock::now(&*self.clock)
    }

    /// Writes a record, and knows of it from then on.
    pub(super) async fn append(&self, path: &str, fact: Fact) -> Result<(), Lost> {
        let record = Record { at: self.now(), path: path.to_owned(), attempt: 1, fact };
        let seq = self.journal.append_one(&record).await?;
        self.tell(seq, &record);
        self.told().take(record);
        Ok(())
    }

    /// Tells of a record with its number, which is that of the same event for those who come later.
    fn tell(&self, seq: i64, record: &Record) {
        if !self.events.is_heard() {
            return;
        }
        let (run, row) = (&self.journal.run, to_row(record));
        let told = json!({
            "kind": "record", "seq": seq, "run": run.id, "agent": run.agent(), "path": row.path, "fact": row.kind,
            "data": serde_json::from_str::<Value>(&row.data).unwrap_or_default(),
        });
        if let Ok(told) = to_raw_value(&told) {
            self.events.emit(Event::Step(told));
        }
    }

    fn by(&self, approval: &Approval) -> Value {
        let starter = super::super::given::Starter::read(&self.journal.run.caller).identity();
        match approval.is_for_others {
            true => json!({ "role": "managers", "except": starter.id() }),
            false => json!([starter.id(), "managers"]),
        }
    }
}

/// The record of a note.
pub(super) fn to_record(at: DateTime<Utc>, note: Note) -> Record {
    let (path, fact) = match note {
        Note::Called { path, target, arguments } => (path, Fact::Called { target: target.into(), arguments }),
        Note::Came { path, value } => (path, Fact::Succeeded { value, sets: Vec::new(), exit: Exit::Next }),
    };
    Record { at, path, attempt: 1, fact }
}

#[expect(clippy::needless_pass_by_value, reason = "the argument of map_err")]
fn unwritten(lost: Lost) -> Error {
    Error::unavailable(format!("the run cannot be written down, so that nothing more is done: {}", lost.0))
        .retryable()
}

#[async_trait]
impl Journal for AgentJournal {
    fn run(&self) -> &RunId {
        &self.journal.run.id
    }

    fn noted(&self, path: &str) -> Noted {
        self.told().steps.get(path).cloned().unwrap_or_default()
    }

    fn last_called(&self, target: &str) -> Option<Map<String, Value>> {
        self.told().last_called.get(target).cloned()
    }

    fn read_untrusted(&self) {
        self.told().has_untrusted = true;
    }

    async fn note(&self, note: Note) -> Result<()> {
        let begins = matches!(note, Note::Called { .. });
        if begins && {
            let told = self.told();
            told.is_stopping || told.is_paused || told.is_cancelled
        } {
            return Err(parked());
        }
        let Record { path, fact, .. } = to_record(self.now(), note);
        self.append(&path, fact).await.map_err(unwritten)
    }

    async fn decided(&self, path: &str, approval: Approval) -> Result<Option<Decided>> {
        let asked = self.told().asked.get(path).cloned();
        let Some(Question { uri, arguments, until }) = asked else {
            let until = self.now() + approval.time;
            let title = json!({
                "agent": approval.agent, "tool": approval.tool, "uri": approval.uri,
                "arguments": approval.arguments
            });
            let by = self.by(&approval);
            let waiting = Waiting::Approval { title, fields: None, by, until: Some(until) };
            self.append(path, Fact::Waiting(waiting)).await.map_err(unwritten)?;
            return Ok(None);
        };
        let decision = self.told().decided.get(path).cloned();
        Ok(match decision {
            Some(Decision { is_approved: true, .. }) => Some(Decided::Approved { uri, arguments }),
            Some(Decision { comment, .. }) => Some(Decided::Denied(comment)),
            None if until.is_some_and(|until| until <= self.now()) => Some(Decided::Expired),
            None => None,
        })
    }

    async fn sampled(&self, path: &str, params: Value, time: Duration) -> Result<Option<Value>> {
        if !self.told().sampled.contains_key(path) {
            let waiting = Waiting::Signal { name: SAMPLING.to_owned(), key: Some(params) };
            self.append(path, Fact::Waiting(waiting)).await.map_err(unwritten)?;
        }
        let now = self.now();
        let mut told = self.told();
        if let Some(Decision { data, .. }) = told.decided.get(path) {
            return Ok(Some(data.clone()));
        }
        let Some((since, until)) = told.sampled.get_mut(path) else { return Ok(None) };
        let end = *since + time;
        *until = Some(end);
        match end <= now {
            true => Err(Error::timeout("the model of the calling program has not answered in time")),
            false => Ok(None),
        }
    }
}
