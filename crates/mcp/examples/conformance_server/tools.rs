//! Tools with the names that the suite asks for.

use super::changes::Change;
use super::content::{WAV, image, resource, text};
use super::{Context, Fixture, input, model, result};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ElicitResult, ErrorData, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam,
};
use rmcp::service::ServiceError;
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

pub(crate) async fn call(
    fixture: &Fixture,
    request: &CallToolRequestParams,
    cx: &Context,
) -> Result<CallToolResponse, ErrorData> {
    let name = request.name.as_ref();
    if name.starts_with("test_input_required_result_") {
        return asking(fixture, request, cx);
    }
    let content = match name {
        "test_simple_text" => json!([text("This is a simple text response for testing.")]),
        "test_dynamic_tool" => json!([text("Here today.")]),
        "test_image_content" => json!([image()]),
        "test_audio_content" => json!([{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }]),
        "test_embedded_resource" => {
            json!([resource(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content."
            )])
        }
        "test_multiple_content_types" => json!([
            text("Multiple content types test:"),
            image(),
            resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#)
        ]),
        "test_error_handling" => {
            let said = json!([text("This tool intentionally returns an error for testing")]);
            return Ok(CallToolResponse::Complete(result(json!({ "isError": true, "content": said }))));
        }
        "test_header_parameter" | "json_schema_2020_12_tool" => {
            json!([text(&format!("arguments: {}", json!(request.arguments)))])
        }
        "test_missing_capability" => {
            let has_sampling = cx.client_capabilities().is_some_and(|client| client.sampling.is_some());
            if !has_sampling {
                let needed: ClientCapabilities = model(json!({ "sampling": {} }));
                return Err(ErrorData::missing_required_client_capability(needed));
            }
            json!([text("The client can sample.")])
        }
        "test_trigger_tool_change" => changed(fixture, Change::Tools).await,
        "test_trigger_prompt_change" => changed(fixture, Change::Prompts).await,
        "test_trigger_resource_change" => changed(fixture, Change::Resources).await,
        "test_trigger_resource_update" => changed(fixture, Change::Watched).await,
        _ => return talking(fixture, request, cx).await,
    };
    Ok(CallToolResponse::Complete(result(json!({ "content": content }))))
}

async fn changed(fixture: &Fixture, change: Change) -> Value {
    fixture.changes.make(change).await;
    json!([text("Changed.")])
}

/// Tools that say or ask something on the way.
async fn talking(
    fixture: &Fixture,
    request: &CallToolRequestParams,
    cx: &Context,
) -> Result<CallToolResponse, ErrorData> {
    let argument = |name: &str| {
        let value = request.arguments.as_ref().and_then(|all| all.get(name)).and_then(Value::as_str);
        value.ok_or_else(|| ErrorData::invalid_params(format!("argument '{name}' is missing"), None))
    };
    let said = match request.name.as_ref() {
        "test_tool_with_logging" | "test_logging_tool" => log(fixture, cx).await,
        "test_tool_with_progress" => progress(cx).await,
        "test_reconnection" => {
            tokio::time::sleep(PAUSE * 2).await;
            "Reconnection test completed.".to_owned()
        }
        "test_sampling" => {
            let asked = input::sample(argument("prompt")?)["params"].take();
            let answer = cx.peer.create_message(model(asked)).await.map_err(refused)?;
            format!("LLM response: {}", json!(answer)["content"]["text"])
        }
        "test_elicitation" => {
            let schema = json!({
                "type": "object",
                "properties": {
                    "username": { "type": "string", "description": "User's response" },
                    "email": { "type": "string", "description": "User's email address" }
                },
                "required": ["username", "email"]
            });
            let answer = json!(elicit(cx, argument("message")?, &schema).await?);
            format!("User response: action={}, content={}", answer["action"], answer["content"])
        }
        "test_elicitation_sep1034_defaults" => completed(&elicit(cx, "Fill in", &defaults()).await?),
        "test_elicitation_sep1330_enums" => completed(&elicit(cx, "Choose", &choices()).await?),
        "test_streaming_elicitation" => {
            let Some(answer) = input::answer(request.input_responses.as_ref(), "name")? else {
                let question = input::question("What is your name?", "name", "string");
                return Ok(input::ask([("name", question)], None).into());
            };
            format!("Hello, {}!", answer["content"]["name"])
        }
        name => return Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None)),
    };
    Ok(CallToolResponse::Complete(result(json!({ "content": [text(&said)] }))))
}

fn refused(error: ServiceError) -> ErrorData {
    match error {
        ServiceError::McpError(error) => error,
        error => ErrorData::internal_error(error.to_string(), None),
    }
}

async fn elicit(cx: &Context, message: &str, schema: &Value) -> Result<ElicitResult, ErrorData> {
    let asked = input::elicit(message, schema)["params"].take();
    cx.peer.create_elicitation(model(asked)).await.map_err(refused)
}

fn completed(answer: &ElicitResult) -> String {
    let answer = json!(answer);
    format!("Elicitation completed: action={}, content={}", answer["action"], answer["content"])
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

/// Says three things, if the client wants to hear them: 2026-07-28 says so in each request.
async fn log(fixture: &Fixture, cx: &Context) -> String {
    let is_wanted = if cx.protocol_version().is_some_and(|version| version.as_str() >= "2026-07-28") {
        cx.meta.log_level().is_some_and(|level| is_at_least(LoggingLevel::Info, level))
    } else {
        fixture.session.level().is_none_or(|level| is_at_least(LoggingLevel::Info, level))
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

fn is_at_least(level: LoggingLevel, wanted: LoggingLevel) -> bool {
    level as u8 >= wanted as u8
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

/// Tools that ask back with their result.
fn asking(
    fixture: &Fixture,
    request: &CallToolRequestParams,
    cx: &Context,
) -> Result<CallToolResponse, ErrorData> {
    let responses = request.input_responses.as_ref();
    let kind = request.name.strip_prefix("test_input_required_result_").unwrap_or_default();
    let name = || input::question("What is your name?", "name", "string");
    let first = |key: &str| input::answer(responses, key);
    let said = match kind {
        "elicitation" => match first("user_name")? {
            Some(answer) => format!("Hello, {}!", answer["content"]["name"]),
            None => return Ok(input::ask([("user_name", name())], None).into()),
        },
        "sampling" => match first("capital_question")? {
            Some(answer) => format!("The model said: {}", answer["content"]["text"]),
            None => {
                let question = input::sample("What is the capital of France?");
                return Ok(input::ask([("capital_question", question)], None).into());
            }
        },
        "list_roots" => match first("client_roots")? {
            Some(answer) => format!("The client's roots: {}", answer["roots"]),
            None => return Ok(input::ask([("client_roots", input::roots())], None).into()),
        },
        "request_state" | "tampered_state" => match first("confirm")? {
            Some(_) => format!("state-ok: {}", fixture.seals.open(request.request_state.as_ref())?),
            None => {
                let question = input::question("Please confirm", "ok", "boolean");
                return Ok(input::ask([("confirm", question)], Some(fixture.seals.seal(kind))).into());
            }
        },
        "multiple_inputs" => {
            let keys = ["user_name", "greeting", "client_roots"];
            let is_complete = keys.iter().map(|key| first(key)).collect::<Result<Vec<_>, _>>()?;
            if is_complete.iter().any(Option::is_none) {
                let greeting = input::sample("Generate a greeting");
                let asked = [(keys[0], name()), (keys[1], greeting), (keys[2], input::roots())];
                return Ok(input::ask(asked, Some(fixture.seals.seal(kind))).into());
            }
            fixture.seals.open(request.request_state.as_ref())?;
            "All answers came.".to_owned()
        }
        "multi_round" => {
            if first("step2")?.is_some() {
                format!("Both steps are done: {}", fixture.seals.open(request.request_state.as_ref())?)
            } else if first("step1")?.is_some() {
                fixture.seals.open(request.request_state.as_ref())?;
                let color = input::question("Step 2: What is your favorite color?", "color", "string");
                return Ok(input::ask([("step2", color)], Some(fixture.seals.seal("after-step-1"))).into());
            } else {
                let name = input::question("Step 1: What is your name?", "name", "string");
                return Ok(input::ask([("step1", name)], Some(fixture.seals.seal("begun"))).into());
            }
        }
        "capabilities" => return Ok(by_capability(&cx.client_capabilities().unwrap_or_default())),
        _ => return Err(ErrorData::invalid_params(format!("Unknown tool: {}", request.name), None)),
    };
    Ok(CallToolResponse::Complete(result(json!({ "content": [text(&said)] }))))
}

/// Asks only what the client says that it can answer.
fn by_capability(client: &ClientCapabilities) -> CallToolResponse {
    let mut asked = input::ask([], None);
    let requests = asked.input_requests.get_or_insert_default();
    if client.sampling.is_some() {
        requests.insert("sampled".into(), model(input::sample("Say something")));
    }
    if client.elicitation.is_some() {
        requests.insert("elicited".into(), model(input::question("What is your name?", "name", "string")));
    }
    if client.roots.is_some() {
        requests.insert("rooted".into(), model(input::roots()));
    }
    asked.into()
}
