//! The vault: what must not be readable in the database is sealed here with AES-256-GCM.
//!
//! A sealed text reads `v1.<key id>.<base64 of nonce, ciphertext and tag>` and opens only
//! at the place it was sealed for, so that nobody can move it to another row.

mod file;
mod ring;
mod tokens;

pub use file::Rotation;
pub use tokens::Tokens;

use crate::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::Ring;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tool::Secret;
use zeroize::Zeroizing;

/// Holds the master keys. The first one seals new values, every one opens.
pub struct Vault {
    ring: RwLock<Arc<Ring>>,
    /// Where the keys come from, when a rotation may change them while we run.
    file: Option<PathBuf>,
}

impl Vault {
    /// Takes the keys from `provided` (32 bytes each in base64 or hex, separated by commas),
    /// or else from `master.key` in the data folder, which is made when it is missing.
    pub fn load(data_dir: &Path, provided: Option<&Secret>) -> Result<Self> {
        if let Some(text) = provided {
            return Ok(Self { ring: RwLock::new(Arc::new(Ring::parse(text.expose())?)), file: None });
        }
        let path = file::path(data_dir);
        let ring = file::read_or_create(&path)?;
        Ok(Self { ring: RwLock::new(Arc::new(ring)), file: Some(path) })
    }

    /// Puts a new key before the others in `master.key`. Re-seal the database, then finish.
    /// Until then the old keys stay in the file, so a crash leaves everything readable.
    pub fn rotate_file(data_dir: &Path) -> Result<Rotation> {
        Rotation::begin(file::path(data_dir))
    }

    /// The file the keys come from, if they were not provided otherwise.
    #[must_use]
    pub fn key_file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The id of the key that a rotation seals with.
    pub(crate) fn first_key_id(&self) -> String {
        self.ring().first().id().to_owned()
    }

    /// Reads the key file again, if there is one.
    pub(crate) fn reload(&self) -> Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        let ring = Arc::new(file::read(path)?.and_older(&self.ring()));
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = ring;
        Ok(())
    }

    /// Seals `text` for `place` with the named key.
    pub(crate) fn seal(&self, key_id: &str, place: &str, text: &str) -> Result<String> {
        let bytes = self.with_key(key_id, |key| key.seal(place, text))??;
        Ok(format!("v1.{key_id}.{}", BASE64.encode(bytes)))
    }

    /// Opens what was sealed for `place`.
    pub(crate) fn open(&self, place: &str, sealed: &str) -> Result<Zeroizing<String>> {
        let (key_id, body) = split(sealed)?;
        let bytes = Zeroizing::new(BASE64.decode(body).map_err(|_| damaged())?);
        self.with_key(key_id, |key| key.open(place, &bytes))?
    }

    /// A key we do not know may have come with a rotation by another process: look once.
    fn with_key<T>(&self, key_id: &str, act: impl FnOnce(&ring::MasterKey) -> T) -> Result<T> {
        if let Some(key) = self.ring().find(key_id) {
            return Ok(act(key));
        }
        self.reload()?;
        self.ring().find(key_id).map(act).ok_or_else(|| {
            Error::corrupt("a value is sealed with a master key that we do not have").at("master key")
        })
    }

    fn ring(&self) -> Arc<Ring> {
        Arc::clone(&self.ring.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vault(***)")
    }
}

/// The id of the key that sealed the text.
pub(crate) fn key_id_of(sealed: &str) -> Result<&str> {
    Ok(split(sealed)?.0)
}

fn split(sealed: &str) -> Result<(&str, &str)> {
    sealed.strip_prefix("v1.").and_then(|rest| rest.split_once('.')).ok_or_else(damaged)
}

fn damaged() -> Error {
    Error::corrupt("a sealed value is damaged, or was sealed for another place")
}

/// Random bytes in URL-safe base64.
pub(crate) fn random_text<const BYTES: usize>() -> Result<Secret> {
    let bytes = random_bytes::<BYTES>()?;
    Ok(Secret::new(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(*bytes)))
}

pub(crate) fn random_bytes<const BYTES: usize>() -> Result<Zeroizing<[u8; BYTES]>> {
    let mut bytes = Zeroizing::new([0; BYTES]);
    aws_lc_rs::rand::fill(&mut *bytes).map_err(|_| Error::internal("the system gave no random bytes"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
