//! Why an exchange failed, in words for whoever gave the address.

use crate::Error;
use rustls::{AlertDescription, CertificateError, InvalidMessage};
use std::io;

impl Error {
    /// What went wrong and what to do, where the cause is known.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        if let Some(why) = self.malformed_because() {
            return Some(why);
        }
        if let Some(error) = self.find::<rustls::Error>() {
            return Some(of_tls(error));
        }
        if self.find::<tokio::time::error::Elapsed>().is_some() {
            return Some("it does not take connections in time; check the host and the port");
        }
        match self.find::<io::Error>()?.kind() {
            io::ErrorKind::ConnectionRefused => {
                Some("nobody listens at that port; check the port, and that the service runs")
            }
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
                Some("it closed the connection")
            }
            io::ErrorKind::TimedOut => {
                Some("it does not take connections in time; check the host and the port")
            }
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                Some("there is no way to that address; check the host and the network")
            }
            _ => None,
        }
    }

    /// Whoever answered did not speak TLS.
    #[must_use]
    pub fn is_not_tls(&self) -> bool {
        self.find::<rustls::Error>().is_some_and(is_plain_text)
    }
}

/// What stands where a message of TLS should is none.
fn is_plain_text(error: &rustls::Error) -> bool {
    matches!(
        error,
        rustls::Error::InvalidMessage(
            InvalidMessage::InvalidContentType
                | InvalidMessage::UnknownProtocolVersion
                | InvalidMessage::MessageTooLarge
                | InvalidMessage::InvalidEmptyPayload,
        )
    )
}

fn of_tls(error: &rustls::Error) -> &'static str {
    match error {
        _ if is_plain_text(error) => {
            "it does not speak TLS at that port; write http:// instead of https://, or give another port"
        }
        rustls::Error::InvalidCertificate(wrong) => of_certificate(wrong),
        rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "it wants a client certificate; give it one with the settings 'tls.certificate' and 'tls.key'"
        }
        rustls::Error::AlertReceived(
            AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::DecryptError,
        ) => "it does not accept our client certificate; give it one that it accepts",
        rustls::Error::AlertReceived(_) => {
            "it broke off the TLS handshake; it may want a client certificate, or another version of TLS"
        }
        rustls::Error::PeerIncompatible(_) => "it speaks only versions of TLS that are too old",
        _ => "the TLS handshake failed",
    }
}

fn of_certificate(wrong: &CertificateError) -> &'static str {
    match wrong {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired; whoever runs it must renew it"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet; check the clocks"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another name; check the host"
        }
        CertificateError::UnknownIssuer => {
            "its certificate is not from an authority that is trusted here; if it is yours, give the authority's certificate"
        }
        CertificateError::Revoked => "its certificate was revoked",
        _ => "its certificate cannot be trusted",
    }
}
