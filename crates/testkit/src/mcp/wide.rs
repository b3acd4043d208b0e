//! A server with everything that a server can have, whose messages have space wherever JSON allows it.
//!
//! | it has | and it says |
//! |---|---|
//! | the tool `say` | its params, as it has read them |
//! | the tool `refuse` | an error whose `data` is its params |
//! | the tool `tell` | a log entry with its params, then a result |
//! | the tool `ask` | a question to the program, then what was answered |
//! | the tool `dawdle` | a question to the program, then how far it is, and never an answer |
//! | a prompt `say`, a resource `test:say`, completions | their params |

use super::reply;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tool::Fields;

/// The names of its tools.
pub const TOOLS: [&str; 5] = ["ask", "dawdle", "refuse", "say", "tell"];

/// One conversation with such a server.
#[derive(Debug)]
pub struct Wide {
    space: String,
    /// The call that waits for the answer to its question.
    waiting: Option<Value>,
    /// What the one that will never answer calls its progress.
    progress: Option<Value>,
}

impl Wide {
    /// A server with this between the words of what it says.
    #[must_use]
    pub fn new(space: &str) -> Self {
        Self { space: space.to_owned(), waiting: None, progress: None }
    }

    /// What it says to a message; nothing to what is none.
    pub fn take(&mut self, line: &str) -> Vec<String> {
        let Ok(fields) = serde_json::from_str::<Fields<'_>>(line) else { return Vec::new() };
        let value =
            |name: &str| fields.get(name).and_then(|value| serde_json::from_str::<Value>(value.get()).ok());
        let (id, method) = (value("id").unwrap_or_default(), value("method"));
        let params = fields.get("params").map_or("{}", RawValue::get);
        let said = match method.as_ref().and_then(Value::as_str) {
            None => match (self.waiting.take(), self.progress.take()) {
                (Some(id), _) => vec![reply(&id, &Ok(content(line)))],
                (None, Some(token)) => {
                    let params = json!({ "progressToken": token, "progress": 1 });
                    let note =
                        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
                    vec![note.to_string()]
                }
                (None, None) => Vec::new(),
            },
            Some(_) if id.is_null() => Vec::new(),
            Some("tools/call") => self.call(&id, params),
            Some(method) => vec![reply(&id, &answer(method, params))],
        };
        said.iter().map(|message| spaced(message, &self.space)).collect()
    }

    fn call(&mut self, id: &Value, params: &str) -> Vec<String> {
        let read = serde_json::from_str::<Value>(params).unwrap_or_default();
        match read["name"].as_str().unwrap_or_default() {
            "refuse" => {
                let error = format!(r#"{{"code":-31000,"message":"no","data":{params}}}"#);
                vec![reply(id, &Err(error))]
            }
            "tell" => {
                let entry = format!(r#"{{"level":"error","data":{params}}}"#);
                let note =
                    format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{entry}}}"#);
                vec![note, reply(id, &Ok(content(params)))]
            }
            name @ ("ask" | "dawdle") => {
                match name {
                    "ask" => self.waiting = Some(id.clone()),
                    _ => self.progress = Some(read["_meta"]["progressToken"].clone()),
                }
                let asked =
                    json!({ "message": "which?", "requestedSchema": { "type": "object", "properties": {} } });
                let asked =
                    json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": asked });
                vec![asked.to_string()]
            }
            _ => vec![reply(id, &Ok(content(params)))],
        }
    }
}

fn answer(method: &str, params: &str) -> Result<String, String> {
    let said = Value::from(params);
    Ok(match method {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "serverInfo": { "name": "wide", "version": "1" },
            "capabilities": { "tools": {}, "prompts": {}, "resources": {}, "completions": {}, "logging": {} }
        }),
        "ping" | "logging/setLevel" => json!({}),
        "tools/list" => {
            let tools =
                TOOLS.map(|name| json!({ "name": name, "description": "a\u{2028}b", "inputSchema": { "type": "object" } }));
            json!({ "tools": tools })
        }
        "prompts/list" => {
            json!({ "prompts": [{ "name": "say", "arguments": [{ "name": "text" }, { "name": "more" }] }] })
        }
        "prompts/get" => {
            json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": said } }] })
        }
        "resources/list" => json!({ "resources": [{ "uri": "test:say", "name": "say" }] }),
        "resources/templates/list" => {
            json!({ "resourceTemplates": [{ "uriTemplate": "test:{x}", "name": "x" }] })
        }
        "resources/read" => json!({ "contents": [{ "uri": "test:say", "text": said }] }),
        "completion/complete" => json!({ "completion": { "values": [said], "total": 1, "hasMore": false } }),
        method => return Err(json!({ "code": -32601, "message": format!("no method {method}") }).to_string()),
    }
    .to_string())
}

/// A result that says the params as text and as they are.
fn content(params: &str) -> String {
    let text = Value::from(params);
    format!(
        r#"{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{{"said":{params}}},"isError":false}}"#
    )
}

/// The JSON with `space` around every word of it; strings stay as they are.
#[must_use]
pub fn spaced(json: &str, space: &str) -> String {
    let mut result = String::with_capacity(json.len() * 2);
    let (mut is_string, mut is_escaped) = (false, false);
    for character in json.chars() {
        let is_word = !is_string && "{}[]:,".contains(character);
        if is_word {
            result.extend([space, &character.to_string(), space]);
        } else {
            result.push(character);
        }
        if character == '"' && !is_escaped {
            is_string = !is_string;
        }
        is_escaped = is_string && character == '\\' && !is_escaped;
    }
    result
}
