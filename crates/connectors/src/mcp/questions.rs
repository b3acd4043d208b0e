//! What a server asks back in its answer: passed on to programs that take it so, asked of the others.

use super::client::{ReconnectingClient, Repeat};
use mcp::client::{About, ability_of};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;
use tool::trace::{TRACEPARENT, TRACESTATE};
use tool::{Context, Error, Extras, Fields, InputRequest, Question, QuestionMode, Result};

/// How often one call may be asked something.
const MAX_ROUNDS: usize = 16;
/// Where a server finds the idempotency key of a request, in its `_meta`.
const IDEMPOTENCY_KEY: &str = "mcp-all-in-one/idempotencyKey";
/// Questions in one answer.
const MAX_QUESTIONS: usize = 32;

/// The fields of a request: what we write, under plain names, then what the caller's request carried besides.
pub(super) struct Params {
    fields: Vec<(&'static str, Box<RawValue>)>,
    extras: Extras,
}

impl Params {
    pub(super) fn new(extras: Extras) -> Self {
        Self { fields: Vec::new(), extras }
    }

    pub(super) fn with(mut self, name: &'static str, value: Box<RawValue>) -> Self {
        self.fields.push((name, value));
        self
    }

    pub(super) fn with_text(self, name: &'static str, text: &str) -> Self {
        self.with(name, serde_json::value::to_raw_value(text).unwrap_or_default())
    }

    /// With what lets the server tell a repetition, and the place in a trace, where there are such. What else stands in
    /// `_meta` stays as it was written.
    pub(super) fn with_meta(mut self, cx: &Context) -> Self {
        let parent = cx.trace.as_ref().map(|trace| Cow::Owned(trace.parent()));
        let state = cx.trace.as_ref().and_then(|trace| trace.state()).map(Cow::Borrowed);
        let key = cx.idempotency_key().map(Cow::Borrowed);
        let ours = [(IDEMPOTENCY_KEY, key), (TRACEPARENT, parent), (TRACESTATE, state)];
        let ours: Vec<_> = ours.into_iter().filter_map(|(name, text)| Some((name, text?))).collect();
        if ours.is_empty() {
            return self;
        }
        let given = self.extras.get("_meta").and_then(|meta| serde_json::from_str(meta.get()).ok());
        let given: Fields<'_> = given.unwrap_or_default();
        let is_kept = |name: &str| ours.iter().all(|(our, _)| *our != name);
        let kept = given.0.iter().filter(|(name, _)| is_kept(name));
        let kept = kept.map(|(name, value)| format!("{}:{}", Value::from(&**name), value.get()));
        let ours = ours.iter().map(|(name, text)| format!("{}:{}", Value::from(*name), Value::from(&**text)));
        let text = format!("{{{}}}", kept.chain(ours).collect::<Vec<_>>().join(","));
        self.extras.set("_meta", RawValue::from_string(text).unwrap_or_default());
        self
    }

    /// The JSON text of all of them.
    fn to_text(&self) -> String {
        let size: usize = self.fields.iter().map(|(name, value)| name.len() + value.get().len() + 4).sum();
        let mut text = String::with_capacity(size + 2);
        for (name, value) in &self.fields {
            text.extend([if text.is_empty() { "{\"" } else { ",\"" }, name, "\":", value.get()]);
        }
        let is_ours = |name: &str| self.fields.iter().any(|(ours, _)| *ours == name);
        for (name, value) in self.extras.0.iter().filter(|(name, _)| !is_ours(name)) {
            let name = Value::from(name.as_str()).to_string();
            text.extend([if text.is_empty() { "{" } else { "," }, &name, ":", value.get()]);
        }
        text.push_str(if text.is_empty() { "{}" } else { "}" });
        text
    }
}

/// Sends a request. Where the server asks back, the caller's program is asked and the request is
/// repeated with its answers; programs that take questions as an outcome get them as they are.
pub(super) async fn converse(
    cx: &Context,
    client: &Arc<ReconnectingClient>,
    method: &str,
    about: About<'_>,
    mut params: Params,
    repeat: Repeat,
) -> Result<Box<RawValue>> {
    for _ in 0..MAX_ROUNDS {
        let result = client.request(cx, method, about, Some(&params.to_text()), repeat).await?;
        let is_asked = |client: &Arc<dyn tool::Client>| client.question_mode() == QuestionMode::DuringCall;
        let Some(program) = cx.client.as_ref().filter(|client| is_asked(client)) else { return Ok(result) };
        let Some(asked) = InputRequired::read(&result) else { return Ok(result) };
        let responses = asked.ask(cx, client.name(), &**program).await?;
        params.extras.set("inputResponses", responses);
        match asked.state {
            Some(state) => params.extras.set("requestState", state.to_owned()),
            None => drop(params.extras.take("requestState")),
        }
    }
    let name = client.name();
    Err(Error::upstream(format!(
        "the MCP server '{name}' has asked back {MAX_ROUNDS} times and still does not answer"
    )))
}

/// The questions in a result that is no answer; those that nobody could understand are left out.
pub(super) fn as_question(result: &RawValue) -> Option<InputRequest> {
    let asked = InputRequired::read(result)?;
    let question = |(name, asked): &(_, &RawValue)| {
        let asked: WrittenRequest<'_> = serde_json::from_str(asked.get()).ok()?;
        let ability = ability_of(&asked.method, asked.params)?;
        let question = Question { ability, params: asked.params.map(ToOwned::to_owned) };
        Some((ToString::to_string(name), question))
    };
    let questions = asked.requests.0.iter().filter_map(question).collect();
    Some(InputRequest { questions, state: asked.state.map(ToOwned::to_owned), original: None })
}

struct InputRequired<'a> {
    requests: Fields<'a>,
    state: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(borrow, default)]
    result_type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    input_requests: Option<Fields<'a>>,
    #[serde(borrow, default)]
    request_state: Option<&'a RawValue>,
}

/// One of the questions, as it stands in a result.
#[derive(Deserialize)]
struct WrittenRequest<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

impl<'a> InputRequired<'a> {
    fn read(result: &'a RawValue) -> Option<Self> {
        // Most answers are none, and long ones need not be parsed to see that.
        memchr::memmem::find(result.get().as_bytes(), b"\"input_required\"")?;
        let head: Head<'a> = serde_json::from_str(result.get()).ok()?;
        (head.result_type.as_deref() == Some("input_required"))
            .then(|| Self { requests: head.input_requests.unwrap_or_default(), state: head.request_state })
    }

    /// The program's answers, by the names of the questions.
    async fn ask(&self, cx: &Context, server: &str, client: &dyn tool::Client) -> Result<Box<RawValue>> {
        let wrong = |what: String| Error::upstream(format!("the MCP server '{server}' {what}"));
        if self.requests.0.len() > MAX_QUESTIONS {
            return Err(wrong(format!("asks more than {MAX_QUESTIONS} things at once")));
        }
        let mut responses = String::from("{");
        for (name, request) in &self.requests.0 {
            let request: WrittenRequest<'_> = serde_json::from_str(request.get())
                .map_err(|error| wrong("asks something unreadable".to_owned()).caused_by(error))?;
            let ability = ability_of(&request.method, request.params)
                .ok_or_else(|| wrong(format!("asks for '{}', which is no question", request.method)))?;
            if !client.can(ability) {
                let what = ability.as_str();
                return Err(Error::unsupported(format!(
                    "the MCP server '{server}' asks for '{what}', which the client has not declared among its capabilities"
                )));
            }
            let question = Question { ability, params: request.params.map(ToOwned::to_owned) };
            let answer = client.ask(cx, question).await?;
            if responses.len() > 1 {
                responses.push(',');
            }
            responses.push_str(&format!("{}:{}", Value::from(&**name), answer.get()));
        }
        responses.push('}');
        RawValue::from_string(responses)
            .map_err(|error| Error::upstream("the program's answer is unusable").caused_by(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tool::{Ability, Step, TenantId};

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn puts_the_key_of_a_step_and_the_trace_beside_what_stands_in_meta() {
        let outer = Context::system(TenantId::default_tenant(), Duration::ZERO);
        let inner = outer.nested(Step { idempotency_key: Some("r1:send".into()), ..Step::default() });
        let with = |cx: &Context, meta: &str| {
            Params::new(Extras(vec![("_meta".into(), raw(meta))])).with_meta(cx).to_text()
        };
        assert_eq!(with(&outer, r#"{"a":1}"#), r#"{"_meta":{"a":1}}"#);
        let sent = with(&inner, r#"{"a":1e2}"#);
        assert_eq!(sent, r#"{"_meta":{"a":1e2,"mcp-all-in-one/idempotencyKey":"r1:send"}}"#);
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let trace = tool::Trace::parse(parent, Some("v=1")).map(Arc::new);
        let sent = with(&Context { trace, ..outer }, r#"{"traceparent":"theirs"}"#);
        assert_eq!(sent, format!(r#"{{"_meta":{{"traceparent":"{parent}","tracestate":"v=1"}}}}"#));
    }

    #[test]
    fn knows_what_a_server_asks_back() {
        let result = raw(r#"{"resultType":"input_required","requestState":"s","inputRequests":{
                "who":{"method":"elicitation/create","params":{"message":"Who?"}},"x":{"method":"unknown/thing"}}}"#);
        let request = as_question(&result).unwrap();
        let [(name, question)] = request.questions.as_slice() else { panic!("{request:?}") };
        assert_eq!((name.as_str(), question.ability), ("who", Ability::Elicitation));
        assert_eq!(question.params.as_ref().unwrap().get(), r#"{"message":"Who?"}"#);
        assert_eq!(request.state.unwrap().get(), r#""s""#);
        assert!(as_question(&raw(r#"{"content":[]}"#)).is_none());
        let page = raw(r#"{"resultType":"input_required","inputRequests":{"go":
                {"method":"elicitation/create","params":{"mode":"url","url":"https://a.example","message":"Pay"}}}}"#);
        assert_eq!(as_question(&page).unwrap().questions[0].1.ability, Ability::UrlElicitation);
    }
}
