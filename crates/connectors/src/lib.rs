//! One folder per URI scheme: how the gateway talks to the services behind it.
//!
//! Connectors never import one another; what two of them need lives in `shared`. `embeddings` is no
//! connector but the port of that name, for a provider that is reached as they are.

mod agent;
mod api;
mod db;
pub mod embeddings;
#[cfg(feature = "mail")]
mod mail;
mod mcp;
mod mq;
mod oss;
mod shared;
mod sms;
mod svc;
#[cfg(feature = "table")]
mod table;

/// YAML as JSON values, for other files of people than API descriptions.
pub use api::openapi::yaml::parse as parse_yaml;

/// The attended sign-in to an MCP server.
pub use mcp::Login;

use tool::{Kind, OptionalKind, Registry};

/// What this build has; its order is the order in the console.
pub const ALL: &[Kind] = &[
    Kind::of::<mcp::Settings>(),
    Kind::of::<api::Settings>(),
    Kind::of::<db::Settings>(),
    Kind::of::<svc::Settings>(),
    Kind::of::<mq::Settings>(),
    Kind::of::<oss::Settings>(),
    Kind::of::<agent::Settings>(),
    #[cfg(feature = "mail")]
    Kind::of::<mail::Settings>(),
    Kind::of::<sms::Settings>(),
    #[cfg(feature = "table")]
    Kind::of::<table::Settings>(),
];

/// The type of the services of an mcp.json.
pub const MCP_SCHEME: &str = <mcp::Settings as tool::Settings>::SCHEME;

/// The type of the services that are made from an OpenAPI document.
pub const API_SCHEME: &str = <api::Settings as tool::Settings>::SCHEME;

/// What a build may lack, and the feature of `app` that brings it in.
const OPTIONAL: &[OptionalKind] = &[
    OptionalKind { scheme: "mail", tool_types: &[], feature: "mail" },
    OptionalKind {
        scheme: tool::tables::SCHEME,
        tool_types: &[
            "get_data_schema",
            "get_all_data",
            "query_data",
            "create",
            "update",
            "delete",
            "preview",
            "select",
            tool::search::TOOL_TYPE,
        ],
        feature: "table",
    },
];

/// The whole registry.
pub const REGISTRY: Registry = Registry { kinds: ALL, optional: OPTIONAL };

/// The type of service with this scheme, e.g. `api`.
#[must_use]
pub fn find(scheme: &str) -> Option<&'static Kind> {
    REGISTRY.find(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tool::Env;

    #[test]
    fn finds_each_type_once_by_its_scheme() {
        for kind in ALL {
            assert_eq!(ALL.iter().filter(|other| other.scheme == kind.scheme).count(), 1);
            assert_eq!(find(kind.scheme).map(|kind| kind.title), Some(kind.title));
        }
        assert!(find("no-such-type").is_none());
    }

    /// A field of the wrong type says so; one that belongs elsewhere is never said to be meant itself.
    #[test]
    fn a_wrong_setting_names_its_field_its_cause_and_what_to_do() {
        for kind in ALL {
            let schema = kind.settings_schema();
            let error = kind.open(json!({ "headers": 3 }), &Env::default()).err().expect("it is refused");
            let problem =
                error.problems().iter().find(|problem| problem.path == "headers").expect("its field");
            let has = |name: &str| schema["properties"].get(name).is_some();
            let expected = match ["headers", "default_headers", "pass_headers"].map(has) {
                [true, ..] => "Setting 'headers' must be an object, not a number",
                [_, true, _] => "Unknown setting 'headers'; did you mean 'default_headers'?",
                [_, _, true] => "Unknown setting 'headers'; did you mean 'pass_headers'?",
                [false, false, false] => "Unknown setting 'headers'; leave it out",
            };
            assert_eq!(problem.message, expected, "{}", kind.scheme);
        }
    }

    #[test]
    fn every_optional_type_brings_the_tools_that_its_row_says() {
        for optional in OPTIONAL {
            let Some(kind) = find(optional.scheme) else { continue };
            assert_eq!(optional.tool_types, kind.inline.map_or(&[][..], |inline| inline.tool_types));
        }
    }

    /// Runs in `make features`, which builds without default features.
    #[cfg(not(feature = "mail"))]
    #[test]
    fn mail_that_was_left_out_names_its_feature() {
        assert!(find("mail").is_none());
        assert_eq!(
            REGISTRY.no_service_type("mail"),
            "there is no service type 'mail' in this program: build it with `--features mail`"
        );
    }

    /// Runs in `make features`, which builds without default features.
    #[cfg(not(feature = "table"))]
    #[test]
    fn a_type_that_was_left_out_names_its_feature() {
        assert!(find("table").is_none());
        assert_eq!(
            REGISTRY.no_service_type("table"),
            "there is no service type 'table' in this program: build it with `--features table`"
        );
        let message = REGISTRY.no_tool_type("query_data");
        assert!(
            message.contains("'query_data' in this program: build it with `--features table`"),
            "{message}"
        );
    }
}
