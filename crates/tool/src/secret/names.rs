//! Names of secrets: the one place that decides which headers, query keys and fields of data carry one.

use super::MASK;
use percent_encoding::percent_decode_str;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use std::borrow::Cow;

/// In a settings schema: what kind of a secret a text may be. [`HEADER`] or [`QUERY`] stands there.
pub const MARK: &str = "x-secret";
/// The value of a header: a secret for everybody whose name says so, and for those who may not manage in any case.
pub const HEADER: &str = "header";
/// An address: the values in its query string whose names smell are secrets.
pub const QUERY: &str = "query";

/// Words that mean a secret wherever they stand in a word.
const WITHIN: [&str; 12] = [
    "token",
    "secret",
    "passw",
    "passphrase",
    "passcode",
    "credential",
    "signature",
    "session",
    "cookie",
    "private",
    "vault",
    "subscription",
];
/// Words that are too short for that.
const WHOLE: [&str; 13] =
    ["auth", "pass", "pwd", "sig", "jwt", "bearer", "otp", "hmac", "sas", "psk", "pat", "sid", "appid"];

/// Whether the value of a header or of a query key with this name is a secret, as far as names tell.
#[must_use]
pub fn is_likely_secret(name: &str) -> bool {
    words(name).any(|word| {
        let word = word.to_lowercase();
        WHOLE.contains(&word.as_str())
            || WITHIN.iter().any(|part| word.contains(part))
            || word.starts_with("authori")
            || word.starts_with("authent")
            || word.ends_with("auth")
            || word.ends_with("key")
    })
}

/// Names of fields of data, without case and separators, that mean a secret wherever they end one. What a request is about
/// has names like these, and people have to see it: `key`, `sort_key`, `max_tokens`, `session`.
const FIELDS: [&str; 27] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "appkey",
    "applicationkey",
    "secretkey",
    "subscriptionkey",
    "accountkey",
    "authkey",
    "encryptionkey",
    "masterkey",
    "sharedkey",
    "signingkey",
    "authorization",
    "bearer",
    "jwt",
    "credential",
    "credentials",
    "cookie",
    "otp",
];

/// Whether a field of this name holds a secret, as far as names tell.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    FIELDS.iter().any(|secret| {
        let mut letters = name.bytes().rev().filter(u8::is_ascii_alphanumeric);
        secret.bytes().rev().all(|letter| letters.next().is_some_and(|c| c.to_ascii_lowercase() == letter))
    })
}

/// How deep [`masked_fields`] looks; what lies deeper is not shown.
const MAX_DEPTH: usize = 64;

/// Data as people may see them: the fields whose names say that they are secret are masked.
#[must_use]
pub fn masked_fields(value: &Value) -> Value {
    masked_to(value, MAX_DEPTH)
}

fn masked_to(value: &Value, depth: usize) -> Value {
    match value {
        Value::Object(_) | Value::Array(_) if depth == 0 => MASK.into(),
        Value::Object(fields) => {
            let mask = |(name, field): (&String, &Value)| {
                (name.clone(), if is_secret_name(name) { MASK.into() } else { masked_to(field, depth - 1) })
            };
            Value::Object(fields.iter().map(mask).collect())
        }
        Value::Array(items) => items.iter().map(|item| masked_to(item, depth - 1)).collect(),
        other => other.clone(),
    }
}

/// The fields that [`masked_fields`] hides.
#[must_use]
pub fn hidden_fields(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(fields) => {
            let hidden = fields.iter().flat_map(|(name, field)| match is_secret_name(name) {
                true => vec![field],
                false => hidden_fields(field),
            });
            hidden.collect()
        }
        Value::Array(items) => items.iter().flat_map(hidden_fields).collect(),
        _ => Vec::new(),
    }
}

/// `api` and `Key` of `apiKey`, `api-key` and `api_key`.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric()).flat_map(|part| {
        let humps = part.char_indices().zip(part.chars().skip(1));
        let humps = humps.filter(|((_, left), right)| left.is_lowercase() && right.is_uppercase());
        let ends: Vec<_> = humps.map(|((at, left), _)| at + left.len_utf8()).chain([part.len()]).collect();
        ends.into_iter().scan(0, move |from, end| part.get(std::mem::replace(from, end)..end))
    })
}

/// An address, whole or from its path on, as everybody may see it: without the values in its query
/// string whose names smell.
#[must_use]
pub fn without_query_secrets(address: &str) -> Cow<'_, str> {
    map_query(address, |name, value| (is_likely_secret(name) && !value.is_empty()).then(|| MASK.to_owned()))
}

/// The values that [`without_query_secrets`] hides, decoded.
#[must_use]
pub fn query_secrets(address: &str) -> Vec<String> {
    let pairs = query_of(address).map_or("", |(_, query, _)| query).split('&').filter_map(pair);
    let secret = pairs.filter(|(name, value)| is_likely_secret(name) && !value.is_empty());
    secret.map(|(_, value)| decoded(value).into_owned()).collect()
}

/// An address with the old values where it has masks. One that leads to another host gets none: what was meant for
/// the old one must not go there.
#[must_use]
pub fn with_query_secrets_of(address: &str, old: &str) -> String {
    if host_of(address) != host_of(old) {
        return address.to_owned();
    }
    let mut kept: Vec<_> =
        query_of(old).map_or("", |(_, query, _)| query).split('&').filter_map(pair).collect();
    let put_back = |name: &str, value: &str| {
        let at = kept.iter().position(|(old, _)| old == name).filter(|_| value == MASK)?;
        Some(kept.remove(at).1.to_owned())
    };
    map_query(address, put_back).into_owned()
}

/// Whether a mask stands in the query string, in place of a value that nobody has given.
#[must_use]
pub fn has_masked_query(query: &str) -> bool {
    query.split('&').filter_map(pair).any(|(_, value)| value == MASK)
}

fn host_of(address: &str) -> &str {
    let Some(from) = address.find("://").map(|at| at + "://".len()) else { return "" };
    let end = address[from..].find(['/', '?', '#']).map_or(address.len(), |at| from + at);
    &address[..end]
}

/// What stands before the query string, the query string, and what stands behind it.
fn query_of(address: &str) -> Option<(&str, &str, &str)> {
    let from = address.find('?')? + 1;
    let end = address[from..].find('#').map_or(address.len(), |at| from + at);
    Some((&address[..from], &address[from..end], &address[end..]))
}

fn pair(text: &str) -> Option<(Cow<'_, str>, &str)> {
    text.split_once('=').map(|(name, value)| (decoded(name), value))
}

fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

fn map_query(address: &str, mut new: impl FnMut(&str, &str) -> Option<String>) -> Cow<'_, str> {
    let Some((before, query, behind)) = query_of(address) else { return address.into() };
    let parts = query.split('&').map(|part| {
        let found = pair(part).and_then(|(name, value)| new(&name, value));
        match (found, part.split_once('=')) {
            (Some(value), Some((name, _))) => Cow::Owned(format!("{name}={value}")),
            _ => Cow::Borrowed(part),
        }
    });
    let parts: Vec<_> = parts.collect();
    if parts.iter().all(|part| matches!(part, Cow::Borrowed(_))) {
        return address.into();
    }
    format!("{before}{}{behind}", parts.join("&")).into()
}

/// The schema of headers with fixed values.
pub fn headers_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": { "type": "string", MARK: HEADER } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn knows_the_names_of_secrets() {
        for name in [
            "Private-Token",
            "DD-APPLICATION-KEY",
            "x-goog-api-key",
            "X-Vault-Token",
            "Ocp-Apim-Subscription-Key",
            "api_key",
            "apiKey",
            "APIKEY",
            "key",
            "accessToken",
            "X-Auth",
            "Authorization",
            "X-Amz-Signature",
            "sig",
            "Cookie",
            "client_secret",
            "PASSWORD",
            "sessionId",
            "X-Shopify-Access-Token",
            "xoauth",
            "geheim_token_ü",
        ] {
            assert!(is_likely_secret(name), "{name}");
        }
        for name in [
            "Accept",
            "Accept-Language",
            "Content-Type",
            "User-Agent",
            "X-Tenant",
            "X-Author",
            "keyword",
            "keys",
            "passenger",
            "compass",
            "page",
            "limit",
            "design",
            "",
            "Ünïcode",
        ] {
            assert!(!is_likely_secret(name), "{name}");
        }
    }

    /// AG-13, HT-5.6
    #[test]
    fn tells_secret_fields_from_what_a_call_is_about() {
        let secret = "password passwd pwd db_password userPassword secret clientSecret token accessToken session_token api_key \
            apiKey X-Api-Key access_key secret_key private_key SIGNING_KEY Authorization credential credentials cookie bearer \
            passphrase sms_otp";
        for name in secret.split_whitespace() {
            assert!(is_secret_name(name), "{name}");
        }
        let open = "key keys primary_key sort_key object_key project_key issueKey public_key foreign_key routing_key partitionKey \
            tokens max_tokens secretary session session_id private is_private subscription signature author";
        for name in open.split_whitespace().chain([""]) {
            assert!(!is_secret_name(name), "{name}");
        }
        let data =
            json!({ "key": "a.pdf", "auth": { "password": "P", "user": "ada" }, "list": [{ "token": 7 }] });
        let shown = json!({ "key": "a.pdf", "auth": { "password": "***", "user": "ada" }, "list": [{ "token": "***" }] });
        assert_eq!(masked_fields(&data), shown);
        assert_eq!(hidden_fields(&data), [&json!("P"), &json!(7)]);
    }

    #[test]
    fn hides_values_in_addresses_and_puts_them_back() {
        let old = "https://a.example/x?api%5Fkey=S%2B1&q=1&token=&key=S2#key=3";
        let shown = without_query_secrets(old);
        assert_eq!(shown, "https://a.example/x?api%5Fkey=***&q=1&token=&key=***#key=3");
        assert_eq!(query_secrets(old), ["S+1", "S2"]);
        assert_eq!(with_query_secrets_of(&shown, old), old);
        let moved = "https://a.example/y?key=***&api_key=***&q=2";
        assert_eq!(with_query_secrets_of(moved, old), "https://a.example/y?key=S2&api_key=S%2B1&q=2");
        let elsewhere = shown.replace("a.example", "b.example");
        assert_eq!(with_query_secrets_of(&elsewhere, old), elsewhere);
        assert!(has_masked_query("a=1&key=***") && !has_masked_query("a=1&key=x"));
        for plain in ["/x", "/x?", "/x?a", "/x?a=b&c", "/x#key=1", ""] {
            assert_eq!(without_query_secrets(plain), plain);
            assert_eq!(with_query_secrets_of(plain, old), plain);
        }
        assert_eq!(without_query_secrets("/x?a=1&x-key=S"), "/x?a=1&x-key=***");
        assert_eq!(without_query_secrets("/x#?key=S"), "/x#?key=***", "wrong, but no reason to show it");
    }
}
