//! Arguments that the settings of an agent choose: what its templates give, in the types that the tool takes.

use super::super::binding::Preset;
use super::offers::Bound;
use crate::shared::digits;
use serde_json::{Map, Value};
use tool::schema::Schema;

/// Why a call is not made.
pub(super) struct Unfit {
    /// For the model.
    pub(super) told: String,
    /// For those who have set what the model does not see.
    pub(super) noted: Option<String>,
}

impl From<String> for Unfit {
    fn from(told: String) -> Self {
        Self { told, noted: None }
    }
}

/// The arguments that are set, for this data.
///
/// # Errors
/// Which has no value, or one that the tool does not take.
pub(super) fn values(bound: &Bound<'_>, data: &Value) -> Result<Map<String, Value>, Unfit> {
    let schema: Value = serde_json::from_str(bound.callable.tool.input_schema().get()).unwrap_or_default();
    let mut values = Map::new();
    for (name, preset) in &bound.binding.preset {
        let value = preset.render(data).map_err(|why| {
            format!(
                "'{}' cannot be called: its argument '{name}' is set, and has no value ({why})",
                bound.name
            )
        })?;
        let wanted = &schema["properties"][name];
        let value = typed(preset, value, wanted);
        if !fits(&value, wanted) {
            return Err(unfit(bound, name));
        }
        values.insert(name.clone(), value);
    }
    Ok(values)
}

/// The model never learns what it has not chosen.
fn unfit(bound: &Bound<'_>, name: &str) -> Unfit {
    let (tool, uri) = (&bound.name, &bound.callable.uri);
    Unfit {
        told: format!(
            "'{tool}' cannot be called now: something that is set for it does not fit; go on without it"
        ),
        noted: Some(format!("the preset '{name}' of {uri} gives a value that the tool does not take")),
    }
}

/// What templates have written, read as JSON where the tool takes something else than texts.
fn typed(preset: &Preset, value: Value, schema: &Value) -> Value {
    match (preset, value) {
        (Preset::Text(_), Value::String(text)) if !takes_texts(schema) => {
            digits::read(text.trim()).unwrap_or(Value::String(text))
        }
        (Preset::List(presets), Value::Array(items)) => {
            let typed = |(preset, item)| typed(preset, item, &schema["items"]);
            presets.iter().zip(items).map(typed).collect()
        }
        (Preset::Fields(presets), Value::Object(mut fields)) => {
            for (name, preset) in presets {
                if let Some(field) = fields.get_mut(name) {
                    *field = typed(preset, field.take(), &schema["properties"][name]);
                }
            }
            Value::Object(fields)
        }
        (_, value) => value,
    }
}

/// Texts are among what the schema lets in, or it does not say.
fn takes_texts(schema: &Value) -> bool {
    match &schema["type"] {
        Value::String(wanted) => wanted == "string",
        Value::Array(wanted) => wanted.iter().any(|wanted| wanted == "string"),
        _ => true,
    }
}

fn fits(value: &Value, schema: &Value) -> bool {
    let value: Value = serde_json::from_str(&digits::to_json(value)).unwrap_or_default();
    if value.is_null() || !schema.is_object() {
        return true;
    }
    // One that speaks of other parts of the whole is checked with the whole.
    Schema::compile(schema, "field").map_or(true, |compiled| compiled.check(&value).is_empty())
}
