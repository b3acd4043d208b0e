//! Tools over a service's tool: presets, hidden and renamed parameters, another shape.

use crate::catalog::Route;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tool::schema::Schema;
use tool::{Arguments, Binder, Error, ErrorKind, Problem, Result, Shape, Tool, Uri};

/// A Tool over a service's tool.
#[derive(Debug, Clone)]
pub struct UriTool {
    /// Where the call goes, with its options.
    pub uri: Uri,
    /// Arguments that are always the same: the caller neither sees nor gives them.
    pub arguments: Map<String, Value>,
    /// Parameters that the caller does not see and cannot give.
    pub hidden: Vec<String>,
    /// Parameters under another name: from the new name to the service's.
    pub rename: BTreeMap<String, String>,
    /// How the answer is to look; where this says nothing, as the service's tool says.
    pub shape: Shape,
    /// The schema of the arguments, where the one that follows from the service's is not right.
    pub input_schema: Option<Value>,
}

impl UriTool {
    /// What of this does not fit the service's tool.
    pub(super) fn check_against(&self, schema: &str) -> Vec<Problem> {
        let Ok(schema) = serde_json::from_str::<Value>(schema) else { return Vec::new() };
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        let mut problems = Vec::new();
        let uri = &self.uri;
        let mut must_exist = |path: String, name: &str| {
            if is_closed && !properties.contains_key(name) {
                let message = format!("{uri} has no parameter '{name}'");
                problems.push(Problem::new(path, "UnknownParameter", message));
            }
        };
        self.arguments.keys().for_each(|name| must_exist(format!("arguments.{name}"), name));
        self.hidden.iter().enumerate().for_each(|(at, name)| must_exist(format!("hidden[{at}]"), name));
        self.rename.iter().for_each(|(new, name)| must_exist(format!("rename.{new}"), name));
        for (name, value) in &self.arguments {
            let Some(property) = properties.get(name) else { continue };
            let schema = Schema::compile(&json!({ "properties": { name: property } }), "preset");
            for problem in schema.iter().flat_map(|schema| schema.check(&json!({ name: value }))) {
                problems.push(Problem::new(format!("arguments.{name}"), problem.code, problem.message));
            }
        }
        problems.extend(self.check_hidden(&schema, properties));
        problems.extend(self.check_rename(properties));
        problems
    }

    /// What is required and cannot be given makes every call fail.
    fn check_hidden(&self, schema: &Value, properties: &Map<String, Value>) -> Vec<Problem> {
        let required =
            schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let is_stuck = |name: &String| {
            let has_default = properties.get(name).is_some_and(|property| property.get("default").is_some());
            required.contains(&Value::from(name.as_str()))
                && !has_default
                && !self.arguments.contains_key(name)
        };
        let stuck = self.hidden.iter().enumerate().filter(|(_, name)| is_stuck(name));
        let problem = |(at, name): (usize, &String)| {
            let message = format!("'{name}' is required; give it a value in 'arguments' or do not hide it");
            Problem::new(format!("hidden[{at}]"), "RequiredParameterHidden", message)
        };
        stuck.map(problem).collect()
    }

    fn check_rename(&self, properties: &Map<String, Value>) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut taken: HashMap<&str, &str> = HashMap::new();
        for (new, original) in &self.rename {
            let path = format!("rename.{new}");
            let is_free = |name: &str| self.is_invisible(name) || !properties.contains_key(name);
            if new.is_empty() || !is_free(new) {
                let message = format!("'{new}' is the name of another parameter already");
                problems.push(Problem::new(&path, "DuplicateParameter", message));
            }
            if let Some(other) = taken.insert(original, new) {
                let message = format!("'{original}' is called '{other}' already; a parameter has one name");
                problems.push(Problem::new(&path, "DuplicateParameter", message));
            }
            if self.arguments.contains_key(original) || self.hidden.contains(original) {
                let message = format!("'{original}' is hidden or preset, so it needs no other name");
                problems.push(Problem::new(&path, "HiddenParameter", message));
            }
        }
        problems
    }

    /// The caller does not see this parameter of the service under this name.
    fn is_invisible(&self, original: &str) -> bool {
        self.arguments.contains_key(original)
            || self.hidden.iter().any(|hidden| hidden == original)
            || self.rename.values().any(|renamed| renamed == original)
    }

    /// The service's tool as callers of this one see it.
    pub(crate) fn over(&self, target: &Tool, description: Option<&str>) -> Result<Tool> {
        let unusable = |error: serde_json::Error| {
            Error::upstream(format!("the tool behind {} is unusable: {error}", self.uri))
        };
        let description = description.or(target.description());
        let listed = target.listed_as(target.name(), description);
        let has_shape = self.shape.select.is_some() || self.shape.template.is_some();
        let is_same = self.input_schema.is_none() && self.has_same_arguments();
        let definition = if is_same && !has_shape {
            listed // untouched, to the spelling of its numbers
        } else {
            let mut definition: Map<String, Value> = serde_json::from_str(&listed).map_err(unusable)?;
            if let Some(schema) = definition.get_mut("inputSchema") {
                *schema = self.input_schema.clone().unwrap_or_else(|| self.schema_over(schema.take()));
            }
            if has_shape {
                definition.shift_remove("outputSchema"); // it speaks of the answer before the shape
            }
            Value::Object(definition).to_string()
        };
        let definition = serde_json::value::RawValue::from_string(definition).map_err(unusable)?;
        let shape = if has_shape { self.shape.clone() } else { target.shape().clone() };
        let max_bytes = self.shape.max_bytes.or(target.shape().max_bytes);
        let tool = Tool::from_raw(&definition)?.in_form()?.0.shaped(Shape { max_bytes, ..shape });
        let tool = tool.taking_null(target.takes_null()).relayed(target.is_relayed());
        // A schema of the Tool's own has defaults of its own.
        let tool = tool.filling_defaults(target.fills_defaults() || self.input_schema.is_some());
        Ok(tool.using(target.methods().to_vec()))
    }

    fn has_same_arguments(&self) -> bool {
        self.arguments.is_empty() && self.hidden.is_empty() && self.rename.is_empty()
    }

    fn schema_over(&self, mut schema: Value) -> Value {
        let new_names: HashMap<&str, &str> =
            self.rename.iter().map(|(new, original)| (original.as_str(), new.as_str())).collect();
        let seen_as = |name: &str| match new_names.get(name) {
            Some(new) => Some((*new).to_owned()),
            None if self.is_invisible(name) => None,
            None => Some(name.to_owned()),
        };
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            let all = std::mem::take(properties);
            properties.extend(all.into_iter().filter_map(|(name, value)| Some((seen_as(&name)?, value))));
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            let all = std::mem::take(required);
            required.extend(all.iter().filter_map(Value::as_str).filter_map(seen_as).map(Value::from));
        }
        schema
    }

    /// Refuses what the caller cannot give, before anything else is said of the arguments.
    ///
    /// # Errors
    /// `InvalidInput` naming the first such argument.
    pub(crate) fn refuse_presets(&self, given: &Arguments) -> Result<()> {
        let is_decided =
            |name: &&String| self.arguments.contains_key(*name) && !self.rename.contains_key(*name);
        given.as_map()?.keys().find(is_decided).map_or(Ok(()), |name| Err(unknown(name)))
    }

    /// An error about arguments in the words of the caller.
    pub(crate) fn in_callers_words(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::InvalidInput {
            return error;
        }
        let names = self.rename.iter().map(|(new, original)| (original.as_str(), new.as_str()));
        let names: HashMap<_, _> = names.collect();
        error.renaming(|name| names.get(name).copied())
    }

    /// The arguments as the service's tool takes them, from those its caller gave.
    ///
    /// # Errors
    /// `InvalidInput` when one was given that the caller cannot give.
    pub(crate) fn translate(&self, given: &Arguments) -> Result<Arguments> {
        let is_unknown = |name: &&String| !self.rename.contains_key(*name) && self.is_invisible(name);
        if let Some(name) = given.as_map()?.keys().find(is_unknown) {
            return Err(unknown(name));
        }
        let original = |name: &str| self.rename.get(name).cloned().unwrap_or_else(|| name.to_owned());
        let is_preset = |name: &String| self.arguments.contains_key(name);
        let arguments = given.renamed(|name| Some(original(name)).filter(|name| !is_preset(name)))?;
        arguments.with(self.arguments.clone().into_iter())
    }
}

fn unknown(name: &str) -> Error {
    let message = format!("Unknown parameter '{name}'; leave it out");
    let problem = Problem::new(name, "Unknown", &message);
    Error::invalid_input(message).of_parameter(name).with_problems(vec![problem])
}

/// The way from a Tool to the service's tool behind it.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedUriTool {
    pub(crate) target: Arc<Route>,
    pub(crate) tool: UriTool,
}

impl ResolvedUriTool {
    /// From what the caller sent to what the service's tool takes.
    pub(crate) fn bind(&self, own: &Binder, arguments: Arguments) -> Result<Arguments> {
        if self.tool.has_same_arguments() {
            return self.target.binder.bind(own.bind(arguments)?);
        }
        self.tool.refuse_presets(&arguments)?;
        let bound = own.bind(arguments)?;
        let translated = self.tool.translate(&bound)?;
        let given = translated.as_map()?;
        // Nobody else can give what is hidden.
        let default_of = |name: &String| {
            let default = self.target.binder.required_default_of(name).filter(|_| !given.contains_key(name));
            Some((name.clone(), default?.clone()))
        };
        let complete = translated.with(self.tool.hidden.iter().filter_map(default_of))?;
        self.target.binder.bind(complete).map_err(|error| self.tool.in_callers_words(error))
    }
}
