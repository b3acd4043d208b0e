//! One folder per URI scheme: how the gateway talks to the services behind it.
//!
//! Connectors never import one another; what two of them need lives in `shared`.

mod api;
mod db;
mod mcp;
mod shared;
mod table;

/// YAML as JSON values, for other files of people than API descriptions.
pub use api::openapi::yaml::parse as parse_yaml;

/// The attended sign-in to an MCP server.
pub use mcp::Login;

pub use shared::embeddings;
use tool::Kind;

/// The whole registry; its order is the order in the console.
pub const ALL: &[Kind] = &[
    Kind::of::<mcp::Settings>(),
    Kind::of::<api::Settings>(),
    Kind::of::<db::Settings>(),
    Kind::of::<table::Settings>(),
];

/// The type of service with this scheme, e.g. `api`.
#[must_use]
pub fn find(scheme: &str) -> Option<&'static Kind> {
    ALL.iter().find(|kind| kind.scheme == scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_each_type_once_by_its_scheme() {
        for kind in ALL {
            assert_eq!(ALL.iter().filter(|other| other.scheme == kind.scheme).count(), 1);
            assert_eq!(find(kind.scheme).map(|kind| kind.title), Some(kind.title));
        }
        assert!(find("no-such-type").is_none());
    }
}
