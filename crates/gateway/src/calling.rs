//! One call at its connector: with which context, for how long, and how its failures are told.

use crate::audit::Record;
use crate::catalog::Route;
use crate::inside;
use futures::FutureExt;
use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};
use tool::inspection::Exchange;
use tool::{Context, Error, Outcome, Reason, Result, uri};

/// A connector that was told to stop may take this long before it is dropped.
const GRACE: Duration = Duration::from_secs(1);

/// The context as the connector sees it: with a deadline no later than the URI's `timeout` allows,
/// and knowing whether a Tool of the tenant led here. With `max-attempts` the `timeout` is that of one attempt,
/// which is the connector's affair; but what a Tool has set for the whole call stays so.
pub(crate) fn on_route<'a>(
    cx: &'a Context,
    route: &Route,
    options: &uri::Options,
    record: &Record,
) -> Cow<'a, Context> {
    let of_tool = route.uri_tool.as_ref().and_then(|uri_tool| uri_tool.tool.uri.options().call_timeout());
    let timeout = options.call_timeout().into_iter().chain(of_tool).min();
    let is_through_tool = route.is_own();
    let latest = inside::latest_end(cx);
    let is_looked_at = record.inspection.is_on() == cx.inspection.is_on();
    let left_to_run = record.may_leave_to_run();
    let is_same = latest == cx.deadline && is_through_tool == cx.is_through_tool && is_looked_at;
    if timeout.is_none() && is_same && left_to_run.is_none() {
        return Cow::Borrowed(cx);
    }
    let deadline = timeout.map_or(latest, |timeout| latest.min(Instant::now() + timeout));
    let (inspection, via) = (record.inspection.clone(), record.via());
    Cow::Owned(Context { is_through_tool, deadline, inspection, left_to_run, via, ..cx.clone() })
}

/// Waits for the connector, which ends by itself soon after the deadline or the cancel. One that
/// does not is dropped; one that panics has failed.
pub(crate) async fn within_deadline<T>(cx: &Context, call: impl Future<Output = Result<T>>) -> Result<T> {
    let call = AssertUnwindSafe(call).catch_unwind();
    tokio::pin!(call);
    let ended = match cx.within(&mut call).await {
        Ok(result) => return result.unwrap_or_else(panicked),
        Err(ended) => ended,
    };
    match tokio::time::timeout(GRACE, call).await {
        Ok(result) => result.unwrap_or_else(panicked),
        Err(_) => Err(ended.error("the tool did not answer in time")),
    }
}

fn panicked<T>(_: Box<dyn std::any::Any + Send>) -> Result<T> {
    Err(Error::internal("the connector failed in a way it should not; see the log"))
}

/// The answer before it is shaped, for those who try a tool out: its data. What is only kept in case somebody asks
/// is as it came, so that nobody has to read it, and cut.
pub(crate) fn raw_of(seen: &Exchange, outcome: &Outcome) -> Option<String> {
    match (outcome, seen.limit()) {
        (Outcome::Done(output), None) => Some(output.data().map_or_else(|| output.to_result(), Into::into)),
        (Outcome::Done(output), Some(limit)) => {
            Some(seen.cut(output.as_it_came(limit).as_bytes()).into_owned())
        }
        (Outcome::NeedsInput(_) | Outcome::Started(_), _) => None,
    }
}

/// Callers of a Tool that renames parameters know them by its names.
pub(crate) fn in_callers_words(error: Error, route: &Route) -> Error {
    match &route.uri_tool {
        Some(uri_tool) => uri_tool.tool.in_callers_words(error),
        None => error,
    }
}

/// Says which service failed, and where its credentials come from if they were refused.
pub(crate) fn name_service(error: Error, route: &Route) -> Error {
    let error = error.of_service(&route.service.id);
    match error.reason() {
        Some(Reason::SignInFailed) => {
            error.about(&format!("service {}://{}", route.service.scheme, route.service.id))
        }
        _ if error.is_about_credentials() && !route.service.variables.is_empty() => {
            route.service.rejected(&error.full_message()).caused_by(error)
        }
        _ => error,
    }
}
