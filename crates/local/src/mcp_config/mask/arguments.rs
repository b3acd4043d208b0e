//! Secrets among the words of a command line, where a flag says what the next word is.

use super::{hide, is_reference, is_secret, last_word, masked, masked_url};
use crate::mcp_config::token::without_keys;
use serde_json::Value;
use tool::secret::MASK;

/// What stands before a colon in package names and the like, which are no logins.
const NOT_USERS: [&str; 7] = ["npm", "jsr", "git", "github", "gitlab", "file", "workspace"];

/// What the words after a flag are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Plain,
    Secret,
    Header,
    Login,
}

/// A list may be one of arguments, where a flag says what the next one is.
pub(super) fn hide_arguments(items: &mut [Value]) {
    let mut next = Next::Plain;
    for item in items {
        let this = std::mem::replace(&mut next, Next::Plain);
        match item {
            Value::String(text) if this == Next::Plain || text.starts_with('-') => {
                (*text, next) = masked_words(text);
            }
            Value::String(text) => *text = masked_after(this, text),
            Value::Number(_) if this == Next::Secret => *item = MASK.into(),
            _ => hide(item),
        }
    }
}

/// A text with the secrets among its words masked.
pub fn masked_text(text: &str) -> String {
    masked_words(text).0
}

/// The text that follows a flag.
fn masked_after(flag: Next, text: &str) -> String {
    let value = match (flag, text.find(':')) {
        (Next::Header | Next::Login, Some(at)) => at + 1,
        (Next::Plain | Next::Login, _) => return masked_text(text),
        (Next::Secret | Next::Header, _) => 0,
    };
    format!("{}{}", &text[..value], masked(&text[value..]))
}

/// The text with the secrets among its words masked, and what the text after it is.
fn masked_words(text: &str) -> (String, Next) {
    let mut result = String::with_capacity(text.len());
    let mut next = Next::Plain;
    let mut rest = text;
    while !rest.is_empty() {
        let (gap, after_gap) = rest.split_at(rest.len() - rest.trim_start().len());
        result.push_str(gap);
        let (word, after) = after_gap.split_at(piece_length(after_gap));
        let bare = word.trim_matches(['"', '\'']);
        match next {
            Next::Secret if !bare.starts_with('-') => {
                let (secret, after) = after_gap.split_at(word_length(after_gap));
                result.push_str(&masked(secret));
                (next, rest) = (Next::Plain, after);
                continue;
            }
            // They hold spaces.
            Next::Header | Next::Login if !bare.starts_with('-') => {
                result.push_str(&masked_after(next, after_gap));
                return (result, Next::Plain);
            }
            _ => next = flag(bare),
        }
        let Some(at) = value_of_header(after_gap).or_else(|| value_of_secret(word)) else {
            result.push_str(&masked_word(word));
            rest = after;
            continue;
        };
        let (name, value) = after_gap.split_at(at);
        result.push_str(&without_keys(name));
        match value.split_whitespace().next() {
            None => return (result + value, Next::Secret),
            Some(first) if is_reference(first) || ["true", "false"].contains(&first) => rest = value,
            // It may hold spaces.
            Some(_) => return (result + &masked(value), Next::Plain),
        }
    }
    (result, next)
}

fn word_length(text: &str) -> usize {
    text.find(char::is_whitespace).unwrap_or(text.len())
}

/// How long the word or the address is with which the text begins.
fn piece_length(text: &str) -> usize {
    let word = word_length(text);
    match address_start(&text[..word]) {
        None => word,
        Some(0) => {
            let end = text[..word].find(['"', '\'', '`', '<', '>']).unwrap_or(word);
            let second = text.find("://").and_then(|at| Some(at + 3 + address_start(&text[at + 3..end])?));
            second.unwrap_or(end).max(1)
        }
        Some(start) => start,
    }
}

/// Where the first address in the text begins.
fn address_start(text: &str) -> Option<usize> {
    let scheme = &text[..text.find("://")?];
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || "+.-_".contains(c);
    Some(scheme.trim_end_matches(is_of_scheme).len())
}

/// What the words after this one are.
fn flag(word: &str) -> Next {
    match word {
        "-k" | "Bearer" => Next::Secret,
        "-H" => Next::Header,
        "-u" | "--user" => Next::Login,
        _ if !word.starts_with('-') || word.contains(['=', ':']) => Next::Plain,
        _ if ["header", "headers"].contains(&last_word(word).as_str()) => Next::Header,
        _ if is_secret(word) => Next::Secret,
        _ => Next::Plain,
    }
}

/// Where the value begins in `-HName: value` and `--header=Name: value`.
fn value_of_header(text: &str) -> Option<usize> {
    if !text.starts_with('-') {
        return None;
    }
    let named = text.split_once('=').is_some_and(|(name, _)| flag(name) == Next::Header);
    (named || text.starts_with("-H")).then(|| text.find(':').map(|at| at + 1)).flatten()
}

/// Where the value begins in `--token=value`, `NAME_TOKEN=value`, `Authorization: value` and `{"key":"value"}`.
fn value_of_secret(word: &str) -> Option<usize> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let is_named = |at: usize| {
        let before = word[..at].trim_end_matches(['"', '\'']);
        is_secret(&before[before.trim_end_matches(is_of_name).len()..])
    };
    let mut marks = word.match_indices(['=', ':']).map(|(at, _)| at);
    marks.find(|at| is_named(*at) && !word[at + 1..].starts_with("//")).map(|at| at + 1)
}

/// A word that nothing before it says anything about.
fn masked_word(word: &str) -> String {
    if word.contains("://") {
        return masked_url(word);
    }
    match login_length(word) {
        0 => without_keys(word),
        length => format!("{MASK}{}", without_keys(&word[length..])),
    }
}

/// How long the login is in `name:password@host`.
fn login_length(word: &str) -> usize {
    let Some(at) = word.rfind('@') else { return 0 };
    let Some((name, password)) = word[..at].split_once(':') else { return 0 };
    let host = &word[at + 1..];
    let is_version = host.starts_with(|c: char| c.is_ascii_digit()) && host.matches('.').count() < 3;
    let is_host = host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
        && !is_version
        && !["sha256:", "sha512:"].iter().any(|digest| host.starts_with(digest));
    let is_user = !name.is_empty() && !name.contains('/') && !NOT_USERS.contains(&name);
    if is_user && is_host && !password.is_empty() && !password.starts_with('@') { at } else { 0 }
}
