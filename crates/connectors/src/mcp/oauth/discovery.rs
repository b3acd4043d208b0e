//! Who hands out tokens for a server: from its challenge to the addresses of its authorization server.

use super::super::web::Web;
use super::challenge::Challenge;
use super::scope::Scope;
use super::web;
use crate::shared::oauth::shown;
use fetch::Url;
use mcp::client::Failure;
use serde::Deserialize;

const RESOURCE: &str = "the server's description of its sign-in";
const AUTHORITY: &str = "the metadata of the authorization server";

/// An authorization server, and what it needs to hear about the server it vouches for.
#[derive(Debug, Clone)]
pub(super) struct Authority {
    /// As it is written in both documents, character by character.
    pub(super) issuer: String,
    pub(super) token_endpoint: Url,
    pub(super) authorization_endpoint: Option<Url>,
    pub(super) registration_endpoint: Option<Url>,
    pub(super) auth_methods: Vec<String>,
    pub(super) takes_metadata_documents: bool,
    /// Its answers to a browser say who answers.
    pub(super) names_itself: bool,
    pub(super) knows_pkce: bool,
    /// It lists the scope that stands for tokens which outlast a session.
    pub(super) offers_offline_access: bool,
    /// The server's name for itself (RFC 8707), as it is published.
    pub(super) resource: String,
    /// What the server lists as useful.
    pub(super) scopes: Scope,
}

/// As of RFC 9728.
#[derive(Debug, Deserialize)]
struct Resource {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

/// As of RFC 8414 and of OpenID Connect Discovery.
#[derive(Debug, Deserialize)]
struct Metadata {
    issuer: String,
    token_endpoint: String,
    #[serde(default)]
    authorization_endpoint: Option<String>,
    #[serde(default)]
    registration_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    client_id_metadata_document_supported: bool,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

/// Finds the one to ask for a token for the server at `url`.
pub(super) async fn discover(web: &Web, url: &Url, challenge: &Challenge) -> Result<Authority, Failure> {
    web::check(web, url, "the server")?;
    let resource = match resource(web, url, challenge).await? {
        Some(resource) => resource,
        // Servers of 2025-03-26 say nothing about themselves and hand out their tokens themselves.
        None => Resource {
            resource: canonical(url),
            authorization_servers: vec![url.origin().ascii_serialization()],
            scopes_supported: Vec::new(),
        },
    };
    if !covers(&resource.resource, url) {
        let theirs = shown(&resource.resource);
        let why = format!("the server describes the sign-in of another one, {theirs}, and was not believed");
        return Err(Failure::SignIn(why));
    }
    let Some(issuer) = resource.authorization_servers.first() else {
        return Err(Failure::SignIn("the server names nobody who hands out tokens for it".into()));
    };
    let metadata = metadata(web, issuer).await?;
    authority(metadata, resource)
}

/// Where the challenge says, else at the well-known places: the path's first, then the host's.
async fn resource(web: &Web, url: &Url, challenge: &Challenge) -> Result<Option<Resource>, Failure> {
    if let Some(text) = &challenge.resource_metadata {
        let found = web::document(web, &web::address(text, RESOURCE)?, RESOURCE).await?;
        return found
            .map(Some)
            .ok_or_else(|| Failure::SignIn(format!("{RESOURCE} is not where it should be")));
    }
    for place in well_known(url, "oauth-protected-resource") {
        if let Some(found) = web::document(web, &place, RESOURCE).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn well_known(url: &Url, name: &str) -> Vec<Url> {
    let at = |path: String| {
        let mut place = url.clone();
        place.set_query(None);
        place.set_fragment(None);
        place.set_path(&path);
        place
    };
    let mut places = vec![at(format!("/.well-known/{name}"))];
    let path = url.path().trim_end_matches('/');
    if !path.is_empty() {
        places.insert(0, at(format!("/.well-known/{name}{path}")));
    }
    places
}

/// The same server, at this path or above it.
fn covers(resource: &str, url: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (theirs, ours) = (resource.path().trim_end_matches('/'), url.path());
    let is_above = ours.strip_prefix(theirs).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == url.origin() && is_above && resource.fragment().is_none()
}

/// A URL as a name: without what does not belong to one.
fn canonical(url: &Url) -> String {
    let mut name = url.clone();
    name.set_query(None);
    name.set_fragment(None);
    let text = name.to_string();
    if name.path() == "/" { text.trim_end_matches('/').to_owned() } else { text }
}

async fn metadata(web: &Web, issuer: &str) -> Result<Metadata, Failure> {
    let url = web::address(issuer, "the authorization server")?;
    let path = url.path().trim_end_matches('/').to_owned();
    let mut places = vec![format!("/.well-known/oauth-authorization-server{path}")];
    places.push(format!("/.well-known/openid-configuration{path}"));
    if !path.is_empty() {
        places.push(format!("{path}/.well-known/openid-configuration"));
    }
    for place in places {
        let mut at = url.clone();
        at.set_query(None);
        at.set_path(&place);
        let Some(found) = web::document::<Metadata>(web, &at, AUTHORITY).await? else { continue };
        if found.issuer == issuer {
            return Ok(found);
        }
        let (theirs, ours) = (shown(&found.issuer), shown(issuer));
        let why = format!("{AUTHORITY} {ours} are those of another one, {theirs}, and were not believed");
        return Err(Failure::SignIn(why));
    }
    Err(Failure::SignIn(format!("{AUTHORITY} {} are nowhere to be found", shown(issuer))))
}

fn authority(metadata: Metadata, resource: Resource) -> Result<Authority, Failure> {
    let endpoint = |text: Option<&String>| {
        text.map(|text| web::address(text, "an endpoint of the authorization server")).transpose()
    };
    let methods = metadata.token_endpoint_auth_methods_supported;
    Ok(Authority {
        token_endpoint: web::address(&metadata.token_endpoint, "the authorization server's tokens")?,
        authorization_endpoint: endpoint(metadata.authorization_endpoint.as_ref())?,
        registration_endpoint: endpoint(metadata.registration_endpoint.as_ref())?,
        // What RFC 8414 says is meant by silence.
        auth_methods: methods.unwrap_or_else(|| vec!["client_secret_basic".to_owned()]),
        takes_metadata_documents: metadata.client_id_metadata_document_supported,
        names_itself: metadata.authorization_response_iss_parameter_supported,
        knows_pkce: metadata.code_challenge_methods_supported.iter().any(|method| method == "S256"),
        offers_offline_access: metadata.scopes_supported.iter().any(|scope| scope == "offline_access"),
        issuer: metadata.issuer,
        resource: resource.resource,
        scopes: Scope::of(resource.scopes_supported.iter().map(String::as_str)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn believes_a_description_of_the_same_server_only() {
        let url = Url::parse("https://x.example/a/mcp").unwrap();
        for same in
            ["https://x.example", "https://x.example/", "https://x.example:443/a", "https://x.example/a/mcp"]
        {
            assert!(covers(same, &url), "{same}");
        }
        for other in [
            "https://y.example/a/mcp",
            "http://x.example/a/mcp",
            "https://x.example:444/a/mcp",
            "https://x.example/a/mc",
            "https://x.example/b",
            "https://x.example/a/mcp/more",
            "https://x.example.evil.example/a/mcp",
            "x.example",
        ] {
            assert!(!covers(other, &url), "{other}");
        }
    }

    #[test]
    fn looks_at_the_path_first() {
        let places = |text: &str| {
            let found = well_known(&Url::parse(text).unwrap(), "w");
            found.iter().map(|url| url.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(places("https://x/mcp?key=1"), ["https://x/.well-known/w/mcp", "https://x/.well-known/w"]);
        assert_eq!(places("https://x/"), ["https://x/.well-known/w"]);
        assert_eq!(canonical(&Url::parse("https://x/?a=b").unwrap()), "https://x");
        assert_eq!(canonical(&Url::parse("https://x/mcp?a=b#c").unwrap()), "https://x/mcp");
    }
}
