//! What one tool may say about its arguments, counted in bytes of JSON while it is written.

use serde_json::Value;

#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    whole: usize,
    left: usize,
    is_spent: bool,
}

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Self { whole: bytes, left: bytes, is_spent: false }
    }

    pub(super) fn used(&self) -> usize {
        self.whole - self.left
    }

    /// Something did not fit. Nothing fits from then on.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// Takes so many bytes, if there are so many.
    pub(super) fn spend(&mut self, bytes: usize) -> bool {
        let rest = self.left.checked_sub(bytes).filter(|_| !self.is_spent);
        self.is_spent = rest.is_none();
        self.left = rest.unwrap_or_default();
        !self.is_spent
    }

    /// Takes the bytes of a field.
    pub(super) fn spend_field(&mut self, name: &str, value: &Value) -> bool {
        self.spend(name.len() + 4) && self.spend_value(value)
    }

    /// Takes roughly the bytes of a value as text; one that is too large is not walked to its end.
    pub(super) fn spend_value(&mut self, value: &Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.spend(8),
            Value::String(text) => self.spend(text.len() + 2),
            Value::Array(items) => self.spend(2) && items.iter().all(|item| self.spend_value(item)),
            Value::Object(fields) => {
                self.spend(2) && fields.iter().all(|(name, value)| self.spend_field(name, value))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counts_about_what_json_takes() {
        let value = json!({ "type": "object", "properties": { "a": { "enum": ["x", "y", null] } } });
        let mut budget = Budget::new(1000);
        assert!(budget.spend_value(&value));
        let (counted, real) = (budget.used(), value.to_string().len());
        assert!(counted >= real && counted < real * 2, "{counted} for {real}");
    }

    #[test]
    fn nothing_fits_after_something_did_not() {
        let mut budget = Budget::new(10);
        assert!(!budget.spend_value(&json!("a text of some length")));
        assert!(!budget.spend(0) && budget.is_spent());
        assert_eq!(budget.used(), 10);
    }
}
