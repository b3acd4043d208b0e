//! Who asks for tokens, and how that is proven to a token endpoint.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fetch::http::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use tool::Secret;

/// What RFC 3986 calls unreserved stays as it is: some servers compare names and secrets without decoding them.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How a client shows at the token endpoint that it is itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClientAuth {
    /// In the `Authorization` header.
    ClientSecretBasic,
    /// In the body.
    ClientSecretPost,
    /// By its name alone.
    None,
}

/// Who we are at one authorization server.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) secret: Option<Secret>,
    pub(crate) auth: ClientAuth,
}

impl Client {
    /// The value of `Authorization`, for clients that show themselves there.
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        if self.auth != ClientAuth::ClientSecretBasic {
            return None;
        }
        // Both halves are encoded first, as RFC 6749, 2.3.1 wants it.
        let secret = self.secret.as_ref().map_or("", Secret::expose);
        let pair = Secret::new(format!("{}:{}", encoded(&self.id), encoded(secret)));
        let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair.expose())))
            .expect("Base64 is legal in a header");
        value.set_sensitive(true);
        Some(value)
    }

    /// Adds to a form what the client shows there.
    pub(crate) fn sign(&self, form: &mut Form) {
        if self.auth == ClientAuth::ClientSecretBasic {
            return;
        }
        form.add("client_id", &self.id);
        if let (ClientAuth::ClientSecretPost, Some(secret)) = (self.auth, &self.secret) {
            form.add("client_secret", secret.expose());
        }
    }
}

/// The body of a request to a token endpoint.
#[derive(Debug)]
pub(crate) struct Form(Secret);

impl Form {
    pub(crate) const CONTENT_TYPE: &'static str = "application/x-www-form-urlencoded";

    pub(crate) fn new(grant_type: &str) -> Self {
        Self(Secret::new(format!("grant_type={}", encoded(grant_type))))
    }

    pub(crate) fn add(&mut self, name: &str, value: &str) {
        self.0 = Secret::new(format!("{}&{name}={}", self.0.expose(), encoded(value)));
    }

    /// The text to send.
    pub(crate) fn finish(self) -> String {
        self.0.expose().to_owned()
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(auth: ClientAuth) -> Client {
        Client { id: "us-1".into(), secret: Some(Secret::new("a b:+&")), auth }
    }

    #[test]
    fn shows_the_secret_in_one_place_or_in_none() {
        let decoded = |value: HeaderValue| STANDARD.decode(&value.as_bytes()["Basic ".len()..]).unwrap();
        let basic = client(ClientAuth::ClientSecretBasic).authorization().unwrap();
        assert!(basic.is_sensitive());
        assert_eq!(decoded(basic), b"us-1:a%20b%3A%2B%26");
        for (auth, expected) in [
            (ClientAuth::ClientSecretBasic, "grant_type=x"),
            (ClientAuth::ClientSecretPost, "grant_type=x&client_id=us-1&client_secret=a%20b%3A%2B%26"),
            (ClientAuth::None, "grant_type=x&client_id=us-1"),
        ] {
            let mut form = Form::new("x");
            client(auth).sign(&mut form);
            assert!(!format!("{form:?}").contains("a%20b"), "{form:?}");
            assert_eq!(form.finish(), expected);
            let has_header = client(auth).authorization().is_some();
            assert_eq!(has_header, auth == ClientAuth::ClientSecretBasic);
        }
    }
}
