//! Keys that sign tokens (RFC 7518): secrets that both sides know, or private keys in PEM.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
};
use aws_lc_rs::{error::Unspecified, hmac};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt;

// The doc comments of variants would turn the schema's `enum` into a `oneOf` that explains less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) enum Algorithm {
    #[serde(rename = "HS256")]
    Hs256,
    #[serde(rename = "HS384")]
    Hs384,
    #[serde(rename = "HS512")]
    Hs512,
    #[serde(rename = "RS256")]
    Rs256,
    #[serde(rename = "RS384")]
    Rs384,
    #[serde(rename = "RS512")]
    Rs512,
    #[serde(rename = "PS256")]
    Ps256,
    #[serde(rename = "PS384")]
    Ps384,
    #[serde(rename = "PS512")]
    Ps512,
    #[serde(rename = "ES256")]
    Es256,
    #[serde(rename = "ES384")]
    Es384,
    #[serde(rename = "ES512")]
    Es512,
    #[serde(rename = "EdDSA")]
    EdDsa,
    // The schema has refused it; here it only must not keep the rest from being checked.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

impl Algorithm {
    /// The name in the header of a token.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Hs384 => "HS384",
            Self::Hs512 => "HS512",
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
            Self::EdDsa => "EdDSA",
            Self::Unknown => "unknown",
        }
    }
}

impl Algorithm {
    /// How long a shared secret has to be at least (RFC 7518, 3.2): as long as what is made with it.
    pub(super) fn least_secret_bytes(self) -> usize {
        match self {
            Self::Hs256 => 32,
            Self::Hs384 => 48,
            Self::Hs512 => 64,
            Self::Rs256
            | Self::Rs384
            | Self::Rs512
            | Self::Ps256
            | Self::Ps384
            | Self::Ps512
            | Self::Es256
            | Self::Es384
            | Self::Es512
            | Self::EdDsa
            | Self::Unknown => 0,
        }
    }
}

/// A key, ready to sign.
pub(super) enum SigningKey {
    Hmac(Box<hmac::Key>),
    Rsa(Box<RsaKeyPair>, &'static dyn RsaEncoding),
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl SigningKey {
    /// The key for the algorithm.
    ///
    /// # Errors
    /// What the key would have to be.
    pub(super) fn parse(algorithm: Algorithm, text: &str) -> Result<Self, &'static str> {
        let hmac = |algorithm| Self::hmac(algorithm, text);
        match algorithm {
            Algorithm::Hs256 => hmac(hmac::HMAC_SHA256),
            Algorithm::Hs384 => hmac(hmac::HMAC_SHA384),
            Algorithm::Hs512 => hmac(hmac::HMAC_SHA512),
            Algorithm::Rs256 => Self::rsa(&RSA_PKCS1_SHA256, text),
            Algorithm::Rs384 => Self::rsa(&RSA_PKCS1_SHA384, text),
            Algorithm::Rs512 => Self::rsa(&RSA_PKCS1_SHA512, text),
            Algorithm::Ps256 => Self::rsa(&RSA_PSS_SHA256, text),
            Algorithm::Ps384 => Self::rsa(&RSA_PSS_SHA384, text),
            Algorithm::Ps512 => Self::rsa(&RSA_PSS_SHA512, text),
            Algorithm::Es256 => ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING, text)
                .map(Self::Ecdsa)
                .ok_or("a private key of the curve P-256 in PEM"),
            Algorithm::Es384 => ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING, text)
                .map(Self::Ecdsa)
                .ok_or("a private key of the curve P-384 in PEM"),
            Algorithm::Es512 => ecdsa(&ECDSA_P521_SHA512_FIXED_SIGNING, text)
                .map(Self::Ecdsa)
                .ok_or("a private key of the curve P-521 in PEM"),
            Algorithm::EdDsa => ed25519(text).map(Self::Ed25519).ok_or("an Ed25519 private key in PEM"),
            Algorithm::Unknown => Err("a key for a known algorithm"),
        }
    }

    fn rsa(encoding: &'static dyn RsaEncoding, text: &str) -> Result<Self, &'static str> {
        let key = rsa(text).ok_or("an RSA private key of 2048 to 8192 bits in PEM")?;
        Ok(Self::Rsa(Box::new(key), encoding))
    }

    fn hmac(algorithm: hmac::Algorithm, text: &str) -> Result<Self, &'static str> {
        // Whoever has a public key could sign, if that were the secret.
        if text.contains("-----BEGIN") {
            return Err("a secret that both sides know, and no key in PEM");
        }
        Ok(Self::Hmac(Box::new(hmac::Key::new(algorithm, text.as_bytes()))))
    }

    /// The signature of a message.
    ///
    /// # Errors
    /// When the library cannot sign, e.g. for want of chance.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Unspecified> {
        match self {
            Self::Hmac(key) => Ok(hmac::sign(key, message).as_ref().to_vec()),
            Self::Rsa(key, encoding) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(*encoding, &SystemRandom::new(), message, &mut signature)?;
                Ok(signature)
            }
            Self::Ecdsa(key) => Ok(key.sign(&SystemRandom::new(), message)?.as_ref().to_vec()),
            Self::Ed25519(key) => Ok(key.sign(message).as_ref().to_vec()),
        }
    }
}

fn rsa(text: &str) -> Option<RsaKeyPair> {
    match private_key(text)? {
        PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()).ok(),
        PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).ok(),
        _ => None,
    }
}

fn ecdsa(algorithm: &'static EcdsaSigningAlgorithm, text: &str) -> Option<EcdsaKeyPair> {
    match private_key(text)? {
        PrivateKeyDer::Sec1(key) => EcdsaKeyPair::from_private_key_der(algorithm, key.secret_sec1_der()).ok(),
        PrivateKeyDer::Pkcs8(key) => EcdsaKeyPair::from_pkcs8(algorithm, key.secret_pkcs8_der()).ok(),
        _ => None,
    }
}

fn ed25519(text: &str) -> Option<Ed25519KeyPair> {
    match private_key(text)? {
        PrivateKeyDer::Pkcs8(key) => Ed25519KeyPair::from_pkcs8(key.secret_pkcs8_der()).ok(),
        _ => None,
    }
}

fn private_key(text: &str) -> Option<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_slice(text.as_bytes()).ok()
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::encoding::AsDer;
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ECDSA_P521_SHA512_FIXED, ED25519, KeyPair,
        RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
        RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, UnparsedPublicKey,
        VerificationAlgorithm,
    };
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    const MESSAGE: &[u8] = b"header.claims";

    fn pem(der: &[u8]) -> String {
        format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der))
    }

    fn rsa_pem() -> String {
        let key = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        pem(AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&key).unwrap().as_ref())
    }

    fn ecdsa_pem(algorithm: &'static EcdsaSigningAlgorithm) -> String {
        pem(EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).unwrap().as_ref())
    }

    fn ed25519_pem() -> String {
        pem(Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap().as_ref())
    }

    /// SV-2, with every algorithm of RFC 7518 and RFC 8037 that has a key of its own.
    #[test]
    fn signs_what_the_public_key_verifies() {
        let (rsa_pem, ed_pem) = (rsa_pem(), ed25519_pem());
        let rsa_public = rsa(&rsa_pem).unwrap().public_key().as_ref().to_vec();
        let ed_public = ed25519(&ed_pem).unwrap().public_key().as_ref().to_vec();
        let verifiers: [(Algorithm, &'static dyn VerificationAlgorithm); 6] = [
            (Algorithm::Rs256, &RSA_PKCS1_2048_8192_SHA256),
            (Algorithm::Rs384, &RSA_PKCS1_2048_8192_SHA384),
            (Algorithm::Rs512, &RSA_PKCS1_2048_8192_SHA512),
            (Algorithm::Ps256, &RSA_PSS_2048_8192_SHA256),
            (Algorithm::Ps384, &RSA_PSS_2048_8192_SHA384),
            (Algorithm::Ps512, &RSA_PSS_2048_8192_SHA512),
        ];
        for (algorithm, verifier) in verifiers {
            assert_verifies(algorithm, &rsa_pem, verifier, &rsa_public);
        }
        assert_verifies(Algorithm::EdDsa, &ed_pem, &ED25519, &ed_public);
        let curves: [(Algorithm, &'static EcdsaSigningAlgorithm, &'static dyn VerificationAlgorithm); 3] = [
            (Algorithm::Es256, &ECDSA_P256_SHA256_FIXED_SIGNING, &ECDSA_P256_SHA256_FIXED),
            (Algorithm::Es384, &ECDSA_P384_SHA384_FIXED_SIGNING, &ECDSA_P384_SHA384_FIXED),
            (Algorithm::Es512, &ECDSA_P521_SHA512_FIXED_SIGNING, &ECDSA_P521_SHA512_FIXED),
        ];
        for (algorithm, signing, verifier) in curves {
            let pem = ecdsa_pem(signing);
            let public = ecdsa(signing, &pem).unwrap().public_key().as_ref().to_vec();
            assert_verifies(algorithm, &pem, verifier, &public);
        }
    }

    fn assert_verifies(
        algorithm: Algorithm,
        pem: &str,
        verifier: &'static dyn VerificationAlgorithm,
        public: &[u8],
    ) {
        let signature = SigningKey::parse(algorithm, pem).unwrap().sign(MESSAGE).unwrap();
        let key = UnparsedPublicKey::new(verifier, public);
        key.verify(MESSAGE, &signature).unwrap_or_else(|_| panic!("{algorithm:?}"));
        assert!(key.verify(b"another", &signature).is_err());
        assert_eq!(algorithm.name().to_lowercase(), format!("{algorithm:?}").to_lowercase());
    }

    #[test]
    fn signs_with_a_secret_that_both_sides_know() {
        for (algorithm, hash, bytes) in [
            (Algorithm::Hs256, hmac::HMAC_SHA256, 32),
            (Algorithm::Hs384, hmac::HMAC_SHA384, 48),
            (Algorithm::Hs512, hmac::HMAC_SHA512, 64),
        ] {
            let signature = SigningKey::parse(algorithm, "shared").unwrap().sign(MESSAGE).unwrap();
            hmac::verify(&hmac::Key::new(hash, b"shared"), MESSAGE, &signature).unwrap();
            assert_eq!((signature.len(), algorithm.least_secret_bytes()), (bytes, bytes));
        }
    }

    #[test]
    fn refuses_keys_of_another_algorithm() {
        let (rsa, ec, ed) = (rsa_pem(), ecdsa_pem(&ECDSA_P256_SHA256_FIXED_SIGNING), ed25519_pem());
        let p384 = ecdsa_pem(&ECDSA_P384_SHA384_FIXED_SIGNING);
        let cut = &rsa[..rsa.len() / 2];
        let empty = "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n";
        let public = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
        let locked = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        for (algorithm, texts) in [
            (Algorithm::Rs256, [&ec, ed.as_str(), "shared", cut, empty, public, locked]),
            (Algorithm::Ps512, [&ec, ed.as_str(), "shared", cut, empty, public, locked]),
            (Algorithm::Es256, [&rsa, &ed, &p384, "", empty, public, locked]),
            (Algorithm::Es384, [&rsa, &ed, &ec, "", empty, public, locked]),
            (Algorithm::Es512, [&rsa, &ec, &p384, "", empty, public, locked]),
            (Algorithm::EdDsa, [&rsa, &ec, &p384, "shared", empty, public, locked]),
            (Algorithm::Hs256, [&rsa, &ec, &ed, &p384, empty, public, locked]),
        ] {
            for text in texts {
                assert!(SigningKey::parse(algorithm, text).is_err(), "{algorithm:?} with {text:.40}");
            }
        }
        let key = SigningKey::parse(Algorithm::Hs256, "shared").unwrap();
        assert_eq!(format!("{key:?}"), "SigningKey(***)");
    }
}
