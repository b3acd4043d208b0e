//! What a server asks for in `WWW-Authenticate`, of which only the scheme `Bearer` concerns us.

use super::scope::Scope;

/// The parameters of a challenge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    /// Where the server describes itself.
    pub(super) resource_metadata: Option<String>,
    pub(super) scope: Option<Scope>,
    pub(super) error: Option<String>,
}

impl Challenge {
    /// Reads what can be read; the rest is as if it were not there.
    pub(super) fn parse(header: &str) -> Self {
        let mut challenge = Self::default();
        let mut is_bearer = false;
        let mut rest = header;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let (word, after) = split_token(rest);
            if word.is_empty() {
                return challenge;
            }
            let Some(value) = after.trim_start().strip_prefix('=') else {
                is_bearer = word.eq_ignore_ascii_case("bearer");
                rest = after;
                continue;
            };
            let (value, after) = split_value(value.trim_start());
            rest = after;
            if is_bearer {
                challenge.take(word, value);
            }
        }
    }

    fn take(&mut self, name: &str, value: String) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => self.resource_metadata = Some(value),
            "scope" => self.scope = Some(Scope::parse(&value)).filter(|scope| !scope.is_empty()),
            "error" => self.error = Some(value),
            _ => {}
        }
    }
}

fn split_token(text: &str) -> (&str, &str) {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(c);
    text.split_at(text.find(|c| !is_inside(c)).unwrap_or(text.len()))
}

fn split_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            c => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_bearer_challenge_among_others() {
        for header in [
            r#"Bearer resource_metadata="https://x/y?a=b,c", scope="a b", error="invalid_token""#,
            r#"Basic realm="a, Bearer scope=x", bearer error=invalid_token,scope="b a" , Resource_Metadata = "https://x/y?a=b,c""#,
            r#"bearer scope="\a b", error=invalid_token, resource_metadata="https://x/y?a=b,c", DPoP algs="ES256", error=other"#,
        ] {
            let challenge = Challenge::parse(header);
            assert_eq!(challenge.resource_metadata.as_deref(), Some("https://x/y?a=b,c"), "{header}");
            assert_eq!(challenge.scope, Some(Scope::parse("a b")), "{header}");
            assert_eq!(challenge.error.as_deref(), Some("invalid_token"), "{header}");
        }
    }

    #[test]
    fn takes_no_harm_from_nonsense() {
        for header in
            ["", "=", "Bearer", "Bearer =", r#"Bearer scope=""#, "Bearer scope=\"", "\u{e9}=1", ",,,"]
        {
            assert_eq!(Challenge::parse(header), Challenge::default(), "{header}");
        }
    }

    proptest::proptest! {
        #[test]
        fn ends_with_every_text(header in ".{0,200}") {
            Challenge::parse(&header);
        }
    }
}
