//! Addresses of people: read, checked, and compared with those that the service may write to.

use crate::shared::arguments::wrong;
use fetch::Url;
use lettre::Address;
use lettre::message::Mailbox;
use tool::{Error, Result};

/// The longest name before an address.
const MAX_NAME: usize = 200;

/// Why a text is no address.
#[derive(Debug)]
pub(super) struct NoAddress;

/// An address, maybe with a name before it: `ada@example.com` or `Ada Lovelace <ada@example.com>`.
pub(super) fn parse(text: &str) -> Result<Mailbox, NoAddress> {
    // Whoever can break a line can write headers and commands.
    if text.chars().any(breaks_lines) {
        return Err(NoAddress);
    }
    let (name, address) = match text.trim().strip_suffix('>') {
        Some(rest) => rest.rsplit_once('<').ok_or(NoAddress)?,
        None => ("", text.trim()),
    };
    let name = name.trim();
    let name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name).trim();
    if name.chars().count() > MAX_NAME || name.contains(['<', '>', '"', '\\']) {
        return Err(NoAddress);
    }
    Ok(Mailbox::new((!name.is_empty()).then(|| name.to_owned()), plain(address)?))
}

/// Control characters, and those that begin another line or turn the rest of one around where it is shown.
pub(super) fn breaks_lines(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// An address without quotes and comments, which nobody has, and which programs read differently.
fn plain(text: &str) -> Result<Address, NoAddress> {
    let is_special = |c: char| c.is_whitespace() || "\"()<>[]\\,;:".contains(c);
    if text.len() > 320 || text.contains(is_special) {
        return Err(NoAddress);
    }
    let (user, domain) = text.rsplit_once('@').ok_or(NoAddress)?;
    let domain = ascii(domain).ok_or(NoAddress)?;
    Address::new(user, domain).map_err(|_| NoAddress)
}

/// A domain in the letters that every server knows.
fn ascii(domain: &str) -> Option<String> {
    if domain.is_ascii() {
        return Some(domain.to_owned());
    }
    let url = Url::parse(&format!("http://{domain}/")).ok()?;
    url.host_str().map(str::to_owned)
}

/// An address among the arguments.
pub(super) fn argument(text: &str, parameter: &str) -> Result<Mailbox> {
    parse(text).map_err(|NoAddress| {
        let shown: String = tool::plain(text).chars().take(100).collect();
        wrong(parameter, &format!("has '{shown}', which is no address such as ada@example.com"))
    })
}

/// Whom a service may write to.
#[derive(Debug, Default)]
pub(super) struct AllowList(Vec<String>);

impl AllowList {
    /// Patterns, in which `*` stands for anything but an `@`. None allow everybody.
    pub(super) fn new(patterns: &[String]) -> Self {
        Self(patterns.iter().map(|pattern| in_ascii(&pattern.to_lowercase())).collect())
    }

    pub(super) fn allows(&self, address: &Address) -> bool {
        let address = address.to_string().to_lowercase();
        let is_named = |pattern: &String| matches(pattern.as_bytes(), address.as_bytes());
        // Some servers send mail for `a%evil.net@example.com` on to `a@evil.net`.
        let is_relayed = address.contains(['%', '!']) && !self.0.contains(&address);
        self.0.is_empty() || (!is_relayed && self.0.iter().any(is_named))
    }

    /// # Errors
    /// `Denied`, naming the setting.
    pub(super) fn check(&self, mailbox: &Mailbox, parameter: &str) -> Result<()> {
        if self.allows(&mailbox.email) {
            return Ok(());
        }
        let message = format!(
            "parameter '{parameter}' has {}, and the service may not write there; see its setting 'allow_recipients'",
            mailbox.email
        );
        Err(Error::denied(message).of_parameter(parameter))
    }
}

/// A pattern whose domain is written as addresses have it, label by label, since a `*` may stand for others.
fn in_ascii(pattern: &str) -> String {
    let (user, domain) = match pattern.rsplit_once('@') {
        Some((user, domain)) => (format!("{user}@"), domain),
        None => (String::new(), pattern),
    };
    let domain = domain.replace(['。', '．', '｡'], ".");
    let label = |label: &str| match label.contains('*') {
        true => label.to_owned(),
        false => ascii(label).unwrap_or_else(|| label.to_owned()),
    };
    format!("{user}{}", domain.split('.').map(label).collect::<Vec<_>>().join("."))
}

/// The same mailbox: domains are the same in any case, what stands before them is the server's affair.
pub(super) fn is_same(one: &Address, other: &Address) -> bool {
    one.user() == other.user() && one.domain().eq_ignore_ascii_case(other.domain())
}

/// Whether a pattern fits, in time that grows with the product of both lengths at the most.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(byte) if *byte == text[from] => {
                at += 1;
                from += 1;
            }
            _ => match star {
                Some((star_at, taken)) if text[taken] != b'@' => {
                    star = Some((star_at, taken + 1));
                    at = star_at + 1;
                    from = taken + 1;
                }
                _ => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_addresses_with_and_without_names() {
        for (text, name, address) in [
            ("ada@example.com", None, "ada@example.com"),
            (" Ada Lovelace <ada@example.com> ", Some("Ada Lovelace"), "ada@example.com"),
            ("\"Lovelace, Ada\" <ada+x@example.com>", Some("Lovelace, Ada"), "ada+x@example.com"),
            ("张伟 <zhang@例子.中国>", Some("张伟"), "zhang@xn--fsqu00a.xn--fiqs8s"),
            ("用户@example.com", None, "用户@example.com"),
        ] {
            let mailbox = parse(text).unwrap();
            assert_eq!((mailbox.name.as_deref(), mailbox.email.to_string().as_str()), (name, address));
        }
    }

    /// ML-6
    #[test]
    fn refuses_what_could_be_read_as_more_than_an_address() {
        for text in [
            "",
            "ada",
            "@example.com",
            "ada@",
            "a@b.com, c@d.com",
            "a@b.com c@d.com",
            "ada@example.com\r\nBcc: eve@example.com",
            "ada@example.com\n",
            "Ada\r\n <ada@example.com>",
            "Ada <eve@evil.com> <ada@example.com>",
            "<ada@example.com> NOTIFY=NEVER",
            "\"a@b\"@example.com",
            "ada@[127.0.0.1]",
            "ada@exa\0mple.com",
            "ada@example.com>\r\nRCPT TO:<eve@example.com",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn compares_with_patterns_that_do_not_reach_over_the_at_sign() {
        let list = AllowList::new(&["*@Example.com".to_owned(), "ops-*@*.example.org".to_owned()]);
        for (address, is_allowed) in [
            ("Ada@EXAMPLE.com", true),
            ("ada@example.com.evil.net", false),
            ("ada@notexample.com", false),
            ("ops-1@eu.example.org", true),
            ("ops-1@example.org", false),
            ("dev@eu.example.org", false),
        ] {
            assert_eq!(list.allows(&address.parse().unwrap()), is_allowed, "{address}");
        }
        let list = AllowList::new(&["*@例子.中国".to_owned(), "*@*.Bücher.example".to_owned()]);
        for (address, is_allowed) in [
            ("张伟 <zhang@例子.中国>", true),
            ("zhang@xn--fsqu00a.xn--fiqs8s", true),
            ("ada@eu.bücher.example", true),
            ("ada@bucher.example", false),
            ("zhang@例.中国", false),
        ] {
            assert_eq!(list.allows(&parse(address).unwrap().email), is_allowed, "{address}");
        }
        assert!(AllowList::default().allows(&"any@where.net".parse().unwrap()));
        assert!(!matches(b"*a*a*a*a*b", "a".repeat(300).as_bytes()));
    }
}
