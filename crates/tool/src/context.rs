//! What a call carries with it: for whom it runs, until when, and how it is taken back.

use crate::{
    CallerHeaders, Client, Content, Inspection, InstanceId, KeyId, Limits, Manner, Pattern, Role, Scope,
    TenantId, UserId,
};
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
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
    /// One of the tenant's Tools leads the call. What it may reach was checked when it was made,
    /// so its callers need no right of their own to that.
    pub is_through_tool: bool,
    /// When the call must have ended.
    pub deadline: Instant,
    /// Fires when the caller goes away or takes the call back.
    pub cancel: CancellationToken,
    /// Where progress, logs and partial content go.
    pub events: Events,
    /// The program that calls, where it can be asked something.
    pub client: Option<Arc<dyn Client>>,
    /// How the program that calls hears what comes up for it, where it has a say in that.
    pub manner: Option<Manner>,
    /// Where connectors take down what they sent; off unless a tool is tried out.
    pub inspection: Inspection,
    /// What the caller's own request carried, for services that may be handed some of it.
    pub headers: CallerHeaders,
    /// Names the request in logs, audit and errors.
    pub request_id: Arc<str>,
    /// The W3C trace this call belongs to, where the client sent one.
    pub trace_id: Option<Arc<str>>,
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
            is_through_tool: false,
            deadline: Instant::now() + time,
            cancel: CancellationToken::new(),
            events: Events::default(),
            client: None,
            manner: None,
            inspection: Inspection::default(),
            headers: CallerHeaders::default(),
            request_id,
            trace_id: None,
        }
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
    /// The command line, or ourselves.
    Local,
}

impl Door {
    /// The door as it stands in audit records and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Rest => "rest",
            Self::Local => "local",
        }
    }
}

/// Who calls, and what that someone may do.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Whether a key, a person or this machine's owner calls.
    pub identity: Identity,
    /// A name for people: of the key or of the user.
    pub name: String,
    /// What the caller is for.
    pub role: Role,
    /// Less than the role allows; empty is no restriction.
    pub scopes: Vec<Scope>,
    /// Tools and URIs the caller may use; empty is no restriction.
    pub allow: Vec<Pattern>,
    /// How much the caller may use.
    pub limits: Limits,
}

/// How a caller is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Identity {
    /// By an API key.
    Key(KeyId),
    /// By a sign-in.
    User(UserId),
    /// By the key of an MCP instance, which stands in the path of its door.
    Instance(InstanceId),
    /// By running the process.
    Local,
}

impl Identity {
    /// The identity as it stands in audit records.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Key(id) => id.as_str(),
            Self::User(id) => id.as_str(),
            Self::Instance(id) => id.as_str(),
            Self::Local => "local",
        }
    }

    /// What kind of identity it is, in audit records.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Key(_) => "key",
            Self::User(_) => "user",
            Self::Instance(_) => "instance",
            Self::Local => "local",
        }
    }
}

impl Caller {
    /// The owner of the process: everything is allowed.
    #[must_use]
    pub fn local() -> Self {
        Self {
            identity: Identity::Local,
            name: "local".into(),
            role: Role::Admin,
            scopes: Vec::new(),
            allow: Vec::new(),
            limits: Limits::default(),
        }
    }

    /// Neither the role nor the scopes speak against it.
    #[must_use]
    pub fn may(&self, scope: Scope) -> bool {
        self.role >= scope.role() && (self.scopes.is_empty() || self.scopes.contains(&scope))
    }
}

/// Something worth telling while a call runs.
#[derive(Debug)]
pub enum Event {
    /// How far the call has come.
    Progress {
        /// Grows with each event.
        progress: f64,
        /// Where it ends, if known.
        total: Option<f64>,
        /// What is being done.
        message: Option<String>,
    },
    /// A log entry of the service.
    Log {
        /// How grave it is, from `debug` to `emergency`.
        level: String,
        /// The entry, as the service wrote it.
        entry: Box<RawValue>,
    },
    /// A part of the answer, ahead of the whole.
    Content(Content),
}

/// Where events go. Nobody has to listen: an event that finds no room is dropped.
///
/// Every call has its own, so it is made of one piece, and nobody is woken when it ends.
#[derive(Debug, Clone, Default)]
pub struct Events(Option<Arc<Mutex<Queue>>>);

/// The end where events come out.
#[derive(Debug)]
pub struct EventReceiver(Arc<Mutex<Queue>>);

#[derive(Debug)]
struct Queue {
    events: VecDeque<Event>,
    capacity: usize,
    listener: Option<Waker>,
}

impl Events {
    /// Events and the end where they come out; at most `capacity` wait there.
    #[must_use]
    pub fn channel(capacity: usize) -> (Self, EventReceiver) {
        let queue = Arc::new(Mutex::new(Queue { events: VecDeque::new(), capacity, listener: None }));
        (Self(Some(queue.clone())), EventReceiver(queue))
    }

    /// Somebody was to listen when the call began.
    #[must_use]
    pub fn is_heard(&self) -> bool {
        self.0.is_some()
    }

    /// Tells whoever listens; never waits.
    pub fn emit(&self, event: Event) {
        let Some(queue) = &self.0 else { return };
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.events.len() < queue.capacity {
            queue.events.push_back(event);
            let listener = queue.listener.take();
            drop(queue);
            if let Some(listener) = listener {
                listener.wake();
            }
        }
    }
}

impl EventReceiver {
    /// The next event. Waits for ever when none comes.
    pub async fn next(&mut self) -> Event {
        poll_fn(|cx| {
            let mut queue = self.queue();
            match queue.events.pop_front() {
                Some(event) => Poll::Ready(event),
                None => {
                    queue.listener.get_or_insert_with(|| cx.waker().clone()).clone_from(cx.waker());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// The next event that waits already.
    pub fn take(&mut self) -> Option<Event> {
        self.queue().events.pop_front()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        // What nobody will hear need not be kept.
        let mut queue = self.queue();
        queue.capacity = 0;
        queue.events = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_narrow_a_role_and_never_widen_it() {
        let mut caller = Caller { role: Role::Caller, ..Caller::local() };
        assert!(caller.may(Scope::Call) && caller.may(Scope::Read) && !caller.may(Scope::Manage));
        caller.scopes = vec![Scope::Read, Scope::Manage];
        assert!(!caller.may(Scope::Call) && caller.may(Scope::Read) && !caller.may(Scope::Manage));
    }

    fn progress(progress: f64) -> Event {
        Event::Progress { progress, total: None, message: None }
    }

    #[test]
    fn events_without_a_listener_change_nothing() {
        let (events, rx) = Events::channel(1);
        drop(rx);
        events.emit(progress(1.0));
        Events::default().emit(Event::Content(Content::text("x")));
    }

    #[tokio::test]
    async fn events_come_in_order_and_those_without_room_are_dropped() {
        let (events, mut rx) = Events::channel(2);
        let heard = tokio::spawn(async move {
            let first = rx.next().await;
            (first, rx)
        });
        tokio::task::yield_now().await;
        events.emit(progress(1.0));
        let (first, mut rx) = heard.await.unwrap();
        assert!(matches!(first, Event::Progress { progress: 1.0, .. }));
        for number in [2.0, 3.0, 4.0] {
            events.emit(progress(number));
        }
        assert!(matches!(rx.take(), Some(Event::Progress { progress: 2.0, .. })));
        assert!(matches!(rx.next().await, Event::Progress { progress: 3.0, .. }));
        assert!(rx.take().is_none());
    }
}
