//! From the settings of a sign-in to one that is ready, or to what is wrong with them.

use super::jwt::{CALLER, Minter, Minting, OWN};
use super::settings::{AuthSettings, AuthType, ClientAuthMethod, Place};
use super::signing_key::{Algorithm, SigningKey};
use super::{Auth, TokenSource};
use crate::shared::headers::{check_header_name, header_value};
use crate::shared::oauth::{Client, ClientAuth, ClientCredentials, Grant};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fetch::Url;
use fetch::http::header::{AUTHORIZATION, HeaderValue};
use serde_json::{Map, Value};
use std::time::Duration;
use tool::{Problem, Secret};

const DEFAULT_LIFE_SECONDS: u64 = 300;

impl Auth {
    /// Reads either way to write it: `auth_type` with `auth_config`, or `auth` alone.
    pub(crate) fn check(
        auth_type: Option<AuthType>,
        config: Option<AuthSettings>,
        nested: Option<AuthSettings>,
        problems: &mut Vec<Problem>,
    ) -> Self {
        if nested.is_some() && (auth_type.is_some() || config.is_some()) {
            let message = "the sign-in is given twice; keep either auth, or auth_type with auth_config";
            problems.push(Problem::new("auth", "Ambiguous", message));
            return Self::None;
        }
        let path = if nested.is_some() { "auth" } else { "auth_config" };
        let fields = nested.or(config).unwrap_or_default();
        if auth_type.is_some() && fields.auth_type.is_some_and(|inner| Some(inner) != auth_type) {
            let message = "auth_config.type and auth_type say different things; leave one out";
            problems.push(Problem::new("auth_config.type", "Ambiguous", message));
        }
        let auth_type = auth_type.or(fields.auth_type).unwrap_or(AuthType::None);
        let mut reader = Reader { path, auth_type, problems };
        if auth_type != AuthType::Unknown {
            reader.refuse_unused(&fields);
        }
        let made = match auth_type {
            AuthType::None | AuthType::Unknown => None,
            AuthType::Apikey => reader.api_key(fields),
            AuthType::Bearer => reader.bearer(fields),
            AuthType::Basic => reader.basic(fields),
            AuthType::Oauth2 => reader.oauth2(fields),
            AuthType::Jwt => reader.jwt(fields),
        };
        made.unwrap_or(Self::None)
    }
}

struct Reader<'a> {
    path: &'static str,
    auth_type: AuthType,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn api_key(&mut self, fields: AuthSettings) -> Option<Auth> {
        let name = fields.header.unwrap_or_else(|| "X-API-Key".to_owned());
        let value = self.required("value", fields.value)?;
        match fields.place.unwrap_or(Place::Header) {
            Place::Query => Some(Auth::Query(name, value)),
            Place::Header => {
                let name = check_header_name(&name, &format!("{}.header", self.path), self.problems)?;
                let sent = self.sendable("value", value.expose())?;
                Some(Auth::Header(name, sent, vec![value]))
            }
        }
    }

    fn bearer(&mut self, fields: AuthSettings) -> Option<Auth> {
        let token = self.required("token", fields.token)?;
        let sent = self.sendable("token", &format!("Bearer {}", token.expose()))?;
        Some(Auth::Header(AUTHORIZATION, sent, vec![token]))
    }

    fn basic(&mut self, fields: AuthSettings) -> Option<Auth> {
        let username = fields.username.unwrap_or_default();
        if username.is_empty() || username.contains(':') {
            let message = "basic sign-in needs a username without ':'";
            self.problems.push(Problem::new(format!("{}.username", self.path), "Required", message));
        }
        let password = self.required("password", fields.password)?;
        let encoded = Secret::new(STANDARD.encode(format!("{username}:{}", password.expose())));
        let sent = self.sendable("password", &format!("Basic {}", encoded.expose()))?;
        Some(Auth::Header(AUTHORIZATION, sent, vec![password, encoded]))
    }

    fn oauth2(&mut self, fields: AuthSettings) -> Option<Auth> {
        let token_url = self.required_text("token_url", fields.token_url);
        let token_url = token_url.and_then(|url| self.token_url(&url));
        let client_id = self.required_text("client_id", fields.client_id);
        let client_secret = self.required("client_secret", fields.client_secret);
        let auth = match fields.token_endpoint_auth_method {
            None | Some(ClientAuthMethod::Basic | ClientAuthMethod::Unknown) => ClientAuth::ClientSecretBasic,
            Some(ClientAuthMethod::Post) => ClientAuth::ClientSecretPost,
        };
        let tokens = ClientCredentials::new(Grant {
            token_url: token_url?,
            client: Client { id: client_id?, secret: Some(client_secret?), auth },
            scope: fields.scope.filter(|scope| !scope.is_empty()),
            audience: fields.audience.filter(|audience| !audience.is_empty()),
        });
        Some(Auth::Tokens(TokenSource::Fetched(tokens)))
    }

    fn jwt(&mut self, fields: AuthSettings) -> Option<Auth> {
        if fields.algorithm.is_none() {
            self.refuse_missing("algorithm");
        }
        let secret = self.required("key", fields.key);
        let claims = fields.claims.unwrap_or_default();
        let names = [("iss", fields.issuer), ("aud", fields.audience)];
        let names = names.map(|(claim, text)| (claim, text.filter(|text| !text.is_empty())));
        let has_caller_claims = fields.caller_claims.unwrap_or_default();
        let set = names.iter().filter(|(_, text)| text.is_some()).map(|(claim, _)| *claim);
        let set = set.chain(OWN).chain(CALLER.into_iter().filter(|_| has_caller_claims));
        self.refuse_set_claims(&claims, set);
        let (algorithm, secret) = (fields.algorithm?, secret?);
        let key = self.signing_key(algorithm, &secret)?;
        let life = Duration::from_secs(fields.ttl_s.unwrap_or(DEFAULT_LIFE_SECONDS));
        let names = names.into_iter().filter_map(|(claim, text)| Some((claim.to_owned(), text?.into())));
        let claims = claims.into_iter().chain(names).collect();
        let key_id = fields.key_id.filter(|id| !id.is_empty());
        let minting = Minting { algorithm, key, secret, key_id, life, claims, has_caller_claims };
        Some(Auth::Tokens(TokenSource::Minted(Box::new(Minter::new(minting)))))
    }

    fn signing_key(&mut self, algorithm: Algorithm, secret: &Secret) -> Option<SigningKey> {
        let path = format!("{}.key", self.path);
        let (bytes, least) = (secret.expose().len(), algorithm.least_secret_bytes());
        if bytes < least {
            // Whoever checks the tokens has chosen it, so that refusing it would help nobody.
            tracing::warn!(
                bytes,
                "a service signs with {} and a secret of {bytes} bytes, which can be guessed from one token: RFC 7518 wants {least}",
                algorithm.name()
            );
        }
        let refuse = |wanted| {
            let message = format!("'{path}' must be {wanted} for {}", algorithm.name());
            self.problems.push(Problem::new(path, "InvalidKey", message));
        };
        SigningKey::parse(algorithm, secret.expose()).map_err(refuse).ok()
    }

    /// A claim that is set otherwise would silently win or lose.
    fn refuse_set_claims<'c>(&mut self, claims: &Map<String, Value>, set: impl Iterator<Item = &'c str>) {
        for name in set.filter(|name| claims.contains_key(*name)) {
            let path = format!("{}.claims.{name}", self.path);
            let message = format!("'{path}' is set by the sign-in itself; leave it out");
            self.problems.push(Problem::new(path, "Ambiguous", message));
        }
    }

    fn token_url(&mut self, text: &str) -> Option<Url> {
        let url = Url::parse(text).ok();
        let is_sane = |url: &Url| {
            matches!(url.scheme(), "http" | "https")
                && url.host_str().is_some_and(|host| !host.is_empty())
                && (url.username(), url.password(), url.fragment()) == ("", None, None)
        };
        let url = url.filter(is_sane);
        if url.is_none() {
            let path = format!("{}.token_url", self.path);
            let message = format!("'{path}' must be a URL like https://login.example.com/oauth/token");
            self.problems.push(Problem::new(path, "InvalidUrl", message));
        }
        url
    }

    fn required_text(&mut self, name: &str, text: Option<String>) -> Option<String> {
        let text = text.filter(|text| !text.is_empty());
        if text.is_none() {
            self.refuse_missing(name);
        }
        text
    }

    fn refuse_missing(&mut self, name: &str) {
        let path = format!("{}.{name}", self.path);
        let message = format!("this sign-in needs '{path}'");
        self.problems.push(Problem::new(path, "Required", message));
    }

    fn required(&mut self, name: &str, secret: Option<Secret>) -> Option<Secret> {
        let secret = secret.filter(|secret| !secret.expose().is_empty());
        if secret.is_none() {
            self.refuse_missing(name);
        }
        secret
    }

    fn sendable(&mut self, name: &str, text: &str) -> Option<HeaderValue> {
        let Some(mut value) = header_value(text) else {
            let path = format!("{}.{name}", self.path);
            let message = format!("'{path}' holds control characters or is too long for a header");
            self.problems.push(Problem::new(path, "InvalidHeaderValue", message));
            return None;
        };
        value.set_sensitive(true);
        Some(value)
    }

    /// A field that does nothing is a mistake its author would want to know about.
    fn refuse_unused(&mut self, fields: &AuthSettings) {
        for (name, owners, is_given) in fields.given() {
            if is_given && !owners.contains(&self.auth_type) {
                let path = format!("{}.{name}", self.path);
                let message =
                    format!("'{path}' is not used by this sign-in; leave it out or change its type");
                self.problems.push(Problem::new(path, "Unused", message));
            }
        }
    }
}

impl AuthSettings {
    /// Each field, the sign-ins that use it, and whether it is given.
    fn given(&self) -> [(&'static str, &'static [AuthType], bool); 19] {
        use AuthType::{Apikey, Basic, Bearer, Jwt, Oauth2};
        [
            ("header", &[Apikey], self.header.is_some()),
            ("value", &[Apikey], self.value.is_some()),
            ("in", &[Apikey], self.place.is_some()),
            ("token", &[Bearer], self.token.is_some()),
            ("username", &[Basic], self.username.is_some()),
            ("password", &[Basic], self.password.is_some()),
            ("token_url", &[Oauth2], self.token_url.is_some()),
            ("client_id", &[Oauth2], self.client_id.is_some()),
            ("client_secret", &[Oauth2], self.client_secret.is_some()),
            ("scope", &[Oauth2], self.scope.is_some()),
            ("audience", &[Oauth2, Jwt], self.audience.is_some()),
            ("token_endpoint_auth_method", &[Oauth2], self.token_endpoint_auth_method.is_some()),
            ("algorithm", &[Jwt], self.algorithm.is_some()),
            ("key", &[Jwt], self.key.is_some()),
            ("key_id", &[Jwt], self.key_id.is_some()),
            ("issuer", &[Jwt], self.issuer.is_some()),
            ("ttl_s", &[Jwt], self.ttl_s.is_some()),
            ("claims", &[Jwt], self.claims.is_some()),
            ("caller_claims", &[Jwt], self.caller_claims.is_some()),
        ]
    }
}
