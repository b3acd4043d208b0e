//! The driver: commits what the machine decides, makes its calls, and tells it what came of them.

use super::Machine;
use super::ports::{Answer, Call, Calls, Clock, Journal, Lost};
use super::record::Failure;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long calls may take to end when the run is to end.
const GRACE: Duration = Duration::from_secs(4);

/// Why the driver let go of a run that is still ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The run ended.
    Ended,
    /// The run waits and was given back.
    Parked,
    /// The driver was told to stop, or a call is for later. Other calls had a moment to end; whoever has the run next makes the others again.
    Stopped,
}

/// Calls under way, by path and attempt.
type Flying = FuturesUnordered<BoxFuture<'static, ((String, u32), Result<Answer, Failure>)>>;

/// Drives a run until it ends, waits, or `stop` is cancelled.
///
/// # Errors
/// When the run is lost; nothing of what was not committed counts.
pub async fn drive(
    machine: &mut Machine,
    journal: &dyn Journal,
    calls: Arc<dyn Calls>,
    clock: &dyn Clock,
    stop: &CancellationToken,
) -> Result<Stop, Lost> {
    let mut driver =
        Driver { journal, calls, clock, flying: Flying::new(), tokens: HashMap::new(), is_put_off: false };
    let stopped = driver.run(machine, stop).await;
    driver.cancel_all();
    stopped
}

struct Driver<'a> {
    journal: &'a dyn Journal,
    calls: Arc<dyn Calls>,
    clock: &'a dyn Clock,
    flying: Flying,
    tokens: HashMap<(String, u32), CancellationToken>,
    /// A call is to be made by whoever has the run next.
    is_put_off: bool,
}

impl Driver<'_> {
    async fn run(&mut self, machine: &mut Machine, stop: &CancellationToken) -> Result<Stop, Lost> {
        loop {
            if machine.is_cancelling() {
                self.land(machine).await;
            }
            let records = machine.advance(self.clock.now());
            if !records.is_empty() {
                self.journal.append(&records).await?;
            }
            if machine.ending().is_some() {
                return Ok(Stop::Ended);
            }
            self.launch(machine);
            if self.tokens.is_empty() {
                if self.journal.park(&machine.parking()).await? {
                    return Ok(Stop::Parked);
                }
                machine.learn(&self.journal.news().await?);
                continue;
            }
            if !self.wait(machine, stop).await? {
                return self.wind_down(machine).await;
            }
        }
    }

    /// Lets calls end that do so soon, and begins nothing new.
    async fn wind_down(&mut self, machine: &mut Machine) -> Result<Stop, Lost> {
        machine.hold();
        let deadline = tokio::time::Instant::now() + self.calls.grace();
        while !self.tokens.is_empty() {
            let Ok(Some((id, result))) = tokio::time::timeout_at(deadline, self.flying.next()).await else {
                break;
            };
            self.take(machine, &id, result);
        }
        let records = machine.advance(self.clock.now());
        if !records.is_empty() {
            self.journal.append(&records).await?;
        }
        Ok(if machine.ending().is_some() { Stop::Ended } else { Stop::Stopped })
    }

    /// Makes the calls that are to be under way, and cancels those that are not.
    fn launch(&mut self, machine: &Machine) {
        let wanted: HashSet<_> = machine.call_ids().collect();
        self.tokens.retain(|id, token| {
            let is_wanted = wanted.contains(id);
            if !is_wanted {
                token.cancel();
            }
            is_wanted
        });
        if wanted.len() == self.tokens.len() {
            return;
        }
        for call in machine.calls() {
            let id = (call.path.clone(), call.attempt);
            if !self.tokens.contains_key(&id) {
                self.tokens.insert(id.clone(), call.cancel.clone());
                self.flying.push(fly(Arc::clone(&self.calls), id, call));
            }
        }
    }

    /// Waits for something to happen; `false` if it is that we are to stop.
    async fn wait(&mut self, machine: &mut Machine, stop: &CancellationToken) -> Result<bool, Lost> {
        let due_at = machine.due_at();
        let alarm = async {
            match due_at {
                Some(instant) => self.clock.sleep_until(instant).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(false),
            Some((id, result)) = self.flying.next() => self.take(machine, &id, result),
            news = self.journal.news() => machine.learn(&news?),
            () = alarm => {}
        }
        // What else has come meanwhile goes into the same commit.
        while let Some(Some((id, result))) = self.flying.next().now_or_never() {
            self.take(machine, &id, result);
        }
        Ok(!self.is_put_off)
    }

    fn take(&mut self, machine: &mut Machine, id: &(String, u32), result: Result<Answer, Failure>) {
        let is_wanted = self.tokens.remove(id).is_some();
        if result == Ok(Answer::Later) {
            self.is_put_off = true;
        } else if is_wanted {
            machine.answer(&id.0, id.1, result, self.clock.now());
        }
    }

    /// Cancels all calls and waits a little; what still comes to its end counts.
    async fn land(&mut self, machine: &mut Machine) {
        self.tokens.values().for_each(CancellationToken::cancel);
        let deadline = tokio::time::Instant::now() + GRACE;
        while !self.tokens.is_empty() {
            let Ok(Some((id, result))) = tokio::time::timeout_at(deadline, self.flying.next()).await else {
                break;
            };
            if result.is_ok() {
                self.take(machine, &id, result);
            } else {
                self.tokens.remove(&id);
            }
        }
        self.tokens.clear();
    }

    fn cancel_all(&mut self) {
        self.tokens.drain().for_each(|(_, token)| token.cancel());
    }
}

fn fly(
    calls: Arc<dyn Calls>,
    id: (String, u32),
    call: Call,
) -> BoxFuture<'static, ((String, u32), Result<Answer, Failure>)> {
    async move {
        let result = calls.call(call).await;
        (id, result)
    }
    .boxed()
}
