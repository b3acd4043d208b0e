//! `/auth`: signing in with a password, and what follows from it.

use super::recording::{SIGN_IN, row_of};
use super::time;
use super::users::{UserView, check_password};
use super::words;
use crate::Shared;
use crate::auth::{BrowserSession, SignedIn};
use crate::error::{Problem, Result};
use crate::json::Json;
use crate::keyless::check_origin;
use axum::Json as Answer;
use axum::extract::{ConnectInfo, State};
use http::{Extensions, HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use store::{AuditRow, Status, User};
use tool::{Identity, Secret, TenantId, UserId};
use utoipa::ToSchema;

const WRONG: &str = "tenant, user name or password is wrong";
/// Characters of a name that was tried which are kept.
const MAX_TRIED: usize = 128;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Login {
    #[serde(default = "default_tenant")]
    tenant: String,
    username: String,
    #[schema(value_type = String, format = Password)]
    password: Secret,
}

impl Login {
    pub(super) fn new(tenant: Option<String>, username: String, password: Secret) -> Self {
        Self { tenant: tenant.unwrap_or_else(default_tenant), username, password }
    }
}

fn default_tenant() -> String {
    TenantId::default_tenant().into()
}

#[derive(Serialize, ToSchema)]
pub(super) struct LoggedIn {
    /// Send it as `Authorization: Bearer <token>`.
    token: String,
    expires_at: String,
    user: UserView,
}

/// Signs a person in.
#[utoipa::path(post, path = "/auth/login", tag = "auth", security(()),
    request_body = Login, responses((status = 200, body = LoggedIn), (status = 401), (status = 429)))]
pub(super) async fn login(
    State(state): State<Shared>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    extensions: Extensions,
    Json(login): Json<Login>,
) -> Result<Answer<LoggedIn>> {
    check_origin(&state, &headers)?;
    let user = authenticate(&state, peer, &extensions, login, SIGN_IN).await?;
    let (token, expires_at) = state.auth.issue(&user)?;
    Ok(Answer(LoggedIn { token, expires_at: time::show(expires_at * 1000), user: user.into() }))
}

/// Checks a name and a password, as often as somebody may try, and puts on record at which path they were shown.
pub(super) async fn authenticate(
    state: &Shared,
    peer: SocketAddr,
    extensions: &Extensions,
    login: Login,
    path: &str,
) -> Result<User> {
    let Login { tenant, username, password } = login;
    let action = format!("POST {path}");
    let guess = state.attempts.reserve(peer.ip(), &tenant, &username)?;
    let user = match find(state, &tenant, &username, password).await {
        Ok(Some(user)) => user,
        Ok(None) => {
            record_refusal(state, &tenant, &username, &action, extensions).await;
            return Err(Problem::unauthenticated(WRONG));
        }
        Err(problem) => {
            guess.excuse();
            return Err(problem);
        }
    };
    guess.excuse();
    record(state, row_of(&user.tenant, ("user", user.id.as_str()), &action, extensions)).await;
    Ok(user)
}

/// Puts on record which name was tried; where the tenant is not there, for those who manage the platform.
async fn record_refusal(state: &Shared, tenant: &str, username: &str, action: &str, extensions: &Extensions) {
    let short = |text: &str| text.chars().take(MAX_TRIED).collect::<String>();
    let known = tenant.parse().ok().filter(|id| state.gateway.catalog().tenant(id).is_some());
    let message = match &known {
        Some(_) => WRONG.to_owned(),
        None => format!("there is no active tenant '{}'", short(tenant)),
    };
    let known = known.unwrap_or_else(TenantId::default_tenant);
    let mut row = row_of(&known, ("user", &short(username)), action, extensions);
    row.status = "refused".into();
    row.details.code = Some("UNAUTHENTICATED".into());
    row.details.message = Some(message.into());
    record(state, row).await;
}

/// Whether it can be written decides nothing about the sign-in.
pub(super) async fn record(state: &Shared, row: AuditRow<'static>) {
    if let Err(error) = state.store.management().append(&row).await {
        tracing::warn!(%error, "a sign-in is not on record: {error}");
    }
}

/// The person of that name, if the password is right and they may sign in.
async fn find(state: &Shared, tenant: &str, username: &str, password: Secret) -> Result<Option<User>> {
    let found = match tenant.parse::<TenantId>() {
        Ok(tenant) => state.store.users().find_by_username(&tenant, username).await?,
        Err(_) => None,
    };
    let (user, hash) = found.unzip();
    let is_right = state.hashing.verify(password, hash).await?;
    Ok(user.filter(|user| is_right && user.status == Status::Active))
}

/// Signs a person out everywhere: all tokens issued until now become void.
#[utoipa::path(post, path = "/auth/logout", tag = "auth", responses((status = 204)))]
pub(super) async fn logout(State(state): State<Shared>, signed_in: SignedIn) -> Result<StatusCode> {
    let id = user_id(&signed_in)?;
    state.store.users().void_tokens(&signed_in.tenant, id).await?;
    state.reload.catch_up().await;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize, ToSchema)]
pub(super) struct Me {
    tenant: String,
    /// `key` or `user`.
    kind: &'static str,
    id: String,
    name: String,
    role: &'static str,
    #[schema(value_type = Vec<words::May>)]
    may: Vec<&'static str>,
    /// When the key or the browser's session ends, whichever is first.
    expires_at: Option<String>,
}

impl Me {
    /// `ends_at_ms` is the end of a session.
    pub(super) fn of(signed_in: &SignedIn, ends_at_ms: Option<i64>) -> Self {
        let may = [
            ("read", signed_in.may_read()),
            ("call", signed_in.may_call()),
            ("manage", signed_in.may_manage()),
            ("make_services", signed_in.may_make_services()),
            ("make_tools", signed_in.may_make_tools()),
            ("make_instances", signed_in.may_make_instances()),
            ("administer", signed_in.may_administer()),
        ];
        let end = [signed_in.expires_at_ms, ends_at_ms].into_iter().flatten().min();
        let caller = &signed_in.caller;
        Self {
            tenant: signed_in.tenant.to_string(),
            kind: caller.identity.kind(),
            id: caller.identity.id().to_owned(),
            name: caller.name.clone(),
            role: caller.role.as_str(),
            may: may.into_iter().filter(|(_, may)| may.is_ok()).map(|(word, _)| word).collect(),
            expires_at: end.map(time::show),
        }
    }
}

/// Who this key, token or session belongs to, and what they may do.
#[utoipa::path(get, path = "/auth/me", tag = "auth", responses((status = 200, body = Me)))]
pub(super) async fn me(signed_in: SignedIn, extensions: Extensions) -> Answer<Me> {
    let session = extensions.get::<BrowserSession>();
    Answer(Me::of(&signed_in, session.map(|session| session.ends_at_ms)))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PasswordChange {
    #[schema(value_type = String, format = Password)]
    old_password: Secret,
    /// At least 8 characters.
    #[schema(value_type = String, format = Password, min_length = 8)]
    new_password: Secret,
}

/// Changes the caller's own password; all tokens issued until now become void.
#[utoipa::path(post, path = "/auth/password", tag = "auth", request_body = PasswordChange,
    responses((status = 204), (status = 401), (status = 429)))]
pub(super) async fn change_password(
    State(state): State<Shared>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    signed_in: SignedIn,
    Json(change): Json<PasswordChange>,
) -> Result<StatusCode> {
    let id = user_id(&signed_in)?.clone();
    check_password("new_password", &change.new_password)?;
    let users = state.store.users();
    let username = users.get(&signed_in.tenant, &id).await?.username;
    let guess = state.attempts.reserve(peer.ip(), signed_in.tenant.as_str(), &username)?;
    let found = find(&state, signed_in.tenant.as_str(), &username, change.old_password).await;
    if let Ok(None) = found {
        return Err(Problem::unauthenticated("the old password is wrong"));
    }
    guess.excuse();
    found?;
    let new_hash = state.hashing.hash(change.new_password).await?;
    users.set_password(&signed_in.tenant, &id, &new_hash).await?;
    state.reload.catch_up().await;
    Ok(StatusCode::NO_CONTENT)
}

fn user_id(signed_in: &SignedIn) -> Result<&UserId> {
    match &signed_in.caller.identity {
        Identity::User(id) => Ok(id),
        Identity::Key(_) | Identity::Instance(_) | Identity::Local | Identity::System => Err(
            Problem::bad_request("only users have a password; a key that is not wanted any more is deleted"),
        ),
    }
}
