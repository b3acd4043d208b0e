//! Calls that wait for their time: made by one process at a time, never early, and again until they succeed.

use std::collections::HashSet;
use std::sync::Weak;
use std::time::Duration;
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
/// How many services are called at once.
const SERVICES: usize = 64;
/// How long one call may take.
const TIME: Duration = Duration::from_secs(60);
/// The first and the longest pause after a call that failed.
const RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// How often a call is tried that is refused. A service may be back after the next reload.
const REFUSALS: u32 = 5;

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
    let mut busy = HashSet::new();
    loop {
        while let Some(done) = tasks.try_join_next() {
            if let Ok(service) = done {
                busy.remove(&service);
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
            for service in due {
                if busy.len() < SERVICES && busy.insert(service.clone()) {
                    tasks.spawn(make_due(queues.clone(), tools.clone(), service));
                }
            }
        }
        tokio::select! {
            () = tokio::time::sleep(next.clamp(SHORTEST_PAUSE, PAUSE)) => {}
            _ = changes.changed() => tokio::time::sleep(SHORTEST_PAUSE).await,
        }
    }
}

/// Makes the calls to one service that are due, one after the other.
async fn make_due(
    queues: Queues,
    tools: Weak<dyn CallTools>,
    (tenant, service): (TenantId, String),
) -> (TenantId, String) {
    while let Ok(calls) = queues.later().due(&tenant, &service).await {
        if calls.is_empty() {
            break;
        }
        for call in calls {
            make(&queues, &tools, &call).await;
        }
    }
    (tenant, service)
}

/// Makes one call, again and again until it succeeds or is refused for good.
async fn make(queues: &Queues, tools: &Weak<dyn CallTools>, call: &DueCall) {
    let (mut pause, mut refusals) = (RETRY, 0);
    loop {
        let settled = match make_once(tools, call).await {
            Ok(()) => queues.later().done(call).await,
            Err(error) if is_final(error.kind()) => {
                refusals += 1;
                if refusals < REFUSALS {
                    tokio::time::sleep(pause).await;
                    continue;
                }
                let (tenant, uri) = (&call.tenant, &call.uri);
                tracing::warn!(%tenant, uri, %error, "a call to {uri} that was to be made later is given up: {error}");
                queues.later().give_up(call, error.message()).await
            }
            Err(error) => {
                tracing::debug!(uri = call.uri, %error, "a later call failed, trying again: {error}");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_RETRY);
                continue;
            }
        };
        match settled {
            Ok(()) => return,
            // It is made again: better twice than never.
            Err(error) => {
                tracing::debug!(%error, "a later call cannot be crossed off: {error}");
                tokio::time::sleep(pause).await;
            }
        }
    }
}

fn is_final(kind: ErrorKind) -> bool {
    use ErrorKind::{Denied, InvalidInput, Missing, NotFound, Unsupported};
    matches!(kind, NotFound | InvalidInput | Missing | Denied | Unsupported)
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
