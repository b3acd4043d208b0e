//! The brokers that a connection string names, and how to sign in to them.

use crate::mq::address::refused;
use crate::mq::settings::{Sasl, Settings};
use crate::shared::tls::TlsSettings;
use krafka::auth::{AuthConfig, TlsConfig};
use tool::{Problem, Secret};

const EXAMPLE: &str = "host1:9092,host2:9092";
const PORT: u16 = 9092;
/// The most brokers that are named; the cluster knows the others.
const MAX_SERVERS: usize = 20;

/// The brokers as the library reads them; problems never quote the text, because somebody may have put a password there.
pub(super) fn servers(text: Option<&Secret>) -> Result<String, Problem> {
    let missing = || {
        let message = format!("the connection_string is missing; write e.g. {EXAMPLE}");
        Problem::new("connection_string", "Required", message)
    };
    let servers: Option<Vec<String>> = text.ok_or_else(missing)?.expose().split(',').map(server).collect();
    let servers = servers.ok_or_else(|| refused(&format!("names no brokers; write e.g. {EXAMPLE}")))?;
    match servers.len() {
        1..=MAX_SERVERS => Ok(servers.join(",")),
        _ => Err(refused(&format!("names more than {MAX_SERVERS} brokers"))),
    }
}

fn server(text: &str) -> Option<String> {
    let text = text.trim();
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse().ok()?),
        _ => (text, PORT),
    };
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    (!host.is_empty() && host.bytes().all(is_host)).then(|| format!("{host}:{port}"))
}

/// How to sign in, and whether in TLS: where `tls` is written, if only as `{}`.
pub(super) fn security(settings: &Settings, problems: &mut Vec<Problem>) -> AuthConfig {
    let signed_in = match (settings.sasl, &settings.username, &settings.password) {
        (None, None, None) => AuthConfig::plaintext(),
        (Some(sasl), Some(username), Some(password))
            if !username.is_empty() && !password.expose().is_empty() =>
        {
            signing_in(sasl, username, password.expose())
        }
        (None, _, _) => {
            let message = "'username' and 'password' need 'sasl': PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512";
            problems.push(Problem::new("sasl", "Required", message));
            AuthConfig::plaintext()
        }
        (Some(_), username, _) => {
            let missing =
                if username.as_ref().is_none_or(String::is_empty) { "username" } else { "password" };
            problems.push(Problem::new(missing, "Required", format!("'sasl' needs '{missing}' beside it")));
            AuthConfig::plaintext()
        }
    };
    match &settings.tls {
        Some(tls) => signed_in.with_tls(in_tls(tls)),
        None => signed_in,
    }
}

fn signing_in(sasl: Sasl, username: &str, password: &str) -> AuthConfig {
    match sasl {
        Sasl::Plain => AuthConfig::sasl_plain(username, password),
        Sasl::ScramSha256 => AuthConfig::sasl_scram_sha256(username, password),
        Sasl::ScramSha512 => AuthConfig::sasl_scram_sha512(username, password),
    }
}

/// What is wrong with the certificates was said already.
fn in_tls(settings: &TlsSettings) -> TlsConfig {
    let mut tls = TlsConfig::new().with_native_roots();
    if let Some(ca) = &settings.ca {
        tls = tls.with_ca_cert_pem(ca.as_bytes());
    }
    if let Some(name) = &settings.server_name {
        tls = tls.with_sni_hostname(name);
    }
    if let (Some(certificate), Some(key)) = (&settings.certificate, &settings.key) {
        tls = tls.with_client_cert_pem(certificate.expose().as_bytes(), key.expose().as_bytes().to_vec());
    }
    tls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_brokers_of_a_connection_string() {
        let read = |text: &str| servers(Some(&Secret::new(text.to_owned())));
        assert_eq!(read("a:1, b").unwrap(), "a:1,b:9092");
        assert_eq!(read("[::1]:9093").unwrap(), "[::1]:9093");
        for wrong in ["", "a:1,,b", "kafka://a:1", "user:pass@a:1", "a:99999", "a b:1", &["a"; 21].join(",")]
        {
            let problem = read(wrong).unwrap_err();
            assert_eq!(problem.path, "connection_string", "{wrong}");
            assert!(!problem.message.contains("pass"), "{problem:?}");
        }
    }
}
