//! Tools that ask back: in the result with a sealed state as of 2026-07-28, with a request before.

use super::Context;
use super::model;
use rmcp::model::{ErrorData, InputRequest, InputRequests, InputRequiredResult, InputResponses};
use rmcp::service::ServiceError;
use serde_json::{Value, json};
use std::hash::{BuildHasher as _, RandomState};

/// Makes and checks states that only this process can have made.
#[derive(Default)]
pub(crate) struct Seals(RandomState);

impl Seals {
    pub(crate) fn seal(&self, state: &str) -> String {
        format!("{state}.{:016x}", self.0.hash_one(state))
    }

    pub(crate) fn open<'a>(&self, sealed: Option<&'a str>) -> Result<&'a str, ErrorData> {
        let state = sealed.and_then(|sealed| sealed.rsplit_once('.')).map(|(state, _)| state);
        state
            .filter(|state| sealed == Some(self.seal(state).as_str()))
            .ok_or_else(|| ErrorData::invalid_params("requestState is not one of ours", None))
    }
}

/// A form with one field that must be filled in.
pub(crate) fn question(message: &str, field: &str, kind: &str) -> Value {
    elicit(
        message,
        &json!({
            "type": "object", "properties": { field: { "type": kind } }, "required": [field]
        }),
    )
}

pub(crate) fn elicit(message: &str, schema: &Value) -> Value {
    json!({ "method": "elicitation/create", "params": { "mode": "form", "message": message, "requestedSchema": schema } })
}

pub(crate) fn sample(prompt: &str) -> Value {
    json!({ "method": "sampling/createMessage", "params": {
        "messages": [{ "role": "user", "content": { "type": "text", "text": prompt } }], "maxTokens": 100
    } })
}

pub(crate) fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}

pub(crate) fn ask<const N: usize>(
    requests: [(&str, Value); N],
    state: Option<String>,
) -> InputRequiredResult {
    let requests = requests.into_iter().map(|(key, request)| (key.to_owned(), model(request)));
    InputRequiredResult::new(Some(requests.collect()), state)
}

/// The answer to one question, if there is one.
pub(crate) fn answer<'a>(responses: &'a InputResponses, key: &str) -> Result<Option<&'a Value>, ErrorData> {
    match responses.get(key) {
        Some(answer) if !answer.is_object() => {
            Err(ErrorData::invalid_params(format!("inputResponses.{key} must be an object"), None))
        }
        answer => Ok(answer),
    }
}

/// Asks the client as the older versions do it, and keeps what it answers.
pub(crate) async fn fetch(
    cx: &Context,
    requests: InputRequests,
    responses: &mut InputResponses,
) -> Result<(), ErrorData> {
    for (key, request) in requests {
        let answer = match request {
            InputRequest::CreateMessage(request) => {
                json!(cx.peer.create_message(request.params).await.map_err(refused)?)
            }
            InputRequest::Elicitation(request) => {
                json!(cx.peer.create_elicitation(request.params).await.map_err(refused)?)
            }
            InputRequest::ListRoots(_) => json!(cx.peer.list_roots().await.map_err(refused)?),
            other => return Err(ErrorData::internal_error(format!("cannot ask {other:?}"), None)),
        };
        responses.insert(key, answer);
    }
    Ok(())
}

fn refused(error: ServiceError) -> ErrorData {
    match error {
        ServiceError::McpError(error) => error,
        error => ErrorData::internal_error(error.to_string(), None),
    }
}
