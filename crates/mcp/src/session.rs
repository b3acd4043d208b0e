//! Legacy sessions as sealed tokens: whoever has the key can serve any session, and nobody keeps any.

use crate::Version;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::{digest, rand};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt;
use tool::{Error, Result, Secret};

/// What a session remembers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Session {
    /// What was agreed on in the handshake.
    #[serde(rename = "v")]
    pub version: Version,
    /// Who opened it; nobody else may use it.
    #[serde(rename = "o")]
    pub owner: String,
    /// What the client's program can do, as it said in the handshake.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Box<RawValue>>,
}

/// Seals and opens sessions.
pub struct Sealer(LessSafeKey);

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer")
    }
}

impl Sealer {
    /// A sealer with a key of its own, derived from `secret` once.
    ///
    /// # Errors
    /// Never in practice: the derived key has the right length.
    pub fn new(secret: &Secret) -> Result<Self> {
        let text = format!("mcp session\0{}", secret.expose());
        let key = digest::digest(&digest::SHA256, text.as_bytes());
        let key = UnboundKey::new(&AES_256_GCM, key.as_ref());
        key.map(|key| Self(LessSafeKey::new(key))).map_err(|_| Error::internal("no session key can be made"))
    }

    /// The session as a token for the `Mcp-Session-Id` header.
    ///
    /// # Errors
    /// When there is no randomness to be had.
    pub fn seal(&self, session: &Session) -> Result<String> {
        let failed = |_| Error::internal("a session could not be sealed");
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce).map_err(failed)?;
        let mut sealed =
            serde_json::to_vec(session).map_err(|error| Error::internal("no session").caused_by(error))?;
        let key = Nonce::assume_unique_for_key(nonce);
        self.0.seal_in_place_append_tag(key, Aad::empty(), &mut sealed).map_err(failed)?;
        sealed.splice(0..0, nonce);
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// The session in a token, if it is one of ours.
    #[must_use]
    pub fn open(&self, token: &str) -> Option<Session> {
        let mut sealed = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (nonce, body) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let session = self.0.open_in_place(nonce, Aad::empty(), body).ok()?;
        serde_json::from_slice(session).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_only_what_was_sealed_with_the_same_secret() {
        let sealer = Sealer::new(&Secret::new("a")).unwrap();
        let capabilities = RawValue::from_string("{\"roots\":{}}".into()).unwrap();
        let session = Session {
            version: Version::V2025_06_18,
            owner: "acme/key".into(),
            capabilities: Some(capabilities),
        };
        let token = sealer.seal(&session).unwrap();
        let opened = sealer.open(&token).unwrap();
        assert_eq!((opened.version, opened.owner.as_str()), (session.version, "acme/key"));
        assert_eq!(opened.capabilities.unwrap().get(), "{\"roots\":{}}");
        assert_ne!(token, sealer.seal(&session).unwrap());
        assert!(Sealer::new(&Secret::new("b")).unwrap().open(&token).is_none());
        for at in 0..token.len() {
            let mut wrong = token.clone();
            let other = if &token[at..=at] == "A" { "B" } else { "A" };
            wrong.replace_range(at..=at, other);
            assert!(sealer.open(&wrong).is_none(), "changed at {at}");
        }
        for garbage in ["", "x", "!!", "AAAA"] {
            assert!(sealer.open(garbage).is_none());
        }
    }
}
