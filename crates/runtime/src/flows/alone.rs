//! A run without a server: its journal is memory, and ends with the process.

use super::agents;
use super::calls::{answer_of, failure_of};
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use flow::engine::{
    Answer, Call, Calls, Clock, Decision, Ending, Fact, Failure, Journal, Lost, Machine, Parking, Record,
    Start, Waiting, drive,
};
use flow::{Bound, Flow};
use gateway::Gateway;
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tool::{Arguments, Context, Error, ErrorKind, Request, Result, Shared, Step, Target};

/// Whoever watches a run, and is asked what it asks people.
pub trait Watcher: Send + Sync {
    /// Something became true.
    fn see(&self, record: &Record);

    /// Decides on an approval, and fills in what its JSON Schema asks for; `None` where nobody can be asked.
    fn decide(&self, path: &str, title: &Value, fields: Option<&Value>) -> Option<Decision>;
}

/// A flow to be run without a server.
pub struct Alone {
    /// What its text says.
    pub flow: Arc<Flow>,
    /// Parameters that are bound by name.
    pub bound: Vec<Bound>,
    /// What it is given.
    pub inputs: Map<String, Value>,
    /// What its calls go through.
    pub gateway: Arc<Gateway>,
    /// What the contexts of its calls begin with; its cancel cancels the run. Each call has the time that it has left when the
    /// run begins.
    pub cx: Context,
    /// What programs call a kind of failure.
    pub code_of: fn(ErrorKind) -> &'static str,
}

impl Alone {
    /// Runs the flow to its end.
    ///
    /// # Errors
    /// When it waits for something that never comes here: a signal, or a person who cannot be asked.
    pub async fn run(self, watcher: &dyn Watcher) -> Result<Ending> {
        let start = Start {
            run: tool::new_id(),
            flow: self.flow.id.clone().unwrap_or_default(),
            inputs: self.inputs,
            tenant: self.cx.tenant.to_string(),
            bound: self.bound,
            ..Start::default()
        };
        let mut machine = Machine::new(self.flow, start, &[]);
        let journal = Memory { watcher, news: Mutex::default(), cancel: self.cx.cancel.clone() };
        let time = self.cx.remaining();
        let calls = Arc::new(PlainCalls { gateway: self.gateway, cx: self.cx, time, code_of: self.code_of });
        let never = CancellationToken::new();
        drive(&mut machine, &journal, calls, &SystemClock, &never)
            .await
            .map_err(|lost| Error::unsupported(lost.to_string()))?;
        let ending = machine.ending().cloned();
        ending.ok_or_else(|| Error::internal("the run stopped without an end"))
    }
}

struct Memory<'a> {
    watcher: &'a dyn Watcher,
    news: Mutex<Option<Vec<Record>>>,
    cancel: CancellationToken,
}

impl Memory<'_> {
    fn leave(&self, path: &str, fact: Fact) {
        let record = Record { at: SystemClock.now(), path: path.to_owned(), attempt: 1, fact };
        self.news.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().push(record);
    }

    /// Somebody cancels the run, once.
    fn heed_cancel(&self) {
        self.leave("", Fact::Cancel);
    }
}

#[async_trait]
impl Journal for Memory<'_> {
    async fn append(&self, records: &[Record]) -> std::result::Result<(), Lost> {
        records.iter().for_each(|record| self.watcher.see(record));
        Ok(())
    }

    async fn news(&self) -> std::result::Result<Vec<Record>, Lost> {
        if let Some(news) = self.news.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Ok(news);
        }
        self.cancel.cancelled().await;
        self.heed_cancel();
        Ok(self.news.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default())
    }

    async fn park(&self, parking: &Parking) -> std::result::Result<bool, Lost> {
        for (path, waiting) in &parking.waiting {
            let Waiting::Approval { title, fields, .. } = waiting else { continue };
            match self.watcher.decide(path, title, fields.as_ref()) {
                Some(decision) => self.leave(path, Fact::Decided(decision)),
                None => return Err(Lost(format!("'{path}' asks for an approval; run the flow on a server"))),
            }
        }
        if self.news.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return Ok(false);
        }
        let Some(due_at) = parking.due_at else {
            let paths: Vec<_> = parking.waiting.iter().map(|(path, _)| path.as_str()).collect();
            let message = format!("{} waits for something that only a server gets", paths.join(", "));
            return Err(Lost(message));
        };
        tokio::select! {
            () = SystemClock.sleep_until(due_at) => {}
            () = self.cancel.cancelled() => self.heed_cancel(),
        }
        // There may be none; what matters is that it is looked again.
        self.news.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
        Ok(false)
    }
}

struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }

    async fn sleep_until(&self, instant: DateTime<Utc>) {
        let left = (instant - Utc::now()).to_std().unwrap_or(Duration::ZERO);
        tokio::time::sleep(left).await;
    }
}

/// Calls of the one who runs the flow, and of nobody else.
struct PlainCalls {
    gateway: Arc<Gateway>,
    cx: Context,
    /// Of each call for which the flow gives none.
    time: Duration,
    code_of: fn(ErrorKind) -> &'static str,
}

#[async_trait]
impl Calls for PlainCalls {
    async fn call(&self, call: Call) -> std::result::Result<Answer, Failure> {
        let (uri, in_place) = agents::target(&call.target)?;
        let left = call.deadline.map(|deadline| (deadline - Utc::now()).to_std().unwrap_or(Duration::ZERO));
        let deadline = Instant::now() + left.unwrap_or(self.time);
        let step = Step {
            run: None,
            path: Some(call.path.as_str().into()),
            idempotency_key: Some(call.key.as_str().into()),
            ..Step::default()
        };
        let cx = Context { deadline, cancel: call.cancel.clone(), ..self.cx.clone() }.nested(step);
        let shared = in_place.map(|in_place| Shared::new(Arc::new(in_place)));
        let cx = Context { shared, ..cx };
        let request = Request::new(Target::Uri(uri), Arguments::from(call.arguments));
        match self.gateway.call(&cx, request).await {
            Ok(outcome) => answer_of(outcome, true, self.code_of),
            Err(error) => Err(failure_of(&error, self.code_of)),
        }
    }
}
