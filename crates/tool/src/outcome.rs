//! What comes of a call: an answer, a question back, or work that goes on.

use crate::{Content, Error, InputRequest, Result, RunId, readable};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The end of a call, or of its first step.
#[derive(Debug)]
pub enum Outcome {
    /// The tool has answered.
    Done(Output),
    /// The tool needs to know more; the same call is repeated with the answers.
    NeedsInput(InputRequest),
    /// The work goes on in the background under this id; the gateway says later what came of it.
    Started(RunId),
}

/// What a tool answered: an MCP `CallToolResult`, or what one is made of.
#[derive(Debug)]
pub struct Output {
    body: Body,
    is_error: bool,
    /// Why, where we know more than the service has said.
    failure: Option<Box<Error>>,
}

/// What clients take as `structuredContent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Structured {
    /// Any JSON.
    Anything,
    /// Objects; the rest they find in the text alone.
    Objects,
}

#[derive(Debug)]
enum Body {
    /// A whole result, byte for byte as the service wrote it, and whether it says `isError`.
    Relayed(Box<RawValue>, bool),
    /// JSON data, shown as text and as structured content, perhaps with a remark.
    Json(Box<RawValue>, Option<Content>),
    /// Text that looks like JSON. Whoever needs to know reads it, once.
    Unread(Box<str>),
    /// Content blocks.
    Blocks(Vec<Content>),
    /// A text about an answer that holds no data.
    Notice(Content),
}

/// The part of a relayed result that we look at.
#[derive(Deserialize)]
struct Relayed<'a> {
    #[serde(default, rename = "isError")]
    is_error: Option<bool>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Vec<Block<'a>>,
}

#[derive(Clone, Copy, Deserialize)]
struct Block<'a> {
    /// Not read before somebody has to: it may be long, and no text.
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

impl Output {
    fn new(body: Body) -> Self {
        Self { body, is_error: false, failure: None }
    }

    /// A result exactly as a service gave it.
    ///
    /// # Errors
    /// When it is no MCP `CallToolResult`.
    pub fn relayed(result: Box<RawValue>) -> Result<Self> {
        let says = match is_error_at_end(result.get()) {
            Some(says) => Some(says),
            None => {
                let head: Relayed<'_> = serde_json::from_str(result.get()).map_err(|error| {
                    Error::upstream("the service's answer is no tool result").caused_by(error)
                })?;
                head.is_error
            }
        };
        Ok(Self { is_error: says.unwrap_or(false), ..Self::new(Body::Relayed(result, says.is_some())) })
    }

    /// Data in JSON.
    #[must_use]
    pub fn json(data: Box<RawValue>) -> Self {
        Self::new(Body::Json(data, None))
    }

    /// Data in JSON with a remark about it, e.g. that it was cut.
    #[must_use]
    pub fn json_with_remark(data: Box<RawValue>, remark: &str) -> Self {
        Self::new(Body::Json(data, Some(Content::text(remark))))
    }

    /// Data in JSON, or plain text where it turns out to be none. It is not read before somebody has to.
    #[must_use]
    pub fn unread(text: impl Into<Box<str>>) -> Self {
        Self::new(Body::Unread(text.into()))
    }

    /// The text that nobody has read yet, for those who read it anyway.
    #[must_use]
    pub fn as_unread(&self) -> Option<&str> {
        match &self.body {
            Body::Unread(text) => Some(text),
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
            Body::Unread(text) => Some(to_data(text.as_ref().into())),
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
                let mut blocks = head.content.into_iter();
                blocks.next().filter(|_| blocks.len() == 0).and_then(text_data)
            }
        }
    }

    /// The answer has content blocks of its own: it is more than data that is shown in one.
    #[must_use]
    pub fn has_blocks(&self) -> bool {
        match self.body {
            Body::Relayed(..) | Body::Blocks(_) | Body::Notice(_) => true,
            Body::Json(..) | Body::Unread(_) => false,
        }
    }

    /// How many bytes the answer has, roughly: what a budget is compared with.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        match &self.body {
            Body::Relayed(raw, _) | Body::Json(raw, _) => raw.get().len(),
            Body::Unread(text) => text.len(),
            Body::Blocks(blocks) => blocks.iter().map(|block| block.get().len()).sum(),
            Body::Notice(block) => block.get().len(),
        }
    }

    /// The answer as an MCP `CallToolResult` in JSON for a client, without a copy of what was relayed.
    #[must_use]
    pub fn into_result(self, structured: Structured) -> String {
        match self.body {
            Body::Relayed(raw, _) => Box::<str>::from(raw).into_string(),
            Body::Json(..) | Body::Unread(_) | Body::Blocks(_) | Body::Notice(_) => self.result(structured),
        }
    }

    /// The answer as an MCP `CallToolResult` in JSON.
    #[must_use]
    pub fn to_result(&self) -> String {
        self.result(Structured::Anything)
    }

    fn result(&self, structured: Structured) -> String {
        let mut result = String::with_capacity(self.size_bytes() * 2 + 64);
        match &self.body {
            Body::Relayed(raw, _) => return raw.get().to_owned(),
            Body::Json(data, remark) => push_data(&mut result, data.get(), remark.as_ref(), structured),
            Body::Unread(text) => match as_json(text) {
                Some(data) => push_data(&mut result, data, None, structured),
                None => push_blocks(&mut result, &[Content::text(text)]),
            },
            Body::Blocks(blocks) => push_blocks(&mut result, blocks),
            Body::Notice(block) => push_blocks(&mut result, std::slice::from_ref(block)),
        }
        result.push_str(if self.is_error { ",\"isError\":true}" } else { ",\"isError\":false}" });
        result
    }
}

impl Output {
    /// The same for those who are promised `isError`, which MCP servers may leave out.
    #[must_use]
    pub fn to_complete_result(&self) -> String {
        let mut result = self.to_result();
        if let Body::Relayed(_, false) = self.body
            && let Some(end) = result.rfind('}')
        {
            let is_empty = result[..end].trim_end().ends_with('{');
            let flag = if is_empty { "\"isError\":false" } else { ",\"isError\":false" };
            result.insert_str(end, flag);
        }
        result
    }
}

/// What `isError` says, if it is the last field of the object, as it mostly is: then a long result
/// need not be read. The text is JSON, so that what stands before its last brace belongs to the outermost object.
fn is_error_at_end(result: &str) -> Option<bool> {
    let rest = result.trim_end().strip_suffix('}')?.trim_end();
    let (rest, says) = match rest.strip_suffix("false") {
        Some(rest) => (rest, false),
        None => (rest.strip_suffix("true")?, true),
    };
    let before = rest.trim_end().strip_suffix(':')?.trim_end().strip_suffix("\"isError\"")?;
    // A backslash would make the quote a part of a longer name.
    (!before.ends_with('\\')).then_some(says)
}

/// Begins a result with data as text, a remark about it, and the data as such where clients take it.
fn push_data(result: &mut String, data: &str, remark: Option<&Content>, structured: Structured) {
    result.push_str("{\"content\":[");
    result.push_str(Content::text(data).get());
    if let Some(remark) = remark {
        result.push(',');
        result.push_str(remark.get());
    }
    result.push(']');
    if structured == Structured::Anything || data.trim_start().starts_with('{') {
        result.push_str(",\"structuredContent\":");
        result.push_str(data);
    }
}

/// Begins a result with content blocks.
fn push_blocks(result: &mut String, blocks: &[Content]) {
    result.push_str("{\"content\":[");
    for (index, block) in blocks.iter().enumerate() {
        if index > 0 {
            result.push(',');
        }
        result.push_str(block.get());
    }
    result.push(']');
}

/// The JSON in a text that is nothing else, without the space around it.
fn as_json(text: &str) -> Option<&str> {
    serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get)
}

fn text_data(block: Block<'_>) -> Option<Cow<'_, str>> {
    block.text.and_then(as_text).map(to_data)
}

/// The text that a JSON string says; one that is none is readable all the same.
fn as_text(json: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    match serde_json::from_str::<Text<'_>>(json.get()) {
        Ok(Text(text)) => Some(text),
        Err(_) => serde_json::from_str::<String>(&readable(json.get())).ok().map(Cow::Owned),
    }
}

/// The text if it is JSON, or else a JSON string of it.
fn to_data(text: Cow<'_, str>) -> Cow<'_, str> {
    if as_json(&text).is_some() { text } else { Value::from(text.as_ref()).to_string().into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn relays_a_result_byte_for_byte() {
        let text =
            r#"{ "isError":true, "content":[{"type":"text","text":"{\"a\":1}"}], "x":9007199254740993}"#;
        let output = Output::relayed(json(text)).unwrap();
        assert!(output.is_error());
        assert_eq!(output.to_result(), text);
        assert_eq!(output.data().unwrap(), "{\"a\":1}");
        assert_eq!(output.to_complete_result(), text);
        assert!(Output::relayed(json("7")).is_err());
        let silent = Output::relayed(json(r#"{"content":[]} "#)).unwrap();
        assert_eq!(silent.to_complete_result(), r#"{"content":[],"isError":false}"#);
        assert_eq!(Output::relayed(json("{ }")).unwrap().to_complete_result(), r#"{ "isError":false}"#);
        assert_eq!(Output::relayed(json(text)).unwrap().into_result(Structured::Objects), text);
    }

    #[test]
    fn sees_whether_a_result_is_an_error_wherever_it_says_so() {
        for (text, is_error, says_so) in [
            (r#"{"content":[],"isError":true}"#, true, true),
            (r#"{"content":[], "isError" : false } "#, false, true),
            (r#"{"isError":true,"content":[]}"#, true, true),
            (r#"{"content":[],"structuredContent":{"isError":true}}"#, false, false),
            (r#"{"content":[],"x":{"isError":true},"isError":false}"#, false, true),
            (r#"{"content":[],"x\"isError":true}"#, false, false),
            (r#"{"content":[],"x":"\"isError\":true"}"#, false, false),
        ] {
            let output = Output::relayed(json(text)).unwrap();
            assert_eq!(output.is_error(), is_error, "{text}");
            assert_eq!(matches!(output.body, Body::Relayed(_, true)), says_so, "{text}");
        }
    }

    #[test]
    fn finds_out_late_whether_a_text_is_json() {
        let data = r#"{"n":1.50}"#;
        assert_eq!(Output::unread(data).data().unwrap(), data);
        let spaced = Output::unread(format!(" {data}\n"));
        assert_eq!(spaced.to_result(), Output::json(json(data)).to_result());
        let text = r#"{"n": or not"#;
        assert_eq!(Output::unread(text).data().unwrap(), r#""{\"n\": or not""#);
        assert_eq!(Output::unread(text).to_result(), Output::text(text).to_result());
        assert_eq!(Output::unread(text).as_unread(), Some(text));
        assert_eq!(Output::unread(text).size_bytes(), text.len());
        assert_eq!(Output::text(text).as_unread(), None);
    }

    #[test]
    fn gives_older_clients_no_structure_but_objects() {
        for (data, is_given) in [("{\"a\":1}", true), ("[1,2]", false), ("\"x\"", false), ("7", false)] {
            let result = Output::unread(data).into_result(Structured::Objects);
            assert_eq!(result.contains("structuredContent"), is_given, "{result}");
            assert_eq!(Output::json(json(data)).into_result(Structured::Objects), result);
            assert!(Output::unread(data).into_result(Structured::Anything).contains("structuredContent"));
            assert!(serde_json::from_str::<Value>(&result).is_ok(), "{result}");
        }
    }

    #[test]
    fn shows_data_as_text_and_structure() {
        let output = Output::json(json(r#"{"n":1.50}"#));
        assert_eq!(
            output.to_result(),
            r#"{"content":[{"type":"text","text":"{\"n\":1.50}"}],"structuredContent":{"n":1.50},"isError":false}"#
        );
        assert_eq!(output.data().unwrap(), r#"{"n":1.50}"#);
    }

    #[test]
    fn carries_bytes_as_mcp_wants_them() {
        let block = |content: Content| serde_json::from_str::<Value>(content.get()).unwrap();
        let image = block(Content::image(&[0, 255], "image/png"));
        assert_eq!(image, serde_json::json!({ "type": "image", "data": "AP8=", "mimeType": "image/png" }));
        assert_eq!(block(Content::audio(&[1], "audio/wav"))["type"], "audio");
        let resource =
            serde_json::json!({ "uri": "attachment:a\"b", "mimeType": "application/zip", "blob": "UEs=" });
        let blob = block(Content::blob(b"PK", "application/zip", "attachment:a\"b"));
        assert_eq!(blob, serde_json::json!({ "type": "resource", "resource": resource }));
    }

    #[test]
    fn offers_plain_text_to_shapes_as_a_string() {
        assert_eq!(Output::text("it's \"so\"").data().unwrap(), r#""it's \"so\"""#);
        assert!(Output::blocks(vec![]).data().is_none());
        assert_eq!(
            Output::text("no").failed().to_result(),
            r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#
        );
    }
}
