//! The tools of a store: what each is called, takes and gives.

use super::arguments::MAX_DELIMITER;
use crate::shared::content;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use tool::{Error, Result, Tool};

/// Every tool that is offered, by name.
pub(super) fn all(is_read_only: bool) -> Result<Vec<Tool>> {
    let mut tools = vec![list(), load(), presign(is_read_only), stat()];
    if !is_read_only {
        tools.extend([copy(), delete(), save()]);
    }
    tools.sort_by_key(|tool| tool.name);
    tools.into_iter().map(Definition::tool).collect()
}

/// What a client is told of a tool.
struct Definition {
    name: &'static str,
    description: &'static str,
    parameters: Vec<(String, Value)>,
    required: &'static [&'static str],
    output: Value,
    is_reading: bool,
    is_destructive: bool,
    is_idempotent: bool,
}

impl Definition {
    fn reading(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            description,
            parameters: Vec::new(),
            required: &["key"],
            output: Value::Null,
            is_reading: true,
            is_destructive: false,
            is_idempotent: true,
        }
    }

    fn writing(name: &'static str, description: &'static str) -> Self {
        Self { is_reading: false, is_destructive: true, ..Self::reading(name, description) }
    }

    fn tool(self) -> Result<Tool> {
        let properties = Map::from_iter(self.parameters);
        let definition = json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object", "properties": properties, "required": self.required, "additionalProperties": false,
            },
            "outputSchema": self.output,
            "annotations": {
                "readOnlyHint": self.is_reading,
                "destructiveHint": self.is_destructive,
                "idempotentHint": self.is_idempotent,
                "openWorldHint": false,
            },
        });
        let definition = to_raw_value(&definition)
            .map_err(|error| Error::internal("a definition cannot be written").caused_by(error))?;
        Ok(Tool::from_raw(&definition)?.taking_null(true))
    }
}

fn save() -> Definition {
    let [content, source, encoding] = content::schema();
    let metadata = json!({
        "type": "object", "additionalProperties": { "type": "string" }, "maxProperties": 50,
        "description": "Notes that are kept with the object: names of letters, digits and '-', values of ASCII text",
    });
    let only_new = json!({ "type": "boolean", "default": false, "description": "Fail if there is an object under the key" });
    Definition {
        parameters: vec![
            key("key"),
            content,
            source,
            encoding,
            text("contentType", "What it is, e.g. application/pdf; guessed from the key unless given"),
            ("metadata".to_owned(), metadata),
            ("ifNotExists".to_owned(), only_new),
        ],
        output: object(
            &[("key", STRING), ("url", STRING), ("size", INTEGER), ("etag", STRING), ("contentType", STRING)],
            &["key", "size"],
        ),
        ..Definition::writing("save", "Saves an object under a key, over what was there.")
    }
}

fn load() -> Definition {
    let mut output = described();
    output["properties"]["content"] = json!({ "type": "string" });
    output["properties"]["encoding"] = json!({ "type": "string" });
    output["properties"]["offset"] = json!({ "type": "integer" });
    output["properties"]["url"] = json!({ "type": "string" });
    Definition {
        parameters: vec![
            key("key"),
            whole("offset", "The first byte that is wanted", 0, u64::MAX >> 11, None),
            whole(
                "length",
                "How many bytes are wanted; all from offset unless given",
                1,
                u64::MAX >> 11,
                None,
            ),
            (
                "encoding".to_owned(),
                json!({ "type": "string", "enum": ["utf8", "base64"], "description": "How the content is written; follows from its type unless given" }),
            ),
        ],
        output,
        ..Definition::reading(
            "load",
            "Loads an object by its key: its content, or an address where that is too large.",
        )
    }
}

fn list() -> Definition {
    let item = object(
        &[("key", STRING), ("size", INTEGER), ("lastModified", STRING), ("etag", STRING)],
        &["key", "size"],
    );
    Definition {
        parameters: vec![
            text("prefix", "Only keys that begin so, e.g. files/"),
            whole("maxKeys", "How many at the most", 1, 1000, Some(100)),
            (
                "delimiter".to_owned(),
                json!({ "type": "string", "minLength": 1, "maxLength": MAX_DELIMITER, "description": "Join keys up to the next of these behind the prefix; '/' joins as folders do" }),
            ),
            text("cursor", "Where the last answer ended: its cursor"),
        ],
        required: &[],
        output: json!({
            "type": "object",
            "properties": {
                "objects": { "type": "array", "items": item },
                "prefixes": { "type": "array", "items": { "type": "string" } },
                "cursor": { "type": ["string", "null"] },
                "truncated": { "type": "boolean" },
            },
            "required": ["objects", "prefixes", "truncated"],
        }),
        ..Definition::reading("list", "Lists objects by key, with their size and age.")
    }
}

fn delete() -> Definition {
    Definition {
        parameters: vec![key("key")],
        output: object(&[("key", STRING), ("deleted", "boolean")], &["key", "deleted"]),
        ..Definition::writing("delete", "Deletes an object; one that is not there is deleted already.")
    }
}

fn presign(is_read_only: bool) -> Definition {
    let methods: &[&str] = if is_read_only { &["GET"] } else { &["GET", "PUT"] };
    Definition {
        parameters: vec![
            key("key"),
            whole("expires", "For how many seconds", 1, 604_800, Some(3600)),
            (
                "method".to_owned(),
                json!({ "type": "string", "enum": methods, "default": "GET", "description": "What the address is for: GET to read, PUT to write" }),
            ),
            text("contentType", "What must be written, or what it is shown as"),
            text("filename", "What the file is called where it is saved"),
        ],
        output: json!({
            "type": "object",
            "properties": {
                "url": { "type": "string" }, "method": { "type": "string" }, "expiresAt": { "type": "string" },
                "headers": { "type": "object", "additionalProperties": { "type": "string" } },
            },
            "required": ["url", "method", "headers", "expiresAt"],
        }),
        // Whoever makes an address to write at lets others write.
        is_reading: is_read_only,
        is_destructive: !is_read_only,
        is_idempotent: false,
        ..Definition::reading(
            "presign",
            "Makes an address with which anybody can read or write one object for a while.",
        )
    }
}

fn stat() -> Definition {
    Definition {
        parameters: vec![key("key")],
        output: described(),
        ..Definition::reading("stat", "Tells size, type, age and notes of an object.")
    }
}

fn copy() -> Definition {
    Definition {
        parameters: vec![key("key"), key("to")],
        required: &["key", "to"],
        output: object(&[("key", STRING), ("etag", STRING)], &["key"]),
        ..Definition::writing("copy", "Copies an object to another key, over what was there.")
    }
}

const STRING: &str = "string";
const INTEGER: &str = "integer";

fn described() -> Value {
    let mut output = object(
        &[
            ("key", STRING),
            ("size", INTEGER),
            ("contentType", STRING),
            ("etag", STRING),
            ("lastModified", STRING),
        ],
        &["key", "size"],
    );
    output["properties"]["metadata"] =
        json!({ "type": "object", "additionalProperties": { "type": "string" } });
    output
}

fn object(properties: &[(&str, &str)], required: &[&str]) -> Value {
    let properties: Map<_, _> =
        properties.iter().map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind }))).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn key(name: &str) -> (String, Value) {
    let description =
        if name == "key" { "The object's key, e.g. files/doc.pdf" } else { "The key of the copy" };
    (
        name.to_owned(),
        json!({ "type": "string", "minLength": 1, "maxLength": 1024, "description": description }),
    )
}

fn text(name: &str, description: &str) -> (String, Value) {
    (name.to_owned(), json!({ "type": "string", "maxLength": 1024, "description": description }))
}

fn whole(name: &str, description: &str, least: u64, most: u64, default: Option<u64>) -> (String, Value) {
    let mut schema =
        json!({ "type": "integer", "minimum": least, "maximum": most, "description": description });
    if let Some(default) = default {
        schema["default"] = default.into();
    }
    (name.to_owned(), schema)
}
