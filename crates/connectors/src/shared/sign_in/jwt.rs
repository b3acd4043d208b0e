//! Tokens that we sign ourselves (RFC 7519), for services that know our key.

use super::signing_key::{Algorithm, SigningKey};
use crate::shared::oauth::Token;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tool::{Context, Error, Result, Secret};

/// Callers whose tokens are kept; beyond, all are minted anew.
const MAX_KEPT: usize = 1000;

/// What tokens say, and what they are signed with.
#[derive(Debug)]
pub(super) struct Minting {
    pub(super) algorithm: Algorithm,
    pub(super) key: SigningKey,
    /// The key as it was written, which must not show.
    pub(super) secret: Secret,
    pub(super) key_id: Option<String>,
    pub(super) life: Duration,
    /// Those that are the same in every token.
    pub(super) claims: Map<String, Value>,
    /// Tokens say for whom the call is.
    pub(super) has_caller_claims: bool,
}

/// The tokens of one service, each kept until four fifths of its life are over.
#[derive(Debug)]
pub(crate) struct Minter {
    minting: Minting,
    kept: Mutex<TokenCache>,
}

/// Tokens by the caller, where they name one.
type TokenCache = HashMap<Option<NamedCaller>, Arc<Token>>;

/// Whom a token names.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NamedCaller {
    tenant: String,
    caller: String,
}

/// The claims that every token has, which nobody else sets.
pub(super) const OWN: [&str; 3] = ["iat", "exp", "jti"];
/// The claims that tell who calls.
pub(super) const CALLER: [&str; 2] = ["tenant_id", "caller"];

impl Minter {
    pub(super) fn new(minting: Minting) -> Self {
        Self { minting, kept: Mutex::default() }
    }

    /// The token for a call.
    ///
    /// # Errors
    /// When it cannot be signed, or is too long for a header.
    pub(super) fn get(&self, cx: &Context) -> Result<Arc<Token>> {
        let caller = self.minting.has_caller_claims.then(|| {
            let identity = &cx.caller.identity;
            let caller = format!("{}:{}", identity.kind(), identity.id());
            NamedCaller { tenant: cx.tenant.to_string(), caller }
        });
        if let Some(token) = self.kept().get(&caller).filter(|token| token.is_fresh()) {
            return Ok(token.clone());
        }
        let token = Arc::new(self.minting.mint(caller.as_ref())?);
        let mut kept = self.kept();
        if kept.len() >= MAX_KEPT {
            kept.retain(|_, token| token.is_fresh());
        }
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(caller, token.clone());
        Ok(token)
    }

    /// The service refused this token: the next call gets another.
    pub(super) fn refuse(&self, token: &Arc<Token>) {
        self.kept().retain(|_, kept| !Arc::ptr_eq(kept, token));
    }

    pub(super) fn secret(&self) -> &str {
        self.minting.secret.expose()
    }

    fn kept(&self) -> MutexGuard<'_, TokenCache> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Minting {
    fn mint(&self, caller: Option<&NamedCaller>) -> Result<Token> {
        let begun = Instant::now();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut header = json!({ "alg": self.algorithm.name(), "typ": "JWT" });
        if let Some(key_id) = &self.key_id {
            header["kid"] = key_id.as_str().into();
        }
        let mut claims = self.claims.clone();
        // One that was refused is not sent again, so no two are the same.
        let own = [now.into(), (now + self.life.as_secs()).into(), tool::new_id::<String>().into()];
        claims.extend(OWN.into_iter().map(str::to_owned).zip(own));
        if let Some(NamedCaller { tenant, caller }) = caller {
            let of_caller = [tenant.as_str().into(), caller.as_str().into()];
            claims.extend(CALLER.into_iter().map(str::to_owned).zip(of_caller));
        }
        let encoded = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encoded(header), encoded(claims.into()));
        let failed = |_| Error::internal("the token for the service could not be signed");
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(signed.as_bytes()).map_err(failed)?);
        let token = Token::new(Secret::new(format!("{signed}.{signature}")), begun + self.life * 4 / 5);
        token.ok_or_else(|| Error::invalid_config("the token is too long for a header; give it fewer claims"))
    }
}
