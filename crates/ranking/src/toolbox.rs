//! Tool search over a list of tools, for whoever has one and nobody to keep it from: an agent with many tools.

use crate::{Description, Find, Index, Listed, Shelf, call_tool, find_tools};
use serde_json::value::RawValue;
use tool::{Arguments, CallableTool, Result};

/// Tools that are found instead of told.
#[derive(Debug)]
pub struct Toolbox {
    tools: Vec<Entry>,
    index: Index,
}

#[derive(Debug)]
struct Entry {
    name: String,
    service: String,
    definition: String,
}

impl Toolbox {
    /// The tools under their names.
    #[must_use]
    pub fn of(tools: &[CallableTool]) -> Self {
        let describe = |callable: &CallableTool| {
            Description::of(callable.name.clone(), callable.uri.service(), &callable.tool)
        };
        let index = Index::of(tools.iter().map(describe));
        let entry = |callable: &CallableTool| Entry {
            name: callable.name.clone(),
            service: callable.uri.service().to_owned(),
            definition: callable.tool.listed_as(&callable.name, callable.tool.description()),
        };
        Self { tools: tools.iter().map(entry).collect(), index }
    }

    /// What is told instead of the tools: the definitions of `find_tools` and `call_tool`, as `tools/list` has them.
    #[must_use]
    pub fn definitions(&self) -> [String; 2] {
        let visible = |place| self.listed(place);
        let shelf = Shelf { index: &self.index, visible: &visible, about_service: &|_| None };
        [find_tools(shelf.services().into_keys()), call_tool()]
    }

    /// The answer of `find_tools`.
    ///
    /// # Errors
    /// `InvalidInput`, naming the argument.
    pub fn find(&self, arguments: &Arguments) -> Result<Box<RawValue>> {
        let find = Find::read(arguments)?;
        let visible = |place| self.listed(place);
        let shelf = Shelf { index: &self.index, visible: &visible, about_service: &|_| None };
        Ok(shelf.find(&find, &[]))
    }

    fn listed(&self, place: usize) -> Option<Listed<'_>> {
        let Entry { name, service, definition } = self.tools.get(place)?;
        Some(Listed { name, service, definition: definition.as_bytes() })
    }
}
