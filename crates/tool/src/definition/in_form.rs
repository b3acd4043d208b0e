//! A service's definition of a tool, in the form that MCP gives it.

use super::Tool;
use crate::form::{Formed, Need, TOOL};
use crate::{Error, Result};
use serde_json::value::RawValue;

impl Tool {
    /// The same tool as every client can read it, and the fields that had to be changed or left out for that.
    ///
    /// # Errors
    /// When it takes something else than an object.
    pub fn in_form(mut self) -> Result<(Self, Vec<String>)> {
        let mut changed = Vec::new();
        for (key, value) in std::mem::take(&mut self.fields) {
            let Some(field) = TOOL.iter().find(|field| field.name == key) else {
                self.fields.push((key, value));
                continue;
            };
            match (field.form.apply(value.get()), &field.need) {
                (Formed::AsItIs, _) => {
                    self.fields.push((key, value));
                    continue;
                }
                (Formed::Changed(text), _) => {
                    let value = RawValue::from_string(text).map_err(|error| {
                        Error::internal("a definition cannot be written").caused_by(error)
                    })?;
                    self.fields.push((key.clone(), value));
                }
                (Formed::Unusable, Need::Required) => {
                    let message = format!("the {key} of '{}' is not of type object", self.name);
                    return Err(Error::upstream(message));
                }
                (Formed::Unusable, Need::Else(other)) if value.get() != "null" => {
                    let other = RawValue::from_string((*other).to_owned()).unwrap_or_default();
                    self.fields.push((key.clone(), other));
                }
                (Formed::Unusable, _) => {}
            }
            changed.push(key);
        }
        if let Some(schema) = self.field("inputSchema").filter(|_| !changed.is_empty()) {
            self.input_schema = schema.to_owned().into();
        }
        Ok((self, changed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MC-2
    #[test]
    fn a_tool_that_takes_no_object_is_refused() {
        let tool =
            |definition: &str| Tool::from_raw(&RawValue::from_string(definition.into()).unwrap()).unwrap();
        let (same, changed) = tool(r#"{"name":"a","inputSchema":{"type":"object"}}"#).in_form().unwrap();
        assert_eq!((same.input_schema().get(), changed.len()), (r#"{"type":"object"}"#, 0));
        let (other, changed) = tool(r#"{"title":null,"name":"a","inputSchema":{}}"#).in_form().unwrap();
        assert_eq!((other.input_schema().get(), changed.len()), (r#"{"type":"object"}"#, 2));
        assert_eq!(other.listed_as("a", None), r#"{"name":"a","inputSchema":{"type":"object"}}"#);
        let error = tool(r#"{"name":"a","inputSchema":{"type":"array"}}"#).in_form().unwrap_err();
        assert!(error.message().contains("'a' is not of type object"), "{error}");
    }
}
