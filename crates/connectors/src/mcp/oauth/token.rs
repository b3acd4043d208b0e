//! Tokens: how they are asked for, and how long they last.

use super::super::web::Web;
use super::scope::Scope;
use super::web::{self, Answer};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fetch::Url;
use fetch::http::{HeaderValue, StatusCode};
use mcp::client::Failure;
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime};
use tool::Secret;
use tool::secret::Blots;

const WHAT: &str = "the token";
/// A token is renewed that long before its end, or at a fifth of a shorter life.
const MARGIN: Duration = Duration::from_secs(30);
/// What a server may claim about the life of a token; more is no use and may overflow.
const MAX_LIFE: u64 = 10 * 365 * 24 * 3600;

/// How the client shows at the token endpoint that it is itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Method {
    ClientSecretBasic,
    ClientSecretPost,
    None,
}

impl Method {
    pub(super) fn find(name: &str) -> Option<Self> {
        match name {
            "client_secret_basic" => Some(Self::ClientSecretBasic),
            "client_secret_post" => Some(Self::ClientSecretPost),
            "none" => Some(Self::None),
            _ => None,
        }
    }

    /// The best way that an authorization server takes.
    pub(super) fn choose(offered: &[String], has_secret: bool) -> Self {
        let is_offered = |method: &Self| offered.iter().any(|name| Self::find(name) == Some(*method));
        let secret = [Self::ClientSecretBasic, Self::ClientSecretPost].into_iter().filter(|_| has_secret);
        secret.chain([Self::None]).find(is_offered).unwrap_or(if has_secret {
            Self::ClientSecretBasic
        } else {
            Self::None
        })
    }
}

/// Who we are at one authorization server.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Option<Secret>,
    pub(super) method: Method,
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
        let client = self.client;
        let basic = (client.method == Method::ClientSecretBasic).then(|| {
            let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            let secret = client.secret.as_ref().map_or("", Secret::expose);
            let pair = Secret::new(format!("{}:{}", encoded(&client.id), encoded(secret)));
            let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair.expose())))
                .expect("Base64 is legal in a header");
            value.set_sensitive(true);
            value
        });
        let kind = "application/x-www-form-urlencoded";
        let answer = web::post(web, self.endpoint, kind, self.form(), basic, WHAT).await?;
        self.read(&answer)
    }

    fn form(&self) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        match &self.grant {
            Grant::ClientCredentials => form.append_pair("grant_type", "client_credentials"),
            Grant::Refresh(token) => {
                form.append_pair("grant_type", "refresh_token").append_pair("refresh_token", token.expose())
            }
            Grant::Code { code, verifier, redirect } => form
                .append_pair("grant_type", "authorization_code")
                .append_pair("code", code.expose())
                .append_pair("code_verifier", verifier.expose())
                .append_pair("redirect_uri", redirect.as_str()),
        };
        // A code stands for the scope that was asked for with it.
        if !self.scope.is_empty() && !matches!(self.grant, Grant::Code { .. }) {
            form.append_pair("scope", &self.scope.text());
        }
        form.append_pair("resource", self.resource);
        if self.client.method != Method::ClientSecretBasic {
            form.append_pair("client_id", &self.client.id);
        }
        if let (Method::ClientSecretPost, Some(secret)) = (self.client.method, &self.client.secret) {
            form.append_pair("client_secret", secret.expose());
        }
        form.finish()
    }

    fn read(&self, answer: &Answer) -> Result<Token, NoToken> {
        if answer.status != StatusCode::OK {
            return Err(self.refusal(answer));
        }
        #[derive(Deserialize)]
        struct Given {
            access_token: Secret,
            token_type: String,
            #[serde(default)]
            expires_in: Option<u64>,
            #[serde(default)]
            refresh_token: Option<Secret>,
            #[serde(default)]
            scope: Option<String>,
        }
        let given: Given = answer.json(WHAT)?;
        if !given.token_type.eq_ignore_ascii_case("bearer") {
            let kind = web::shown(&given.token_type);
            let why =
                format!("the authorization server gave a token of the kind '{kind}', which we cannot use");
            return Err(Failure::SignIn(why).into());
        }
        let renew_at = given.expires_in.map(|seconds| {
            let life = Duration::from_secs(seconds.min(MAX_LIFE));
            SystemTime::now() + life.saturating_sub(MARGIN.min(life / 5))
        });
        let kept = match &self.grant {
            // A server that gives no other one means the old one to be used again.
            Grant::Refresh(token) => Some((*token).clone()),
            Grant::ClientCredentials | Grant::Code { .. } => None,
        };
        let scope = given.scope.as_deref().map(Scope::parse).filter(|scope| !scope.is_empty());
        Ok(Token {
            access: given.access_token,
            refresh: given.refresh_token.or(kept),
            renew_at,
            scope: scope.unwrap_or_default().with(self.scope),
        })
    }

    /// The server's reason, without what we have told it in confidence.
    fn refusal(&self, answer: &Answer) -> NoToken {
        #[derive(Default, Deserialize)]
        struct Refused {
            #[serde(default)]
            error: String,
            #[serde(default)]
            error_description: String,
        }
        let refused: Refused = serde_json::from_slice(&answer.body).unwrap_or_default();
        let why = format!("{} {}", refused.error, refused.error_description);
        let told: Vec<&Secret> = match &self.grant {
            Grant::ClientCredentials => Vec::new(),
            Grant::Refresh(token) => vec![token],
            Grant::Code { code, verifier, .. } => vec![code, verifier],
        };
        let secrets = told.into_iter().chain(&self.client.secret).map(Secret::expose);
        let why = Blots::new(secrets).apply(&why);
        let (status, why) = (answer.status.as_u16(), web::shown(why.trim()));
        let host = self.endpoint.host_str().unwrap_or_default();
        let why = format!("the authorization server {host} gives no token (HTTP status {status}): {why}");
        match refused.error.as_str() {
            "invalid_grant" => NoToken::InvalidGrant(why),
            _ if status == 429 => Failure::Broken { why, is_sent: false }.into(),
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
            Method::choose(&offered, has_secret)
        };
        assert_eq!(choose(&["client_secret_post", "client_secret_basic"], true), Method::ClientSecretBasic);
        assert_eq!(choose(&["private_key_jwt", "client_secret_post"], true), Method::ClientSecretPost);
        assert_eq!(choose(&["none"], true), Method::None);
        assert_eq!(choose(&["client_secret_basic"], false), Method::None);
        assert_eq!(choose(&[], true), Method::ClientSecretBasic);
    }

    #[test]
    fn repeats_no_secret_that_a_server_repeats() {
        let secret = |text: &str| Secret::new(text);
        let client = Client { id: "us".into(), secret: Some(secret("hush")), method: Method::None };
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
        assert!(why.ends_with("(HTTP status 400): invalid_grant *** with *** and *** is over"), "{why}");
    }
}
