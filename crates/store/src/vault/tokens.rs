//! Texts that leave us and come back: whoever has the platform's key can open them, and nobody can change them.

use super::ring::MasterKey;
use crate::Result;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::fmt;
use tool::Secret;
use zeroize::Zeroizing;

/// Seals texts for one purpose.
pub struct Tokens {
    key: MasterKey,
    purpose: &'static str,
}

impl Tokens {
    /// With a key of its own, derived from `secret`.
    pub fn new(secret: &Secret, purpose: &'static str) -> Result<Self> {
        let text = Zeroizing::new(format!("{purpose}\0{}", secret.expose()));
        let mut bytes = Zeroizing::new([0; 32]);
        bytes.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
        Ok(Self { key: MasterKey::new(bytes)?, purpose })
    }

    /// The text as a token that can stand in an address.
    pub fn seal(&self, text: &str) -> Result<String> {
        Ok(URL_SAFE_NO_PAD.encode(self.key.seal(self.purpose, text)?))
    }

    /// The text in a token, if it is one of ours.
    #[must_use]
    pub fn open(&self, token: &str) -> Option<Zeroizing<String>> {
        self.key.open(self.purpose, &URL_SAFE_NO_PAD.decode(token).ok()?).ok()
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.purpose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_only_what_was_sealed_for_the_same_purpose() {
        let tokens = |secret, purpose| Tokens::new(&Secret::new(secret), purpose).unwrap();
        let token = tokens("a", "link").seal("text").unwrap();
        assert_eq!(tokens("a", "link").open(&token).unwrap().as_str(), "text");
        assert!(tokens("b", "link").open(&token).is_none());
        assert!(tokens("a", "other").open(&token).is_none());
        for garbage in ["", "x", "!!", "AAAA", &token[1..], &format!("{token}A")] {
            assert!(tokens("a", "link").open(garbage).is_none(), "{garbage}");
        }
    }
}
