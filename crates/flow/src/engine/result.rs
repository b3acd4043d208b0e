//! What a run gives: its output, cut to what the flow declares and checked; and what it takes.

use super::formats::FORMATS;
use super::record::{Ending, Failure};
use super::{Machine, ROOT};
use crate::document::{Declared, Flow, object};
use crate::limits;
use chrono::Utc;
use expression::{Limits, Setting};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tool::schema::Schema;

impl Machine {
    /// Nothing is left to do, or a node returned.
    pub(super) fn finish_run(&mut self) {
        let flow = Arc::clone(&self.flow);
        let output = match (self.returned.take(), &flow.output) {
            (Some(value), _) => Ok(value),
            (None, Some(output)) => self.evaluate((ROOT, 0), output),
            (None, None) => Ok(self.result_of(ROOT)),
        };
        let ending = match output.and_then(|output| flow.release(output)) {
            Ok(output) => Ending::Succeeded { output },
            Err(error) => Ending::Failed { error },
        };
        self.end_run(ending);
    }
}

impl Flow {
    /// The JSON Schema of the inputs.
    #[must_use]
    pub fn input_schema(&self) -> Value {
        self.with_types(object(&self.inputs))
    }

    /// Whether an input of that name is secret.
    #[must_use]
    pub fn has_secret(&self, name: &str) -> bool {
        self.inputs.iter().any(|input| input.is_secret && input.name == name)
    }

    /// What is wrong with the default of an input that speaks of no other, by its own type.
    pub(crate) fn misfit_of_default(&self, input: &Declared) -> Option<String> {
        let default = input.default.as_ref()?;
        let setting = Setting {
            now: Utc::now(),
            limits: Limits { built_bytes: limits::VALUE_BYTES, ..Limits::default() },
        };
        // One that cannot be computed now is told when the run begins.
        let value = default.evaluate(&Map::new(), &setting).ok()?;
        let alone = Value::Object(Map::from_iter([(input.name.clone(), value)]));
        let schema = self.with_types(object(std::slice::from_ref(input)));
        check(&schema, &alone, "default").err().map(|failure| failure.message)
    }

    /// The JSON Schema of what a run gives, if the flow declares it.
    #[must_use]
    pub fn output_schema(&self) -> Option<Value> {
        self.returns.clone().map(|schema| self.with_types(schema))
    }

    fn with_types(&self, mut schema: Value) -> Value {
        if let Some(fields) = schema.as_object_mut()
            && !self.types.is_empty()
        {
            fields.insert("$defs".to_owned(), Value::Object(self.types.clone()));
        }
        schema
    }

    /// The inputs with their defaults, if they fit.
    ///
    /// # Errors
    /// `VALIDATION_FAILED` with every problem.
    pub fn accept(
        &self,
        mut inputs: Map<String, Value>,
        setting: &Setting,
    ) -> Result<Map<String, Value>, Failure> {
        inputs.values().try_for_each(super::call::check_value)?;
        self.check_digits(&inputs)?;
        // Defaults may speak of other inputs, so these come first.
        check(&self.input_schema(), &Value::Object(inputs.clone()), "input")?;
        for input in self.inputs.iter().filter(|input| input.default.is_some()) {
            if !inputs.contains_key(&input.name)
                && let Some(default) = &input.default
            {
                let value = default.evaluate(&inputs, setting).map_err(super::expression_failure)?;
                inputs.insert(input.name.clone(), value);
            }
        }
        check(&self.input_schema(), &Value::Object(inputs.clone()), "input")?;
        for input in &self.inputs {
            inputs.entry(input.name.clone()).or_insert(Value::Null);
        }
        Ok(inputs)
    }

    /// Where a type says nothing of numbers, a whole one of more than 64 bits would be rounded without a word.
    fn check_digits(&self, inputs: &Map<String, Value>) -> Result<(), Failure> {
        let is_untyped = |input: &&Declared| input.schema.as_object().is_some_and(Map::is_empty);
        for input in self.inputs.iter().filter(is_untyped) {
            if inputs.get(&input.name).is_some_and(has_rounded) {
                let name = &input.name;
                let message = format!(
                    "the input '{name}' has a number beyond 64 bits, which would be rounded; send it as a text, or \
                     give the input a type with 'number' there"
                );
                return Err(Failure::new("VALIDATION_FAILED", message));
            }
        }
        Ok(())
    }

    /// An output without what the flow does not declare, if it fits.
    fn release(&self, mut output: Value) -> Result<Value, Failure> {
        super::call::check_value(&output)?;
        let Some(schema) = &self.returns else { return Ok(output) };
        cut(&mut output, schema, &self.types);
        check(&self.with_types(schema.clone()), &output, "output")?;
        Ok(output)
    }
}

/// Two to the power of 64: what is as large was perhaps not sent so.
const BEYOND: f64 = 18_446_744_073_709_551_616.0;

fn has_rounded(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            number.is_f64() && number.as_f64().is_some_and(|value| value.abs() >= BEYOND)
        }
        Value::Array(items) => items.iter().any(has_rounded),
        Value::Object(fields) => fields.values().any(has_rounded),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// The least whole number of 64 bits, and the first fraction below it.
const LEAST: f64 = -9_223_372_036_854_775_808.0;
const BELOW_LEAST: f64 = -9_223_372_036_854_777_856.0;

fn is_rounded_to_least(value: &Value) -> bool {
    matches!(value, Value::Number(number) if number.is_f64() && number.as_f64() == Some(LEAST))
}

fn has_rounded_to_least(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_rounded_to_least),
        Value::Object(fields) => fields.values().any(has_rounded_to_least),
        other => is_rounded_to_least(other),
    }
}

/// The same to be checked alone, where what was rounded to the least of 64 bits is below it.
fn told_apart(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(told_apart).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (name.clone(), told_apart(field))).collect()
        }
        other if is_rounded_to_least(other) => BELOW_LEAST.into(),
        other => other.clone(),
    }
}

fn check(schema: &Value, value: &Value, noun: &'static str) -> Result<(), Failure> {
    let failed = |message: String| Failure::new("VALIDATION_FAILED", message);
    let mut schema = schema.clone();
    bound_integers(&mut schema);
    let schema = Schema::compile_with_formats(&schema, noun, &FORMATS);
    let schema = schema.map_err(|error| failed(error.message().to_owned()))?;
    let apart = has_rounded_to_least(value).then(|| told_apart(value));
    let value = apart.as_ref().unwrap_or(value);
    if schema.accepts(value) {
        return Ok(());
    }
    let problems: Vec<_> = schema.check(value).into_iter().map(|problem| problem.message).collect();
    Err(failed(problems.join("; ")))
}

/// Beyond 64 bits a whole number is read as one that is nearly the same, which nobody would notice. The least of 64 bits is
/// read as it is; what is read as a fraction equal to it may have been any of its neighbours.
fn bound_integers(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(bound_integers),
        Value::Object(fields) => {
            let is_integer = |kind: &Value| kind == "integer";
            let kind = fields.get("type");
            if kind.is_some_and(|kind| {
                is_integer(kind) || kind.as_array().is_some_and(|all| all.iter().any(is_integer))
            }) {
                fields.entry("minimum").or_insert(i64::MIN.into());
                fields.entry("maximum").or_insert(i64::MAX.into());
            }
            let is_data = |name: &str| matches!(name, "const" | "enum" | "default" | "examples");
            fields.iter_mut().filter(|(name, _)| !is_data(name)).for_each(|(_, field)| bound_integers(field));
        }
        _ => {}
    }
}

/// Takes away the fields that a schema does not name; what says nothing about fields is left alone.
fn cut(value: &mut Value, schema: &Value, types: &Map<String, Value>) {
    let Some(schema) = resolved(schema, types) else { return };
    match value {
        Value::Object(fields) => {
            let Some(Value::Object(properties)) = schema.get("properties") else { return };
            if matches!(schema.get("additionalProperties"), None | Some(Value::Bool(false))) {
                fields.retain(|name, _| properties.contains_key(name));
            }
            for (name, field) in fields.iter_mut() {
                if let Some(schema) = properties.get(name) {
                    cut(field, schema, types);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| cut(item, schema, types));
            }
        }
        _ => {}
    }
}

/// The schema that says something about fields or items, behind names and `?`; none in a circle of names, which is
/// refused when the value is checked.
fn resolved<'s>(mut schema: &'s Value, types: &'s Map<String, Value>) -> Option<&'s Value> {
    for _ in 0..=limits::NAMES * limits::TYPE_LEVELS {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
        let named = name.and_then(|name| types.get(name));
        // `T?`: the one that is not null.
        let choices = schema.get("anyOf").and_then(Value::as_array);
        let choice = choices.and_then(|all| all.iter().find(|choice| **choice != json!({"type": "null"})));
        let Some(next) = named.or(choice) else { return Some(schema) };
        schema = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_taken_as_they_are_or_not_at_all() {
        let schema = json!({ "type": "object", "properties": {
            "n": { "type": ["integer", "null"] }, "small": { "type": "integer", "maximum": 5 }, "real": { "type": "number" },
            "kind": { "const": { "type": "integer" } } } });
        let fits = |text: &str| check(&schema, &serde_json::from_str(text).unwrap(), "input");
        for right in [
            r#"{"n": 9223372036854775807, "small": 5, "real": 1e300, "kind": {"type": "integer"}}"#,
            r#"{"n": -9223372036854775808}"#,
            r#"{"n": null, "real": -9223372036854775809}"#,
            r#"{"n": 7.0, "real": 18446744073709551616}"#,
        ] {
            assert!(fits(right).is_ok(), "{right}: {:?}", fits(right));
        }
        for wrong in [
            r#"{"n": 9223372036854775808}"#,
            r#"{"n": 18446744073709551615}"#,
            r#"{"n": 18446744073709551616}"#,
            r#"{"n": -9223372036854775809}"#,
            r#"{"n": -9223372036854776833}"#,
            r#"{"small": -9223372036854775809}"#,
            r#"{"small": 6}"#,
        ] {
            assert_eq!(fits(wrong).unwrap_err().code, "VALIDATION_FAILED", "{wrong}");
        }
    }
}
