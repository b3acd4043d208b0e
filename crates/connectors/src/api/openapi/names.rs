//! Names and words: what a document says, made legal and short enough for clients and models.

use sha2::{Digest, Sha256};
use std::collections::HashSet;

pub(super) const MAX_TITLE: usize = 100;
pub(super) const MAX_DESCRIPTION: usize = 1000;

/// What clients and models accept as the name of a tool or a parameter.
const MAX_NAME: usize = 64;

/// `_` and eight hexadecimal digits.
const SUFFIX: usize = 9;

/// A legal tool id that nobody has yet: the operation's own, or its method and path.
pub(super) fn tool_id(
    operation_id: Option<&str>,
    method: &str,
    path: &str,
    taken: &mut HashSet<String>,
) -> String {
    let own = operation_id.map(|id| words(id, is_tool_char)).filter(|id| !id.is_empty());
    let id = own.unwrap_or_else(|| {
        let path = words(path, is_tool_char);
        format!("{}{}{path}", method.to_ascii_lowercase(), if path.is_empty() { "" } else { "_" })
    });
    unique(&fitted(id, MAX_NAME), taken)
}

/// A legal service id made of a title.
pub(super) fn service_id(title: &str) -> String {
    let id = words(&title.to_ascii_lowercase(), |c| c.is_ascii_alphanumeric()).replace('_', "-");
    // A service's id stands before each of its tools' names, so it should not be long.
    let id: String = id.chars().take(32).collect();
    let id = id.trim_end_matches('-');
    if id.is_empty() { "api".to_owned() } else { id.to_owned() }
}

/// A name that models accept for an argument; the same one where it is legal already.
pub(super) fn argument(name: &str) -> String {
    let legal = words(name, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    fitted(if legal.is_empty() { "value".to_owned() } else { legal }, MAX_NAME)
}

/// The name, or the name with a number, that nobody has yet.
pub(super) fn unique(name: &str, taken: &mut HashSet<String>) -> String {
    let mut candidate = name.to_owned();
    let mut number = 2;
    while !taken.insert(candidate.clone()) {
        let suffix = format!("_{number}");
        candidate = format!("{}{suffix}", &name[..name.len().min(MAX_NAME - suffix.len())]);
        number += 1;
    }
    candidate
}

/// Runs of other characters become one `_`, and none at the ends.
fn words(text: &str, is_legal: impl Fn(char) -> bool) -> String {
    let mut result = String::new();
    let mut is_pending = false;
    for c in text.chars() {
        if is_legal(c) {
            if is_pending && !result.is_empty() {
                result.push('_');
            }
            is_pending = false;
            result.push(c);
        } else {
            is_pending = true;
        }
    }
    result
}

/// Dots are legal in our ids, but some clients do not take them.
fn is_tool_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// A name that is too long is cut, with a suffix made of the whole, so that two such names stay two.
fn fitted(name: String, max: usize) -> String {
    if name.len() <= max {
        return name;
    }
    let digest = Sha256::digest(&name);
    let suffix: String = digest[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    // Only ASCII comes here, so every byte is a place to cut.
    format!("{}_{suffix}", &name[..max - SUFFIX])
}

/// The words of a description: no tags, no control characters, cut at the end of a sentence or a word.
pub(super) fn shorten(text: &str, max: usize) -> String {
    let mut clean = String::new();
    let mut rest = text;
    // What is far beyond the limit is not even looked at.
    while let Some(c) = rest.chars().next().filter(|_| clean.len() < max * 8) {
        if let Some(after) = tag_end(rest) {
            rest = after;
            clean.push(' ');
            continue;
        }
        rest = &rest[c.len_utf8()..];
        clean.push(if c.is_control() { ' ' } else { c });
    }
    let clean = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    if clean.chars().count() <= max {
        return clean;
    }
    let cut: String = clean.chars().take(max.saturating_sub(1)).collect();
    if let Some(end) = cut.rfind(". ").filter(|end| *end > cut.len() / 2) {
        return cut[..=end].to_owned();
    }
    let end = cut.rfind(' ').filter(|end| *end > cut.len() / 2).unwrap_or(cut.len());
    format!("{}…", cut[..end].trim_end_matches([',', ';', ':', ' ']))
}

/// What stands behind an HTML tag, if the text begins with one.
fn tag_end(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('<')?;
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    let is_tag = inner.starts_with(|c: char| c.is_ascii_alphabetic());
    let end = inner.char_indices().take(200).find(|(_, c)| matches!(c, '>' | '<'))?;
    (is_tag && end.1 == '>').then(|| &inner[end.0 + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makes_legal_ids_and_keeps_those_that_are() {
        let mut taken = HashSet::new();
        let mut id = |operation: Option<&str>, path: &str| tool_id(operation, "GET", path, &mut taken);
        assert_eq!(id(Some("listPets"), "/"), "listPets");
        assert_eq!(id(Some("listPets"), "/"), "listPets_2");
        assert_eq!(id(Some("repos/list-for.org"), "/"), "repos_list-for_org");
        assert_eq!(id(None, "/pets/{petId}/toys"), "get_pets_petId_toys");
        assert_eq!(id(None, "/"), "get");
        assert_eq!(id(Some("列出"), "/a"), "get_a");
        let long = "a".repeat(100);
        let (first, second) = (id(Some(&long), "/"), id(Some(&format!("{long}b")), "/"));
        assert_eq!((first.len(), second.len()), (64, 64));
        assert_ne!(first, second);
        assert_eq!(id(Some(&long), "/").len(), 64);
    }

    #[test]
    fn makes_service_ids_of_titles() {
        for (title, id) in [
            ("Swagger Petstore - OpenAPI 3.0", "swagger-petstore-openapi-3-0"),
            ("  ", "api"),
            ("宠物", "api"),
            ("A title that is much longer than anybody wants", "a-title-that-is-much-longer-than"),
        ] {
            assert_eq!(service_id(title), id);
        }
    }

    #[test]
    fn shortens_at_the_end_of_a_sentence_or_a_word() {
        assert_eq!(shorten("<p>Lists   <b>all</b>\npets.</p>", 100), "Lists all pets.");
        assert_eq!(shorten("a < b and c > d", 100), "a < b and c > d");
        assert_eq!(shorten("One sentence. Another sentence.", 20), "One sentence.");
        assert_eq!(shorten("wordone wordtwo wordthree", 20), "wordone wordtwo…");
        assert_eq!(shorten("ü".repeat(50).as_str(), 10).chars().count(), 10);
        assert_eq!(shorten("a\u{0}b\u{1b}[31m", 10), "a b [31m");
    }
}
