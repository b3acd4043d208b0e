//! Personal data in texts: addresses of mail, numbers of telephones, cards, accounts and social security.

use serde_json::{Map, Value, json};
use tool::pii::PERSONAL;

/// Where there is personal data, and of which kind; never the data itself.
pub(super) fn find(value: &Value) -> Vec<Value> {
    let mut findings = Vec::new();
    look(value, "", &mut findings);
    findings
}

fn look(value: &Value, path: &str, findings: &mut Vec<Value>) {
    match value {
        Value::String(text) => {
            let mut kinds = Vec::new();
            replace(text, &mut |kind| kinds.push(kind));
            kinds.dedup();
            findings.extend(
                kinds.into_iter().map(
                    |kind| json!({"path": path, "kind": kind, "message": format!("{kind} at '{path}'")}),
                ),
            );
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| look(item, &format!("{path}[{index}]"), findings));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| look(field, &crate::cursor::join(path, name), findings));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The value with `[EMAIL]` and the like in the place of personal data.
pub(super) fn redact(value: &Value) -> Value {
    match value {
        Value::String(text) => replace(text, &mut |_| {}).into(),
        Value::Array(items) => items.iter().map(redact).collect(),
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(name, field)| (name.clone(), redact(field))).collect::<Map<_, _>>(),
        ),
        other => other.clone(),
    }
}

fn replace(text: &str, found: &mut dyn FnMut(&'static str)) -> String {
    PERSONAL.iter().fold(text.to_owned(), |text, kind| {
        kind.replace(&text, &mut |_| {
            found(kind.name);
            format!("[{}]", kind.name.to_uppercase())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn personal_data_is_found_and_redacted() {
        for (text, wanted) in [
            ("write to ann.lee+x@mail.example.org!", "write to [EMAIL]!"),
            ("card 4111 1111 1111 1111, not 4111 1111 1111 1112", "card [CARD], not 4111 1111 1111 1112"),
            ("DE89 3704 0044 0532 0130 00 is mine", "[IBAN] is mine"),
            ("DE88 3704 0044 0532 0130 00 is none", "DE88 3704 0044 0532 0130 00 is none"),
            ("call +49 30 1234567 or +1 (212) 555-0100", "call [PHONE] or [PHONE]"),
            ("ssn 078-05-1120", "ssn [SSN]"),
            ("order 2026-01-02, 12345678 pieces, v1.2.3", "order 2026-01-02, 12345678 pieces, v1.2.3"),
        ] {
            assert_eq!(redact(&json!({"t": [text]})), json!({"t": [wanted]}), "{text}");
            let findings = find(&json!({"t": [text]}));
            assert_eq!(findings.is_empty(), text == wanted);
            assert!(findings.iter().all(|finding| finding["path"] == "t[0]"));
        }
    }
}
