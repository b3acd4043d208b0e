//! The tools of an SMS service: what each is called, takes and gives.

use super::settings::Provider;
use super::wording::{MAX_CHARACTERS, MAX_PARAMS};
use crate::shared::sending::result_schema;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use tool::definition::object_schema;
use tool::once::MAX_KEY_CHARACTERS;
use tool::secret::PHONE;
use tool::{Error, Problem, Result, Tool};

/// The tool that is always there.
const SEND: &str = "send";

/// A purpose: what it fixes is no argument any more.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolSettings {
    /// The tool's name: 1 to 64 letters, digits, `_`, `.` or `-`.
    pub(super) id: String,
    /// What it is for, for the model that uses it.
    #[serde(default)]
    pub(super) description: String,
    /// The vendor's template that it uses.
    #[serde(default)]
    pub(super) template: Option<String>,
    /// The names of the template's values, in the order in which the vendor counts them.
    #[serde(default)]
    pub(super) params: Vec<String>,
    /// A template with one value, which callers give as `content`.
    #[serde(default)]
    #[schemars(schema_with = "content_template_schema")]
    pub(super) content_template: Option<ContentTemplate>,
}

/// How words of callers get into a template.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ContentTemplate {
    /// The vendor's template.
    pub(super) template: String,
    /// The name of its only value.
    pub(super) param: String,
}

/// A tool, and what it fixes.
#[derive(Debug)]
pub(super) struct SmsTool {
    pub(super) id: String,
    description: String,
    pub(super) template: Option<String>,
    pub(super) params: Vec<String>,
    pub(super) content_template: Option<ContentTemplate>,
}

impl Provider {
    /// Whether words of callers are sent as they are.
    pub(super) fn takes_words(self) -> bool {
        match self {
            Self::File | Self::Twilio => true,
            Self::Aliyun | Self::Tencent | Self::Huawei => false,
        }
    }
}

impl SmsTool {
    /// All tools of the settings that can be used, and `send`; problems name the others.
    pub(super) fn check_all(
        tools: &[ToolSettings],
        provider: Provider,
        problems: &mut Vec<Problem>,
    ) -> Vec<Self> {
        let mut names = BTreeSet::new();
        let mut checked = Vec::new();
        for (index, tool) in tools.iter().enumerate() {
            let mut refuse = |field: &str, code, message: &str| {
                problems.push(Problem::new(format!("tools[{index}].{field}"), code, message));
            };
            let is_legal = (1..=64).contains(&tool.id.len())
                && tool.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
            if !is_legal {
                refuse("id", "InvalidName", "a tool is called by 1 to 64 letters, digits, '_', '.' or '-'");
            }
            if !names.insert(tool.id.as_str()) {
                refuse("id", "Duplicate", "there is another tool of this name; rename one");
            }
            if tool.content_template.is_some() && (tool.template.is_some() || !tool.params.is_empty()) {
                refuse(
                    "content_template",
                    "NotAllowed",
                    "a tool has a template or a content_template, not both",
                );
            }
            if tool.content_template.is_some() && provider.sends_any_words() {
                refuse(
                    "content_template",
                    "NotAllowed",
                    "Twilio sends words as they are; leave content_template out",
                );
            }
            let distinct: BTreeSet<_> = tool.params.iter().collect();
            if distinct.len() != tool.params.len() || tool.params.len() > MAX_PARAMS {
                refuse(
                    "params",
                    "Duplicate",
                    "each of the params has a name of its own, and there are at most 50",
                );
            }
            checked.push(Self::of(tool));
        }
        if !names.contains(SEND) {
            checked.push(Self {
                id: SEND.to_owned(),
                description: "Sends a short message.".to_owned(),
                template: None,
                params: Vec::new(),
                content_template: None,
            });
        }
        checked.sort_by(|one, other| one.id.cmp(&other.id));
        checked
    }

    fn of(tool: &ToolSettings) -> Self {
        let description = match tool.description.as_str() {
            "" => "Sends a short message.".to_owned(),
            given => given.to_owned(),
        };
        let (template, params) = (tool.template.clone(), tool.params.clone());
        Self {
            id: tool.id.clone(),
            description,
            template,
            params,
            content_template: tool.content_template.clone(),
        }
    }

    pub(super) fn definition(&self, provider: Provider, max_recipients: usize) -> Result<Tool> {
        let definition = json!({
            "name": self.id,
            "description": self.description,
            "inputSchema": self.input(provider, max_recipients),
            "outputSchema": result_schema("accepted", &json!({ "type": "string", "description": "The vendor's own code." })),
            "annotations": {
                "readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": true,
            },
        });
        let definition = to_raw_value(&definition)
            .map_err(|error| Error::internal("a definition cannot be written").caused_by(error))?;
        Ok(Tool::from_raw(&definition)?.taking_null(true))
    }

    fn input(&self, provider: Provider, max_recipients: usize) -> Value {
        let mut properties = Map::new();
        let mut put = |name: &str, schema: Value| properties.insert(name.to_owned(), schema);
        let mut required = vec!["to".to_owned()];
        // The audit shows numbers masked, and words and values not at all.
        put(
            "to",
            json!({ "type": ["string", "array"], "items": { "type": "string" }, "maxItems": max_recipients, "format": PHONE,
                          "description": "A telephone number or a list of them, e.g. 13800138000 or +8613800138000." }),
        );
        let takes_words =
            self.content_template.is_some() || (self.template.is_none() && provider.takes_words());
        if takes_words {
            put(
                "content",
                json!({ "type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS, "writeOnly": true, "description": "What the message says." }),
            );
        }
        match (&self.template, &self.content_template) {
            (_, Some(_)) => required.push("content".to_owned()),
            (Some(template), None) => {
                put("template", json!({ "type": "string", "enum": [template], "description": "Fixed." }));
                put("params", self.params_schema());
                if !self.params.is_empty() {
                    required.push("params".to_owned());
                }
            }
            (None, None) => {
                put(
                    "template",
                    json!({ "type": "string", "minLength": 1, "maxLength": 200, "description": "The vendor's template." }),
                );
                put("params", self.params_schema());
                if !takes_words {
                    required.push("template".to_owned());
                }
            }
        }
        put(
            "idempotencyKey",
            json!({ "type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARACTERS,
                                      "description": "The message is sent once for this key within 24 hours, however often it is asked for." }),
        );
        object_schema(properties, required)
    }

    fn params_schema(&self) -> Value {
        let names: Map<_, _> = self.params.iter().map(|name| (name.clone(), json!({}))).collect();
        let description = match self.params.as_slice() {
            [] => "What the template puts in: by name, or a list in its order.".to_owned(),
            names => format!("What the template puts in: {}.", names.join(", ")),
        };
        json!({ "type": ["object", "array"], "properties": names, "writeOnly": true, "description": description })
    }
}

/// Schemars would write `anyOf` with null, whose complaints name no field.
fn content_template_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = ContentTemplate::json_schema(generator);
    schema.insert("type".to_owned(), json!(["object", "null"]));
    schema
}
