//! Redactor over the secrets in a text that somebody else wrote, in whatever spelling it repeats them.

use super::MASK;
use std::borrow::Cow;

/// Secrets that must not be read in a text: as they are, or escaped for a URL, for JSON or for HTML.
#[derive(Debug, Default)]
pub struct Redactor<'a>(Vec<&'a str>);

impl<'a> Redactor<'a> {
    /// Redactor over these secrets; empty ones are none.
    pub fn new(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut secrets: Vec<_> = secrets.into_iter().filter(|secret| !secret.is_empty()).collect();
        // Of two that begin alike, the longer one counts. Those that cannot begin at a place are not looked at there.
        secrets.sort_by_key(|secret| (secret.as_bytes()[0], std::cmp::Reverse(secret.len())));
        Self(secrets)
    }

    /// The text with `***` in place of each secret.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        self.redact(text, false, |_| MASK.into())
    }

    /// The text with something else in place of each secret.
    #[must_use]
    pub fn replace<'w>(&self, text: &str, with: impl Fn(&str) -> Cow<'w, str>) -> String {
        self.redact(text, false, with)
    }

    /// The same for a text that was cut: what may be the beginning of a secret at its end goes, too.
    #[must_use]
    pub fn apply_to_cut(&self, text: &str) -> String {
        self.redact(text, true, |_| MASK.into())
    }

    fn redact<'w>(&self, text: &str, is_cut: bool, with: impl Fn(&str) -> Cow<'w, str>) -> String {
        let mut redacted = String::with_capacity(text.len());
        let (mut from, mut at) = (0, 0);
        while at < text.len() {
            let rest = &text.as_bytes()[at..];
            match self.find(rest, is_cut) {
                Some((secret, length)) => {
                    redacted.push_str(text.get(from..at).unwrap_or_default());
                    redacted.push_str(&with(secret));
                    at += length;
                    from = at;
                }
                None => at += 1,
            }
        }
        redacted.push_str(text.get(from..).unwrap_or_default());
        redacted
    }

    /// The secret that the text begins with, and how many bytes of the text it takes.
    fn find(&self, text: &[u8], is_cut: bool) -> Option<(&'a str, usize)> {
        let found = |secrets: &[&'a str]| {
            let length = |secret: &&'a str| Some((*secret, length_of(secret.as_bytes(), text, is_cut)?));
            secrets.iter().find_map(length)
        };
        if is_cut && is_half_escape(text) {
            return found(&self.0);
        }
        let escaped = unescaped(text).and_then(|(_, meant)| meant.first().copied());
        let first = text.first().copied().filter(|first| Some(*first) != escaped);
        first.into_iter().chain(escaped).find_map(|first| found(self.beginning_with(first)))
    }

    fn beginning_with(&self, first: u8) -> &[&'a str] {
        let from = self.0.partition_point(|secret| secret.as_bytes()[0] < first);
        let end = self.0.partition_point(|secret| secret.as_bytes()[0] <= first);
        &self.0[from..end]
    }
}

/// How many bytes of the text the secret takes that it begins with, if it does. With `may_end`, the text may be
/// over before the secret is.
fn length_of(secret: &[u8], text: &[u8], may_end: bool) -> Option<usize> {
    if text.starts_with(secret) {
        return Some(secret.len());
    }
    let (mut at, mut left) = (0, secret);
    while let Some(&wanted) = left.first() {
        let rest = &text[at..];
        if may_end && (rest.is_empty() || is_half_escape(rest)) {
            return Some(text.len());
        }
        let (length, matched) =
            escape(rest, left).or_else(|| (rest.first() == Some(&wanted)).then_some((1, 1)))?;
        at += length;
        left = &left[matched..];
    }
    Some(at)
}

/// An escape at the beginning of the text that stands for the beginning of what is wanted: the bytes of both.
fn escape(text: &[u8], wanted: &[u8]) -> Option<(usize, usize)> {
    let (length, meant) = unescaped(text)?;
    wanted.starts_with(&meant).then_some((length, meant.len()))
}

/// An escape at the beginning of the text: its length, and what it stands for.
fn unescaped(text: &[u8]) -> Option<(usize, Vec<u8>)> {
    const NAMED: [(&[u8], u8); 6] = [
        (b"&amp;", b'&'),
        (b"&lt;", b'<'),
        (b"&gt;", b'>'),
        (b"&quot;", b'"'),
        (b"&#39;", b'\''),
        (b"&#x27;", b'\''),
    ];
    match text {
        [b'%', digits @ ..] => Some((3, vec![u8::try_from(hex(digits.get(..2)?)?).ok()?])),
        [b'+', ..] => Some((1, vec![b' '])),
        [b'\\', b'u', digits @ ..] => {
            let letter = char::from_u32(hex(digits.get(..4)?)?)?;
            Some((6, letter.encode_utf8(&mut [0; 4]).as_bytes().to_vec()))
        }
        [b'\\', letter, ..] => {
            let meant = match letter {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'"' | b'\\' | b'/' => *letter,
                _ => return None,
            };
            Some((2, vec![meant]))
        }
        [b'&', ..] => {
            let (name, meant) = NAMED.iter().find(|(name, _)| text.starts_with(name))?;
            Some((name.len(), vec![*meant]))
        }
        _ => None,
    }
}

/// The text ends within something that may be an escape.
fn is_half_escape(text: &[u8]) -> bool {
    match text {
        [b'%', digits @ ..] => digits.len() < 2,
        [b'\\', b'u', digits @ ..] => digits.len() < 4,
        [b'\\', letter @ ..] => letter.is_empty(),
        [b'&', name @ ..] => name.len() < 5 && !name.contains(&b';'),
        _ => false,
    }
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| Some(number * 16 + char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_secret_in_every_spelling() {
        let secret = "a+b/c= \"<é&\\'d";
        let redactor = Redactor::new([secret, ""]);
        let json = serde_json::to_string(secret).unwrap();
        for spelling in [
            secret,
            "a%2Bb%2Fc%3D%20%22%3C%C3%A9%26%5C%27d",
            "a%2bb/c=+%22%3c%c3%a9%26%5c'd",
            &json[1..json.len() - 1],
            r#"a+b\/c= \"\u003c\u00e9\u0026\\\u0027d"#,
            "a+b/c= &quot;&lt;é&amp;\\&#39;d",
        ] {
            assert_eq!(
                redactor.apply(&format!("<{spelling}> and {spelling}")),
                "<***> and ***",
                "{spelling}"
            );
        }
    }

    #[test]
    fn puts_something_else_in_the_place_of_each() {
        let redactor = Redactor::new(["a@b.test", "a@b.test.org"]);
        let replaced =
            redactor.replace("a%40b.test, a\\u0040b.test.org", |secret| secret.len().to_string().into());
        assert_eq!(replaced, "8, 12");
    }

    #[test]
    fn leaves_everything_else_as_it_is() {
        let redactor = Redactor::new(["hunter2", "hunter", "%25"]);
        let text = "100% of the huntsmen & \\users\\u00zz; hunte r2 %2";
        assert_eq!(redactor.apply(text), text);
        assert_eq!(redactor.apply("hunter2hunters %25 %2525"), "******s *** ***25");
        assert_eq!(Redactor::default().apply(text), text);
    }

    #[test]
    fn leaves_no_beginning_of_a_secret_where_a_text_was_cut() {
        let secret = "k+y\"012345";
        let redactor = Redactor::new([secret]);
        let spelled = ["k+y\"012345", "k%2By%22012345", r#"k+y\"012345"#, r#"k\u002by\u0022012345"#];
        for spelling in spelled {
            for length in 1..spelling.len() {
                let text = format!("said {}", &spelling[..length]);
                assert_eq!(redactor.apply_to_cut(&text), "said ***", "{text}");
            }
        }
        assert_eq!(redactor.apply("k+y\"01"), "k+y\"01");
        assert_eq!(redactor.apply_to_cut("all is said"), "all is said");
    }

    #[test]
    fn comes_to_an_end_with_long_texts() {
        let text = "%".repeat(300_000);
        assert_eq!(Redactor::new(["%%%%%%%%x"; 8]).apply(&text), text);
    }
}
