//! A route: everything a call to one tool needs, made once when the tool is loaded.

use super::types::Parts;
use super::{OwnTool, Service};
use crate::audit::Redaction;
use crate::service_metrics::ServiceMetrics;
use crate::shape::Shape;
use crate::tools::{ResolvedUriTool, UriTool};
use bytes::Bytes;
use std::sync::{Arc, OnceLock};
use tool::uri::{Method, Options};
use tool::{Binder, Outcome, Result, Target, Tool, Uri};

/// From a name or a URI to the connector that answers.
#[derive(Debug)]
pub struct Route {
    /// The name clients see.
    pub name: String,
    /// The address, without options.
    pub uri: Uri,
    /// The address as text, compared with allow-lists.
    pub address: String,
    /// Whose tool it is.
    pub service: Arc<Service>,
    /// The tool as its service describes it.
    pub tool: Arc<Tool>,
    /// The definition as clients get it, in JSON; shared by all lists.
    pub listed: Bytes,
    /// The same for clients of versions before 2026-07-28, where it is another.
    pub(crate) listed_to_older: Option<Bytes>,
    /// The tool promises something else than an object.
    answers_anything: bool,
    pub(crate) binder: Arc<Binder>,
    pub(crate) shape: Arc<Shape>,
    pub(crate) redaction: Arc<Redaction>,
    pub(crate) metrics: Arc<ServiceMetrics>,
    /// The way to another route's tool, for those that are one under another name.
    pub(crate) uri_tool: Option<ResolvedUriTool>,
    /// The same tool at its service's own door, made when somebody first comes there.
    at_own_door: OnceLock<Arc<Route>>,
}

impl Route {
    /// Compiles the shape; the schema is left to the first call. What cannot be compiled is left out with a
    /// warning: such a tool was refused when it was saved, so this is an old or a foreign definition.
    pub(super) fn new(
        service: Arc<Service>,
        tool: Arc<Tool>,
        name: String,
        result_budget: Option<usize>,
    ) -> Self {
        let description = match service.is_prefixed() {
            true => Some(format!("[{}] {}", service.id, tool.description().unwrap_or_default())),
            false => tool.description().map(str::to_owned),
        };
        Self::compile(service, tool, name, description.as_deref(), result_budget)
    }

    /// The route of a tenant's own Tool that has a service of its own.
    pub(super) fn of_own(
        service: Arc<Service>,
        tool: Arc<Tool>,
        own: &OwnTool,
        result_budget: Option<usize>,
    ) -> Self {
        let description = tool.description().map(str::to_owned);
        Self::compile(service, tool, own.name.clone(), description.as_deref(), result_budget)
    }

    /// The route of a tenant's own Tool that leads to a service's tool. Its address is where it leads.
    pub(super) fn over(
        target: Arc<Self>,
        over: &UriTool,
        own: &OwnTool,
        result_budget: Option<usize>,
    ) -> Self {
        let tool = match over.over(&target.tool, own.description.as_deref()) {
            Ok(tool) => Arc::new(tool),
            Err(error) => {
                tracing::warn!(tool = own.name, %error, "tool {} looks like its target: {error}", own.name);
                target.tool.clone()
            }
        };
        let description = tool.description().map(str::to_owned);
        let service = target.service.clone();
        let route = Self::compile(service, tool, own.name.clone(), description.as_deref(), result_budget);
        Self { uri_tool: Some(ResolvedUriTool { target, tool: over.clone() }), ..route }
    }

    /// The route to a tool of a service that nobody configured. It is not listed, and counted
    /// with all of its type, because anybody can ask for one that is not there.
    pub(super) fn ambient(service: Service, parts: Parts) -> Self {
        let uri = Uri::of_tool(&service.scheme, &service.id, parts.tool.name());
        let Parts { tool, binder, shape, redaction } = parts;
        Self {
            name: uri.to_string(),
            address: uri.to_string(),
            metrics: service.metrics.clone(),
            listed: Bytes::new(),
            listed_to_older: None,
            answers_anything: false,
            uri,
            service: Arc::new(service),
            tool,
            binder,
            shape,
            redaction,
            uri_tool: None,
            at_own_door: OnceLock::new(),
        }
    }

    fn compile(
        service: Arc<Service>,
        tool: Arc<Tool>,
        name: String,
        description: Option<&str>,
        result_budget: Option<usize>,
    ) -> Self {
        let uri = Uri::of(&service.scheme, &service.id, tool.name());
        let listed = tool.listed_as(&name, description).into();
        let listed_to_older = listed_to_older(&tool, &name, description);
        let answers_anything = tool.answers_anything();
        let Parts { tool, binder, shape, redaction } = Self::parts(tool, &uri, result_budget);
        Self {
            address: uri.to_string(),
            metrics: service.metrics.clone(),
            listed,
            listed_to_older,
            answers_anything,
            name,
            uri,
            service,
            tool,
            binder,
            shape,
            redaction,
            uri_tool: None,
            at_own_door: OnceLock::new(),
        }
    }

    /// The same route under the name and the description that its service gave the tool.
    pub(crate) fn at_own_door(self: &Arc<Self>) -> &Arc<Self> {
        if self.name == self.tool.name() {
            return self;
        }
        self.at_own_door.get_or_init(|| Arc::new(self.named(self.tool.name())))
    }

    /// The same route under another name, as one of its instances knows it.
    pub(super) fn named(&self, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            uri: self.uri.clone(),
            address: self.address.clone(),
            service: self.service.clone(),
            tool: self.tool.clone(),
            listed: self.tool.listed_as(name, self.tool.description()).into(),
            listed_to_older: listed_to_older(&self.tool, name, self.tool.description()),
            answers_anything: self.answers_anything,
            binder: self.binder.clone(),
            shape: self.shape.clone(),
            redaction: self.redaction.clone(),
            metrics: self.metrics.clone(),
            uri_tool: self.uri_tool.clone(),
            at_own_door: OnceLock::new(),
        }
    }

    /// An answer that says what the tool has promised of it.
    pub(crate) fn promised(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Done(output) => Outcome::Done(output.of_any_type(self.answers_anything)),
            other @ (Outcome::NeedsInput(_) | Outcome::Started(_)) => other,
        }
    }

    /// What is compiled of a tool.
    pub(super) fn parts(tool: Arc<Tool>, uri: &Uri, result_budget: Option<usize>) -> Parts {
        let binder = Arc::new(Binder::new(tool.clone(), uri.clone()));
        let shape = Shape::of_tool(&tool, result_budget).unwrap_or_else(|error| {
            tracing::warn!(tool = %uri, %error, "answers of {uri} are not shaped: {error}");
            Shape::plain(&tool, result_budget)
        });
        let redaction = Arc::new(Redaction::of_schema(tool.input_schema()));
        Parts { tool, binder, shape: Arc::new(shape), redaction }
    }

    /// The options of a call: its own within those that the Tool has set.
    ///
    /// # Errors
    /// `InvalidInput` for those that do more than the tool.
    pub(crate) fn options(&self, target: &Target) -> Result<Options> {
        let given = match target {
            Target::Uri(uri) => uri.options().clone(),
            Target::Name(_) | Target::Trial(_) => Options::default(),
        };
        let (options, tool) = match &self.uri_tool {
            None => (given, &self.tool),
            Some(uri_tool) => (given.within(uri_tool.tool.uri.options())?, &uri_tool.target.tool),
        };
        options.check_method(tool.methods())?;
        Ok(options)
    }

    /// The method that is used where nobody chooses one, by the tool that is called in the end.
    pub(crate) fn own_method(&self) -> Option<Method> {
        let tool = self.uri_tool.as_ref().map_or(&self.tool, |uri_tool| &uri_tool.target.tool);
        tool.methods().first().copied()
    }

    /// The tenant's own Tool leads here, so that its callers need no right to what is behind it.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.uri_tool.is_some() || self.service.scheme == super::OWN_TYPE
    }
}

fn listed_to_older(tool: &Tool, name: &str, description: Option<&str>) -> Option<Bytes> {
    tool.for_older().map(|tool| tool.listed_as(name, description).into())
}
