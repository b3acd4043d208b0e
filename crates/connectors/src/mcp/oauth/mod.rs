//! OAuth 2.1 as a client: a token for one server, fetched when the server asks for one, renewed in time.
//!
//! `signed` is all that the rest sees. A token is fetched by one task for all who wait, and that task
//! is not dropped with them: a refresh token that was used up must not be lost.

mod challenge;
mod discovery;
pub(super) mod login;
mod login_file;
mod registration;
mod scope;
mod token;
mod web;

use super::web::Web;
use crate::shared::headers::bearer;
use crate::shared::oauth::shown;
use challenge::Challenge;
use discovery::Authority;
use fetch::Url;
use fetch::http::header::HeaderValue;
use login_file::{Login, LoginFile};
use mcp::client::Failure;
use scope::Scope;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use token::{Grant, NoToken, Request, Token};
use tokio::sync::{Semaphore, watch};
use tokio_util::task::TaskTracker;
use tool::{Context, Env, Secret};
use tracing::debug;

/// How often one request may be answered with a challenge.
const MAX_CHALLENGES: u32 = 2;
/// An authorization server that has just refused us is left alone for so long.
const QUIET: Duration = Duration::from_secs(2);

/// Who we are, as the settings say.
#[derive(Debug, Default)]
pub(super) struct Identity {
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<Secret>,
    /// A document about us at a URL, for servers that take its address as our name.
    pub(super) client_metadata_url: Option<String>,
    /// What to ask for, whatever the server says.
    pub(super) scope: Option<String>,
}

/// How tokens are obtained.
#[derive(Debug)]
pub(super) enum Flow {
    /// The client itself is let in.
    ClientCredentials,
    /// A person has been let in, at some time, in a browser.
    Login(PathBuf),
}

/// The sign-in of one service.
#[derive(Debug)]
pub(super) struct OAuth {
    url: Url,
    identity: Identity,
    /// `None`: the client signs in by itself.
    file: Option<LoginFile>,
    web: Arc<Web>,
    header: watch::Sender<Option<HeaderValue>>,
    state: Mutex<State>,
    /// Held by the one who fetches.
    fetching: Semaphore,
    tasks: TaskTracker,
}

#[derive(Debug, Default)]
struct State {
    token: Option<Token>,
    /// Grows with every token.
    generation: u64,
    authority: Option<Arc<Authority>>,
    /// The last one that came.
    challenge: Option<Challenge>,
    /// Whether there is a login has been found out.
    has_looked: bool,
    /// A login is as if it were not there, since there is to be a new one.
    is_anonymous: bool,
    refused: Option<(Instant, Failure)>,
}

impl OAuth {
    pub(super) fn new(url: Url, identity: Identity, flow: Flow, web: Arc<Web>, env: &Env) -> Arc<Self> {
        let file = match flow {
            Flow::ClientCredentials => None,
            Flow::Login(path) => Some(LoginFile::new(path)),
        };
        let (header, state) = (watch::Sender::new(None), Mutex::default());
        let (fetching, tasks) = (Semaphore::new(1), env.tasks.clone());
        Arc::new(Self { url, identity, file, web, header, state, fetching, tasks })
    }

    /// The value of `Authorization`, now and after every change.
    pub(super) fn header(&self) -> watch::Receiver<Option<HeaderValue>> {
        self.header.subscribe()
    }

    /// The token of the moment, which must not show.
    pub(super) fn token(&self) -> Option<Secret> {
        self.state().token.as_ref().map(|token| token.access.clone())
    }

    /// Does something with a token, and once more with another one if the server wants that.
    pub(super) async fn signed<T, F: Future<Output = Result<T, Failure>>>(
        self: &Arc<Self>,
        cx: &Context,
        attempt: impl Fn() -> F,
    ) -> Result<T, Failure> {
        let mut challenges = 0;
        loop {
            let used = self.renewed(cx).await?;
            match attempt().await {
                Err(Failure::Unauthorized { status, challenge }) if challenges < MAX_CHALLENGES => {
                    challenges += 1;
                    let parsed = Challenge::parse(&challenge);
                    let is_hopeless = status == 403 && parsed.error.as_deref() != Some("insufficient_scope");
                    if is_hopeless {
                        return Err(Failure::Unauthorized { status, challenge });
                    }
                    debug!(host = self.url.host_str(), status, "an MCP server wants another token");
                    self.state().challenge = Some(parsed.clone());
                    self.fetched(cx, Need::Answer { used, status, challenge: parsed }).await?;
                }
                result => return result,
            }
        }
    }

    /// The generation of the token, which is renewed when its time has come.
    async fn renewed(self: &Arc<Self>, cx: &Context) -> Result<u64, Failure> {
        let needs = {
            let state = self.state();
            match &state.token {
                Some(token) => token.is_old(),
                // Whoever has no login finds out once; a challenge is a reason to look again.
                None => self.file.is_some() && !state.has_looked,
            }
        };
        if needs {
            self.fetched(cx, Need::Renewal).await?;
        }
        Ok(self.state().generation)
    }

    async fn fetched(self: &Arc<Self>, cx: &Context, need: Need) -> Result<(), Failure> {
        let oauth = self.clone();
        let fetching = self.tasks.spawn(async move { oauth.fetch(need).await });
        cx.within(fetching).await?.unwrap_or(Err(Failure::Cancelled))
    }

    async fn fetch(&self, need: Need) -> Result<(), Failure> {
        let _turn = self.fetching.acquire().await;
        {
            let state = self.state();
            // Somebody else may have done it while we waited for our turn.
            let is_done = match &need {
                Need::Renewal => state.token.as_ref().is_some_and(|token| !token.is_old()),
                Need::Answer { used, .. } => state.generation != *used,
            };
            if is_done {
                return Ok(());
            }
            if let Some((at, failure)) = &state.refused
                && at.elapsed() < QUIET
            {
                return Err(failure.clone());
            }
        }
        match &self.file {
            None => self.fetch_for_client(&need).await,
            Some(file) => self.fetch_for_person(file, &need).await,
        }
    }

    async fn fetch_for_client(&self, need: &Need) -> Result<(), Failure> {
        let known = self.state().token.as_ref().map(|token| token.scope.clone()).unwrap_or_default();
        let challenge = match need {
            Need::Answer { challenge, .. } => Some(challenge),
            Need::Renewal => None,
        };
        if let (Need::Answer { status: 403, .. }, Some(wanted)) =
            (need, challenge.and_then(|c| c.scope.as_ref()))
            && known.covers(wanted)
        {
            return Err(insufficient(wanted));
        }
        let known_authority = self.state().authority.clone();
        let fetched = async {
            let authority = match (challenge, known_authority) {
                (None, Some(authority)) => authority,
                (challenge, _) => {
                    let challenge = challenge.cloned().unwrap_or_default();
                    Arc::new(discovery::discover(&self.web, &self.url, &challenge).await?)
                }
            };
            self.state().authority = Some(authority.clone());
            let scope = self.scope(challenge, &authority).with(&known);
            let Some(client) = registration::known(&self.identity, &authority) else {
                return Err(Failure::SignIn("'auth_config' names no client".into()));
            };
            let (endpoint, resource) = (&authority.token_endpoint, authority.resource.as_str());
            let grant = Grant::ClientCredentials;
            let request = Request { endpoint, client: &client, resource, scope: &scope, grant };
            Ok(request.send(&self.web).await?)
        };
        let fetched = fetched.await;
        self.keep(fetched)
    }

    async fn fetch_for_person(&self, file: &LoginFile, need: &Need) -> Result<(), Failure> {
        self.state().has_looked = true;
        let without = || if matches!(need, Need::Renewal) { Ok(()) } else { Err(self.nobody(file)) };
        if self.state().is_anonymous || file.read(self.url.as_str())?.is_none() {
            return without();
        }
        // Other processes use the same login, and a refresh token counts once.
        let lock = file.lock().await?;
        let Some(mut login) = file.read(self.url.as_str())? else { return without() };
        let Some(token) = login.token() else { return without() };
        let is_ours = self.token().is_some_and(|ours| ours == token.access);
        if !is_ours && !token.is_old() {
            self.put(token);
            return Ok(());
        }
        if let Need::Answer { status: 403, challenge, .. } = need {
            return Err(self.step_up(file, login, &token, challenge));
        }
        let Some(refresh) = token.refresh.clone() else {
            // The server may be more patient than it has said.
            if matches!(need, Need::Renewal) {
                self.put(Token { renew_at: None, ..token });
                return Ok(());
            }
            return Err(self.nobody(file));
        };
        let fetched = self.refresh(&login, &token, &refresh).await;
        match &fetched {
            Ok(token) => login.set_token(token),
            Err(NoToken::InvalidGrant(_)) => login.end(),
            Err(NoToken::Other(_)) => return self.keep(fetched.map_err(Failure::from)),
        }
        file.write(&login)?;
        drop(lock);
        self.keep(fetched.map_err(|_| self.nobody(file)))
    }

    async fn refresh(&self, login: &Login, token: &Token, refresh: &Secret) -> Result<Token, NoToken> {
        let endpoint = web::address(&login.token_endpoint, "the authorization server's tokens")?;
        let (client, resource) = (login.client(), login.resource.as_str());
        let (scope, grant) = (&token.scope, Grant::Refresh(refresh));
        Request { endpoint: &endpoint, client: &client, resource, scope, grant }.send(&self.web).await
    }

    /// More rights are given by a person only.
    fn step_up(&self, file: &LoginFile, mut login: Login, token: &Token, challenge: &Challenge) -> Failure {
        let Some(wanted) = challenge.scope.as_ref().filter(|wanted| !token.scope.covers(wanted)) else {
            return insufficient(challenge.scope.as_ref().unwrap_or(&token.scope));
        };
        login.want(wanted);
        if let Err(failure) = file.write(&login) {
            return failure;
        }
        let (wanted, service) = (shown(&wanted.text()), file.service());
        Failure::LoginRequired(format!(
            "the server wants the scope '{wanted}' for that; grant it with: mcp-all-in-one login {service}"
        ))
    }

    /// What to ask for: what the settings say, else the challenge, else what the server lists.
    fn scope(&self, challenge: Option<&Challenge>, authority: &Authority) -> Scope {
        let challenged = challenge.and_then(|challenge| challenge.scope.clone());
        match &self.identity.scope {
            Some(text) => Scope::parse(text).with(&challenged.unwrap_or_default()),
            None => challenged.unwrap_or_else(|| authority.scopes.clone()),
        }
    }

    fn keep(&self, fetched: Result<Token, Failure>) -> Result<(), Failure> {
        match fetched {
            Ok(token) => {
                self.put(token);
                Ok(())
            }
            Err(failure) => {
                self.state().refused = Some((Instant::now(), failure.clone()));
                Err(failure)
            }
        }
    }

    fn put(&self, token: Token) {
        // A token that no header can carry is as good as none.
        self.header.send_replace(bearer(&token.access));
        let mut state = self.state();
        state.token = Some(token);
        state.refused = None;
        state.generation += 1;
    }

    fn nobody(&self, file: &LoginFile) -> Failure {
        let service = file.service();
        Failure::LoginRequired(format!("the server wants a sign-in; run: mcp-all-in-one login {service}"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a token is wanted.
enum Need {
    /// It is about to end, or we have none and may find one.
    Renewal,
    /// The server did not take the one of this generation.
    Answer { used: u64, status: u16, challenge: Challenge },
}

fn insufficient(wanted: &Scope) -> Failure {
    let wanted = shown(&wanted.text());
    Failure::SignIn(format!(
        "the server wants the scope '{wanted}', which was asked for and did not help; ask who runs it"
    ))
}
