//! What a call carries with it: for whom it runs, until when, and how it is taken back.

use crate::{
    Around, Caller, CallerHeaders, Client, Events, Inspection, InstanceId, Nested, QuestionMode, SearchMode,
    Shared, Step, TenantId, Trace,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The first parameter of anything that waits.
#[derive(Debug, Clone)]
pub struct Context {
    /// Whose call this is; nothing of another tenant is visible to it.
    pub tenant: TenantId,
    /// Who calls.
    pub caller: Arc<Caller>,
    /// Through which door the call came.
    pub door: Door,
    /// The MCP instance whose door it was: it offers its enabled bindings and nothing else.
    pub instance: Option<InstanceId>,
    /// The id of the service whose own door it was: it offers what it has by its own names and nothing else.
    pub service: Option<Arc<str>>,
    /// How the door is to tell of its tools, where whoever came to it has said so.
    pub tool_search: Option<SearchMode>,
    /// One of the tenant's Tools leads the call. What it may reach was checked when it was made,
    /// so its callers need no right of their own to that.
    pub is_through_tool: bool,
    /// A flow makes the call, or stands around it: what it reaches was checked when it was published, and its rights stand
    /// for those of whoever started it.
    pub is_by_flow: bool,
    /// When the call must have ended.
    pub deadline: Instant,
    /// Fires when the caller goes away or takes the call back.
    pub cancel: CancellationToken,
    /// Where progress, logs and partial content go.
    pub events: Events,
    /// The program that calls, where it can be asked something.
    pub client: Option<Arc<dyn Client>>,
    /// How the program that calls hears what comes up for it, where it has a say in that.
    pub question_mode: Option<QuestionMode>,
    /// Where connectors take down what they sent; off unless a tool is tried out.
    pub inspection: Inspection,
    /// What the caller's own request carried, for services that may be handed some of it.
    pub headers: CallerHeaders,
    /// Names the request in logs, audit and errors.
    pub request_id: Arc<str>,
    /// Where this call stands in a W3C trace: the client's, or one of our own where spans are collected.
    pub trace: Option<Arc<Trace>>,
    /// The call that made this one, where one did.
    pub nested: Option<Arc<Nested>>,
    /// The agents and flows that the call stands in, where there are such.
    pub around: Option<Arc<Around>>,
    /// What the work that this call is a part of shares with all its calls, where it does.
    pub shared: Option<Shared>,
    /// The most bytes of the answer, where the caller wants less than the tool may give.
    pub result_bytes: Option<usize>,
    /// How long whoever calls waits for what goes on by itself.
    pub patience: Option<Duration>,
    /// The tool through which this one was called, where it was.
    pub via: Option<&'static str>,
    /// Where it is noted that a run has begun which leaves the record of this call, where one can.
    pub left_to_run: Option<Arc<AtomicBool>>,
}

impl Context {
    /// A context for `caller` with `time` to spend and nobody listening to events.
    pub fn new(tenant: TenantId, caller: Arc<Caller>, door: Door, time: Duration) -> Self {
        Self::for_request(crate::new_id(), tenant, caller, door, time)
    }

    /// The same for a request that has its name.
    pub fn for_request(
        request_id: Arc<str>,
        tenant: TenantId,
        caller: Arc<Caller>,
        door: Door,
        time: Duration,
    ) -> Self {
        Self {
            tenant,
            caller,
            door,
            instance: None,
            service: None,
            tool_search: None,
            is_through_tool: false,
            is_by_flow: false,
            deadline: Instant::now() + time,
            cancel: CancellationToken::new(),
            events: Events::default(),
            client: None,
            question_mode: None,
            inspection: Inspection::default(),
            headers: CallerHeaders::default(),
            request_id,
            trace: None,
            nested: None,
            around: None,
            shared: None,
            result_bytes: None,
            patience: None,
            via: None,
            left_to_run: None,
        }
    }

    /// A context for what this program does by itself for a tenant: discovery, probes, housekeeping.
    #[must_use]
    pub fn system(tenant: TenantId, time: Duration) -> Self {
        Self::new(tenant, Arc::new(Caller::system()), Door::System, time)
    }

    /// A context for a call that this one makes: for the same caller, ended with this one at the latest, and free
    /// to name whatever the tenant has. Nobody listens to its events unless somebody is put there.
    #[must_use]
    pub fn nested(&self, step: Step) -> Self {
        Self {
            instance: None,
            service: None,
            tool_search: None,
            is_through_tool: false,
            cancel: self.cancel.child_token(),
            events: Events::default(),
            inspection: Inspection::default(),
            request_id: crate::new_id(),
            result_bytes: None,
            patience: None,
            via: None,
            left_to_run: None,
            nested: Some(Arc::new(Nested::within(self, step))),
            ..self.clone()
        }
    }

    /// The run that the call has begun leaves its record: one ask is one record, however long it goes on.
    pub fn leave_record_to_run(&self) {
        if let Some(left) = &self.left_to_run {
            left.store(true, Ordering::Relaxed);
        }
    }

    /// What is the same for every attempt at the same work, where that was said.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&str> {
        self.nested.as_deref()?.step.idempotency_key.as_deref()
    }

    /// How long is left.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

/// The way a call came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Door {
    /// An MCP client.
    Mcp,
    /// The REST interface.
    Rest,
    /// The command line.
    Local,
    /// None: it is this program's own affair.
    System,
}

impl Door {
    /// The door as it stands in audit records and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Rest => "rest",
            Self::Local => "local",
            Self::System => "system",
        }
    }
}
