//! The address that all requests to a service begin with.

use fetch::Url;
use tool::Problem;

/// The address that a setting gives, if it can be the beginning of others. Credentials go into another setting.
pub(crate) fn check_base_url(
    text: &str,
    path: &str,
    credentials_go_into: &str,
    problems: &mut Vec<Problem>,
) -> Option<Url> {
    let mut refuse = |why: &str| {
        let message = format!("the base_url {why}; write e.g. https://api.example.com/v1");
        problems.push(Problem::new(path, "InvalidUrl", message));
        None
    };
    if text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return refuse("holds spaces, control characters or backslashes");
    }
    // The parser forgives missing and superfluous slashes; a base should look like what it is.
    if text.split_once("://").is_none_or(|(_, rest)| rest.starts_with('/')) {
        return refuse("is no URL");
    }
    let Ok(url) = Url::parse(text) else { return refuse("is no URL") };
    if !matches!(url.scheme(), "http" | "https") {
        return refuse("is neither http nor https");
    }
    if url.host_str().is_none_or(str::is_empty) {
        return refuse("names no host");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse(&format!("holds a user name or password, which belong into {credentials_go_into}"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return refuse("holds a query or a fragment, which belong to a tool's endpoint");
    }
    Some(url)
}
