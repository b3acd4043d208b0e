//! The headers of a remote server: those that are written down, and the one that signs in.

use super::oauth::{Flow, Identity};
use crate::shared::headers::Forbidden;
use fetch::http::header::{AUTHORIZATION, HeaderMap};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use tool::{Problem, Secret};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum AuthType {
    None,
    Apikey,
    Bearer,
    Oauth2,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum GrantType {
    ClientCredentials,
    AuthorizationCode,
}

/// What a sign-in needs; which fields depends on its type.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AuthSettings {
    /// For `apikey`: the header that carries the key. `X-API-Key` unless given.
    header: Option<String>,
    /// For `apikey`: the key.
    value: Option<Secret>,
    /// For `bearer`: the token.
    token: Option<Secret>,
    /// For `oauth2`: who we are at the authorization server. Without it we register there.
    client_id: Option<String>,
    /// For `oauth2`: the client's secret.
    client_secret: Option<Secret>,
    /// For `oauth2`: the https address of a document that describes us, for servers that take one as
    /// `client_id`.
    client_metadata_url: Option<String>,
    /// For `oauth2`: what to ask for, e.g. `read write`. Unless given, what the server wants or lists.
    scope: Option<String>,
    /// For `oauth2`: `client_credentials` (unless said otherwise where there is a `client_secret`), or
    /// `authorization_code` for what somebody has granted with `mcp-all-in-one login`.
    grant: Option<GrantType>,
}

/// Headers that belong to the connection or to the protocol.
const OF_PROTOCOL: Forbidden = Forbidden {
    names: &[
        "accept",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "mcp-protocol-version",
        "mcp-session-id",
        "sec-websocket-key",
        "sec-websocket-protocol",
        "sec-websocket-version",
        "te",
        "transfer-encoding",
        "upgrade",
    ],
    owner: "protocol",
};

/// All headers, and the texts in them that must not show.
pub(super) fn headers(
    written: &BTreeMap<String, Secret>,
    api_key: Option<&Secret>,
    auth_type: Option<AuthType>,
    config: Option<&AuthSettings>,
    problems: &mut Vec<Problem>,
) -> (HeaderMap, Vec<Secret>) {
    let mut headers = HeaderMap::new();
    let mut secrets = Vec::new();
    for (name, value) in written {
        let path = format!("headers.{name}");
        insert(&mut headers, (name, value.expose()), &path, problems);
        secrets.push(value.clone());
        // A server that complains about a token quotes it without its scheme.
        if let Some((_, token)) = value.expose().split_once(' ') {
            secrets.push(Secret::new(token));
        }
    }
    if let Some((name, value, path)) = sign_in(api_key, auth_type, config, problems) {
        let text = if name == AUTHORIZATION.as_str() && auth_type != Some(AuthType::Apikey) {
            format!("Bearer {}", value.expose())
        } else {
            value.expose().to_owned()
        };
        insert(&mut headers, (&name, &text), path, problems);
        secrets.push(value);
    }
    secrets.extend(config.and_then(|config| config.client_secret.clone()));
    (headers, secrets)
}

/// The header that signs in, its secret, and where the secret stands in the settings.
fn sign_in(
    api_key: Option<&Secret>,
    auth_type: Option<AuthType>,
    config: Option<&AuthSettings>,
    problems: &mut Vec<Problem>,
) -> Option<(String, Secret, &'static str)> {
    let empty = AuthSettings::default();
    let config = config.unwrap_or(&empty);
    let is_token = config.token.is_some();
    let auth_type = auth_type.unwrap_or(match (api_key, &config.value) {
        (None, None) if !is_token && config.is_oauth() => AuthType::Oauth2,
        (None, None) if !is_token => AuthType::None,
        (None, Some(_)) => AuthType::Apikey,
        _ => AuthType::Bearer,
    });
    let mut unused = |name: &str, is_given: bool| {
        if is_given {
            let message = format!("'{name}' is not used by this auth_type; leave it out or change the type");
            problems.push(Problem::new(name, "Unused", message));
        }
    };
    unused("auth_config.token", is_token && auth_type != AuthType::Bearer);
    unused("auth_config.value", config.value.is_some() && auth_type != AuthType::Apikey);
    unused("auth_config.header", config.header.is_some() && auth_type != AuthType::Apikey);
    let is_keyless = matches!(auth_type, AuthType::None | AuthType::Oauth2);
    unused("api_key", api_key.is_some() && is_keyless);
    for (name, is_given) in config.oauth_fields() {
        unused(name, is_given && auth_type != AuthType::Oauth2);
    }
    let (name, field, given) = match auth_type {
        AuthType::None | AuthType::Oauth2 => return None,
        AuthType::Apikey => {
            (config.header.as_deref().unwrap_or("X-API-Key"), "auth_config.value", &config.value)
        }
        AuthType::Bearer => (AUTHORIZATION.as_str(), "auth_config.token", &config.token),
    };
    let path = if given.is_some() { field } else { "api_key" };
    let value = given.as_ref().or(api_key).filter(|secret| !secret.expose().is_empty());
    let Some(value) = value else {
        let message = format!("this sign-in needs 'api_key' or '{field}'");
        problems.push(Problem::new(path, "Required", message));
        return None;
    };
    Some((name.to_owned(), value.clone(), path))
}

impl AuthSettings {
    fn oauth_fields(&self) -> [(&'static str, bool); 5] {
        [
            ("auth_config.client_id", self.client_id.is_some()),
            ("auth_config.client_secret", self.client_secret.is_some()),
            ("auth_config.client_metadata_url", self.client_metadata_url.is_some()),
            ("auth_config.scope", self.scope.is_some()),
            ("auth_config.grant", self.grant.is_some()),
        ]
    }

    fn is_oauth(&self) -> bool {
        self.oauth_fields().iter().any(|(_, is_given)| *is_given)
    }
}

/// The sign-in with tokens that are fetched, where the settings want one or leave room for one.
pub(super) fn oauth(
    auth_type: Option<AuthType>,
    config: Option<&AuthSettings>,
    login_file: Option<&Path>,
    headers: &HeaderMap,
    problems: &mut Vec<Problem>,
) -> Option<(Identity, Flow)> {
    let empty = AuthSettings::default();
    let config = config.unwrap_or(&empty);
    let is_wanted = auth_type == Some(AuthType::Oauth2) || auth_type.is_none() && config.is_oauth();
    if !is_wanted {
        // A person may sign in wherever nothing else is written down.
        let has_room = auth_type.is_none() && headers.is_empty();
        let file = login_file.filter(|_| has_room)?;
        return Some((Identity::default(), Flow::Login(file.to_owned())));
    }
    let mut refuse = |name: &str, message: &str| problems.push(Problem::new(name, "Invalid", message));
    if headers.contains_key(AUTHORIZATION) {
        refuse("headers.Authorization", "'oauth2' sends this header itself; leave it out");
    }
    if config.client_metadata_url.as_deref().is_some_and(|url| !url.starts_with("https://")) {
        refuse("auth_config.client_metadata_url", "the document must be at an https:// address");
    }
    let identity = Identity {
        client_id: config.client_id.clone(),
        client_secret: config.client_secret.clone(),
        client_metadata_url: config.client_metadata_url.clone(),
        scope: config.scope.clone(),
    };
    let is_client = config.client_secret.is_some();
    let grant = config.grant.unwrap_or(match is_client {
        true => GrantType::ClientCredentials,
        false => GrantType::AuthorizationCode,
    });
    match (grant, login_file) {
        (GrantType::ClientCredentials, _) if config.client_id.is_none() || !is_client => {
            let message = "'client_credentials' needs 'client_id' and 'client_secret'";
            refuse("auth_config.client_id", message);
            None
        }
        (GrantType::ClientCredentials, _) => Some((identity, Flow::ClientCredentials)),
        (GrantType::AuthorizationCode, Some(file)) => Some((identity, Flow::Login(file.to_owned()))),
        (GrantType::AuthorizationCode, None) => {
            let message = "a person signs in to services of an mcp.json only; here 'oauth2' needs a \
                           'client_id' and a 'client_secret'";
            refuse("auth_config.client_secret", message);
            None
        }
    }
}

fn insert(headers: &mut HeaderMap, header: (&str, &str), path: &str, problems: &mut Vec<Problem>) {
    if let Some((name, mut value)) = OF_PROTOCOL.check(header, path, problems) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
}
