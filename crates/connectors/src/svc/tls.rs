//! Who we are to instances that ask for a certificate, whom we believe, and by which name we know them.

use crate::shared::tls::TlsSettings as Certificates;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use tool::{Problem, Secret};

/// Certificates of a service, each as PEM text.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TlsSettings {
    /// The certificate we show to instances, followed by those that vouch for it.
    certificate: Option<Secret>,
    /// The private key of the certificate.
    key: Option<Secret>,
    /// Authorities that may vouch for instances, beside the public ones.
    ca: Option<String>,
    /// The name in the certificates of the instances, where they are known by their addresses.
    server_name: Option<String>,
}

/// What was checked.
#[derive(Debug)]
pub(super) struct Tls {
    pub(super) certificates: fetch::Tls,
    pub(super) server_name: Option<String>,
}

/// Schemars would write `anyOf` with null, whose complaints name no field.
pub(super) fn tls_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = TlsSettings::json_schema(generator);
    schema.insert("type".to_owned(), serde_json::json!(["object", "null"]));
    schema
}

impl TlsSettings {
    pub(super) fn check(self, problems: &mut Vec<Problem>) -> Tls {
        let Self { certificate, key, ca, server_name } = self;
        let certificates = Certificates { certificate, key, ca }.check(problems);
        let is_name = |name: &String| rustls::pki_types::ServerName::try_from(name.as_str()).is_ok();
        if server_name.as_ref().is_some_and(|name| !is_name(name)) {
            let message =
                "'tls.server_name' is no name that a certificate can have; write e.g. loyalty.internal";
            problems.push(Problem::new("tls.server_name", "InvalidName", message));
        }
        Tls { certificates, server_name }
    }
}
