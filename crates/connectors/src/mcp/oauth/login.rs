//! The attended sign-in: an address for a browser, and what the browser brings back.

use super::super::Settings;
use super::super::client::Repeat;
use super::challenge::Challenge;
use super::discovery::{self, Authority};
use super::login_file::{Login as Kept, LoginFile};
use super::token::{Grant, Request};
use super::{OAuth, registration, web};
use crate::shared::oauth::{Client, shown};
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fetch::Url;
use mcp::client::{About, Failure};
use serde_json::Value;
use std::sync::Arc;
use tool::{Context, Env, Error, Result, Secret};

/// A sign-in that waits for somebody to agree to it in a browser.
#[derive(Debug)]
pub struct Login {
    oauth: Arc<OAuth>,
    file: LoginFile,
    authority: Authority,
    client: Client,
    scope: super::Scope,
    redirect: Url,
    address: Url,
    state: Secret,
    verifier: Secret,
}

impl Login {
    /// Finds out who hands out tokens for the service with these settings, and makes us known there.
    /// The browser is to come back to `redirect`, on this machine.
    ///
    /// # Errors
    /// When the service has no attended sign-in, or it cannot be begun.
    pub async fn begin(cx: &Context, settings: Value, env: &Env, redirect: Url) -> Result<Self> {
        let settings: Settings = serde_json::from_value(settings).map_err(|error| {
            Error::invalid_config("the service's settings cannot be read").caused_by(error)
        })?;
        // Dropping it ends the connection.
        let connector = settings.connector(env)?;
        let client = &connector.clients.main;
        let oauth = client.target.oauth().and_then(|oauth| Some((oauth.clone(), oauth.file.clone()?)));
        let Some((oauth, file)) = oauth else {
            let why =
                "nobody can sign in to this service: it is no URL, or its settings already say with what";
            return Err(Error::unsupported(why));
        };
        oauth.state().is_anonymous = true;
        // The server says best itself what it wants; where it wants nothing, we look at the usual places.
        let asked = client.request(cx, "tools/list", About::default(), None, Repeat::Always).await;
        let challenge = oauth.state().challenge.clone();
        let is_open = match (asked, &challenge) {
            (Err(error), None) => return Err(error),
            (asked, _) => asked.is_ok(),
        };
        let begun = Self::prepare(oauth, file, &challenge.unwrap_or_default(), redirect).await;
        begun.map_err(|failure| match is_open {
            true => Error::unsupported(format!("the server does not ask for a sign-in, but {failure}")),
            false => client.error(&failure),
        })
    }

    async fn prepare(
        oauth: Arc<OAuth>,
        file: LoginFile,
        challenge: &Challenge,
        redirect: Url,
    ) -> Result<Self, Failure> {
        let authority = discovery::discover(&oauth.web, &oauth.url, challenge).await?;
        let Some(endpoint) = authority.authorization_endpoint.clone() else {
            return Err(Failure::SignIn("the authorization server has no page for people".into()));
        };
        web::check(&oauth.web, &endpoint, "the authorization server's page")?;
        if !authority.knows_pkce {
            let why = "the authorization server does not say that it knows PKCE (S256), which MCP demands";
            return Err(Failure::SignIn(why.into()));
        }
        let kept = file.read(oauth.url.as_str())?;
        let client = match registration::known(&oauth.identity, &authority) {
            Some(client) => client,
            None => registration::register(&oauth.web, &authority, &redirect).await?,
        };
        let wanted = kept.filter(|kept| kept.issuer == authority.issuer).and_then(|kept| kept.wanted());
        let mut scope = oauth.scope(Some(challenge), &authority);
        scope = wanted.map_or(scope.clone(), |wanted| wanted.with(&scope));
        if authority.offers_offline_access {
            scope.add("offline_access");
        }
        let (state, verifier) = (random()?, random()?);
        let mut address = endpoint;
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.expose().as_bytes()));
        address
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", redirect.as_str())
            .append_pair("state", state.expose())
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", &authority.resource);
        if !scope.is_empty() {
            address.query_pairs_mut().append_pair("scope", &scope.text());
        }
        Ok(Self { oauth, file, authority, client, scope, redirect, address, state, verifier })
    }

    /// What to open in a browser.
    #[must_use]
    pub fn address(&self) -> &Url {
        &self.address
    }

    /// Takes what the browser brought back, and keeps the token that it stands for.
    ///
    /// # Errors
    /// When the answer is not the one to our question, or says no.
    pub async fn finish(self, answer: &Url) -> Result<()> {
        let host = self.oauth.url.host_str().unwrap_or_default().to_owned();
        let finished = self.exchange(answer).await;
        finished
            .map_err(|failure| Error::unauthenticated(format!("the sign-in to '{host}' failed: {failure}")))
    }

    async fn exchange(self, answer: &Url) -> Result<(), Failure> {
        let code = self.code(answer)?;
        let grant = Grant::Code { code: &code, verifier: &self.verifier, redirect: &self.redirect };
        let (endpoint, resource) = (&self.authority.token_endpoint, self.authority.resource.as_str());
        let request = Request { endpoint, client: &self.client, resource, scope: &self.scope, grant };
        let token = request.send(&self.oauth.web).await?;
        let mut login = Kept::new(
            self.oauth.url.as_str(),
            &self.authority.issuer,
            endpoint.as_str(),
            resource,
            &self.client,
        );
        login.set_token(&token);
        let _lock = self.file.lock().await?;
        self.file.write(&login)
    }

    /// The code in the answer, if it is an answer to us from whom we have asked (RFC 9207).
    fn code(&self, answer: &Url) -> Result<Secret, Failure> {
        let find = |name: &str| answer.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value);
        let refuse = |why: &str| Err(Failure::SignIn(why.to_owned()));
        if find("state").as_deref() != Some(self.state.expose()) {
            return refuse("the browser brought the answer to another question");
        }
        match find("iss") {
            Some(issuer) if issuer != self.authority.issuer.as_str() => {
                let theirs = shown(&issuer);
                return refuse(&format!("the answer is of another authorization server, {theirs}"));
            }
            None if self.authority.names_itself => {
                return refuse(
                    "the answer does not say of whom it is, as this authorization server promises",
                );
            }
            _ => {}
        }
        if let Some(error) = find("error") {
            let text = format!("{error} {}", find("error_description").unwrap_or_default());
            return refuse(&format!("the authorization server says: {}", shown(text.trim())));
        }
        find("code").map_or_else(|| refuse("the answer holds no code"), |code| Ok(Secret::new(code)))
    }
}

fn random() -> Result<Secret, Failure> {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| Failure::SignIn("there is no randomness".into()))?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
}
