//! Queries with a name: what settings say of them, checked, and what their callers must give.

use super::filter::wrong;
use super::query_settings::{ParameterSettings, ParameterType, QuerySettings};
use super::settings::{DbType, Settings};
use super::sql::{Access, Template};
use super::tools::FIXED;
use crate::shared::digits::rounded;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use tool::{Problem, Result, Shape};

/// The parameter that stands for the caller's tenant, which nobody else fills in.
pub(super) const TENANT: &str = "tenantId";

/// One query with a name.
#[derive(Debug)]
pub(super) struct NamedQuery {
    pub(super) id: String,
    pub(super) description: String,
    pub(super) template: Template,
    pub(super) shape: Shape,
    parameters: Vec<ParameterSettings>,
}

impl NamedQuery {
    /// All queries of the settings that can be used; problems name the others.
    pub(super) fn check_all(settings: &Settings, problems: &mut Vec<Problem>) -> Vec<Self> {
        let mut ids = BTreeSet::new();
        let mut queries = Vec::new();
        for (index, query) in settings.tools.iter().enumerate() {
            let path = format!("tools[{index}]");
            let before = problems.len();
            check_id(&query.id, &mut ids, &path, problems);
            let is_tenants = settings.tenant_column.is_some();
            let template = check_sql(query, settings.db_type, is_tenants, &path, problems);
            check_parameters(query, &path, problems);
            if let Some(template) = template.filter(|_| problems.len() == before) {
                queries.push(Self::new(query, template));
            }
        }
        queries
    }

    fn new(query: &QuerySettings, template: Template) -> Self {
        let description = match query.description.as_str() {
            "" => format!("Runs the query {}.", query.id),
            given => given.to_owned(),
        };
        Self {
            id: query.id.clone(),
            description,
            template,
            shape: Shape {
                select: query.select.clone(),
                template: query.response_template.clone(),
                max_bytes: query.max_result_bytes,
            },
            parameters: query.parameters.iter().map(ParameterSettings::copied).collect(),
        }
    }

    /// The arguments with defaults, each of its type.
    ///
    /// # Errors
    /// `InvalidInput` naming the parameter.
    pub(super) fn values(&self, arguments: &Map<String, Value>) -> Result<Map<String, Value>> {
        if let Some(unknown) =
            arguments.keys().find(|name| !self.parameters.iter().any(|known| known.name == **name))
        {
            return Err(wrong(unknown, "is not known to this query; leave it out"));
        }
        let mut values = Map::new();
        for parameter in &self.parameters {
            let name = &parameter.name;
            let given =
                arguments.get(name).filter(|value| !value.is_null()).or(parameter.default_value.as_ref());
            let value = match given {
                None if parameter.required => return Err(wrong(name, "is missing; give it a value")),
                None => Value::Null,
                Some(value) => parameter.checked(value)?.clone(),
            };
            values.insert(name.clone(), value);
        }
        Ok(values)
    }

    /// The type of PostgreSQL that a parameter is declared to be of.
    pub(super) fn declared(&self, name: &str) -> &'static str {
        let parameter = self.parameters.iter().find(|parameter| parameter.name == name);
        match parameter.map_or(ParameterType::String, |parameter| parameter.parameter_type) {
            ParameterType::String | ParameterType::Unknown => "text",
            ParameterType::Integer => "int8",
            ParameterType::Number => "numeric",
            ParameterType::Boolean => "bool",
        }
    }

    /// JSON Schema of the arguments.
    pub(super) fn input_schema(&self) -> Value {
        let mut properties = Map::new();
        for parameter in &self.parameters {
            let mut schema = parameter.parameter_type.schema();
            if let Some(description) = &parameter.description {
                schema["description"] = description.as_str().into();
            }
            if let Some(default) = &parameter.default_value {
                schema["default"] = default.clone();
            }
            if let Some(values) = &parameter.enum_values {
                schema["enum"] = values.clone().into();
            }
            properties.insert(parameter.name.clone(), schema);
        }
        let required = self
            .parameters
            .iter()
            .filter(|parameter| parameter.required && parameter.default_value.is_none());
        tool::definition::object_schema(
            properties,
            required.map(|parameter| parameter.name.clone()).collect(),
        )
    }
}

impl ParameterSettings {
    fn copied(&self) -> Self {
        Self {
            name: self.name.clone(),
            parameter_type: self.parameter_type,
            description: self.description.clone(),
            required: self.required,
            default_value: self.default_value.clone(),
            enum_values: self.enum_values.clone(),
        }
    }

    fn checked<'v>(&self, value: &'v Value) -> Result<&'v Value> {
        let rounded = rounded(value);
        if !self.parameter_type.accepts(&rounded) {
            return Err(wrong(&self.name, &format!("must be {}", self.parameter_type.in_words())));
        }
        if self.allows(&rounded) {
            return Ok(value);
        }
        let values: Vec<_> = self.enum_values.iter().flatten().map(Value::to_string).collect();
        Err(wrong(&self.name, &format!("must be one of {}", values.join(", "))))
    }

    fn allows(&self, value: &Value) -> bool {
        self.enum_values.as_ref().is_none_or(|values| values.contains(value))
    }
}

impl ParameterType {
    fn schema(self) -> Value {
        let name = match self {
            Self::String | Self::Unknown => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        };
        json!({ "type": name })
    }

    fn accepts(self, value: &Value) -> bool {
        match self {
            Self::String | Self::Unknown => value.is_string(),
            Self::Integer => {
                value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|float| float.fract() == 0.0)
            }
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::String | Self::Unknown => "a string",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Boolean => "true or false",
        }
    }
}

fn check_id<'a>(id: &'a str, ids: &mut BTreeSet<&'a str>, path: &str, problems: &mut Vec<Problem>) {
    let is_legal = (1..=64).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    let mut refuse = |code, message: String| problems.push(Problem::new(format!("{path}.id"), code, message));
    if !is_legal {
        refuse("InvalidName", format!("'{id}' must be 1 to 64 letters, digits, '_', '.' or '-'"));
    } else if FIXED.contains(&id) {
        refuse("DuplicateTool", format!("every database has a tool '{id}'; choose another name"));
    } else if !ids.insert(id) {
        refuse("DuplicateTool", format!("two queries are called '{id}'"));
    }
}

fn check_sql(
    query: &QuerySettings,
    db_type: DbType,
    is_tenants: bool,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<Template> {
    let mut refuse =
        |message: String| problems.push(Problem::new(format!("{path}.sql"), "InvalidSql", message));
    let template = match Template::parse(&query.sql, db_type, Access::Read) {
        Ok(template) => template,
        Err(error) => {
            refuse(error.message().to_owned());
            return None;
        }
    };
    let used = template.parameters();
    for name in &used {
        if *name != TENANT && !query.parameters.iter().any(|parameter| parameter.name == **name) {
            refuse(format!("the parameter ':{name}' is not among the query's parameters"));
        }
    }
    if is_tenants && !used.contains(TENANT) {
        refuse(format!("with 'tenant_column', 'sql' must use :{TENANT}"));
    }
    for (index, parameter) in query.parameters.iter().enumerate() {
        let place = format!("{path}.parameters[{index}].name");
        if parameter.name == TENANT {
            let message = format!("':{TENANT}' is filled in by us; leave it out");
            problems.push(Problem::new(place, "Reserved", message));
        } else if !used.contains(parameter.name.as_str()) {
            let message = format!("'sql' does not use ':{}'", parameter.name);
            problems.push(Problem::new(place, "Unused", message));
        }
    }
    Some(template)
}

fn check_parameters(query: &QuerySettings, path: &str, problems: &mut Vec<Problem>) {
    let mut names = BTreeSet::new();
    for (index, parameter) in query.parameters.iter().enumerate() {
        let mut refuse = |field: &str, code, message: String| {
            problems.push(Problem::new(format!("{path}.parameters[{index}].{field}"), code, message));
        };
        if !names.insert(parameter.name.as_str()) {
            refuse("name", "DuplicateParameter", format!("two parameters are called '{}'", parameter.name));
        }
        let is_wrong = |value: &Value| !parameter.parameter_type.accepts(value);
        if parameter.default_value.as_ref().is_some_and(is_wrong) {
            let message = format!(
                "the default of '{}' must be {}",
                parameter.name,
                parameter.parameter_type.in_words()
            );
            refuse("default_value", "WrongType", message);
        } else if let Some(default) =
            parameter.default_value.as_ref().filter(|value| !parameter.allows(value))
        {
            let message =
                format!("'{}' defaults to {default}, which 'enum_values' does not list", parameter.name);
            refuse("default_value", "NotAllowed", message);
        }
        if parameter.enum_values.iter().flatten().any(is_wrong) {
            let message =
                format!("each value of '{}' must be {}", parameter.name, parameter.parameter_type.in_words());
            refuse("enum_values", "WrongType", message);
        }
    }
}
