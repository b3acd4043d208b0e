//! How requests prove who sends them.

use super::headers::{check_header_name, header_value};
use super::oauth::{ClientAuth, Grant, Tokens};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fetch::Url;
use fetch::http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Problem, Secret};

// The doc comments of variants would turn the schema's `enum` into a `oneOf` that explains less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum AuthType {
    None,
    Apikey,
    Bearer,
    Basic,
    Oauth2,
    // The schema has refused it; here it only must not keep the rest from being checked.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Place {
    Header,
    Query,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) enum ClientAuthMethod {
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "client_secret_post")]
    Post,
    // The schema has refused it; here it only must not keep the rest from being checked.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

/// What a sign-in needs; which fields depends on its type.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AuthSettings {
    /// How to sign in: `none`, `apikey`, `bearer`, `basic` or `oauth2`.
    #[serde(rename = "type")]
    auth_type: Option<AuthType>,
    /// For `apikey`: the header, or the query parameter, that carries the key. `X-API-Key` unless given.
    header: Option<String>,
    /// For `apikey`: the key.
    value: Option<Secret>,
    /// For `apikey`: whether the key goes into a `header` (unless given) or the `query` string.
    #[serde(rename = "in")]
    place: Option<Place>,
    /// For `bearer`: the token.
    token: Option<Secret>,
    /// For `basic`: the user's name.
    username: Option<String>,
    /// For `basic`: the user's password.
    password: Option<Secret>,
    /// For `oauth2`: where tokens are asked for, e.g. `https://login.example.com/oauth/token`.
    #[schemars(extend("x-address" = true, "x-secret" = "query"))]
    token_url: Option<String>,
    /// For `oauth2`: who asks.
    client_id: Option<String>,
    /// For `oauth2`: the client's secret.
    client_secret: Option<Secret>,
    /// For `oauth2`: what the token is to be good for, several separated by spaces.
    scope: Option<String>,
    /// For `oauth2`: for whom the token is, where the provider asks for it.
    audience: Option<String>,
    /// For `oauth2`: how the secret is sent, `client_secret_basic` (in a header, unless given) or
    /// `client_secret_post` (in the body).
    token_endpoint_auth_method: Option<ClientAuthMethod>,
}

/// A sign-in that is ready to be sent.
#[derive(Debug)]
pub(super) enum Auth {
    None,
    /// The value is marked sensitive, so it never shows.
    Header(HeaderName, HeaderValue, Vec<Secret>),
    Query(String, Secret),
    /// A token that is fetched when it is needed.
    Tokens(Tokens),
}

impl Auth {
    /// Reads either way to write it: `auth_type` with `auth_config`, or `auth` alone.
    pub(super) fn check(
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
        };
        made.unwrap_or(Self::None)
    }

    /// Texts that must not show, whatever an answer quotes.
    pub(super) fn secrets(&self) -> Vec<&str> {
        match self {
            Self::None => Vec::new(),
            Self::Header(_, _, secrets) => secrets.iter().map(Secret::expose).collect(),
            Self::Query(_, secret) => vec![secret.expose()],
            Self::Tokens(tokens) => vec![tokens.secret().expose()],
        }
    }

    /// The header that signs in, if one does.
    pub(super) fn header(&self) -> Option<&HeaderName> {
        match self {
            Self::None | Self::Query(..) => None,
            Self::Header(name, ..) => Some(name),
            Self::Tokens(_) => Some(&AUTHORIZATION),
        }
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
        let client_auth = match fields.token_endpoint_auth_method {
            None | Some(ClientAuthMethod::Basic | ClientAuthMethod::Unknown) => ClientAuth::Basic,
            Some(ClientAuthMethod::Post) => ClientAuth::Post,
        };
        Some(Auth::Tokens(Tokens::new(Grant {
            token_url: token_url?,
            client_id: client_id?,
            client_secret: client_secret?,
            scope: fields.scope.filter(|scope| !scope.is_empty()),
            audience: fields.audience.filter(|audience| !audience.is_empty()),
            client_auth,
        })))
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
        for (name, owner, is_given) in [
            ("header", AuthType::Apikey, fields.header.is_some()),
            ("value", AuthType::Apikey, fields.value.is_some()),
            ("in", AuthType::Apikey, fields.place.is_some()),
            ("token", AuthType::Bearer, fields.token.is_some()),
            ("username", AuthType::Basic, fields.username.is_some()),
            ("password", AuthType::Basic, fields.password.is_some()),
            ("token_url", AuthType::Oauth2, fields.token_url.is_some()),
            ("client_id", AuthType::Oauth2, fields.client_id.is_some()),
            ("client_secret", AuthType::Oauth2, fields.client_secret.is_some()),
            ("scope", AuthType::Oauth2, fields.scope.is_some()),
            ("audience", AuthType::Oauth2, fields.audience.is_some()),
            ("token_endpoint_auth_method", AuthType::Oauth2, fields.token_endpoint_auth_method.is_some()),
        ] {
            if is_given && owner != self.auth_type {
                let path = format!("{}.{name}", self.path);
                let message =
                    format!("'{path}' is not used by this sign-in; leave it out or change its type");
                self.problems.push(Problem::new(path, "Unused", message));
            }
        }
    }
}
