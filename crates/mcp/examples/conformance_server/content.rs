//! Prompts and resources with the names that the suite asks for.

use super::{input, result};
use rmcp::model::{ErrorData, GetPromptResponse, InputResponses, JsonObject, ReadResourceResponse};
use serde_json::{Value, json};

/// One red pixel.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
/// One sample of silence.
pub(crate) const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";

pub(crate) fn prompts(has_more: bool) -> Vec<Value> {
    let argument = |name: &str| json!({ "name": name, "description": "a test argument", "required": true });
    let prompt = |name: &str, arguments: Vec<Value>| json!({ "name": name, "description": format!("The prompt '{name}'."), "arguments": arguments });
    let mut prompts = vec![
        prompt("test_input_required_result_prompt", vec![]),
        prompt("test_prompt_with_arguments", vec![argument("arg1"), argument("arg2")]),
        prompt("test_prompt_with_embedded_resource", vec![argument("resourceUri")]),
        prompt("test_prompt_with_image", vec![]),
        prompt("test_simple_prompt", vec![]),
    ];
    if has_more {
        prompts.insert(0, prompt("test_dynamic_prompt", vec![]));
    }
    prompts
}

pub(crate) fn prompt(
    name: &str,
    arguments: Option<&JsonObject>,
    responses: &InputResponses,
) -> Result<GetPromptResponse, ErrorData> {
    let argument = |name: &str| {
        let value = arguments.and_then(|all| all.get(name)).and_then(Value::as_str);
        value.ok_or_else(|| ErrorData::invalid_params(format!("argument '{name}' is missing"), None))
    };
    let contents = match name {
        "test_simple_prompt" | "test_dynamic_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1")?, argument("arg2")?);
            vec![text(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => vec![
            resource(argument("resourceUri")?, "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![image(), text("Please analyze the image above.")],
        "test_input_required_result_prompt" => {
            let question = input::question("What context should the prompt use?", "context", "string");
            let Some(answer) = input::answer(responses, "user_context")? else {
                return Ok(input::ask([("user_context", question)], None).into());
            };
            vec![text(&format!("Use this context: {}", answer["content"]["context"]))]
        }
        name => return Err(ErrorData::invalid_params(format!("no prompt '{name}'"), None)),
    };
    let messages: Vec<_> =
        contents.into_iter().map(|content| json!({ "role": "user", "content": content })).collect();
    Ok(GetPromptResponse::Complete(result(json!({ "messages": messages }))))
}

pub(crate) fn resources() -> Value {
    let resource = |uri: &str, name: &str, mime_type: &str| json!({ "uri": uri, "name": name, "description": format!("The resource '{name}'."), "mimeType": mime_type });
    json!([
        resource("test://static-binary", "static-binary", "image/png"),
        resource("test://static-text", "static-text", "text/plain"),
        resource("test://watched-resource", "watched-resource", "text/plain"),
    ])
}

pub(crate) fn templates() -> Value {
    json!([{
        "uriTemplate": "test://template/{id}/data", "name": "template",
        "description": "Data for an id.", "mimeType": "application/json"
    }])
}

pub(crate) fn read(uri: &str) -> Result<ReadResourceResponse, ErrorData> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let content = match (uri, id) {
        ("test://static-text", _) => {
            json!({ "mimeType": "text/plain", "text": "This is the content of the static text resource." })
        }
        ("test://static-binary", _) => json!({ "mimeType": "image/png", "blob": PNG }),
        ("test://watched-resource", _) => json!({ "mimeType": "text/plain", "text": "Watched." }),
        (_, Some(id)) => {
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            json!({ "mimeType": "application/json", "text": data.to_string() })
        }
        _ => return Err(ErrorData::resource_not_found("Resource not found", Some(json!({ "uri": uri })))),
    };
    let mut content = content;
    content["uri"] = uri.into();
    Ok(ReadResourceResponse::Complete(result(json!({ "contents": [content] }))))
}

pub(crate) fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

pub(crate) fn image() -> Value {
    json!({ "type": "image", "data": PNG, "mimeType": "image/png" })
}

pub(crate) fn resource(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime_type, "text": text } })
}
