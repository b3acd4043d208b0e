//! The dialect of OpenAI's chat completions, which most servers of models speak.

use super::body::Body;
use super::lenient::{Few, arguments_text, text_of};
use super::stream::Partial;
use super::{Answer, ModelRequest, Stop, ToolCall, Turn, Usage};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tool::Result;

pub(super) const PATH: &str = "chat/completions";

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'a str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

#[derive(Serialize)]
struct Format<'a> {
    r#type: &'a str,
    json_schema: Named<'a>,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
    schema: &'a RawValue,
}

pub(super) fn body(model: &str, asked: &ModelRequest<'_>, is_streamed: bool) -> Result<Body> {
    let mut body = Body::default();
    body.set("model", &model)?;
    body.set("messages", &messages(asked))?;
    if !asked.tools.is_empty() {
        let tools = asked.tools.iter().map(|tool| Tool {
            r#type: "function",
            function: Function {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.parameters,
            },
        });
        body.set("tools", &tools.collect::<Vec<_>>())?;
    }
    if let Some(schema) = asked.schema {
        let json_schema = Named { name: "answer", schema };
        body.set("response_format", &Format { r#type: "json_schema", json_schema })?;
    }
    if let Some(temperature) = asked.parameters.temperature {
        body.set("temperature", &temperature)?;
    }
    body.set("max_tokens", &asked.parameters.max_output_tokens)?;
    if is_streamed {
        body.set("stream", &true)?;
        body.set("stream_options", &json!({ "include_usage": true }))?;
    }
    Ok(body)
}

fn messages(asked: &ModelRequest<'_>) -> Vec<Value> {
    let mut messages = vec![json!({ "role": "system", "content": asked.system })];
    for turn in asked.turns {
        match turn {
            Turn::User(text) => messages.push(json!({ "role": "user", "content": text })),
            Turn::Model { text, calls, .. } => {
                let content = if text.is_empty() { Value::Null } else { text.as_str().into() };
                let mut message = json!({ "role": "assistant", "content": content });
                if !calls.is_empty() {
                    message["tool_calls"] = calls.iter().map(call).collect();
                }
                messages.push(message);
            }
            Turn::Results(results) => {
                messages.extend(results.iter().map(
                    |result| json!({ "role": "tool", "tool_call_id": result.id, "content": result.text }),
                ))
            }
        }
    }
    messages
}

fn call(call: &ToolCall) -> Value {
    json!({ "id": call.id, "type": "function",
        "function": { "name": call.name, "arguments": call.replayed().get() } })
}

#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow)]
    choices: Few<Choice<'a>>,
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Message<'a>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(borrow, default)]
    tool_calls: Option<Few<Called<'a>>>,
}

#[derive(Deserialize)]
struct Called<'a> {
    #[serde(default)]
    index: Option<usize>,
    #[serde(default)]
    id: Option<String>,
    #[serde(borrow, default)]
    function: Option<CalledFunction<'a>>,
}

#[derive(Deserialize)]
struct CalledFunction<'a> {
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

impl Tokens {
    fn usage(&self) -> Usage {
        let cached = self.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens);
        Usage {
            input: self.prompt_tokens.unwrap_or_default(),
            output: self.completion_tokens.unwrap_or_default(),
            cached: cached.unwrap_or_default(),
        }
    }
}

fn stop_of(reason: Option<&str>) -> Stop {
    match reason {
        Some("length") => Stop::Length,
        Some("content_filter") => Stop::Refused,
        _ => Stop::End,
    }
}

/// A whole answer; nothing where it is none.
pub(super) fn read(text: &str) -> Option<Answer> {
    let completion: Completion<'_> = serde_json::from_str(text).ok()?;
    let choice = completion.choices.0.into_iter().next()?;
    let calls = choice.message.tool_calls.unwrap_or_default().0.into_iter().map(|called| {
        let function = called.function?;
        Some(ToolCall {
            id: called.id.unwrap_or_default(),
            name: function.name?,
            arguments: function.arguments.map(arguments_text).unwrap_or_default(),
            signature: None,
        })
    });
    let is_refused = choice.message.refusal.is_some_and(|refusal| !refusal.is_empty());
    Some(Answer {
        text: choice.message.content.map_or(Some(String::new()), text_of)?,
        calls: calls.collect::<Option<_>>()?,
        stop: if is_refused { Stop::Refused } else { stop_of(choice.finish_reason.as_deref()) },
        usage: completion.usage.map(|tokens| tokens.usage()),
        ..Answer::default()
    })
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Few<ChunkChoice<'a>>,
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct ChunkChoice<'a> {
    #[serde(borrow, default)]
    delta: Option<Message<'a>>,
    #[serde(default)]
    finish_reason: Option<String>,
}

/// Takes in one event of a streamed answer; nothing where it is none of this dialect.
pub(super) fn take(partial: &mut Partial, data: &str) -> Option<()> {
    if data == "[DONE]" {
        (partial.is_whole, partial.is_over) = (true, true);
        return Some(());
    }
    let chunk: Chunk<'_> = serde_json::from_str(data).ok()?;
    if let Some(tokens) = chunk.usage {
        partial.answer.usage = Some(tokens.usage());
    }
    let Some(choice) = chunk.choices.0.into_iter().next() else { return Some(()) };
    if let Some(delta) = choice.delta {
        if let Some(content) = delta.content {
            partial.say(&text_of(content)?);
        }
        if delta.refusal.is_some_and(|refusal| !refusal.is_empty()) {
            partial.answer.stop = Stop::Refused;
        }
        for (at, called) in delta.tool_calls.unwrap_or_default().0.into_iter().enumerate() {
            let number = called.index.unwrap_or(at);
            let call = match called.id.as_deref() {
                None | Some("") => partial.call(number)?,
                Some(id) => partial.call_of(id, called.index, number)?,
            };
            let Some(function) = called.function else { continue };
            // Some servers repeat the whole name with every part of the arguments.
            let name = function.name.filter(|name| *name != call.name);
            call.name.push_str(name.as_deref().unwrap_or_default());
            call.arguments.push_str(&function.arguments.map(arguments_text).unwrap_or_default());
        }
    }
    if let Some(reason) = choice.finish_reason {
        partial.is_whole = true;
        if partial.answer.stop != Stop::Refused {
            partial.answer.stop = stop_of(Some(&reason));
        }
    }
    Some(())
}
