//! What a tool answered, in the form in which it came.

mod older;
mod read;
#[cfg(test)]
mod tests;
mod write;

use crate::content::without_blocks;
use crate::{Content, Error, Result, RunId};
use read::{Relayed, has_content, is_error_at_end, text_data, to_data};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What a tool answered: an MCP `CallToolResult`, or what one is made of.
#[derive(Debug)]
pub struct Output {
    body: Body,
    is_error: bool,
    /// The tool has promised something else than an object.
    is_of_any_type: bool,
    /// Why, where we know more than the service has said.
    failure: Option<Box<Error>>,
    /// What it took, where that is recorded with the call.
    account: Option<Box<Account>>,
    /// It is not what the tool's shape was written for.
    is_unshaped: bool,
}

/// What a call took that goes on in steps of its own, for its record.
#[derive(Debug, Clone)]
pub struct Account {
    /// The run that the call was.
    pub run: RunId,
    /// The agent that has worked on it last.
    pub agent: String,
    /// What was used, as a JSON object.
    pub usage: Box<RawValue>,
}

/// What clients take as `structuredContent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Structured {
    /// Any JSON.
    Anything,
    /// Objects. What a tool promises to be something else is the field `result` of one, and what no tool has promised
    /// they find in the text alone.
    Objects,
}

#[derive(Debug)]
enum Body {
    /// A whole result, byte for byte as the service wrote it, and whether it says `isError`.
    Relayed(Box<RawValue>, bool),
    /// JSON data, shown as text and as structured content, perhaps with a remark or what it speaks of.
    Json(Box<RawValue>, Vec<Content>),
    /// Text that looks like JSON. Whoever needs to know reads it, once.
    Unparsed(Box<str>),
    /// Content blocks.
    Blocks(Vec<Content>),
    /// A text about an answer that holds no data.
    Notice(Content),
}

impl Output {
    fn new(body: Body) -> Self {
        Self {
            body,
            is_error: false,
            is_of_any_type: false,
            failure: None,
            account: None,
            is_unshaped: false,
        }
    }

    /// A result exactly as a service gave it.
    ///
    /// # Errors
    /// When it is no MCP `CallToolResult`: every version wants an object with `content`. One with `structuredContent`
    /// alone is passed on, as the libraries of many servers and clients do without the other.
    pub fn relayed(result: Box<RawValue>) -> Result<Self> {
        let none = || Error::upstream("the service's answer is no tool result: it has no content");
        let says = match is_error_at_end(result.get()) {
            Some(says) if has_content(result.get()) => Some(says),
            _ => {
                let head: Relayed<'_> = serde_json::from_str(result.get()).map_err(|error| {
                    Error::upstream("the service's answer is no tool result").caused_by(error)
                })?;
                if !result.get().starts_with('{') || (head.content.is_none() && head.structured.is_none()) {
                    return Err(none());
                }
                head.is_error
            }
        };
        Ok(Self { is_error: says.unwrap_or(false), ..Self::new(Body::Relayed(result, says.is_some())) })
    }

    /// Data in JSON.
    #[must_use]
    pub fn json(data: Box<RawValue>) -> Self {
        Self::new(Body::Json(data, Vec::new()))
    }

    /// Data in JSON with a remark about it, e.g. that it was cut.
    #[must_use]
    pub fn json_with_remark(data: Box<RawValue>, remark: &str) -> Self {
        Self::json_with_blocks(data, vec![Content::text(remark)])
    }

    /// Data in JSON with blocks beside it, e.g. a picture that it describes.
    #[must_use]
    pub fn json_with_blocks(data: Box<RawValue>, blocks: Vec<Content>) -> Self {
        Self::new(Body::Json(data, blocks))
    }

    /// The same for clients that do not know blocks of these types: they get texts in their place.
    #[must_use]
    pub fn without_blocks(mut self, unknown: &[&str]) -> Self {
        if unknown.is_empty() {
            return self;
        }
        let plain = |blocks: Vec<Content>| {
            blocks.into_iter().map(|block| block.without_block(unknown)).collect::<Vec<_>>()
        };
        self.body = match self.body {
            Body::Json(data, blocks) => Body::Json(data, plain(blocks)),
            Body::Blocks(blocks) => Body::Blocks(plain(blocks)),
            Body::Relayed(result, says) => {
                let changed = without_blocks(result.get(), unknown);
                let changed = changed.and_then(|text| RawValue::from_string(text).ok());
                Body::Relayed(changed.unwrap_or(result), says)
            }
            other @ (Body::Unparsed(_) | Body::Notice(_)) => other,
        };
        self
    }

    /// Data in JSON, or plain text where it turns out to be none. It is not read before somebody has to.
    #[must_use]
    pub fn unparsed(text: impl Into<Box<str>>) -> Self {
        Self::new(Body::Unparsed(text.into()))
    }

    /// The text that nobody has read yet, for those who read it anyway.
    #[must_use]
    pub fn as_unparsed(&self) -> Option<&str> {
        match &self.body {
            Body::Unparsed(text) => Some(text),
            Body::Relayed(..) | Body::Json(..) | Body::Blocks(_) | Body::Notice(_) => None,
        }
    }

    /// Plain text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::blocks(vec![Content::text(text)])
    }

    /// Content blocks.
    #[must_use]
    pub fn blocks(blocks: Vec<Content>) -> Self {
        Self::new(Body::Blocks(blocks))
    }

    /// A text about an answer that holds no data, so that there is nothing to shape.
    #[must_use]
    pub fn notice(text: &str) -> Self {
        Self::new(Body::Notice(Content::text(text)))
    }

    /// Says whether the tool has promised something else than an object.
    #[must_use]
    pub fn of_any_type(mut self, is_of_any_type: bool) -> Self {
        self.is_of_any_type = is_of_any_type;
        self
    }

    /// Marks that the tool ran and failed.
    #[must_use]
    pub fn failed(mut self) -> Self {
        self.is_error = true;
        self
    }

    /// The same, for a reason that we know.
    #[must_use]
    pub fn failed_because(mut self, error: Error) -> Self {
        self.failure = Some(Box::new(error));
        self.failed()
    }

    /// Why it failed, where we know more than the service has said.
    #[must_use]
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_deref()
    }

    /// Not what the tool's shape was written for, so that it is given as it is.
    #[must_use]
    pub fn unshaped(mut self) -> Self {
        self.is_unshaped = true;
        self
    }

    /// The tool's shape is not for it.
    #[must_use]
    pub fn is_unshaped(&self) -> bool {
        self.is_unshaped
    }

    /// Says what it took.
    #[must_use]
    pub fn accounted(mut self, account: Account) -> Self {
        self.account = Some(Box::new(account));
        self
    }

    /// What it took, where that is recorded.
    #[must_use]
    pub fn account(&self) -> Option<&Account> {
        self.account.as_deref()
    }

    /// The tool ran and failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// The data in the answer as JSON text, for shapes: structured content, or a lone text
    /// block, whose text is taken as it is where it is no JSON.
    #[must_use]
    pub fn data(&self) -> Option<Cow<'_, str>> {
        match &self.body {
            Body::Json(data, _) => Some(data.get().into()),
            Body::Unparsed(text) => Some(to_data(text.as_ref().into())),
            Body::Blocks(blocks) => match blocks.as_slice() {
                [block] => serde_json::from_str(block.get()).ok().and_then(text_data),
                _ => None,
            },
            Body::Notice(_) => None,
            Body::Relayed(result, _) => {
                let head: Relayed<'_> = serde_json::from_str(result.get()).ok()?;
                if let Some(structured) = head.structured {
                    return Some(structured.get().into());
                }
                let mut blocks = head.content.unwrap_or_default().into_iter();
                blocks.next().filter(|_| blocks.len() == 0).and_then(text_data)
            }
        }
    }

    /// The answer as it came, for those who only want to show its beginning: what was not read so far is not read for
    /// it, and what is much longer than the limit is not written to its end.
    #[must_use]
    pub fn as_it_came(&self, limit: usize) -> Cow<'_, str> {
        match &self.body {
            Body::Relayed(raw, _) | Body::Json(raw, _) => raw.get().into(),
            Body::Unparsed(text) => text.as_ref().into(),
            Body::Blocks(blocks) if self.size_bytes() > limit => beginning(blocks, limit).into(),
            Body::Blocks(_) | Body::Notice(_) => self.to_result().into(),
        }
    }

    /// The answer has content blocks of its own: it is more than data that is shown in one.
    #[must_use]
    pub fn has_blocks(&self) -> bool {
        match self.body {
            Body::Relayed(..) | Body::Blocks(_) | Body::Notice(_) => true,
            Body::Json(..) | Body::Unparsed(_) => false,
        }
    }

    /// How many bytes the answer has, roughly: what a budget is compared with.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        match &self.body {
            Body::Relayed(raw, _) | Body::Json(raw, _) => raw.get().len(),
            Body::Unparsed(text) => text.len(),
            Body::Blocks(blocks) => blocks.iter().map(|block| block.get().len()).sum(),
            Body::Notice(block) => block.get().len(),
        }
    }
}

/// The content of an answer as far as a limit, and a little more.
fn beginning(blocks: &[Content], limit: usize) -> String {
    let mut text = String::from("{\"content\":[");
    for (position, block) in blocks.iter().enumerate() {
        let room = (limit + 1).saturating_sub(text.len());
        if room == 0 {
            break;
        }
        let block = block.get();
        text.push_str(if position == 0 { "" } else { "," });
        text.push_str(&block[..block.ceil_char_boundary(room)]);
    }
    text
}
