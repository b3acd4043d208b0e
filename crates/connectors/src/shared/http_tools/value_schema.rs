//! What a parameter accepts beyond its type, and what it is called on the wire.

use super::parameter_settings::ParameterSettings;
use super::parameters::Position;
use super::plain_schema::is_plain;
use super::settings::ToolSettings;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::OnceLock;
use tool::schema::Schema;
use tool::uri::Method;
use tool::{Problem, Result};

/// The JSON Schema of one parameter's value.
#[derive(Debug)]
pub(crate) struct ValueSchema {
    /// As it was written.
    pub(crate) written: Value,
    /// Made when it is first needed: a service has thousands, of which few are ever called.
    compiled: OnceLock<Option<Schema>>,
}

impl ValueSchema {
    /// A schema of its own: references lead nowhere.
    ///
    /// # Errors
    /// When it is no valid schema.
    pub(crate) fn new(written: Value) -> Result<Self> {
        let compiled = match is_plain(&written) {
            true => OnceLock::new(),
            false => OnceLock::from(Some(Schema::compile(&written, "parameter")?)),
        };
        Ok(Self { written, compiled })
    }

    pub(crate) fn check(
        settings: &ParameterSettings,
        path: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        match Self::new(settings.schema.clone()?) {
            Ok(schema) => Some(schema),
            Err(error) => {
                let message = format!("the schema of parameter '{}' is invalid: {error}", settings.name);
                problems.push(Problem::new(format!("{path}.schema"), "InvalidSchema", message));
                None
            }
        }
    }

    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.compiled().is_some_and(|schema| schema.accepts(value))
    }

    /// Nothing never happens: what could fail to compile was compiled at once.
    fn compiled(&self) -> Option<&Schema> {
        self.compiled.get_or_init(|| Schema::compile(&self.written, "parameter").ok()).as_ref()
    }
}

/// Two parameters must not claim the same place, and a body is one thing or many fields.
pub(crate) fn check_places(tool: &ToolSettings, methods: &[Method], path: &str, problems: &mut Vec<Problem>) {
    let mut taken = HashSet::new();
    let position_of = |parameter: &ParameterSettings| Position::parse(&parameter.position);
    let is_field = |parameter| matches!(position_of(parameter), Some(Position::Body | Position::Form));
    let has_fields = tool.parameters.iter().any(is_field);
    for (index, parameter) in tool.parameters.iter().enumerate() {
        let (name, position) = (&parameter.name, position_of(parameter));
        let mut refuse = |field: &str, code, message: String| {
            problems.push(Problem::new(format!("{path}.parameters[{index}].{field}"), code, message));
        };
        if let Some(sent_as) = &parameter.sent_as {
            let is_named = !matches!(position, Some(Position::Path | Position::WholeBody));
            if sent_as.is_empty() || sent_as.contains(char::is_control) {
                let message = format!("sent_as of '{name}' needs a name without control characters");
                refuse("sent_as", "InvalidName", message);
            } else if position.is_some() && !is_named {
                let message =
                    format!("sent_as of '{name}' means nothing for a {} parameter", parameter.position);
                refuse("sent_as", "Unused", message);
            } else if !taken.insert((position.map(Position::as_str), sent_as)) {
                refuse("sent_as", "DuplicateParameter", format!("two parameters are sent as '{sent_as}'"));
            }
        } else {
            taken.insert((position.map(Position::as_str), name));
        }
        if position == Some(Position::WholeBody) {
            let others = tool.parameters.iter().filter(|other| position_of(other) == position).count();
            if has_fields || others > 1 {
                let message = format!("'{name}' is the whole body, so nothing else can be in the body");
                refuse("position", "ParameterPositionMismatch", message);
            }
            if let Some(method) = methods.iter().find(|method| matches!(method, Method::Get | Method::Head)) {
                let message = format!("'{name}' is the whole body, but {} sends none", method.as_str());
                refuse("position", "ParameterPositionMismatch", message);
            }
        }
    }
}
