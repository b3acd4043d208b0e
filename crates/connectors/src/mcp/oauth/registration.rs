//! Who we are at an authorization server: somebody it knows, a document it can read, or a new client.

use super::super::web::Web;
use super::Identity;
use super::discovery::Authority;
use super::token::{choose_auth, find_auth};
use super::web;
use crate::shared::oauth::{Client, ClientAuth, shown};
use fetch::Url;
use fetch::http::StatusCode;
use mcp::client::Failure;
use serde::Deserialize;
use serde_json::json;
use tool::Secret;

const WHAT: &str = "the registration as a client";

/// The client that the settings name, if they name one.
pub(super) fn known(identity: &Identity, authority: &Authority) -> Option<Client> {
    let secret = identity.client_secret.clone();
    if let Some(id) = identity.client_id.clone() {
        let auth = choose_auth(&authority.auth_methods, secret.is_some());
        return Some(Client { id, secret, auth });
    }
    let url = identity.client_metadata_url.clone().filter(|_| authority.takes_metadata_documents)?;
    Some(Client { id: url, secret: None, auth: ClientAuth::None })
}

/// Makes us known to the authorization server (RFC 7591).
pub(super) async fn register(web: &Web, authority: &Authority, redirect: &Url) -> Result<Client, Failure> {
    let Some(endpoint) = &authority.registration_endpoint else {
        let why = "the authorization server wants clients that it knows; register one there with the redirect \
                   address of this login, and set its 'client_id' (and 'client_secret') in 'auth_config'";
        return Err(Failure::SignIn(why.into()));
    };
    let offered = &authority.auth_methods;
    let is_offered = |method: &&str| offered.iter().any(|name| name == method);
    let methods = ["none", "client_secret_basic", "client_secret_post"];
    let method = methods.into_iter().find(is_offered).unwrap_or("none");
    let body = json!({
        "client_name": "mcp-all-in-one",
        "redirect_uris": [redirect.as_str()],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": "native",
    });
    let answer = web::post(web, endpoint, "application/json", body.to_string(), None, WHAT).await?;
    if !matches!(answer.status, StatusCode::OK | StatusCode::CREATED) {
        let (status, said) = (answer.status.as_u16(), String::from_utf8_lossy(&answer.body));
        let why = format!("{WHAT} was refused (HTTP status {status}): {}", shown(&said));
        return Err(Failure::SignIn(why));
    }
    #[derive(Deserialize)]
    struct Registered {
        client_id: String,
        #[serde(default)]
        client_secret: Option<Secret>,
        #[serde(default)]
        token_endpoint_auth_method: Option<String>,
    }
    let registered: Registered = answer.json(WHAT)?;
    let agreed = registered.token_endpoint_auth_method.as_deref().and_then(find_auth);
    let secret = registered.client_secret;
    let auth = agreed.unwrap_or_else(|| choose_auth(offered, secret.is_some()));
    Ok(Client { id: registered.client_id, secret, auth })
}
