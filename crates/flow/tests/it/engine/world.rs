//! A world for runs: a journal in memory that can fail, tools that are functions, a clock that tests move.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use flow::engine::{
    Answer, Call, Calls, Clock, Ending, Fact, Failure, Journal, Lost, Machine, Parking, Record, Start, Step,
    Stop, drive, steps,
};
use flow::{Bound, Flow};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// What a tool does when it is called.
#[derive(Clone)]
pub(super) enum Reply {
    Value(Value),
    Fail(Failure),
    Child(String),
    Slow(Duration, Value),
    /// Until it is cancelled.
    Never,
}

/// Tools and what became of them.
#[derive(Clone, Default)]
pub(super) struct World {
    tools: Arc<Mutex<HashMap<String, VecDeque<Reply>>>>,
    pub(super) calls: Arc<Mutex<Vec<Call>>>,
    at_work: Arc<AtomicUsize>,
    pub(super) most_at_work: Arc<AtomicUsize>,
    pub(super) cancelled: Arc<AtomicUsize>,
    child_told: Arc<Mutex<Option<Tell>>>,
}

/// Writes into a journal what a child would.
type Tell = Arc<dyn Fn() + Send + Sync>;

impl World {
    /// The tool answers so every time.
    pub(super) fn answers(&self, uri: &str, value: Value) {
        self.replies(uri, [Reply::Value(value)]);
    }

    /// The tool does this, one after the other; the last for ever.
    pub(super) fn replies(&self, uri: &str, replies: impl IntoIterator<Item = Reply>) {
        self.tools.lock().unwrap().insert(uri.to_owned(), replies.into_iter().collect());
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.calls.lock().unwrap().iter().map(|call| call.key.clone()).collect()
    }

    pub(super) fn start(&self, text: &str, inputs: Value) -> Run {
        let reading = flow::read(text);
        let flow = reading.flow.unwrap_or_else(|| panic!("{:#?}", reading.problems));
        let Value::Object(inputs) = inputs else { panic!("inputs are an object") };
        let start = Start {
            run: "r1".to_owned(),
            flow: "f".to_owned(),
            version: Some(1),
            inputs,
            trigger: json!({"kind": "test"}),
            tenant: "t1".to_owned(),
            bu_code: Some("b1".to_owned()),
            bound: Vec::new(),
        };
        let journal = Arc::new(Memory::default());
        Run {
            flow: Arc::new(flow),
            start,
            journal,
            world: self.clone(),
            clock: Arc::new(TestClock::default()),
        }
    }

    /// The child of the node at the path has ended before its parent knows of it.
    pub(super) fn before_child(&self, run: &Run, path: &str, output: Value) {
        let (journal, clock, path) = (Arc::clone(&run.journal), Arc::clone(&run.clock), path.to_owned());
        let tell = move || journal.tell(&path, Fact::ChildEnded(Ok(output.clone())), clock.now());
        *self.child_told.lock().unwrap() = Some(Arc::new(tell));
    }

    fn reply(&self, uri: &str) -> Option<Reply> {
        let mut tools = self.tools.lock().unwrap();
        let replies = tools.get_mut(uri)?;
        if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() }
    }
}

#[async_trait]
impl Calls for World {
    async fn call(&self, call: Call) -> Result<Answer, Failure> {
        self.calls.lock().unwrap().push(call.clone());
        let at_work = self.at_work.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_work.fetch_max(at_work, Ordering::SeqCst);
        let reply = self.reply(call.target.as_str().unwrap_or("agent"));
        let work = async {
            match reply {
                None => {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    Ok(Answer::Value(Value::Object(call.arguments.clone())))
                }
                Some(Reply::Value(value)) => Ok(Answer::Value(value)),
                Some(Reply::Fail(failure)) => Err(failure),
                Some(Reply::Child(run)) => {
                    let told = self.child_told.lock().unwrap().take();
                    if let Some(tell) = told {
                        tell();
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                    Ok(Answer::Child(run))
                }
                Some(Reply::Slow(time, value)) => {
                    tokio::time::sleep(time).await;
                    Ok(Answer::Value(value))
                }
                Some(Reply::Never) => std::future::pending().await,
            }
        };
        let result = tokio::select! {
            result = work => result,
            () = call.cancel.cancelled() => {
                self.cancelled.fetch_add(1, Ordering::SeqCst);
                Err(Failure::new("CANCELLED", "cancelled"))
            }
        };
        self.at_work.fetch_sub(1, Ordering::SeqCst);
        result
    }
}

/// One run, driven again and again from its journal.
pub(super) struct Run {
    pub(super) flow: Arc<Flow>,
    pub(super) start: Start,
    pub(super) journal: Arc<Memory>,
    pub(super) world: World,
    clock: Arc<TestClock>,
}

impl Run {
    pub(super) fn bind(mut self, bound: Vec<Bound>) -> Self {
        self.start.bound = bound;
        self
    }

    pub(super) fn machine(&self) -> Machine {
        Machine::new(Arc::clone(&self.flow), self.start.clone(), &self.journal.take_up())
    }

    /// Drives once, from the journal alone.
    pub(super) async fn drive(&self) -> Result<Stop, Lost> {
        self.drive_until(&CancellationToken::new()).await
    }

    pub(super) async fn drive_until(&self, stop: &CancellationToken) -> Result<Stop, Lost> {
        let mut machine = self.machine();
        let calls: Arc<dyn Calls> = Arc::new(self.world.clone());
        drive(&mut machine, &*self.journal, calls, &*self.clock, stop).await
    }

    /// Drives until the run ends; where it only waits for time, time passes.
    pub(super) async fn run(&self) -> Ending {
        for _ in 0..10_000 {
            match self.drive().await {
                Ok(Stop::Ended) => break,
                Ok(Stop::Parked) => match self.due_at() {
                    Some(due_at) => self.clock.sleep_until(due_at).await,
                    None => panic!("the run waits for somebody: {:?}", self.journal.parking()),
                },
                Ok(Stop::Stopped) | Err(_) => {}
            }
        }
        self.ending().expect("the run ends")
    }

    pub(super) fn ending(&self) -> Option<Ending> {
        self.records().iter().rev().find_map(|record| match &record.fact {
            Fact::Ended(ending) => Some(ending.clone()),
            _ => None,
        })
    }

    pub(super) fn due_at(&self) -> Option<DateTime<Utc>> {
        self.journal.parking().and_then(|parking| parking.due_at)
    }

    pub(super) fn records(&self) -> Vec<Record> {
        self.journal.records.lock().unwrap().clone()
    }

    pub(super) fn steps(&self) -> Vec<Step> {
        steps(Some(&self.flow), "r1", &self.records())
    }

    /// What somebody else writes into the journal.
    pub(super) fn tell(&self, path: &str, fact: Fact) {
        self.journal.tell(path, fact, self.clock.now());
    }
}

/// A journal in memory that may be cut off before or behind any write.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) records: Mutex<Vec<Record>>,
    news: Mutex<Vec<Record>>,
    told: Notify,
    parked: Mutex<Option<Parking>>,
    pub(super) writes: AtomicUsize,
    /// Lost at the writes of these numbers, from 1, and whether each still counts.
    pub(super) cuts: Mutex<Vec<(usize, bool)>>,
}

impl Memory {
    fn tell(&self, path: &str, fact: Fact, at: DateTime<Utc>) {
        let record = Record { at, path: path.to_owned(), attempt: 1, fact };
        self.records.lock().unwrap().push(record.clone());
        self.news.lock().unwrap().push(record);
        self.told.notify_one();
    }

    /// All records; they are no news any more. They go through JSON as they would through a database.
    fn take_up(&self) -> Vec<Record> {
        self.news.lock().unwrap().clear();
        let text = serde_json::to_string(&*self.records.lock().unwrap()).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    pub(super) fn parking(&self) -> Option<Parking> {
        self.parked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Journal for Memory {
    async fn append(&self, records: &[Record]) -> Result<(), Lost> {
        let write = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        let cut = self.cuts.lock().unwrap().iter().find(|(at, _)| *at == write).copied();
        if cut.is_none_or(|(_, counts)| counts) {
            self.records.lock().unwrap().extend_from_slice(records);
        }
        if cut.is_some() { Err(Lost("cut off".to_owned())) } else { Ok(()) }
    }

    async fn news(&self) -> Result<Vec<Record>, Lost> {
        loop {
            let news = std::mem::take(&mut *self.news.lock().unwrap());
            if !news.is_empty() {
                return Ok(news);
            }
            self.told.notified().await;
        }
    }

    async fn park(&self, parking: &Parking) -> Result<bool, Lost> {
        if !self.news.lock().unwrap().is_empty() {
            return Ok(false);
        }
        *self.parked.lock().unwrap() = Some(parking.clone());
        Ok(true)
    }
}

/// The clock of the runtime, whose time passes when nothing else happens.
pub(super) struct TestClock(Instant);

impl Default for TestClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

#[async_trait]
impl Clock for TestClock {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap() + self.0.elapsed()
    }

    async fn sleep_until(&self, instant: DateTime<Utc>) {
        let left = (instant - self.now()).to_std().unwrap_or_default();
        tokio::time::sleep(left + Duration::from_millis(1)).await;
    }
}
