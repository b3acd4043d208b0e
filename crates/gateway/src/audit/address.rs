//! Masks what lets somebody in within addresses: the user before the host, signatures and keys behind it, links of our own.

use super::is_secret_name;
use tool::secret::MASK;

/// Names of parameters that sign an address, beside those that mean a secret anywhere.
const SIGNING: [&str; 4] = ["signature", "sig", "sign", "accesskeyid"];
/// What stands before the token of a link of our own, and the least that such a token has.
const LINK: &str = "/o/";
const MIN_TOKEN_BYTES: usize = 40;

/// The address with `***` for what is secret in it, and what that was; nothing where the text is no such address.
pub(super) fn masked(text: &str) -> Option<(String, Vec<String>)> {
    let (scheme, rest) = text.split_once("://")?;
    let is_scheme = (1..=20).contains(&scheme.len())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    if !is_scheme || text.contains(char::is_whitespace) {
        return None;
    }
    let mut hidden = Vec::new();
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(authority_end);
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => {
            hidden.push(user.to_owned());
            hidden.extend(user.split_once(':').map(|(_, password)| password.to_owned()));
            format!("{MASK}@{host}")
        }
        None => authority.to_owned(),
    };
    let (rest, fragment) = parted(rest, '#');
    let (path, query) = parted(rest, '?');
    let path = without_token(path, &mut hidden);
    let query = query.map(|query| format!("?{}", without_signature(query, &mut hidden))).unwrap_or_default();
    // Those who sign people in hand tokens over there.
    let fragment = fragment.map(|fragment| format!("#{}", without_signature(fragment, &mut hidden)));
    let shown = format!("{scheme}://{authority}{path}{query}{}", fragment.unwrap_or_default());
    (!hidden.is_empty()).then_some((shown, hidden))
}

fn parted(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(before, behind)| (before, Some(behind)))
}

fn without_token(path: &str, hidden: &mut Vec<String>) -> String {
    match path.rsplit_once(LINK) {
        Some((before, token)) if token.len() >= MIN_TOKEN_BYTES && !token.contains('/') => {
            hidden.push(token.to_owned());
            format!("{before}{LINK}{MASK}")
        }
        _ => path.to_owned(),
    }
}

fn without_signature(query: &str, hidden: &mut Vec<String>) -> String {
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) if !value.is_empty() && is_signing(name) => {
            hidden.push(value.to_owned());
            format!("{name}={MASK}")
        }
        _ => pair.to_owned(),
    });
    pairs.collect::<Vec<_>>().join("&")
}

fn is_signing(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    is_secret_name(name) || SIGNING.iter().any(|ending| plain.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hides_what_lets_somebody_in() {
        let token = "t".repeat(60);
        for (address, expected) in [
            ("https://ann:pw@h.test/a?b=c", Some("https://***@h.test/a?b=c".to_owned())),
            ("ftp://ann@h.test", Some("ftp://***@h.test".to_owned())),
            (
                "https://s.test/k?X-Amz-Date=1&X-Amz-Signature=abc&X-Amz-Credential=AK",
                Some("https://s.test/k?X-Amz-Date=1&X-Amz-Signature=***&X-Amz-Credential=***".to_owned()),
            ),
            ("https://b.test/k?sv=1&sig=abc", Some("https://b.test/k?sv=1&sig=***".to_owned())),
            (&format!("http://g.test/base/o/{token}"), Some("http://g.test/base/o/***".to_owned())),
            (
                "https://h.test/cb#access_token=X&n=1",
                Some("https://h.test/cb#access_token=***&n=1".to_owned()),
            ),
            (
                "https://h.test/cb?a=b#access_token=X",
                Some("https://h.test/cb?a=b#access_token=***".to_owned()),
            ),
            ("https://h.test/o/short?page=2", None),
            ("see https://ann:pw@h.test/", None),
            ("a://", None),
            ("no address", None),
        ] {
            assert_eq!(masked(address).map(|(shown, _)| shown), expected, "{address}");
        }
        assert_eq!(masked("https://ann:pw@h.test/").unwrap().1, ["ann:pw", "pw"]);
    }
}
