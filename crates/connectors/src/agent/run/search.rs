//! Tool search inside a run: a model with many tools is told of two, which find and call the rest.

use super::super::model::{Offer, ToolCall};
use super::offers::{Bound, Offered};
use ranking::{CALL_TOOL, FIND_TOOLS, Toolbox, meant_by_call_tool};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::sync::Arc;
use tool::{Arguments, CallableTool, Error, Result, Tool};

/// A model that has more tools finds them.
const MANY_TOOLS: usize = 40;
/// Names that are told for one that is none.
const NEAREST: usize = 3;

/// What a model means by a call of one of the two.
pub(super) enum Meant {
    /// It looks for tools with these arguments.
    Find(Arguments),
    /// It calls a tool.
    Call(ToolCall),
    /// It has written something that is neither.
    Wrong(String),
}

impl Offered<'_> {
    /// The model is told of two tools instead of all.
    pub(super) fn is_searched(&self) -> bool {
        self.tools.len() > MANY_TOOLS
    }

    /// The two.
    pub(super) fn searching(&self) -> Vec<Offer> {
        self.toolbox().definitions().iter().filter_map(|definition| offer(definition)).collect()
    }

    /// What is meant by a call of one of the two, where they are offered.
    pub(super) fn meant(&self, call: &ToolCall) -> Option<Meant> {
        let is_find = call.name == FIND_TOOLS;
        if !self.is_searched() || !is_find && call.name != CALL_TOOL {
            return None;
        }
        let meant = arguments(call).and_then(|arguments| match is_find {
            true => Ok(Meant::Find(arguments)),
            false => meant_by_call_tool(&arguments).map(|through| {
                let arguments = through.arguments.to_raw().get().to_owned();
                Meant::Call(ToolCall { name: through.name, arguments, ..call.clone() })
            }),
        });
        Some(meant.unwrap_or_else(|error| Meant::Wrong(error.in_words())))
    }

    /// What there is instead of a tool that there is not.
    pub(super) fn instead_of(&self, name: &str) -> String {
        if !self.is_searched() {
            let names: Vec<_> = self.tools.iter().map(|bound| bound.name.as_str()).collect();
            return format!("there are: {}", names.join(", "));
        }
        match self.toolbox().nearest(name, NEAREST).as_slice() {
            [] => format!("look for it with {FIND_TOOLS}"),
            names => {
                format!("the nearest are '{}'; others are found with {FIND_TOOLS}", names.join("', '"))
            }
        }
    }

    /// What the tools are found by.
    pub(super) fn toolbox(&self) -> &Toolbox {
        self.toolbox.get_or_init(|| Toolbox::of(self.tools.iter().map(told).collect()))
    }
}

/// A tool as the model may know it: under its name there, and without what is set.
fn told(bound: &Bound<'_>) -> CallableTool {
    let CallableTool { uri, tool, run_kind, .. } = &bound.callable;
    let is_changed = bound.binding.description.is_some() || !bound.binding.preset.is_empty();
    let changed = is_changed.then(|| {
        let definition = json!({
            "name": bound.name,
            "description": bound.description(),
            "inputSchema": bound.parameters,
        });
        Tool::from_raw(&to_raw_value(&definition).ok()?).ok()
    });
    let tool = changed.flatten().map_or_else(|| tool.clone(), Arc::new);
    CallableTool { name: bound.name.clone(), uri: uri.clone(), tool, run_kind: *run_kind }
}

fn offer(definition: &str) -> Option<Offer> {
    let tool = Tool::from_raw(serde_json::from_str::<&RawValue>(definition).ok()?).ok()?;
    Some(Offer {
        name: tool.name().to_owned(),
        description: tool.description().unwrap_or_default().to_owned(),
        parameters: tool.input_schema().to_owned().into(),
    })
}

fn arguments(call: &ToolCall) -> Result<Arguments> {
    let text = call.arguments.trim();
    let text = if text.is_empty() { "{}" } else { text };
    match RawValue::from_string(text.to_owned()) {
        Ok(raw) => Arguments::from_raw(raw),
        Err(error) => {
            let why = error.to_string();
            let message = format!("the arguments of '{}' are no JSON ({})", call.name, tool::plain(&why));
            Err(Error::invalid_input(message))
        }
    }
}

/// The arguments by which repetitions of a call are known: what the model wrote, however it wrote it.
pub(super) fn repeated_as(call: &ToolCall) -> String {
    let text = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
    let mut written = serde_json::from_str::<Value>(text).unwrap_or_default();
    written.sort_all_objects();
    spell_alike(&mut written);
    written.to_string()
}

/// Gives numbers of one value one spelling: `0`, `-0`, `0.0` and `0e0` are the same to a tool.
fn spell_alike(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(spell_alike),
        Value::Array(items) => items.iter_mut().for_each(spell_alike),
        Value::Number(number) => {
            let whole = number.as_f64().filter(|_| number.is_f64()).filter(|float| float.fract() == 0.0);
            // Beyond these a float is no whole number that a tool could tell from its neighbours.
            if let Some(float) = whole.filter(|float| float.abs() < 9_007_199_254_740_992.0) {
                *value = (float as i64).into();
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AG-10
    #[test]
    fn knows_a_repetition_by_its_values() {
        let repeated = |arguments: &str| {
            let call = ToolCall { arguments: arguments.to_owned(), ..ToolCall::default() };
            repeated_as(&call)
        };
        for zero in ["0", "-0", "0.0", "0e0", "-0.0", "0E+5"] {
            let same = format!("{{\"b\": [{zero}], \"a\": 120.0}}");
            assert_eq!(repeated(&same), repeated(r#"{"a":12e1,"b":[0]}"#), "{zero}");
        }
        for other in ["1", "0.1", "\"0\"", "null", "1e-7"] {
            assert_ne!(repeated(other), repeated("0"), "{other}");
        }
        assert_ne!(repeated("9007199254740993"), repeated("9007199254740992.0"));
        assert_eq!(repeated(""), repeated("{}"));
    }
}
