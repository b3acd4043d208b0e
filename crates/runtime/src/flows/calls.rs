//! The calls of one run: through the gateway as every call, for whoever runs the flow, with what its publisher might.

use super::Flows;
use super::agents;
use super::service::Inherited;
use super::start::{MAX_DEPTH, too_deep};
use async_trait::async_trait;
use flow::engine::{Answer, Call, Calls, Failure};
use gateway::Gateway;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::Status;
use tokio_util::sync::CancellationToken;
use tool::secret::SecretValues;
use tool::{
    Arguments, CallTools as _, CallableTool, Context, Error, ErrorKind, Extras, Outcome, Output, Request,
    RunId, RunKind, Shared, Step, Target,
};

/// As long a process may take to learn that a tenant is on again.
const RELOAD: Duration = Duration::from_secs(2);

pub(super) struct RunCalls {
    pub(super) flows: Arc<Flows>,
    pub(super) run: RunId,
    /// What the contexts of all calls begin with.
    pub(super) cx: Context,
    /// Fires when this process has nothing to do with the run any more.
    pub(super) gone: CancellationToken,
    /// How often the run was tried again.
    pub(super) retries: usize,
    /// How many runs it stands inside.
    pub(super) depth: u32,
    /// What sub-flows see unless their arguments say otherwise.
    pub(super) inherited: Inherited,
    /// What may stand in no record of its calls.
    pub(super) secrets: SecretValues,
}

#[async_trait]
impl Calls for RunCalls {
    fn grace(&self) -> Duration {
        self.flows.options.grace()
    }

    async fn call(&self, call: Call) -> Result<Answer, Failure> {
        loop {
            if self.is_for_later(&call).await {
                return Ok(Answer::Later);
            }
            let made = self.make(&call).await;
            let nothing = (self.flows.options.code_of)(ErrorKind::NotFound);
            // Switched off meanwhile, a tenant has no tools: there was nothing to call.
            if self.is_served() || made.as_ref().err().is_none_or(|failure| failure.code != nothing) {
                return made;
            }
        }
    }
}

impl RunCalls {
    /// This process knows what the tenant can call; of one that is switched off it knows nothing.
    fn is_served(&self) -> bool {
        self.flows.gateway().is_none_or(|gateway| gateway.catalog().tenant(&self.cx.tenant).is_some())
    }

    /// Runs of a tenant that is switched off wait: their calls are made when it is on again. A call that nobody else may
    /// make is waited with.
    async fn is_for_later(&self, call: &Call) -> bool {
        let Some(mut changes) = self.flows.gateway().map(|gateway| gateway.catalog().changes()) else {
            return false;
        };
        let mut looked_until = Instant::now() + RELOAD;
        while !self.is_served() {
            let pause = looked_until.saturating_duration_since(Instant::now());
            tokio::select! {
                _ = changes.changed() => {}
                () = call.cancel.cancelled() => return true,
                () = self.flows.stopping.cancelled() => return true,
                () = tokio::time::sleep(pause) => {
                    if self.is_switched_on().await {
                        return false;
                    }
                    if !call.is_at_most_once {
                        return true;
                    }
                    looked_until = Instant::now() + RELOAD;
                }
            }
        }
        false
    }

    async fn is_switched_on(&self) -> bool {
        let tenant = self.flows.answered(self.flows.store.tenants().get(&self.cx.tenant)).await;
        tenant.is_ok_and(|tenant| tenant.status == Status::Active)
    }

    async fn make(&self, call: &Call) -> Result<Answer, Failure> {
        let (uri, in_place) = agents::target(&call.target)?;
        let gateway = self.flows.gateway().ok_or_else(stopping)?;
        gateway.check_options(&uri).map_err(|error| invalid_uri(&error))?;
        let cancel = self.gone.child_token();
        let cx = Context { deadline: self.deadline(call), cancel: cancel.clone(), ..self.cx.clone() };
        let is_async = uri.options().is_async == Some(true);
        let target = Target::Uri(uri);
        // What cannot be called says so itself.
        let found = gateway.tool(&cx, &target).ok();
        let is_agent = found.as_ref().is_some_and(|found| found.run_kind == Some(RunKind::Agent));
        let (cx, request) = self.request(&cx, target, found.as_ref(), call)?;
        let shared = in_place.map(|in_place| Shared::new(Arc::new(in_place)));
        let cx = Context { shared, ..cx };
        let code_of = self.flows.options.code_of;
        // A task of its own: what is begun is audited, whoever goes away.
        let mut task = self.flows.tasks.spawn(async move { Gateway::call(&gateway, &cx, request).await });
        let ended = tokio::select! {
            ended = &mut task => ended,
            () = call.cancel.cancelled() => {
                cancel.cancel();
                task.await
            }
        };
        match ended {
            Ok(Ok(outcome)) if is_agent => answer_of(outcome, is_async, code_of).map(agents::answer),
            Ok(Ok(outcome)) => answer_of(outcome, is_async, code_of),
            Ok(Err(error)) => Err(failure_of(&error, code_of)),
            Err(_) => Err(Failure::new("INTERNAL", "the call ended in a mistake of ours")),
        }
    }

    fn deadline(&self, call: &Call) -> Instant {
        let usual = Instant::now() + self.flows.options.call_timeout;
        call.deadline.map_or(usual, |deadline| self.flows.clock.instant(deadline))
    }

    /// The call as the gateway takes it. A sub-flow gets what it inherits beside its arguments; it and an agent get a key of
    /// their own for every attempt: another attempt is another run.
    fn request(
        &self,
        cx: &Context,
        target: Target,
        found: Option<&CallableTool>,
        call: &Call,
    ) -> Result<(Context, Request), Failure> {
        let run_kind = found.and_then(|found| found.run_kind);
        if run_kind.is_some() && self.depth >= MAX_DEPTH {
            return Err(Failure::new("LIMIT", too_deep()));
        }
        let key = match run_kind {
            Some(_) => format!("{}#{}.{}", call.key, self.retries, call.attempt),
            None => call.key.clone(),
        };
        let flow = found.filter(|_| run_kind == Some(RunKind::Flow));
        let step = Step {
            run: Some(self.run.clone()),
            path: Some(call.path.as_str().into()),
            idempotency_key: Some(key.into()),
            secrets: self.secrets.clone(),
            is_journaled: true,
            ..Step::default()
        };
        let (mut arguments, mut extras) = (call.arguments.clone(), Extras::default());
        if let Some(flow) = flow {
            let declared = serde_json::from_str::<Value>(flow.tool.input_schema().get()).unwrap_or_default();
            let is_declared = |name: &str| declared["properties"].get(name).is_some();
            self.inherited.clone().overridden(&mut arguments, is_declared).write(&mut extras);
        }
        Ok((cx.nested(step), Request { target, arguments: Arguments::from(arguments), extras }))
    }
}

/// Journals of before may hold agents in place that name no other one.
pub(super) fn no_uri() -> Failure {
    Failure::new("INVALID_URI", "an agent in place uses the model of one that is a service; name that")
}

pub(super) fn invalid_uri(error: &dyn std::error::Error) -> Failure {
    Failure::new("INVALID_URI", error.to_string())
}

fn stopping() -> Failure {
    Failure { is_retryable: true, ..Failure::new("UNAVAILABLE", "the program is stopping") }
}

pub(super) fn answer_of(
    outcome: Outcome,
    is_async: bool,
    code_of: fn(ErrorKind) -> &'static str,
) -> Result<Answer, Failure> {
    match outcome {
        Outcome::Done(output) if output.is_error() => Err(failed_output(&output, code_of)),
        Outcome::Done(output) => Ok(Answer::Value(value_of(&output))),
        // Nobody waits for it.
        Outcome::Started(run) if is_async => {
            let value = Map::from_iter([("run_id".to_owned(), Value::from(run.as_str()))]);
            Ok(Answer::Value(value.into()))
        }
        Outcome::Started(run) => Ok(Answer::Child(run.into())),
        Outcome::NeedsInput(_) => {
            let message = "the tool asks for more input, which a flow cannot give";
            Err(Failure::new("BAD_REQUEST", message))
        }
    }
}

/// The answer's data: JSON where it is some, else its text, else the whole result; null where it says nothing.
pub(super) fn value_of(output: &Output) -> Value {
    let data = output.data();
    let is_whole = data.is_none();
    let text = data.map_or_else(|| output.to_result(), Into::into);
    let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
    let is_empty = |part: &Value| part.as_array().is_some_and(Vec::is_empty);
    if is_whole && value.get("content").is_some_and(is_empty) { Value::Null } else { value }
}

fn failed_output(output: &Output, code_of: fn(ErrorKind) -> &'static str) -> Failure {
    if let Some(error) = output.failure() {
        return failure_of(error, code_of);
    }
    let message = match value_of(output) {
        Value::String(text) => text,
        other => other.to_string(),
    };
    Failure::new(code_of(ErrorKind::Upstream), message)
}

/// A failed call in REST's words.
pub(super) fn failure_of(error: &Error, code_of: fn(ErrorKind) -> &'static str) -> Failure {
    let code = match error.kind() {
        ErrorKind::Cancelled => "CANCELLED",
        kind => code_of(kind),
    };
    Failure {
        status: error.status(),
        service: error.service().map(Into::into),
        reason: error.reason().and_then(tool::Reason::code).map(Into::into),
        is_retryable: error.is_retryable(),
        is_in_doubt: error.is_in_doubt()
            || matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Unavailable),
        ..Failure::new(code, error.in_words())
    }
}

/// How long a call may take where nobody says.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(300);
