//! Where the API is: the first server, its holes filled.

use super::document::{Document, Version, list, object};
use super::names::shorten;
use super::notes::Notes;
use super::{ImportOptions, refuse};
use fetch::Url;
use serde_json::Value;
use std::collections::BTreeMap;
use tool::Result;

/// Servers that are looked at.
const MAX_SERVERS: usize = 100;

/// The base of all endpoints, unless neither the document nor its address say.
///
/// # Errors
/// `InvalidInput` for a variable that the server does not have or a value it does not take.
pub(super) fn base_url(
    document: &Document,
    options: &ImportOptions,
    notes: &mut Notes,
) -> Result<Option<String>> {
    let text = match document.version {
        Version::V2 => of_version_2(document),
        Version::V30 | Version::V31 => of_version_3(document, &options.server_variables, notes)?,
    };
    // A document that names no server means the host it came from.
    let text = text.filter(|text| !text.is_empty()).unwrap_or_else(|| "/".to_owned());
    let url = match &document.address {
        Some(address) => address.join(&text).ok(),
        None => Url::parse(&text).ok(),
    };
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(mut url) = url else {
        notes.warn("the document does not say where the API is; give base_url");
        return Ok(None);
    };
    url.set_query(None);
    url.set_fragment(None);
    Ok(Some(url.as_str().trim_end_matches('/').to_owned()))
}

/// Whether these servers, of a path or an operation, are another place than the document's.
pub(super) fn elsewhere(document: &Document, holder: &Value) -> Option<String> {
    let first = servers_of(holder).into_iter().next()?;
    (!servers_of(&document.root).contains(&first)).then(|| shorten(first, 100))
}

fn servers_of(holder: &Value) -> Vec<&str> {
    let servers = list(holder.get("servers")).iter().take(MAX_SERVERS);
    servers.filter_map(|server| server.get("url")?.as_str()).collect()
}

fn of_version_2(document: &Document) -> Option<String> {
    let text = |key: &str| document.root.get(key).and_then(Value::as_str);
    let base_path = text("basePath").unwrap_or_default();
    let Some(host) = text("host") else { return Some(base_path.to_owned()) };
    let schemes: Vec<_> = list(document.root.get("schemes")).iter().filter_map(Value::as_str).collect();
    let fetched = document.address.as_ref().map(Url::scheme);
    let scheme = match schemes.as_slice() {
        [] => fetched.unwrap_or("https"),
        all if all.contains(&"https") => "https",
        [first, ..] => first,
    };
    Some(format!("{scheme}://{host}{base_path}"))
}

fn of_version_3(
    document: &Document,
    given: &BTreeMap<String, String>,
    notes: &mut Notes,
) -> Result<Option<String>> {
    let servers = list(document.root.get("servers"));
    let others: Vec<_> =
        servers_of(&document.root).into_iter().skip(1).take(5).map(|url| shorten(url, 100)).collect();
    if !others.is_empty() {
        notes.warn(format!("the first server is used; base_url chooses another: {}", others.join(", ")));
    }
    let first = servers.first();
    let variables = object(first.and_then(|server| server.get("variables")));
    for (name, value) in given {
        let path = format!("server_variables.{name}");
        let Some(variable) = variables.get(name) else {
            let known: Vec<_> = variables.keys().map(String::as_str).take(20).collect();
            let message = format!("the server has no variable '{name}'; it has: {}", known.join(", "));
            return Err(refuse(&path, "Unknown", message));
        };
        let allowed = list(variable.get("enum"));
        if !allowed.is_empty() && !allowed.iter().any(|allowed| allowed == value.as_str()) {
            let allowed: Vec<_> = allowed.iter().take(20).map(Value::to_string).collect();
            let message = format!("the server variable '{name}' must be one of {}", allowed.join(", "));
            return Err(refuse(&path, "NotAllowed", message));
        }
    }
    let Some(url) = first.and_then(|server| server.get("url")).and_then(Value::as_str) else {
        return Ok(None);
    };
    Ok(filled(url, variables, given, notes))
}

/// The address with its variables' values in it.
fn filled(
    url: &str,
    variables: &serde_json::Map<String, Value>,
    given: &BTreeMap<String, String>,
    notes: &mut Notes,
) -> Option<String> {
    let mut result = String::new();
    let mut rest = url;
    while let Some((before, inner)) = rest.split_once('{') {
        let (name, after) = inner.split_once('}')?;
        let default = variables.get(name).and_then(|variable| match variable.get("default")? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        });
        let Some(value) = given.get(name).cloned().or(default) else {
            notes.warn(format!(
                "the server variable '{}' has no value; give it in server_variables",
                shorten(name, 50)
            ));
            return None;
        };
        result.push_str(before);
        result.push_str(&value);
        rest = after;
    }
    Some(result + rest)
}
