//! Models: what one is asked, what it answers, and in which dialect.

mod anthropic;
mod body;
mod client;
mod endpoint;
mod failure;
mod gemini;
mod lenient;
mod openai;
mod sampling;
mod spans;
mod stream;

pub(super) use client::{Client, TextListener};
pub(super) use endpoint::{Dialect, Endpoint};
pub(super) use sampling::{Sampling, takes_tools, written};
pub(super) use spans::{Asking, without_secrets};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::sync::Arc;
use tool::sanitize::clean;
use tool::{Context, Result};

/// Where an agent's answers come from.
#[derive(Debug)]
pub(super) enum Model {
    /// A provider.
    Http(Client),
    /// The program that calls the agent.
    Calling(Sampling),
}

/// The most bytes of an answer.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// The most tool calls of an answer.
const MAX_CALLS: usize = 1024;
/// The most bytes of one event of a streamed answer.
const MAX_EVENT_BYTES: usize = 1024 * 1024;

impl Model {
    /// The model's answer, which says or asks for something.
    ///
    /// # Errors
    /// Why there is none, with a reason.
    pub(super) async fn ask(
        &self,
        cx: &Context,
        asked: &ModelRequest<'_>,
        heard: TextListener<'_>,
    ) -> Result<Answer> {
        match self {
            Self::Http(client) => client.ask(cx, asked, heard).await,
            Self::Calling(sampling) => {
                let mut chat = spans::chat(cx, self.asking(), asked);
                let answer = sampling.ask(cx, asked).await;
                spans::end_chat(&mut chat, cx, &answer);
                answer
            }
        }
    }

    /// Who is asked first.
    pub(super) fn asking(&self) -> Asking<'_> {
        let endpoint = match self {
            Self::Http(client) => client.endpoints.first(),
            Self::Calling(_) => None,
        };
        let of_client = Asking { provider: "mcp.client", model: None, host: None, port: None };
        endpoint.map_or(of_client, Endpoint::asking)
    }
}

/// One model call: everything that the model gets to see.
pub(super) struct ModelRequest<'a> {
    pub(super) system: &'a str,
    pub(super) turns: &'a [Turn],
    pub(super) tools: &'a [Offer],
    /// What the answer is to look like, as the settings have it.
    pub(super) schema: Option<&'a RawValue>,
    pub(super) parameters: &'a Parameters,
}

/// How the model is to answer.
#[derive(Debug, Clone)]
pub(super) struct Parameters {
    pub(super) temperature: Option<f64>,
    pub(super) max_output_tokens: u32,
}

/// A part of what was said so far.
#[derive(Debug, Clone)]
pub(super) enum Turn {
    User(String),
    Model {
        text: String,
        calls: Vec<ToolCall>,
        /// See [`Answer::thoughts`].
        thoughts: Vec<String>,
    },
    Results(Vec<ToolResult>),
}

impl Turn {
    /// The same with other texts.
    pub(super) fn map(&self, text: &impl Fn(&str) -> String) -> Self {
        match self {
            Self::User(said) => Self::User(text(said)),
            Self::Model { text: said, calls, thoughts } => {
                let calls =
                    calls.iter().map(|call| ToolCall { arguments: text(&call.arguments), ..call.clone() });
                // They are signed, and of a model that has read what is masked no more than it will now.
                Self::Model { text: text(said), calls: calls.collect(), thoughts: thoughts.clone() }
            }
            Self::Results(results) => {
                let results = results.iter();
                Self::Results(
                    results.map(|result| ToolResult { text: text(&result.text), ..result.clone() }).collect(),
                )
            }
        }
    }

    /// The tools that were asked for.
    fn calls(&self) -> &[ToolCall] {
        match self {
            Self::Model { calls, .. } => calls,
            Self::User(_) | Self::Results(_) => &[],
        }
    }

    /// How long its texts are.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::User(text) => text.len(),
            Self::Model { text, calls, thoughts } => {
                let of_call = |call: &ToolCall| call.id.len() + call.name.len() + call.arguments.len();
                let thoughts: usize = thoughts.iter().map(String::len).sum();
                text.len() + calls.iter().map(of_call).sum::<usize>() + thoughts
            }
            Self::Results(results) => {
                results.iter().map(|result| result.name.len() + result.text.len()).sum()
            }
        }
    }
}

/// A tool as the model is told of it.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) parameters: Arc<RawValue>,
}

/// A tool call that the model asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    /// As the model wrote them: most likely a JSON object.
    pub(super) arguments: String,
    /// What the provider wants back with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) signature: Option<String>,
}

impl ToolCall {
    /// The arguments as a provider takes them back, which insists on an object.
    fn replayed(&self) -> &RawValue {
        let read = serde_json::from_str::<&RawValue>(&self.arguments).ok();
        read.filter(|raw| raw.get().starts_with('{')).unwrap_or_else(|| body::empty_object())
    }
}

/// What came of a tool call, for the model.
#[derive(Debug, Clone)]
pub(super) struct ToolResult {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// What the model answered.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    /// What the model thought on its way, as its provider wrote it and wants it back beside the calls: it is signed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) thoughts: Vec<String>,
    pub(super) stop: Stop,
    /// Unknown where the model does not say, such as the client's own.
    pub(super) usage: Option<Usage>,
}

impl Answer {
    /// Whether a run can go on from it: an answer that says nothing and asks for nothing is none.
    ///
    /// # Errors
    /// Why it cannot.
    pub(super) fn check(&self) -> Result<()> {
        if self.stop == Stop::Refused {
            return Err(failure::refused());
        }
        if self.calls.len() > MAX_CALLS {
            return Err(failure::too_many_calls());
        }
        if self.is_blank() && self.calls.is_empty() {
            return Err(failure::bad("it is empty"));
        }
        Ok(())
    }

    /// Nobody would see anything of its text, however long that is.
    pub(super) fn is_blank(&self) -> bool {
        const BLANK_OF_BRAILLE: char = '\u{2800}';
        let seen = clean(&self.text, &mut BTreeSet::new());
        seen.chars().all(|character| character.is_whitespace() || character == BLANK_OF_BRAILLE)
    }
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Stop {
    #[default]
    End,
    Length,
    /// It, or its provider, will not answer.
    Refused,
}

/// The tokens of one model call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Usage {
    /// Those that were read, cached ones among them.
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: u64,
}

impl Usage {
    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
        }
    }

    /// What has come to it since it was so much.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            output: self.output.saturating_sub(before.output),
            cached: self.cached.saturating_sub(before.cached),
        }
    }
}
