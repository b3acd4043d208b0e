//! The tools of a queue service: what each is called, takes and gives.

use super::destination::Destination;
use super::settings::{BrokerType, Settings};
use super::tool_settings::{Format, ToolSettings};
use document::Query;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use tool::definition::object_schema;
use tool::once::MAX_KEY_CHARACTERS;
use tool::schema::Schema;
use tool::{Error, Problem, Result, Tool};

/// The longest name, so that what is put behind it fits, too.
const MAX_ID: usize = 56;
/// The most headers of a message, and the most characters of each.
pub(super) const MAX_HEADERS: usize = 50;
pub(super) const MAX_HEADER_CHARACTERS: usize = 1000;
/// The longest key.
pub(super) const MAX_KEY: usize = 1000;
/// The most messages that are shown or taken at once.
pub(super) const MAX_MESSAGES: u64 = 100;
/// The longest wait for a message, in milliseconds.
pub(super) const MAX_WAIT_MS: u64 = 20_000;

/// One place, and the tools over it.
#[derive(Debug)]
pub(super) struct QueueTool {
    pub(super) id: String,
    description: String,
    pub(super) destination: Destination,
    pub(super) format: Format,
    message_schema: Option<Value>,
    pub(super) schema: Option<Arc<Schema>>,
    pub(super) key: Option<Arc<Query>>,
    has_peek: bool,
    has_receive: bool,
}

/// What a tool does with its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Publish,
    Peek,
    Receive,
}

impl Action {
    fn suffix(self) -> &'static str {
        match self {
            Self::Publish => "",
            Self::Peek => "_peek",
            Self::Receive => "_receive",
        }
    }
}

impl QueueTool {
    /// All tools of the settings that can be used; problems name the others.
    pub(super) fn check_all(settings: &Settings, problems: &mut Vec<Problem>) -> Vec<Self> {
        let mut names = BTreeSet::new();
        let mut tools = Vec::new();
        for (index, tool) in settings.tools.iter().enumerate() {
            let path = format!("tools[{index}]");
            if let Some(checked) = Self::check(tool, settings.broker, &path, problems) {
                let taken = checked.actions().find(|action| !names.insert(checked.name(*action)));
                if let Some(action) = taken {
                    let message = format!("there are two tools '{}'; rename one", checked.name(action));
                    problems.push(Problem::new(format!("{path}.id"), "Duplicate", message));
                }
                tools.push(checked);
            }
        }
        tools
    }

    fn check(
        tool: &ToolSettings,
        broker: BrokerType,
        path: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let mut refuse = |field: &str, code, message: String| {
            problems.push(Problem::new(format!("{path}.{field}"), code, message));
        };
        let is_legal = (1..=MAX_ID).contains(&tool.id.len())
            && tool.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        if !is_legal {
            refuse(
                "id",
                "InvalidName",
                format!("a tool is called by 1 to {MAX_ID} letters, digits, '_', '.' or '-'"),
            );
        }
        let schema = match tool.message_schema.as_ref().map(|schema| Schema::compile(schema, "field")) {
            Some(Err(error)) => {
                refuse("message_schema", "InvalidSchema", error.message().to_owned());
                None
            }
            Some(Ok(schema)) => Some(Arc::new(schema)),
            None => None,
        };
        let key = match tool.key.as_deref().map(Query::compile) {
            Some(Err(error)) => {
                refuse("key", "QueryError", format!("the JMESPath of the key is wrong: {error}"));
                None
            }
            Some(Ok(query)) => Some(Arc::new(query)),
            None => None,
        };
        let destination = Destination::check(tool, broker, path, problems)?;
        check_reading(tool, &destination, path, problems);
        let description = match tool.description.as_str() {
            "" => format!("Publishes a message to {destination}."),
            given => given.to_owned(),
        };
        Some(Self {
            id: tool.id.clone(),
            description,
            destination,
            format: tool.format,
            message_schema: tool.message_schema.clone(),
            schema,
            key,
            has_peek: tool.peek,
            has_receive: tool.receive,
        })
    }

    pub(super) fn actions(&self) -> impl Iterator<Item = Action> {
        let offered =
            [(Action::Publish, true), (Action::Peek, self.has_peek), (Action::Receive, self.has_receive)];
        offered.into_iter().filter(|(_, is_offered)| *is_offered).map(|(action, _)| action)
    }

    pub(super) fn name(&self, action: Action) -> String {
        format!("{}{}", self.id, action.suffix())
    }

    pub(super) fn definition(&self, action: Action, max_delay_ms: u64) -> Result<Tool> {
        let (description, input, output) = match action {
            Action::Publish => {
                (self.description.clone(), self.publish_schema(max_delay_ms), publish_output())
            }
            Action::Peek => (
                format!("Shows the next messages of {} and leaves them there.", self.destination),
                object_schema(Map::from_iter([("max".to_owned(), max_schema(10))]), Vec::new()),
                self.messages_output(),
            ),
            Action::Receive => (
                format!(
                    "Takes the next messages of {}. They are gone then, even if this answer is lost.",
                    self.destination
                ),
                receive_schema(),
                self.messages_output(),
            ),
        };
        let definition = json!({
            "name": self.name(action),
            "description": description,
            "inputSchema": input,
            "outputSchema": output,
            "annotations": {
                "readOnlyHint": action == Action::Peek,
                "destructiveHint": action == Action::Receive,
                "idempotentHint": action == Action::Peek,
                "openWorldHint": true,
            },
        });
        let definition = to_raw_value(&definition)
            .map_err(|error| Error::internal("a definition cannot be written").caused_by(error))?;
        Ok(Tool::from_raw(&definition)?.taking_null(true))
    }

    fn publish_schema(&self, max_delay_ms: u64) -> Value {
        let mut properties = Map::new();
        properties.insert("message".to_owned(), self.message_property());
        properties.insert(
            "delay".to_owned(),
            json!({ "type": "integer", "minimum": 0, "maximum": max_delay_ms,
                    "description": "Nobody gets the message before so many milliseconds have passed." }),
        );
        if self.key.is_none() {
            properties.insert(
                "key".to_owned(),
                json!({ "type": "string", "minLength": 1, "maxLength": MAX_KEY,
                        "description": "What the message is about, e.g. the id of the order." }),
            );
        }
        properties.insert(
            "messageId".to_owned(),
            json!({ "type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARACTERS,
                    "description": "The message is published once for this id within 24 hours, however often it is sent. Another message, or another caller, under the same id is refused." }),
        );
        properties.insert(
            "headers".to_owned(),
            // Counted by us: what is held back carries one more of ours.
            json!({ "type": "object", "description": format!("At most {MAX_HEADERS} texts that travel along, in lower case. Those of a dead letter, x-attempt and x-dead-reason, are left out."),
                    "additionalProperties": { "type": "string", "maxLength": MAX_HEADER_CHARACTERS } }),
        );
        let mut schema = object_schema(properties, vec!["message".to_owned()]);
        // What the message's schema refers to stands at the root of the document.
        for definitions in ["$defs", "definitions"] {
            if let Some(given) = self.message_schema.as_ref().and_then(|schema| schema.get(definitions)) {
                schema[definitions] = given.clone();
            }
        }
        schema
    }

    fn message_property(&self) -> Value {
        match (&self.message_schema, self.format) {
            (Some(schema), _) => schema.clone(),
            (None, Format::Json) => json!({ "description": "What the message says: any JSON." }),
            (None, Format::Text) => json!({ "type": "string", "description": "What the message says." }),
            (None, Format::Base64) => {
                json!({ "type": "string", "contentEncoding": "base64", "description": "The bytes of the message in base64." })
            }
        }
    }

    fn messages_output(&self) -> Value {
        json!({ "type": "object", "required": ["messages"], "properties": { "messages": {
            "type": "array",
            "items": { "type": "object", "properties": {
                "messageId": { "type": "string" },
                "message": {},
                "key": { "type": ["string", "null"] },
                "headers": { "type": "object", "additionalProperties": { "type": "string" } },
                "publishedAt": { "type": ["string", "null"] },
                "position": { "type": "string" },
                "problem": { "type": "string", "description": "Why it is not as the tool says; flows get no such message." },
            } },
        } } })
    }
}

fn publish_output() -> Value {
    json!({ "type": "object", "required": ["messageId", "destination"], "properties": {
        "messageId": { "type": "string" },
        "destination": { "type": "string" },
        "position": { "type": "string", "description": "Where it stands there, in the broker's words." },
        "availableAt": { "type": "string", "format": "date-time" },
        "receivers": { "type": "integer", "description": "How many listened to the channel." },
        "duplicate": { "type": "boolean", "description": "It was published before; this is what came of that." },
    } })
}

fn max_schema(default: u64) -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": MAX_MESSAGES, "default": default,
            "description": "How many at the most." })
}

fn receive_schema() -> Value {
    let wait = json!({ "type": "integer", "minimum": 0, "maximum": MAX_WAIT_MS, "default": 0,
                       "description": "How long to wait for the first message, in milliseconds." });
    object_schema(
        Map::from_iter([("max".to_owned(), max_schema(1)), ("waitMs".to_owned(), wait)]),
        Vec::new(),
    )
}

/// Messages of an exchange or a channel lie nowhere.
fn check_reading(tool: &ToolSettings, destination: &Destination, path: &str, problems: &mut Vec<Problem>) {
    let wanted = [("peek", tool.peek), ("receive", tool.receive)];
    let Some((field, _)) = wanted.into_iter().find(|(_, is_wanted)| *is_wanted) else { return };
    let (what, instead) = match destination {
        Destination::Exchange { .. } => ("an exchange", "queue"),
        Destination::Channel(_) => ("a channel", "stream"),
        Destination::Queue(_) | Destination::Topic(_) | Destination::Stream(_) => return,
    };
    let message = format!("{what} keeps no messages to look at; name a '{instead}'");
    problems.push(Problem::new(format!("{path}.{field}"), "NotAllowed", message));
}
