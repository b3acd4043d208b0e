//! A route: everything a call to one tool needs, made once when the tool is loaded.

use super::{OwnTool, Service};
use crate::audit::Redaction;
use crate::bind::Binder;
use crate::metrics::RouteMetrics;
use crate::shape::Shape;
use crate::tools::{UriTool, Via};
use bytes::Bytes;
use std::sync::Arc;
use tool::{Tool, Uri};

/// From a name or a URI to the connector that answers.
#[derive(Debug)]
pub struct Route {
    /// The name clients see.
    pub name: String,
    /// The address, without options.
    pub uri: Uri,
    /// The address as text, compared with allow-lists and written to the audit.
    pub address: String,
    /// Whose tool it is.
    pub service: Arc<Service>,
    /// The tool as its service describes it.
    pub tool: Arc<Tool>,
    /// The definition as clients get it, in JSON; shared by all lists.
    pub listed: Bytes,
    pub(crate) binder: Binder,
    pub(crate) shape: Shape,
    pub(crate) redaction: Redaction,
    pub(crate) metrics: RouteMetrics,
    /// The way to another route's tool, for those that are one under another name.
    pub(crate) via: Option<Via>,
}

impl Route {
    /// Compiles schema and shape. What cannot be compiled is left out with a warning: such a
    /// tool was refused when it was saved, so this is an old or a foreign definition.
    pub(super) fn new(service: Arc<Service>, tool: Arc<Tool>, name: String, result_budget: usize) -> Self {
        let description = format!("[{}] {}", service.id, tool.description().unwrap_or_default());
        Self::compile(service, tool, name, Some(&description), result_budget)
    }

    /// The route of a tenant's own Tool that has a service of its own.
    pub(super) fn of_own(
        service: Arc<Service>,
        tool: Arc<Tool>,
        own: &OwnTool,
        result_budget: usize,
    ) -> Self {
        let description = tool.description().map(str::to_owned);
        Self::compile(service, tool, own.name.clone(), description.as_deref(), result_budget)
    }

    /// The route of a tenant's own Tool that leads to a service's tool. Its address is where it leads.
    pub(super) fn over(target: Arc<Self>, over: &UriTool, own: &OwnTool, result_budget: usize) -> Self {
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
        Self { via: Some(Via { target, tool: over.clone() }), ..route }
    }

    fn compile(
        service: Arc<Service>,
        tool: Arc<Tool>,
        name: String,
        description: Option<&str>,
        result_budget: usize,
    ) -> Self {
        let uri = Uri::of_tool(&service.scheme, &service.id, tool.name());
        let listed = tool.listed_as(&name, description);
        let binder = Binder::for_schema(tool.input_schema()).unwrap_or_else(|error| {
            tracing::warn!(tool = %uri, %error, "arguments of {uri} are not checked: {error}");
            Binder::default()
        });
        let shape = Shape::compile(tool.shape(), result_budget).unwrap_or_else(|error| {
            tracing::warn!(tool = %uri, %error, "answers of {uri} are not shaped: {error}");
            Shape::plain(result_budget)
        });
        Self {
            address: uri.to_string(),
            metrics: RouteMetrics::new(&service),
            redaction: Redaction::of_schema(tool.input_schema()),
            listed: listed.into(),
            name,
            uri,
            service,
            tool,
            binder,
            shape,
            via: None,
        }
    }
}
