//! Who we are to a database that asks for a certificate, and whom we believe.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Problem, Secret};

/// Certificates of a service, each as PEM text.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TlsSettings {
    /// The certificate we show to the server, followed by those that vouch for it.
    pub(super) certificate: Option<Secret>,
    /// The private key of the certificate.
    pub(super) key: Option<Secret>,
    /// Authorities that may vouch for the server, beside the public ones. With them the server's certificate is checked.
    pub(super) ca: Option<String>,
    /// The name in the server's certificate, where it is not the host of the connection string.
    pub(super) server_name: Option<String>,
}

impl TlsSettings {
    /// The same, without what cannot be used.
    pub(super) fn check(self, problems: &mut Vec<Problem>) -> Self {
        let mut refuse = |field: &str, code, why: &str| {
            problems.push(Problem::new(format!("tls.{field}"), code, format!("'tls.{field}' {why}")));
        };
        match (&self.certificate, &self.key) {
            (Some(_), None) => refuse("key", "Required", "is missing beside 'tls.certificate'"),
            (None, Some(_)) => refuse("certificate", "Required", "is missing beside 'tls.key'"),
            (None, None) | (Some(_), Some(_)) => {}
        }
        if self.certificate.as_ref().is_some_and(|pem| !has_certificates(pem.expose())) {
            refuse("certificate", "InvalidPem", "holds no certificate in PEM");
        }
        if self
            .key
            .as_ref()
            .is_some_and(|pem| PrivateKeyDer::from_pem_slice(pem.expose().as_bytes()).is_err())
        {
            refuse("key", "InvalidPem", "holds no private key in PEM, without a password");
        }
        if self.ca.as_deref().is_some_and(|pem| !has_certificates(pem)) {
            refuse("ca", "InvalidPem", "holds no certificates in PEM");
        }
        self
    }
}

fn has_certificates(pem: &str) -> bool {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    found.is_ok_and(|found| !found.is_empty())
}
