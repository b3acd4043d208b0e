//! `/auth`: signing in with a password, and what follows from it.

use super::error::{Problem, Result};
use super::json::Json;
use super::time;
use super::users::{UserView, check_password, hash};
use crate::Shared;
use crate::auth::SignedIn;
use crate::keyless::check_origin;
use axum::Json as Answer;
use axum::extract::{ConnectInfo, State};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use store::{Status, password};
use tool::{Identity, Secret, TenantId, UserId};
use utoipa::ToSchema;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Login {
    #[serde(default = "default_tenant")]
    tenant: String,
    username: String,
    #[schema(value_type = String, format = Password)]
    password: Secret,
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
    Json(login): Json<Login>,
) -> Result<Answer<LoggedIn>> {
    check_origin(&state, &headers)?;
    let Login { tenant, username, password } = login;
    state.attempts.check(peer.ip(), &tenant, &username)?;
    let found = match tenant.parse::<TenantId>() {
        Ok(tenant) => state.store.users().find_by_username(&tenant, &username).await?,
        Err(_) => None,
    };
    let user = tokio::task::spawn_blocking(move || match found {
        Some((user, hash)) if password::verify(&password, &hash) => Some(user),
        Some(_) => None,
        None => {
            // As slow as a wrong password, so that nobody learns which names exist.
            password::verify_dummy(&password);
            None
        }
    });
    let user = user.await.ok().flatten().filter(|user| user.status == Status::Active);
    let Some(user) = user else {
        state.attempts.failed(peer.ip(), &tenant, &username);
        return Err(Problem::unauthenticated("tenant, user name or password is wrong"));
    };
    let (token, expires_at) = state.auth.issue(&user)?;
    Ok(Answer(LoggedIn { token, expires_at: time::show(expires_at * 1000), user: user.into() }))
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
}

/// Who this key or token belongs to.
#[utoipa::path(get, path = "/auth/me", tag = "auth", responses((status = 200, body = Me)))]
pub(super) async fn me(signed_in: SignedIn) -> Answer<Me> {
    let SignedIn { tenant, caller } = signed_in;
    Answer(Me {
        tenant: tenant.into(),
        kind: caller.identity.kind(),
        id: caller.identity.id().to_owned(),
        name: caller.name.clone(),
        role: caller.role.as_str(),
    })
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
    responses((status = 204), (status = 401)))]
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
    state.attempts.check(peer.ip(), signed_in.tenant.as_str(), &username)?;
    let found = users.find_by_username(&signed_in.tenant, &username).await?;
    let old = change.old_password;
    let is_right =
        tokio::task::spawn_blocking(move || found.is_some_and(|(_, hash)| password::verify(&old, &hash)));
    if !is_right.await.unwrap_or(false) {
        state.attempts.failed(peer.ip(), signed_in.tenant.as_str(), &username);
        return Err(Problem::unauthenticated("the old password is wrong"));
    }
    users.set_password(&signed_in.tenant, &id, &hash(change.new_password).await?).await?;
    state.reload.catch_up().await;
    Ok(StatusCode::NO_CONTENT)
}

fn user_id(signed_in: &SignedIn) -> Result<&UserId> {
    match &signed_in.caller.identity {
        Identity::User(id) => Ok(id),
        Identity::Key(_) | Identity::Instance(_) | Identity::Local => {
            Err(Problem::bad_request("this is for people; a key has no password and is deleted instead"))
        }
    }
}
