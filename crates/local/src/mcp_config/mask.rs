//! An mcp.json without its secrets. What may be one is masked: rather too much than too little.

use super::token::{is_key_segment, without_keys, without_known};
use gateway::audit::is_secret_name;
use serde_json::Value;
use tool::secret::MASK;

/// Fields in which everything may be secret, whatever its name is.
const SECRET_FIELDS: [&str; 6] = ["env", "envs", "environment", "headers", "http_headers", "auth_config"];
/// Fields with an address that may lack its scheme.
const ADDRESSES: [&str; 4] = ["url", "httpUrl", "serverUrl", "uri"];
/// Last words of names, beside those that the audit knows, behind which a person keeps secrets.
const SECRET_WORDS: [&str; 13] = [
    "key",
    "keys",
    "auth",
    "pass",
    "pat",
    "jwt",
    "bearer",
    "signature",
    "secrets",
    "tokens",
    "passwords",
    "apikeys",
    "cookies",
];
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

/// Masks the secrets in a value. A text that only refers to a variable is none.
pub(super) fn hide(value: &mut Value) {
    match value {
        Value::String(text) => *text = masked_text(text),
        Value::Array(items) => hide_arguments(items),
        Value::Object(fields) => {
            let is_password = fields.get("password") == Some(&Value::Bool(true));
            for (name, field) in fields {
                let is_default = is_password && name == "default";
                match field {
                    _ if is_default || SECRET_FIELDS.contains(&name.as_str()) || is_secret(name) => {
                        hide_all(field);
                    }
                    Value::String(url) if ADDRESSES.contains(&name.as_str()) => *url = masked_url(url),
                    _ => hide(field),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text with the secrets among its words masked.
pub fn masked_text(text: &str) -> String {
    masked_words(text).0
}

/// An address without its query, its user, and the keys in its path.
pub fn masked_url(url: &str) -> String {
    let (scheme, rest) = url.split_at(url.find("://").map_or(0, |at| at + 3));
    let (rest, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    if query.contains('@') && !rest.contains('/') {
        return format!("{}{MASK}", without_known(scheme));
    }
    let user = user_length(rest);
    let place = if user > 0 { MASK } else { "" };
    let mut segments = rest[user..].split('/');
    let host = without_known(segments.next().unwrap_or_default());
    let path: String = segments
        .map(|segment| match is_key_segment(segment) {
            true => format!("/{MASK}"),
            false => format!("/{}", without_known(segment)),
        })
        .collect();
    let is_harmless =
        |rest: &str| is_reference(rest) || (query.starts_with('#') && !rest.contains(['=', '?']));
    let query = match query.get(1..) {
        Some(rest) if !is_harmless(rest) => format!("{}{MASK}", &query[..1]),
        _ => without_known(query),
    };
    format!("{}{place}{host}{path}{query}", without_known(scheme))
}

/// How long the login is before the `@` and the host; a password may hold slashes.
fn user_length(address: &str) -> usize {
    let authority = &address[..address.find('/').unwrap_or(address.len())];
    if let Some(at) = authority.rfind('@') {
        return at;
    }
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_password = authority.rsplit_once(':').is_some_and(|(_, after)| !is_port(after));
    if has_password { address.rfind('@').unwrap_or_default() } else { 0 }
}

/// Masks every text and number.
fn hide_all(value: &mut Value) {
    match value {
        Value::String(text) => *text = masked(text),
        Value::Number(_) => *value = MASK.into(),
        Value::Array(items) => items.iter_mut().for_each(hide_all),
        Value::Object(fields) => fields.values_mut().for_each(hide_all),
        Value::Null | Value::Bool(_) => {}
    }
}

/// A list may be one of arguments, where a flag says what the next one is.
fn hide_arguments(items: &mut [Value]) {
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

/// Whether something of this name is a secret.
fn is_secret(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| !c.is_ascii_alphabetic());
    is_secret_name(name) || SECRET_WORDS.contains(&last_word(name).as_str())
}

/// `key` of `--api-key`, `API_KEY` and `apiKey`.
fn last_word(name: &str) -> String {
    let word = name.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let humps = word.as_bytes().windows(2);
    let hump =
        humps.into_iter().rposition(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    word[hump.map_or(0, |at| at + 1)..].to_ascii_lowercase()
}

/// The mask, unless the text is a reference, be it behind the name of a scheme.
fn masked(text: &str) -> String {
    let trimmed = text.trim().trim_matches(['"', '\'']);
    let secret = ["Bearer ", "Basic ", "Token "].iter().find_map(|scheme| trimmed.strip_prefix(scheme));
    if is_reference(secret.unwrap_or(trimmed).trim()) { text.to_owned() } else { MASK.to_owned() }
}

/// Whether a text is one variable and nothing else, not even a default.
fn is_reference(text: &str) -> bool {
    let inner = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|inner| !inner.contains(":-") && !inner.contains(['{', '}', '$']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_any_text_and_leaves_masks_alone() {
        let parts = [
            "-H",
            "-k",
            "--token",
            "=",
            ":",
            "://",
            "@",
            "?",
            "#",
            "/",
            " ",
            "\"",
            "é€",
            "${A}",
            "${",
            "}",
            "Bearer ",
            "http",
            "***",
            "mk_0aB1cD2eF3",
            "key",
        ];
        for one in parts {
            for two in parts {
                for three in parts {
                    let text = format!("{one}{two}{three}x");
                    let shown = masked_text(&text);
                    let is_leak = shown.contains("0aB1cD2eF3");
                    let is_inside = |at: usize| text[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
                    assert!(!is_leak || text.find("mk_").is_some_and(is_inside), "{text}: {shown}");
                    assert_eq!(masked_text(&shown), shown, "{text}");
                    masked_url(&text);
                }
            }
        }
    }

    #[test]
    fn knows_the_last_word_of_a_name() {
        for secret in
            ["--api-key", "API_KEY", "apiKey", "KEY_2", "X-Auth", "userPass", "accessToken", "credentials"]
        {
            assert!(is_secret(secret), "{secret}");
        }
        for plain in ["monkey", "--keyboard", "bypass", "oauth", "token-file", "author", "pin", "type", ""] {
            assert!(!is_secret(plain), "{plain}");
        }
    }
}
