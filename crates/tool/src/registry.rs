//! The types of services that this program has, and those it was built without.

use crate::{Inline, Kind};

/// What a scheme, or the type of a Tool, can stand for.
#[derive(Debug, Clone, Copy)]
pub struct Registry {
    /// The types that this program has, in the order of the console.
    pub kinds: &'static [Kind],
    /// The types that a build can leave out, whether this one did or not.
    pub optional: &'static [OptionalKind],
}

/// A type of service that only a Cargo feature brings in.
#[derive(Debug, Clone, Copy)]
pub struct OptionalKind {
    /// The type in URIs and in REST.
    pub scheme: &'static str,
    /// The types of Tools that come with it.
    pub tool_types: &'static [&'static str],
    /// The feature of the program that brings it in.
    pub feature: &'static str,
}

impl Registry {
    /// The type of service with this scheme, e.g. `api`.
    #[must_use]
    pub fn find(&self, scheme: &str) -> Option<&'static Kind> {
        self.kinds.iter().find(|kind| kind.scheme == scheme)
    }

    /// How Tools of this type are made, if they are made of a `config`.
    #[must_use]
    pub fn inline(&self, tool_type: &str) -> Option<Inline> {
        let mut all = self.kinds.iter().filter_map(|kind| kind.inline);
        all.find(|inline| inline.tool_types.contains(&tool_type))
    }

    /// Says that a type of service is not there, and how it would be.
    #[must_use]
    pub fn no_service_type(&self, scheme: &str) -> String {
        self.absence("service type", scheme, |optional| optional.scheme == scheme)
    }

    /// Says that a type of Tool, or of what a URI names, is not there, and how it would be.
    #[must_use]
    pub fn no_tool_type(&self, name: &str) -> String {
        let brings = |optional: &OptionalKind| optional.scheme == name || optional.tool_types.contains(&name);
        self.absence("tool type", name, brings)
    }

    fn absence(&self, what: &str, name: &str, brings: impl Fn(&OptionalKind) -> bool) -> String {
        let mut left_out = self.optional.iter().filter(|optional| self.find(optional.scheme).is_none());
        match left_out.find(|optional| brings(optional)) {
            Some(OptionalKind { feature, .. }) => {
                format!("there is no {what} '{name}' in this program: build it with `--features {feature}`")
            }
            None => format!("there is no {what} '{name}'"),
        }
    }
}

/// Of types that are always there.
impl From<&'static [Kind]> for Registry {
    fn from(kinds: &'static [Kind]) -> Self {
        Self { kinds, optional: &[] }
    }
}

/// Of types that are always there.
impl<const N: usize> From<&'static [Kind; N]> for Registry {
    fn from(kinds: &'static [Kind; N]) -> Self {
        Self::from(kinds.as_slice())
    }
}
