//! A route: everything a call to one tool needs, made once when the tool is loaded.

use super::Service;
use crate::bind::Binder;
use crate::metrics::RouteMetrics;
use crate::shape::Shape;
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
    pub(crate) metrics: RouteMetrics,
}

impl Route {
    /// Compiles schema and shape. What cannot be compiled is left out with a warning: such a
    /// tool was refused when it was saved, so this is an old or a foreign definition.
    pub(super) fn new(service: Arc<Service>, tool: Arc<Tool>, name: String, result_budget: usize) -> Self {
        let uri = Uri::of_tool(&service.scheme, &service.id, tool.name());
        let description = tool.description().unwrap_or_default();
        let listed = tool.listed_as(&name, Some(&format!("[{}] {description}", service.id)));
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
            listed: listed.into(),
            name,
            uri,
            service,
            tool,
            binder,
            shape,
        }
    }
}
