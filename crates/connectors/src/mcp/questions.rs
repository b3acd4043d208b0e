//! What a server asks back in its answer: passed on to programs that take it so, asked of the others.

use super::client::{Link, Repeat};
use mcp::client::About;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;
use tool::{Ability, Context, Error, Extras, Fields, Manner, Question, Result};

/// How often one call may be asked something.
const MAX_ROUNDS: usize = 16;
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
    link: &Arc<Link>,
    method: &str,
    about: About<'_>,
    mut params: Params,
    repeat: Repeat,
) -> Result<Box<RawValue>> {
    for _ in 0..MAX_ROUNDS {
        let result = link.request(cx, method, about, Some(&params.to_text()), repeat).await?;
        let is_asked = |client: &Arc<dyn tool::Client>| client.manner() == Manner::Meanwhile;
        let Some(client) = cx.client.as_ref().filter(|client| is_asked(client)) else { return Ok(result) };
        let Some(asked) = InputRequired::read(&result) else { return Ok(result) };
        let responses = asked.ask(cx, &**client).await?;
        params.extras.set("inputResponses", responses);
        match asked.state {
            Some(state) => params.extras.set("requestState", state.to_owned()),
            None => drop(params.extras.take("requestState")),
        }
    }
    Err(Error::upstream(format!("the server has asked back {MAX_ROUNDS} times and still does not answer")))
}

/// The result is a question, and no answer.
pub(super) fn is_question(result: &RawValue) -> bool {
    InputRequired::read(result).is_some()
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

#[derive(Deserialize)]
struct InputRequest<'a> {
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
    async fn ask(&self, cx: &Context, client: &dyn tool::Client) -> Result<Box<RawValue>> {
        if self.requests.0.len() > MAX_QUESTIONS {
            return Err(Error::upstream(format!("the server asks more than {MAX_QUESTIONS} things at once")));
        }
        let mut responses = String::from("{");
        for (name, request) in &self.requests.0 {
            let request: InputRequest<'_> = serde_json::from_str(request.get())
                .map_err(|error| Error::upstream("the server's question is unreadable").caused_by(error))?;
            let ability = ability(&request.method)
                .ok_or_else(|| Error::upstream(format!("the server asks for '{}'", request.method)))?;
            if !client.can(ability) {
                let what = ability.as_str();
                return Err(Error::unsupported(format!(
                    "the tool asks for '{what}', which the calling program does not support"
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

fn ability(method: &str) -> Option<Ability> {
    [Ability::Sampling, Ability::Elicitation, Ability::Roots]
        .into_iter()
        .find(|ability| mcp::client::method_of(*ability) == method)
}
