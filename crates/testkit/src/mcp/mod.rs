//! MCP servers that answer, and misbehave on request: on stdio, over HTTP, on a WebSocket.
//!
//! | tool | what it does |
//! |---|---|
//! | `echo` | says back its `text`; a `count` that is no integer is refused with -32602 |
//! | `raw` | a result with unknown fields, odd spelling and big integers: [`RAW_RESULT`] |
//! | `params` | the params of the call, byte for byte |
//! | `fails` | a result with `isError` |
//! | `unknown` | -32601 |
//! | `slow` | `echo` after `ms` milliseconds |

pub mod http;
pub mod stdio;
pub mod wide;
pub mod ws;

use serde_json::{Value, json};

/// What the tool `raw` answers, byte for byte.
pub const RAW_RESULT: &str = r#"{"x-new": {"b":1,"a":9007199254740993}, "content":[{"type":"text","text":"\u0041","annotations":{"z":1.0,"a":1e2}}],"isError":false ,"structuredContent":{"n":12345678901234567890.10}}"#;

/// The tools of every server here, sorted.
#[must_use]
pub fn tools() -> Vec<Value> {
    let tool = |name: &str, properties: Value| {
        json!({
            "name": name, "description": format!("Does '{name}'."), "x-kept": { "z": 1, "a": 2 },
            "inputSchema": { "type": "object", "properties": properties }
        })
    };
    let text = json!({ "text": { "type": "string" }, "count": { "type": "integer" } });
    vec![
        tool("echo", text),
        tool("fails", json!({})),
        tool("params", json!({})),
        tool("raw", json!({})),
        tool("slow", json!({ "ms": { "type": "integer" }, "text": { "type": "string" } })),
        tool("unknown", json!({})),
    ]
}

/// The result of `initialize`, in the version the client asks for unless one is given.
#[must_use]
pub fn initialized(request: &Value, version: Option<&str>) -> String {
    let asked = request["params"]["protocolVersion"].as_str().unwrap_or("2025-11-25");
    json!({
        "protocolVersion": version.unwrap_or(asked),
        "capabilities": { "tools": { "listChanged": true } },
        "serverInfo": { "name": "testkit", "version": "1" }
    })
    .to_string()
}

/// A result of text.
#[must_use]
pub fn text(text: &str) -> String {
    json!({ "content": [{ "type": "text", "text": text }] }).to_string()
}

/// The answer to a call of a tool that all servers here have. `line` is the message as it came.
///
/// # Errors
/// The `error` object of a refusal.
pub fn call(request: &Value, line: &str) -> Result<String, String> {
    let arguments = &request["params"]["arguments"];
    if !arguments["count"].is_null() && !arguments["count"].is_i64() {
        return Err(r#"{"code":-32602,"message":"'count' must be an integer"}"#.to_owned());
    }
    match request["params"]["name"].as_str().unwrap_or_default() {
        "echo" | "slow" => Ok(text(arguments["text"].as_str().unwrap_or("nothing"))),
        "raw" => Ok(RAW_RESULT.to_owned()),
        "params" => Ok(text(line.split_once("\"params\":").map_or("", |(_, params)| params))),
        "fails" => Ok(r#"{"content":[{"type":"text","text":"it failed"}],"isError":true}"#.to_owned()),
        name => Err(json!({ "code": -32601, "message": format!("no tool {name}") }).to_string()),
    }
}

/// A result as 2026-07-28 wants it: it says what it is, and for how long it may be kept.
#[must_use]
pub fn complete(method: &str, result: &str) -> String {
    let kept = if method == "tools/call" { "" } else { r#","ttlMs":0,"cacheScope":"private""# };
    let rest = result.strip_prefix('{').unwrap_or(result);
    let comma = if rest.trim_start() == "}" { "" } else { "," };
    format!(r#"{{"resultType":"complete"{kept}{comma}{rest}"#)
}

/// A whole answer around a result or an error.
#[must_use]
pub fn reply(id: &Value, result: &Result<String, String>) -> String {
    match result {
        Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        Err(error) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
    }
}

/// What any method of the protocol gets here, apart from delays.
///
/// # Errors
/// The `error` object of a refusal.
pub fn answer(request: &Value, line: &str) -> Result<String, String> {
    match request["method"].as_str().unwrap_or_default() {
        "initialize" => Ok(initialized(request, None)),
        "ping" => Ok("{}".to_owned()),
        "tools/list" => Ok(json!({ "tools": tools() }).to_string()),
        "tools/call" => call(request, line),
        method => Err(json!({ "code": -32601, "message": format!("no method {method}") }).to_string()),
    }
}
