//! The dialect of Gemini's `generateContent`.

use super::body::{Body, with_schema};
use super::lenient::Few;
use super::stream::Partial;
use super::{Answer, MAX_CALLS, ModelRequest, Stop, ToolCall, Turn, Usage};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, json};
use tool::Result;

/// The path of a model call, behind the version.
pub(super) fn path(model: &str, is_streamed: bool) -> String {
    match is_streamed {
        true => format!("models/{model}:streamGenerateContent?alt=sse"),
        false => format!("models/{model}:generateContent"),
    }
}

#[derive(Serialize)]
struct Tools<'a> {
    #[serde(rename = "functionDeclarations")]
    declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    /// Takes JSON Schema as it is written; `parameters` would take a part of it only.
    #[serde(rename = "parametersJsonSchema")]
    parameters: &'a RawValue,
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'a str,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    name: &'a str,
    args: &'a RawValue,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    name: &'a str,
    response: Map<String, serde_json::Value>,
}

pub(super) fn body(asked: &ModelRequest<'_>) -> Result<Body> {
    let mut body = Body::default();
    let system = with_schema(asked.system, asked.schema);
    body.set("systemInstruction", &json!({ "parts": [{ "text": system }] }))?;
    body.set("contents", &asked.turns.iter().map(content).collect::<Vec<_>>())?;
    if !asked.tools.is_empty() {
        let declarations = asked.tools.iter().map(|tool| Declaration {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
        });
        body.set("tools", &[Tools { declarations: declarations.collect() }])?;
    }
    let mut config = json!({ "maxOutputTokens": asked.parameters.max_output_tokens });
    if let Some(temperature) = asked.parameters.temperature {
        config["temperature"] = temperature.into();
    }
    body.set("generationConfig", &config)?;
    Ok(body)
}

fn content(turn: &Turn) -> Content<'_> {
    match turn {
        Turn::User(text) => {
            Content { role: "user", parts: vec![Part { text: Some(text), ..Part::default() }] }
        }
        Turn::Model { text, calls, .. } => {
            let text = (!text.is_empty()).then(|| Part { text: Some(text), ..Part::default() });
            let calls = calls.iter().map(|call| Part {
                function_call: Some(FunctionCall { name: &call.name, args: call.replayed() }),
                thought_signature: call.signature.as_deref(),
                ..Part::default()
            });
            Content { role: "model", parts: text.into_iter().chain(calls).collect() }
        }
        Turn::Results(results) => {
            let parts = results.iter().map(|result| {
                let name = if result.is_error { "error" } else { "output" };
                let response = Map::from_iter([(name.to_owned(), result.text.as_str().into())]);
                let function_response = Some(FunctionResponse { name: &result.name, response });
                Part { function_response, ..Part::default() }
            });
            Content { role: "user", parts: parts.collect() }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Generated<'a> {
    #[serde(borrow, default)]
    candidates: Option<Few<Candidate<'a>>>,
    #[serde(default)]
    prompt_feedback: Option<Feedback>,
    #[serde(default)]
    usage_metadata: Option<Tokens>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow, default)]
    content: Option<Said<'a>>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    parts: Few<SaidPart<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SaidPart<'a> {
    #[serde(default)]
    text: Option<String>,
    /// What the model thought on its way is no part of its answer.
    #[serde(default)]
    thought: bool,
    #[serde(borrow, default)]
    function_call: Option<Called<'a>>,
    #[serde(default)]
    thought_signature: Option<String>,
}

#[derive(Deserialize)]
struct Called<'a> {
    name: String,
    #[serde(default)]
    id: Option<String>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    #[serde(default)]
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tokens {
    #[serde(default)]
    prompt_token_count: u64,
    #[serde(default)]
    candidates_token_count: u64,
    #[serde(default)]
    thoughts_token_count: u64,
    #[serde(default)]
    cached_content_token_count: u64,
}

fn stop_of(reason: &str) -> Stop {
    match reason {
        "MAX_TOKENS" => Stop::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => Stop::Refused,
        _ => Stop::End,
    }
}

/// A whole answer; nothing where it is none.
pub(super) fn read(text: &str) -> Option<Answer> {
    let mut partial = Partial::default();
    take(&mut partial, text)?;
    partial.is_whole.then_some(partial.answer)
}

/// Takes in one event of a streamed answer, each of which looks like a whole one; nothing where it is none.
pub(super) fn take(partial: &mut Partial, data: &str) -> Option<()> {
    let generated: Generated<'_> = serde_json::from_str(data).ok()?;
    if let Some(tokens) = generated.usage_metadata {
        partial.answer.usage = Some(Usage {
            input: tokens.prompt_token_count,
            output: tokens.candidates_token_count.saturating_add(tokens.thoughts_token_count),
            cached: tokens.cached_content_token_count,
        });
    }
    if generated.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
        (partial.answer.stop, partial.is_whole) = (Stop::Refused, true);
    }
    let Some(candidate) = generated.candidates.unwrap_or_default().0.into_iter().next() else {
        return Some(());
    };
    let parts = candidate.content.map(|said| said.parts.0).unwrap_or_default();
    if parts.len() > MAX_CALLS && !parts.iter().all(|part| part.function_call.is_some()) {
        return None;
    }
    for part in parts {
        if let Some(text) = part.text.filter(|_| !part.thought) {
            partial.say(&text);
        }
        let Some(called) = part.function_call else { continue };
        let number = partial.answer.calls.len();
        let call = partial.call(number)?;
        *call = ToolCall {
            id: called.id.unwrap_or_else(|| format!("call-{number}")),
            name: called.name,
            arguments: called.args.map_or_else(String::new, |args| args.get().to_owned()),
            signature: part.thought_signature,
        };
    }
    if let Some(reason) = candidate.finish_reason {
        (partial.answer.stop, partial.is_whole) = (stop_of(&reason), true);
    }
    Some(())
}
