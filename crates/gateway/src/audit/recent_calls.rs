//! Recent calls: what the last calls sent and got, in memory, for whoever asks why one failed.
//!
//! Calls only fill their own [`tool::Inspection`]; the writer of the audit puts it here when it comes to it, so that
//! no call waits for another. What is kept is masked when somebody reads it, which is seldom.

use super::mask::mask_named;
use super::redact::redact_text;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::mem::size_of;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tool::inspection::{Attempt, CUT, Exchange, KEPT_BODY_BYTES, StepTime};
use tool::secret::SecretValues;
use tool::{Inspection, TenantId};

/// The most bytes of all that is kept, whoever's it is: beyond it the tenant with most of them loses its oldest.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// What a call takes beside its bodies.
const EACH_BYTES: usize = 512;

/// The last calls and the last failures of each tenant.
#[derive(Debug)]
pub struct RecentCalls {
    /// Of each, per tenant.
    count: usize,
    all_calls: Mutex<CallsByTenant>,
}

#[derive(Debug, Default)]
struct CallsByTenant {
    tenants: HashMap<TenantId, TenantCalls>,
    /// Of all of them.
    bytes: usize,
}

#[derive(Debug, Default)]
struct TenantCalls {
    calls: VecDeque<Item>,
    failures: VecDeque<Item>,
    bytes: usize,
}

#[derive(Debug, Clone)]
struct Item(Arc<RecordedCall>);

/// What was taken down of a call, not masked yet.
#[derive(Debug)]
pub(super) struct RecordedCall {
    pub(super) id: String,
    pub(super) is_failure: bool,
    pub(super) exchange: Exchange,
    /// What was secret in the arguments.
    pub(super) hidden: Vec<Value>,
    /// What is secret in the run around the call, parts of it included.
    pub(super) secrets: SecretValues,
}

/// What a call sent and got, secrets masked.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields of an exchange, which has words for them")]
pub struct Inspected {
    pub request: Option<Value>,
    pub status: Option<u16>,
    pub raw: Option<String>,
    pub attempts: Vec<Attempt>,
    pub steps: Vec<StepTime>,
}

impl RecentCalls {
    pub(super) fn new(count: usize) -> Self {
        Self { count, all_calls: Mutex::default() }
    }

    pub(super) fn is_on(&self) -> bool {
        self.count > 0
    }

    /// What was kept of a call, if it is among the last.
    #[must_use]
    pub fn find(&self, tenant: &TenantId, id: &str) -> Option<Inspected> {
        let (exchange, hidden, secrets) = self.copy(tenant, id)?;
        Some(Inspected::new(&exchange, &hidden).without(&secrets))
    }

    /// A copy, so that the writer does not wait for the masks. Nobody may hold on to an item, as its bytes are counted
    /// until it has left both lists.
    fn copy(&self, tenant: &TenantId, id: &str) -> Option<(Exchange, Vec<Value>, SecretValues)> {
        let all_calls = self.lock();
        let calls = all_calls.tenants.get(tenant)?;
        let mut all = calls.calls.iter().rev().chain(calls.failures.iter().rev());
        let RecordedCall { exchange, hidden, secrets, .. } = &*all.find(|item| item.0.id == id)?.0;
        Some((exchange.clone(), hidden.clone(), secrets.clone()))
    }

    /// Forgets what was kept of a tenant.
    pub fn forget(&self, tenant: &TenantId) {
        let mut all_calls = self.lock();
        let gone = all_calls.tenants.remove(tenant).map_or(0, |calls| calls.bytes);
        all_calls.bytes -= gone;
    }

    pub(super) fn keep(&self, tenant: &TenantId, call: RecordedCall) {
        let mut all_calls = self.lock();
        let CallsByTenant { tenants, bytes } = &mut *all_calls;
        let calls = tenants.entry(tenant.clone()).or_default();
        let before = calls.bytes;
        calls.put(Item(Arc::new(call)), self.count);
        *bytes = *bytes - before + calls.bytes;
        while *bytes > MAX_BYTES {
            let Some(largest) = tenants.values_mut().max_by_key(|calls| calls.bytes) else { return };
            let before = largest.bytes;
            largest.drop_oldest();
            if largest.bytes == before {
                return;
            }
            *bytes -= before - largest.bytes;
        }
    }

    fn lock(&self) -> MutexGuard<'_, CallsByTenant> {
        self.all_calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TenantCalls {
    fn put(&mut self, item: Item, count: usize) {
        self.bytes += item.bytes();
        let is_failure = item.0.is_failure;
        if is_failure {
            self.failures.push_back(item.clone());
            if self.failures.len() > count {
                let gone = self.failures.pop_front();
                self.left(gone);
            }
        }
        self.calls.push_back(item);
        if self.calls.len() > count {
            let gone = self.calls.pop_front();
            self.left(gone);
        }
    }

    /// Counts what has left one of the lists, unless the other one still has it.
    fn left(&mut self, gone: Option<Item>) {
        if let Some(item) = gone.filter(|item| Arc::strong_count(&item.0) == 1) {
            self.bytes -= item.bytes();
        }
    }

    /// What is oldest may stand in both lists.
    fn drop_oldest(&mut self) {
        let first = |list: &VecDeque<Item>| list.front().map(|item| item.0.id.clone());
        let Some(oldest) = first(&self.calls).into_iter().chain(first(&self.failures)).min() else { return };
        let is_oldest = |item: &mut Item| item.0.id == oldest;
        let call = self.calls.pop_front_if(is_oldest);
        self.left(call);
        let failure = self.failures.pop_front_if(is_oldest);
        self.left(failure);
    }
}

impl Item {
    fn bytes(&self) -> usize {
        let RecordedCall { exchange, hidden, .. } = &*self.0;
        let bodies =
            exchange.request.as_ref().map_or(0, taken_by) + exchange.raw.as_ref().map_or(0, String::len);
        let said = |error: &Option<String>| size_of::<Attempt>() + error.as_ref().map_or(0, String::len);
        let attempts: usize = exchange.attempts.iter().map(|attempt| said(&attempt.error)).sum();
        let steps: usize = exchange.steps.iter().map(|step| said(&step.error)).sum();
        EACH_BYTES + bodies + attempts + steps + hidden.iter().map(taken_by).sum::<usize>()
    }
}

/// What may be kept of an exchange: somebody may have looked at it as a whole.
pub(super) fn bounded(mut exchange: Exchange) -> Exchange {
    if let Some(raw) = exchange.raw.as_mut().filter(|raw| raw.len() > KEPT_BODY_BYTES + CUT.len()) {
        raw.truncate(raw.floor_char_boundary(KEPT_BODY_BYTES));
        raw.push_str(CUT);
    }
    let size = exchange.request.as_ref().map_or(0, taken_by);
    if size > 2 * KEPT_BODY_BYTES {
        exchange.request = Some(json!({ "omitted": format!("a request of {size} bytes") }));
    }
    exchange
}

/// Leaves how long it took, where and how often it failed.
pub(super) fn omit_bodies(exchange: &mut Exchange) {
    exchange.request = exchange.request.take().map(|_| json!({ "omitted": "its arguments are too long" }));
    exchange.raw = None;
}

/// About what a value takes.
fn taken_by(value: &Value) -> usize {
    match value {
        Value::String(text) => 32 + text.len(),
        Value::Array(items) => 32 + items.iter().map(taken_by).sum::<usize>(),
        Value::Object(fields) => {
            32 + fields.iter().map(|(name, field)| 32 + name.len() + taken_by(field)).sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 32,
    }
}

impl Inspected {
    fn new(exchange: &Exchange, hidden: &[Value]) -> Self {
        let text = |text: &str| redact_text(text, hidden);
        let said = |error: &Option<String>| error.as_deref().map(text);
        Self {
            request: exchange.request.as_ref().map(|request| masked(request, hidden)),
            status: exchange.status,
            raw: exchange.raw.as_deref().map(|raw| text(&mask_named(&cut_before_hidden(raw, hidden)))),
            attempts: exchange
                .attempts
                .iter()
                .map(|attempt| Attempt { us: attempt.us, error: said(&attempt.error) })
                .collect(),
            steps: exchange
                .steps
                .iter()
                .map(|step| StepTime { error: said(&step.error), ..step.clone() })
                .collect(),
        }
    }

    fn without(self, secrets: &SecretValues) -> Self {
        if secrets.is_empty() {
            return self;
        }
        let said = |error: Option<String>| error.map(|error| secrets.masked_text(&error));
        let attempts = self.attempts.into_iter();
        let steps = self.steps.into_iter();
        Self {
            request: self.request.map(|request| secrets.masked(request)),
            status: self.status,
            raw: said(self.raw),
            attempts: attempts.map(|attempt| Attempt { error: said(attempt.error), ..attempt }).collect(),
            steps: steps.map(|step| StepTime { error: said(step.error), ..step }).collect(),
        }
    }

    /// What was taken down of a call that has just ended, for whoever made it.
    #[must_use]
    pub fn of(inspection: &Inspection) -> Self {
        Self::new(&inspection.exchange(), &[])
    }
}

/// A body whose end is missing, without what may be the beginning of something hidden, in whatever it is encoded.
fn cut_before_hidden<'a>(body: &'a str, hidden: &[Value]) -> Cow<'a, str> {
    const LONGEST_ENCODING: usize = 6;
    let longest = hidden.iter().map(taken_by).max().unwrap_or(0);
    match body.strip_suffix(CUT).filter(|_| longest > 0) {
        Some(beginning) => {
            let end = beginning.len().saturating_sub(LONGEST_ENCODING * longest);
            format!("{}{CUT}", &beginning[..beginning.floor_char_boundary(end)]).into()
        }
        None => body.into(),
    }
}

/// A request without secrets of any kind, as JSON: bodies are texts that may be JSON themselves.
fn masked(request: &Value, hidden: &[Value]) -> Value {
    match request {
        Value::String(text) => redact_text(&mask_named(text), hidden).into(),
        Value::Array(items) => items.iter().map(|item| masked(item, hidden)).collect(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| match super::is_secret_name(name) {
                true => (name.clone(), tool::secret::MASK.into()),
                false => (name.clone(), masked(value, hidden)),
            };
            Value::Object(fields.iter().map(field).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => request.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> TenantId {
        name.parse().expect("a name of a tenant")
    }

    fn exchanged(request: Option<Value>, raw: String) -> Exchange {
        let inspection = Inspection::on();
        inspection.note(|seen| (seen.request, seen.raw) = (request, Some(raw)));
        inspection.exchange()
    }

    fn call(id: usize, is_failure: bool, bytes: usize) -> RecordedCall {
        let exchange = exchanged(None, "x".repeat(bytes));
        RecordedCall {
            id: format!("{id:08}"),
            is_failure,
            exchange,
            hidden: Vec::new(),
            secrets: SecretValues::default(),
        }
    }

    #[test]
    fn keeps_the_last_calls_and_the_last_failures_of_each_tenant() {
        let kept = RecentCalls::new(3);
        let (acme, other) = (tenant("acme"), tenant("other"));
        kept.keep(&acme, call(0, true, 1));
        for id in 1..10 {
            kept.keep(&acme, call(id, false, 1));
        }
        let is_there = |id: usize| kept.find(&acme, &format!("{id:08}")).is_some();
        assert!(is_there(0) && is_there(9) && is_there(7) && !is_there(6));
        assert!(kept.find(&other, "00000009").is_none(), "it is another tenant's");
        for id in 10..13 {
            kept.keep(&acme, call(id, true, 1));
        }
        assert!(!is_there(0) && is_there(12));
        let counted = kept.lock().tenants[&acme].bytes;
        assert_eq!(counted, 3 * (EACH_BYTES + 1), "the same three are in both lists, and count once");
        kept.forget(&acme);
        assert!(!is_there(12));
    }

    #[test]
    fn takes_from_whoever_has_most_when_it_is_too_much() {
        let kept = RecentCalls::new(2000);
        let (small, large) = (tenant("small"), tenant("large"));
        kept.keep(&small, call(0, true, 100));
        for id in 0..1100 {
            kept.keep(&large, call(id, id % 2 == 0, 64 * 1024));
        }
        let total: usize = kept.lock().tenants.values().map(|calls| calls.bytes).sum();
        assert_eq!(total, kept.lock().bytes);
        assert!(total <= MAX_BYTES && total > MAX_BYTES - 128 * 1024, "{total}");
        assert!(kept.find(&small, "00000000").is_some() && kept.find(&large, "00001099").is_some());
        assert!(kept.find(&large, "00000000").is_none());
    }

    #[test]
    fn shows_no_secret_by_name_or_by_value() {
        let kept = RecentCalls::new(1);
        let request = serde_json::json!({
            "url": "https://x/?q=hunter22", "headers": { "X-Api-Key": "k" }, "body": r#"{"password":"p","a":1}"#
        });
        let exchange = exchanged(Some(request), r#"{"access_token":"t","said":"hunter22"}"#.into());
        let hidden = vec!["hunter22".into()];
        kept.keep(
            &tenant("acme"),
            RecordedCall {
                id: "1".into(),
                is_failure: true,
                exchange,
                hidden,
                secrets: SecretValues::default(),
            },
        );
        let seen = kept.find(&tenant("acme"), "1").expect("it is kept");
        let request = seen.request.expect("it was noted").to_string();
        assert_eq!(
            request,
            r#"{"url":"https://x/?q=***","headers":{"X-Api-Key":"***"},"body":"{\"password\":\"***\",\"a\":1}"}"#
        );
        assert_eq!(seen.raw.as_deref(), Some(r#"{"access_token":"***","said":"***"}"#));
    }

    #[test]
    fn shows_no_part_of_a_secret_at_the_end_of_what_is_cut() {
        let kept = RecentCalls::new(1);
        let secret = "s3cr3t-and-longer";
        let cut = format!("{}{}{CUT}", "x".repeat(1000), &secret[..10]);
        let exchange = exchanged(None, cut);
        let hidden = vec![secret.into()];
        kept.keep(
            &tenant("acme"),
            RecordedCall {
                id: "1".into(),
                is_failure: false,
                exchange,
                hidden,
                secrets: SecretValues::default(),
            },
        );
        let raw = kept.find(&tenant("acme"), "1").and_then(|seen| seen.raw).expect("it is kept");
        assert!(!raw.contains("s3") && raw.ends_with(CUT) && raw.len() > 500, "{raw}");
    }
}
