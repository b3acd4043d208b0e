//! Personal data in texts: addresses of mail, numbers of telephones, cards, accounts and social security.

use serde_json::{Map, Value, json};
use tool::pii::{self, PERSONAL};

/// Where there is personal data, and of which kind; never the data itself.
pub(super) fn find(value: &Value) -> Vec<Value> {
    let mut findings = Vec::new();
    look(value, "", &mut findings);
    findings
}

fn look(value: &Value, path: &str, findings: &mut Vec<Value>) {
    match value {
        Value::String(text) => look_at(text, path, findings),
        Value::Number(number) => look_at(&number.to_string(), path, findings),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| look(item, &format!("{path}[{index}]"), findings));
        }
        Value::Object(fields) => {
            for (at, (name, field)) in fields.iter().enumerate() {
                // A name that is personal data itself stands in no path.
                let safe = if replace(name, &mut |_| {}) == *name { name.clone() } else { format!("[{at}]") };
                let path = crate::cursor::join(path, &safe);
                look_at(name, &path, findings);
                look(field, &path, findings);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn look_at(text: &str, path: &str, findings: &mut Vec<Value>) {
    let mut kinds = Vec::new();
    replace(text, &mut |kind| kinds.push(kind));
    kinds.dedup();
    let finding = |kind| json!({"path": path, "kind": kind, "message": format!("{kind} at '{path}'")});
    findings.extend(kinds.into_iter().map(finding));
}

/// The value with `[EMAIL]` and the like in the place of personal data.
pub(super) fn redact(value: &Value) -> Value {
    match value {
        Value::String(text) => replace(text, &mut |_| {}).into(),
        Value::Array(items) => items.iter().map(redact).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, field)| (replace(name, &mut |_| {}), redact(field)))
                .collect::<Map<_, _>>(),
        ),
        Value::Number(number) => {
            let text = number.to_string();
            let redacted = replace(&text, &mut |_| {});
            if redacted == text { value.clone() } else { redacted.into() }
        }
        Value::Null | Value::Bool(_) => value.clone(),
    }
}

/// The text with the kinds of personal data in their place; a text without any stays as it is.
fn replace(text: &str, found: &mut dyn FnMut(&'static str)) -> String {
    let kinds = PERSONAL.iter().map(|kind| (kind.name, kind));
    let replaced = pii::replace(text, kinds, &mut |name, _| {
        found(name);
        format!("[{}]", name.to_uppercase())
    });
    replaced.unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn personal_data_is_found_as_a_number_in_a_name_and_in_wide_digits() {
        let value = json!({"card": 4_111_111_111_111_111_u64, "n": 12, "ann@mail.example.org": {"a": "４１１１ １１１１ １１１１ １１１１ 円"}});
        let redacted = json!({"card": "[CARD]", "n": 12, "[EMAIL]": {"a": "[CARD] 円"}});
        assert_eq!(redact(&value), redacted);
        let findings = find(&value);
        assert_eq!(findings.len(), 3, "{findings:?}");
        assert!(!json!(findings).to_string().contains("ann@"), "{findings:?}");
        assert_eq!(
            redact(&json!("１２ 円")),
            json!("１２ 円"),
            "what is no personal data stays as it is written"
        );
    }

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
