//! Calls from inside: flows and agents come through the same `Gateway::call`, and end with the call around them.

use crate::{Gateway, Route, policy};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Instant;
use tool::objects::{Part, Reading};
use tool::{
    Arguments, CallTools, CallableTool, Caller, Callers, Context, Error, ErrorKind, Finding, Link, Outcome,
    Pattern, Request, Result, Target, Uri,
};

#[async_trait]
impl CallTools for Gateway {
    async fn call(&self, cx: &Context, request: Request) -> Result<Outcome> {
        Self::call(self, cx, request).await
    }

    async fn refuse(&self, cx: &Context, called: &str, error: Error) {
        Self::refuse(self, cx, called, error).await;
    }

    async fn find(&self, cx: &Context, arguments: Arguments, find: &Finding<'_>) -> Result<Outcome> {
        self.find_among(cx, &arguments, find).await
    }

    fn tools(&self, cx: &Context) -> Vec<CallableTool> {
        self.permitted(cx).iter().map(|route| callable(route)).collect()
    }

    fn tool(&self, cx: &Context, target: &Target) -> Result<CallableTool> {
        let (route, _) = self.resolve(cx, target)?;
        policy::permits(&cx.caller, &route)?;
        route.options(target)?;
        Ok(callable(&route))
    }

    fn caller(&self, cx: &Context) -> Result<Arc<Caller>> {
        let caller = match self.callers.get() {
            Some(callers) if !cx.is_by_flow => callers.now(&cx.tenant, &cx.caller),
            _ => Some(cx.caller.clone()),
        };
        let gone = || {
            let name = &cx.caller.name;
            Error::denied(format!("{name}, on whose behalf the run works, may not call anything any more"))
        };
        let caller = caller.ok_or_else(gone)?;
        policy::may_call(&caller)?;
        Ok(caller)
    }

    fn uses(&self, cx: &Context, uri: &Uri) -> Result<Vec<Pattern>> {
        let (route, _) = self.resolve(cx, &Target::Uri(uri.clone()))?;
        Ok(route.service.connector()?.uses())
    }

    async fn read_object(&self, cx: &Context, link: &Link, part: Part) -> Result<Reading> {
        Self::read_object(self, cx, link, part).await
    }
}

impl Gateway {
    /// Has rights looked up there from now on, while calls are under way.
    pub fn look_up_callers(&self, callers: Arc<dyn Callers>) {
        // Whoever was there first knows the same people.
        let _ = self.callers.set(callers);
    }
}

fn callable(route: &Route) -> CallableTool {
    CallableTool {
        name: route.name.clone(),
        uri: route.uri.clone(),
        tool: route.tool.clone(),
        run_kind: route.service.run_kind(),
    }
}

/// A call inside another begins only as long as that one runs, and not too deep.
pub(crate) fn may_begin(cx: &Context) -> Result<()> {
    cx.nested.as_ref().map_or(Ok(()), |nested| nested.check())
}

/// When a call must have ended at the latest: inside another, when that one must.
pub(crate) fn latest_end(cx: &Context) -> Instant {
    cx.nested.as_ref().map_or(cx.deadline, |nested| nested.deadline().min(cx.deadline))
}

/// A call that ended because the one around it did says so, whatever its connector made of that.
pub(crate) fn as_parent(cx: &Context, result: Result<Outcome>) -> Result<Outcome> {
    result.map_err(|error| match (&cx.nested, error.kind()) {
        (Some(nested), ErrorKind::Timeout | ErrorKind::Cancelled) => match nested.parents_end() {
            Some(end) => end.caused_by(error),
            None => error,
        },
        _ => error,
    })
}
