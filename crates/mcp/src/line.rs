//! One message, one line: what writes lines writes messages through this, so that no payload can end one.

/// The message without line ends. In JSON they stand between words alone, where they mean nothing: in a string each
/// is written as an escape. Some readers end a line at `\r`, too. A message without any, as most are, stays as it is.
#[must_use]
pub fn one_line(mut message: String) -> String {
    if memchr::memchr2(b'\n', b'\r', message.as_bytes()).is_some() {
        message.retain(|character| !matches!(character, '\n' | '\r'));
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;
    use serde_json::value::RawValue;

    /// JSON with the given white space between its words.
    fn written(value: &Value, spaces: &mut impl Iterator<Item = String>) -> String {
        let mut space = || spaces.next().unwrap_or_default();
        let (before, after) = (space(), space());
        let inside = match value {
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| written(item, spaces)).collect();
                format!("[{}]", items.join(","))
            }
            Value::Object(fields) => {
                let field = |(name, field): (&String, &Value)| {
                    format!("{}:{}", written(&Value::from(name.as_str()), spaces), written(field, spaces))
                };
                let fields: Vec<_> = fields.iter().map(field).collect();
                format!("{{{}}}", fields.join(","))
            }
            other => other.to_string(),
        };
        [before, inside, after].concat()
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[\\r\\n\\t \u{2028}\u{2029}\u{85}\"\\\\]{0,9}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn says_the_same_in_one_line_whatever_stands_between_the_words(
            value in any_json(),
            spaces in prop::collection::vec("[ \\t\\r\\n]{0,3}", 0..64),
        ) {
            let text = written(&value, &mut spaces.into_iter());
            let line = one_line(text.clone());
            prop_assert!(!line.contains(['\n', '\r']));
            prop_assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
            prop_assert_eq!(line, text.replace(['\n', '\r'], ""), "every other byte stays");
        }
    }

    #[test]
    fn a_string_in_json_has_no_line_ends_to_lose() {
        for text in ["\"a\nb\"", "\"a\rb\""] {
            assert!(serde_json::from_str::<&RawValue>(text).is_err(), "{text:?} is no payload");
        }
    }
}
