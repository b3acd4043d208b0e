//! Certificates made for one test: an authority, a server that asks clients for theirs, and a client.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
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
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a legal name");
        // Databases know their users by it.
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    /// A server on 127.0.0.1 that talks only to those this authority vouches for.
    ///
    /// # Panics
    /// When the certificates do not fit together.
    #[must_use]
    pub fn server_that_asks_for_certificates(&self) -> rustls::ServerConfig {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.issuer.der().clone()).expect("an authority");
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
        let verifier = verifier.build().expect("a verifier");
        self.serve(&local(), builder().with_client_cert_verifier(verifier))
    }

    /// A server on 127.0.0.1 that talks to everybody.
    #[must_use]
    pub fn server(&self) -> rustls::ServerConfig {
        self.serve(&local(), builder().with_no_client_auth())
    }

    /// A server that talks to everybody, with another name in its certificate than its address.
    ///
    /// # Panics
    /// When the name is none.
    #[must_use]
    pub fn server_named(&self, name: &str) -> rustls::ServerConfig {
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a legal name");
        self.serve(&params, builder().with_no_client_auth())
    }

    /// The same with a certificate of last century.
    #[must_use]
    pub fn expired_server(&self) -> rustls::ServerConfig {
        let mut params = local();
        params.not_before = rcgen::date_time_ymd(1998, 1, 1);
        params.not_after = rcgen::date_time_ymd(1999, 1, 1);
        self.serve(&params, builder().with_no_client_auth())
    }

    fn serve(
        &self,
        params: &CertificateParams,
        server: rustls::ConfigBuilder<rustls::ServerConfig, rustls::server::WantsServerCert>,
    ) -> rustls::ServerConfig {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a private key");
        let chain = vec![certificate.der().clone()];
        server.with_single_cert(chain, key).expect("the key belongs to the certificate")
    }
}

fn local() -> CertificateParams {
    CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a legal name")
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

fn builder() -> rustls::ConfigBuilder<rustls::ServerConfig, rustls::WantsVerifier> {
    let builder = rustls::ServerConfig::builder_with_provider(provider());
    builder.with_safe_default_protocol_versions().expect("the provider knows them")
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}
