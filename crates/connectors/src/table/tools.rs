//! The operations: what each is called, takes and is for.

use document::Pointer;
use serde_json::{Value, json};
use tool::{Result, Tool};

/// What can be done with a part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    GetDataSchema,
    GetAllData,
    QueryData,
    Create,
    Update,
    Delete,
    Preview,
    Select,
    Search,
}

/// The types of Tools over tables, in the order they are documented.
pub(super) const TYPES: &[&str] = &[
    "get_data_schema",
    "get_all_data",
    "query_data",
    "create",
    "update",
    "delete",
    "preview",
    "select",
    tool::search::TOOL_TYPE,
];

impl Operation {
    const ALL: [Self; 9] = [
        Self::GetDataSchema,
        Self::GetAllData,
        Self::QueryData,
        Self::Create,
        Self::Update,
        Self::Delete,
        Self::Preview,
        Self::Select,
        Self::Search,
    ];

    /// The Tool's type, and the tool's name in a `table://` URI.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::GetDataSchema => "get_data_schema",
            Self::GetAllData => "get_all_data",
            Self::QueryData => "query_data",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Preview => "preview",
            Self::Select => "select",
            Self::Search => "search",
        }
    }

    pub(super) fn find(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.as_str() == text)
    }

    fn is_reading(self) -> bool {
        !matches!(self, Self::Create | Self::Update | Self::Delete)
    }

    /// What a Tool is for that does not say so itself.
    pub(super) fn description(self, mount: &Pointer) -> String {
        let place = match mount.to_string() {
            root if root.is_empty() => "the whole document".to_owned(),
            path => path,
        };
        match self {
            Self::GetDataSchema => format!("Shows how the data at {place} is built: its fields and types."),
            Self::GetAllData => format!("Returns the data at {place}."),
            Self::QueryData => format!("Runs a JMESPath query over the data at {place}."),
            Self::Create => format!("Adds elements to {place}: new keys of an object, or items of a list."),
            Self::Update => format!("Replaces elements of {place} by key or position."),
            Self::Delete => format!("Deletes elements of {place} by key or position."),
            Self::Preview => format!("Lists the objects at {place} with their most important fields."),
            Self::Select => format!("Finds the objects at {place} whose field has one of the given values."),
            Self::Search => format!("Searches the texts at {place} by words and meaning."),
        }
    }

    /// JSON Schema of the arguments.
    pub(super) fn input_schema(self) -> Value {
        let (properties, required) = self.parameters();
        let mut schema = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema["additionalProperties"] = false.into();
        schema
    }

    /// The parameters, and the names of those that must be given.
    fn parameters(self) -> (Value, &'static [&'static str]) {
        let limit = json!({ "type": "integer", "minimum": 1, "description": "The most elements to return" });
        let cursor = json!({ "type": "string", "description": "Where to go on: the `next_cursor` of an answer that was cut" });
        let key = json!({ "type": ["string", "integer"], "description": "A key of the object, or a position in the list, from 0" });
        let list = |items: Value| json!({ "type": "array", "minItems": 1, "items": items });
        match self {
            Self::GetDataSchema => (json!({}), &[]),
            Self::GetAllData | Self::Preview => (json!({ "limit": limit, "cursor": cursor }), &[]),
            Self::QueryData => {
                let query = json!({ "type": "string", "description": "A JMESPath expression, e.g. [?status=='open'].id" });
                (json!({ "query": query, "limit": limit, "cursor": cursor }), &["query"])
            }
            Self::Create => {
                let key = json!({ "type": "string", "description": "The new key; lists need none" });
                (
                    json!({ "elements": list(element(&key, "The value, any JSON", &["content"])) }),
                    &["elements"],
                )
            }
            Self::Update => {
                let element = element(&key, "The new value, any JSON", &["key", "content"]);
                (json!({ "updates": list(element) }), &["updates"])
            }
            Self::Delete => (json!({ "keys": list(key) }), &["keys"]),
            Self::Select => {
                let field = json!({ "type": "string", "description": "The field that is compared" });
                let values = json!({ "type": "array", "minItems": 1, "description": "The values it may have, compared as text",
                    "items": { "type": ["string", "number", "boolean", "null"] } });
                let parameters = json!({ "field": field, "keys": values, "limit": limit, "cursor": cursor });
                (parameters, &["field", "keys"])
            }
            Self::Search => {
                let query =
                    json!({ "type": "string", "minLength": 1, "description": "What to look for, in words" });
                let top_k = json!({ "type": "integer", "minimum": 1, "maximum": 20, "default": 5,
                    "description": "How many results to return" });
                (json!({ "query": query, "top_k": top_k }), &["query"])
            }
        }
    }

    /// The tool as clients see it, with what its maker said instead of the usual.
    pub(super) fn tool(self, name: &str, custom: &Custom<'_>) -> Result<Tool> {
        let description = match custom.description {
            "" => self.description(custom.mount),
            given => given.to_owned(),
        };
        let is_given = |schema: &&Value| schema.as_object().is_some_and(|fields| !fields.is_empty());
        let input_schema = custom.input_schema.filter(is_given).cloned();
        let mut definition = json!({
            "name": name,
            "description": description,
            "inputSchema": input_schema.unwrap_or_else(|| self.input_schema()),
            "annotations": { "readOnlyHint": self.is_reading(), "openWorldHint": false },
        });
        if !self.is_reading() {
            definition["annotations"]["destructiveHint"] = (self != Self::Create).into();
        }
        if let Some(schema) = custom.output_schema.filter(is_given) {
            definition["outputSchema"] = schema.clone();
        }
        Tool::from_raw(&super::json(definition.to_string())?)
    }
}

/// What a Tool may say itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Custom<'a> {
    pub(super) description: &'a str,
    pub(super) mount: &'a Pointer,
    pub(super) input_schema: Option<&'a Value>,
    pub(super) output_schema: Option<&'a Value>,
}

/// The schema of a key with its value.
fn element(key: &Value, content: &str, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": { "key": key, "content": { "description": content } },
        "required": required, "additionalProperties": false })
}

/// Every operation as a tool, as it is called by URI, sorted by name.
pub(super) fn all() -> Result<Vec<(Operation, Tool)>> {
    let mount = Pointer::default();
    let custom = Custom { description: "", mount: &mount, input_schema: None, output_schema: None };
    let mut operations = Operation::ALL;
    operations.sort_unstable_by_key(|operation| operation.as_str());
    let tool = |operation: Operation| Ok((operation, operation.tool(operation.as_str(), &custom)?));
    operations.into_iter().map(tool).collect()
}
