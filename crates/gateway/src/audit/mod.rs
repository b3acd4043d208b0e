//! Audit: one record for every call, refused ones too, written in batches off the call's path.

mod redact;
mod writer;

pub(crate) use redact::Redaction;
pub use redact::{is_secret_name, redact};
pub use writer::{Audit, Sink};

use crate::catalog::{Route, Service, shortened};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tool::uri::Options;
use tool::{Arguments, Caller, Context, Door, Error, Nested, Outcome, Target, TenantId};

/// Arguments longer than this are counted, not kept.
const MAX_ARGUMENTS_BYTES: usize = 16 * 1024;

/// A call on its way to the audit, not yet redacted. It is boxed, as it goes through many hands.
#[derive(Debug)]
pub(crate) struct Record {
    tenant: TenantId,
    caller: Arc<Caller>,
    door: Door,
    request_id: Arc<str>,
    trace_id: Option<Arc<str>>,
    nested: Option<Arc<Nested>>,
    target: Target,
    route: Option<Arc<Route>>,
    options: Options,
    /// What the record is about, if it is not a call.
    subject: Option<Subject>,
    arguments: Result<Box<RawValue>, usize>,
    at_ms: i64,
    begun: Instant,
    end: Option<End>,
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
    pub result_bytes: i64,
}

impl Record {
    /// The call as it came in.
    pub(crate) fn begin(cx: &Context, target: &Target, arguments: &Arguments) -> Box<Self> {
        let size_bytes = arguments.raw().map_or(0, |raw| raw.get().len());
        Box::new(Self {
            tenant: cx.tenant.clone(),
            caller: cx.caller.clone(),
            door: cx.door,
            request_id: cx.request_id.clone(),
            trace_id: cx.trace_id.clone(),
            nested: cx.nested.clone(),
            target: target.clone(),
            route: None,
            options: match target {
                Target::Uri(uri) => uri.options().clone(),
                Target::Name(_) | Target::Trial(_) => Options::default(),
            },
            subject: None,
            arguments: if size_bytes > MAX_ARGUMENTS_BYTES {
                Err(size_bytes)
            } else {
                Ok(arguments.to_raw())
            },
            at_ms: now_ms(),
            begun: Instant::now(),
            end: None,
        })
    }

    /// Something that happened to a tool, and was no call.
    pub(crate) fn about(cx: &Context, subject: Subject) -> Box<Self> {
        let target = Target::Name(subject.name.clone());
        let mut record = Self::begin(cx, &target, &Arguments::default());
        record.subject = Some(subject);
        record
    }

    /// What happened.
    pub(crate) fn noted(
        mut self: Box<Self>,
        status: Status,
        code: Option<tool::ErrorKind>,
        message: String,
    ) -> Box<Self> {
        self.end = Some(End { duration_us: 0, status, code, message: Some(message), result_bytes: 0 });
        self
    }

    /// Where the call went.
    pub(crate) fn routed_to(&mut self, route: &Arc<Route>) {
        self.route = Some(route.clone());
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
            Ok(Outcome::Done(output)) if output.is_error() => {
                self.finish(Status::Error, output.failure(), output.size_bytes())
            }
            Ok(Outcome::Done(output)) => self.finish(Status::Ok, None, output.size_bytes()),
            Ok(Outcome::NeedsInput(_) | Outcome::Started(_)) => self.finish(Status::Ok, None, 0),
            Err(error) => self.finish(status_of(error), Some(error), 0),
        }
    }

    /// How the reading of a document or a prompt ended.
    pub(crate) fn end_of_reading(self: Box<Self>, result: &tool::Result<Box<RawValue>>) -> Box<Self> {
        match result {
            Ok(read) => self.finish(Status::Ok, None, read.get().len()),
            Err(error) => self.finish(status_of(error), Some(error), 0),
        }
    }

    fn finish(mut self: Box<Self>, status: Status, error: Option<&Error>, result_bytes: usize) -> Box<Self> {
        let (code, message) = (error.map(Error::kind), error.map(|error| error.message().to_owned()));
        self.end = Some(End {
            duration_us: self.begun.elapsed().as_micros().try_into().unwrap_or(i64::MAX),
            status,
            code,
            message,
            result_bytes: result_bytes.try_into().unwrap_or(i64::MAX),
        });
        self
    }

    /// The record as it is kept: redacted, which is not done on the call's path.
    fn into_entry(self: Box<Self>) -> Entry {
        let route = self.route.as_deref();
        let (uri, service) = match (route, self.subject) {
            (Some(route), _) if self.options.is_empty() => {
                (Some(route.address.clone()), Some(route.service.id.clone()))
            }
            (Some(route), _) => {
                let uri = route.uri.with_options(self.options).to_string();
                (Some(uri), Some(route.service.id.clone()))
            }
            (None, Some(subject)) => (Some(subject.uri), Some(subject.service)),
            (None, None) => (None, None),
        };
        let secrets = self.nested.as_deref().map(|nested| nested.step.secrets.clone()).unwrap_or_default();
        let (arguments, hidden) = match &self.arguments {
            Ok(raw) => {
                let (text, hidden) = match route {
                    Some(route) => route.redaction.take_out(raw),
                    None => Redaction::default().take_out(raw),
                };
                (redact::without(&secrets, text), hidden)
            }
            Err(size) => (format!("{{\"omitted\":\"{size} bytes of arguments\"}}"), Vec::new()),
        };
        let duration_us = self.begun.elapsed().as_micros().try_into().unwrap_or(i64::MAX);
        let end = self.end.unwrap_or(End {
            duration_us,
            status: Status::Error,
            code: Some(tool::ErrorKind::Internal),
            message: Some("the call did not end".into()),
            result_bytes: 0,
        });
        Entry {
            id: tool::new_id(),
            tenant: self.tenant,
            at_ms: self.at_ms,
            caller: self.caller.identity.id().to_owned(),
            caller_kind: self.caller.identity.kind(),
            door: self.door.as_str(),
            tool: route.map_or_else(|| shortened(&self.target.to_string()), |route| route.name.clone()),
            uri,
            service,
            arguments,
            status: end.status,
            code: end.code,
            message: end.message.map(|message| secrets.masked_text(&redact::redact_text(&message, &hidden))),
            duration_us: end.duration_us,
            request_id: self.request_id.to_string(),
            trace_id: self.trace_id.as_deref().map(str::to_owned),
            parent_request_id: self.nested.as_deref().map(|nested| nested.parent.to_string()),
            run_id: self.nested.as_deref().and_then(|nested| nested.step.run.clone()).map(String::from),
            node: self.nested.as_deref().and_then(|nested| Some(nested.step.path.as_deref()?.to_owned())),
            result_bytes: end.result_bytes,
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
