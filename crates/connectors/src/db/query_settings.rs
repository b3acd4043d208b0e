//! Settings of queries with a name and of their parameters.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// One query with a name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct QuerySettings {
    /// The tool's name: 1 to 64 letters, digits, `_`, `.` or `-`.
    pub(super) id: String,
    /// What the query is for, for the model that chooses it.
    #[serde(default)]
    pub(super) description: String,
    /// One statement that reads, with `:name` for each parameter.
    pub(super) sql: String,
    /// What the query can be told.
    #[serde(default)]
    pub(super) parameters: Vec<ParameterSettings>,
    /// A Go template that turns the answer into text.
    #[serde(default)]
    pub(super) response_template: Option<String>,
    /// A JMESPath expression that picks what matters from the answer.
    #[serde(default)]
    pub(super) select: Option<String>,
    /// The most bytes of the shaped answer; more is cut at whole items.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(super) max_result_bytes: Option<usize>,
}

/// One parameter of a query.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ParameterSettings {
    /// The name, as it stands behind the colon in `sql`.
    pub(super) name: String,
    /// The type of the value.
    #[serde(default)]
    pub(super) parameter_type: ParameterType,
    /// What the parameter means, for the model that fills it in.
    #[serde(default)]
    pub(super) description: Option<String>,
    /// The query cannot be called without it; otherwise it is null.
    #[serde(default)]
    pub(super) required: bool,
    /// The value when none is given.
    #[serde(default)]
    pub(super) default_value: Option<Value>,
    /// The only values allowed, if not all are.
    #[serde(default)]
    pub(super) enum_values: Option<Vec<Value>>,
}

/// The type of a query's parameter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) enum ParameterType {
    #[default]
    String,
    Integer,
    Number,
    Boolean,
    // The schema has refused it; here it only must not keep the rest from being checked.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}
