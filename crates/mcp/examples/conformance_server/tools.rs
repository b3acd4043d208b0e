//! Tools with the names that the suite asks for.

use super::changes::Change;
use super::content::{WAV, image, resource, text};
use super::{Context, Fixture, input, is_modern, model, result, tasks};
use rmcp::model::{
    CallToolResponse, ClientCapabilities, ErrorData, InputRequiredResult, InputResponses, JsonObject,
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam,
};
use serde_json::{Value, json};
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(50);

/// Tools without arguments.
const PLAIN: [&str; 26] = [
    "test_audio_content",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_embedded_resource",
    "test_error_handling",
    "test_image_content",
    "test_input_required_result_capabilities",
    "test_input_required_result_elicitation",
    "test_input_required_result_list_roots",
    "test_input_required_result_multi_round",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_request_state",
    "test_input_required_result_sampling",
    "test_input_required_result_tampered_state",
    "test_logging_tool",
    "test_missing_capability",
    "test_multiple_content_types",
    "test_reconnection",
    "test_simple_text",
    "test_streaming_elicitation",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_trigger_prompt_change",
    "test_trigger_resource_change",
    "test_trigger_resource_update",
    "test_trigger_tool_change",
];

pub(crate) fn all(has_more: bool) -> Vec<Value> {
    let tool = |name: &str, schema: Value| json!({ "name": name, "description": format!("The tool '{name}'."), "inputSchema": schema });
    let one = |field: &str| json!({ "type": "object", "properties": { field: { "type": "string" } }, "required": [field] });
    let mut tools: Vec<_> =
        PLAIN.iter().map(|name| tool(name, json!({ "type": "object", "properties": {} }))).collect();
    tools.push(tool("test_elicitation", one("message")));
    tools.push(tool("test_sampling", one("prompt")));
    tools.push(tool("json_schema_2020_12_tool", schema_2020_12()));
    tools.push(tool("greet", one("name")));
    for (name, argument) in tasks::NAMES {
        let properties = match argument {
            "" => json!({}),
            "seconds" => json!({ "seconds": { "type": "number" } }),
            _ => json!({ argument: { "type": "string" } }),
        };
        tools.push(tool(name, json!({ "type": "object", "properties": properties })));
    }
    let mut with_header = one("region");
    with_header["properties"]["region"]["x-mcp-header"] = "Region".into();
    tools.push(tool("test_header_parameter", with_header));
    if has_more {
        tools.push(tool("test_dynamic_tool", json!({ "type": "object" })));
    }
    tools.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
    tools
}

fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef", "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
        } },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" }
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false
    })
}

/// A call, as often as it takes: each time with more answers of the client.
pub(crate) struct Call<'a> {
    pub(crate) name: &'a str,
    pub(crate) arguments: Option<&'a JsonObject>,
    pub(crate) responses: &'a InputResponses,
    pub(crate) state: Option<&'a str>,
}

/// What a tool says, or asks first.
enum Said {
    Text(String),
    Ask(InputRequiredResult),
}

fn ask<const N: usize>(requests: [(&str, Value); N], state: Option<String>) -> Said {
    Said::Ask(input::ask(requests, state))
}

impl Call<'_> {
    pub(crate) async fn run(&self, fixture: &Fixture, cx: &Context) -> Result<CallToolResponse, ErrorData> {
        if let Some(response) = tasks::call(self, fixture, cx)? {
            return Ok(response);
        }
        let content = match self.name {
            "test_image_content" => json!([image()]),
            "test_audio_content" => json!([{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }]),
            "test_embedded_resource" => json!([resource(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content."
            )]),
            "test_multiple_content_types" => json!([
                text("Multiple content types test:"),
                image(),
                resource(
                    "test://mixed-content-resource",
                    "application/json",
                    r#"{"test":"data","value":123}"#
                )
            ]),
            "test_error_handling" => {
                let said = json!([text("This tool intentionally returns an error for testing")]);
                return Ok(CallToolResponse::Complete(result(json!({ "isError": true, "content": said }))));
            }
            _ => match self.say(fixture, cx).await? {
                Said::Text(said) => json!([text(&said)]),
                Said::Ask(asked) => return Ok(asked.into()),
            },
        };
        Ok(CallToolResponse::Complete(result(json!({ "content": content }))))
    }

    async fn say(&self, fixture: &Fixture, cx: &Context) -> Result<Said, ErrorData> {
        Ok(Said::Text(match self.name {
            "test_simple_text" => "This is a simple text response for testing.".to_owned(),
            "greet" => format!("Hello, {}!", self.argument("name")?),
            "test_dynamic_tool" => "Here today.".to_owned(),
            "test_header_parameter" | "json_schema_2020_12_tool" => {
                format!("arguments: {}", json!(self.arguments))
            }
            "test_missing_capability" => {
                let has_sampling = cx.client_capabilities().is_some_and(|client| client.sampling.is_some());
                if !has_sampling {
                    let needed: ClientCapabilities = model(json!({ "sampling": {} }));
                    return Err(ErrorData::missing_required_client_capability(needed));
                }
                "The client can sample.".to_owned()
            }
            "test_trigger_tool_change" => changed(fixture, Change::Tools).await,
            "test_trigger_prompt_change" => changed(fixture, Change::Prompts).await,
            "test_trigger_resource_change" => changed(fixture, Change::Resources).await,
            "test_trigger_resource_update" => changed(fixture, Change::Watched).await,
            "test_tool_with_logging" | "test_logging_tool" => log(fixture, cx).await,
            "test_tool_with_progress" => progress(cx).await,
            "test_reconnection" => {
                tokio::time::sleep(PAUSE * 2).await;
                "Reconnection test completed.".to_owned()
            }
            _ => return self.converse(fixture, cx),
        }))
    }

    /// Tools that ask something first.
    fn converse(&self, fixture: &Fixture, cx: &Context) -> Result<Said, ErrorData> {
        let kind = self.name.strip_prefix("test_input_required_result_").unwrap_or(self.name);
        Ok(match kind {
            "test_sampling" => self.one("sampled", input::sample(self.argument("prompt")?))?,
            "test_elicitation" => self.one("user", input::elicit(self.argument("message")?, &user()))?,
            "test_elicitation_sep1034_defaults" => {
                self.one("filled", input::elicit("Fill in", &defaults()))?
            }
            "test_elicitation_sep1330_enums" => self.one("chosen", input::elicit("Choose", &choices()))?,
            "elicitation" | "test_streaming_elicitation" => self.one("user_name", name())?,
            "sampling" => self.one("capital_question", input::sample("What is the capital of France?"))?,
            "list_roots" => self.one("client_roots", input::roots())?,
            "request_state" | "tampered_state" => match self.answer("confirm")? {
                Some(_) => Said::Text(format!("state-ok: {}", fixture.seals.open(self.state)?)),
                None => {
                    let question = input::question("Please confirm", "ok", "boolean");
                    ask([("confirm", question)], Some(fixture.seals.seal(kind)))
                }
            },
            "multiple_inputs" => self.all_at_once(fixture)?,
            "multi_round" => self.step_by_step(fixture)?,
            "capabilities" => self.by_capability(&cx.client_capabilities().unwrap_or_default()),
            _ => return Err(ErrorData::invalid_params(format!("Unknown tool: {}", self.name), None)),
        })
    }

    fn argument(&self, name: &str) -> Result<&str, ErrorData> {
        let value = self.arguments.and_then(|all| all.get(name)).and_then(Value::as_str);
        value.ok_or_else(|| ErrorData::invalid_params(format!("argument '{name}' is missing"), None))
    }

    fn answer(&self, key: &str) -> Result<Option<&Value>, ErrorData> {
        input::answer(self.responses, key)
    }

    /// One question; its answer is the result.
    fn one(&self, key: &str, question: Value) -> Result<Said, ErrorData> {
        Ok(match self.answer(key)? {
            Some(answer) => Said::Text(format!("The answer was {answer}")),
            None => ask([(key, question)], None),
        })
    }

    fn all_at_once(&self, fixture: &Fixture) -> Result<Said, ErrorData> {
        let keys = ["user_name", "greeting", "client_roots"];
        for key in keys {
            if self.answer(key)?.is_none() {
                let greeting = input::sample("Generate a greeting");
                let asked = [(keys[0], name()), (keys[1], greeting), (keys[2], input::roots())];
                return Ok(ask(asked, Some(fixture.seals.seal("multiple_inputs"))));
            }
        }
        Ok(Said::Text(format!("All answers came: {}", fixture.seals.open(self.state)?)))
    }

    fn step_by_step(&self, fixture: &Fixture) -> Result<Said, ErrorData> {
        if self.answer("step2")?.is_some() {
            return Ok(Said::Text(format!("Both steps are done: {}", fixture.seals.open(self.state)?)));
        }
        if self.answer("step1")?.is_some() {
            fixture.seals.open(self.state)?;
            let color = input::question("Step 2: What is your favorite color?", "color", "string");
            return Ok(ask([("step2", color)], Some(fixture.seals.seal("after-step-1"))));
        }
        let name = input::question("Step 1: What is your name?", "name", "string");
        Ok(ask([("step1", name)], Some(fixture.seals.seal("begun"))))
    }

    /// Asks only what the client says that it can answer.
    fn by_capability(&self, client: &ClientCapabilities) -> Said {
        let possible = [
            (client.sampling.is_some(), "sampled", input::sample("Say something")),
            (client.elicitation.is_some(), "elicited", name()),
            (client.roots.is_some(), "rooted", input::roots()),
        ];
        let asked = possible.into_iter().filter(|(can, key, _)| *can && !self.responses.contains_key(*key));
        let asked: Vec<_> = asked.map(|(_, key, question)| (key.to_owned(), model(question))).collect();
        if asked.is_empty() {
            return Said::Text(format!("The answers were {}", json!(self.responses)));
        }
        Said::Ask(InputRequiredResult::from_input_requests(asked.into_iter().collect()))
    }
}

fn name() -> Value {
    input::question("What is your name?", "name", "string")
}

fn user() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" }
        },
        "required": ["username", "email"]
    })
}

fn defaults() -> Value {
    json!({ "type": "object", "properties": {
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true }
    } })
}

fn choices() -> Value {
    let titled = |names: [&str; 3]| {
        json!([
            { "const": "value1", "title": names[0] },
            { "const": "value2", "title": names[1] },
            { "const": "value3", "title": names[2] }
        ])
    };
    json!({ "type": "object", "properties": {
        "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
        "titledSingle": { "type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"]) },
        "legacyEnum": {
            "type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": ["option1", "option2", "option3"] } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled(["First Choice", "Second Choice", "Third Choice"]) } }
    } })
}

async fn changed(fixture: &Fixture, change: Change) -> String {
    fixture.changes.make(change).await;
    "Changed.".to_owned()
}

/// Says three things, if the client wants to hear them: 2026-07-28 says so in each request.
async fn log(fixture: &Fixture, cx: &Context) -> String {
    let is_loud = |level: LoggingLevel| LoggingLevel::Info as u8 >= level as u8;
    let is_wanted = if is_modern(cx) {
        cx.meta.log_level().is_some_and(is_loud)
    } else {
        fixture.session.level().is_none_or(is_loud)
    };
    for said in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        if is_wanted {
            let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, said.into());
            // A client that has gone does not listen.
            let _ = cx.peer.notify_logging_message(message).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
    "Tool with logging executed successfully".to_owned()
}

async fn progress(cx: &Context) -> String {
    for step in [0.0, 50.0, 100.0] {
        if let Some(token) = cx.meta.get_progress_token() {
            let step = ProgressNotificationParam::new(token, step).with_total(100.0);
            let _ = cx.peer.notify_progress(step).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
    "Progress test completed".to_owned()
}
