//! Session tokens: JWTs that every replica can check without asking anyone.

use crate::error::{Code, Problem, Result};
use chrono::Utc;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use store::User;
use tool::{Identity, Role, Secret};

const LIFETIME_SECONDS: i64 = 12 * 60 * 60;
/// How long a code can be used.
const CODE_SECONDS: i64 = 15 * 60;

/// What a token says.
#[derive(Serialize, Deserialize)]
pub(super) struct Claims {
    pub(super) sub: String,
    tenant_id: String,
    roles: Vec<Role>,
    /// For those who read the token; here the user's own counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bu_code: Option<String>,
    iat: i64,
    exp: i64,
    jti: String,
    /// The user's `tokens_valid_after` when the token was issued: a token lives until it changes.
    epoch: i64,
}

impl Claims {
    /// The token was issued for this user and has not been taken back.
    pub(super) fn is_for(&self, user: &User) -> bool {
        self.tenant_id == user.tenant.as_str() && self.epoch == user.tokens_valid_after
    }
}

/// What a browser may do with what it holds. A token for one purpose is none for another, nor one for a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Purpose {
    /// Stay signed in.
    Session,
    /// Sign in, once.
    Code,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Code => "code",
        }
    }

    fn lifetime_seconds(self) -> i64 {
        match self {
            Self::Session => LIFETIME_SECONDS,
            Self::Code => CODE_SECONDS,
        }
    }
}

/// What a token of a browser says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BrowserClaims {
    aud: Purpose,
    pub(super) sub: String,
    /// `key` or `user`.
    pub(super) kind: String,
    /// As in [`Claims`]; a key has none.
    pub(super) epoch: i64,
    iat: i64,
    pub(super) exp: i64,
    pub(super) jti: String,
}

/// A token that a browser gets.
pub(crate) struct BrowserToken {
    pub(crate) text: String,
    pub(crate) ends_at_ms: i64,
}

/// Signs and checks tokens.
pub(super) struct Tokens {
    encoding: EncodingKey,
    decoding: DecodingKey,
    validation: Validation,
}

impl Tokens {
    pub(super) fn new(key: &Secret) -> Self {
        let bytes = key.expose().as_bytes();
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_required_spec_claims(&["exp", "sub"]);
        validation.leeway = 5;
        Self {
            encoding: EncodingKey::from_secret(bytes),
            decoding: DecodingKey::from_secret(bytes),
            validation,
        }
    }

    /// A token for the user, and when it ends, in seconds since 1970.
    pub(super) fn issue(&self, user: &User) -> Result<(String, i64)> {
        let now = Utc::now().timestamp();
        let claims = Claims {
            sub: user.id.to_string(),
            tenant_id: user.tenant.to_string(),
            roles: vec![user.role],
            bu_code: user.bu_code.clone(),
            iat: now,
            exp: now + LIFETIME_SECONDS,
            jti: tool::new_id(),
            epoch: user.tokens_valid_after,
        };
        Ok((self.sign(&claims)?, claims.exp))
    }

    /// A token for a browser whose user has this id.
    pub(super) fn issue_browser(&self, purpose: Purpose, who: &Identity, epoch: i64) -> Result<BrowserToken> {
        let now = Utc::now().timestamp();
        let claims = BrowserClaims {
            aud: purpose,
            sub: who.id().to_owned(),
            kind: who.kind().to_owned(),
            epoch,
            iat: now,
            exp: now + purpose.lifetime_seconds(),
            jti: tool::new_id(),
        };
        let text = self.sign(&claims)?;
        Ok(BrowserToken { text, ends_at_ms: claims.exp * 1000 })
    }

    /// What the browser's token says, if it is one of ours for this purpose and has not ended.
    pub(super) fn verify_browser(&self, purpose: Purpose, token: &str) -> Option<BrowserClaims> {
        let mut validation = self.validation.clone();
        validation.set_audience(&[purpose.as_str()]);
        validation.set_required_spec_claims(&["exp", "sub", "aud"]);
        jsonwebtoken::decode(token, &self.decoding, &validation).ok().map(|data| data.claims)
    }

    fn sign(&self, claims: &impl Serialize) -> Result<String> {
        jsonwebtoken::encode(&Header::default(), claims, &self.encoding)
            .map_err(|_| Problem::new(Code::Internal, "the token could not be signed"))
    }

    /// What the token says, if it is one of ours and has not ended.
    pub(super) fn verify(&self, token: &str) -> Option<Claims> {
        jsonwebtoken::decode(token, &self.decoding, &self.validation).ok().map(|data| data.claims)
    }
}
