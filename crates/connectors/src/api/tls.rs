//! Who we are to a server that asks for a certificate, and whom we believe beside the public authorities.

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Problem, Secret};

/// Certificates of a service, each as PEM text.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TlsSettings {
    /// The certificate we show to the server, followed by those that vouch for it.
    certificate: Option<Secret>,
    /// The private key of the certificate.
    key: Option<Secret>,
    /// Authorities that may vouch for the server, beside the public ones.
    ca: Option<String>,
}

/// Certificates that are known to be whole.
#[derive(Debug, Default)]
pub(super) struct Tls {
    identity: Option<Secret>,
    authorities: Option<String>,
}

impl Tls {
    pub(super) fn check(settings: Option<TlsSettings>, problems: &mut Vec<Problem>) -> Self {
        let TlsSettings { certificate, key, ca } = settings.unwrap_or_default();
        let identity = match (certificate, key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => check_identity(&certificate, &key, problems),
            (certificate, _) => {
                let (there, missing) =
                    if certificate.is_some() { ("certificate", "key") } else { ("key", "certificate") };
                let message = format!("'tls.{there}' needs 'tls.{missing}' beside it");
                problems.push(Problem::new(format!("tls.{missing}"), "Required", message));
                None
            }
        };
        if let Some(ca) = &ca
            && !certificates(ca).is_some_and(|found| {
                let mut roots = rustls::RootCertStore::empty();
                found.into_iter().all(|certificate| roots.add(certificate).is_ok())
            })
        {
            refuse("ca", "holds no certificates in PEM", problems);
        }
        Self { identity, authorities: ca }
    }

    /// The same for the HTTP client. What was checked does not fail.
    pub(super) fn apply(
        &self,
        mut builder: reqwest::ClientBuilder,
    ) -> reqwest::Result<reqwest::ClientBuilder> {
        if let Some(identity) = &self.identity {
            builder = builder.identity(reqwest::Identity::from_pem(identity.expose().as_bytes())?);
        }
        if let Some(authorities) = &self.authorities {
            builder = builder.tls_certs_merge(reqwest::Certificate::from_pem_bundle(authorities.as_bytes())?);
        }
        Ok(builder)
    }
}

/// Both in one text, if they belong together.
fn check_identity(certificate: &Secret, key: &Secret, problems: &mut Vec<Problem>) -> Option<Secret> {
    let chain = certificates(certificate.expose());
    if chain.is_none() {
        refuse("certificate", "holds no certificate in PEM", problems);
    }
    let private = PrivateKeyDer::from_pem_slice(key.expose().as_bytes()).ok();
    if private.is_none() {
        refuse("key", "holds no private key in PEM, without a password", problems);
    }
    // A key of another certificate would only show when the server asks for it.
    if CertifiedKey::from_der(chain?, private?, &default_provider()).is_err() {
        refuse("key", "is not the key of 'tls.certificate'", problems);
        return None;
    }
    Some(Secret::new(format!("{}\n{}", certificate.expose(), key.expose())))
}

fn certificates(pem: &str) -> Option<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    found.ok().filter(|found| !found.is_empty())
}

fn refuse(field: &str, why: &str, problems: &mut Vec<Problem>) {
    problems.push(Problem::new(format!("tls.{field}"), "InvalidPem", format!("'tls.{field}' {why}")));
}
