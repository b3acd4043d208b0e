//! The two tools of a door in search mode, as clients are told of them.

use serde_json::{Value, json};

/// Finds tools.
pub const FIND_TOOLS: &str = "find_tools";
/// Calls one that was found.
pub const CALL_TOOL: &str = "call_tool";

/// The ids of services that models are told of, so that they know what to look for.
const MAX_SERVICES: usize = 600;

/// The name is one of the two, and no tool may have it.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    matches!(name, FIND_TOOLS | CALL_TOOL)
}

/// The definition of `find_tools` for whoever may use tools of these services.
#[must_use]
pub fn find_tools<'a>(services: impl IntoIterator<Item = &'a str>) -> String {
    let services = joined(services);
    let about = match services.as_str() {
        "" => String::new(),
        services => format!(" Tools of these services: {services}"),
    };
    let description = format!(
        "Finds tools that you can call with {CALL_TOOL}, by what they do. Search before you say that something cannot be \
         done; without arguments it lists the services.{about}"
    );
    let schema = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "maxLength": 1000,
                "description": "What the tool is to do, in any language, e.g. 'convert time between zones'" },
            "service": { "type": "string", "description": "Only tools of this service" },
            "names": { "type": "array", "items": { "type": "string" }, "description": "Exactly these tools" },
            "limit": { "type": "integer", "minimum": 1, "maximum": 20, "default": 5 },
            "detail": { "type": "string", "enum": ["full", "brief"], "default": "full",
                "description": "brief: names and first sentences, without schemas" },
        },
        "additionalProperties": false,
    });
    let hints = json!({ "readOnlyHint": true, "openWorldHint": false });
    definition(FIND_TOOLS, &description, &schema, hints)
}

/// The definition of `call_tool`.
#[must_use]
pub fn call_tool() -> String {
    let description = format!(
        "Calls a tool by its name, as {FIND_TOOLS} gave it, with arguments that fit its inputSchema: \
         {{\"name\":\"…\",\"arguments\":{{…}}}}"
    );
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "The tool's name" },
            "arguments": { "type": "object", "description": "Its arguments" },
        },
        "required": ["name"],
    });
    definition(CALL_TOOL, &description, &schema, Value::Null)
}

fn definition(name: &str, description: &str, schema: &Value, annotations: Value) -> String {
    let mut definition = json!({ "name": name, "description": description, "inputSchema": schema });
    if !annotations.is_null() {
        definition["annotations"] = annotations;
    }
    definition.to_string()
}

/// The ids, as many as there is room for.
fn joined<'a>(services: impl IntoIterator<Item = &'a str>) -> String {
    let mut services = services.into_iter();
    let (mut text, mut length) = (String::new(), 0);
    const REST: usize = ", and 1000000 more".len();
    while let Some(service) = services.next() {
        let more = service.chars().count() + 2;
        if length + more + REST > MAX_SERVICES {
            let rest = services.count() + 1;
            let and = if text.is_empty() { "" } else { ", and " };
            return format!("{text}{and}{rest} more");
        }
        length += more;
        text.push_str(if text.is_empty() { "" } else { ", " });
        text.push_str(service);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_many_services_as_there_is_room_for() {
        assert_eq!(joined(["a", "b"]), "a, b");
        assert_eq!(joined([]), "");
        let many: Vec<_> = (0..1000).map(|at| format!("service-{at}")).collect();
        let text = joined(many.iter().map(String::as_str));
        assert!(
            text.len() <= MAX_SERVICES && text.starts_with("service-0, ") && text.ends_with(" more"),
            "{text}"
        );
        let long = "é".repeat(1000);
        assert_eq!(joined([long.as_str()]), "1 more");
    }

    /// What a model reads with every conversation stays small (TS-1).
    #[test]
    fn both_definitions_are_short() {
        let many: Vec<_> = (0..1000).map(|at| format!("service-{at}")).collect();
        let both = find_tools(many.iter().map(String::as_str)) + &call_tool();
        assert!(both.chars().count() <= 2_800, "{}", both.len());
        assert!(serde_json::from_str::<Value>(&call_tool()).is_ok());
    }
}
