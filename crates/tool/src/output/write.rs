//! An answer as an MCP `CallToolResult`.

use super::older::{in_field, with_object};
use super::read::as_json;
use super::{Body, Output, Structured};
use crate::Content;
use std::borrow::Cow;

impl Output {
    /// The answer as an MCP `CallToolResult` in JSON for a client, without a copy of what was relayed.
    #[must_use]
    pub fn into_result(self, structured: Structured) -> String {
        match self.body {
            Body::Relayed(raw, _) => {
                let object = match structured {
                    Structured::Anything => None,
                    Structured::Objects => with_object(raw.get(), self.is_of_any_type),
                };
                object.unwrap_or_else(|| Box::<str>::from(raw).into_string())
            }
            Body::Json(..) | Body::Unparsed(_) | Body::Blocks(_) | Body::Notice(_) => self.result(structured),
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
            Body::Json(data, beside) => {
                push_data(&mut result, data.get(), beside, self.shown(data.get(), structured))
            }
            Body::Unparsed(text) => match as_json(text) {
                Some(data) => push_data(&mut result, data, &[], self.shown(data, structured)),
                None => push_blocks(&mut result, &[Content::text(text)]),
            },
            Body::Blocks(blocks) => push_blocks(&mut result, blocks),
            Body::Notice(block) => push_blocks(&mut result, std::slice::from_ref(block)),
        }
        result.push_str(if self.is_error { ",\"isError\":true}" } else { ",\"isError\":false}" });
        result
    }

    /// The data as structured content, where clients take it.
    fn shown<'a>(&self, data: &'a str, structured: Structured) -> Option<Cow<'a, str>> {
        match structured {
            Structured::Objects if self.is_of_any_type => Some(in_field(data).into()),
            Structured::Objects if !data.trim_start().starts_with('{') => None,
            Structured::Anything | Structured::Objects => Some(data.into()),
        }
    }

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

/// Begins a result with data as text, what stands beside it, and the data as such where clients take it.
fn push_data(result: &mut String, data: &str, beside: &[Content], structured: Option<Cow<'_, str>>) {
    result.push_str("{\"content\":[");
    result.push_str(Content::text(data).get());
    for block in beside {
        result.push(',');
        result.push_str(block.get());
    }
    result.push(']');
    if let Some(structured) = structured {
        result.push_str(",\"structuredContent\":");
        result.push_str(&structured);
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
