//! Signatures of all vendors, made here and not by OpenDAL: its signers look for credentials on this machine, write
//! them into the log, and know an old one for Aliyun.

use crate::oss::answer::{disposition, escaped};
use crate::oss::settings::{Credentials, Provider};
use crate::oss::store::PresignRequest;
use fetch::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, DATE, HOST};
use fetch::http::request::Parts;
use fetch::http::{HeaderMap, HeaderValue, Method, Request};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqsign_core::{Context, SignRequest};
use std::fmt;
use std::time::Duration;
use tool::{Error, LinkMethod, Result, Secret};

/// Signs requests to one bucket with one key.
pub(super) struct Signer {
    vendor: Vendor,
    /// The address of the bucket, without a slash at the end.
    base_url: String,
    /// What temporary keys have beside, where the vendor's SDK signs it and the library does not, and what it is called.
    token: Option<(&'static str, Secret)>,
}

enum Vendor {
    Aws(reqsign_aws_v4::RequestSigner, reqsign_aws_v4::Credential),
    Aliyun(reqsign_aliyun_oss::RequestSigner, reqsign_aliyun_oss::Credential),
    Tencent(reqsign_tencent_cos::RequestSigner, reqsign_tencent_cos::Credential),
    Huawei(reqsign_huaweicloud_obs::RequestSigner, reqsign_huaweicloud_obs::Credential),
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    pub(super) fn new(
        provider: Provider,
        bucket: &str,
        region: &str,
        credentials: &Credentials,
        base_url: String,
    ) -> Self {
        let access_key_id = credentials.access_key_id.expose().to_owned();
        let secret = credentials.secret_access_key.expose().to_owned();
        let mut token = credentials.session_token.as_ref().map(|token| Secret::expose(token).to_owned());
        let ours = match provider {
            Provider::Cos => Some("x-cos-security-token"),
            Provider::Obs => Some("x-obs-security-token"),
            Provider::Fs | Provider::S3 | Provider::Minio | Provider::Aliyun | Provider::Alioss => None,
        };
        let ours = ours.and_then(|name| Some((name, Secret::new(token.take()?))));
        let vendor = match provider {
            Provider::Fs | Provider::S3 | Provider::Minio => Vendor::Aws(
                reqsign_aws_v4::RequestSigner::new("s3", region),
                reqsign_aws_v4::Credential {
                    access_key_id,
                    secret_access_key: secret,
                    session_token: token,
                    expires_in: None,
                },
            ),
            Provider::Aliyun | Provider::Alioss => Vendor::Aliyun(
                reqsign_aliyun_oss::RequestSigner::new(bucket)
                    .with_signing_version(reqsign_aliyun_oss::SigningVersion::V4)
                    .with_region(region),
                reqsign_aliyun_oss::Credential {
                    access_key_id,
                    access_key_secret: secret,
                    security_token: token,
                    expires_in: None,
                },
            ),
            Provider::Cos => Vendor::Tencent(
                reqsign_tencent_cos::RequestSigner::new(),
                reqsign_tencent_cos::Credential {
                    secret_id: access_key_id,
                    secret_key: secret,
                    security_token: token,
                    expires_in: None,
                },
            ),
            Provider::Obs => Vendor::Huawei(
                reqsign_huaweicloud_obs::RequestSigner::new(bucket),
                reqsign_huaweicloud_obs::Credential {
                    access_key_id,
                    secret_access_key: secret,
                    security_token: token,
                },
            ),
        };
        Self { vendor, base_url, token: ours }
    }

    /// Signs a request in its headers, over what somebody else may have signed.
    pub(super) async fn sign(&self, parts: &mut Parts) -> Result<()> {
        // Host and length are written by our client; signing them would be one more thing to go wrong.
        for name in [AUTHORIZATION, DATE, HOST, CONTENT_LENGTH] {
            parts.headers.remove(name);
        }
        if let Some((name, token)) = &self.token {
            let mut value = HeaderValue::from_str(token.expose()).map_err(|_| {
                Error::invalid_config("'credentials.session_token' has characters that no request can carry")
            })?;
            value.set_sensitive(true);
            parts.headers.insert(*name, value);
        }
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

    /// A signed address, and what must be sent along.
    pub(super) async fn presign(&self, wanted: &PresignRequest<'_>) -> Result<(String, HeaderMap)> {
        let mut request = Request::new(());
        let url = format!("{}/{}", self.base_url, escaped(wanted.key.as_str()));
        let url = format!("{url}{}", self.query(wanted));
        *request.uri_mut() = url.parse().map_err(|_| Error::internal("a link cannot be written"))?;
        if wanted.method == LinkMethod::Put {
            *request.method_mut() = Method::PUT;
            if let Some(content_type) = wanted.content_type.and_then(|text| HeaderValue::from_str(text).ok())
            {
                request.headers_mut().insert(CONTENT_TYPE, content_type);
            }
        }
        let (mut parts, ()) = request.into_parts();
        self.run(&mut parts, Some(wanted.expires)).await?;
        for name in [DATE, HOST] {
            parts.headers.remove(name);
        }
        Ok((parts.uri.to_string(), parts.headers))
    }

    /// What the link says beside its key, which is signed along.
    fn query(&self, wanted: &PresignRequest<'_>) -> String {
        let is_read = wanted.method == LinkMethod::Get;
        let filename = wanted.filename.filter(|_| is_read).map(disposition);
        let content_type = wanted.content_type.filter(|_| is_read).map(str::to_owned);
        let token = self.token.as_ref().map(|(name, token)| (*name, Some(token.expose().to_owned())));
        let pairs = [("response-content-disposition", filename), ("response-content-type", content_type)];
        let given = pairs.into_iter().chain(token).filter_map(|(name, value)| Some((name, value?)));
        let query: Vec<_> = given
            .map(|(name, value)| format!("{name}={}", utf8_percent_encode(&value, NON_ALPHANUMERIC)))
            .collect();
        if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) }
    }

    async fn run(&self, parts: &mut Parts, expires: Option<Duration>) -> Result<()> {
        match &self.vendor {
            Vendor::Aws(signer, credential) => sign_with(signer, credential, parts, expires).await,
            Vendor::Aliyun(signer, credential) => sign_with(signer, credential, parts, expires).await,
            Vendor::Tencent(signer, credential) => sign_with(signer, credential, parts, expires).await,
            Vendor::Huawei(signer, credential) => sign_with(signer, credential, parts, expires).await,
        }
    }
}

async fn sign_with<S: SignRequest>(
    signer: &S,
    credential: &S::Credential,
    parts: &mut Parts,
    expires: Option<Duration>,
) -> Result<()> {
    // It can neither read files nor variables nor ask anybody.
    let signed = signer.sign_request(&Context::new(), parts, Some(credential), expires).await;
    signed.map_err(|_| Error::internal("a request to the store cannot be signed"))
}
