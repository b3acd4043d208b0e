//! The dialect of Anthropic's messages.

use super::body::{Body, with_schema};
use super::lenient::Few;
use super::stream::Partial;
use super::{Answer, MAX_CALLS, ModelRequest, Stop, ToolCall, Turn, Usage};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tool::Result;

pub(super) const PATH: &str = "messages";
/// The version of the interface that we speak.
pub(super) const VERSION: &str = "2023-06-01";

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    Own(OwnBlock<'a>),
    /// As it came.
    Thought(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OwnBlock<'a> {
    Text { text: &'a str },
    ToolUse { id: &'a str, name: &'a str, input: &'a RawValue },
    ToolResult { tool_use_id: &'a str, content: &'a str, is_error: bool },
}

pub(super) fn body(model: &str, asked: &ModelRequest<'_>, is_streamed: bool) -> Result<Body> {
    let mut body = Body::default();
    body.set("model", &model)?;
    body.set("max_tokens", &asked.parameters.max_output_tokens)?;
    body.set("system", &with_schema(asked.system, asked.schema))?;
    body.set("messages", &asked.turns.iter().map(message).collect::<Vec<_>>())?;
    if !asked.tools.is_empty() {
        let tools = asked.tools.iter().map(|tool| Tool {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.parameters,
        });
        body.set("tools", &tools.collect::<Vec<_>>())?;
    }
    if let Some(temperature) = asked.parameters.temperature {
        body.set("temperature", &temperature)?;
    }
    if is_streamed {
        body.set("stream", &true)?;
    }
    Ok(body)
}

fn message(turn: &Turn) -> Message<'_> {
    match turn {
        Turn::User(text) => Message { role: "user", content: vec![Block::Own(OwnBlock::Text { text })] },
        Turn::Model { text, calls, thoughts } => {
            let thoughts = thoughts.iter().filter_map(|thought| serde_json::from_str(thought).ok());
            let text = (!text.is_empty()).then_some(OwnBlock::Text { text });
            let calls = calls.iter().map(|call| OwnBlock::ToolUse {
                id: &call.id,
                name: &call.name,
                input: call.replayed(),
            });
            let said = text.into_iter().chain(calls).map(Block::Own);
            Message { role: "assistant", content: thoughts.map(Block::Thought).chain(said).collect() }
        }
        Turn::Results(results) => {
            let result = results.iter().map(|result| OwnBlock::ToolResult {
                tool_use_id: &result.id,
                content: &result.text,
                is_error: result.is_error,
            });
            Message { role: "user", content: result.map(Block::Own).collect() }
        }
    }
}

#[derive(Deserialize)]
struct Answered<'a> {
    #[serde(borrow)]
    content: Few<&'a RawValue>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
}

impl Tokens {
    /// What is said later replaces what was said before; what is not said stays.
    fn add_to(&self, usage: &mut Usage) {
        if let Some(input) = self.input_tokens {
            let cached = self.cache_read_input_tokens.unwrap_or_default();
            usage.cached = cached;
            let created = self.cache_creation_input_tokens.unwrap_or_default();
            usage.input = input.saturating_add(cached).saturating_add(created);
        }
        usage.output = self.output_tokens.unwrap_or(usage.output);
    }
}

fn stop_of(reason: Option<&str>) -> Stop {
    match reason {
        Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
        Some("refusal") => Stop::Refused,
        _ => Stop::End,
    }
}

/// A whole answer; nothing where it is none.
pub(super) fn read(text: &str) -> Option<Answer> {
    let answered: Answered<'_> = serde_json::from_str(text).ok()?;
    let mut answer = Answer { stop: stop_of(answered.stop_reason.as_deref()), ..Answer::default() };
    let is_whole = answered.content.0.len() <= MAX_CALLS;
    for block in answered.content.0 {
        let content: Content<'_> = serde_json::from_str(block.get()).ok()?;
        match content.r#type.as_str() {
            kind if is_thought(kind) => answer.thoughts.push(block.get().to_owned()),
            "text" => answer.text.push_str(&content.text?),
            "tool_use" => answer.calls.push(ToolCall {
                id: content.id?,
                name: content.name?,
                arguments: content.input.map_or_else(String::new, |input| input.get().to_owned()),
                signature: None,
            }),
            _ => {}
        }
    }
    answer.usage = answered.usage.map(|tokens| {
        let mut usage = Usage::default();
        tokens.add_to(&mut usage);
        usage
    });
    // Too many calls are told as such; a text is whole or none.
    (is_whole || answer.calls.len() > MAX_CALLS).then_some(answer)
}

fn is_thought(kind: &str) -> bool {
    matches!(kind, "thinking" | "redacted_thinking")
}

#[derive(Deserialize)]
struct Event<'a> {
    r#type: String,
    #[serde(default)]
    index: usize,
    #[serde(default)]
    message: Option<MessageStart>,
    #[serde(borrow, default)]
    content_block: Option<&'a RawValue>,
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct MessageStart {
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    partial_json: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    stop_reason: Option<String>,
}

/// Takes in one event of a streamed answer; nothing where it is none of this dialect.
pub(super) fn take(partial: &mut Partial, data: &str) -> Option<()> {
    let event: Event<'_> = serde_json::from_str(data).ok()?;
    let usage = event.usage.or_else(|| event.message.and_then(|begun| begun.usage));
    if let Some(tokens) = usage {
        tokens.add_to(partial.answer.usage.get_or_insert_default());
    }
    match event.r#type.as_str() {
        "content_block_start" => {
            let written = event.content_block?;
            let block: Content<'_> = serde_json::from_str(written.get()).ok()?;
            match block.r#type.as_str() {
                kind if is_thought(kind) => partial.begin_thought(event.index, written)?,
                "text" => partial.say(&block.text.unwrap_or_default()),
                "tool_use" => {
                    let call = partial.call(event.index)?;
                    (call.id, call.name) = (block.id?, block.name?);
                }
                _ => {}
            }
        }
        "content_block_delta" => {
            let delta = event.delta?;
            if let Some(text) = delta.text {
                partial.say(&text);
            }
            if let Some(part) = delta.partial_json {
                partial.call(event.index)?.arguments.push_str(&part);
            }
            for (field, part) in [("thinking", delta.thinking), ("signature", delta.signature)] {
                if let Some(part) = part {
                    partial.think(event.index, field, &part);
                }
            }
        }
        "message_delta" => partial.answer.stop = stop_of(event.delta?.stop_reason.as_deref()),
        "message_stop" => partial.end(),
        _ => {}
    }
    Some(())
}
