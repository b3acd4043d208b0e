//! Tool search over a list of tools, for whoever has one and nobody to keep it from: an agent with many tools.

use crate::{Description, Find, Index, Listed, VisibleTools, call_tool, find_tools};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::sync::OnceLock;
use tool::{Arguments, CallableTool, Result};

/// Tools that are found instead of told.
#[derive(Debug)]
pub struct Toolbox {
    tools: Vec<CallableTool>,
    /// Made for the first who searches: most of those who could do not.
    indexed: OnceLock<Indexed>,
}

#[derive(Debug)]
struct Indexed {
    index: Index,
    definitions: Vec<String>,
}

impl Toolbox {
    /// The tools under their names.
    #[must_use]
    pub fn of(tools: Vec<CallableTool>) -> Self {
        Self { tools, indexed: OnceLock::new() }
    }

    /// What is told instead of the tools: the definitions of `find_tools` and `call_tool`, as `tools/list` has them.
    #[must_use]
    pub fn definitions(&self) -> [String; 2] {
        let services: BTreeSet<_> = self.tools.iter().map(|callable| callable.uri.service()).collect();
        [find_tools(services), call_tool()]
    }

    /// The answer of `find_tools`.
    ///
    /// # Errors
    /// `InvalidInput`, naming the argument.
    pub fn find(&self, arguments: &Arguments) -> Result<Box<RawValue>> {
        let find = Find::read(arguments)?;
        Ok(self.on_shelf(|shelf| shelf.find(&find, &[])))
    }

    /// The names that come nearest to one that is none, best first.
    #[must_use]
    pub fn nearest(&self, name: &str, limit: usize) -> Vec<String> {
        self.on_shelf(|shelf| shelf.nearest(name, limit).into_iter().map(str::to_owned).collect())
    }

    fn on_shelf<T>(&self, work: impl FnOnce(VisibleTools<'_, '_>) -> T) -> T {
        let Indexed { index, definitions } = self.indexed.get_or_init(|| Indexed::of(&self.tools));
        let visible = |place: usize| {
            let (callable, definition) = (self.tools.get(place)?, definitions.get(place)?);
            let (name, service) = (callable.name.as_str(), callable.uri.service());
            Some(Listed { name, service, definition: definition.as_bytes() })
        };
        work(VisibleTools { index, visible: &visible, about_service: &|_| None })
    }
}

impl Indexed {
    fn of(tools: &[CallableTool]) -> Self {
        let describe = |callable: &CallableTool| {
            Description::of(callable.name.clone(), callable.uri.service(), &callable.tool)
        };
        let define =
            |callable: &CallableTool| callable.tool.listed_as(&callable.name, callable.tool.description());
        Self { index: Index::of(tools.iter().map(describe)), definitions: tools.iter().map(define).collect() }
    }
}
