//! Tokens: how they are asked for, and how long they last.

use super::super::web::Web;
use super::scope::Scope;
use super::web::{self, Answer};
use crate::shared::oauth::{Client, ClientAuth, Form, Refusal, TokenResponse};
use fetch::Url;
use fetch::http::StatusCode;
use mcp::client::Failure;
use std::time::SystemTime;
use tool::Secret;

const WHAT: &str = "the token";

/// The best way to show who we are that an authorization server takes.
pub(super) fn choose_auth(offered: &[String], has_secret: bool) -> ClientAuth {
    let is_offered = |auth: &ClientAuth| offered.iter().any(|name| find_auth(name) == Some(*auth));
    let secret = [ClientAuth::ClientSecretBasic, ClientAuth::ClientSecretPost];
    let usual = if has_secret { ClientAuth::ClientSecretBasic } else { ClientAuth::None };
    let suited = secret.into_iter().filter(|_| has_secret).chain([ClientAuth::None]);
    suited.into_iter().find(is_offered).unwrap_or(usual)
}

/// The way of this name, if we know it.
pub(super) fn find_auth(name: &str) -> Option<ClientAuth> {
    match name {
        "client_secret_basic" => Some(ClientAuth::ClientSecretBasic),
        "client_secret_post" => Some(ClientAuth::ClientSecretPost),
        "none" => Some(ClientAuth::None),
        _ => None,
    }
}

/// A token as it was handed out.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// When it is to be renewed.
    pub(super) renew_at: Option<SystemTime>,
    /// What was asked for, or what was given where that is said.
    pub(super) scope: Scope,
}

impl Token {
    pub(super) fn is_old(&self) -> bool {
        self.renew_at.is_some_and(|at| at <= SystemTime::now())
    }
}

/// Why there is no token: the refusal of the server, or something on the way to it.
#[derive(Debug)]
pub(super) enum NoToken {
    /// What we have shown does not count any more.
    InvalidGrant(String),
    Other(Failure),
}

impl From<Failure> for NoToken {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

impl From<NoToken> for Failure {
    fn from(none: NoToken) -> Self {
        match none {
            NoToken::InvalidGrant(why) => Self::SignIn(why),
            NoToken::Other(failure) => failure,
        }
    }
}

/// One way to ask.
pub(super) enum Grant<'a> {
    ClientCredentials,
    Refresh(&'a Secret),
    Code { code: &'a Secret, verifier: &'a Secret, redirect: &'a Url },
}

/// Where to ask, and for what.
pub(super) struct Request<'a> {
    pub(super) endpoint: &'a Url,
    pub(super) client: &'a Client,
    pub(super) resource: &'a str,
    pub(super) scope: &'a Scope,
    pub(super) grant: Grant<'a>,
}

impl Request<'_> {
    pub(super) async fn send(&self, web: &Web) -> Result<Token, NoToken> {
        let authorization = self.client.authorization();
        let answer = web::post(web, self.endpoint, Form::CONTENT_TYPE, self.form(), authorization, WHAT);
        self.read(&answer.await?)
    }

    fn form(&self) -> String {
        let mut form = match &self.grant {
            Grant::ClientCredentials => Form::new("client_credentials"),
            Grant::Refresh(token) => {
                let mut form = Form::new("refresh_token");
                form.add("refresh_token", token.expose());
                form
            }
            Grant::Code { code, verifier, redirect } => {
                let mut form = Form::new("authorization_code");
                form.add("code", code.expose());
                form.add("code_verifier", verifier.expose());
                form.add("redirect_uri", redirect.as_str());
                form
            }
        };
        // A code stands for the scope that was asked for with it.
        if !self.scope.is_empty() && !matches!(self.grant, Grant::Code { .. }) {
            form.add("scope", &self.scope.text());
        }
        form.add("resource", self.resource);
        self.client.sign(&mut form);
        form.finish()
    }

    fn read(&self, answer: &Answer) -> Result<Token, NoToken> {
        if answer.status != StatusCode::OK {
            return Err(self.refusal(answer));
        }
        let granted: TokenResponse = answer.json(WHAT)?;
        if granted.token_type.is_none() {
            return Err(Failure::SignIn(format!("{WHAT} cannot be read: missing field `token_type`")).into());
        }
        if let Some(kind) = granted.foreign_type() {
            let why =
                format!("the authorization server gave a token of the kind '{kind}', which we cannot use");
            return Err(Failure::SignIn(why).into());
        }
        let kept = match &self.grant {
            // A server that gives no other one means the old one to be used again.
            Grant::Refresh(token) => Some((*token).clone()),
            Grant::ClientCredentials | Grant::Code { .. } => None,
        };
        let scope = granted.scope.as_deref().map(Scope::parse).filter(|scope| !scope.is_empty());
        Ok(Token {
            renew_at: granted.renew_after().map(|time| SystemTime::now() + time),
            access: granted.access_token,
            refresh: granted.refresh_token.or(kept),
            scope: scope.unwrap_or_default().with(self.scope),
        })
    }

    /// The server's reason, without what we have told it in confidence.
    fn refusal(&self, answer: &Answer) -> NoToken {
        let refusal = Refusal::read(&answer.body);
        let told: Vec<&Secret> = match &self.grant {
            Grant::ClientCredentials => Vec::new(),
            Grant::Refresh(token) => vec![token],
            Grant::Code { code, verifier, .. } => vec![code, verifier],
        };
        let secrets = told.into_iter().chain(&self.client.secret).map(Secret::expose);
        let (status, why) = (answer.status.as_u16(), refusal.words(secrets));
        let host = self.endpoint.host_str().unwrap_or_default();
        let why = format!("the authorization server {host} gives no token (HTTP status {status}): {why}");
        match refusal.error.as_str() {
            "invalid_grant" => NoToken::InvalidGrant(why),
            _ if status == 429 => Failure::unreachable(why).into(),
            _ => Failure::SignIn(why).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chooses_a_way_to_sign_in_that_is_offered() {
        let choose = |offered: &[&str], has_secret| {
            let offered: Vec<_> = offered.iter().map(|name| (*name).to_owned()).collect();
            choose_auth(&offered, has_secret)
        };
        assert_eq!(
            choose(&["client_secret_post", "client_secret_basic"], true),
            ClientAuth::ClientSecretBasic
        );
        assert_eq!(choose(&["private_key_jwt", "client_secret_post"], true), ClientAuth::ClientSecretPost);
        assert_eq!(choose(&["none"], true), ClientAuth::None);
        assert_eq!(choose(&["client_secret_basic"], false), ClientAuth::None);
        assert_eq!(choose(&[], true), ClientAuth::ClientSecretBasic);
    }

    #[test]
    fn repeats_no_secret_that_a_server_repeats() {
        let secret = |text: &str| Secret::new(text);
        let client = Client { id: "us".into(), secret: Some(secret("hush")), auth: ClientAuth::None };
        let (code, verifier, redirect) =
            (secret("c0de"), secret("v3rifier"), Url::parse("http://l").unwrap());
        let request = Request {
            endpoint: &Url::parse("https://issuer.example/token").unwrap(),
            client: &client,
            resource: "https://x",
            scope: &Scope::default(),
            grant: Grant::Code { code: &code, verifier: &verifier, redirect: &redirect },
        };
        let body = br#"{"error":"invalid_grant","error_description":"c0de with\nv3rifier and hush is over"}"#;
        let answer = Answer { status: StatusCode::BAD_REQUEST, body: body.to_vec() };
        let NoToken::InvalidGrant(why) = request.read(&answer).unwrap_err() else { panic!("a refusal") };
        assert!(why.ends_with("(HTTP status 400): invalid_grant: *** with *** and *** is over"), "{why}");
    }
}
