//! Masks what is secret by name in texts that hold JSON, whole, cut, or within strings of other JSON.

use super::is_secret_name;
use tool::secret::MASK;

/// A name is no longer than this.
const MAX_NAME_BYTES: usize = 128;

/// The text with `***` for the value of every field that has the name of a secret.
pub(super) fn mask_named(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((depth, open)) = next_quote(rest, 0) {
        let name_begins = open + 1;
        let Some(name_ends) = closing(&rest[name_begins..], depth).map(|end| name_begins + end) else {
            // What is cut within a string may hold JSON in it.
            masked.push_str(&rest[..name_begins]);
            rest = &rest[name_begins..];
            continue;
        };
        let name = rest[name_begins..name_ends].trim_end_matches('\\');
        let behind = name_ends + 1;
        let gap = rest[behind..].len() - rest[behind..].trim_start().len();
        let value = match rest[behind + gap..].strip_prefix(':') {
            Some(value) if name.len() <= MAX_NAME_BYTES && is_secret_name(name) => value.trim_start(),
            // No name, or none that matters. What is no name may be the gap between two, or hold JSON itself.
            other => {
                let step = if other.is_some() { behind } else { name_begins };
                masked.push_str(&rest[..step]);
                rest = &rest[step..];
                continue;
            }
        };
        let value_begins = rest.len() - value.len();
        masked.push_str(&rest[..value_begins]);
        let (shown, end) = mask_value(value);
        masked.push_str(&shown);
        rest = &value[end..];
    }
    masked.push_str(rest);
    masked
}

/// What stands for a value, and where the value ends.
fn mask_value(value: &str) -> (String, usize) {
    let bytes = value.as_bytes();
    if let Some((depth, at)) = next_quote(value, 0).filter(|(depth, at)| *depth == *at) {
        let quote = &value[..=at];
        return match closing(&value[at + 1..], depth) {
            Some(end) => (format!("{quote}{MASK}{quote}"), at + 1 + end + 1),
            None => (format!("{quote}{MASK}"), value.len()),
        };
    }
    if matches!(bytes.first(), Some(b'{' | b'[')) {
        return (format!("\"{MASK}\""), group_end(value).unwrap_or(value.len()));
    }
    let end = value.find([',', '}', ']', '\n', '\\', '"']).unwrap_or(value.len());
    match value[..end].trim() {
        "" | "null" | "true" | "false" => (value[..end].to_owned(), end),
        _ => (format!("\"{MASK}\""), end),
    }
}

/// Where an object or a list ends that a text begins with. Brackets in strings are none.
fn group_end(value: &str) -> Option<usize> {
    let (mut open, mut at) = (0_usize, 0);
    while let Some(byte) = value.as_bytes().get(at) {
        match byte {
            b'{' | b'[' => open += 1,
            b'}' | b']' => open -= 1,
            b'"' => {
                let (depth, _) = next_quote(value, at)?;
                at += 1 + closing(&value[at + 1..], depth)?;
            }
            _ => {}
        }
        at += 1;
        if open == 0 {
            return Some(at);
        }
    }
    None
}

/// The next quote from a place on, and how many backslashes stand before it.
fn next_quote(text: &str, from: usize) -> Option<(usize, usize)> {
    let at = from + text[from..].find('"')?;
    let slashes = text.as_bytes()[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
    Some((slashes, at))
}

/// Where the quote stands that closes what one with so many backslashes has opened.
fn closing(text: &str, depth: usize) -> Option<usize> {
    let mut from = 0;
    while let Some((slashes, at)) = next_quote(text, from) {
        let is_closing = match depth {
            0 => slashes % 2 == 0,
            depth => slashes <= depth,
        };
        if is_closing {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_values_by_their_names() {
        for (text, expected) in [
            (r#"{"a":1,"token":"t\"x","b":"c"}"#, r#"{"a":1,"token":"***","b":"c"}"#),
            (r#"{"password" : 1234, "b":[1]}"#, r#"{"password" : "***", "b":[1]}"#),
            (r#"{"credentials":{"a":["b"]},"c":2}"#, r#"{"credentials":"***","c":2}"#),
            (r#"{"secret":null,"token":true}"#, r#"{"secret":null,"token":true}"#),
            (r#"{"said":"token: abc"}"#, r#"{"said":"token: abc"}"#),
            (r#"["token","abc"]"#, r#"["token","abc"]"#),
            (r#"{"token":"abc is cut he"#, r#"{"token":"***"#),
            (r#"{"text":"{\"token\":\"abc is cut he"#, r#"{"text":"{\"token\":\"***"#),
            (
                r#"{"text":"{\"n\":1,\"token\":\"abc\",\"m\":"#,
                r#"{"text":"{\"n\":1,\"token\":\"***\",\"m\":"#,
            ),
            (r#"{"credentials":{"a":"}","b":"\"]x"},"c":2}"#, r#"{"credentials":"***","c":2}"#),
            (
                r#""{\"credentials\":{\"a\":\"}\",\"b\":\"x\"},\"c\":2}""#,
                r#""{\"credentials\":"***",\"c\":2}""#,
            ),
            (r#"{"text":"{\"api_key\":\"abc\",\"n\":1}"}"#, r#"{"text":"{\"api_key\":\"***\",\"n\":1}"}"#),
            ("no JSON \" at all: \"", "no JSON \" at all: \""),
            ("", ""),
        ] {
            assert_eq!(mask_named(text), expected);
        }
    }

    #[test]
    fn takes_any_text() {
        for text in [
            "\"",
            "\\\"",
            "\"token\":",
            "\"token\":\"",
            "\"token\":[[",
            "\"token\"",
            "ü\"token\":ü",
            "\"\"\"\"",
        ] {
            let masked = mask_named(text);
            assert!(masked.len() <= text.len() + 10, "{masked}");
        }
        let long = "\"a\":".repeat(100_000);
        assert_eq!(mask_named(&long), long);
        // Strings that open deeper and deeper, and never close.
        let deeper: String = (0..350).map(|slashes| "\\".repeat(slashes) + "\"").collect();
        assert_eq!(mask_named(&deeper), deeper);
    }
}
