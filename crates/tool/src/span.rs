//! Spans: pieces of work with a beginning, an end and what is to be known of them, where somebody collects such.

use crate::{Context, Error, Trace};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// The most bytes of what was said that a span keeps under one name.
const MAX_CONTENT_BYTES: usize = 8 * 1024;

/// Whoever collects spans.
pub trait Spans: fmt::Debug + Send + Sync {
    /// A span has ended. Calls wait for this, so it must not wait for anybody.
    fn take(&self, span: FinishedSpan);

    /// Spans may hold what was said: prompts, arguments, answers.
    fn has_content(&self) -> bool;
}

/// On whose side of a request a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// Of whoever was asked from outside.
    Server,
    /// Of whoever asks somebody outside.
    Client,
    /// Of neither.
    Internal,
}

/// A span that has ended.
#[derive(Debug)]
pub struct FinishedSpan {
    /// Its own place.
    pub trace: Arc<Trace>,
    /// The span around it, and whether that is of another program.
    pub parent: Option<(u64, bool)>,
    /// On whose side it is.
    pub kind: SpanKind,
    /// What was done.
    pub name: Cow<'static, str>,
    /// When it began.
    pub begun: SystemTime,
    /// When it ended.
    pub ended: SystemTime,
    /// What is to be known of it.
    pub attributes: Vec<(&'static str, Value)>,
    /// It failed; why stands in its attributes.
    pub is_failure: bool,
}

/// A span that is under way, and ends when it is dropped. It is nothing, and costs nothing, where nobody collects.
#[derive(Debug, Default)]
pub struct Span(Option<Box<Open>>);

#[derive(Debug)]
struct Open {
    spans: Arc<dyn Spans>,
    begun: Instant,
    /// Filled in when it ends.
    finished: FinishedSpan,
}

impl Span {
    /// Begins a span for `spans`, below `around` where that is known. What a client does not want to have kept is
    /// not kept.
    #[must_use]
    pub fn begin(
        spans: Option<&Arc<dyn Spans>>,
        around: Option<&Arc<Trace>>,
        kind: SpanKind,
        name: impl Into<Cow<'static, str>>,
    ) -> Self {
        let is_unwanted = around.is_some_and(|around| !around.is_sampled());
        let Some(spans) = spans.filter(|_| !is_unwanted) else { return Self(None) };
        let now = SystemTime::now();
        let finished = FinishedSpan {
            trace: Arc::new(Trace::below(around, spans.clone())),
            parent: around.map(|around| (around.span, around.is_remote)),
            kind,
            name: name.into(),
            begun: now,
            ended: now,
            attributes: Vec::new(),
            is_failure: false,
        };
        Self(Some(Box::new(Open { spans: spans.clone(), begun: Instant::now(), finished })))
    }

    /// The place that work inside the span has, where it is kept.
    #[must_use]
    pub fn trace(&self) -> Option<&Arc<Trace>> {
        self.0.as_ref().map(|open| &open.finished.trace)
    }

    /// Somebody will read it.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// Gives it another name.
    pub fn rename(&mut self, name: impl FnOnce() -> String) {
        if let Some(open) = &mut self.0 {
            open.finished.name = name().into();
        }
    }

    /// Notes what is to be known of it; what is not there is not noted.
    pub fn note(&mut self, key: &'static str, value: impl Into<Value>) {
        let Some(open) = &mut self.0 else { return };
        let value = value.into();
        if !value.is_null() {
            open.finished.attributes.push((key, value));
        }
    }

    /// Notes what was said, where that may be kept, and as much of it as a span holds.
    pub fn note_content(&mut self, key: &'static str, text: impl FnOnce() -> String) {
        let Some(open) = self.0.as_mut().filter(|open| open.spans.has_content()) else { return };
        let mut text = text();
        if text.len() > MAX_CONTENT_BYTES {
            text.truncate(text.floor_char_boundary(MAX_CONTENT_BYTES));
            text.push('…');
        }
        open.finished.attributes.push((key, text.into()));
    }

    /// It has failed. The words of an error may repeat what was said, so only its kind is kept.
    pub fn fail(&mut self, error: &Error) {
        if self.is_kept() {
            let code = error.reason().and_then(crate::Reason::code);
            self.fail_as(&code.map_or_else(|| format!("{:?}", error.kind()), str::to_owned));
        }
    }

    /// The same for a failure that is known by its kind alone.
    pub fn fail_as(&mut self, kind: &str) {
        self.note("error.type", kind);
        if let Some(open) = &mut self.0 {
            open.finished.is_failure = true;
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let Some(open) = self.0.take() else { return };
        let Open { spans, begun, mut finished } = *open;
        finished.ended = finished.begun + begun.elapsed();
        spans.take(finished);
    }
}

impl Context {
    /// Begins a span for a part of this call, where somebody collects the call's own.
    #[must_use]
    pub fn span(&self, kind: SpanKind, name: impl FnOnce() -> String) -> Span {
        Span::below(self.trace.as_ref(), kind, name)
    }

    /// The same context for what happens inside a span; nothing where the span is none.
    #[must_use]
    pub fn within_span(&self, span: &Span) -> Option<Box<Self>> {
        span.trace().map(|trace| Box::new(Self { trace: Some(trace.clone()), ..self.clone() }))
    }
}

impl Span {
    /// Begins a span below a place, where somebody collects those of its trace.
    #[must_use]
    pub fn below(around: Option<&Arc<Trace>>, kind: SpanKind, name: impl FnOnce() -> String) -> Self {
        match around.and_then(|around| around.spans.as_ref()) {
            Some(spans) => Self::begin(Some(spans), around, kind, name()),
            None => Self(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[derive(Debug, Default)]
    struct Recorder {
        spans: Mutex<Vec<FinishedSpan>>,
        has_content: bool,
    }

    impl Spans for Recorder {
        fn take(&self, span: FinishedSpan) {
            self.spans.lock().unwrap().push(span);
        }

        fn has_content(&self) -> bool {
            self.has_content
        }
    }

    fn record(has_content: bool, around: Option<&Arc<Trace>>) -> Vec<FinishedSpan> {
        let kept = Arc::new(Recorder { has_content, ..Recorder::default() });
        let spans: Arc<dyn Spans> = kept.clone();
        let mut outer = Span::begin(Some(&spans), around, SpanKind::Server, "outer");
        outer.note("n", 7);
        outer.note_content("said", || "ü".repeat(MAX_CONTENT_BYTES));
        let mut inner = Span::below(outer.trace(), SpanKind::Client, || "inner".to_owned());
        inner.fail(&Error::timeout("the password is hunter2"));
        drop((inner, outer));
        std::mem::take(&mut *kept.spans.lock().unwrap())
    }

    #[test]
    fn a_span_inside_another_is_below_it() {
        let spans = record(false, None);
        let [inner, outer] = spans.as_slice() else { panic!("{spans:?}") };
        assert_eq!((inner.trace.id, inner.parent), (outer.trace.id, Some((outer.trace.span, false))));
        assert!(outer.parent.is_none() && outer.trace.id != 0 && outer.ended >= outer.begun);
        assert_eq!(outer.attributes, [("n", Value::from(7))]);
        assert!(inner.is_failure && !format!("{inner:?}").contains("hunter2"), "{inner:?}");
    }

    #[test]
    fn content_is_kept_only_where_that_was_said_and_is_cut() {
        let spans = record(true, None);
        let said = spans[1].attributes[1].1.as_str().unwrap();
        assert!(said.len() <= MAX_CONTENT_BYTES + 3 && said.ends_with("ü…"), "{}", said.len());
    }

    #[test]
    fn keeps_nothing_where_nobody_collects_or_the_client_does_not_want_it() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
        let unwanted = Arc::new(Trace::parse(&format!("{parent}-00"), None).unwrap());
        assert!(record(true, Some(&unwanted)).is_empty());
        let wanted = Arc::new(Trace::parse(&format!("{parent}-01"), None).unwrap());
        let spans = record(true, Some(&wanted));
        assert_eq!((spans[1].trace.id, spans[1].parent), (wanted.id, Some((wanted.span, true))));
        assert!(!Span::below(Some(&wanted), SpanKind::Client, || unreachable!("nobody reads it")).is_kept());
    }
}
