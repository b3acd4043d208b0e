//! Audit: one record for every call, refused ones too, written in batches off the call's path.

mod address;
mod mask;
mod of_run;
mod place;
mod recent_calls;
mod redact;
mod writer;

pub use recent_calls::{Inspected, RecentCalls};
pub(crate) use redact::Redaction;
pub use redact::redact;
pub use tool::secret::names::is_secret_name;
pub use writer::{Audit, Sink};

use crate::catalog::{Route, Service, shortened};
use place::place_of;
use recent_calls::RecordedCall;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tool::uri::Options;
use tool::{
    Account, Arguments, Caller, Context, Door, Error, Inspection, Link, Nested, Outcome, Target, TenantId,
    Trace,
};

/// Arguments longer than this are counted, not kept.
const MAX_ARGUMENTS_BYTES: usize = 16 * 1024;

/// A call on its way to the audit, not yet redacted. It is boxed, as it goes through many hands.
#[derive(Debug)]
pub(crate) struct Record {
    tenant: TenantId,
    caller: Arc<Caller>,
    door: Door,
    request_id: Arc<str>,
    trace: Option<Arc<Trace>>,
    nested: Option<Arc<Nested>>,
    /// The tool through which another was called.
    via: Option<&'static str>,
    target: Target,
    route: Option<Arc<Route>>,
    options: Options,
    /// What the record is about, if it is not a call.
    subject: Option<Subject>,
    arguments: Result<Box<RawValue>, usize>,
    /// What no schema describes of them is hidden.
    pub(crate) has_private_arguments: bool,
    at_ms: i64,
    begun: Instant,
    end: Option<End>,
    /// Where a call that may begin a run says that it has: the run leaves the record, then.
    left_to_run: Option<Arc<AtomicBool>>,
    /// What the call sends and gets, where somebody looks or may look later.
    pub(crate) inspection: Inspection,
}

/// A tool that something has happened to without a call.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) uri: String,
    pub(crate) service: String,
}

#[derive(Debug)]
struct End {
    duration_us: i64,
    status: Status,
    code: Option<tool::ErrorKind>,
    message: Option<String>,
    result_bytes: i64,
    account: Option<Account>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The tool answered.
    Ok,
    /// The tool ran and failed.
    Error,
    /// The call was turned away.
    Refused,
}

impl Status {
    /// The status as it stands in the audit.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Refused => "refused",
        }
    }
}

/// A finished record, redacted, as it is kept.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the names are the columns of the audit")]
pub struct Entry {
    pub id: String,
    pub tenant: TenantId,
    pub at_ms: i64,
    pub caller: String,
    pub caller_name: String,
    pub caller_kind: &'static str,
    pub door: &'static str,
    pub tool: String,
    pub uri: Option<String>,
    pub service: Option<String>,
    pub arguments: String,
    pub status: Status,
    pub code: Option<tool::ErrorKind>,
    pub message: Option<String>,
    pub duration_us: i64,
    pub request_id: String,
    pub trace_id: Option<String>,
    pub parent_request_id: Option<String>,
    pub run_id: Option<String>,
    pub node: Option<String>,
    pub agent: Option<String>,
    pub step: Option<u32>,
    pub via: Option<&'static str>,
    pub result_bytes: i64,
    pub usage: Option<String>,
}

/// The arguments as they are kept, or how long they are.
fn kept(arguments: &Arguments) -> Result<Box<RawValue>, usize> {
    let too_long = |raw: &RawValue| (raw.get().len() > MAX_ARGUMENTS_BYTES).then(|| raw.get().len());
    // What came as text is measured before it is copied.
    if let Some(size_bytes) = arguments.raw().and_then(too_long) {
        return Err(size_bytes);
    }
    let raw = arguments.to_raw();
    too_long(&raw).map_or(Ok(raw), Err)
}

impl Record {
    /// The call as it came in.
    pub(crate) fn begin(cx: &Context, target: &Target, arguments: &Arguments) -> Box<Self> {
        Box::new(Self {
            tenant: cx.tenant.clone(),
            caller: cx.caller.clone(),
            door: cx.door,
            request_id: cx.request_id.clone(),
            trace: cx.trace.clone(),
            nested: cx.nested.clone(),
            via: None,
            target: target.clone(),
            route: None,
            options: match target {
                Target::Uri(uri) => uri.options().clone(),
                Target::Name(_) | Target::Trial(_) => Options::default(),
            },
            subject: None,
            arguments: kept(arguments),
            has_private_arguments: false,
            at_ms: now_ms(),
            begun: Instant::now(),
            end: None,
            left_to_run: None,
            inspection: cx.inspection.clone(),
        })
    }

    /// The same for a call through another tool.
    pub(crate) fn through(mut self: Box<Self>, via: Option<&'static str>) -> Box<Self> {
        self.via = via;
        self
    }

    /// The tool through which the call came, where one did.
    pub(crate) fn via(&self) -> Option<&'static str> {
        self.via
    }

    /// Something that happened to a tool, and was no call.
    pub(crate) fn about(cx: &Context, subject: Subject) -> Box<Self> {
        let target = Target::Name(subject.name.clone());
        let mut record = Self::begin(cx, &target, &Arguments::default());
        record.subject = Some(subject);
        record
    }

    /// Somebody who holds a link reads or writes what it leads to.
    pub(crate) fn by_link(cx: &Context, link: &Link) -> Box<Self> {
        let target = Target::Name(format!("{} by link", link.method.as_str()));
        let arguments = Map::from_iter([("key".to_owned(), Value::from(link.key.as_str()))]);
        let mut record = Self::begin(cx, &target, &Arguments::from(arguments));
        record.subject = Some(Subject {
            name: target.to_string(),
            uri: format!("{}://{}", link.scheme, link.service),
            service: link.service.clone(),
        });
        record
    }

    /// How that ended, and with how many bytes.
    pub(crate) fn end_of_object(self: Box<Self>, result: Result<u64, &Error>) -> Box<Self> {
        match result {
            Ok(size) => self.finish(Status::Ok, None, usize::try_from(size).unwrap_or(usize::MAX)),
            Err(error) => self.finish(status_of(error), Some(error), 0),
        }
    }

    /// What happened.
    pub(crate) fn noted(
        mut self: Box<Self>,
        status: Status,
        code: Option<tool::ErrorKind>,
        message: String,
    ) -> Box<Self> {
        let message = Some(message);
        self.end = Some(End { duration_us: 0, status, code, message, result_bytes: 0, account: None });
        self
    }

    /// Where the call went.
    pub(crate) fn routed_to(&mut self, route: &Arc<Route>) {
        self.route = Some(route.clone());
        self.left_to_run = self.place_for_run();
    }

    /// With which options it was called, those that a Tool has set among them.
    pub(crate) fn with_options(&mut self, options: &Options) {
        if !options.is_empty() {
            self.options = options.clone();
        }
    }

    /// Who answered.
    pub(crate) fn served_by(&mut self, service: Option<Arc<Service>>) {
        self.subject = service.map(|service| Subject {
            name: self.target.to_string(),
            uri: format!("{}://{}", service.scheme, service.id),
            service: service.id.clone(),
        });
    }

    /// It has ended, and not well.
    fn has_failed(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.status != Status::Ok)
    }

    /// What was called.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Where the call went, if it was found.
    pub(crate) fn route(&self) -> Option<&Arc<Route>> {
        self.route.as_ref()
    }

    /// The time since the call came in.
    pub(crate) fn elapsed(&self) -> std::time::Duration {
        self.begun.elapsed()
    }

    /// How the call ended.
    pub(crate) fn end(self: Box<Self>, result: &tool::Result<Outcome>) -> Box<Self> {
        match result {
            Ok(Outcome::Done(output)) => {
                let status = if output.is_error() { Status::Error } else { Status::Ok };
                self.finish(status, output.failure(), output.size_bytes()).accounted(output.account())
            }
            Ok(Outcome::NeedsInput(_) | Outcome::Started(_)) => self.finish(Status::Ok, None, 0),
            Err(error) => self.finish(status_of(error), Some(error), 0).accounted(error.account()),
        }
    }

    /// What it took, where the end says that.
    fn accounted(mut self: Box<Self>, account: Option<&Account>) -> Box<Self> {
        if let Some(end) = &mut self.end {
            end.account = account.cloned();
        }
        self
    }

    /// How the reading of a document or a prompt ended.
    pub(crate) fn end_of_reading(self: Box<Self>, result: &tool::Result<Box<RawValue>>) -> Box<Self> {
        match result {
            Ok(read) => self.finish(Status::Ok, None, read.get().len()),
            Err(error) => self.finish(status_of(error), Some(error), 0),
        }
    }

    fn finish(mut self: Box<Self>, status: Status, error: Option<&Error>, result_bytes: usize) -> Box<Self> {
        let (code, message) = (error.map(Error::kind), error.map(Error::full_message));
        self.end = Some(End {
            duration_us: self.begun.elapsed().as_micros().try_into().unwrap_or(i64::MAX),
            status,
            code,
            message,
            result_bytes: result_bytes.try_into().unwrap_or(i64::MAX),
            account: None,
        });
        self
    }

    /// The record as it is kept, redacted, and what the call sent and got: not done on the call's path.
    fn into_entry(self: Box<Self>) -> (Entry, Option<RecordedCall>) {
        let (unsaid, parent_request_id) = (self.without_conversation(), self.parent().map(str::to_owned));
        let (run_id, agent) = self.run_and_agent();
        let via = self.via.or_else(|| self.nested.as_deref()?.step.via);
        let route = self.route.as_deref();
        let (uri, service) = place_of(route, self.subject, self.options);
        let secrets = self.nested.as_deref().map(|nested| nested.step.secrets.clone()).unwrap_or_default();
        let redaction = route.map(|route| &*route.redaction);
        let arguments = unsaid.as_deref().map_or(self.arguments.as_deref().map_err(|size| *size), Ok);
        let (arguments, hidden) = redact::kept(arguments, redaction, self.has_private_arguments, &secrets);
        let duration_us = self.begun.elapsed().as_micros().try_into().unwrap_or(i64::MAX);
        let end = self.end.unwrap_or_else(|| End::none(duration_us));
        let chosen_by = self.nested.as_deref().and_then(|nested| nested.step.chosen_by.as_ref());
        let mut exchange = self.inspection.take();
        if let (Err(_), Some(exchange)) = (&self.arguments, &mut exchange) {
            recent_calls::omit_bodies(exchange); // nobody knows what of it is secret
        }
        let audit_id = exchange.as_ref().and_then(|exchange| exchange.audit_id.clone());
        let message = end.message.map(|message| match &self.arguments {
            Ok(_) => secrets.masked_text(&redact::redact_text(&message, &hidden)),
            Err(_) => secrets.masked_text(&redact::redact_text(&mask::mask_named(&message), &hidden)),
        });
        let root = self.nested.as_deref().map_or(&self.request_id, |nested| &nested.root);
        let trace = self.trace.as_deref().map_or_else(|| Trace::id_of_request(root), |trace| trace.id);
        let entry = Entry {
            id: audit_id.unwrap_or_else(tool::new_id),
            tenant: self.tenant,
            at_ms: self.at_ms,
            caller: self.caller.identity.id().to_owned(),
            caller_name: self.caller.name.clone(),
            caller_kind: self.caller.identity.kind(),
            door: self.door.as_str(),
            tool: route.map_or_else(|| shortened(&self.target.to_string()), |route| route.name.clone()),
            uri,
            service,
            arguments,
            status: end.status,
            code: end.code,
            message,
            duration_us: end.duration_us,
            request_id: self.request_id.to_string(),
            trace_id: Some(format!("{trace:032x}")),
            parent_request_id,
            run_id,
            node: self.nested.as_deref().and_then(|nested| Some(nested.step.path.as_deref()?.to_owned())),
            agent,
            step: chosen_by.map(|by| by.step),
            via,
            result_bytes: end.result_bytes,
            usage: end.account.map(|account| account.usage.get().to_owned()),
        };
        let call = exchange.map(|exchange| RecordedCall {
            id: entry.id.clone(),
            is_failure: entry.status != Status::Ok,
            exchange: recent_calls::bounded(exchange),
            hidden,
            secrets,
        });
        (entry, call)
    }
}

impl End {
    /// Of a call that has none.
    fn none(duration_us: i64) -> Self {
        Self {
            duration_us,
            status: Status::Error,
            code: Some(tool::ErrorKind::Internal),
            message: Some("the call did not end".into()),
            result_bytes: 0,
            account: None,
        }
    }
}

fn status_of(error: &Error) -> Status {
    if error.kind().is_refusal() { Status::Refused } else { Status::Error }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_arguments_are_counted_wherever_they_come_from() {
        let text = "x".repeat(MAX_ARGUMENTS_BYTES);
        let map = Map::from_iter([("text".to_owned(), Value::from(text.as_str()))]);
        let raw = RawValue::from_string(Value::Object(map.clone()).to_string()).unwrap();
        let length = raw.get().len();
        assert_eq!(kept(&Arguments::from(map)).unwrap_err(), length);
        assert_eq!(kept(&Arguments::from_raw(raw).unwrap()).unwrap_err(), length);
        assert_eq!(kept(&Arguments::default()).unwrap().get(), "{}");
    }
}
