//! The headers of every call: who we are, and that we know the secret of an access key (`MQv2-HMAC-SHA1`).

use crate::shared::grpc::exchange::add_own;
use aws_lc_rs::hmac;
use chrono::{DateTime, Utc};
use fetch::http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use tool::Secret;

const CLIENT_ID: HeaderName = HeaderName::from_static("x-mq-client-id");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-mq-request-id");
const DATE_TIME: HeaderName = HeaderName::from_static("x-mq-date-time");
/// What all clients say of themselves. The version is that of the protocol that we speak.
const FIXED: [(HeaderName, HeaderValue); 3] = [
    (HeaderName::from_static("x-mq-protocol"), HeaderValue::from_static("v2")),
    (HeaderName::from_static("x-mq-language"), HeaderValue::from_static("RUST")),
    (HeaderName::from_static("x-mq-client-version"), HeaderValue::from_static(VERSION)),
];
pub(super) const VERSION: &str = "5.0.0";

/// An access key and its secret.
pub(super) struct Credentials {
    access_key: String,
    secret: hmac::Key,
}

impl Credentials {
    pub(super) fn new(access_key: &str, secret: &Secret) -> Self {
        let secret = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret.expose().as_bytes());
        Self { access_key: access_key.to_owned(), secret }
    }

    fn authorization(&self, date_time: &str) -> String {
        let signed = hmac::sign(&self.secret, date_time.as_bytes());
        let signature: String = signed.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
        let key = &self.access_key;
        format!("MQv2-HMAC-SHA1 Credential={key}, SignedHeaders=x-mq-date-time, Signature={signature}")
    }
}

/// The headers of one call of this client.
pub(super) fn headers(credentials: Option<&Credentials>, client_id: &str, now: DateTime<Utc>) -> HeaderMap {
    let mut headers = HeaderMap::from_iter(FIXED);
    add_own(&mut headers);
    let date_time = now.format("%Y%m%dT%H%M%SZ").to_string();
    let authorization = credentials.map(|credentials| credentials.authorization(&date_time));
    let texts = [
        (CLIENT_ID, Some(client_id.to_owned())),
        (REQUEST_ID, Some(tool::new_id())),
        (DATE_TIME, Some(date_time)),
        (AUTHORIZATION, authorization),
    ];
    for (name, text) in texts {
        // Keys and ids were checked to be such texts.
        if let Some(mut value) = text.and_then(|text| HeaderValue::try_from(text).ok()) {
            value.set_sensitive(name == AUTHORIZATION);
            headers.insert(name, value);
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signature of the example was calculated with Python's `hmac`.
    #[test]
    fn signs_the_time_with_the_secret() {
        let credentials = Credentials::new("tester", &Secret::new("tester-secret".to_owned()));
        let now = DateTime::from_timestamp(1_703_706_379, 0).unwrap();
        let headers = headers(Some(&credentials), "client", now);
        assert_eq!(headers["x-mq-date-time"], "20231227T194619Z");
        assert_eq!(
            headers["authorization"],
            "MQv2-HMAC-SHA1 Credential=tester, SignedHeaders=x-mq-date-time, Signature=BC5A3B02E51614EC5FDD5A83C7477A685C7DB829"
        );
        assert!(headers["authorization"].is_sensitive());
        assert!(!super::headers(None, "client", now).contains_key("authorization"));
    }
}
