//! Tools that tenants make themselves: from definitions to something the catalog can route to.

mod uri;

pub(crate) use uri::ResolvedUriTool;
pub use uri::UriTool;

use crate::catalog::{OWN_TOOL, OWN_TYPE, OwnTool, Service, Since, State, TenantCatalog, ToolSource, naming};
use crate::shape;
use crate::{Gateway, RESULT_BUDGET_BYTES};
use arc_swap::ArcSwapOption;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tool::schema::Schema;
use tool::uri::ParseError;
use tool::{
    Context, Env, Error, Inline, InlineTool, Outcome, Output, Problem, Result, Shape, TenantId, Tool, ToolId,
    Uri,
};

const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// A Tool as it is configured. It is called by its name, and its address is `tool://<name>/call`.
#[derive(Debug)]
pub struct ToolDefinition {
    /// Never changes, whatever the Tool is called.
    pub id: ToolId,
    /// What it is called by. Of several with one name, the first has it in the tenant's list.
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
    Uri(Box<UriTool>),
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
        self.registry().inline(tool_type)
    }

    /// Refuses options that the type in the URI does not have. Tools have those that all types have.
    ///
    /// # Errors
    /// Each option that is unknown.
    pub fn check_options(&self, uri: &Uri) -> Result<(), ParseError> {
        match self.kind(uri.scheme()) {
            Ok(kind) => uri.options().check_known(kind.uri_options),
            Err(_) if [OWN_TYPE, tool::runs::SCHEME].contains(&uri.scheme()) => {
                uri.options().check_known(&[])
            }
            Err(_) => Ok(()), // there is no such type, which says more
        }
    }

    /// Checks a Tool as `load` would, without keeping anything, and finds every problem.
    pub async fn check_tool(&self, tenant: &TenantId, definition: &ToolDefinition) -> Checked {
        match &definition.body {
            ToolBody::Inline { tool_type, config } => {
                self.check_inline(tenant, definition, tool_type, config).await
            }
            ToolBody::Uri(tool) => self.check_uri(tenant, definition, tool),
        }
    }

    /// What a shape makes of an answer.
    ///
    /// # Errors
    /// How it fails.
    pub async fn preview(&self, tenant: &TenantId, shape: &Shape, answer: Output) -> Result<Output> {
        let budget = self.options.result_budget_bytes.unwrap_or(RESULT_BUDGET_BYTES);
        let compiled = Arc::new(shape::Shape::compile(shape, budget)?);
        let cx = Context::system(tenant.clone(), CHECK_TIMEOUT);
        match compiled.apply(&cx, &self.env.compute, Outcome::Done(answer)).await? {
            Outcome::Done(output) => Ok(output),
            Outcome::NeedsInput(_) | Outcome::Started(_) => Err(Error::internal("a shape asked back")),
        }
    }

    async fn check_inline(
        &self,
        tenant: &TenantId,
        definition: &ToolDefinition,
        tool_type: &str,
        config: &Value,
    ) -> Checked {
        let Some(inline) = self.inline(tool_type) else {
            let message = self.registry().no_tool_type(tool_type);
            return Checked { problems: vec![Problem::new("type", "UnknownType", message)], tool: None };
        };
        let text = |field: &str| config.get(inline.part?)?.get(field)?.as_str().map(str::to_owned);
        let shape = Shape { select: text("select"), template: text("response_template"), max_bytes: None };
        let path = inline.part.map_or_else(String::new, |part| format!("config.{part}."));
        let place = |path: &str| match (inline.part, path) {
            (None, path) => path.to_owned(),
            (Some(_), "") => "config".to_owned(),
            (Some(_), path) => format!("config.{path}"),
        };
        let mut problems = Vec::new();
        let mut found = None;
        let env = Env { tenant: tenant.clone(), ..self.env.clone() };
        match (inline.open)(inline_tool(definition, tool_type, config.clone()), &env) {
            Ok(connector) => match connector.tools(&Context::system(tenant.clone(), CHECK_TIMEOUT)).await {
                Ok(mut tools) => {
                    found = tools.pop();
                    let schema = found.as_ref().map(|tool| serde_json::from_str(tool.input_schema().get()));
                    problems.extend(schema.and_then(|schema| check_arguments(&schema.unwrap_or_default())));
                }
                Err(error) => problems.push(Problem::new(place(""), "Invalid", error.message())),
            },
            Err(error) => problems.extend(error.problems().iter().cloned().map(|mut problem| {
                problem.path = place(&problem.path);
                problem
            })),
        }
        problems.extend(shape::check(&shape, &path));
        Checked { tool: found.filter(|_| problems.is_empty()), problems }
    }

    fn check_uri(&self, tenant: &TenantId, definition: &ToolDefinition, tool: &UriTool) -> Checked {
        let mut problems = shape::check(&tool.shape, "");
        let scheme = tool.uri.scheme();
        // Flows are no type that services are made of, and lead somewhere.
        if self.kind(scheme).is_err() && scheme != tool::runs::SCHEME {
            let known = self.kinds().iter().map(|kind| kind.scheme);
            let known: Vec<_> = known.chain([tool::runs::SCHEME]).collect();
            let absence = self.registry().no_service_type(scheme);
            let message = format!("{absence}; a URI begins with one of {}", known.join(", "));
            problems.push(Problem::new("uri", "UnknownType", message));
        }
        if let Some(schema) = &tool.input_schema {
            if !schema.is_object() {
                problems.push(Problem::new(
                    "input_schema",
                    "WrongType",
                    "the input_schema must be an object",
                ));
            } else {
                problems.extend(check_arguments(schema));
            }
        }
        let catalog = self.catalog().tenant(tenant);
        let target = catalog.as_deref().and_then(|catalog| catalog.target_of(tenant, &tool.uri, &self.types));
        let Some(target) = target else { return Checked { problems, tool: None } };
        problems.extend(tool.check_against(target.tool.input_schema().get()));
        if let Err(error) = tool.uri.options().check_method(target.tool.methods()) {
            problems.extend(error.problems().iter().cloned());
        }
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
        env: &Env,
        fresh: &mut Vec<Arc<Service>>,
    ) -> Vec<Arc<OwnTool>> {
        let mut taken = HashSet::new();
        let mut open = |mut definition: ToolDefinition| {
            let title = definition.name.clone();
            if !taken.insert(title.clone()) {
                definition.name = naming::with_suffix(&title, definition.id.as_str());
            }
            let is_same =
                |known: &&Arc<OwnTool>| known.version == definition.version && known.name == definition.name;
            let known = previous.and_then(|previous| previous.own_tool(&definition.id)).filter(is_same);
            if let Some(known) = known {
                return known.clone();
            }
            let source = match &definition.body {
                ToolBody::Inline { tool_type, config } => {
                    let service = Arc::new(self.open_inline(tenant, &definition, tool_type, config, env));
                    fresh.push(service.clone());
                    ToolSource::Own(service)
                }
                ToolBody::Uri(tool) => ToolSource::Uri(tool.clone()),
            };
            Arc::new(OwnTool {
                id: definition.id,
                title,
                name: definition.name,
                description: definition.description,
                is_active: definition.is_active,
                version: definition.version,
                source,
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
        env: &Env,
    ) -> Service {
        let name = &definition.name;
        let opened = match self.inline(tool_type) {
            Some(inline) => (inline.open)(inline_tool(definition, tool_type, config.clone()), env),
            None => Err(Error::not_found(self.registry().no_tool_type(tool_type))),
        };
        let state = opened.map_or_else(
            |error| {
                tracing::warn!(%tenant, name, %error, "tool {name} cannot be used: {error}");
                State::Broken(error.to_string())
            },
            State::Open,
        );
        Service {
            metrics: self.numbers.of(tenant, OWN_TYPE, name),
            tenant: tenant.clone(),
            scheme: OWN_TYPE.to_owned(),
            id: name.clone(),
            name: name.clone(),
            version: definition.version,
            state,
            variables: Vec::new(),
            offer: ArcSwapOption::empty(),
            tools: ArcSwapOption::empty(),
            named: Arc::default(),
            failure: ArcSwapOption::empty(),
            unreached: ArcSwapOption::empty(),
            since: Since::now(),
            report: arc_swap::ArcSwap::default(),
            is_trusted: false,
            made_at_ms: None,
            is_for_admins: false,
        }
    }
}

/// Why this is no schema of arguments.
fn check_arguments(schema: &Value) -> Option<Problem> {
    let error = Schema::compile_arguments(schema).err()?;
    Some(Problem::new("input_schema", "InvalidSchema", error.message()))
}

/// The connector's one tool is called as in the Tool's address.
fn inline_tool(definition: &ToolDefinition, tool_type: &str, config: Value) -> InlineTool {
    let description = definition.description.clone().unwrap_or_default();
    InlineTool { tool_type: tool_type.to_owned(), name: OWN_TOOL.to_owned(), description, config }
}

/// The address of a Tool, for allow-lists, audit and `/call`.
#[must_use]
pub fn address_of(name: &str) -> Uri {
    Uri::of_tool(OWN_TYPE, name, OWN_TOOL)
}
