//! `/keys`: what programs sign in with. A key is shown once and stored as a hash.

use super::tenants::{LimitsView, check_limits};
use super::time;
use super::users::check_name;
use super::words;
use crate::Shared;
use crate::auth::{Grant, SignedIn};
use crate::error::{Problem, Result};
use crate::json::{Json, Page, Paging, Path};
use axum::Json as Answer;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Deserializer, Serialize};
use store::{Key, KeyChanges, NewKey, Status};
use tool::whole::whole_or_null;
use tool::{KeyId, Limits, Pattern, Role, Scope, TenantId};
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(super) struct KeyView {
    id: String,
    tenant: String,
    name: String,
    /// The first characters, to recognise it by.
    prefix: String,
    #[schema(value_type = words::Role)]
    role: Role,
    /// `read`, `call`, `manage`; empty is everything the role allows.
    #[schema(value_type = Vec<words::Scope>)]
    scopes: Vec<Scope>,
    /// Names or URIs with `*`; empty is everything.
    #[schema(value_type = Vec<String>)]
    allow: Vec<Pattern>,
    #[schema(value_type = LimitsView)]
    limits: Limits,
    /// The unit of its tenant that it works for: `buCode` in flows.
    bu_code: Option<String>,
    #[schema(value_type = words::Status)]
    status: Status,
    expires_at: Option<String>,
    created_by: Option<String>,
    created_at: String,
    updated_at: String,
    version: i64,
}

#[derive(Serialize, ToSchema)]
pub(super) struct NewKeyView {
    /// The key itself. It is shown this once.
    key: String,
    #[serde(flatten)]
    view: KeyView,
}

impl From<Key> for KeyView {
    fn from(key: Key) -> Self {
        Self {
            id: key.id.into(),
            tenant: key.tenant.into(),
            name: key.name,
            prefix: key.prefix,
            role: key.role,
            scopes: key.scopes,
            allow: key.allow,
            limits: key.limits,
            bu_code: key.bu_code,
            status: key.status,
            expires_at: key.expires_at.map(time::show),
            created_by: key.created_by,
            created_at: time::show(key.created_at),
            updated_at: time::show(key.updated_at),
            version: key.version,
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = KeyCreate)]
pub(super) struct Create {
    #[schema(min_length = 1, max_length = 128, pattern = r"^[^\x00-\x1F\x7F-\x9F]*$")]
    name: String,
    /// The caller's own tenant unless given; only an admin may give another.
    #[schema(value_type = Option<String>, pattern = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$")]
    tenant: Option<TenantId>,
    /// `caller` unless given.
    #[schema(value_type = Option<words::Role>)]
    role: Option<Role>,
    #[serde(default)]
    #[schema(value_type = Vec<words::Scope>)]
    scopes: Vec<Scope>,
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    allow: Vec<Pattern>,
    #[serde(default)]
    #[schema(value_type = LimitsView)]
    limits: Limits,
    /// The unit of its tenant that the key works for: `buCode` in flows, which its callers cannot change.
    #[schema(min_length = 1, max_length = 128, pattern = r"^[^\x00-\x1F\x7F-\x9F]*$")]
    bu_code: Option<String>,
    /// When the key ends, e.g. `2027-01-01T00:00:00Z`.
    expires_at: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = KeyUpdate)]
pub(super) struct Update {
    #[schema(min_length = 1, max_length = 128, pattern = r"^[^\x00-\x1F\x7F-\x9F]*$")]
    name: Option<String>,
    #[schema(value_type = Option<words::Role>)]
    role: Option<Role>,
    #[schema(value_type = Option<Vec<words::Scope>>)]
    scopes: Option<Vec<Scope>>,
    #[schema(value_type = Option<Vec<String>>)]
    allow: Option<Vec<Pattern>>,
    #[schema(value_type = Option<LimitsView>)]
    limits: Option<Limits>,
    /// `null` takes the unit away.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 128, pattern = r"^[^\x00-\x1F\x7F-\x9F]*$")]
    bu_code: Option<Option<String>>,
    #[schema(value_type = Option<words::Status>)]
    status: Option<Status>,
    /// `null` takes the end away.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    expires_at: Option<Option<String>>,
    /// Refuses the change if the key has another version by now.
    #[serde(default, deserialize_with = "whole_or_null")]
    version: Option<i64>,
}

/// Tells `null` from nothing.
pub(super) fn given<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// Lists the tenant's keys.
#[utoipa::path(get, path = "/keys", tag = "keys", params(("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<KeyView>)))]
pub(super) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Paging(page): Paging,
) -> Result<Answer<Page<KeyView>>> {
    signed_in.may_manage()?;
    let found = state.store.keys().list(&signed_in.tenant, page).await?;
    Ok(Answer(Page::of(found, KeyView::from)))
}

/// Makes a key and shows it, this once.
#[utoipa::path(post, path = "/keys", tag = "keys", request_body = Create,
    responses((status = 201, body = NewKeyView), (status = 422)))]
pub(super) async fn create(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Json(body): Json<Create>,
) -> Result<(StatusCode, Answer<NewKeyView>)> {
    signed_in.may_manage()?;
    let tenant = signed_in.tenant_or(body.tenant)?;
    check_name("name", &body.name)?;
    check_allow(&body.allow)?;
    check_limits(Some(&body.limits))?;
    if let Some(bu_code) = &body.bu_code {
        check_name("bu_code", bu_code)?;
    }
    let new = NewKey {
        name: body.name,
        role: body.role.unwrap_or(Role::Caller),
        scopes: body.scopes,
        allow: body.allow,
        limits: body.limits,
        bu_code: body.bu_code,
        expires_at: body.expires_at.map(|text| time_to_come(&text)).transpose()?,
        created_by: Some(signed_in.caller.identity.id().to_owned()),
    };
    signed_in.holds().must_cover(&Grant {
        role: new.role,
        scopes: new.scopes.clone(),
        allow: new.allow.clone(),
        limits: new.limits,
        bu_code: new.bu_code.clone(),
        expires_at_ms: new.expires_at,
    })?;
    let (key, secret) = state.store.keys().create(&tenant, new).await?;
    state.reload.catch_up().await;
    let view = NewKeyView { key: secret.expose().to_owned(), view: key.into() };
    Ok((StatusCode::CREATED, Answer(view)))
}

/// A key that has ended before it is made is a mistake.
fn time_to_come(text: &str) -> Result<i64> {
    let time = time::parse("expires_at", text)?;
    if time <= chrono::Utc::now().timestamp_millis() {
        let message =
            "'expires_at' has passed: the key would never work; give a time to come, or leave it out";
        return Err(Problem::invalid_field("expires_at", message));
    }
    Ok(time)
}

/// Refuses patterns that no tool can ever match: whoever wrote them meant something else.
fn check_allow(allow: &[Pattern]) -> Result<()> {
    let mut problems = Vec::new();
    for (at, pattern) in allow.iter().enumerate() {
        if let Some(why) = pattern.never_matches() {
            let message = format!(
                "'allow[{at}]' can never match a tool: {why}; write a name like crm__* or a URI like api://crm/*"
            );
            problems.push(tool::Problem::new(format!("allow[{at}]"), "Invalid", message));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Problem::invalid(problems)) }
}

/// One key, without the key itself.
#[utoipa::path(get, path = "/keys/{id}", tag = "keys", params(("id" = String, Path)),
    responses((status = 200, body = KeyView), (status = 404)))]
pub(super) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<KeyId>,
) -> Result<Answer<KeyView>> {
    signed_in.may_manage()?;
    Ok(Answer(state.store.keys().get(&tenant_of(&state, &signed_in, &id).await?, &id).await?.into()))
}

/// Changes what a key may do.
#[utoipa::path(patch, path = "/keys/{id}", tag = "keys", params(("id" = String, Path)), request_body = Update,
    responses((status = 200, body = KeyView), (status = 404), (status = 409)))]
pub(super) async fn update(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<KeyId>,
    Json(body): Json<Update>,
) -> Result<Answer<KeyView>> {
    signed_in.may_manage()?;
    let (keys, tenant) = (state.store.keys(), tenant_of(&state, &signed_in, &id).await?);
    let known = Grant::of_key(&keys.get(&tenant, &id).await?);
    signed_in.holds().must_cover(&known)?;
    if let Some(name) = &body.name {
        check_name("name", name)?;
    }
    if let Some(Some(bu_code)) = &body.bu_code {
        check_name("bu_code", bu_code)?;
    }
    check_allow(body.allow.as_deref().unwrap_or_default())?;
    check_limits(body.limits.as_ref())?;
    // One that has passed is a way to end a key.
    let expires_at = match body.expires_at {
        Some(Some(text)) => Some(Some(time::parse("expires_at", &text)?)),
        Some(None) => Some(None),
        None => None,
    };
    let changes = KeyChanges {
        name: body.name,
        role: body.role,
        scopes: body.scopes,
        allow: body.allow,
        limits: body.limits,
        bu_code: body.bu_code,
        status: body.status,
        expires_at,
    };
    signed_in.holds().must_cover(&changed(known, &changes))?;
    let key = keys.update(&tenant, &id, changes, body.version).await?;
    state.reload.catch_up().await;
    Ok(Answer(key.into()))
}

/// What a key holds after a change.
fn changed(known: Grant, changes: &KeyChanges) -> Grant {
    Grant {
        role: changes.role.unwrap_or(known.role),
        scopes: changes.scopes.clone().unwrap_or(known.scopes),
        allow: changes.allow.clone().unwrap_or(known.allow),
        limits: changes.limits.unwrap_or(known.limits),
        bu_code: changes.bu_code.clone().unwrap_or(known.bu_code),
        expires_at_ms: changes.expires_at.unwrap_or(known.expires_at_ms),
    }
}

/// Deletes a key; it stops working at once.
#[utoipa::path(delete, path = "/keys/{id}", tag = "keys", params(("id" = String, Path)),
    responses((status = 204), (status = 404)))]
pub(super) async fn delete(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<KeyId>,
) -> Result<StatusCode> {
    signed_in.may_manage()?;
    let (keys, tenant) = (state.store.keys(), tenant_of(&state, &signed_in, &id).await?);
    signed_in.holds().must_cover(&Grant::of_key(&keys.get(&tenant, &id).await?))?;
    keys.delete(&tenant, &id).await?;
    state.reload.catch_up().await;
    Ok(StatusCode::NO_CONTENT)
}

/// Where to look for a key: whoever looks after all tenants has no more than its id.
async fn tenant_of(state: &Shared, signed_in: &SignedIn, id: &KeyId) -> Result<TenantId> {
    let found = match signed_in.caller.role {
        Role::Admin => state.store.keys().tenant_of(id).await?,
        Role::Manager | Role::Caller | Role::Viewer => None,
    };
    Ok(found.unwrap_or_else(|| signed_in.tenant.clone()))
}
