//! Signature V4 of Aliyun OSS, which OpenDAL does not have yet.

use crate::oss::settings::Credentials;
use fetch::http::header::AUTHORIZATION;
use fetch::http::request::Parts;
use fetch::http::{HeaderMap, HeaderValue, Request};
use opendal::raw::PresignedRequest;
use reqsign_aliyun_oss::{Credential, RequestSigner, SigningVersion};
use reqsign_core::{Context, SignRequest as _};
use std::fmt;
use std::time::Duration;
use tool::{Error, Result, Secret};

/// Signs requests with one key.
pub(super) struct Signer {
    signer: RequestSigner,
    credential: Credential,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    pub(super) fn new(bucket: &str, region: &str, credentials: &Credentials) -> Self {
        let signer = RequestSigner::new(bucket).with_signing_version(SigningVersion::V4).with_region(region);
        let credential = Credential {
            access_key_id: credentials.access_key_id.expose().to_owned(),
            access_key_secret: credentials.secret_access_key.expose().to_owned(),
            security_token: credentials.session_token.as_ref().map(|token| Secret::expose(token).to_owned()),
            expires_in: None,
        };
        Self { signer, credential }
    }

    /// Signs a request in its headers.
    pub(super) async fn sign(&self, parts: &mut Parts) -> Result<()> {
        self.run(parts, None).await?;
        // The vendor's own SDK leaves out what is empty.
        let signed = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if let Some(Ok(mut clean)) =
            signed.map(|text| HeaderValue::from_str(&text.replace(" AdditionalHeaders=,", "")))
        {
            clean.set_sensitive(true);
            parts.headers.insert(AUTHORIZATION, clean);
        }
        Ok(())
    }

    /// Signs an address that others use.
    pub(super) async fn presign(
        &self,
        link: PresignedRequest,
        expires: Duration,
    ) -> Result<(String, HeaderMap)> {
        let mut request = Request::new(());
        *request.method_mut() = link.method().clone();
        *request.uri_mut() = link.uri().clone();
        *request.headers_mut() = link.header().clone();
        let (mut parts, ()) = request.into_parts();
        self.run(&mut parts, Some(expires)).await?;
        Ok((parts.uri.to_string(), parts.headers))
    }

    async fn run(&self, parts: &mut Parts, expires: Option<Duration>) -> Result<()> {
        // It can neither read files nor variables nor ask anybody.
        let signed = self.signer.sign_request(&Context::new(), parts, Some(&self.credential), expires).await;
        signed.map_err(|_| Error::internal("a request to the store cannot be signed"))
    }
}
