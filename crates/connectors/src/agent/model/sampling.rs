//! The model of the MCP client that calls, which answers by its own means.

use super::lenient::arguments_text;
use super::{Answer, ModelRequest, Offer, Stop, ToolCall, Turn, failure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tool::{Ability, Client, Context, Error, Question, Reason, Result};

/// The client's own model.
#[derive(Debug)]
pub(in super::super) struct Sampling;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    messages: Vec<Message<'a>>,
    system_prompt: String,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: Content<'a>,
}

/// One block, or several where versions with tools allow them.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    One(Block<'a>),
    Many(Vec<Block<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a RawValue,
    },
    #[serde(rename_all = "camelCase")]
    ToolResult {
        tool_use_id: &'a str,
        content: Vec<Block<'a>>,
        is_error: bool,
    },
}

impl Sampling {
    pub(super) async fn ask(&self, cx: &Context, asked: &ModelRequest<'_>) -> Result<Answer> {
        let client = self.client(cx, !asked.tools.is_empty())?;
        let params = written(&params(asked))?;
        let question = Question { ability: Ability::Sampling, params: Some(params) };
        let answer = client.ask(cx, question).await.map_err(refused)?;
        read(answer.get()).ok_or_else(unusable)
    }

    /// The calling program, if it lets its model answer.
    ///
    /// # Errors
    /// `Unsupported`, naming what it has not declared.
    pub(in super::super) fn client<'c>(&self, cx: &'c Context, has_tools: bool) -> Result<&'c dyn Client> {
        let client = cx.client.as_deref().filter(|client| client.can(Ability::Sampling));
        let client = client.ok_or_else(|| lacks("sampling"))?;
        match has_tools && !takes_tools(client) {
            true => Err(lacks("sampling.tools")),
            false => Ok(client),
        }
    }

    /// What it is asked, for one that is asked later.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(in super::super) fn params(&self, asked: &ModelRequest<'_>) -> Result<Value> {
        serde_json::to_value(params(asked)).map_err(unwritten)
    }

    /// What it has answered later, as it was written: numbers keep their digits.
    ///
    /// # Errors
    /// `ModelRefused` where that is an error, `BadModelAnswer` where it is none at all.
    pub(in super::super) fn read(&self, answer: &Value) -> Result<Answer> {
        // Others than the agent's own door answer with data.
        let written = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
        let answer: Value = serde_json::from_str(&written).unwrap_or_default();
        match answer.get("error").filter(|_| answer.get("content").is_none()) {
            Some(error) => {
                let why: String = error["message"].as_str().unwrap_or_default().chars().take(300).collect();
                Err(Error::upstream(format!("the client refused: {why}")).because(Reason::ModelRefused))
            }
            None => read(&written).ok_or_else(unusable),
        }
    }
}

/// An error in the client's own words is its model's refusal: nobody has lost the question.
fn refused(error: Error) -> Error {
    let is_refusal = error.original().is_some() && error.reason().is_none();
    if is_refusal { error.because(Reason::ModelRefused) } else { error }
}

fn unusable() -> Error {
    failure::bad("it is not what a client's model answers")
}

fn unwritten(error: serde_json::Error) -> Error {
    Error::internal("a question cannot be written").caused_by(error)
}

/// A question, or a part of one, in JSON.
pub(in super::super) fn written(value: &impl Serialize) -> Result<Box<RawValue>> {
    to_raw_value(value).map_err(unwritten)
}

fn params<'a>(asked: &'a ModelRequest<'_>) -> Params<'a> {
    Params {
        messages: asked.turns.iter().map(message).collect(),
        system_prompt: super::body::with_schema(asked.system, asked.schema),
        max_tokens: asked.parameters.max_output_tokens,
        temperature: asked.parameters.temperature,
        tools: asked.tools.iter().map(tool).collect(),
    }
}

fn lacks(ability: &'static str) -> Error {
    let error = Error::unsupported(format!(
        "this agent uses the model of the MCP client that calls it, and the caller has not declared '{ability}'; call it \
         from a client that has, or give the agent another provider"
    ));
    error.requiring(ability)
}

pub(in super::super) fn takes_tools(client: &dyn Client) -> bool {
    let declared: Value = serde_json::from_str(client.capabilities().get()).unwrap_or_default();
    declared["sampling"]["tools"].is_object()
}

fn tool(offer: &Offer) -> Tool<'_> {
    Tool { name: &offer.name, description: &offer.description, input_schema: &offer.parameters }
}

fn message(turn: &Turn) -> Message<'_> {
    match turn {
        Turn::User(text) => Message { role: "user", content: Content::One(Block::Text { text }) },
        Turn::Model { text, calls, .. } if calls.is_empty() => {
            Message { role: "assistant", content: Content::One(Block::Text { text }) }
        }
        Turn::Model { text, calls, .. } => {
            let text = (!text.is_empty()).then_some(Block::Text { text });
            let calls = calls.iter().map(|call| Block::ToolUse {
                id: &call.id,
                name: &call.name,
                input: call.replayed(),
            });
            Message { role: "assistant", content: Content::Many(text.into_iter().chain(calls).collect()) }
        }
        Turn::Results(results) => {
            let blocks = results.iter().map(|result| Block::ToolResult {
                tool_use_id: &result.id,
                content: vec![Block::Text { text: &result.text }],
                is_error: result.is_error,
            });
            Message { role: "user", content: Content::Many(blocks.collect()) }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sampled<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
    #[serde(default)]
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct SampledBlock<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

/// The client's answer; nothing where it is none, or says nothing.
fn read(answer: &str) -> Option<Answer> {
    let Sampled { content, stop_reason } = serde_json::from_str(answer).ok()?;
    let blocks: Vec<SampledBlock<'_>> = match content.get().starts_with('[') {
        true => serde_json::from_str(content.get()).ok()?,
        false => vec![serde_json::from_str(content.get()).ok()?],
    };
    let stop = if stop_reason.as_deref() == Some("maxTokens") { Stop::Length } else { Stop::End };
    let mut read = Answer { stop, ..Answer::default() };
    for block in blocks {
        match block.kind.as_str() {
            "text" => read.text.push_str(&block.text?),
            "tool_use" => read.calls.push(ToolCall {
                id: block.id?,
                name: block.name?,
                arguments: block.input.map(arguments_text).unwrap_or_default(),
                signature: None,
            }),
            _ => {}
        }
    }
    (!read.is_blank() || !read.calls.is_empty()).then_some(read)
}
