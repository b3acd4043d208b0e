//! Methods as tools: what clients see, and what a call needs.

use super::json_schema::{Direction, Writer, bytes_of_each};
use super::message::Form;
use super::names::tool_name;
use super::schema::Schema;
use crate::svc::fallback::Fallbacks;
use crate::svc::tools::GrpcTool;
use fetch::http::uri::PathAndQuery;
use prost_reflect::MethodDescriptor;
use prost_reflect::prost_types::method_options::IdempotencyLevel;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tool::{Error, Pattern, Result, Shape, Skipped, Tool};

const CLIENT_STREAM: &str = "the method takes a stream of messages, which no call of a tool can give; offer a method that takes one message";

/// What a call of a method needs, made once.
#[derive(Debug)]
pub(super) struct Method {
    /// `package.Service/Method`, as settings have it.
    pub(super) rpc: String,
    pub(super) path: PathAndQuery,
    pub(super) input: Form,
    pub(super) output: Form,
    pub(super) is_streaming: bool,
    pub(super) is_idempotent: bool,
    pub(super) timeout: Option<Duration>,
    /// The most bytes of an answer, where the tool has a limit of its own and nothing is made of the answer before that counts.
    pub(super) max_result_bytes: Option<usize>,
}

/// All tools of a service, and what became none.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    pub(super) methods: BTreeMap<String, Method>,
    pub(super) tools: Vec<Tool>,
    pub(super) skipped: Vec<Skipped>,
    /// Tools that the settings name and that cannot be, each with the reason.
    pub(super) missing: BTreeMap<String, String>,
}

/// Which methods become tools.
#[derive(Debug)]
pub(super) enum Selection {
    /// Those that the settings name.
    Listed(Vec<GrpcTool>),
    /// Those that match.
    Matching { include: Vec<Pattern>, exclude: Vec<Pattern> },
}

/// How answers look.
#[derive(Debug, Clone)]
pub(super) struct Manner {
    /// They hold fields that have their default value, too.
    pub(super) emit_defaults: bool,
    /// While the service is left alone they are these.
    pub(super) fallbacks: Arc<Fallbacks>,
}

impl Default for Manner {
    fn default() -> Self {
        Self { emit_defaults: true, fallbacks: Arc::default() }
    }
}

impl Catalog {
    /// Makes the tools.
    ///
    /// # Errors
    /// When a definition cannot be written.
    pub(super) fn new(schema: &Schema, selection: &Selection, manner: &Manner) -> Result<Self> {
        let mut catalog = Self::default();
        match selection {
            Selection::Listed(tools) => {
                let schema_bytes = bytes_of_each(tools.len());
                for settings in tools {
                    let maker = Maker { schema, manner, schema_bytes, settings: Some(settings) };
                    let missing = match schema.method(&settings.rpc) {
                        None => no_method(schema, settings),
                        Some(method) if method.is_client_streaming() => {
                            format!("the tool '{}' cannot be: {CLIENT_STREAM}", settings.id)
                        }
                        Some(method) => {
                            catalog.add(&settings.id, &method, &maker)?;
                            continue;
                        }
                    };
                    catalog.missing.insert(settings.id.clone(), missing);
                }
            }
            Selection::Matching { include, exclude } => {
                let mut taken = HashSet::new();
                let named = schema.methods().into_iter().map(|method| {
                    let service = method.parent_service();
                    (tool_name(service.package_name(), service.name(), method.name(), &mut taken), method)
                });
                let wanted =
                    named.filter(|(name, method)| is_wanted(&rpc_of(method), name, include, exclude));
                let wanted: Vec<_> = wanted.collect();
                let maker =
                    Maker { schema, manner, schema_bytes: bytes_of_each(wanted.len()), settings: None };
                for (name, method) in &wanted {
                    catalog.add(name, method, &maker)?;
                }
            }
        }
        catalog.tools.sort_by(|one, other| one.name().cmp(other.name()));
        Ok(catalog)
    }

    fn add(&mut self, name: &str, method: &MethodDescriptor, maker: &Maker<'_>) -> Result<()> {
        if method.is_client_streaming() {
            self.skipped.push(Skipped { operation: rpc_of(method), reason: CLIENT_STREAM.to_owned() });
            return Ok(());
        }
        let made = maker.method(method)?;
        self.tools.push(maker.tool(name, method, &made)?);
        self.methods.insert(name.to_owned(), made);
        Ok(())
    }
}

/// The tools that the settings name while nobody has described their methods: they take and give any object.
pub(super) fn stand_ins(selection: &Selection) -> Vec<Tool> {
    let Selection::Listed(listed) = selection else { return Vec::new() };
    let stand_in = |settings: &GrpcTool| {
        let description = match settings.description.trim() {
            "" => format!("Calls the gRPC method {}.", settings.rpc),
            own => own.to_owned(),
        };
        let tool = Tool::new(&settings.id, &description, &json!({ "type": "object" })).ok()?;
        Some(tool.shaped(shape_of(settings)).taking_null(true))
    };
    listed.iter().filter_map(stand_in).collect()
}

fn raw(definition: &Value) -> Result<Box<RawValue>> {
    RawValue::from_string(definition.to_string())
        .map_err(|error| Error::internal("a definition cannot be written").caused_by(error))
}

fn shape_of(settings: &GrpcTool) -> Shape {
    Shape {
        select: settings.select.clone(),
        template: settings.response_template.clone(),
        max_bytes: settings.max_result_bytes,
    }
}

/// Whether patterns mean a method, by its own name or by the tool's.
pub(super) fn is_wanted(rpc: &str, name: &str, include: &[Pattern], exclude: &[Pattern]) -> bool {
    let service = rpc.split('/').next().unwrap_or_default();
    let means = |pattern: &Pattern| [rpc, name, service].into_iter().any(|text| pattern.matches(text));
    (include.is_empty() || include.iter().any(means)) && !exclude.iter().any(means)
}

/// `package.Service/Method`.
pub(super) fn rpc_of(method: &MethodDescriptor) -> String {
    format!("{}/{}", method.parent_service().full_name(), method.name())
}

fn no_method(schema: &Schema, settings: &GrpcTool) -> String {
    let known: Vec<_> = schema.methods().iter().take(20).map(rpc_of).collect();
    let known = if known.is_empty() { String::new() } else { format!("; there are {}", known.join(", ")) };
    format!(
        "the tool '{}' wants the method '{}', which the service does not have{known}",
        settings.id, settings.rpc
    )
}

/// Makes tools of methods.
struct Maker<'a> {
    schema: &'a Schema,
    manner: &'a Manner,
    /// Of each schema.
    schema_bytes: usize,
    settings: Option<&'a GrpcTool>,
}

impl Maker<'_> {
    fn method(&self, method: &MethodDescriptor) -> Result<Method> {
        let rpc = rpc_of(method);
        let path = PathAndQuery::try_from(format!("/{rpc}"));
        let level = idempotency(method);
        let is_idempotent = matches!(level, IdempotencyLevel::NoSideEffects | IdempotencyLevel::Idempotent);
        Ok(Method {
            path: path
                .map_err(|_| Error::invalid_config(format!("the method '{rpc}' has no usable name")))?,
            rpc,
            input: Form::new(method.input(), self.manner.emit_defaults),
            output: Form::new(method.output(), self.manner.emit_defaults),
            is_streaming: method.is_server_streaming(),
            is_idempotent: self.settings.and_then(|settings| settings.idempotent).unwrap_or(is_idempotent),
            timeout: self.settings.and_then(|settings| settings.timeout_ms).map(Duration::from_millis),
            max_result_bytes: self
                .settings
                .filter(|settings| settings.select.is_none() && settings.response_template.is_none())
                .and_then(|settings| settings.max_result_bytes),
        })
    }

    fn tool(&self, name: &str, method: &MethodDescriptor, made: &Method) -> Result<Tool> {
        let is_reading = idempotency(method) == IdempotencyLevel::NoSideEffects;
        let mut definition = json!({
            "name": name,
            "description": self.description(method),
            "inputSchema": self.writer(Direction::In).root(&method.input()),
            "annotations": {
                "readOnlyHint": is_reading, "idempotentHint": made.is_idempotent, "openWorldHint": true,
            },
        });
        if let Some(promise) = self.manner.fallbacks.promise(name, self.output_schema(method)) {
            definition["outputSchema"] = promise;
        }
        let shape = self.settings.map(shape_of).unwrap_or_default();
        Ok(Tool::from_raw(&raw(&definition)?)?.shaped(shape).taking_null(true))
    }

    fn writer(&self, direction: Direction) -> Writer<'_> {
        Writer::new(&self.schema.comments, direction, self.schema_bytes)
    }

    fn output_schema(&self, method: &MethodDescriptor) -> Value {
        let message = self.writer(Direction::Out).root(&method.output());
        if !method.is_server_streaming() {
            return message;
        }
        json!({
            "type": "object",
            "properties": {
                "messages": { "type": "array", "items": message },
                "complete": { "type": "boolean", "description": "Whether the service ended the stream; otherwise a limit did." },
            },
            "required": ["messages", "complete"],
        })
    }

    /// The settings' words, else the author's, else the names.
    fn description(&self, method: &MethodDescriptor) -> String {
        let own = self.settings.map(|settings| settings.description.trim()).filter(|text| !text.is_empty());
        if let Some(own) = own {
            return own.to_owned();
        }
        let said = self.schema.comments.get(method.parent_file().name(), method.path());
        let rpc = rpc_of(method);
        let said = said
            .map_or_else(|| format!("Calls the gRPC method {rpc}."), |said| format!("{said} (gRPC {rpc})"));
        let is_deprecated =
            method.method_descriptor_proto().options.as_ref().is_some_and(|options| options.deprecated());
        if is_deprecated { format!("Deprecated. {said}") } else { said }
    }
}

/// What the author says of calling it again.
pub(super) fn idempotency(method: &MethodDescriptor) -> IdempotencyLevel {
    let options = method.method_descriptor_proto().options.as_ref();
    options.map_or(IdempotencyLevel::IdempotencyUnknown, |options| options.idempotency_level())
}
