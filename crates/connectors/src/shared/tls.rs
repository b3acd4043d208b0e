//! Who we are to a server that asks for a certificate, whom we believe beside the public authorities, and by which name
//! we know the server.

use fetch::Tls;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use tool::{Problem, Secret};

/// Certificates of a service, each as PEM text.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TlsSettings {
    /// The certificate we show to the server, followed by those that vouch for it.
    pub(crate) certificate: Option<Secret>,
    /// The private key of the certificate.
    pub(crate) key: Option<Secret>,
    /// Authorities that may vouch for the server, beside the public ones.
    pub(crate) ca: Option<String>,
    /// The name in the server's certificate, where it is not the host that is connected to.
    pub(crate) server_name: Option<String>,
}

/// Schemars would write `anyOf` with null, whose complaints name no field.
pub(crate) fn tls_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = TlsSettings::json_schema(generator);
    schema.insert("type".to_owned(), serde_json::json!(["object", "null"]));
    schema
}

impl TlsSettings {
    /// The certificates, if they are whole.
    pub(crate) fn check(&self, problems: &mut Vec<Problem>) -> Tls {
        let Self { certificate, key, ca, server_name } = self;
        let identity = match (certificate, key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => check_identity(certificate, key, problems),
            (certificate, _) => {
                let (there, missing) =
                    if certificate.is_some() { ("certificate", "key") } else { ("key", "certificate") };
                let message = format!("'tls.{there}' needs 'tls.{missing}' beside it");
                problems.push(Problem::new(format!("tls.{missing}"), "Required", message));
                None
            }
        };
        let authorities = ca.as_deref().map(|ca| authorities(ca, problems)).unwrap_or_default();
        let server_name = server_name.as_deref().and_then(|name| check_name(name, problems));
        Tls { identity, authorities, server_name, named_host: None }
    }
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// Both, if they belong together.
fn check_identity(certificate: &Secret, key: &Secret, problems: &mut Vec<Problem>) -> Option<Identity> {
    let chain = certificates(certificate.expose());
    if chain.is_none() {
        refuse("certificate", "holds no certificate in PEM", problems);
    }
    let private = PrivateKeyDer::from_pem_slice(key.expose().as_bytes()).ok();
    if private.is_none() {
        refuse("key", "holds no private key in PEM, without a password", problems);
    }
    // A key of another certificate would only show when the server asks for it.
    let (chain, private) = (chain?, private?);
    match CertifiedKey::from_der(chain.clone(), private.clone_key(), &default_provider()) {
        Ok(_) => {}
        Err(rustls::Error::InconsistentKeys(_)) => {
            refuse("key", "is not the key of 'tls.certificate'", problems);
            return None;
        }
        Err(rustls::Error::InvalidCertificate(why)) => {
            let why = format!("cannot be used: it must be an X.509 certificate of version 3 ({why})");
            refuse("certificate", &why, problems);
            return None;
        }
        Err(why) => {
            refuse("key", &format!("cannot be used: {why}"), problems);
            return None;
        }
    }
    Some((chain, private))
}

fn authorities(pem: &str, problems: &mut Vec<Problem>) -> Vec<CertificateDer<'static>> {
    let found = certificates(pem).unwrap_or_default();
    let mut roots = rustls::RootCertStore::empty();
    if found.is_empty() || !found.iter().all(|certificate| roots.add(certificate.clone()).is_ok()) {
        refuse("ca", "holds no certificates in PEM", problems);
    }
    found
}

fn check_name(name: &str, problems: &mut Vec<Problem>) -> Option<ServerName<'static>> {
    let known = ServerName::try_from(name.to_owned()).ok();
    if known.is_none() {
        let message = "'tls.server_name' is no name that a certificate can have; write e.g. loyalty.internal";
        problems.push(Problem::new("tls.server_name", "InvalidName", message));
    }
    known
}

fn certificates(pem: &str) -> Option<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    found.ok().filter(|found| !found.is_empty())
}

fn refuse(field: &str, why: &str, problems: &mut Vec<Problem>) {
    problems.push(Problem::new(format!("tls.{field}"), "InvalidPem", format!("'tls.{field}' {why}")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use testkit::certificates::Authority;

    /// SV-2
    #[test]
    fn says_why_a_certificate_cannot_be_used() {
        let authority = Authority::new();
        let (one, other) = (authority.identity("one"), authority.identity("other"));
        let mut der = certificates(&one.certificate).unwrap().remove(0).to_vec();
        let version = der.windows(5).position(|bytes| bytes == [0xa0, 3, 2, 1, 2]).unwrap();
        der[version + 4] = 0;
        let body = BASE64_STANDARD.encode(der);
        let old = format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
        for (certificate, key, path, words) in [
            (&one.certificate, &one.key, "", ""),
            (&one.certificate, &other.key, "tls.key", "is not the key of"),
            (&old, &one.key, "tls.certificate", "of version 3"),
        ] {
            let mut problems = Vec::new();
            check_identity(&Secret::new(certificate.clone()), &Secret::new(key.clone()), &mut problems);
            let told = problems.first().map_or(("", ""), |told| (told.path.as_str(), told.message.as_str()));
            assert!(told.0 == path && told.1.contains(words), "{told:?}");
        }
    }
}
