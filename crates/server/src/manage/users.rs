//! `/users`: the people of a tenant.

use super::keys::given;
use super::time;
use super::words;
use crate::Shared;
use crate::auth::{Grant, SignedIn};
use crate::error::{Problem, Result};
use crate::json::{Json, Page, Paging, Path};
use axum::Json as Answer;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::{NewUser, Status, User, UserChanges};
use tool::whole::whole_or_null;
use tool::{Role, Secret, TenantId, UserId};
use utoipa::ToSchema;

/// Characters of a password, at least.
const MIN_PASSWORD: usize = 8;
const MAX_PASSWORD: usize = 1024;
const MAX_NAME: usize = 128;

#[derive(Serialize, ToSchema)]
pub(super) struct UserView {
    id: String,
    tenant: String,
    username: String,
    display_name: String,
    #[schema(value_type = words::Role)]
    role: Role,
    /// The unit of the tenant that the person works for: `buCode` in flows.
    bu_code: Option<String>,
    #[schema(value_type = words::Status)]
    status: Status,
    created_at: String,
    updated_at: String,
    version: i64,
}

impl From<User> for UserView {
    fn from(user: User) -> Self {
        Self {
            id: user.id.into(),
            tenant: user.tenant.into(),
            username: user.username,
            display_name: user.display_name,
            role: user.role,
            bu_code: user.bu_code,
            status: user.status,
            created_at: time::show(user.created_at),
            updated_at: time::show(user.updated_at),
            version: user.version,
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UserCreate)]
pub(super) struct Create {
    /// The caller's own tenant unless given; only an admin may give another.
    #[schema(value_type = Option<String>, pattern = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$")]
    tenant: Option<TenantId>,
    #[schema(min_length = 1, max_length = 128, pattern = r"^[^\x00-\x1F\x7F-\x9F]*$")]
    username: String,
    /// At least 8 characters.
    #[schema(value_type = String, format = Password, min_length = 8)]
    password: Secret,
    display_name: Option<String>,
    /// `caller` unless given.
    #[schema(value_type = Option<words::Role>)]
    role: Option<Role>,
    /// The unit of the tenant that the person works for: `buCode` in flows, which they cannot change.
    #[schema(min_length = 1, max_length = 128, pattern = r"^[^\x00-\x1F\x7F-\x9F]*$")]
    bu_code: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UserUpdate)]
pub(super) struct Update {
    display_name: Option<String>,
    #[schema(value_type = Option<words::Role>)]
    role: Option<Role>,
    /// `null` takes the unit away.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 128, pattern = r"^[^\x00-\x1F\x7F-\x9F]*$")]
    bu_code: Option<Option<String>>,
    #[schema(value_type = Option<words::Status>)]
    status: Option<Status>,
    /// A new password; the person's tokens become void.
    #[schema(value_type = Option<String>, format = Password, min_length = 8)]
    password: Option<Secret>,
    /// Refuses the change if the user has another version by now.
    #[serde(default, deserialize_with = "whole_or_null")]
    version: Option<i64>,
}

/// Lists the tenant's users.
#[utoipa::path(get, path = "/users", tag = "users", params(("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<UserView>)))]
pub(super) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Paging(page): Paging,
) -> Result<Answer<Page<UserView>>> {
    signed_in.may_manage()?;
    let found = state.store.users().list(&signed_in.tenant, page).await?;
    Ok(Answer(Page::of(found, UserView::from)))
}

/// Adds a user.
#[utoipa::path(post, path = "/users", tag = "users", request_body = Create,
    responses((status = 201, body = UserView), (status = 409), (status = 422)))]
pub(super) async fn create(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Json(body): Json<Create>,
) -> Result<(StatusCode, Answer<UserView>)> {
    signed_in.may_manage()?;
    let tenant = signed_in.tenant_or(body.tenant)?;
    let role = body.role.unwrap_or(Role::Caller);
    may_have(&signed_in, role, body.bu_code.clone())?;
    check_name("username", &body.username)?;
    check_unit(body.bu_code.as_deref())?;
    check_password("password", &body.password)?;
    let new = NewUser {
        display_name: body.display_name.unwrap_or_else(|| body.username.clone()),
        username: body.username,
        role,
        bu_code: body.bu_code,
        password_hash: state.hashing.hash(body.password).await?,
        created_by: Some(signed_in.caller.identity.id().to_owned()),
    };
    let user = state.store.users().create(&tenant, new).await?;
    state.reload.catch_up().await;
    Ok((StatusCode::CREATED, Answer(user.into())))
}

/// One user.
#[utoipa::path(get, path = "/users/{id}", tag = "users", params(("id" = String, Path)),
    responses((status = 200, body = UserView), (status = 404)))]
pub(super) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<UserId>,
) -> Result<Answer<UserView>> {
    signed_in.may_manage()?;
    Ok(Answer(state.store.users().get(&tenant_of(&state, &signed_in, &id).await?, &id).await?.into()))
}

/// Changes a user.
#[utoipa::path(patch, path = "/users/{id}", tag = "users", params(("id" = String, Path)), request_body = Update,
    responses((status = 200, body = UserView), (status = 404), (status = 409)))]
pub(super) async fn update(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<UserId>,
    Json(body): Json<Update>,
) -> Result<Answer<UserView>> {
    signed_in.may_manage()?;
    let (users, tenant) = (state.store.users(), tenant_of(&state, &signed_in, &id).await?);
    let known = users.get(&tenant, &id).await?;
    may_have(&signed_in, known.role, known.bu_code.clone())?;
    let bu_code = body.bu_code.clone().unwrap_or(known.bu_code);
    check_unit(bu_code.as_deref())?;
    may_have(&signed_in, body.role.unwrap_or(Role::Viewer), bu_code)?;
    let new_hash = match body.password {
        Some(password) => {
            check_password("password", &password)?;
            Some(state.hashing.hash(password).await?)
        }
        None => None,
    };
    let changes = UserChanges {
        display_name: body.display_name,
        role: body.role,
        bu_code: body.bu_code,
        status: body.status,
    };
    let mut user = users.update(&tenant, &id, changes, body.version).await?;
    if let Some(new_hash) = new_hash {
        user = users.set_password(&tenant, &id, &new_hash).await?;
    }
    state.reload.catch_up().await;
    Ok(Answer(user.into()))
}

/// Deletes a user.
#[utoipa::path(delete, path = "/users/{id}", tag = "users", params(("id" = String, Path)),
    responses((status = 204), (status = 404)))]
pub(super) async fn delete(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<UserId>,
) -> Result<StatusCode> {
    signed_in.may_manage()?;
    let (users, tenant) = (state.store.users(), tenant_of(&state, &signed_in, &id).await?);
    let known = users.get(&tenant, &id).await?;
    may_have(&signed_in, known.role, known.bu_code)?;
    users.delete(&tenant, &id).await?;
    state.reload.catch_up().await;
    Ok(StatusCode::NO_CONTENT)
}

/// Refuses those who hold less than a person with this role, or work for another unit.
fn may_have(signed_in: &SignedIn, role: Role, bu_code: Option<String>) -> Result<()> {
    signed_in.holds().must_cover_all(&Grant::of_user(role, bu_code), "a user")
}

fn check_unit(bu_code: Option<&str>) -> Result<()> {
    bu_code.map_or(Ok(()), |bu_code| check_name("bu_code", bu_code))
}

/// Refuses names that are empty, endless or hold control characters.
pub(super) fn check_name(field: &str, name: &str) -> Result<()> {
    let length = name.chars().count();
    if !(1..=MAX_NAME).contains(&length) || name.contains(char::is_control) {
        let message =
            format!("'{field}' must have 1 to {MAX_NAME} characters, none of them control characters");
        return Err(Problem::invalid_field(field, message));
    }
    Ok(())
}

/// Refuses passwords that are too easy to guess or too long to hash.
pub(super) fn check_password(field: &str, password: &Secret) -> Result<()> {
    let length = password.expose().chars().count();
    if (MIN_PASSWORD..=MAX_PASSWORD).contains(&length) {
        return Ok(());
    }
    let message = format!("'{field}' must have {MIN_PASSWORD} to {MAX_PASSWORD} characters");
    Err(Problem::invalid_field(field, message))
}

/// Where to look for a user: whoever looks after all tenants has no more than its id.
async fn tenant_of(state: &Shared, signed_in: &SignedIn, id: &UserId) -> Result<TenantId> {
    let found = match signed_in.caller.role {
        Role::Admin => state.store.users().tenant_of(id).await?,
        Role::Manager | Role::Caller | Role::Viewer => None,
    };
    Ok(found.unwrap_or_else(|| signed_in.tenant.clone()))
}
