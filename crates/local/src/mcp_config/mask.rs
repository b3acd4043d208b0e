//! An mcp.json without its secrets. What may be one is masked: rather too much than too little.

mod arguments;

pub use arguments::masked_text;

use super::token::{is_key_segment, without_known};
use arguments::hide_arguments;
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
