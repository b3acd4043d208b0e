//! Session tokens: JWTs that every replica can check without asking anyone.

use crate::error::{Code, Problem, Result};
use chrono::Utc;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use store::User;
use tool::{Role, Secret};

const LIFETIME_SECONDS: i64 = 12 * 60 * 60;

/// What a token says.
#[derive(Serialize, Deserialize)]
pub(super) struct Claims {
    pub(super) sub: String,
    tenant_id: String,
    roles: Vec<Role>,
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
            iat: now,
            exp: now + LIFETIME_SECONDS,
            jti: tool::new_id(),
            epoch: user.tokens_valid_after,
        };
        let token = jsonwebtoken::encode(&Header::default(), &claims, &self.encoding)
            .map_err(|_| Problem::new(Code::Internal, "the token could not be signed"))?;
        Ok((token, claims.exp))
    }

    /// What the token says, if it is one of ours and has not ended.
    pub(super) fn verify(&self, token: &str) -> Option<Claims> {
        jsonwebtoken::decode(token, &self.decoding, &self.validation).ok().map(|data| data.claims)
    }
}
