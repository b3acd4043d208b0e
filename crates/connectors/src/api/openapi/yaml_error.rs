//! What is wrong with a YAML text, in words for whoever wrote it.

use super::names::shorten;
use serde_saphyr::Error;
use serde_saphyr::budget::BudgetBreach as Breach;

/// What is wrong, what to do about it, and where.
pub(super) fn explain(error: &Error) -> String {
    let error = error.without_snippet();
    if let Error::AliasError { error, .. } = error {
        return explain(error);
    }
    let what = what(error);
    match error.location() {
        Some(place) => format!("{what} (line {}, column {})", place.line(), place.column()),
        None => what,
    }
}

fn what(error: &Error) -> String {
    let words = match error {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            return format!("the key '{}' stands twice in one object; leave one out", shorten(key, 50));
        }
        // Our own words, or those of the grammar: "did not find expected key".
        Error::Message { msg, .. } | Error::ExternalMessage { msg, .. } => return shorten(msg, 200),
        Error::DuplicateMappingKey { .. } => "a key stands twice in one object; leave one out",
        Error::MultipleDocuments { .. } | Error::Budget { breach: Breach::Documents { .. }, .. } => {
            "it holds more than one YAML document (a line ---); give one"
        }
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            "it refers to itself (an anchor that contains itself); write it out"
        }
        Error::UnknownAnchor { .. } => "an alias (*name) has no anchor (&name) before it",
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. } => "its aliases make too much of it; write it out",
        Error::Budget { breach, .. } => too_much(breach),
        Error::MergeValueNotMapOrSeqOfMaps { .. } => "only objects can be merged with <<",
        Error::NonFiniteFloat { .. } => "a number is larger than numbers can be; write it in quotes",
        Error::UnsupportedTag { .. } => "a tag (!name) is not known; leave it out",
        Error::NullIntoString { .. } | Error::SerdeInvalidType { .. } | Error::Unexpected { .. } => {
            "the keys of an object must be texts"
        }
        Error::Eof { .. } => "it ends too early",
        Error::FoldedBlockScalarMustIndentContent { .. } => "the lines of a text must be indented",
        _ => "it is not written as YAML is",
    };
    words.to_owned()
}

fn too_much(breach: &Breach) -> &'static str {
    match breach {
        Breach::Depth { .. } => "it is nested too deep",
        Breach::Aliases { .. }
        | Breach::Anchors { .. }
        | Breach::MergeKeys { .. }
        | Breach::RecordedAnchorEvents { .. }
        | Breach::RecordedAnchorBytes { .. } => "it has too many anchors and aliases; write it out",
        _ => "it holds more values than are read",
    }
}

#[cfg(test)]
mod tests {
    use super::super::yaml::parse;

    #[test]
    fn says_what_is_wrong_in_words_of_our_own() {
        let endless = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for (text, expected) in [
            ("a: 1\na: 2", "the key 'a' stands twice in one object; leave one out (line 2, column 1)"),
            ("a: 1\n---\nb: 2\n", "it holds more than one YAML document (a line ---); give one"),
            ("a: &x [*x]", "it refers to itself (an anchor that contains itself); write it out"),
            ("a: &x\n  b: *x", "it refers to itself"),
            ("a: *x", "an alias (*name) has no anchor (&name) before it"),
            ("a: &x 1\nb:\n  <<: *x", "only objects can be merged with <<"),
            ("a: .inf", "a number is larger"),
            ("? [1]\n: 2", "the keys of an object must be texts"),
            ("null: 2", "the keys of an object must be texts"),
            (&endless, "it is nested too deep"),
            ("a: [1", "unclosed bracket '[' (line 1, column 4)"),
            ("a: 'x", "unclosed quote"),
            ("a: b: c", "mapping values are not allowed in this context"),
            ("a:\n\t- b", "tabs disallowed"),
        ] {
            let said = parse(text).map_or_else(|why| why, |value| format!("fine: {value}"));
            assert!(said.starts_with(expected), "{text}: {said}");
        }
    }
}
