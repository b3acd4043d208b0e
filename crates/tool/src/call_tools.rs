//! The port to all other tools, for connectors that work through them: flows, agents.

use crate::objects::{Part, Reading};
use crate::{
    Arguments, Caller, Context, Error, Link, Outcome, Pattern, Request, Result, RunKind, Target, Tool, Uri,
};
use async_trait::async_trait;
use serde_json::value::RawValue;
use std::sync::{Arc, Weak};

/// The one way to call tools from inside, under the same policy and audit as every other call.
#[async_trait]
pub trait CallTools: Send + Sync {
    /// Runs one tool. `cx` is made with [`Context::nested`].
    ///
    /// # Errors
    /// Why the call was refused, or how the tool failed.
    async fn call(&self, cx: &Context, request: Request) -> Result<Outcome>;

    /// Leaves a record of a call that was asked for inside and not made.
    async fn refuse(&self, cx: &Context, called: &str, error: Error);

    /// Looks for tools among those that somebody inside has: a call like any other, within limits and with a record.
    ///
    /// # Errors
    /// Why it was refused, or what `find` says is wrong with the arguments.
    async fn find(&self, cx: &Context, arguments: Arguments, find: &Finding<'_>) -> Result<Outcome>;

    /// The tools that `cx` may call by name, by that name.
    fn tools(&self, cx: &Context) -> Vec<CallableTool>;

    /// The tool that `cx` would call.
    ///
    /// # Errors
    /// Those of a call to it: there is no such tool, it is switched off, or `cx` may not use it.
    fn tool(&self, cx: &Context, target: &Target) -> Result<CallableTool>;

    /// Who calls, with the rights of this moment: they may have changed since the call began.
    ///
    /// # Errors
    /// `Denied` where the caller may call nothing any more.
    fn caller(&self, cx: &Context) -> Result<Arc<Caller>> {
        Ok(cx.caller.clone())
    }

    /// What the service at this address uses, by the settings that it has now.
    ///
    /// # Errors
    /// There is no such service any more, or it is switched off.
    fn uses(&self, cx: &Context, uri: &Uri) -> Result<Vec<Pattern>>;

    /// Reads what a link leads to, without the way over the network. Whoever has the link may.
    ///
    /// # Errors
    /// When the link is another tenant's, or there is no such object.
    async fn read_object(&self, cx: &Context, link: &Link, part: Part) -> Result<Reading>;
}

/// How tools are found: what the arguments lead to, as JSON.
pub type Finding<'a> = dyn Fn(&Arguments) -> Result<Box<RawValue>> + Send + Sync + 'a;

/// A tool as those see it who are about to call it.
#[derive(Debug, Clone)]
pub struct CallableTool {
    /// The name clients see.
    pub name: String,
    /// Its address, without options.
    pub uri: Uri,
    /// Its description and schemas.
    pub tool: Arc<Tool>,
    /// What a call of it goes on as that is not over with its answer, where calls do.
    pub run_kind: Option<RunKind>,
}

/// The port where there are no other tools.
pub(crate) fn no_tools() -> Weak<dyn CallTools> {
    Weak::<Nobody>::new()
}

enum Nobody {}

#[async_trait]
impl CallTools for Nobody {
    async fn call(&self, _: &Context, _: Request) -> Result<Outcome> {
        match *self {}
    }

    async fn refuse(&self, _: &Context, _: &str, _: Error) {
        match *self {}
    }

    async fn find(&self, _: &Context, _: Arguments, _: &Finding<'_>) -> Result<Outcome> {
        match *self {}
    }

    fn tools(&self, _: &Context) -> Vec<CallableTool> {
        match *self {}
    }

    fn tool(&self, _: &Context, _: &Target) -> Result<CallableTool> {
        match *self {}
    }

    fn uses(&self, _: &Context, _: &Uri) -> Result<Vec<Pattern>> {
        match *self {}
    }

    async fn read_object(&self, _: &Context, _: &Link, _: Part) -> Result<Reading> {
        match *self {}
    }
}
