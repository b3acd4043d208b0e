//! Tools that tenants make themselves: from definitions to something the catalog can route to.

use crate::Gateway;
use crate::bind::Binder;
use crate::catalog::{Behind, OWN_TOOL, OWN_TYPE, OwnTool, Route, Service, State, TenantCatalog};
use crate::lifecycle::system_context;
use crate::shape;
use arc_swap::ArcSwapOption;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tool::schema::Schema;
use tool::{Error, Inline, InlineTool, Outcome, Output, Problem, Result, Shape, TenantId, Tool, Uri};

const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// A Tool as it is configured. It is called by its name, and its address is `tool://<name>/call`.
#[derive(Debug)]
pub struct ToolDefinition {
    /// What it is called by, unique in the tenant.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it is listed and called; otherwise it can only be tried out.
    pub is_active: bool,
    /// Changes whenever anything else does.
    pub version: i64,
    /// What it does.
    pub body: ToolBody,
}

/// What a Tool does.
#[derive(Debug, Clone)]
pub enum ToolBody {
    /// Something of its own, as a type of service reads it.
    Inline {
        /// The Tool's type, e.g. `http`.
        tool_type: String,
        /// How it does it.
        config: Value,
    },
    /// It calls a service's tool.
    Uri(UriTool),
}

/// A Tool over a service's tool.
#[derive(Debug, Clone)]
pub struct UriTool {
    /// Where the call goes, with its options.
    pub uri: Uri,
    /// Arguments that are always the same: they win over the caller's, who does not see them.
    pub arguments: Map<String, Value>,
    /// Parameters that the caller does not see and cannot give.
    pub hidden: Vec<String>,
    /// Parameters under another name: from the new name to the service's.
    pub rename: BTreeMap<String, String>,
    /// How the answer is to look; where this says nothing, as the service's tool says.
    pub shape: Shape,
    /// The schema of the arguments, where the one that follows from the service's is not right.
    pub input_schema: Option<Value>,
}

/// What came of a check.
#[derive(Debug, Default)]
pub struct Checked {
    /// Everything that is wrong, with paths into the definition.
    pub problems: Vec<Problem>,
    /// The tool as clients would see it; a URI whose service is missing leads to none.
    pub tool: Option<Tool>,
}

impl Gateway {
    /// How Tools of this type are made, if they are made of a `config`.
    #[must_use]
    pub fn inline(&self, tool_type: &str) -> Option<Inline> {
        self.kinds().iter().filter_map(|kind| kind.inline).find(|inline| inline.tool_type == tool_type)
    }

    /// Checks a Tool as `load` would, without keeping anything, and finds every problem.
    pub async fn check_tool(&self, tenant: &TenantId, definition: &ToolDefinition) -> Checked {
        match &definition.body {
            ToolBody::Inline { tool_type, config } => self.check_inline(definition, tool_type, config).await,
            ToolBody::Uri(tool) => self.check_uri(tenant, definition, tool),
        }
    }

    /// What a shape makes of an answer.
    ///
    /// # Errors
    /// How it fails.
    pub fn preview(&self, shape: &Shape, answer: Output) -> Result<Output> {
        let compiled = shape::Shape::compile(shape, self.options.result_budget_bytes)?;
        match compiled.apply(Outcome::Done(answer)) {
            Outcome::Done(output) => Ok(output),
            Outcome::NeedsInput(_) | Outcome::Started(_) => Err(Error::internal("a shape asked back")),
        }
    }

    async fn check_inline(&self, definition: &ToolDefinition, tool_type: &str, config: &Value) -> Checked {
        let Some(inline) = self.inline(tool_type) else {
            let message = format!("there is no tool type '{tool_type}'");
            return Checked { problems: vec![Problem::new("type", "UnknownType", message)], tool: None };
        };
        let text = |field: &str| config.get(inline.part)?.get(field)?.as_str().map(str::to_owned);
        let shape = Shape { select: text("select"), template: text("response_template"), max_bytes: None };
        let path = format!("config.{}.", inline.part);
        let mut problems = Vec::new();
        let mut found = None;
        match (inline.open)(inline_tool(definition, config.clone()), &self.env) {
            Ok(connector) => match connector.tools(&system_context(CHECK_TIMEOUT)).await {
                Ok(mut tools) => found = tools.pop(),
                Err(error) => problems.push(Problem::new("config", "Invalid", error.message())),
            },
            Err(error) => problems.extend(error.problems().iter().cloned().map(|mut problem| {
                problem.path = match problem.path.as_str() {
                    "" => "config".to_owned(),
                    path => format!("config.{path}"),
                };
                problem
            })),
        }
        problems.extend(shape::check(&shape, &path));
        Checked { tool: found.filter(|_| problems.is_empty()), problems }
    }

    fn check_uri(&self, tenant: &TenantId, definition: &ToolDefinition, tool: &UriTool) -> Checked {
        let mut problems = shape::check(&tool.shape, "");
        let scheme = tool.uri.scheme();
        if self.kind(scheme).is_err() {
            let known: Vec<_> = self.kinds().iter().map(|kind| kind.scheme).collect();
            let message =
                format!("there is no service type '{scheme}'; a URI begins with one of {}", known.join(", "));
            problems.push(Problem::new("uri", "UnknownType", message));
        }
        if let Some(schema) = &tool.input_schema {
            if !schema.is_object() {
                problems.push(Problem::new(
                    "input_schema",
                    "WrongType",
                    "the input_schema must be an object",
                ));
            } else if let Err(error) = Schema::compile(schema, "parameter") {
                problems.push(Problem::new("input_schema", "InvalidSchema", error.message()));
            }
        }
        let catalog = self.catalog().tenant(tenant);
        let target = catalog.as_deref().and_then(|catalog| catalog.target_of(&tool.uri));
        let Some(target) = target else { return Checked { problems, tool: None } };
        problems.extend(tool.check_against(target.tool.input_schema().get()));
        let described = tool.over(&target.tool, definition.description.as_deref());
        let tool = match described {
            Ok(described) => Some(described).filter(|_| problems.is_empty()),
            Err(error) => {
                problems.push(Problem::new("uri", "Invalid", error.message()));
                None
            }
        };
        Checked { problems, tool }
    }

    /// The tenant's Tools, opened; those that did not change are taken over as they are. The
    /// services among them that are new go to `fresh`.
    pub(crate) fn open_tools(
        &self,
        tenant: &TenantId,
        definitions: Vec<ToolDefinition>,
        previous: Option<&TenantCatalog>,
        fresh: &mut Vec<Arc<Service>>,
    ) -> Vec<Arc<OwnTool>> {
        let mut open = |definition: ToolDefinition| {
            let known = previous.and_then(|previous| previous.own_tool(&definition.name));
            if let Some(known) = known.filter(|known| known.version == definition.version) {
                return known.clone();
            }
            let behind = match &definition.body {
                ToolBody::Inline { tool_type, config } => {
                    let service = Arc::new(self.open_inline(tenant, &definition, tool_type, config));
                    fresh.push(service.clone());
                    Behind::Own(service)
                }
                ToolBody::Uri(tool) => Behind::Uri(tool.clone()),
            };
            Arc::new(OwnTool {
                name: definition.name,
                description: definition.description,
                is_active: definition.is_active,
                version: definition.version,
                behind,
            })
        };
        definitions.into_iter().map(&mut open).collect()
    }

    fn open_inline(
        &self,
        tenant: &TenantId,
        definition: &ToolDefinition,
        tool_type: &str,
        config: &Value,
    ) -> Service {
        let name = &definition.name;
        let opened = match self.inline(tool_type) {
            Some(inline) => (inline.open)(inline_tool(definition, config.clone()), &self.env),
            None => Err(Error::not_found(format!("there is no tool type '{tool_type}'"))),
        };
        let state = opened.map_or_else(
            |error| {
                tracing::warn!(%tenant, name, %error, "tool {name} cannot be used: {error}");
                State::Broken(error.to_string())
            },
            State::Open,
        );
        Service {
            tenant: tenant.clone(),
            scheme: OWN_TYPE.to_owned(),
            id: name.clone(),
            name: name.clone(),
            version: definition.version,
            state,
            variables: Vec::new(),
            tools: ArcSwapOption::empty(),
        }
    }
}

/// The connector's one tool is called as in the Tool's address.
fn inline_tool(definition: &ToolDefinition, config: Value) -> InlineTool {
    let description = definition.description.clone().unwrap_or_default();
    InlineTool { name: OWN_TOOL.to_owned(), description, config }
}

impl UriTool {
    /// What of this does not fit the service's tool.
    fn check_against(&self, schema: &str) -> Vec<Problem> {
        let Ok(schema) = serde_json::from_str::<Value>(schema) else { return Vec::new() };
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        let mut problems = Vec::new();
        let uri = &self.uri;
        let mut must_exist = |path: String, name: &str| {
            if is_closed && !properties.contains_key(name) {
                let message = format!("{uri} has no parameter '{name}'");
                problems.push(Problem::new(path, "UnknownParameter", message));
            }
        };
        self.arguments.keys().for_each(|name| must_exist(format!("arguments.{name}"), name));
        self.hidden.iter().enumerate().for_each(|(at, name)| must_exist(format!("hidden[{at}]"), name));
        self.rename.iter().for_each(|(new, name)| must_exist(format!("rename.{new}"), name));
        for (name, value) in &self.arguments {
            let schema = properties.get(name).and_then(|schema| Schema::compile(schema, "argument").ok());
            for problem in schema.iter().flat_map(|schema| schema.check(value)) {
                let message = format!("the preset '{name}' does not fit: {}", problem.message);
                problems.push(Problem::new(format!("arguments.{name}"), problem.code, message));
            }
        }
        problems.extend(self.check_hidden(&schema, properties));
        problems.extend(self.check_rename(properties));
        problems
    }

    /// What is required and cannot be given makes every call fail.
    fn check_hidden(&self, schema: &Value, properties: &Map<String, Value>) -> Vec<Problem> {
        let required =
            schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let is_stuck = |name: &String| {
            let has_default = properties.get(name).is_some_and(|property| property.get("default").is_some());
            required.contains(&Value::from(name.as_str()))
                && !has_default
                && !self.arguments.contains_key(name)
        };
        let stuck = self.hidden.iter().enumerate().filter(|(_, name)| is_stuck(name));
        let problem = |(at, name): (usize, &String)| {
            let message = format!("'{name}' is required; give it a value in 'arguments' or do not hide it");
            Problem::new(format!("hidden[{at}]"), "RequiredParameterHidden", message)
        };
        stuck.map(problem).collect()
    }

    fn check_rename(&self, properties: &Map<String, Value>) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut taken: HashMap<&str, &str> = HashMap::new();
        for (new, original) in &self.rename {
            let path = format!("rename.{new}");
            let is_free = |name: &str| self.is_invisible(name) || !properties.contains_key(name);
            if new.is_empty() || !is_free(new) {
                let message = format!("'{new}' is the name of another parameter already");
                problems.push(Problem::new(&path, "DuplicateParameter", message));
            }
            if let Some(other) = taken.insert(original, new) {
                let message = format!("'{original}' is called '{other}' already; a parameter has one name");
                problems.push(Problem::new(&path, "DuplicateParameter", message));
            }
            if self.arguments.contains_key(original) || self.hidden.contains(original) {
                let message = format!("'{original}' is hidden or preset, so it needs no other name");
                problems.push(Problem::new(&path, "HiddenParameter", message));
            }
        }
        problems
    }

    /// The caller does not see this parameter of the service under this name.
    fn is_invisible(&self, original: &str) -> bool {
        self.arguments.contains_key(original)
            || self.hidden.iter().any(|hidden| hidden == original)
            || self.rename.values().any(|renamed| renamed == original)
    }

    /// The service's tool as callers of this one see it.
    pub(crate) fn over(&self, target: &Tool, description: Option<&str>) -> Result<Tool> {
        let unusable = |error: serde_json::Error| {
            Error::upstream(format!("the tool behind {} is unusable: {error}", self.uri))
        };
        let description = description.or(target.description());
        let listed = target.listed_as(target.name(), description);
        let has_shape = self.shape.select.is_some() || self.shape.template.is_some();
        let is_same = self.input_schema.is_none() && self.has_same_arguments();
        let definition = if is_same && !has_shape {
            listed // untouched, to the spelling of its numbers
        } else {
            let mut definition: Map<String, Value> = serde_json::from_str(&listed).map_err(unusable)?;
            if let Some(schema) = definition.get_mut("inputSchema") {
                *schema = self.input_schema.clone().unwrap_or_else(|| self.schema_over(schema.take()));
            }
            if has_shape {
                definition.shift_remove("outputSchema"); // it speaks of the answer before the shape
            }
            Value::Object(definition).to_string()
        };
        let definition = serde_json::value::RawValue::from_string(definition).map_err(unusable)?;
        let shape = if has_shape { self.shape.clone() } else { target.shape().clone() };
        let max_bytes = self.shape.max_bytes.or(target.shape().max_bytes);
        Ok(Tool::from_raw(&definition)?.shaped(Shape { max_bytes, ..shape }))
    }

    fn has_same_arguments(&self) -> bool {
        self.arguments.is_empty() && self.hidden.is_empty() && self.rename.is_empty()
    }

    fn schema_over(&self, mut schema: Value) -> Value {
        let new_names: HashMap<&str, &str> =
            self.rename.iter().map(|(new, original)| (original.as_str(), new.as_str())).collect();
        let seen_as = |name: &str| match new_names.get(name) {
            Some(new) => Some((*new).to_owned()),
            None if self.is_invisible(name) => None,
            None => Some(name.to_owned()),
        };
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            let all = std::mem::take(properties);
            properties.extend(all.into_iter().filter_map(|(name, value)| Some((seen_as(&name)?, value))));
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            let all = std::mem::take(required);
            required.extend(all.iter().filter_map(Value::as_str).filter_map(seen_as).map(Value::from));
        }
        schema
    }

    /// Takes away what the caller may give but does not decide.
    pub(crate) fn without_presets(&self, mut arguments: Map<String, Value>) -> Map<String, Value> {
        let is_decided = |name: &String| self.arguments.contains_key(name) && !self.rename.contains_key(name);
        arguments.retain(|name, _| !is_decided(name));
        arguments
    }

    /// The arguments as the service's tool takes them, from those its caller gave.
    ///
    /// # Errors
    /// `InvalidInput` when one was given that the caller cannot give.
    pub(crate) fn translate(&self, given: &Map<String, Value>) -> Result<Map<String, Value>> {
        let mut arguments = Map::new();
        for (name, value) in given {
            let original = match self.rename.get(name) {
                Some(original) => original,
                None if self.is_invisible(name) => {
                    let message = format!("Unknown parameter '{name}'; leave it out");
                    let problem = Problem::new(name, "Unknown", &message);
                    return Err(Error::invalid_input(message).with_problems(vec![problem]));
                }
                None => name,
            };
            arguments.insert(original.clone(), value.clone());
        }
        arguments.extend(self.arguments.clone());
        Ok(arguments)
    }
}

/// The way from a Tool to the service's tool behind it.
#[derive(Debug)]
pub(crate) struct Via {
    pub(crate) target: Arc<Route>,
    pub(crate) tool: UriTool,
}

impl Via {
    /// From what the caller sent to what the service's tool takes.
    pub(crate) fn bind(&self, own: &Binder, arguments: tool::Arguments) -> Result<tool::Arguments> {
        if self.tool.has_same_arguments() {
            return self.target.binder.bind(own.bind(arguments)?);
        }
        let given = self.tool.without_presets(arguments.as_map()?.clone());
        let bound = own.bind(given.into())?;
        self.target.binder.bind(self.tool.translate(bound.as_map()?)?.into())
    }
}

/// The address of a Tool, for allow-lists, audit and `/call`.
#[must_use]
pub fn address_of(name: &str) -> Uri {
    Uri::of_tool(OWN_TYPE, name, OWN_TOOL)
}
