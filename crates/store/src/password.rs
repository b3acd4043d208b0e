//! Passwords: argon2id hashes, made and checked so that time tells nothing.
//!
//! Each function takes tens of milliseconds and megabytes: call it in `spawn_blocking`.

use crate::{Error, Result};
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use tool::Secret;

/// A hash that no password has, with the cost of the real ones.
const DUMMY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The argon2id hash in PHC text, with a fresh salt.
pub fn hash(password: &Secret) -> Result<Secret> {
    let hash = Argon2::default()
        .hash_password(password.expose().as_bytes())
        .map_err(|_| Error::internal("the password could not be hashed"))?;
    Ok(Secret::new(hash.to_string()))
}

/// Whether the password is the one that was hashed. A damaged hash fits no password.
#[must_use]
pub fn verify(password: &Secret, hash: &Secret) -> bool {
    Argon2::default().verify_password(password.expose().as_bytes(), hash.expose()).is_ok()
}

/// Costs what `verify` costs, for user names that do not exist.
pub fn verify_dummy(password: &Secret) {
    std::hint::black_box(verify(password, &Secret::new(DUMMY)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_the_password_that_was_hashed() {
        let hashed = hash(&Secret::new("correct horse")).unwrap();
        assert!(hashed.expose().starts_with("$argon2id$"));
        assert!(verify(&Secret::new("correct horse"), &hashed));
        assert!(!verify(&Secret::new("correct horse "), &hashed));
        assert!(!verify(&Secret::new(""), &hashed));
        assert!(!verify(&Secret::new("x"), &Secret::new("no hash")));
    }

    #[test]
    fn spends_as_much_on_unknown_users() {
        let cost = |hash: &str| hash.split('$').take(4).collect::<Vec<_>>().join("$");
        assert_eq!(cost(DUMMY), cost(hash(&Secret::new("x")).unwrap().expose()));
        assert!(argon2::PasswordHash::new(DUMMY).is_ok());
        verify_dummy(&Secret::new("x"));
    }

    #[test]
    fn salts_every_hash_anew() {
        let password = Secret::new("same");
        assert_ne!(hash(&password).unwrap(), hash(&password).unwrap());
    }
}
