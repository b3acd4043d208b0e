//! How a person is asked whether an agent may make a call, and what counts as a yes.

use crate::sanitize::escaped;
use serde_json::{Value, json};

/// So much of a comment is told to the model.
const COMMENT_CHARACTERS: usize = 500;

/// The question; arguments stand in it as they will be sent, with what is secret masked and what nobody would see spelled
/// out.
#[must_use]
pub fn message(agent: &str, uri: &str, arguments: &Value) -> String {
    let (uri, arguments) = (escaped(uri), arguments.to_string());
    format!("The agent '{agent}' wants to call {uri} with {}", escaped(&arguments))
}

/// What is filled in, as a JSON Schema.
#[must_use]
pub fn form() -> Value {
    json!({
        "type": "object",
        "properties": {
            "decision": { "type": "string", "enum": ["approve", "reject"], "title": "Decision" },
            "comment": { "type": "string", "title": "Comment" }
        },
        "required": ["decision"]
    })
}

/// What was filled in is a clear yes.
#[must_use]
pub fn is_yes(content: &Value) -> bool {
    content["decision"] == "approve"
}

/// What was filled in is as the form asks for it: whatever else was said is no answer.
#[must_use]
pub fn is_clear(content: &Value) -> bool {
    is_yes(content) || content["decision"] == "reject"
}

/// What was said beside it.
#[must_use]
pub fn comment(content: &Value) -> Option<String> {
    let comment = content["comment"].as_str().filter(|comment| !comment.trim().is_empty());
    comment.map(|comment| comment.chars().take(COMMENT_CHARACTERS).collect())
}
