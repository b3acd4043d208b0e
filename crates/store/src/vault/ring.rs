//! The ring of master keys, and sealing with one of them.

use crate::vault::{damaged, random_bytes};
use crate::{Error, Result};
use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD as BASE64, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use std::fmt::Write as _;
use std::sync::Arc;
use zeroize::Zeroizing;

const KEY_BYTES: usize = 32;

/// One or more master keys, the sealing one first.
pub(super) struct Ring(Vec<Arc<MasterKey>>);

impl Ring {
    /// A ring with one random key.
    pub(super) fn random() -> Result<Self> {
        Ok(Self(vec![Arc::new(MasterKey::new(random_bytes()?)?)]))
    }

    /// Keys in base64 or hex, separated by commas or white space.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
        let keys =
            words.map(|word| MasterKey::new(decode(word)?).map(Arc::new)).collect::<Result<Vec<_>>>()?;
        if keys.is_empty() {
            return Err(Error::invalid("there is no master key; it is 32 bytes in base64 or hex"));
        }
        Ok(Self(keys))
    }

    /// The ring as text, one key per line.
    pub(super) fn to_text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::new());
        for key in &self.0 {
            text.push_str(&Zeroizing::new(BASE64.encode(*key.bytes)));
            text.push('\n');
        }
        text
    }

    pub(super) fn first(&self) -> &MasterKey {
        &self.0[0]
    }

    pub(super) fn find(&self, id: &str) -> Option<&MasterKey> {
        self.0.iter().find(|key| key.id == id).map(AsRef::as_ref)
    }

    /// Puts a new random key before the others.
    pub(super) fn with_new_first(mut self) -> Result<Self> {
        self.0.insert(0, Arc::new(MasterKey::new(random_bytes()?)?));
        Ok(self)
    }

    /// Keeps opening with the keys of an older ring, for reads that began before a rotation.
    pub(super) fn and_older(mut self, older: &Self) -> Self {
        let unknown: Vec<_> = older.0.iter().filter(|key| self.find(&key.id).is_none()).cloned().collect();
        self.0.extend(unknown);
        self
    }

    /// Forgets every key but the first.
    pub(super) fn only_first(mut self) -> Self {
        self.0.truncate(1);
        self
    }
}

/// A key and its public name.
pub(super) struct MasterKey {
    id: String,
    bytes: Zeroizing<[u8; KEY_BYTES]>,
    cipher: RandomizedNonceKey,
}

impl MasterKey {
    pub(super) fn new(bytes: Zeroizing<[u8; KEY_BYTES]>) -> Result<Self> {
        let cipher = RandomizedNonceKey::new(&AES_256_GCM, &*bytes)
            .map_err(|_| Error::internal("the cipher refused the master key"))?;
        let mut id = String::with_capacity(8);
        for byte in &digest(&SHA256, &*bytes).as_ref()[..4] {
            // Writing to a string cannot fail.
            let _ = write!(id, "{byte:02x}");
        }
        Ok(Self { id, bytes, cipher })
    }

    /// The first 8 hex digits of the key's SHA-256.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Nonce, ciphertext and tag.
    pub(super) fn seal(&self, place: &str, text: &str) -> Result<Vec<u8>> {
        let mut body = text.as_bytes().to_vec();
        let nonce = self
            .cipher
            .seal_in_place_append_tag(Aad::from(place.as_bytes()), &mut body)
            .map_err(|_| Error::internal("the cipher could not seal a value"))?;
        let mut bytes = nonce.as_ref().to_vec();
        bytes.append(&mut body);
        Ok(bytes)
    }

    pub(super) fn open(&self, place: &str, bytes: &[u8]) -> Result<Zeroizing<String>> {
        let (nonce, body) = bytes.split_at_checked(NONCE_LEN).ok_or_else(damaged)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| damaged())?;
        let mut body = Zeroizing::new(body.to_vec());
        let plain = self
            .cipher
            .open_in_place(nonce, Aad::from(place.as_bytes()), &mut body)
            .map_err(|_| damaged())?;
        let text = std::str::from_utf8(plain).map_err(|_| damaged())?;
        Ok(Zeroizing::new(text.to_owned()))
    }
}

fn decode(word: &str) -> Result<Zeroizing<[u8; KEY_BYTES]>> {
    let bytes = Zeroizing::new(decode_hex(word).or_else(|| decode_base64(word)).unwrap_or_default());
    let key = <[u8; KEY_BYTES]>::try_from(bytes.as_slice()).map_err(|_| {
        Error::invalid("a master key must be 32 bytes in base64 (44 characters) or hex (64 characters)")
    })?;
    Ok(Zeroizing::new(key))
}

fn decode_hex(word: &str) -> Option<Vec<u8>> {
    if word.len() != 2 * KEY_BYTES || !word.is_ascii() {
        return None;
    }
    (0..KEY_BYTES).map(|i| u8::from_str_radix(&word[2 * i..2 * i + 2], 16).ok()).collect()
}

fn decode_base64(word: &str) -> Option<Vec<u8>> {
    [BASE64, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD].iter().find_map(|engine| engine.decode(word).ok())
}
