//! `/flows/{id}/triggers`: what starts the current version by itself.

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Page, Path};
use crate::manage::runs::rights::{may_see_text, may_touch, may_trigger};
use axum::Json as Answer;
use axum::extract::State;
use serde::Serialize;
use serde_json::{Map, Value};
use store::flows::Trigger;
use tool::TenantId;
use utoipa::ToSchema;

/// The type of triggers that have an address and a secret.
const WEBHOOK: &str = "webhook";

#[derive(Serialize, ToSchema)]
pub(crate) struct TriggerView {
    name: String,
    /// `schedule`, `webhook`, `message`, `table` or `file`.
    #[serde(rename = "type")]
    kind: String,
    /// Whether it starts runs; it does not while its flow is disabled.
    enabled: bool,
    /// What its type needs, with defaults, times in milliseconds.
    #[schema(value_type = Object)]
    settings: Map<String, Value>,
    /// Of a webhook: where requests are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

/// The secret of a webhook, shown this once.
#[derive(Serialize, ToSchema)]
pub(crate) struct WebhookSecret {
    /// The trigger's name.
    name: String,
    /// Where requests are sent.
    path: String,
    /// What senders prove themselves with.
    secret: String,
}

impl TriggerView {
    fn new(state: &Shared, trigger: Trigger) -> Self {
        Self {
            path: trigger.hook.as_deref().map(|hook| path_of(state, hook)),
            name: trigger.name,
            kind: trigger.kind,
            enabled: trigger.is_enabled,
            settings: serde_json::from_str(&trigger.settings).unwrap_or_default(),
        }
    }
}

fn path_of(state: &Shared, hook: &str) -> String {
    format!("{}/hooks/{hook}", state.options.base_path)
}

/// Lists the triggers of the current version.
#[utoipa::path(get, path = "/flows/{id}/triggers", tag = "flows", params(("id" = String, Path)),
    responses((status = 200, body = Page<TriggerView>), (status = 404)))]
pub(crate) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Answer<Page<TriggerView>>> {
    may_see_text(&signed_in, &id)?;
    state.store.flows().get(&signed_in.tenant, &id).await?;
    let found = state.store.flows().triggers(&signed_in.tenant, &id).await?;
    Ok(Answer(Page::whole(found.into_iter().map(|trigger| TriggerView::new(&state, trigger)).collect())))
}

/// Lets a trigger start runs. What it missed meanwhile stays missed.
#[utoipa::path(post, path = "/flows/{id}/triggers/{name}/enable", tag = "flows",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = TriggerView), (status = 404)))]
pub(crate) async fn enable(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((id, name)): Path<(String, String)>,
) -> Result<Answer<TriggerView>> {
    switch(&state, &signed_in, &id, &name, true).await
}

/// Lets a trigger start no runs.
#[utoipa::path(post, path = "/flows/{id}/triggers/{name}/disable", tag = "flows",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = TriggerView), (status = 404)))]
pub(crate) async fn disable(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((id, name)): Path<(String, String)>,
) -> Result<Answer<TriggerView>> {
    switch(&state, &signed_in, &id, &name, false).await
}

async fn switch(
    state: &Shared,
    signed_in: &SignedIn,
    id: &str,
    name: &str,
    is_enabled: bool,
) -> Result<Answer<TriggerView>> {
    signed_in.may_manage()?;
    may_touch(signed_in, id)?;
    let flows = state.store.flows();
    flows.set_trigger_enabled(&signed_in.tenant, id, name, is_enabled).await?;
    state.reload.catch_up().await;
    Ok(Answer(TriggerView::new(state, flows.trigger(&signed_in.tenant, id, name).await?)))
}

/// Gives a webhook another secret, which is shown this once; the old one is worth nothing from now on.
#[utoipa::path(post, path = "/flows/{id}/triggers/{name}/rotate-secret", tag = "flows",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = WebhookSecret), (status = 404), (status = 422)))]
pub(crate) async fn rotate_secret(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((id, name)): Path<(String, String)>,
) -> Result<Answer<WebhookSecret>> {
    may_trigger(&signed_in, &id)?;
    let trigger = state.store.flows().trigger(&signed_in.tenant, &id, &name).await?;
    if trigger.kind != WEBHOOK {
        let message = format!("'{name}' is a trigger of type {}; only webhooks have a secret", trigger.kind);
        return Err(Problem::invalid_field("name", message));
    }
    new_secret(&state, &signed_in.tenant, &id, name).await.map(Answer)
}

async fn new_secret(state: &Shared, tenant: &TenantId, id: &str, name: String) -> Result<WebhookSecret> {
    let (hook, secret) = state.store.flows().rotate_trigger_secret(tenant, id, &name).await?;
    state.reload.catch_up().await;
    Ok(WebhookSecret { name, path: path_of(state, &hook), secret: secret.expose().to_owned() })
}

/// Secrets for webhooks that have none yet.
pub(super) async fn first_secrets(state: &Shared, tenant: &TenantId, id: &str) -> Result<Vec<WebhookSecret>> {
    let mut made = Vec::new();
    for trigger in state.store.flows().triggers(tenant, id).await? {
        if trigger.kind == WEBHOOK && trigger.secret.is_none() {
            made.push(new_secret(state, tenant, id, trigger.name).await?);
        }
    }
    Ok(made)
}
