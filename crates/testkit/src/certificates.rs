//! Certificates made for one test: an authority, a server that asks clients for theirs, and a client.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use std::sync::Arc;

/// An authority of our own, and what it has vouched for.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate with its key, both as PEM.
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl Authority {
    /// A new authority that nobody knows.
    ///
    /// # Panics
    /// When no key can be made.
    #[must_use]
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names are fine");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self { issuer: CertifiedIssuer::self_signed(params, key).expect("a certificate") }
    }

    /// The authority's own certificate.
    #[must_use]
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for someone called `name`, or for a server at that address.
    ///
    /// # Panics
    /// When the name is none.
    #[must_use]
    pub fn identity(&self, name: &str) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a legal name");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    /// A server on 127.0.0.1 that talks only to those this authority vouches for.
    ///
    /// # Panics
    /// When the certificates do not fit together.
    #[must_use]
    pub fn server_that_asks_for_certificates(&self) -> rustls::ServerConfig {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a legal name");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.issuer.der().clone()).expect("an authority");
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        let verifier = verifier.build().expect("a verifier");
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a private key");
        rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider knows them")
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("the key belongs to the certificate")
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}
