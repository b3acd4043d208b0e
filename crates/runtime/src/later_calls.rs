//! Calls that wait for their time: made by one process at a time, never early, and again until they succeed.

use std::collections::{HashMap, HashSet};
use std::sync::Weak;
use std::time::{Duration, Instant};
use store::{DueCall, Queues, Store};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tool::{Arguments, CallTools, Context, ErrorKind, Queue as _, Request, Result, Target, TenantId};

/// How long the work stays with a process that no longer says anything.
const LEASE: Duration = Duration::from_secs(15);
/// How often the others look whether it does.
const LOOK: Duration = Duration::from_secs(5);
/// The longest and shortest pause between two looks at what is due.
const PAUSE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
/// How many services are called at once, and how many of one tenant's. Each tenant can always call one.
const SERVICES: usize = 64;
const SHARE: usize = 16;
/// How long one call may take.
const TIME: Duration = Duration::from_secs(60);
/// The first and the longest pause after a call that failed.
const RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// The same after a call that was refused. Others are made meanwhile.
const REFUSED: Duration = Duration::from_millis(250);
const LONGEST_REFUSED: Duration = Duration::from_secs(5 * 60);
/// How often what may come back is looked for, a service or a queue: about a day.
const LOOKS: u32 = 300;
/// How often what does not fit is tried: settings may have been changed by mistake, and back at once.
const MISFITS: u32 = 5;

/// Makes the calls of all tenants whose time has come, through `tools`, until cancelled.
pub async fn make_later_calls(
    store: Store,
    queues: Queues,
    tools: Weak<dyn CallTools>,
    cancel: CancellationToken,
) {
    loop {
        let work = store.leases().run("later-calls", LEASE, |_| make_all(&queues, &tools));
        match cancel.run_until_cancelled(work).await {
            None => return,
            Some(Ok(None)) => {}
            Some(Err(error) | Ok(Some(error))) => {
                tracing::warn!(%error, "calls that are due wait for the database: {error}");
            }
        }
        if cancel.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_none() {
            return;
        }
    }
}

/// Gives each service that calls are due to a task of its own, so that none waits behind another. Ends with an error only;
/// the tasks end with it.
async fn make_all(queues: &Queues, tools: &Weak<dyn CallTools>) -> store::Error {
    let mut changes = queues.changes();
    let mut tasks = JoinSet::new();
    let mut places = Places::default();
    loop {
        while let Some(done) = tasks.try_join_next() {
            if let Ok((service, end)) = done {
                places.leave(service, end);
            }
        }
        // One question is all that is asked while nothing is due.
        let next = match queues.later().next_in().await {
            Ok(next) => next.unwrap_or(PAUSE),
            Err(error) => return error,
        };
        if next.is_zero() {
            let due = match queues.later().due_services().await {
                Ok(due) => due,
                Err(error) => return error,
            };
            for service in places.take(due) {
                tasks.spawn(make_due(queues.clone(), tools.clone(), service));
            }
        }
        tokio::select! {
            () = tokio::time::sleep(next.clamp(SHORTEST_PAUSE, PAUSE)) => {}
            _ = changes.changed() => tokio::time::sleep(SHORTEST_PAUSE).await,
        }
    }
}

/// A service and whose it is.
type Service = (TenantId, String);

/// How the work for a service ended.
#[derive(Clone, Copy)]
enum End {
    /// All calls that were due were made.
    Done,
    /// The next call failed; whether others were made before it.
    Failed { made_some: bool },
}

/// Who is called now, and who is waited for.
#[derive(Default)]
struct Places {
    busy: HashSet<Service>,
    /// Those whose last call failed. They have no place meanwhile.
    pauses: HashMap<Service, Pause>,
}

struct Pause {
    until: Instant,
    length: Duration,
}

impl Places {
    /// Those of the services that are called now, each of which has a place until it leaves.
    fn take(&mut self, mut due: Vec<Service>) -> Vec<Service> {
        let now = Instant::now();
        let is_due: HashSet<&Service> = due.iter().collect();
        self.pauses.retain(|service, _| is_due.contains(service));
        // Those that fail, and may take long to do so, come after those that do not.
        due.sort_by_key(|service| self.pauses.get(service).map(|pause| pause.until));
        let mut shares: HashMap<TenantId, usize> = HashMap::new();
        for (tenant, _) in &self.busy {
            *shares.entry(tenant.clone()).or_default() += 1;
        }
        let mut taken = Vec::new();
        for service in due {
            let pauses = self.pauses.get(&service).is_some_and(|pause| pause.until > now);
            let share = shares.entry(service.0.clone()).or_default();
            // Whoever has nothing yet is not kept waiting by others.
            let has_room = *share == 0 || (*share < SHARE && self.busy.len() < SERVICES);
            if !pauses && has_room && self.busy.insert(service.clone()) {
                *share += 1;
                taken.push(service);
            }
        }
        taken
    }

    fn leave(&mut self, service: Service, end: End) {
        self.busy.remove(&service);
        let before = self.pauses.remove(&service);
        let End::Failed { made_some } = end else { return };
        let length =
            before.filter(|_| !made_some).map_or(RETRY, |pause| (pause.length * 2).min(LONGEST_RETRY));
        self.pauses.insert(service, Pause { until: Instant::now() + length, length });
    }
}

/// Makes the calls to one service that are due, one after the other, until one fails.
async fn make_due(queues: Queues, tools: Weak<dyn CallTools>, (tenant, service): Service) -> (Service, End) {
    let mut made_some = false;
    while let Ok(calls) = queues.later().due(&tenant, &service).await {
        if calls.is_empty() {
            break;
        }
        for call in calls {
            if !make(&queues, &tools, &call).await {
                return ((tenant, service), End::Failed { made_some });
            }
            made_some = true;
        }
    }
    ((tenant, service), End::Done)
}

/// Makes one call, and says whether the next can be made: one that is refused makes room for others, one that fails is made
/// again before them.
async fn make(queues: &Queues, tools: &Weak<dyn CallTools>, call: &DueCall) -> bool {
    let settled = match make_once(tools, call).await {
        Ok(()) => queues.later().done(call).await,
        Err(error) => match tries(error.kind()) {
            Some(tries) if call.refusals + 1 < tries => {
                let pause = REFUSED.saturating_mul(2u32.saturating_pow(call.refusals));
                tracing::debug!(uri = call.uri, %error, "a later call was refused, and is put off: {error}");
                queues.later().put_off(call, pause.min(LONGEST_REFUSED)).await
            }
            Some(_) => give_up(queues, tools, call, &error).await,
            None => {
                tracing::debug!(uri = call.uri, %error, "a later call failed, trying again: {error}");
                return false;
            }
        },
    };
    if let Err(error) = &settled {
        // It is made again: better twice than never.
        tracing::debug!(%error, "a later call cannot be crossed off: {error}");
    }
    settled.is_ok()
}

/// How often a call is tried that is refused so; nothing where it was not refused, but failed.
fn tries(kind: ErrorKind) -> Option<u32> {
    use ErrorKind::{Denied, InvalidInput, Missing, NotFound, Unsupported};
    match kind {
        NotFound | Missing | Denied => Some(LOOKS),
        InvalidInput | Unsupported => Some(MISFITS),
        _ => None,
    }
}

/// Keeps the call with its reason, and says so where people look: in the log and in the audit.
async fn give_up(
    queues: &Queues,
    tools: &Weak<dyn CallTools>,
    call: &DueCall,
    error: &tool::Error,
) -> store::Result<()> {
    queues.later().give_up(call, error.message()).await?;
    let (tenant, id, uri) = (&call.tenant, &call.id, &call.uri);
    let tries = call.refusals + 1;
    tracing::warn!(%tenant, id, uri, %error, "a call to {uri} that was to be made later ('{id}') is given up after {tries} tries: {error}");
    if let Some(tools) = tools.upgrade() {
        let message = format!("given up after {tries} tries ('{id}'): {}", error.message());
        let cx = Context::system(tenant.clone(), TIME);
        tools.refuse(&cx, uri, error.restated(message)).await;
    }
    Ok(())
}

async fn make_once(tools: &Weak<dyn CallTools>, call: &DueCall) -> Result<()> {
    let Some(tools) = tools.upgrade() else {
        return Err(tool::Error::unavailable("the gateway has ended"));
    };
    let cx = Context::system(call.tenant.clone(), TIME);
    let uri = call.uri.parse().map_err(|_| tool::Error::invalid_input("the address is none"))?;
    let request = Request::new(Target::Uri(uri), Arguments::from_raw(call.arguments.clone())?);
    match tools.call(&cx, request).await? {
        tool::Outcome::Done(output) => match output.failure() {
            Some(failure) => Err(failure.restated(failure.message().to_owned())),
            None => Ok(()),
        },
        tool::Outcome::Started(_) | tool::Outcome::NeedsInput(_) => Ok(()),
    }
}
