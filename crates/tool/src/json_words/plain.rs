//! What parsers say about types, in the words of whoever wrote the text: nothing of our types, nothing of Rust.

use std::borrow::Cow;

/// What a parser calls a thing with a name of ours behind it, and what it is in JSON.
const NAMED: [(&str, &str); 9] = [
    ("internally tagged enum ", "an object"),
    ("adjacently tagged enum ", "an object"),
    ("newtype struct ", "another value"),
    ("newtype variant ", "another value"),
    ("struct variant ", "an object"),
    ("tuple struct ", "an array"),
    ("tuple variant ", "an array"),
    ("struct ", "an object"),
    ("enum ", "one of the known words"),
];

/// What a parser calls a thing, and what it is in JSON.
const CALLED: [(&str, &str); 18] = [
    ("a borrowed string", "a string"),
    ("a sequence", "an array"),
    ("a map", "an object"),
    ("a boolean", "true or false"),
    ("bool", "true or false"),
    ("any valid JSON value", "a JSON value"),
    ("usize", "a whole number that is not negative"),
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number that is not negative"),
    ("u64", "a whole number that is not negative"),
    ("i8", "a whole number"),
    ("i16", "a whole number"),
    ("i32", "a whole number"),
    ("i64", "a whole number"),
    ("f32", "a number"),
    ("f64", "a number"),
    ("unit", "null"),
];

/// What stands in the text, as a parser calls it, and what it is in JSON.
const FOUND: [(&str, &str); 7] = [
    ("invalid type: sequence", "invalid type: array"),
    ("invalid type: map", "invalid type: object"),
    ("invalid type: unit value", "invalid type: null"),
    ("invalid type: floating point", "invalid type: number"),
    ("invalid type: integer", "invalid type: number"),
    ("invalid type: newtype struct", "invalid type: value"),
    ("unknown variant", "unknown value"),
];

/// The message of a parser, in plain words; any other text as it is.
#[must_use]
pub fn plain(message: &str) -> Cow<'_, str> {
    if let Some(at) = message.find("data did not match any variant of untagged enum ") {
        let rest = after_name(message[at..].rsplit_once("enum ").map_or("", |(_, rest)| rest));
        return Cow::Owned(format!("{}it has none of the forms that are known here{rest}", &message[..at]));
    }
    let mut text = Cow::Borrowed(message);
    for (theirs, ours) in FOUND {
        if text.contains(theirs) {
            text = Cow::Owned(text.replace(theirs, ours));
        }
    }
    let Some((before, wanted)) = text.split_once("expected ") else { return text };
    match in_json(wanted) {
        Some(wanted) => Cow::Owned(format!("{before}expected {wanted}")),
        None => text,
    }
}

fn in_json(wanted: &str) -> Option<String> {
    for (theirs, ours) in NAMED {
        if let Some(rest) = wanted.strip_prefix(theirs) {
            return Some(format!("{ours}{}", after_name(rest)));
        }
    }
    CALLED.iter().find_map(|(theirs, ours)| {
        let rest = wanted.strip_prefix(theirs)?;
        rest.chars().next().is_none_or(|next| !next.is_alphanumeric()).then(|| format!("{ours}{rest}"))
    })
}

/// What stands behind a name of ours.
fn after_name(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read into")]
    struct Inner {
        port: u16,
        #[serde(default)]
        list: Vec<bool>,
        #[serde(default)]
        by_name: BTreeMap<String, f64>,
        #[serde(default)]
        either: Option<Either>,
        #[serde(default)]
        word: Option<Word>,
        #[serde(default)]
        tagged: Option<Tagged>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only read into")]
    enum Either {
        Number(u8),
        Text(String),
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        One,
        Two,
    }

    #[derive(Debug, Deserialize)]
    #[serde(tag = "type")]
    enum Tagged {
        A,
    }

    #[test]
    fn says_what_is_wrong_without_words_of_rust() {
        for (text, words) in [
            ("7", "invalid type: number `7`, expected an object"),
            (r#""secret""#, "expected an object"),
            (r#"{"port":-1}"#, "a whole number from 0 to 65535"),
            (r#"{"port":"x"}"#, "a whole number from 0 to 65535"),
            (r#"{"port":1,"list":{}}"#, "invalid type: object, expected an array"),
            (r#"{"port":1,"list":[1]}"#, "expected true or false"),
            (r#"{"port":1,"by_name":[]}"#, "invalid type: array, expected an object"),
            (r#"{"port":1,"by_name":{"a":null}}"#, "invalid type: null, expected a number"),
            (r#"{"port":1,"either":[]}"#, "none of the forms"),
            (r#"{"port":1,"word":"three"}"#, "unknown value `three`, expected `one` or `two`"),
            (r#"{"port":1,"tagged":7}"#, "expected an object"),
            ("{}", "missing field `port`"),
        ] {
            let error = serde_json::from_str::<Inner>(text).unwrap_err().to_string();
            let plain = plain(&error);
            assert!(plain.contains(words), "{text}: {error} → {plain}");
            for word in
                ["struct", "enum", "variant", "u16", "f64", "Inner", "Either", "Tagged", "sequence", "map"]
            {
                assert!(!plain.contains(word), "{text}: {plain}");
            }
        }
        assert_eq!(plain("expected unity, found struct"), "expected unity, found struct");
    }
}
