//! The tools of a mail service: what each is called, takes and gives.

use super::address::{AllowList, parse};
use super::settings::ToolSettings;
use super::templates::Template;
use crate::shared::content;
use crate::shared::sending::result_schema;
use lettre::message::Mailbox;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tool::definition::object_schema;
use tool::once::MAX_KEY_CHARACTERS;
use tool::{Error, Problem, Result, Tool};

/// The tool that is always there.
const SEND: &str = "send";
/// The most attachments of a message.
pub(super) const MAX_ATTACHMENTS: usize = 20;
/// The most headers that a caller may add.
pub(super) const MAX_HEADERS: usize = 20;
/// The longest subject, and the longest text of a header.
pub(super) const MAX_LINE: usize = 1000;

/// A tool, and what it fixes.
#[derive(Debug)]
pub(super) struct MailTool {
    pub(super) id: String,
    description: String,
    pub(super) to: Vec<Mailbox>,
    pub(super) template: Option<String>,
    pub(super) from: Option<Mailbox>,
}

impl MailTool {
    /// All tools of the settings that can be used, and `send`; problems name the others.
    pub(super) fn check_all(
        tools: &[ToolSettings],
        templates: &BTreeMap<String, Template>,
        allow_list: &AllowList,
        problems: &mut Vec<Problem>,
    ) -> Vec<Self> {
        let mut names = BTreeSet::new();
        let mut checked = Vec::new();
        for (index, tool) in tools.iter().enumerate() {
            let path = format!("tools[{index}]");
            let is_legal = (1..=64).contains(&tool.id.len())
                && tool.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
            if !is_legal {
                let message = "a tool is called by 1 to 64 letters, digits, '_', '.' or '-'";
                problems.push(Problem::new(format!("{path}.id"), "InvalidName", message));
            }
            if !names.insert(&tool.id) {
                let message = format!("there are two tools '{}'; rename one", tool.id);
                problems.push(Problem::new(format!("{path}.id"), "Duplicate", message));
            }
            checked.push(Self::check(tool, templates, allow_list, &path, problems));
        }
        if !names.contains(&SEND.to_owned()) {
            let description = "Sends mail.".to_owned();
            checked.push(Self {
                id: SEND.to_owned(),
                description,
                to: Vec::new(),
                template: None,
                from: None,
            });
        }
        checked.sort_by(|one, other| one.id.cmp(&other.id));
        checked
    }

    fn check(
        tool: &ToolSettings,
        templates: &BTreeMap<String, Template>,
        allow_list: &AllowList,
        path: &str,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let mut refuse = |field: String, code, message: String| {
            problems.push(Problem::new(format!("{path}.{field}"), code, message));
        };
        let mut to = Vec::new();
        for (index, text) in tool.to.iter().enumerate() {
            match parse(text) {
                Ok(mailbox) if allow_list.allows(&mailbox.email) => to.push(mailbox),
                Ok(_) => {
                    let message = format!("'{text}' is not among the 'allow_recipients' of the service");
                    refuse(format!("to[{index}]"), "NotAllowed", message);
                }
                Err(_) => {
                    let message = format!("'{text}' is no address such as ops@example.com");
                    refuse(format!("to[{index}]"), "InvalidAddress", message);
                }
            }
        }
        let from = tool.from.as_deref().and_then(|text| {
            let refused = |_| refuse("from".to_owned(), "InvalidAddress", format!("'{text}' is no address"));
            parse(text).map_err(refused).ok()
        });
        if let Some(name) = tool.template.as_ref().filter(|name| !templates.contains_key(*name)) {
            let message = format!("there is no template '{name}' in the service's 'templates'");
            refuse("template".to_owned(), "Unknown", message);
        }
        let description = match tool.description.as_str() {
            "" => "Sends mail.".to_owned(),
            given => given.to_owned(),
        };
        Self { id: tool.id.clone(), description, to, template: tool.template.clone(), from }
    }

    pub(super) fn definition(
        &self,
        templates: &BTreeMap<String, Template>,
        max_recipients: usize,
    ) -> Result<Tool> {
        let definition = json!({
            "name": self.id,
            "description": self.description,
            "inputSchema": self.input(templates, max_recipients),
            "outputSchema": output(),
            "annotations": {
                "readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": true,
            },
        });
        let definition = to_raw_value(&definition)
            .map_err(|error| Error::internal("a definition cannot be written").caused_by(error))?;
        Ok(Tool::from_raw(&definition)?.taking_null(true))
    }

    fn input(&self, templates: &BTreeMap<String, Template>, max_recipients: usize) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        if self.to.is_empty() {
            required.push("to".to_owned());
            properties.extend(recipients(max_recipients));
        }
        match &self.template {
            Some(name) => {
                // Whoever names it all the same is right.
                properties.insert(
                    "template".to_owned(),
                    json!({ "type": "string", "enum": [name], "description": "Fixed." }),
                );
                let names = templates.get(name).map(Template::variables).unwrap_or_default();
                properties.insert("variables".to_owned(), variables(&names));
                if !names.is_empty() {
                    required.push("variables".to_owned());
                }
            }
            None => {
                properties.extend(written());
                if templates.is_empty() {
                    required.extend(["subject".to_owned(), "body".to_owned()]);
                } else {
                    properties.extend(chosen(templates));
                }
            }
        }
        properties.extend(others());
        object_schema(properties, required)
    }
}

fn property(name: &str, schema: Value) -> (String, Value) {
    (name.to_owned(), schema)
}

fn recipients(max_recipients: usize) -> [(String, Value); 4] {
    let addresses = |what: &str| json!({ "type": ["string", "array"], "items": { "type": "string" }, "maxItems": max_recipients, "description": what });
    [
        property(
            "to",
            addresses(
                "An address, or a list: each of a list gets a message of its own and sees no other. ada@example.com or Ada <ada@example.com>.",
            ),
        ),
        property("cc", addresses("Who gets the same message, for all to see.")),
        property("bcc", addresses("Who gets the same message, for nobody to see.")),
        property(
            "together",
            json!({ "type": "boolean", "default": false, "description": "One message to all of 'to', who see one another. So it is with 'cc' or 'bcc', too." }),
        ),
    ]
}

fn written() -> [(String, Value); 4] {
    [
        property("subject", json!({ "type": "string", "maxLength": MAX_LINE, "description": "One line." })),
        property(
            "body",
            json!({ "type": "string", "description": "What the message says, as 'contentType' says." }),
        ),
        property(
            "contentType",
            json!({ "type": "string", "enum": ["text", "html"], "default": "text", "description": "What the body is." }),
        ),
        property(
            "text",
            json!({ "type": "string", "description": "The same in plain text, beside a body in HTML." }),
        ),
    ]
}

fn chosen(templates: &BTreeMap<String, Template>) -> [(String, Value); 2] {
    let names: Vec<_> = templates.keys().collect();
    let needed = templates.iter().map(|(name, template)| {
        let variables: Vec<_> = template.variables().into_iter().collect();
        format!("{name} ({})", variables.join(", "))
    });
    let description = format!("Instead of subject and body: {}.", needed.collect::<Vec<_>>().join("; "));
    let all = templates.values().flat_map(Template::variables).collect();
    [
        property("template", json!({ "type": "string", "enum": names, "description": description })),
        property("variables", variables(&all)),
    ]
}

fn variables(names: &BTreeSet<String>) -> Value {
    let properties: Map<_, _> = names.iter().map(|name| (name.clone(), json!({}))).collect();
    json!({ "type": "object", "properties": properties, "description": "What the template puts in." })
}

fn others() -> [(String, Value); 4] {
    let mut attachment = Map::from_iter(content::schema());
    attachment.insert(
        "name".to_owned(),
        json!({ "type": "string", "minLength": 1, "maxLength": 255, "description": "The name of the file." }),
    );
    attachment.insert(
        "contentType".to_owned(),
        json!({ "type": "string", "description": "Follows from the name unless given." }),
    );
    attachment.insert("cid".to_owned(), json!({ "type": "string", "maxLength": 100, "description": "Shown within the HTML body, which names it as cid:…" }));
    let attachment = object_schema(attachment, vec!["name".to_owned()]);
    [
        property(
            "attachments",
            json!({ "type": "array", "maxItems": MAX_ATTACHMENTS, "items": attachment, "description": "Files that go along." }),
        ),
        property("replyTo", json!({ "type": "string", "description": "The address that answers go to." })),
        property(
            "headers",
            json!({ "type": "object", "maxProperties": MAX_HEADERS, "additionalProperties": { "type": "string", "maxLength": MAX_LINE }, "description": "X-…, List-…, In-Reply-To or References." }),
        ),
        property(
            "idempotencyKey",
            json!({ "type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARACTERS, "description": "The mail is sent once for this key within 24 hours, however often it is asked for." }),
        ),
    ]
}

fn output() -> Value {
    result_schema(
        "sent",
        &json!({ "type": "integer", "description": "What the server said, as SMTP counts." }),
    )
}
