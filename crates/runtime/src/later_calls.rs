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

/// Makes one call, again and again until it succeeds; one that is refused makes room for others.
async fn make(queues: &Queues, tools: &Weak<dyn CallTools>, call: &DueCall) {
    let mut pause = RETRY;
    loop {
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
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_RETRY);
                    continue;
                }
            },
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
